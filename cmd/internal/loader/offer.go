package loader

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Offer starts a provider without a stack. One of a registry is installed into the user's cache, unless the lock file of this folder has it.
func Offer(l *Loader, c *cli.Context, source string) error {
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
	g, err := l.Granting(c, files.Absolute("."), "")
	if err != nil {
		return err
	}
	g.User.Program = func(settings map[string]any) (string, error) { return terraform.Approval(folder, settings) }
	p, ok := l.Catalog.Provider("terraform")
	if !ok {
		return errors.New("this program has no Terraform providers")
	}
	ctx := reconcile.WithFolder(c.Context, folder)
	permit := func() error {
		return l.PermitBy(ctx, g, grants.Document{Sections: []grants.Section{{Name: ProviderPrefix + source, Provider: p.Name, Settings: settings}}})
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

// ProviderPrefix begins an argument that names a Terraform provider whose kinds are meant: tf:hashicorp/random, or tf:./program.
const ProviderPrefix = "tf:"
