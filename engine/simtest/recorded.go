package simtest

import (
	"context"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// NoteProps are those of the kinds that live in the record.
type NoteProps struct{ Text string }

// NoteAttrs are their attributes.
type NoteAttrs struct{ Text, Short string }

func note(text string) NoteAttrs { return NoteAttrs{Text: text, Short: text[:min(3, len(text))]} }

// noteKind is kept in the record alone, like local.Value.
func noteKind() *reconciletest.Kind[NoteProps, NoteAttrs, NoteAttrs] {
	return &reconciletest.Kind[NoteProps, NoteAttrs, NoteAttrs]{
		Type: "sim.Note", Recorded: true,
		Observe: func(_ context.Context, s reconciletest.Site[NoteProps, NoteAttrs]) (NoteAttrs, error) {
			if s.Last == nil {
				return NoteAttrs{}, reconcile.ErrAbsent
			}
			return *s.Last, nil
		},
		Create: func(_ context.Context, s reconciletest.Site[NoteProps, NoteAttrs]) (NoteAttrs, error) {
			return note(s.Want.Text), nil
		},
		Compare: func(d *reconcile.Diff[NoteAttrs], want NoteProps, live NoteAttrs) {
			reconcile.Value(d, "text", want.Text, live.Text, &reconcile.Operation[NoteAttrs]{
				Name: "write", Do: func(_ context.Context, on reconcile.Update[NoteAttrs]) error {
					on.Store(note(want.Text))
					return nil
				},
			})
		},
		Attrs:    func(l NoteAttrs) NoteAttrs { return l },
		Delete:   func(context.Context, reconciletest.Site[NoteProps, NoteAttrs]) error { return nil },
		Identity: func(NoteAttrs) string { return "" },
		Moves:    []string{"text", "short"},
	}
}

// ran is what is known of a command that ran.
type ran struct {
	attrs NoteAttrs
	had   *NoteProps
}

// commandKind acts outside state when it is made, and undoes it with the props that it was made with.
func (c *Cloud) commandKind() *reconciletest.Kind[NoteProps, ran, NoteAttrs] {
	act := func(ctx context.Context, op, address, text string, mark reconcile.Mark) error {
		return c.write(ctx, op+" "+address, func() (Effect, error) {
			return Effect{Op: op, Kind: "sim.Command", ID: address, Owner: mark, Want: text}, nil
		})
	}
	return &reconciletest.Kind[NoteProps, ran, NoteAttrs]{
		Type: "sim.Command", Recorded: true, Rerun: true, Tidies: true,
		Observe: func(_ context.Context, s reconciletest.Site[NoteProps, NoteAttrs]) (ran, error) {
			if s.Last == nil {
				return ran{}, reconcile.ErrAbsent
			}
			return ran{*s.Last, s.Had}, nil
		},
		Create: func(ctx context.Context, s reconciletest.Site[NoteProps, NoteAttrs]) (NoteAttrs, error) {
			return note(s.Want.Text), act(ctx, "run", s.Address, s.Want.Text, s.Owner)
		},
		Compare: func(d *reconcile.Diff[ran], want NoteProps, live ran) {
			had := NoteProps{}
			if live.had != nil {
				had = *live.had
			}
			reconcile.Fixed(d, "text", want.Text, had.Text)
		},
		Attrs: func(l ran) NoteAttrs { return l.attrs },
		Delete: func(ctx context.Context, s reconciletest.Site[NoteProps, NoteAttrs]) error {
			if s.Had == nil {
				return nil
			}
			return act(ctx, "undo", s.Address, s.Had.Text, s.Owner)
		},
		Identity: func(NoteAttrs) string { return "" },
	}
}
