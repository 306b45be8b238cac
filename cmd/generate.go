package cmd

import (
	"errors"
	"path"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/gostructs"
)

func (a *app) generateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "print Go structs for kinds that are made of data", ArgsUsage: "[tf:SOURCE] [KIND]...",
		Description: "Each KIND gets a struct of its props, one of its attributes, and a function that declares it; * in it stands for any text. " + offeredHelp + "\ntf:SOURCE without a KIND stands for all of its types.",
		UsageText:   "generate tf:hashicorp/random > random/random.go\ngenerate tf:cyrilgdn/postgresql tf.postgresql_role > db/db.go\ngenerate AWS::WAFv2::WebACL > waf/waf.go",
		Flags:       kindFlags(&cli.StringFlag{Name: "package", Usage: "name the Go package `NAME`; default that of the provider, or kinds"}),
		Before:      reads,
		Action:      a.generate,
	}
}

func (a *app) generate(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 {
		return hint(errors.New("no kind is named"), "athanor generate tf:hashicorp/random, or AWS::EC2::VPC")
	}
	patterns, err := a.offered(c, args)
	if err != nil {
		return err
	}
	var kinds []gostructs.Kind
	for _, pattern := range patterns {
		names, err := a.matching(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, "tf.data.") {
				continue // a query has no struct: athanor.Read takes a map
			}
			k, err := a.catalog.Find(name)
			if err != nil {
				return err
			}
			kind := gostructs.Kind{Name: name}
			if kind.Props, err = k.Spec().Props(); err != nil {
				return err
			}
			if kind.Attrs, err = k.Spec().Attrs(); err != nil {
				return err
			}
			kinds = append(kinds, kind)
		}
	}
	pkg := c.String("package")
	if source, ok := strings.CutPrefix(args[0], offeredPrefix); ok && pkg == "" {
		pkg = strings.NewReplacer("terraform-provider-", "", "-", "").Replace(path.Base(source))
	}
	if pkg == "" {
		pkg = "kinds"
	}
	text, err := gostructs.Write(pkg, "athanor generate "+strings.Join(args, " "), kinds)
	if err != nil {
		return err
	}
	if a.asJSON {
		a.json(map[string]any{"package": pkg, "go": string(text)})
		return nil
	}
	_, err = a.out.Write(text)
	return err
}
