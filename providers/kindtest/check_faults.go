package kindtest

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
)

// mostCalls bounds how many mutating calls of one transition are cut.
const mostCalls = 200

// checkCrashes cuts every transition before and after each of its mutating calls and runs again.
func checkCrashes(t T, s Suite) {
	t.Helper()
	cutAll(t, s, "create", nil, s.Base)
	for _, v := range s.Variants {
		cutAll(t, s, "create "+v.Name, nil, v.Props)
		cutAll(t, s, "base to "+v.Name, s.Base, v.Props)
		cutAll(t, s, v.Name+" to base", v.Props, s.Base)
	}
	cutAll(t, s, "delete", s.Base, nil)
}

// cutAll cuts one transition everywhere. from nil: nothing is there; to nil: it is deleted.
func cutAll(t T, s Suite, name string, from, to map[string]any) {
	t.Helper()
	want, objects := "", 0
	if to != nil {
		want, objects = reference(t, s, to, name), 1
	}
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			where := fmt.Sprintf("%s, crash %s call %d", name, map[bool]string{false: "before", true: "after"}[after], at)
			if at > mostCalls {
				t.Errorf("%s: more than %d mutating calls", name, mostCalls)
				return
			}
			if !cutOne(t, s, where, from, to, cut{at, after, want, objects}) {
				break
			}
		}
	}
}

type cut struct {
	at      int
	after   bool
	want    string
	objects int
}

// cutOne cuts at one place, runs again with the record and, for creations, also without. It reports whether
// the transition has that many calls.
func cutOne(t T, s Suite, where string, from, to map[string]any, c cut) bool {
	t.Helper()
	for _, forget := range []bool{false, true} {
		if forget && (from != nil || s.Unfindable != "") {
			continue
		}
		d := start(t, s)
		if from != nil {
			d.must(d.to(from), "%s: before", where)
		}
		watch := d.fresh()
		watch.cutAt, watch.cutAfter = c.at, c.after
		err := d.run(to)
		if !watch.dead() {
			d.must(err, "%s: without a crash", where)
			return false
		}
		if forget {
			d.forget()
			where += ", record lost"
		}
		d.fresh()
		d.heal(to, where, c)
	}
	return true
}

// run goes to props, or deletes.
func (d *driver) run(to map[string]any) error {
	if to == nil {
		return d.delete()
	}
	return d.to(to)
}

func (d *driver) heal(to map[string]any, where string, c cut) {
	d.t.Helper()
	if err := d.run(to); err != nil {
		d.t.Errorf("%s: running again: %v", where, err)
		return
	}
	d.count(c.objects, "%s", where)
	if to == nil {
		return
	}
	if have := d.state(); have != c.want {
		d.t.Errorf("%s: healed to\n%s\nand not to\n%s", where, have, c.want)
	}
	d.calm(to, where)
}

// checkReads fails each read of a look: the answer must be an error, and nothing may be written on it.
func checkReads(t T, s Suite) {
	t.Helper()
	if s.Kind.Spec().Recorded {
		return
	}
	if s.Fault == nil {
		t.Fatalf("Fault is required")
	}
	for _, there := range []bool{false, true} {
		d := start(t, s)
		if there {
			d.must(d.to(s.Base), "base")
		}
		watch := d.fresh()
		_, err := d.look(s.Base)
		d.must(err, "look")
		if watch.reads == 0 {
			t.Errorf("there = %v: a look makes no call through reconcile.Through", there)
		}
		for at := range watch.reads {
			for _, class := range []reconcile.Class{reconcile.Denied, reconcile.Throttled, reconcile.Transient} {
				d.failedLook(class, at+1)
			}
			d.failedSettle(at + 1)
		}
	}
}

// failedLook looks with one read failing.
func (d *driver) failedLook(class reconcile.Class, at int) {
	d.t.Helper()
	fault := d.s.Fault(class)
	if fault == nil {
		return
	}
	if have := d.w.Cloud.Classify(fault); have != class {
		d.t.Fatalf("Fault: the provider classifies %v as %q, want %q", fault, have, class)
	}
	watch := d.fresh()
	watch.failRead, watch.fault = at, fault
	look, err := d.look(d.s.Base)
	switch {
	case err == nil && look.Absent:
		d.t.Errorf("read %d failed (%s), and the look says absent", at, class)
	case err == nil:
		d.t.Errorf("read %d failed (%s), and the look succeeds", at, class)
	case !errors.Is(err, fault):
		d.t.Errorf("read %d failed (%s), and the error loses the service's own: %v", at, class, err)
	}
}

// failedSettle settles with one read denied.
func (d *driver) failedSettle(at int) {
	d.t.Helper()
	fault, before := d.s.Fault(reconcile.Denied), d.state()
	if fault == nil {
		return
	}
	watch := d.fresh()
	watch.failRead, watch.fault = at, fault
	if err := d.to(d.s.Base); err == nil {
		d.t.Errorf("read %d denied, and settling succeeds", at)
	}
	if watch.writes > 0 || d.state() != before {
		d.t.Errorf("read %d denied, and settling wrote: %v", at, mutating(watch))
	}
	d.candidate = nil
}
