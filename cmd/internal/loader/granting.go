package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// AllowVariable holds permissions, as --allow does.
const AllowVariable = "ATHANOR_ALLOW"

// Granting is what the user has allowed a stack that is data. A program has none: it can do what its user can.
type Granting struct {
	User    grants.User
	Allowed []grants.Permission
	// project is the folder by which the user's file lists the stack.
	project, file string
	// folder is where the project's own files are kept, with links resolved; leads are the links in its place or in it
	// that lead out of the project.
	folder string
	Leads  []grants.Ask
	// Asks: the command may ask on a terminal.
	Asks bool
}

// Granting reads what the user has allowed for the stack in a directory.
func (l *Loader) Granting(c *cli.Context, dir, store string) (*Granting, error) {
	real, err := localfile.Real(dir)
	if err != nil {
		return nil, err
	}
	g := &Granting{project: project.BoundsRoot(real), Asks: c.Command.Name != project.DevName}
	if g.file, err = grants.FilePath(); err != nil {
		return nil, err
	}
	given, err := grants.Parse(slices.Concat(c.StringSlice("allow"), grants.SplitList(os.Getenv(AllowVariable)))...)
	if err != nil {
		return nil, err
	}
	kept, err := grants.Read(g.file, g.project, real)
	if err != nil {
		return nil, err
	}
	g.Allowed = append(given, kept...)
	g.User = grants.User{
		Bounds:   localfile.Bounds{Root: g.project},
		Settings: ownSettings(), Files: l.filesOf,
		Configs: func(prop tree.Path, path string) []string {
			if steps := prop.Steps(); steps[len(steps)-1].Key != "bundle" {
				return nil
			}
			return asset.BundlerFiles(g.project, filepath.Dir(path))
		},
		StoreOf: func(name string) string { return project.StoreName(dir, name) },
		Program: func(settings map[string]any) (string, error) { return terraform.Approval(dir, settings) },
	}
	if err := g.own(project.Root(dir)); err != nil {
		return nil, err
	}
	g.bound()
	g.User.Store = project.StoreName(dir, cmp.Or(store, "bolt:"+filepath.Join(project.Root(dir), ".athanor", "state.db")))
	return g, nil
}

// ownSettings are the values of settings that the user's environment says anyway.
func ownSettings() map[string][]string {
	own := map[string][]string{}
	for setting, variables := range map[string][]string{
		"aws.endpoint": {"AWS_ENDPOINT_URL"}, "aws.profile": {"AWS_PROFILE"},
		"cloudflare.endpoint": {"CLOUDFLARE_API_BASE_URL"}, "cloudflare.profile": {"CLOUDFLARE_PROFILE"},
		"cloudflare.account": {"CLOUDFLARE_ACCOUNT_ID"},
	} {
		for _, name := range variables {
			if v := os.Getenv(name); v != "" {
				own[setting] = append(own[setting], v)
			}
		}
	}
	own["cloudflare.tokenEnv"] = []string{"CLOUDFLARE_API_TOKEN"}
	return own
}

// filesOf are the props of a kind that name files.
func (l *Loader) filesOf(kind string) []tree.Path {
	k, err := l.Catalog.Find(kind)
	if err != nil {
		return nil
	}
	return k.Spec().Files
}

// Within returns a context in which only what is allowed is opened.
func (g *Granting) Within(ctx context.Context) context.Context {
	if g == nil {
		return ctx
	}
	return localfile.With(ctx, g.User.Bounds)
}

// Permit returns when all that a stack asks for is allowed, or the user allows it now; else the error lists every
// refusal.
func (l *Loader) Permit(ctx context.Context, d grants.Document) error {
	if l.Granted == nil {
		return nil
	}
	return l.PermitBy(ctx, l.Granted, d)
}

// PermitBy is permit by what a user has allowed.
func (l *Loader) PermitBy(ctx context.Context, g *Granting, d grants.Document) error {
	d.Outside = slices.Concat(d.Outside, g.Leads)
	missing := grants.Missing(grants.Asks(d, g.User), g.Allowed)
	if len(missing) == 0 {
		return nil
	}
	if !g.Asks || l.AsJSON || !terminal.IsTerminal(l.In) {
		return Refusal(missing)
	}
	fmt.Fprintln(l.Err, "The stack asks for what was never allowed:")
	for _, ask := range missing {
		fmt.Fprintln(l.Err, "  "+ask.Sentence())
	}
	if err := l.Ask(ctx, "Allow this for "+g.project+", now and later?"); err != nil {
		return err
	}
	return g.Remember(missing)
}

// Remember adds permissions to the user's file, and to what holds now.
func (g *Granting) Remember(asks []grants.Ask) error {
	if len(asks) == 0 {
		return nil
	}
	if err := grants.Remember(g.file, g.project, asks); err != nil {
		return err
	}
	g.Hold(asks)
	return nil
}

// Hold lets permissions hold for this command.
func (g *Granting) Hold(asks []grants.Ask) {
	for _, ask := range asks {
		text := ask.Value + "@" + ask.Place
		g.Allowed = append(g.Allowed, grants.Permission{Kind: ask.Kind, Text: text, Placed: true})
	}
	g.bound()
}

// bound sets the bounds for files: what is allowed, and the project's own folder with its cache, which lies elsewhere
// when the project's root is the user's home.
func (g *Granting) bound() {
	g.User.Bounds.Allowed = grants.AllowedPaths(g.Allowed)
	if !slices.ContainsFunc(g.Leads, func(ask grants.Ask) bool { return ask.Place == project.OwnFolder }) {
		g.User.Bounds.Allowed = append(g.User.Bounds.Allowed, g.folder)
	}
}

// own finds the project's own folder. It may lie in the checkout, and what is in it may be a link that leads elsewhere:
// to the state of another project.
func (g *Granting) own(root string) (err error) {
	folder := filepath.Join(root, project.OwnFolder)
	if root, err = localfile.Real(root); err != nil {
		return err
	}
	lead := func(path, place string) (string, error) {
		real, err := localfile.Real(path)
		if err == nil && !localfile.Within(root, real) {
			g.Leads = append(g.Leads, grants.Ask{Kind: grants.Path, Value: real, Place: place})
		}
		return real, err
	}
	if g.folder, err = lead(folder, project.OwnFolder); err != nil || len(g.Leads) > 0 {
		return err
	}
	entries, err := os.ReadDir(g.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := lead(filepath.Join(g.folder, entry.Name()), project.OwnFolder+"/"+entry.Name()); err != nil {
			return err
		}
	}
	return err
}

// Refusal is the error about all that is asked for and not allowed.
func Refusal(missing []grants.Ask) error {
	e := &engine.RefusedError{}
	for _, ask := range missing {
		err := reconcile.WithHint(fmt.Errorf("%s; nobody has allowed it", ask.Sentence()),
			"if you trust the stack with it: athanor allow, or --allow %s", render.ShellWord(ask.String()))
		e.Problems = append(e.Problems, engine.Problem{Err: err})
	}
	return e
}

// Guarded opens a provider with settings that are the user's own or allowed, wherever they come from: those of a
// resource that the stack no longer declares stand in its state.
func (l *Loader) Guarded(p reconcile.Provider) func(context.Context, any) (reconcile.Cloud, error) {
	return func(ctx context.Context, settings any) (reconcile.Cloud, error) {
		if l.Granted != nil && settings != nil {
			values, err := props.Encode(settings)
			if err == nil {
				err = l.Granted.settled(p.Name, values)
			}
			if err != nil {
				return nil, err
			}
		}
		return p.Open(ctx, settings)
	}
}

// settled returns when all that settings of a provider ask for is the user's own or allowed somewhere.
func (g *Granting) settled(provider string, values map[string]any) error {
	if g == nil {
		return nil
	}
	for _, ask := range g.User.Settled(provider, values) {
		if ask.Place = provider + "." + ask.Place; !grants.SomewhereAllowed(ask, g.Allowed) {
			return reconcile.WithHint(fmt.Errorf("%s; nobody has allowed it", ask.Sentence()),
				"it stands in the stack's state; if you trust it: --allow %s", render.ShellWord(string(ask.Kind)+"="+ask.Value))
		}
	}
	return nil
}

// Confine holds a stack that is data to what its user has allowed.
func (l *Loader) Confine(c *cli.Context, src *Source, store string) (err error) {
	if src.Self || src.GoMain || l.Program != nil {
		return nil
	}
	if l.Granted, err = l.Granting(c, src.Dir, store); err != nil {
		return err
	}
	c.Context = l.Granted.Within(c.Context)
	return nil
}

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
