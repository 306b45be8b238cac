package plan

import (
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// An object without name and owner tag is nobody's in particular, unless the list of its parent has but one such.
func TestFindsOfAParentAreOurs(t *testing.T) {
	t.Parallel()
	for want, spec := range map[adopt.Verdict]*reconcile.Spec{
		adopt.Ambiguous: {Type: "world.Assigned"},
		adopt.Ours:      {Type: "world.Child", ByParent: true},
	} {
		b, n := &Basis{Owners: &state.Owners{}}, &Node{Declaration: Declaration{Address: "a", Spec: spec}}
		e := b.Evidence(n, &reconcile.Job{Address: "a"}, reconcile.Look{Identity: "parent/child"}, nil)
		if have := adopt.Judge(e).Verdict; have != want {
			t.Errorf("%s: %s, want %s", spec.Type, have, want)
		}
	}
}

// An object without an owner tag, of a kind that has owner tags, is ours if we began it under a generated name: the run
// may have been cut between the creation and the tag. A name that the author chose proves nothing.
func TestWhatWeBeganIsOurs(t *testing.T) {
	t.Parallel()
	spec := &reconcile.Spec{Type: "world.Marked", Marked: true, Named: true}
	for _, tt := range []struct {
		why  string
		g    *state.Generation
		want adopt.Verdict
	}{
		{"begun", &state.Generation{Intent: &state.Intent{}, Name: "x"}, adopt.Ours},
		{"begun under another name", &state.Generation{Intent: &state.Intent{}, Name: "y"}, adopt.Foreign},
		{"begun under a given name", &state.Generation{Intent: &state.Intent{}, Name: "x", NameGiven: true}, adopt.Foreign},
		{"not begun", &state.Generation{Name: "x"}, adopt.Foreign},
		{"no record", nil, adopt.Foreign},
	} {
		b, n := &Basis{Owners: &state.Owners{}}, &Node{Declaration: Declaration{Address: "a", Spec: spec}}
		e := b.Evidence(n, &reconcile.Job{Address: "a", Name: "x"}, reconcile.Look{Identity: "id"}, tt.g)
		if have := adopt.Judge(e).Verdict; have != tt.want {
			t.Errorf("%s: %s, want %s", tt.why, have, tt.want)
		}
	}
}
