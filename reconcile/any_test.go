package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// NoteProps declare a note that is kept in the record alone.
type NoteProps struct {
	Text string
	Size *int `prop:"min=1"`
	Pin  string
}

// NoteAttrs are what others refer to.
type NoteAttrs struct{ Said string }

type liveNote struct {
	had  NoteProps
	said string
}

func noteKind() *reconciletest.Kind[NoteProps, liveNote, NoteAttrs] {
	return &reconciletest.Kind[NoteProps, liveNote, NoteAttrs]{
		Type: "test.Note",
		Observe: func(_ context.Context, site reconciletest.Site[NoteProps, NoteAttrs]) (liveNote, error) {
			if site.Last == nil || site.Had == nil {
				return liveNote{}, reconcile.ErrAbsent
			}
			return liveNote{*site.Had, site.Last.Said}, nil
		},
		Create: func(_ context.Context, site reconciletest.Site[NoteProps, NoteAttrs]) (NoteAttrs, error) {
			return NoteAttrs{Said: site.Want.Text}, nil
		},
		Compare: func(d *reconcile.Diff[liveNote], want NoteProps, live liveNote) {
			had := live.had.Text
			if d.Force() {
				had = ""
			}
			reconcile.Value(d, "text", want.Text, had, &reconcile.Operation[liveNote]{Name: "Say", Do: func(_ context.Context, on reconcile.Update[liveNote]) error {
				on.Store(NoteAttrs{Said: want.Text + " again"})
				return nil
			}})
			reconcile.Fixed(d, "pin", want.Pin, live.had.Pin)
		},
		Attrs:    func(l liveNote) NoteAttrs { return NoteAttrs{Said: l.said} },
		Delete:   func(context.Context, reconciletest.Site[NoteProps, NoteAttrs]) error { return nil },
		Identity: func(NoteAttrs) string { return "" },
		Moves:    []string{"said"},
		Recorded: true,
	}
}

// An object that is kept in state alone lives by what state holds, and its address is its identity.
func TestKeptInStateAlone(t *testing.T) {
	t.Parallel()
	kind := reconciletest.Erase(noteKind())
	first := map[string]any{"text": "hello"}
	out, err := kind.Settle(t.Context(), &reconcile.Job{Address: "note", Props: first}, reconcile.Hooks{})
	if err != nil || !out.Created || out.Identity != "note" || out.Attrs["said"] != "hello" {
		t.Fatalf("create: %+v (%v)", out, err)
	}
	job := func(text string) *reconcile.Job {
		return &reconcile.Job{Address: "moved", Mark: reconcile.Mark{Address: "note"}, Props: map[string]any{"text": text}, Last: out.Attrs, Had: first, ID: out.Identity}
	}
	same, err := kind.Settle(t.Context(), job("hello"), reconcile.Hooks{})
	if err != nil || same.Created || len(same.Changed) > 0 || same.Identity != "note" || same.Attrs["said"] != "hello" {
		t.Errorf("the same: %+v (%v)", same, err)
	}
	other, err := kind.Settle(t.Context(), job("bye"), reconcile.Hooks{})
	if err != nil || other.Created || !slices.Equal(other.Changed, []tree.Path{"text"}) || other.Attrs["said"] != "bye again" {
		t.Errorf("changed: %+v (%v)", other, err)
	}
	forced := job("hello")
	forced.Force = true
	again, err := kind.Settle(t.Context(), forced, reconcile.Hooks{})
	if err != nil || again.Attrs["said"] != "hello again" || len(again.Changed) != 1 {
		t.Errorf("forced: %+v (%v)", again, err)
	}
}

// What is declared is decoded, checked and completed, in that order, and a late prop may be left out.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	var order []string
	k := noteKind()
	k.Check = func(p NoteProps) error {
		order = append(order, "check")
		if p.Text == "bad" {
			return props.Errors{{Path: "text", Problem: "is bad"}}
		}
		return nil
	}
	k.Defaults = func(p NoteProps) NoteProps {
		order = append(order, "defaults")
		if p.Size == nil {
			p.Size = new(4)
		}
		return p
	}
	k.Recorded = false
	k.Given = func(p NoteProps) string { return p.Pin }
	k.Naming = func(p NoteProps, _ reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: *p.Size} }
	k.Prepare = func(_ context.Context, work reconcile.Workspace, p NoteProps) (map[string]reconcile.Asset, error) {
		return map[string]reconcile.Asset{"text": {Digest: work.Dir + p.Text}}, nil
	}
	kind := reconciletest.Erase(k)
	for name, tree := range map[string]map[string]any{"unknown": {"txt": "x"}, "limit": {"size": int64(0)}, "check": {"text": "bad"}} {
		if err := kind.Decode(&reconcile.Job{Props: tree}); err == nil || !errors.As(err, new(props.Errors)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	order = nil
	job := &reconcile.Job{Props: map[string]any{"text": "x", "pin": "wall"}, Omit: []tree.Path{"text"}}
	kind.Names(job)
	if err := errors.Join(kind.Decode(job), kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: "dir/"})); err != nil {
		t.Fatal(err)
	}
	if job.Given != "wall" || job.Naming.Max != 4 || job.Assets["text"].Digest != "dir/" {
		t.Errorf("job %+v, naming %+v", job, job.Naming)
	}
	if strings.Join(order, " ") != "check defaults" {
		t.Errorf("order %q, want each once", order)
	}
}

// ShelfProps declare what must be given.
type ShelfProps struct {
	Holds string `prop:"required"`
	Note  string
}

// What is left out for now is declared: it is neither missing nor wrong.
func TestLeftOutIsDeclared(t *testing.T) {
	t.Parallel()
	var compared []string
	k := &reconciletest.Kind[ShelfProps, int, noAttrs]{
		Type:    "test.Shelf",
		Observe: func(context.Context, reconciletest.Site[ShelfProps, noAttrs]) (int, error) { return 0, nil },
		Create:  func(context.Context, reconciletest.Site[ShelfProps, noAttrs]) (noAttrs, error) { return noAttrs{}, nil },
		Compare: func(_ *reconcile.Diff[int], want ShelfProps, _ int) {
			compared = append(compared, want.Holds+want.Note)
		},
		Attrs:  func(int) noAttrs { return noAttrs{} },
		Delete: func(context.Context, reconciletest.Site[ShelfProps, noAttrs]) error { return nil },
		Check: func(want ShelfProps) error {
			if want.Note == "" {
				return &props.FieldError{Path: "note", Problem: "is missing"}
			}
			return nil
		},
		Identity: func(noAttrs) string { return "shelf" },
	}
	kind := reconciletest.Erase(k)
	declared := map[string]any{"holds": "⟦up.value⟧", "note": "⟦up.value⟧"}
	if _, err := kind.Look(t.Context(), &reconcile.Job{Props: declared, Omit: []tree.Path{"holds", "note"}}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(compared, []string{""}) {
		t.Errorf("compared with %q, and both are left out", compared)
	}
	if err := kind.Decode(&reconcile.Job{Props: map[string]any{"note": "x"}, Omit: []tree.Path{"note"}}); err == nil {
		t.Error("what is not declared at all is missing")
	}
}

// A look is compared again with other props, and no call is made.
func TestCompareAgain(t *testing.T) {
	t.Parallel()
	r := &room{lamp: &lamp{color: "blue", shape: "round"}}
	kind := reconciletest.Erase(r.kind())
	look, err := kind.Look(t.Context(), r.job(red()))
	if err != nil || len(look.Replaces()) != 1 || len(look.Steps) != 2 {
		t.Fatalf("look %+v (%v)", look, err)
	}
	later, err := kind.Compare(r.job(map[string]any{"color": "blue", "shape": "round"}), look)
	if err != nil || len(later.Steps) != 0 || later.Identity != look.Identity || r.looks != 1 {
		t.Errorf("compared again: %+v after %d looks (%v)", later, r.looks, err)
	}
	absent, err := kind.Compare(r.job(red()), reconcile.Look{Absent: true})
	if err != nil || !absent.Absent {
		t.Errorf("absent compared again: %+v (%v)", absent, err)
	}
}

func TestSpecTells(t *testing.T) {
	t.Parallel()
	spec := reconciletest.Erase(noteKind()).Spec()
	if !spec.Recorded || spec.Named || spec.Marked || spec.Lists || spec.Bulk || spec.Prepares || spec.Type != "test.Note" {
		t.Errorf("spec %+v", spec)
	}
	if _, ok := spec.NewProps().(*NoteProps); !ok {
		t.Errorf("props %T", spec.NewProps())
	}
	if _, ok := spec.NewAttrs().(*NoteAttrs); !ok {
		t.Errorf("attributes %T", spec.NewAttrs())
	}
	if p := (reconcile.Place{Provider: "aws", Region: "eu-north-1"}); p.String() != "aws/eu-north-1" {
		t.Errorf("place %s", p)
	}
}
