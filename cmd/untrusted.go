package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// planUntrusted plans a stranger's stack: no secret is read, no program is built or run, and what could not be observed
// is said. Without a state store, its key or credentials it plans from the program alone.
func planUntrusted(o *session.Opener, c *cli.Context) error {
	s, src, err := o.Begin(c, 0)
	if err != nil {
		return err
	}
	if o.Granted != nil {
		o.Granted.Asks = false
	}
	g, err := s.Evaluate(c.Context, src)
	if err != nil {
		return err
	}
	c.Context = o.Granted.Within(c.Context)
	s.Stage.Stack = g.Stack
	unobserved := grants.Unobserved(g, grants.Runs)
	s.Graph = grants.Without(g, unobserved)
	missing, err := openUntrusted(s, c, src.Dir)
	if err != nil {
		return err
	}
	if missing == "" {
		missing = unreached(c.Context, o, s.Graph)
	}
	if missing != "" {
		for _, flag := range []string{"out", "submit", "iam"} {
			if c.IsSet(flag) {
				return fmt.Errorf("--%s: only the program can be shown, and no plan: %s", flag, missing)
			}
		}
		return showProgram(o, c, g, missing)
	}
	// What is not observed stays as state has it.
	snap, err := s.Project.Store.Load(c.Context, s.Stage)
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(unobserved)) {
		if _, there := snap.Rows[address]; there {
			s.Options.Exclude = append(s.Options.Exclude, address)
		}
	}
	p, err := s.Plan(c.Context)
	s.Unobserved = unobserved
	return s.Show(c, p, err)
}

// openUntrusted opens state that is there already, with a key that is there already. Missing says what there is not.
func openUntrusted(s *session.Session, c *cli.Context, dir string) (missing string, err error) {
	if s.Store == "" {
		if _, err := os.Stat(filepath.Join(project.Root(dir), ".athanor", "state.db")); errors.Is(err, fs.ErrNotExist) {
			return "there is no state store", nil
		}
	}
	s.Dir = dir
	if s.Project, err = project.Open(dir, s.Store); err != nil {
		return "", err
	}
	s.Opener.Store = s.Project.Store
	snap, err := s.Project.Store.Load(c.Context, s.Stage)
	switch {
	case err != nil:
		return "the state store cannot be read: " + err.Error(), nil
	case snap.KeyID == "":
		return "the stage has no state", nil
	}
	place := project.KeySources(c.Context, s.Stage, dir)
	place.Stored = snap.Meta[keeper.RingFact]
	if _, err := seal.Load(place, snap.KeyID); err != nil {
		return "the stage's key is not here", nil //nolint:nilerr // it is said in place of an error
	}
	if s.Engine, err = s.Project.Engine(c.Context, s.Stage, dir, s.Opener.Catalog, c.Bool("accept-older-state")); err != nil {
		return "", err
	}
	s.Engine.Parallel, s.Engine.Peers = c.Int("parallel"), session.NewPeers(c, s)
	s.Opener.Redacted = s.Engine.Redacted
	return "", nil
}

// unreached says which provider of a graph cannot be asked, "" when all can.
func unreached(ctx context.Context, o *session.Opener, g *engine.Graph) string {
	for _, used := range providersOf(o.Catalog, g) {
		if _, err := reach(ctx, used.provider, used.settings); err != nil {
			return used.provider.Name + " cannot be asked: " + err.Error()
		}
	}
	return ""
}

// usedProvider is a provider with settings that a graph has for it.
type usedProvider struct {
	provider reconcile.Provider
	settings map[string]any
}

// providersOf are the providers of a graph that lead to an account, once with each settings.
func providersOf(catalog *reconcile.Catalog, g *engine.Graph) []usedProvider {
	var all []usedProvider
	known := map[string]bool{}
	add := func(kind string, settings map[string]any) {
		p, ok := catalog.ProviderOf(kind)
		if name := p.Name + string(tree.Canonical(settings)); ok && p.Open != nil && !known[name] {
			known[name] = true
			all = append(all, usedProvider{p, settings})
		}
	}
	for i := range g.Resources {
		add(g.Resources[i].Kind, g.Resources[i].Settings)
	}
	for i := range g.Reads {
		add(g.Reads[i].Kind, g.Reads[i].Settings)
	}
	return all
}

// reach asks a provider which account and region its credentials lead to.
func reach(ctx context.Context, p reconcile.Provider, settings map[string]any) (reconcile.Place, error) {
	var typed any
	if p.Settings != nil {
		typed = reflect.New(reflect.TypeOf(p.Settings).Elem()).Interface()
		if settings == nil {
			settings = map[string]any{}
		}
		if err := props.Decode(settings, typed); err != nil {
			return reconcile.Place{}, err
		}
	}
	cloud, err := p.Open(ctx, typed)
	if err != nil {
		return reconcile.Place{}, err
	}
	return cloud.Place(reconcile.ReadOnly(ctx))
}

// showProgram shows what a program declares where nothing can be observed: no action is claimed.
func showProgram(o *session.Opener, c *cli.Context, g *engine.Graph, missing string) error {
	digest, err := g.Digest()
	if err != nil {
		return err
	}
	doc := render.Program{
		Stack: g.Stack, Stage: g.Stage, Digest: digest, Untrusted: true, Missing: missing, Actions: []render.NotObserved{},
	}
	add := func(address, kind string) {
		doc.Actions = append(doc.Actions, render.NotObserved{Address: address, Kind: kind, Action: "not-observed"})
	}
	for i := range g.Resources {
		add(g.Resources[i].Address, g.Resources[i].Kind)
	}
	for i := range g.Reads {
		add(g.Reads[i].Address, g.Reads[i].Kind)
	}
	slices.SortFunc(doc.Actions, func(a, b render.NotObserved) int { return strings.Compare(a.Address, b.Address) })
	if o.WroteJSON(doc) {
		return nil
	}
	if c.Bool("markdown") {
		return render.Markdown{}.Program(o.Out, doc)
	}
	o.Style(o.Out).Program(o.Out, doc)
	return nil
}
