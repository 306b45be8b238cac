package kindtest

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// mostCalls bounds how many mutating calls of one transition are cut.
const mostCalls = 200

// checkCrashes cuts every transition before and after each of its mutating calls and runs again. Before a call and after the
// one before it are one cut, unless something was stored between them or both were under way at once.
func checkCrashes(t T, s Suite) {
	t.Helper()
	base, c := s.all()[0], &crashes{t: t, s: s, sampled: s.sampled(t), wants: map[string]string{}}
	c.creation(base, 2)
	for _, v := range s.Variants {
		c.creation(v, 1)
		c.thereAndBack(base, v)
	}
	c.deletion(base)
}

// crashes is one run of the check.
type crashes struct {
	t       T
	s       Suite
	sampled bool              // see World
	wants   map[string]string // the world as each variant makes it where nothing was, by its name
}

// leg is a transition that is cut at one call after the other.
type leg struct {
	name     string
	from, to map[string]any // nil: nothing is there
	want     string
	known    bool    // the run without a crash has told the points
	points   []point // that are left to be cut at
}

// point is where a leg is cut: before or after one of its mutating calls, from 1.
type point struct {
	at    int
	after bool
}

// points are those of the run without a crash that was watched: all of them, or in a world that is sampled as many of them as said,
// chosen by the name of the leg.
func (c *crashes) points(l *leg, calls *watch, sampled int) {
	c.t.Helper()
	l.known = true
	if calls.made() > mostCalls {
		c.t.Errorf("%s: more than %d mutating calls", l.name, mostCalls)
		return
	}
	for at := 1; at <= calls.made(); at++ {
		if calls.apart(at) {
			l.points = append(l.points, point{at, false})
		}
		l.points = append(l.points, point{at, true})
	}
	if c.sampled {
		l.points = chosen(l.points, sampled, c.s.Kind.Spec().Type+" "+l.name)
	}
}

func (l *leg) where(p point) string {
	return fmt.Sprintf("%s, crash %s call %d", l.name, map[bool]string{false: "before", true: "after"}[p.after], p.at)
}

// creation cuts the creation of an object, each time in a world of its own, and runs again with its state and without.
// Once the identity is in state, an object is found by it after this cut as after the next, and what is left to do is
// the same as without: from there on the state is always lost, which is harder.
func (c *crashes) creation(v Variant, sampled int) {
	c.t.Helper()
	l := &leg{name: "create " + v.Name, to: v.Props}
	if key := string(tree.Canonical(v.Props)); c.sampled && c.s.shared.callsOf(key) != nil {
		l.want, _ = c.s.shared.get(key)
		c.points(l, c.s.shared.callsOf(key), sampled)
	} else {
		d := start(c.t, c.s)
		d.must(d.to(v.Props), "%s", l.name)
		l.want = d.state()
		c.points(l, d.watch, sampled)
	}
	c.wants[v.Name] = l.want
	known := false
	for _, p := range l.points {
		d := start(c.t, c.s)
		if !c.cut(d, l, p) {
			return
		}
		if !known || c.s.Unfindable != "" {
			known = d.candidate != nil && d.candidate.identity != ""
			d.heal(l, l.where(p))
			if c.s.Unfindable != "" || p == (point{1, false}) {
				continue // nothing is there and nothing in state, as at first
			}
			if d = start(c.t, c.s); !c.cut(d, l, p) {
				return
			}
		}
		d.forget()
		d.heal(l, l.where(p)+", record lost")
	}
}

// deletion cuts the deletion of an object, each time in a world of its own.
func (c *crashes) deletion(v Variant) {
	c.t.Helper()
	l := &leg{name: "delete", from: v.Props}
	d := start(c.t, c.s)
	d.must(d.to(l.from), "%s: before", l.name)
	calls := d.fresh()
	d.must(d.delete(), "delete")
	c.points(l, calls, 1)
	for _, p := range l.points {
		d := start(c.t, c.s)
		d.must(d.to(l.from), "%s: before", l.where(p))
		if !c.cut(d, l, p) {
			return
		}
		d.heal(l, l.where(p))
	}
}

// thereAndBack cuts the way from one variant to another and the way back in turns. An object that has healed is as if
// it had never been cut, so that it goes on from there; one that has not is left behind.
func (c *crashes) thereAndBack(a, b Variant) {
	c.t.Helper()
	there := &leg{name: a.Name + " to " + b.Name, from: a.Props, to: b.Props, want: c.wants[b.Name]}
	back := &leg{name: b.Name + " to " + a.Name, from: b.Props, to: a.Props, want: c.wants[a.Name]}
	for _, l := range []*leg{there, back} {
		if calls := c.s.shared.callsOf(l.name); c.sampled && calls != nil {
			c.points(l, calls, 1)
		}
	}
	var d *driver
	for l, other := there, back; there.left() || back.left(); l, other = other, l {
		if d == nil {
			d = start(c.t, c.s)
			d.must(d.to(l.from), "%s: before", l.name)
		}
		if !c.along(d, l) {
			d = nil
		}
	}
}

// left reports whether the leg is to be walked once more.
func (l *leg) left() bool { return !l.known || len(l.points) > 0 }

// along goes from one end of a leg to the other, by its next cut while there is one. It reports whether the object is
// as it is to be there.
func (c *crashes) along(d *driver, l *leg) bool {
	c.t.Helper()
	if !l.left() || !l.known {
		watch := d.fresh()
		d.must(d.to(l.to), "%s: without a crash", l.name)
		if !l.known {
			c.points(l, watch, 1)
		}
		return d.arrived(l, l.name+", without a crash")
	}
	p := l.points[0]
	l.points = l.points[1:]
	if !c.cut(d, l, p) {
		return d.arrived(l, l.name+", without a crash")
	}
	return d.heal(l, l.where(p))
}

// cut goes along a leg until the call of the cut. A leg that has fewer calls this time is done.
func (c *crashes) cut(d *driver, l *leg, p point) bool {
	c.t.Helper()
	watch := d.fresh()
	watch.cutAt, watch.cutAfter = p.at, p.after
	err := d.run(l.to)
	if !watch.dead() {
		d.must(err, "%s: without a crash", l.where(p))
		l.points = nil
	}
	return watch.dead()
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
