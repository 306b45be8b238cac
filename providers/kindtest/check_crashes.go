package kindtest

import (
	"errors"
	"fmt"
)

// mostCalls bounds how many mutating calls of one transition are cut.
const mostCalls = 200

// checkCrashes cuts every transition before and after each of its mutating calls and runs again. Before a call and after the
// one before it are one cut, unless something was stored between them or both were under way at once.
func checkCrashes(t T, s Suite) {
	t.Helper()
	base, c := s.all()[0], &crashes{t: t, s: s, wants: map[string]string{}}
	c.creation(base)
	for _, v := range s.Variants {
		c.creation(v)
		c.thereAndBack(base, v)
	}
	c.deletion(base)
}

// crashes is one run of the check.
type crashes struct {
	t     T
	s     Suite
	wants map[string]string // the world as each variant makes it where nothing was, by its name
}

// leg is a transition that is cut at one call after the other.
type leg struct {
	name     string
	from, to map[string]any // nil: nothing is there
	want     string
	calls    *watch // of the run without a crash, nil before it
	at       int    // the next call to cut at, from 1
	after    bool
	done     bool
}

// next is the cut after this one. After the last call of the run without a crash there is none.
func (l *leg) next() {
	if !l.after {
		l.after = true
		return
	}
	l.at++
	l.after = !l.calls.apart(l.at)
	l.done = l.done || l.at > l.calls.made()
}

func (l *leg) where() string {
	return fmt.Sprintf("%s, crash %s call %d", l.name, map[bool]string{false: "before", true: "after"}[l.after], l.at)
}

// creation cuts the creation of an object, each time in a world of its own, and runs again with its state and without.
// Once the identity is in state, an object is found by it after this cut as after the next, and what is left to do is
// the same as without: from there on the state is always lost, which is harder.
func (c *crashes) creation(v Variant) {
	c.t.Helper()
	l := &leg{name: "create " + v.Name, to: v.Props, at: 1}
	d := start(c.t, c.s)
	l.calls = d.watch
	d.must(d.to(v.Props), "%s", l.name)
	l.want = d.state()
	c.wants[v.Name] = l.want
	for known := false; !l.done; l.next() {
		d := start(c.t, c.s)
		if !c.cut(d, l) {
			return
		}
		if !known || c.s.Unfindable != "" {
			known = d.candidate != nil && d.candidate.identity != ""
			d.heal(l, l.where())
			if c.s.Unfindable != "" || l.at == 1 && !l.after {
				continue // nothing is there and nothing in state, as at first
			}
			if d = start(c.t, c.s); !c.cut(d, l) {
				return
			}
		}
		d.forget()
		d.heal(l, l.where()+", record lost")
	}
}

// deletion cuts the deletion of an object, each time in a world of its own.
func (c *crashes) deletion(v Variant) {
	c.t.Helper()
	l := &leg{name: "delete", from: v.Props, at: 1}
	for ; !l.done; l.next() {
		d := start(c.t, c.s)
		d.must(d.to(l.from), "%s: before", l.where())
		if l.calls == nil {
			l.calls = d.fresh()
			d.must(d.delete(), "delete")
			d = start(c.t, c.s)
			d.must(d.to(l.from), "%s: before", l.where())
		}
		if c.cut(d, l) {
			d.heal(l, l.where())
		}
	}
}

// thereAndBack cuts the way from one variant to another and the way back in turns. An object that has healed is as if
// it had never been cut, so that it goes on from there; one that has not is left behind.
func (c *crashes) thereAndBack(a, b Variant) {
	c.t.Helper()
	there := &leg{name: a.Name + " to " + b.Name, from: a.Props, to: b.Props, want: c.wants[b.Name], at: 1}
	back := &leg{name: b.Name + " to " + a.Name, from: b.Props, to: a.Props, want: c.wants[a.Name], at: 1}
	var d *driver
	for l, other := there, back; !there.done || !back.done; l, other = other, l {
		if d == nil {
			d = start(c.t, c.s)
			d.must(d.to(l.from), "%s: before", l.name)
		}
		if !c.along(d, l) {
			d = nil
		}
	}
}

// along goes from one end of a leg to the other, by its next cut while there is one. It reports whether the object is
// as it is to be there.
func (c *crashes) along(d *driver, l *leg) bool {
	c.t.Helper()
	if l.calls == nil || l.done {
		watch := d.fresh()
		d.must(d.to(l.to), "%s: without a crash", l.name)
		if l.calls == nil {
			l.calls = watch
		}
		return d.arrived(l, l.name+", without a crash")
	}
	where := l.where()
	if !c.cut(d, l) {
		return d.arrived(l, l.name+", without a crash")
	}
	l.next()
	return d.heal(l, where)
}

// cut goes along a leg until the call of the cut. A leg of fewer calls is done.
func (c *crashes) cut(d *driver, l *leg) bool {
	c.t.Helper()
	if l.at > mostCalls {
		c.t.Errorf("%s: more than %d mutating calls", l.name, mostCalls)
		l.done = true
		return false
	}
	watch := d.fresh()
	watch.cutAt, watch.cutAfter = l.at, l.after
	err := d.run(l.to)
	if !watch.dead() {
		d.must(err, "%s: without a crash", l.where())
		l.done = true
	}
	return !l.done
}

// run goes to props, or deletes.
func (d *driver) run(to map[string]any) error {
	if to == nil {
		return d.delete()
	}
	return d.to(to)
}

// heal runs again after a cut: all is as it is to be, and running once more writes nothing.
func (d *driver) heal(l *leg, where string) bool {
	d.t.Helper()
	d.fresh()
	if err := d.run(l.to); err != nil {
		if d.s.Unanswered != nil && errors.Is(err, d.s.Unanswered) {
			return false
		}
		d.t.Errorf("%s: running again: %v", where, err)
		return false
	}
	if !d.arrived(l, where) || l.to == nil {
		return false
	}
	watch := d.fresh()
	d.must(d.to(l.to), "%s: settling again", where)
	return d.quiet(watch, where)
}

// arrived compares the world with that at the end of a leg.
func (d *driver) arrived(l *leg, where string) bool {
	d.t.Helper()
	have, n := d.seen()
	objects := 1
	if l.to == nil {
		objects = 0
	}
	switch {
	case d.w.Objects != nil && n != objects:
		d.t.Errorf("%s: %d objects, want %d:\n%s", where, n, objects, have)
	case l.to != nil && have != l.want:
		d.t.Errorf("%s: healed to\n%s\nand not to\n%s", where, have, l.want)
	default:
		return true
	}
	return false
}
