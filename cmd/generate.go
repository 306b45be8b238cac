package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry/structs"
)

func (a *app) generateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "print Go structs for types of AWS", ArgsUsage: "TYPE...",
		Description: "The source of a package with, for each TYPE of the AWS registry, its props, its attributes and a constructor. Use it where a\nGo program declares a type that has no kind of its own and no package in providers/aws/cloudcontrol/typed. `athanor kinds\n'AWS::*'` lists the types.",
		UsageText:   "generate AWS::WAFv2::WebACL > wafv2/wafv2.go\ngenerate --package queues AWS::AmazonMQ::Broker AWS::MSK::Cluster > queues/queues.go",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "package", Usage: "name of the Go package; default the service of the first TYPE"},
		},
		Before: reads,
		Action: func(c *cli.Context) error {
			names := c.Args().Slice()
			if len(names) == 0 {
				return hint(errors.New("which types?"), fmt.Sprintf("`%s generate AWS::WAFv2::WebACL`", a.name()))
			}
			var types []*registry.Type
			for _, name := range names {
				if _, err := a.catalog.Find(name); err != nil {
					return err
				}
				if !strings.HasPrefix(name, "AWS::") {
					return hint(fmt.Errorf("%s is no type of the AWS registry", name), fmt.Sprintf("`%s kinds 'AWS::*'` lists the types", a.name()))
				}
				t, err := registry.Lookup(name)
				if err != nil {
					return err
				}
				types = append(types, t)
			}
			pkg := c.String("package")
			if pkg == "" {
				pkg = structs.Package(names[0])
			}
			text, err := structs.Source(pkg, strings.Join(append([]string{"athanor", "generate"}, names...), " "), types...)
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}
