package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// outputs are those of a program, and those that the last run wrote.
type outputs struct {
	program *Program
	snap    *statestore.Snapshot
	key     *seal.Key
	// keep: what the program does not declare stays as it was written. none: they are left alone. shown: a plan lists what changes.
	keep, none, shown bool
}

// changes compares the outputs that a plan leads to with those that the last run wrote. What is known
// later can change only where the plan acts.
func (o outputs) changes(ctx context.Context, acts bool) []plan.OutputChange {
	if !o.shown {
		return nil
	}
	old, oldSecret := o.last()
	var all []plan.OutputChange
	for _, name := range slices.Sorted(maps.Keys(o.program.results)) {
		had, there := old[name]
		c := plan.OutputChange{Name: name, Have: had, Secret: oldSecret[name]}
		r, err := o.program.Resolve(ctx, o.program.results[name])
		switch {
		case err != nil:
			continue // it keeps its last good value
		case len(r.Unknown) > 0 && !acts:
			continue
		case len(r.Unknown) > 0:
			c.Unknown, c.Want = true, plan.Shown(r.Tree)
		default:
			c.Want = r.Tree
		}
		secret := len(r.Secret) > 0 || o.program.Redact.Holds(r.Tree)
		if !c.Unknown && there && tree.Equal(c.Have, c.Want) && secret == oldSecret[name] {
			continue
		}
		if c.Secret = c.Secret || secret; c.Secret {
			c.Have, c.Want = plan.MaskOf(c.Have), plan.MaskOf(c.Want)
		}
		all = append(all, c)
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if o.program.results[name] != nil {
			continue
		}
		c := plan.OutputChange{Name: name, Have: old[name], Secret: oldSecret[name]}
		if c.Secret {
			c.Have = plan.MaskOf(c.Have)
		}
		all = append(all, c)
	}
	return all
}

// planned are the outputs as far as they are known.
func (o outputs) planned(ctx context.Context) map[string]any {
	texts := make(map[string]any, len(o.program.Graph.Outputs))
	for name, t := range o.program.results {
		r, err := o.program.Resolve(ctx, t)
		switch {
		case err != nil:
			texts[name] = nil
		case len(r.Secret) > 0:
			texts[name] = reconcile.Mask
		default:
			texts[name] = plan.Shown(r.Tree)
		}
	}
	return texts
}

// Values are the values of the graph's outputs. What cannot be told keeps its last good value.
func (o outputs) Values(ctx context.Context) (map[string]any, map[string]bool) {
	old, oldSecret := o.last()
	values, secret := make(map[string]any, len(o.program.Graph.Outputs)), map[string]bool{}
	if o.keep {
		maps.Copy(values, old)
		maps.Copy(secret, oldSecret)
	}
	for name, t := range o.program.results {
		resolved, err := o.program.Resolve(ctx, t)
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
		if len(resolved.Secret) > 0 || o.program.Redact.Holds(resolved.Tree) {
			secret[name] = true
		}
	}
	return values, secret
}

// Failed counts the outputs that have no value although all that they refer to is known, and tells each as a warning: a function of
// the program failed, or an attribute is not there.
func (o outputs) Failed(ctx context.Context, tell func(plan.Event)) (count int) {
	for _, name := range slices.Sorted(maps.Keys(o.program.results)) {
		if _, err := o.program.Resolve(ctx, o.program.results[name]); err != nil {
			count++
			if tell != nil {
				why := o.program.Redact.Text(err.Error())
				tell(plan.Event{Type: plan.EventWarning, Note: fmt.Sprintf("output %s keeps its last value, if it has one: %s", name, why)})
			}
		}
	}
	return count
}

func (o outputs) last() (map[string]any, map[string]bool) {
	values, secret, err := state.OpenOutputs(o.snap, o.key)
	if err != nil {
		return nil, nil
	}
	return values, secret
}

// Seal makes the bytes of the outputs, and reports whether they differ from those in state.
func (o outputs) Seal(ctx context.Context) ([]byte, bool) {
	if o.none {
		return nil, false
	}
	values, secret := o.Values(ctx)
	old, oldSecret := o.last()
	if tree.Equal(plan.AnyMap(old), plan.AnyMap(values)) && maps.Equal(oldSecret, secret) {
		return nil, false
	}
	names := make([]any, 0, len(secret))
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		names = append(names, name)
	}
	body := map[string]any{"values": values, "secret": names}
	return o.key.Seal(tree.Canonical(body), state.Binding(o.snap.Stage, "\x00outputs")), true
}
