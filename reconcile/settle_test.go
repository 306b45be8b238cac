package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func red() map[string]any { return map[string]any{"color": "red"} }

// first fails the first n calls.
func first(n int, err error) func(int) error {
	return func(at int) error {
		if at <= n {
			return err
		}
		return nil
	}
}

// within runs a test in a bubble of time and says how long it took there.
func within(t *testing.T, test func(t *testing.T)) time.Duration {
	t.Helper()
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		test(t)
		took = time.Since(begin)
	})
	return took
}

func TestReconcileCreatesOnce(t *testing.T) {
	t.Parallel()
	var order []string
	r := &room{once: []string{"secret"}}
	hooks := reconcile.Hooks{
		Intend: func(context.Context) error {
			order = append(order, fmt.Sprint("intend ", r.creates))
			return nil
		},
		Born: func(_ context.Context, id string, attrs map[string]any) error {
			order = append(order, fmt.Sprint("born ", id, " ", attrs["secret"], " ", r.creates))
			return nil
		},
		Permit: func(reconcile.Look) error {
			order = append(order, "permit")
			return nil
		},
	}
	job := r.job(map[string]any{"color": "red", "key": "k"})
	out, err := r.settle(t, job, hooks)
	if err != nil || !out.Created || out.Identity != "lamp-1" || out.Attrs["secret"] != "told once" || len(out.Changed) > 0 {
		t.Errorf("outcome %+v (%v)", out, err)
	}
	if want := []string{"intend 0", "born lamp-1 told once 1", "permit"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	again := r.job(map[string]any{"color": "red", "key": "k"})
	again.Last, again.ID, again.Written = out.Attrs, out.Identity, out.Written
	second, err := r.settle(t, again, reconcile.Hooks{})
	if err != nil || second.Created || len(second.Changed) > 0 || second.Attrs["secret"] != "told once" {
		t.Errorf("second outcome %+v (%v)", second, err)
	}
	if r.creates != 1 || r.paints != 0 {
		t.Errorf("%d creates, %d paints", r.creates, r.paints)
	}
}

// An answer that was lost is looked for: within the visibility bound nothing is made a second time.
func TestLostAnswerFinds(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, 20 * time.Second} {
		r := &room{lag: lag, visible: 30 * time.Second, onCreate: first(1, errLost)}
		took := within(t, func(t *testing.T) {
			out, err := r.settle(t, r.job(red()), reconcile.Hooks{})
			if err != nil || r.creates != 1 || r.lamp.color != "red" || out.Identity != "lamp-1" {
				t.Errorf("lag %s: %+v after %d creates (%v)", lag, out, r.creates, err)
			}
		})
		if took < lag {
			t.Errorf("lag %s: took %s", lag, took)
		}
	}
}

// What an earlier run created may not be visible yet in this one.
func TestRecentWriteIsNotYetAbsent(t *testing.T) {
	t.Parallel()
	r := &room{visible: time.Minute}
	took := within(t, func(t *testing.T) {
		job := r.job(red())
		job.LastWrite = time.Now().Add(-20 * time.Second)
		look, err := reconciletest.Erase(r.kind()).Look(t.Context(), job)
		if err != nil || !look.Absent || !look.NotYet {
			t.Errorf("look %+v (%v)", look, err)
		}
		var notes []string
		out, err := r.settle(t, job, reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }})
		if err != nil || !out.Created || len(notes) == 0 || !strings.HasPrefix(notes[0], "not visible yet, until ") {
			t.Errorf("outcome %+v, notes %q (%v)", out, notes, err)
		}
	})
	if took < 40*time.Second || took > 60*time.Second {
		t.Errorf("created after %s, want the rest of the bound", took)
	}
}

// An update that reads do not show yet is waited for, and not written again within the bound.
func TestUpdateIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		r := &room{lamp: &lamp{color: "blue"}, lag: 40 * time.Second, visible: time.Minute}
		out, err := r.settle(t, r.job(red()), reconcile.Hooks{})
		if err != nil || r.paints != 1 || !slices.Equal(out.Changed, []tree.Path{"color"}) {
			t.Errorf("%d paints, %+v (%v)", r.paints, out, err)
		}
	})
}

func TestBusyIsWaitedOut(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		r := &room{lamp: &lamp{color: "blue"}, busy: time.Now().Add(time.Minute)}
		var notes []string
		_, err := r.settle(t, r.job(red()), reconcile.Hooks{Note: func(text string) {
			if r.paints > 0 {
				t.Error("painted while busy")
			}
			notes = append(notes, text)
		}})
		if err != nil || r.lamp.color != "red" || len(notes) == 0 || notes[0] != "warming up" {
			t.Errorf("lamp %+v, notes %q (%v)", r.lamp, notes, err)
		}
	})
}

func TestWaitingForSomebodyIsDone(t *testing.T) {
	t.Parallel()
	r := &room{lamp: &lamp{color: "red", waiting: "screw it in"}}
	out, err := r.settle(t, r.job(red()), reconcile.Hooks{})
	if err != nil || out.Waiting != "screw it in" {
		t.Errorf("outcome %+v (%v)", out, err)
	}
}

// Throttling is no failure, however often it comes; the pauses grow.
func TestThrottlingIsWaitedOut(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*room{
		"look":   {onLook: first(30, errThrottled)},
		"create": {onCreate: first(30, errThrottled)},
		"paint":  {lamp: &lamp{color: "blue"}, onPaint: first(30, errThrottled)},
	} {
		took := within(t, func(t *testing.T) {
			if _, err := r.settle(t, r.job(red()), reconcile.Hooks{}); err != nil || r.lamp.color != "red" {
				t.Errorf("%s: %+v (%v)", name, r.lamp, err)
			}
		})
		if took < time.Minute || took > reconcile.DefaultTimeout {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestDeniedFailsAtOnce(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*room{
		"look":   {onLook: first(1, errDenied)},
		"create": {onCreate: first(1, errDenied)},
		"paint":  {lamp: &lamp{color: "blue"}, onPaint: first(1, errDenied)},
	} {
		took := within(t, func(t *testing.T) {
			_, err := r.settle(t, r.job(red()), reconcile.Hooks{})
			step, ok := errors.AsType[*reconcile.StepError](err)
			if !errors.Is(err, errDenied) || !ok {
				t.Errorf("%s: %v", name, err)
			}
			if name == "paint" && (step.Verb != "set" || !slices.Equal(step.Paths, []tree.Path{"color"})) {
				t.Errorf("%s: %+v", name, step)
			}
		})
		if took > 0 || r.looks+r.creates+r.paints > 2 {
			t.Errorf("%s: took %s and %d calls", name, took, r.looks+r.creates+r.paints)
		}
	}
}

// Somebody else was faster: what exists is looked at, and whether it may be taken is asked.
func TestExistsIsLookedAt(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		foreign := errors.New("foreign")
		r := &room{}
		r.onCreate = func(int) error {
			r.lamp = &lamp{color: "green"}
			return errExists
		}
		_, err := r.settle(t, r.job(red()), reconcile.Hooks{Permit: func(look reconcile.Look) error {
			if len(look.Steps) != 1 {
				t.Errorf("steps %v", look.Steps)
			}
			return foreign
		}})
		if !errors.Is(err, foreign) || r.paints > 0 {
			t.Errorf("%d paints: %v", r.paints, err)
		}
	})
}

// A call that succeeds and changes nothing ends with the differences that stay.
func TestWhatStaysDifferentIsReported(t *testing.T) {
	t.Parallel()
	took := within(t, func(t *testing.T) {
		r := &room{lamp: &lamp{color: "blue"}, deaf: true}
		_, err := r.settle(t, r.job(red()), reconcile.Hooks{})
		unsettled, ok := errors.AsType[*reconcile.UnsettledError](err)
		if !errors.Is(err, reconcile.ErrUnsettled) || !ok || len(unsettled.Steps) != 1 || unsettled.Steps[0].Path != "color" {
			t.Errorf("error %v", err)
		}
		if r.paints > 6 || !strings.Contains(err.Error(), `color: have "blue", want "red"`) {
			t.Errorf("%d paints: %v", r.paints, err)
		}
	})
	if took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// Each operation has its own bound: the resource's, else the kind's, else the default.
func TestTimeoutEnds(t *testing.T) {
	t.Parallel()
	known := map[string]any{"id": "lamp-1"}
	for _, c := range []struct {
		own, kinds reconcile.Timeouts
		last       map[string]any
		want       time.Duration
	}{
		{reconcile.Timeouts{Create: 90 * time.Second}, reconcile.Timeouts{Create: time.Hour}, nil, 90 * time.Second},
		{reconcile.Timeouts{Create: 90 * time.Second}, reconcile.Timeouts{Update: time.Minute}, known, time.Minute},
		{reconcile.Timeouts{Update: 2 * time.Minute}, reconcile.Timeouts{Create: time.Minute}, known, 2 * time.Minute},
		{reconcile.Timeouts{}, reconcile.Timeouts{}, nil, reconcile.DefaultTimeout},
	} {
		took := within(t, func(t *testing.T) {
			r := &room{onLook: first(1<<30, errThrottled)}
			k, job := r.kind(), r.job(red())
			k.Timeouts, job.Timeouts, job.Last = c.kinds, c.own, c.last
			_, err := reconciletest.Erase(k).Settle(t.Context(), job, reconcile.Hooks{})
			if !errors.Is(err, reconcile.ErrUnsettled) || !errors.Is(err, errThrottled) {
				t.Errorf("error %v", err)
			}
		})
		if took != c.want {
			t.Errorf("%+v over %+v: took %s", c.own, c.kinds, took)
		}
	}
}

func TestCancelNamesItsCause(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the user")
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		r := &room{onLook: first(1<<30, errThrottled)}
		if _, err := reconciletest.Erase(r.kind()).Settle(ctx, r.job(red()), reconcile.Hooks{}); !errors.Is(err, stopped) {
			t.Errorf("error %v", err)
		}
	})
}

func TestReplacementIsNotDone(t *testing.T) {
	t.Parallel()
	r := &room{lamp: &lamp{color: "blue", shape: "round"}}
	_, err := r.settle(t, r.job(red()), reconcile.Hooks{})
	if replace, ok := errors.AsType[*reconcile.ReplaceError](err); !ok || len(replace.Steps) != 1 || replace.Steps[0].Path != "shape" || r.paints > 0 {
		t.Errorf("%d paints: %v", r.paints, err)
	}
}

// A hook that refuses ends the work before the next effect.
func TestHooksStop(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	refuse := func(context.Context) error { return fmt.Errorf("%w: %w", lost, errThrottled) }
	r := &room{}
	if _, err := r.settle(t, r.job(red()), reconcile.Hooks{Intend: refuse}); !errors.Is(err, lost) || r.creates > 0 {
		t.Errorf("%d creates: %v", r.creates, err)
	}
	born := func(ctx context.Context, _ string, _ map[string]any) error { return refuse(ctx) }
	if _, err := r.settle(t, r.job(red()), reconcile.Hooks{Born: born}); !errors.Is(err, lost) || r.creates != 1 || r.looks != 2 {
		t.Errorf("%d creates, %d looks: %v", r.creates, r.looks, err)
	}
}

// What was written and cannot be read is written again only when it changes, also after a lost answer.
func TestWrittenIsKept(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		r := &room{onCreate: first(1, errLost)}
		props := map[string]any{"color": "red", "key": "k1"}
		out, err := r.settle(t, r.job(props), reconcile.Hooks{})
		if err != nil || !slices.Equal(out.Changed, []tree.Path{"key"}) {
			t.Errorf("after a lost answer: %+v (%v)", out, err)
		}
		for _, c := range []struct {
			key     string
			changed int
		}{{"k1", 0}, {"k2", 1}, {"k2", 0}, {"", 1}, {"", 0}} {
			job := r.job(map[string]any{"color": "red", "key": c.key})
			job.Last, job.Written = out.Attrs, out.Written
			out, err = r.settle(t, job, reconcile.Hooks{})
			if err != nil || len(out.Changed) != c.changed || r.key != c.key {
				t.Errorf("key %q: %+v, the world has %q (%v)", c.key, out, r.key, err)
			}
		}
	})
}

// What only the answer to the creation held is lost with that answer: the object is there and cannot be used.
func TestWhatWasToldOnceIsLost(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		r := &room{once: []string{"secret"}, onCreate: first(1, errLost)}
		_, err := r.settle(t, r.job(red()), reconcile.Hooks{})
		if replace, ok := errors.AsType[*reconcile.ReplaceError](err); !ok || !replace.Lost() || r.creates != 1 {
			t.Errorf("%d creates: %v", r.creates, err)
		}
		job := r.job(red())
		job.Last = map[string]any{"id": "lamp-1", "secret": "told once"}
		if look, err := reconciletest.Erase(r.kind()).Look(t.Context(), job); err != nil || look.Attrs["secret"] != "told once" || len(look.Steps) > 0 {
			t.Errorf("with a record: %+v %v", look, err)
		}
		other := r.job(map[string]any{"color": "red", "shape": "round"})
		_, err = r.settle(t, other, reconcile.Hooks{})
		if replace, ok := errors.AsType[*reconcile.ReplaceError](err); !ok || replace.Lost() {
			t.Errorf("with another shape: %v", err)
		}
	})
}

// Soon after something was deleted to make room, reads may still show it: it is not what was begun.
func TestWhatWasDeletedIsStillShown(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		r := &room{lamp: &lamp{color: "red", shape: "round"}, visible: 10 * time.Second}
		job := r.job(map[string]any{"color": "red", "shape": "square"})
		job.Intent, job.LastWrite = true, time.Now()
		kind := reconciletest.Erase(r.kind())
		if look, err := kind.Look(t.Context(), job); err != nil || !look.Absent || !look.NotYet {
			t.Errorf("at once: %+v %v", look, err)
		}
		job.LastWrite = job.LastWrite.Add(-11 * time.Second)
		if look, err := kind.Look(t.Context(), job); err != nil || look.Absent || len(look.Replaces()) != 1 {
			t.Errorf("later: %+v %v", look, err)
		}
	})
}

func TestDeleteRetries(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T) {
		n := 0
		r := &room{onPaint: func(int) error {
			if n++; n < 20 {
				return errThrottled
			}
			return reconcile.ErrAbsent
		}}
		if err := reconciletest.Erase(r.kind()).Delete(t.Context(), r.job(nil)); err != nil || n != 20 {
			t.Errorf("after %d calls: %v", n, err)
		}
		r.onPaint = func(int) error { return errDenied }
		if err := reconciletest.Erase(r.kind()).Delete(t.Context(), r.job(nil)); !errors.Is(err, errDenied) {
			t.Errorf("denied: %v", err)
		}
		r.onPaint = func(int) error { return errThrottled }
		job := r.job(nil)
		job.Timeouts.Delete = time.Minute
		if err := reconciletest.Erase(r.kind()).Delete(t.Context(), job); !errors.Is(err, reconcile.ErrUnsettled) || !errors.Is(err, errThrottled) {
			t.Errorf("out of time: %v", err)
		}
	})
}
