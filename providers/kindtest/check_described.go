package kindtest

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checkDescribed checks that what is read back of an object, declared under its own name, differs from it in nothing.
func checkDescribed(t T, s Suite) {
	if s.Kind.Spec().Recorded {
		return // there is nothing to see of it
	}
	d := start(t, s)
	for _, v := range s.all() {
		d.must(d.to(v.Props), "%s: make", v.Name)
		job, err := d.job(d.live, nil)
		d.must(err, "%s: job", v.Name)
		seen, err := s.Kind.Look(d.ctx(), job)
		d.must(err, "%s: look", v.Name)
		declared, rest := reconcile.Describe(s.Kind, job, seen)
		if d.unreadable(v.Name, declared, rest) {
			continue
		}
		look, err := d.look(declared)
		d.must(err, "%s: look with what was read back: %s", v.Name, tree.Canonical(declared))
		for _, step := range look.Steps {
			t.Errorf("%s: what was read back differs: %s\n%s", v.Name, step, tree.Canonical(declared))
		}
	}
}

// unreadable checks what could not be read back against what the suite says of it.
func (d *driver) unreadable(variant string, declared map[string]any, rest []reconcile.Step) bool {
	for _, step := range rest {
		excused := slices.ContainsFunc(d.s.Kind.Spec().SecretProps, func(p tree.Path) bool { return step.Path.Within(p) })
		for p := range d.s.Unreadable {
			excused = excused || step.Path.Within(p)
		}
		if !excused {
			d.t.Errorf("%s: cannot be read back: %s\n%s", variant, step, tree.Canonical(declared))
		}
	}
	return len(rest) > 0
}
