package kindtest

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checkMatrix changes every leaf of the props in the world, {edit, delete, add} each, and the whole object: each
// change is seen at its own path, one reconcile repairs it, and a read after that shows nothing. It reports how many of
// the cells were seen and repaired. In a world that is sampled edits are made together as far as they can be, and of the other cells
// some leaves have theirs.
func checkMatrix(t T, s Suite) {
	t.Helper()
	if s.Kind.Spec().Recorded {
		tell(t, "drift matrix of %s: it is kept in the record alone, which nothing in the world can change", s.Kind.Spec().Type)
		return
	}
	m := &matrix{t: t, s: s, things: map[string]*thing{}, ran: map[string]result{}, added: map[tree.Path]bool{}}
	leaves := s.leaves(t)
	if s.sampled(t) {
		m.sample(leaves)
	} else {
		for _, l := range leaves {
			m.leaf(l)
		}
	}
	m.gone()
	m.open()
	rate := 100.0
	if m.cells > 0 {
		rate = 100 * float64(m.good) / float64(m.cells)
	}
	tell(t, "drift matrix of %s: %d leaves, %d cells, %d seen and repaired: %.1f %%", s.Kind.Spec().Type, len(leaves), m.cells, m.good, rate)
}

// tell logs where there is a log.
func tell(t T, format string, args ...any) {
	if l, ok := t.(interface{ Logf(string, ...any) }); ok {
		l.Logf(format, args...)
	}
}

// matrix is one run of the check. Objects are created once for each variant and used again as long as they are whole.
type matrix struct {
	t           T
	s           Suite
	things      map[string]*thing
	ran         map[string]result  // by cell: several leaves may share one, such as the deletion of what holds them
	added       map[tree.Path]bool // hands that have added their aspect
	cells, good int
}

// thing is an object that is as declared, and its world as that is then.
type thing struct {
	*driver
	whole string
}

// result is how a cell ended. Void: it changed nothing.
type result int

const (
	void result = iota
	seen
	missed
)

func (m *matrix) leaf(l leaf) {
	m.t.Helper()
	edits, deleted := m.s.edits(l), false
	for _, c := range edits {
		if m.run(c) == void {
			m.cells++
			m.t.Errorf("%s: the hand changed nothing", c)
		}
	}
	deleted = m.taken(l)
	// A truth that excludes others cannot be turned over, only taken away, and neither can the only word that is allowed.
	if len(edits) == 0 && (!deleted || l.field.Type != "bool" && len(l.field.Enum) != 1) {
		m.cells++
		m.t.Errorf("%s cannot be changed: set it in a variant, and give another value for it in Others", l.path)
	}
	m.more(l)
}

// taken takes a leaf away, where that changes anything.
func (m *matrix) taken(l leaf) bool {
	m.t.Helper()
	return slices.ContainsFunc(m.s.deletes(l), func(c cell) bool { return m.run(c) != void })
}

// more adds what nobody declared.
func (m *matrix) more(l leaf) {
	m.t.Helper()
	for _, c := range m.s.adds(l) {
		if c.at != l.hand || !m.added[l.hand] {
			m.added[l.hand] = m.run(c) != void || m.added[l.hand]
		}
	}
}

// thing returns an object that is as a variant declares it.
func (m *matrix) thing(v Variant) *thing {
	m.t.Helper()
	if m.things[v.Name] == nil {
		d := start(m.t, m.s)
		d.must(d.to(v.Props), "%s", v.Name)
		m.things[v.Name] = &thing{d, d.state()}
	}
	return m.things[v.Name]
}

// by lets the mutator of a path make an object what props say.
func (m *matrix) by(hand tree.Path, d *thing, props map[string]any) {
	m.t.Helper()
	value, _ := tree.Get(props, hand)
	m.s.Hands[hand](m.t, d.w, Edited{Attrs: cloned(d.live.last), Props: cloned(props), Value: tree.Clone(value)})
}

// run makes one change, and expects it to be seen and repaired.
func (m *matrix) run(c cell) result {
	m.t.Helper()
	if r, ok := m.ran[c.String()]; ok {
		return r
	}
	d := m.thing(c.variant)
	m.by(c.leaf.hand, d, c.props)
	look, err := d.look(c.variant.Props)
	d.must(err, "%s: look", c)
	if !look.Absent && len(look.Steps) == 0 && d.state() == d.whole {
		m.ran[c.String()] = void
		return void
	}
	m.cells++
	ok := slices.ContainsFunc(look.Steps, func(step reconcile.Step) bool { return m.s.concerns(step.Path, c.at) })
	if !ok {
		m.t.Errorf("%s: not seen", c)
	}
	for _, step := range look.Steps {
		if !m.s.concerns(step.Path, c.leaf.hand) {
			m.t.Errorf("%s: seen at %s", c, step.Path)
			ok = false
		}
	}
	m.ran[c.String()] = m.repaired(d, c.String(), c.variant, ok)
	return m.ran[c.String()]
}

// repaired reconciles an object once and expects everything as it was: the reconcile ends with a read that shows no
// difference, and the world is as it was made. An object that is not is not used again.
func (m *matrix) repaired(d *thing, what string, v Variant, ok bool) result {
	m.t.Helper()
	d.must(d.to(v.Props), "%s: repair", what)
	if after := d.state(); after != d.whole {
		m.t.Errorf("%s: repaired to\n%s\nand it was\n%s", what, after, d.whole)
		ok = false
	}
	if !ok {
		delete(m.things, v.Name)
		return missed
	}
	m.good++
	return seen
}

// gone deletes the object itself.
func (m *matrix) gone() {
	m.t.Helper()
	m.cells++
	if m.s.Hands[""] == nil {
		m.t.Errorf(`nobody can delete the thing in the world: give a hand for ""`)
		return
	}
	base := m.s.all()[0]
	d := m.thing(base)
	m.s.Hands[""](m.t, d.w, Edited{Attrs: cloned(d.live.last), Props: map[string]any{}})
	look, err := d.look(base.Props)
	d.must(err, "the thing is deleted: look")
	if !look.Absent {
		m.t.Errorf("the thing is deleted: the look does not say absent")
		delete(m.things, base.Name)
		return
	}
	m.repaired(d, "the thing is deleted", base, true)
}

// open holds paths to what their documentation says: what others add stays, and is no difference.
func (m *matrix) open() {
	m.t.Helper()
	for path := range m.s.Open {
		if !m.s.isMap(m.t, path) {
			m.left(path)
			continue
		}
		l := leaf{path: path.Any(), entry: true}
		hand, ok := m.s.handOf(l.path)
		places := m.s.places(l)
		if len(places) == 0 || !ok {
			m.t.Errorf("Open names %s, which no variant sets or no hand changes", path)
			continue
		}
		at, from, value := path.Key("by-hand"), places[0].variant, places[0].value
		if _, declared := tree.Get(m.s.Base, path); !declared && path == hand {
			at, from = path, m.s.all()[0]
			value, _ = tree.Get(places[0].variant.Props, path)
		}
		m.alone(path, hand, from, at, value)
	}
}

// left gives a prop to an object that does not declare it.
func (m *matrix) left(path tree.Path) {
	m.t.Helper()
	declares := func(v Variant) bool { _, ok := tree.Get(v.Props, path); return ok }
	with := slices.IndexFunc(m.s.all(), declares)
	without := slices.IndexFunc(m.s.all(), func(v Variant) bool { return !declares(v) })
	hand, ok := m.s.handOf(path)
	switch {
	case with < 0 || !ok:
		m.t.Errorf("Open names %s, which no variant sets or no hand changes", path)
	case without >= 0:
		value, _ := tree.Get(m.s.all()[with].Props, path)
		m.alone(path, hand, m.s.all()[without], path, value)
	}
}

// alone makes a change that is to be left alone.
func (m *matrix) alone(prop, hand tree.Path, from Variant, at tree.Path, value any) {
	m.t.Helper()
	d := m.thing(from)
	changed, _ := tree.With(from.Props, at, value).(map[string]any)
	m.by(hand, d, changed)
	look, err := d.look(from.Props)
	d.must(err, "%s: look", prop)
	if d.state() == d.whole || len(look.Steps) > 0 {
		m.t.Errorf("%s: what others add is to be left alone, and shows %v", prop, look.Steps)
	}
	delete(m.things, from.Name) // it is no longer as it was made
}

// isMap reports a prop whose keys are the author's.
func (s Suite) isMap(t T, path tree.Path) bool {
	t.Helper()
	for _, f := range s.fields(t) {
		if f.Path == path {
			return strings.HasPrefix(f.Type, "map of ")
		}
	}
	return true // it lies deeper
}
