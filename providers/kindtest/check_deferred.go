package kindtest

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checkDeferred empties each path through which a cycle can be opened, as is done before the members of a cycle are deleted:
// with nothing prepared, and without touching anything else.
func checkDeferred(t T, s Suite) {
	t.Helper()
	for _, late := range s.Kind.Spec().Late {
		if v, at, left, ok := s.deferred(late); ok {
			s.empties(t, v, at, left)
		}
	}
}

// deferred is the first variant that has a value at a path, and its props without it, with as much around it as must go
// with it.
func (s Suite) deferred(late tree.Path) (v Variant, at tree.Path, left map[string]any, ok bool) {
	depth := len(late.Steps())
	for _, v := range s.all() {
		var all []tree.Path
		tree.Walk(v.Props, func(p tree.Path, _ any) bool {
			if len(p.Steps()) == depth && p.Within(late) {
				all = append(all, p)
			}
			return len(p.Steps()) < depth
		})
		for _, at := range all {
			for ; at != ""; at = at.Parent() {
				if left, _ := tree.Without(v.Props, at).(map[string]any); s.valid(left) {
					return v, at, left, true
				}
			}
		}
	}
	return Variant{}, "", nil, false
}

func (s Suite) empties(t T, v Variant, at tree.Path, left map[string]any) {
	t.Helper()
	d := start(t, s)
	d.must(d.to(v.Props), "%s", v.Name)
	job, err := d.job(d.live, left)
	d.must(err, "%s without %s: job", v.Name, at)
	job.From, job.Assets = v.Props, nil
	look, err := s.Kind.Look(d.ctx(), job)
	d.must(err, "%s without %s: look", v.Name, at)
	for _, step := range look.Steps {
		if step.Replaces || !s.concerns(step.Path, at) {
			t.Errorf("emptying %s of %s alone: a difference shows at %s, which replaces: %t", at, v.Name, step.Path, step.Replaces)
		}
	}
	if _, err := s.Kind.Settle(d.ctx(), job, reconcile.Hooks{}); err != nil {
		t.Errorf("emptying %s of %s alone, with nothing prepared: %v", at, v.Name, err)
		return
	}
	if s.Kind.Spec().Recorded {
		return // the state tells what is there, and is not kept here
	}
	again, err := d.job(d.live, left)
	d.must(err, "%s without %s: job", v.Name, at)
	look, err = s.Kind.Look(d.ctx(), again)
	d.must(err, "%s without %s: look again", v.Name, at)
	// What cannot be read back is known by the state, which is not kept here. A service may give an emptied path a default of its
	// own: what counts is that the value of before is no longer there.
	differ := slices.DeleteFunc(look.Steps, func(step reconcile.Step) bool {
		before, _ := tree.Get(v.Props, step.Path)
		return step.Secret || s.concerns(step.Path, at) && !tree.Equal(step.Have, before)
	})
	if len(differ) > 0 {
		var texts []string
		for _, step := range differ {
			texts = append(texts, step.String())
		}
		t.Errorf("emptying %s of %s alone left or made a difference: %s", at, v.Name, strings.Join(texts, "; "))
	}
}
