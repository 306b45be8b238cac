package reconcile_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// PanelProps declare a panel.
type PanelProps struct {
	One, Two, Three, Free string
}

// Panel is what others refer to.
type Panel struct{ ID string }

// panel is a world in which one, two and three can only be set by themselves, with a look before the next, and in which
// reads are old for a while after each.
type panel struct {
	settings, before map[string]string
	lag, visible     time.Duration
	written          time.Time
	looked           bool
	calls            []string
	deaf             string
}

func (p *panel) set(name, value string, alone bool) *reconcile.Operation[map[string]string] {
	return &reconcile.Operation[map[string]string]{Name: "Set", Note: "by itself", Alone: alone, Do: func(context.Context, reconcile.Update[map[string]string]) error {
		if alone && !p.looked {
			return errors.New("two at a time")
		}
		p.looked = p.looked && !alone
		p.calls = append(p.calls, name)
		p.before, p.written = maps.Clone(p.settings), time.Now()
		if name != p.deaf {
			p.settings[name] = value
		}
		return nil
	}}
}

func (p *panel) kind() *reconciletest.Kind[PanelProps, map[string]string, Panel] {
	type site = reconciletest.Site[PanelProps, Panel]
	return &reconciletest.Kind[PanelProps, map[string]string, Panel]{
		Type: "test.Panel",
		Observe: func(context.Context, site) (map[string]string, error) {
			p.looked = true
			if time.Since(p.written) < p.lag {
				return maps.Clone(p.before), nil
			}
			return maps.Clone(p.settings), nil
		},
		Create: func(context.Context, site) (Panel, error) { return Panel{}, errors.New("it is there") },
		Compare: func(d *reconcile.Diff[map[string]string], want PanelProps, live map[string]string) {
			for _, name := range []string{"one", "two", "three"} {
				value := map[string]string{"one": want.One, "two": want.Two, "three": want.Three}[name]
				reconcile.Value(d, tree.Path(name), value, live[name], p.set(name, value, true))
			}
			reconcile.Value(d, "free", want.Free, live["free"], p.set("free", want.Free, false))
		},
		Attrs:      func(map[string]string) Panel { return Panel{ID: "panel"} },
		Delete:     func(context.Context, site) error { return nil },
		Identity:   func(a Panel) string { return a.ID },
		Visibility: p.visible,
	}
}

func (p *panel) settle(t *testing.T) (reconcile.Outcome, error) {
	t.Helper()
	return reconciletest.Erase(p.kind()).Settle(t.Context(), &reconcile.Job{
		Address: "panel", Cloud: &room{}, Props: map[string]any{"one": "1", "two": "2", "three": "3", "free": "4"},
	}, reconcile.Hooks{})
}

// What the service takes one at a time is done so, with what it takes beside: each call once, also where reads are old.
func TestAloneIsOneAtATime(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, 5 * time.Second} {
		took := within(t, func(t *testing.T) {
			p := &panel{settings: map[string]string{}, lag: lag, visible: time.Minute}
			out, err := p.settle(t)
			if want := []string{"one", "free", "two", "three"}; err != nil || !slices.Equal(p.calls, want) {
				t.Errorf("lag %s: calls %q, want %q (%v)", lag, p.calls, want, err)
			}
			if len(out.Changed) != 4 {
				t.Errorf("lag %s: changed %v", lag, out.Changed)
			}
		})
		if lag == 0 && took > 0 {
			t.Errorf("it took %s, and there was nothing to wait for", took)
		}
	}
}

func TestAloneThatStaysDifferent(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		p := &panel{settings: map[string]string{}, deaf: "two", visible: time.Second}
		_, err := p.settle(t)
		var unsettled *reconcile.UnsettledError
		if !errors.As(err, &unsettled) || len(p.calls) > 10 {
			t.Errorf("%v after %q", err, p.calls)
		}
	})
}

func TestNoteIsTold(t *testing.T) {
	t.Parallel()
	p := &panel{settings: map[string]string{}}
	look, err := reconciletest.Erase(p.kind()).Look(t.Context(), &reconcile.Job{Address: "panel", Cloud: &room{}, Props: map[string]any{"one": "1"}})
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Note != "by itself" {
		t.Errorf("steps %+v (%v)", look.Steps, err)
	}
}
