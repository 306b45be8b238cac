package kind_test

import (
	"context"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestNamesThatAreAlwaysGiven: a name that the author must give has no rule, none is generated, and any is accepted that the
// kind's own check accepts.
func TestNamesThatAreAlwaysGiven(t *testing.T) {
	type pathProps struct {
		Path string `prop:"required"`
		Name string
	}
	k := kindOf[pathProps]()
	k.Named = &kind.Named[pathProps, int]{Given: func(p pathProps) string { return p.Path }, Prop: "path"}
	k.Files, k.FilesAt = []tree.Path{"path"}, []tree.Path{"path"}
	k.Prepare = func(context.Context, kind.Workspace, pathProps) (map[string]kind.Asset, error) { return nil, nil }
	erased, job := k.Erase(), &reconcile.Job{Props: map[string]any{"path": "a b/c "}}
	if err := erased.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := erased.Decode(job); err != nil {
		t.Fatal(err)
	}
	if erased.Names(job); job.Given != "a b/c " || job.Naming != nil || len(erased.Spec().FilesAt) != 1 {
		t.Errorf("%q, %+v, %v", job.Given, job.Naming, erased.Spec().FilesAt)
	}
	if k.Named.Prop = "name"; k.Validate() == nil {
		t.Error("a name that may be left out has no rule to generate it by")
	}
	if k.Named.Given = nil; k.Validate() == nil {
		t.Error("nobody gives the name")
	}
}
