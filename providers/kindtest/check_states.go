package kindtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// calm reconciles what is as declared already, in the world as it is then, and fails the check when that writes or
// changes anything.
func (d *driver) calm(props map[string]any, before, when string) {
	d.t.Helper()
	watch := d.fresh()
	d.must(d.to(props), "%s: settling again", when)
	d.quiet(watch, when)
	if after := d.state(); after != before {
		d.t.Errorf("%s: settling again changed the world from\n%s\nto\n%s", when, before, after)
	}
}

// quiet fails the check when settling again wrote anything. Writes that pass no gate are the business of calm.
func (d *driver) quiet(watch *watch, when string) bool {
	d.t.Helper()
	if watch.writes > 0 {
		d.t.Errorf("%s: settling again made %d mutating calls: %v", when, watch.writes, mutating(watch))
	}
	if d.out.Created || len(d.out.Changed) > 0 {
		d.t.Errorf("%s: settling again changed something: created %v, changed %v", when, d.out.Created, d.out.Changed)
	}
	return watch.writes == 0 && !d.out.Created && len(d.out.Changed) == 0
}

func mutating(w *watch) []string {
	var names []string
	for _, c := range w.calls {
		if c.Mutates {
			names = append(names, c.String())
		}
	}
	return names
}

func checkLook(t T, s Suite) {
	t.Helper()
	d := start(t, s)
	for _, when := range []string{"nothing there", "there"} {
		before, watch := d.state(), d.fresh()
		first, err := d.look(s.Base)
		d.must(err, "%s: look", when)
		second, err := d.look(s.Base)
		d.must(err, "%s: second look", when)
		if watch.writes > 0 || d.state() != before {
			t.Errorf("%s: a look changed the world: %v", when, mutating(watch))
		}
		if first.Absent != (d.live == nil) {
			t.Errorf("%s: a look says absent = %v", when, first.Absent)
		}
		if len(first.Steps) > 0 || len(second.Steps) > 0 {
			t.Errorf("%s: a look shows differences right after settling: %v", when, first.Steps)
		}
		if first.Identity != second.Identity || !tree.Equal(first.Attrs, second.Attrs) {
			t.Errorf("%s: two looks differ: %s %v and %s %v", when, first.Identity, first.Attrs, second.Identity, second.Attrs)
		}
		if d.live == nil {
			d.must(d.to(s.Base), "create")
			if d.w.Objects != nil && d.watch.writes == 0 {
				t.Errorf("the thing was made, and no mutating call passed reconcile.Through")
			}
			if d.live.identity == "" {
				t.Errorf("the thing has no identity")
			}
		}
	}
}

func checkStarts(t T, s Suite) {
	t.Helper()
	d := start(t, s)
	d.must(d.to(s.Base), "nothing there")
	state := d.count(1, "nothing there")
	attrs, identity := d.live.last, d.live.identity
	d.birth()
	d.calm(s.Base, state, "there and known")
	if s.Unfindable != "" {
		return
	}
	d.forget()
	watch := d.fresh()
	d.must(d.to(s.Base), "there and without a record")
	again := d.count(1, "there and without a record")
	spec := s.Kind.Spec()
	if len(spec.Once) > 0 { // it is of no use any more: the next generation has taken its place
		if !d.out.Created || d.live.identity == identity || d.state() != state {
			t.Errorf("there and without a record of %v: created %v, identity %s, and the world became\n%s\nand was\n%s", spec.Once, d.out.Created, d.live.identity, d.state(), state)
		}
		return
	}
	if !spec.Recorded && (d.out.Created || watch.writes > 0 && s.Rewritten == "") {
		t.Errorf("there and without a record: created %v, and made %v", d.out.Created, mutating(watch))
	}
	if d.live.identity != identity {
		t.Errorf("there and without a record: identity %s became %s", identity, d.live.identity)
	}
	if again != state {
		t.Errorf("there and without a record: the world became\n%s\nand was\n%s", again, state)
	}
	for name, v := range attrs {
		if !tree.Equal(v, d.live.last[name]) && s.Forgotten[name] == "" && !slices.Contains(spec.Once, name) && !spec.Rerun {
			t.Errorf("there and without a record: attribute %s differs", name)
		}
	}
}

// birth checks that what creation answered is what the object is: it is stored, and used, before readiness.
func (d *driver) birth() {
	d.t.Helper()
	if d.born.identity == "" || d.born.identity != d.live.identity {
		d.t.Errorf("creation answers identity %q, and it is %q", d.born.identity, d.live.identity)
	}
	for _, name := range d.s.Kind.Spec().AtBirth {
		if !tree.Equal(d.born.last[name], d.live.last[name]) {
			d.t.Errorf("attribute %s is in AtBirth, and creation does not answer what it is", name)
		}
	}
}

// checkVariants goes from base to each variant and back. A world that is as it was is used again. Lists are declared in another order
// where they are first seen.
func checkVariants(t T, s Suite) {
	t.Helper()
	base, lists := reference(t, s, s.Base, "base"), s.lists(t)
	if len(s.Variants) == 0 && len(lists.all) == 0 {
		return
	}
	var d *driver
	for i, v := range s.all() {
		if d == nil {
			d = start(t, s)
			d.must(d.to(s.Base), "base")
		}
		if i == 0 {
			lists.move(d, v)
			continue
		}
		there := d.step(v.Props, reference(t, s, v.Props, v.Name), "base to "+v.Name)
		lists.move(d, v)
		if back := d.step(s.Base, base, v.Name+" to base"); !there || !back {
			d = nil
		}
	}
}

// step goes to props and checks that the world is the one wanted, and that an update in place kept the identity. It reports
// whether the world is the one wanted.
func (d *driver) step(props map[string]any, want, name string) bool {
	d.t.Helper()
	same, err := d.stepped(props, want, name)
	d.must(err, "%s", name)
	return same
}

// stepped is like step, and gives the error with which the props are not reached.
func (d *driver) stepped(props map[string]any, want, name string) (same bool, err error) {
	d.t.Helper()
	generation, attrs, identity := d.live, maps.Clone(d.live.last), d.live.identity
	watch := d.fresh()
	if err := d.to(props); err != nil {
		return false, err
	}
	d.s.shared.went(name, watch)
	have := d.count(1, "%s", name)
	if have != want {
		d.t.Errorf("%s: the world is\n%s\nand in a fresh one it is\n%s", name, have, want)
	}
	if d.live == generation {
		if d.live.identity != identity {
			d.t.Errorf("%s: an update changed the identity from %s to %s", name, identity, d.live.identity)
		}
		moves := d.s.Kind.Spec().Moves
		for attr, v := range d.live.last {
			if !tree.Equal(v, attrs[attr]) && !slices.Contains(moves, attr) {
				d.t.Errorf("%s: an update changed attribute %s, which is not in Moves", name, attr)
			}
			if by, said := d.s.Kind.Spec().MovedBy[attr]; said && !tree.Equal(v, attrs[attr]) && !touched(by, d.out.Changed) {
				d.t.Errorf("%s: an update of %v changed attribute %s, and MovedBy says that it does not", name, d.out.Changed, attr)
			}
		}
	}
	d.calm(props, have, name)
	return have == want, nil
}

// touched reports whether one of the paths that were changed is one of those, or lies in it or around it.
func touched(paths, changed []tree.Path) bool {
	return slices.ContainsFunc(changed, func(c tree.Path) bool {
		return slices.ContainsFunc(paths, c.Overlaps)
	})
}

// checkDefaults sets each prop and unsets it again: the world must be as if it had never been set. In a world that is sampled the
// props that one variant sets are unset together, where that is valid.
func checkDefaults(t T, s Suite) {
	t.Helper()
	u := &unsetting{t: t, s: s}
	if s.sampled(t) {
		for _, v := range s.all() {
			u.unset(v, u.names(v)...)
		}
		return
	}
	for _, v := range s.all() {
		for _, name := range u.names(v) {
			u.unset(v, name)
		}
	}
}

// unsetting is one run of the check. A world that is as it was is used again.
type unsetting struct {
	t T
	s Suite
	d *driver
}

// names are the props that a variant is the first to set, and that need not be set.
func (u *unsetting) names(v Variant) (names []string) {
	u.t.Helper()
	for _, f := range u.s.fields(u.t) {
		name := string(f.Path)
		sets := func(v Variant) bool { _, ok := v.Props[name]; return ok }
		if i := slices.IndexFunc(u.s.all(), sets); !f.Required && i >= 0 && u.s.all()[i].Name == v.Name {
			names = append(names, name)
		}
	}
	return names
}

// unset makes a variant, and then without some of its props. Of several that are not valid without each other, or whose change
// together is refused, it does so with each half of them.
func (u *unsetting) unset(v Variant, names ...string) {
	u.t.Helper()
	if len(names) == 0 {
		return
	}
	without := maps.Clone(v.Props)
	for _, name := range names {
		delete(without, name)
	}
	if u.d == nil {
		u.d = start(u.t, u.s)
	}
	halves := func() {
		if n := len(names); n > 1 {
			u.unset(v, names[:n/2]...)
			u.unset(v, names[n/2:]...)
		}
	}
	if _, err := u.d.job(nil, without); err != nil {
		halves()
		return
	}
	what := strings.Join(names, ", ")
	u.d.must(u.d.to(v.Props), "%s set", what)
	same, err := u.d.stepped(without, reference(u.t, u.s, without, what+" unset"), what+" unset again")
	if err != nil && len(names) > 1 {
		u.d = nil
		halves()
		return
	}
	u.d.must(err, "%s unset again", what)
	if !same {
		u.d = nil
	}
}

// checkDelete deletes each variant twice; in a world that is sampled two of them.
func checkDelete(t T, s Suite) {
	t.Helper()
	variants := s.all()
	if s.sampled(t) {
		variants = chosen(variants, 2, s.Kind.Spec().Type)
	}
	for _, v := range variants {
		d := start(t, s)
		d.must(d.delete(), "deleting nothing")
		empty := d.state()
		d.must(d.to(v.Props), "%s", v.Name)
		gone := *d.live
		d.must(d.delete(), "%s: delete", v.Name)
		if left := d.count(0, "%s: after delete", v.Name); d.w.Objects != nil && left != empty {
			t.Errorf("%s: delete leaves %s", v.Name, left)
		}
		d.must(d.remove(&gone), "%s: deleting again", v.Name)
		if s.Kind.Spec().Recorded || s.Lingers != "" {
			continue
		}
		d.live = &gone
		look, err := d.look(v.Props)
		d.must(err, "%s: look after delete", v.Name)
		if !look.Absent {
			t.Errorf("%s: a look after delete still shows it", v.Name)
		}
	}
}
