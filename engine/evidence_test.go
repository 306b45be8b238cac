package engine

import (
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// A thing without name and mark is nobody's in particular, unless the list of its parent has but one such.
func TestFindsOfAParentAreOurs(t *testing.T) {
	t.Parallel()
	for want, spec := range map[adopt.Verdict]*reconcile.Spec{
		adopt.Ambiguous: {Type: "world.Assigned"},
		adopt.Ours:      {Type: "world.Child", ByParent: true},
	} {
		w, n := new(work), &node{addr: "a", spec: spec}
		e := w.evidence(n, &reconcile.Job{Address: "a"}, reconcile.Look{Identity: "parent/child"}, "")
		if have := adopt.Judge(e).Verdict; have != want {
			t.Errorf("%s: %s, want %s", spec.Type, have, want)
		}
	}
}
