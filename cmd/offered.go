package cmd

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// offeredPrefix begins an argument that names a Terraform provider whose kinds are meant: tf:hashicorp/random, or tf:./program.
const offeredPrefix = "tf:"

// offeredHelp says how the kinds of Terraform providers are meant.
const offeredHelp = "The types of Terraform\nproviders are those of the providers that the stack in this folder names, or of tf:SOURCE, such as tf:hashicorp/random or\ntf:./program, which is installed and started: --allow program=SOURCE permits it."

// kindFlags are the flags of the commands that look at kinds.
func kindFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.StringSliceFlag{Name: "allow", Usage: "let a provider be installed and run: `KIND=VALUE`, such as program=hashicorp/random; may be repeated"}, cli.JSONFlag())
}

// offered makes the kinds of Terraform providers known that arguments need, and gives the other arguments: those of the providers that arguments name,
// or where a kind of one is named alone, those of the stack in the current folder. Providers without a kind after them stand for all of their kinds.
func (a *app) offered(c *cli.Context, args []string) ([]string, error) {
	var kinds, sources []string
	for _, arg := range args {
		if source, ok := strings.CutPrefix(arg, offeredPrefix); ok {
			sources = append(sources, source)
			continue
		}
		kinds = append(kinds, arg)
	}
	for _, source := range sources {
		if err := a.offer(c, source); err != nil {
			return nil, err
		}
	}
	isBridged := func(kind string) bool { return strings.HasPrefix(kind, terraform.Prefix) }
	switch {
	case len(sources) > 0 && !slices.ContainsFunc(kinds, isBridged):
		kinds = append(kinds, terraform.Prefix+"*")
	case len(sources) == 0 && slices.ContainsFunc(kinds, isBridged):
		if err := a.offerOfStack(c); err != nil {
			return nil, reconcile.WithHint(err, "without a stack that names its provider: athanor %s tf:NAMESPACE/NAME %s", c.Command.Name, strings.Join(kinds, " "))
		}
	}
	return kinds, nil
}

// offer starts a provider without a stack. One of a registry is installed into the user's cache, unless the lock file of this folder has it.
func (a *app) offer(c *cli.Context, source string) error {
	settings := map[string]any{"terraform": source}
	folder := files.Absolute(".")
	if strings.HasPrefix(source, ".") || filepath.IsAbs(source) {
		settings = map[string]any{"terraform": "local/" + strings.TrimPrefix(filepath.Base(source), "terraform-provider-"), "path": files.Absolute(source)}
	} else if locked, err := terraform.IsLocked(folder, source); err != nil {
		return err
	} else if !locked {
		if folder, err = terraform.CacheFolder(); err != nil {
			return err
		}
	}
	g, err := a.Granting(c, files.Absolute("."), "")
	if err != nil {
		return err
	}
	g.User.Program = func(settings map[string]any) (string, error) { return terraform.Approval(folder, settings) }
	p, ok := a.Catalog.Provider("terraform")
	if !ok {
		return errors.New("this program has no Terraform providers")
	}
	ctx := reconcile.WithFolder(c.Context, folder)
	permit := func() error {
		return a.PermitBy(ctx, g, grants.Document{Sections: []grants.Section{{Name: offeredPrefix + source, Provider: p.Name, Settings: settings}}})
	}
	typed := reflect.New(reflect.TypeOf(p.Settings).Elem()).Interface()
	if err := props.Decode(settings, typed); err != nil {
		return err
	}
	if err := permit(); err != nil {
		return err
	}
	if err := p.Fetch(ctx, typed); err != nil {
		return err
	}
	if err := permit(); err != nil {
		return err
	}
	return p.Declared(ctx, typed)
}

// offerOfStack starts the providers that the stack of the current folder names.
func (a *app) offerOfStack(c *cli.Context) error {
	s, src, err := a.BeginAt(c, nil)
	if err == nil {
		err = a.ReadSource(c, src)
	}
	if err != nil {
		return err
	}
	_, err = a.Load(c.Context, src, s.Stage.Name, s.Config)
	return err
}
