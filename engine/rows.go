package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// RowView is what state has of one address, for people and for JSON. Secret attributes and props are masked unless
// they were asked for.
type RowView struct {
	Address     string           `json:"address"`
	Birth       string           `json:"birth,omitempty"`
	Needs       []string         `json:"needs,omitempty"`
	Options     graph.Options    `json:"options,omitzero"`
	Props       map[string]any   `json:"props,omitempty"`
	Generations []GenerationView `json:"generations"`
	// Problem is why the row cannot be read; its identities are in Generations all the same.
	Problem string `json:"problem,omitempty"`
}

// GenerationView is one object of a row.
type GenerationView struct {
	Number   uint64           `json:"generation"`
	State    statestore.State `json:"state"`
	Kind     string           `json:"kind"`
	Place    reconcile.Place  `json:"place"`
	Identity string           `json:"identity,omitempty"`
	Name     string           `json:"name,omitempty"`
	// Intent: its creation began and state does not say how it ended.
	Intent  bool           `json:"intent,omitempty"`
	Attrs   map[string]any `json:"attributes,omitempty"`
	Written time.Time      `json:"written,omitzero"`
}

// Rows are what is in state, sorted by address. With reveal secrets are in clear.
func (e *Engine) Rows(ctx context.Context, stage statestore.Stage, reveal bool) ([]RowView, error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	all := make([]RowView, 0, len(snap.Rows)+len(snap.Damaged))
	for _, row := range snap.Rows {
		all = append(all, views{e.Catalog, e.Key}.view(row, stage, reveal))
	}
	for addr, damage := range snap.Damaged {
		view := RowView{Address: addr, Problem: damage.Error()}
		for _, id := range damage.Identities {
			view.Generations = append(view.Generations, GenerationView{Kind: id.Kind, Place: reconcile.Place(id.Place), Identity: id.Identity})
		}
		all = append(all, view)
	}
	slices.SortFunc(all, func(a, b RowView) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}

// ReadRow returns the view of one address with its secrets masked, nil when state does not have it.
func ReadRow(ctx context.Context, e *Engine, stage statestore.Stage, address string) (*RowView, error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	row, there := snap.Rows[address]
	if !there {
		return nil, nil //nolint:nilnil // it is not in state, which is no error
	}
	return new(views{e.Catalog, e.Key}.view(row, stage, false)), nil
}

// views shows entries to people.
type views struct {
	catalog *reconcile.Catalog
	key     *seal.Key
}

func (v views) view(row statestore.Row, stage statestore.Stage, reveal bool) RowView {
	view := RowView{Address: row.Address, Needs: row.Needs}
	if row.Birth != row.Address {
		view.Birth = row.Birth
	}
	rec, err := state.Open(row, stage, v.key)
	if err != nil {
		view.Problem = err.Error()
		for _, g := range row.Generations {
			view.Generations = append(view.Generations, v.viewGeneration(state.GenerationOf(g), nil, reveal))
		}
		return view
	}
	secrets := &redact.Redactor{}
	for _, g := range rec.Generations {
		learnSecrets(v.catalog, secrets, g)
	}
	view.Options, view.Props = rec.Options(), rec.Props
	if !reveal {
		paths := rec.SecretPaths
		if k, ok := v.catalog.Kind(rec.Generations[0].Kind); ok {
			paths = slices.Concat(paths, k.Spec().SecretProps)
		} else {
			paths = []tree.Path{""} // nobody knows what is secret of a kind that is not there
		}
		for _, p := range paths {
			if v, ok := tree.Get(rec.Props, p); ok {
				secrets.Learn(v)
			}
		}
		view.Props = maskTree(rec.Props, paths, secrets)
	}
	for _, g := range rec.Generations {
		view.Generations = append(view.Generations, v.viewGeneration(g, secrets, reveal))
	}
	return view
}

func learnSecrets(catalog *reconcile.Catalog, secrets *redact.Redactor, g *state.Generation) {
	k, ok := catalog.Kind(g.Kind)
	if !ok {
		return
	}
	for _, p := range k.Spec().SecretAttrs {
		if v, ok := tree.Get(g.Attributes, p); ok {
			secrets.Learn(v)
		}
	}
}

func (v views) viewGeneration(g *state.Generation, secrets *redact.Redactor, reveal bool) GenerationView {
	shown := GenerationView{
		Number: g.Number, State: g.State, Kind: g.Kind, Place: g.Location, Identity: g.Identity, Name: g.Name,
		Intent: g.Intent != nil, Attrs: g.Attributes, Written: g.Written,
	}
	if !reveal && secrets != nil {
		paths := []tree.Path{""}
		if k, ok := v.catalog.Kind(g.Kind); ok {
			paths = k.Spec().SecretAttrs
		}
		shown.Attrs = maskTree(g.Attributes, paths, secrets)
	}
	return shown
}

// maskTree masks paths that are secret by type and values that hold a known secret.
func maskTree(t map[string]any, paths []tree.Path, secrets *redact.Redactor) map[string]any {
	masked := any(t)
	plan.Leaves(t, func(p tree.Path, v any) {
		secret := slices.ContainsFunc(paths, func(q tree.Path) bool { return p.Within(q) })
		if secret || secrets.Holds(v) {
			masked = tree.With(masked, p, reconcile.Mask)
		}
	})
	m, _ := masked.(map[string]any)
	return m
}

// Outputs are those of the last run that told them; secret ones are named apart.
func (e *Engine) Outputs(ctx context.Context, stage statestore.Stage) (values map[string]any, secret map[string]bool, err error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, nil, err
	}
	if err := e.Key.Check(snap.KeyID); err != nil {
		return nil, nil, err
	}
	return state.OpenOutputs(snap, e.Key)
}

// StackDir is the directory that a stack was deployed from last, in this project; "" when state does not say.
func (e *Engine) StackDir(ctx context.Context, stage statestore.Stage) (string, error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return "", err
	}
	rel, err := execute.OpenDir(e.Key, snap)
	if err != nil || rel == "" {
		return "", err
	}
	return filepath.Join(e.Root, filepath.FromSlash(rel)), nil
}
