package cmd

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry/structs"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile/gostructs"
)

func generateCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "print Go structs for kinds that are made of data", ArgsUsage: "[tf:SOURCE] [KIND]...",
		Description: "The source of a package with, for each KIND, its props, its attributes and a constructor; * stands for any text. KIND is a type of the\nAWS registry or of a Terraform provider: a kind of its own has structs. " + offeredHelp + "\ntf:SOURCE without a KIND stands for all of its types.",
		UsageText:   "generate AWS::WAFv2::WebACL > wafv2/wafv2.go\ngenerate --package queues AWS::AmazonMQ::Broker AWS::MSK::Cluster > queues/queues.go\ngenerate tf:hashicorp/random > random/random.go\ngenerate tf:cyrilgdn/postgresql tf.postgresql_role > db/db.go",
		Flags:       kindFlags(&cli.StringFlag{Name: "package", Usage: "name the Go package `NAME`; default that of the provider, or the service of the first KIND"}),
		Before:      untrusted.Reads,
		Action:      func(c *cli.Context) error { return generateStructs(o, c) },
	}
}

func generateStructs(o *session.Opener, c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 {
		return cli.Hint(errors.New("which types?"), fmt.Sprintf("`%s generate AWS::WAFv2::WebACL`", o.Name()))
	}
	patterns, err := offeredKinds(o, c, args)
	if err != nil {
		return err
	}
	var names []string
	for _, pattern := range patterns {
		matched, err := kindsMatching(o, pattern)
		if err != nil {
			return err
		}
		names = append(names, matched...)
	}
	pkg, command := c.String("package"), "athanor generate "+strings.Join(args, " ")
	write := func(pkg, command string, names []string) ([]byte, error) {
		return providerStructs(o, pkg, command, names)
	}
	if slices.ContainsFunc(names, isRegistryType) {
		write = registryStructs
		if pkg == "" {
			pkg = structs.Package(names[0])
		}
	} else if source, ok := strings.CutPrefix(args[0], loader.ProviderPrefix); ok && pkg == "" {
		pkg = strings.NewReplacer("terraform-provider-", "", "-", "").Replace(path.Base(source))
	}
	if pkg == "" {
		pkg = "kinds"
	}
	text, err := write(pkg, command, names)
	if err != nil {
		return err
	}
	if o.WroteJSON(map[string]any{"package": pkg, "go": string(text)}) {
		return nil
	}
	_, err = o.Out.Write(text)
	return err
}

func isRegistryType(name string) bool { return strings.HasPrefix(name, "AWS::") }

// registryStructs writes structs for types of the AWS registry.
func registryStructs(pkg, command string, names []string) ([]byte, error) {
	var types []*registry.Type
	for _, name := range names {
		if !isRegistryType(name) {
			return nil, cli.Hint(fmt.Errorf("%s is no type of the AWS registry", name), "put types of AWS and of other providers into packages of their own")
		}
		t, err := registry.Lookup(name)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return structs.Source(pkg, command, types...)
}

// providerStructs writes structs for types of Terraform providers.
func providerStructs(o *session.Opener, pkg, command string, names []string) ([]byte, error) {
	var kinds []gostructs.Kind
	for _, name := range names {
		if strings.HasPrefix(name, terraform.Prefix+"data.") {
			continue // a query has no struct: athanor.Read takes a map
		}
		if !strings.HasPrefix(name, terraform.Prefix) {
			return nil, cli.Hint(fmt.Errorf("%s is neither a type of the AWS registry nor of a Terraform provider", name),
				fmt.Sprintf("`%s kinds 'AWS::*'` lists those of AWS; `%s kinds %s` says how Go declares this one", o.Name(), o.Name(), name))
		}
		k, err := o.Catalog.Find(name)
		if err != nil {
			return nil, err
		}
		declared, err := k.Spec().Props()
		if err != nil {
			return nil, err
		}
		attributes, err := k.Spec().Attrs()
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, gostructs.Of(name, declared, attributes))
	}
	return gostructs.Write(pkg, "`"+strings.Join(strings.Fields(command), " ")+"`", "has Go structs for kinds.", kinds...)
}
