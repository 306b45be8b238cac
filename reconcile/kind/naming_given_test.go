package kind_test

import (
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestNamesThatAreAlwaysGiven: a name that the author gives each time has no rule, none is generated, and any is accepted that
// the kind's own check accepts.
func TestNamesThatAreAlwaysGiven(t *testing.T) {
	k := boxKind()
	k.Named = &kind.Named[BoxProps, BoxProps]{Given: func(BoxProps) string { return "a b/c " }, Prop: "sealed", AlwaysGiven: true}
	k.FilesAt = []tree.Path{"sealed"}
	erased, job := reconcile.Erase(k.First()), &reconcile.Job{Props: map[string]any{}}
	if err := erased.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := erased.Decode(job); err != nil {
		t.Fatal(err)
	}
	if erased.Names(job); job.Given != "a b/c " || job.Naming != nil || len(erased.Spec().FilesAt) != 1 {
		t.Errorf("%q, %+v, %v", job.Given, job.Naming, erased.Spec().FilesAt)
	}
	if k.Named.Given = nil; k.Validate() == nil {
		t.Error("nobody gives the name")
	}
}
