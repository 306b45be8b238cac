package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// LampProps declare a lamp.
type LampProps struct {
	Color string
	Shape string
	Key   string
}

// Lamp is what others refer to.
type Lamp struct {
	ID     string
	Secret string
}

// lamp is what a read shows.
type lamp struct {
	color, shape, waiting string
}

var (
	errDenied    = errors.New("denied")
	errThrottled = errors.New("throttled")
	errLost      = errors.New("answer lost")
	errExists    = errors.New("exists")
)

// room is a world with one lamp in it, whose reads may lag behind and whose calls may fail.
type room struct {
	lamp    *lamp
	written time.Time     // of the last write
	before  *lamp         // what a read shows until lag has passed
	lag     time.Duration // how long reads are old
	visible time.Duration // what the kind says of it

	once                   []string // what only the answer to the creation tells
	looks, creates, paints int
	key                    string

	onLook, onCreate, onPaint func(n int) error // errors of the nth call; the effect of a lost one is there
	deaf                      bool              // paints have no effect
	busy                      time.Time         // until when it must not be touched
}

func (*room) Place(context.Context) (reconcile.Place, error) { return reconcile.Place{}, nil }

func (*room) Classify(err error) reconcile.Class {
	for class, is := range map[reconcile.Class]error{
		reconcile.Denied: errDenied, reconcile.Throttled: errThrottled, reconcile.Transient: errLost, reconcile.Exists: errExists,
	} {
		if errors.Is(err, is) {
			return class
		}
	}
	return reconcile.Unknown
}

func failing(on func(int) error, n int) error {
	if on == nil {
		return nil
	}
	return on(n)
}

// write changes the lamp; reads show the old one for a while.
func (r *room) write(change func(l *lamp)) {
	var next lamp
	if r.before = r.lamp; r.lamp != nil {
		next = *r.lamp
	}
	change(&next)
	r.lamp, r.written = &next, time.Now()
}

func (r *room) kind() *reconciletest.Kind[LampProps, lamp, Lamp] {
	return &reconciletest.Kind[LampProps, lamp, Lamp]{
		Type: "test.Lamp",
		Observe: func(context.Context, reconciletest.Site[LampProps, Lamp]) (lamp, error) {
			r.looks++
			if err := failing(r.onLook, r.looks); err != nil {
				return lamp{}, err
			}
			seen := r.lamp
			if !r.written.IsZero() && time.Since(r.written) < r.lag {
				seen = r.before
			}
			if seen == nil {
				return lamp{}, reconcile.ErrAbsent
			}
			return *seen, nil
		},
		Create: func(_ context.Context, site reconciletest.Site[LampProps, Lamp]) (Lamp, error) {
			r.creates++
			err := failing(r.onCreate, r.creates)
			if err == nil || errors.Is(err, errLost) {
				r.write(func(l *lamp) { *l = lamp{color: site.Want.Color, shape: site.Want.Shape} })
				r.key = site.Want.Key
			}
			return Lamp{ID: "lamp-1", Secret: "told once"}, err
		},
		Compare: func(d *reconcile.Diff[lamp], want LampProps, live lamp) {
			reconcile.Fixed(d, "shape", want.Shape, live.shape)
			reconcile.Value(d, "color", want.Color, live.color, &reconcile.Operation[lamp]{Name: "Paint", Do: func(context.Context, reconcile.Update[lamp]) error {
				r.paints++
				err := failing(r.onPaint, r.paints)
				if (err == nil || errors.Is(err, errLost)) && !r.deaf {
					r.write(func(l *lamp) { l.color = want.Color })
				}
				return err
			}})
			reconcile.Written(d, "key", want.Key, &reconcile.Operation[lamp]{Name: "SetKey", Do: func(context.Context, reconcile.Update[lamp]) error {
				r.key = want.Key
				return nil
			}})
		},
		Attrs:    func(lamp) Lamp { return Lamp{ID: "lamp-1"} },
		Delete:   func(context.Context, reconciletest.Site[LampProps, Lamp]) error { return failing(r.onPaint, 1) },
		Identity: func(a Lamp) string { return a.ID },
		Once:     r.once,
		Busy: func(lamp) string {
			if time.Now().Before(r.busy) {
				return "warming up"
			}
			return ""
		},
		Waiting: func(l lamp) string { return l.waiting },

		Visibility: r.visible,
	}
}

func (r *room) job(props map[string]any) *reconcile.Job {
	return &reconcile.Job{
		Address: "lamp", Props: props, Cloud: r,
		Digest: func(domain string, data []byte) string { return domain + string(data) },
	}
}

func (r *room) settle(t *testing.T, job *reconcile.Job, hooks reconcile.Hooks) (reconcile.Outcome, error) {
	t.Helper()
	return reconciletest.Erase(r.kind()).Settle(t.Context(), job, hooks)
}
