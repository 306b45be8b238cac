package cmd

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
)

// offeredHelp says how the kinds of Terraform providers are meant.
const offeredHelp = "The types of Terraform\nproviders are those of the providers that the stack in this folder names, or of tf:SOURCE, such as tf:hashicorp/random or\ntf:./program, which is installed and started: --allow program=SOURCE permits it."

// kindFlags are the flags of the commands that look at kinds.
func kindFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.StringSliceFlag{Name: "allow", Usage: "let a provider be installed and run: `KIND=VALUE`, such as program=hashicorp/random; may be repeated"}, cli.JSONFlag())
}

// offeredKinds makes the kinds of Terraform providers known that arguments need, and gives the other arguments: those of the providers that arguments name,
// or where a kind of one is named alone, those of the stack in the current folder. Providers without a kind after them stand for all of their kinds.
func offeredKinds(o *session.Opener, c *cli.Context, args []string) ([]string, error) {
	var kinds, sources []string
	for _, arg := range args {
		if source, ok := strings.CutPrefix(arg, loader.ProviderPrefix); ok {
			sources = append(sources, source)
			continue
		}
		kinds = append(kinds, arg)
	}
	for _, source := range sources {
		if err := loader.Offer(o.Loader, c, source); err != nil {
			return nil, err
		}
	}
	isBridged := func(kind string) bool { return strings.HasPrefix(kind, terraform.Prefix) }
	switch {
	case len(sources) > 0 && !slices.ContainsFunc(kinds, isBridged):
		kinds = append(kinds, terraform.Prefix+"*")
	case len(sources) == 0 && slices.ContainsFunc(kinds, isBridged):
		if err := offerOfStack(o, c); err != nil {
			return nil, reconcile.WithHint(err, "without a stack that names its provider: athanor %s tf:NAMESPACE/NAME %s", c.Command.Name, strings.Join(kinds, " "))
		}
	}
	return kinds, nil
}

// offerOfStack starts the providers that the stack of the current folder names.
func offerOfStack(o *session.Opener, c *cli.Context) error {
	s, src, err := o.BeginAt(c, nil)
	if err == nil {
		err = o.ReadSource(c, src)
	}
	if err != nil {
		return err
	}
	_, err = o.Load(c.Context, src, s.Stage.Name, s.Config)
	return err
}
