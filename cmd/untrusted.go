package cmd

import (
	"context"
	"errors"
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
func (a *app) planUntrusted(c *cli.Context) error {
	s, src, err := a.begin(c, 0)
	if err != nil {
		return err
	}
	if a.Granted != nil {
		a.Granted.Asks = false
	}
	if err := s.fillConfig(c.Context, src); err != nil {
		return err
	}
	g, err := a.Load(c.Context, src, s.stage.Name, s.config)
	if err != nil {
		return err
	}
	c.Context = a.Granted.Within(c.Context)
	s.stage.Stack = g.Stack
	unobserved := grants.Unobserved(g, grants.Runs)
	s.graph = grants.Without(g, unobserved)
	missing, err := s.openUntrusted(c, src.Dir)
	if err != nil {
		return err
	}
	if missing == "" {
		missing = a.unreached(c.Context, s.graph)
	}
	if missing != "" {
		return a.showProgram(c, g, missing)
	}
	// What is not observed stays as state has it.
	snap, err := s.project.Store.Load(c.Context, s.stage)
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(unobserved)) {
		if _, there := snap.Rows[address]; there {
			s.options.Exclude = append(s.options.Exclude, address)
		}
	}
	p, err := s.plan(c.Context)
	s.unobserved = unobserved
	return s.show(c, p, err)
}

// openUntrusted opens state that is there already, with a key that is there already. Missing says what there is not.
func (s *session) openUntrusted(c *cli.Context, dir string) (missing string, err error) {
	if s.store == "" {
		if _, err := os.Stat(filepath.Join(project.Root(dir), ".athanor", "state.db")); errors.Is(err, fs.ErrNotExist) {
			return "there is no state store", nil
		}
	}
	s.dir = dir
	if s.project, err = project.Open(dir, s.store); err != nil {
		return "", err
	}
	s.app.store = s.project.Store
	snap, err := s.project.Store.Load(c.Context, s.stage)
	switch {
	case err != nil:
		return "the state store cannot be read: " + err.Error(), nil
	case snap.KeyID == "":
		return "the stage has no state", nil
	}
	place := project.KeySources(c.Context, s.stage, dir)
	place.Stored = snap.Meta[keeper.RingFact]
	if _, err := seal.Load(place, snap.KeyID); err != nil {
		return "the stage's key is not here", nil //nolint:nilerr // it is said in place of an error
	}
	if s.engine, err = s.project.Engine(c.Context, s.stage, dir, s.app.Catalog, c.Bool("accept-older-state")); err != nil {
		return "", err
	}
	s.engine.Parallel, s.engine.Peers = c.Int("parallel"), newPeers(c, s)
	s.app.Redacted = s.engine.Redacted
	return "", nil
}

// unreached says which provider of a graph cannot be asked, "" when all can.
func (a *app) unreached(ctx context.Context, g *engine.Graph) string {
	asked := map[string]bool{}
	check := func(kind string, settings map[string]any) string {
		p, ok := a.Catalog.ProviderOf(kind)
		name := p.Name + string(tree.Canonical(map[string]any(settings)))
		if !ok || asked[name] || p.Open == nil {
			return ""
		}
		asked[name] = true
		if _, err := reach(ctx, p, settings); err != nil {
			return p.Name + " cannot be asked: " + err.Error()
		}
		return ""
	}
	for i := range g.Resources {
		if why := check(g.Resources[i].Kind, g.Resources[i].Settings); why != "" {
			return why
		}
	}
	for i := range g.Reads {
		if why := check(g.Reads[i].Kind, g.Reads[i].Settings); why != "" {
			return why
		}
	}
	return ""
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
func (a *app) showProgram(c *cli.Context, g *engine.Graph, missing string) error {
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
	if a.AsJSON {
		a.JSON(doc)
		return nil
	}
	if c.Bool("markdown") {
		return render.Markdown{}.Program(a.Out, doc)
	}
	a.Style(a.Out).Program(a.Out, doc)
	return nil
}
