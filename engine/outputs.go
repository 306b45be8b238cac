package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// OutputChange is one output that a plan changes.
type OutputChange struct {
	Name string `json:"name"`
	// Have and Want are the values, masked where Secret. Nil is none: the output comes, or goes.
	Have any `json:"have"`
	Want any `json:"want"`
	// Unknown: want is known only later; the output may change.
	Unknown bool `json:"unknown,omitempty"`
	Secret  bool `json:"secret,omitempty"`
}

// outputChanges compares the outputs that a plan leads to with those that the last run wrote. What is known
// later can change only where the plan acts.
func (w *work) outputChanges(ctx context.Context, acts bool) []OutputChange {
	if w.destroy || w.edit != nil || w.drift != nil {
		return nil
	}
	old, oldSecret := w.lastOutputs()
	var changes []OutputChange
	for _, name := range slices.Sorted(maps.Keys(w.results)) {
		had, there := old[name]
		c := OutputChange{Name: name, Have: had, Secret: oldSecret[name]}
		r, err := w.resolve(ctx, w.results[name])
		switch {
		case err != nil:
			continue // it keeps its last good value
		case len(r.Unknown) > 0 && !acts:
			continue
		case len(r.Unknown) > 0:
			c.Unknown, c.Want = true, shown(r.Tree)
		default:
			c.Want = r.Tree
		}
		secret := len(r.Secret) > 0 || w.redact.Holds(r.Tree)
		if !c.Unknown && there && tree.Equal(c.Have, c.Want) && secret == oldSecret[name] {
			continue
		}
		if c.Secret = c.Secret || secret; c.Secret {
			c.Have, c.Want = maskOf(c.Have), maskOf(c.Want)
		}
		changes = append(changes, c)
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if w.results[name] != nil {
			continue
		}
		c := OutputChange{Name: name, Have: old[name], Secret: oldSecret[name]}
		if c.Secret {
			c.Have = maskOf(c.Have)
		}
		changes = append(changes, c)
	}
	return changes
}

// plannedOutputs are the outputs as far as they are known.
func (w *work) plannedOutputs(ctx context.Context) map[string]any {
	outputs := make(map[string]any, len(w.graph.Outputs))
	for name, t := range w.results {
		r, err := w.resolve(ctx, t)
		switch {
		case err != nil:
			outputs[name] = nil
		case len(r.Secret) > 0:
			outputs[name] = reconcile.Mask
		default:
			outputs[name] = shown(r.Tree)
		}
	}
	return outputs
}

// outputs are the values of the graph's outputs. What cannot be told keeps its last good value.
func (w *work) outputs(ctx context.Context) (map[string]any, map[string]bool) {
	old, oldSecret := w.lastOutputs()
	values, secret := make(map[string]any, len(w.graph.Outputs)), map[string]bool{}
	if w.drift != nil {
		maps.Copy(values, old)
		maps.Copy(secret, oldSecret)
	}
	for name, t := range w.results {
		resolved, err := w.resolve(ctx, t)
		if err != nil || len(resolved.Unknown) > 0 {
			if had, ok := old[name]; ok {
				values[name] = had
				if oldSecret[name] {
					secret[name] = true
				}
			}
			continue
		}
		values[name] = resolved.Tree
		if len(resolved.Secret) > 0 || w.redact.Holds(resolved.Tree) {
			secret[name] = true
		}
	}
	return values, secret
}

func (w *work) lastOutputs() (map[string]any, map[string]bool) {
	values, secret, err := state.OpenOutputs(w.snap, w.e.Key)
	if err != nil {
		return nil, nil
	}
	return values, secret
}

// sealOutputs makes the bytes of the outputs, and reports whether they differ from those on record.
func (w *work) sealOutputs(ctx context.Context) ([]byte, bool) {
	if w.orphans != nil {
		return nil, false
	}
	values, secret := w.outputs(ctx)
	old, oldSecret := w.lastOutputs()
	if tree.Equal(anyMap(old), anyMap(values)) && maps.Equal(oldSecret, secret) {
		return nil, false
	}
	names := make([]any, 0, len(secret))
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		names = append(names, name)
	}
	body := map[string]any{"values": values, "secret": names}
	return w.e.Key.Seal(tree.Canonical(body), state.Binding(w.stage, "\x00outputs")), true
}
