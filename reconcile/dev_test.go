package reconcile_test

import (
	"context"
	"errors"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// tank is something that a session owns.
type tank struct {
	ended context.Context
	err   error
}

func (t *tank) End(ctx context.Context) error { t.ended = ctx; return t.err }

func TestOwned(t *testing.T) {
	d := &reconcile.Dev{}
	begun, broken := 0, errors.New("it leaks")
	begin := func() *tank { begun++; return &tank{err: broken} }
	one, err := reconcile.Owned(d, begin)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := reconcile.Owned(d, begin); err != nil || two != one || begun != 1 {
		t.Errorf("another one: %v, %d were begun", err, begun)
	}
	if err := d.Close(t.Context()); !errors.Is(err, broken) || one.ended != t.Context() {
		t.Errorf("close: %v, ended %v", err, one.ended)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
	if _, err := reconcile.Owned(d, begin); !errors.Is(err, reconcile.ErrDevClosed) || begun != 1 {
		t.Errorf("after close: %v, %d were begun", err, begun)
	}
}

func TestPrint(t *testing.T) {
	var none *reconcile.Dev
	none.Print("web", reconcile.LogLine{Text: "nobody reads this"})
	(&reconcile.Dev{}).Print("web", reconcile.LogLine{Text: "nor this"})
	var got string
	d := &reconcile.Dev{Output: func(address string, line reconcile.LogLine) { got = address + ": " + line.Text }}
	if d.Print("web", reconcile.LogLine{Text: "this"}); got != "web: this" {
		t.Errorf("printed %q", got)
	}
}
