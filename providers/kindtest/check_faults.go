package kindtest

import (
	"errors"

	"github.com/athanor-dev/athanor/reconcile"
)

// checkReads fails each read of a look: the answer must be an error, and nothing may be written on it. In a world that is sampled
// each read fails in one way, and a few of them while the object is reconciled.
func checkReads(t T, s Suite) {
	t.Helper()
	if s.Kind.Spec().Recorded {
		return
	}
	if s.Fault == nil {
		t.Fatalf("Fault is required")
	}
	classes := []reconcile.Class{reconcile.Denied, reconcile.Throttled, reconcile.Transient}
	for _, there := range []bool{false, true} {
		d := start(t, s)
		if there {
			d.must(d.to(s.Base), "base")
		}
		watch := d.fresh()
		_, err := d.look(s.Base)
		d.must(err, "look")
		if watch.reads == 0 && (there || s.Unfindable == "") {
			t.Errorf("there = %v: a look makes no call through reconcile.Through", there)
		}
		before, ways, settled := d.state(), len(classes), len(watch.calls)
		if d.w.Sampled {
			ways, settled = 1, min(settledReads, settled)
		}
		for at, read := range watch.calls {
			_, without := s.MayBeDenied[read.String()]
			for way := range ways {
				class := classes[(at+way)%len(classes)]
				if without { // that it is denied counts here
					class = classes[way]
				}
				d.failedLook(class, at+1, without && class == reconcile.Denied)
			}
			if !without && at*settled%len(watch.calls) < settled {
				before = d.failedSettle(at+1, before)
			}
		}
	}
}

// settledReads is how many reads of a look fail in a sample while the object is reconciled.
const settledReads = 4

// failedLook looks with one read failing. Without: it is one that the kind does without.
func (d *driver) failedLook(class reconcile.Class, at int, without bool) {
	d.t.Helper()
	fault := d.s.Fault(class)
	if fault == nil {
		return
	}
	have, given := reconcile.ClassGiven(fault)
	if !given {
		have = d.w.Cloud.Classify(fault)
	}
	if have != class {
		d.t.Fatalf("Fault: the provider classifies %v as %q, want %q", fault, have, class)
	}
	watch := d.fresh()
	watch.failRead, watch.fault = at, fault
	look, err := d.look(d.s.Base)
	switch {
	case without && err != nil:
		d.t.Errorf("read %d failed (%s), which is to be done without: %v", at, class, err)
	case without && !look.Absent: // as it should be
	case err == nil && look.Absent:
		d.t.Errorf("read %d failed (%s), and the look says absent", at, class)
	case err == nil:
		d.t.Errorf("read %d failed (%s), and the look succeeds", at, class)
	case !errors.Is(err, fault):
		d.t.Errorf("read %d failed (%s), and the error loses the service's own: %v", at, class, err)
	}
}

// failedSettle reconciles with one read denied, in the world as it is before. It returns the world as it is then.
func (d *driver) failedSettle(at int, before string) (after string) {
	d.t.Helper()
	fault := d.s.Fault(reconcile.Denied)
	if fault == nil {
		return before
	}
	watch := d.fresh()
	watch.failRead, watch.fault = at, fault
	if err := d.to(d.s.Base); err == nil {
		d.t.Errorf("read %d denied, and settling succeeds", at)
	}
	if after = d.state(); watch.writes > 0 || after != before {
		d.t.Errorf("read %d denied, and settling wrote: %v", at, mutating(watch))
	}
	d.candidate = nil
	return after
}
