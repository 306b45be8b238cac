package kindtest

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checkMatrix changes every leaf of the props in the world, {edit, delete, add} each, and the whole thing: each
// change is seen at its own path, one settling repairs it, and a look after that shows nothing. It tells how many of the
// cells were seen and repaired.
func checkMatrix(t T, s Suite) {
	t.Helper()
	if s.Kind.Spec().Recorded {
		tell(t, "drift matrix of %s: it is kept in the record alone, which nothing in the world can change", s.Kind.Spec().Type)
		return
	}
	m := &matrix{t: t, s: s, things: map[string]*driver{}, added: map[tree.Path]bool{}}
	leaves := s.leaves(t)
	for _, l := range leaves {
		m.leaf(l)
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

// matrix is one run of the check. Things are made once for each variant and used again as long as they are whole.
type matrix struct {
	t           T
	s           Suite
	things      map[string]*driver
	added       map[tree.Path]bool // hands that have added their aspect
	cells, good int
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
	edits := m.s.edits(l)
	if len(edits) == 0 {
		m.cells++
		m.t.Errorf("%s cannot be changed: set it in a variant, and give another value for it in Others", l.path)
		return
	}
	if m.run(edits[0]) == void {
		m.cells++
		m.t.Errorf("%s: the hand changed nothing", edits[0])
	}
	for _, c := range m.s.deletes(l) {
		if m.run(c) != void {
			break
		}
	}
	for _, c := range m.s.adds(l) {
		if c.at != l.hand || !m.added[l.hand] {
			m.added[l.hand] = m.run(c) != void || m.added[l.hand]
		}
	}
}

// thing is a settled thing of a variant.
func (m *matrix) thing(v Variant) *driver {
	m.t.Helper()
	if m.things[v.Name] == nil {
		d := start(m.t, m.s)
		d.must(d.to(v.Props), "%s", v.Name)
		m.things[v.Name] = d
	}
	return m.things[v.Name]
}

// run lets a hand make one change, and expects it to be seen and repaired.
func (m *matrix) run(c cell) result {
	m.t.Helper()
	d := m.thing(c.variant)
	before := d.state()
	value, _ := tree.Get(c.props, c.leaf.hand)
	m.s.Hands[c.leaf.hand](m.t, d.w, Edited{Attrs: cloned(d.live.last), Props: cloned(c.props), Value: tree.Clone(value)})
	edited := d.state()
	if edited == before {
		return void
	}
	m.cells++
	look, err := d.look(c.variant.Props)
	d.must(err, "%s: look", c)
	ok := true
	if !slices.ContainsFunc(look.Steps, func(step reconcile.Step) bool { return m.s.concerns(step.Path, c.at) }) {
		m.t.Errorf("%s: not seen", c)
		ok = false
	}
	for _, step := range look.Steps {
		if !m.s.concerns(step.Path, c.leaf.hand) {
			m.t.Errorf("%s: seen at %s", c, step.Path)
			ok = false
		}
	}
	return m.repaired(d, c.String(), c.variant, before, ok)
}

// repaired settles a thing once and expects everything as it was. What is not is not used again.
func (m *matrix) repaired(d *driver, what string, v Variant, before string, ok bool) result {
	m.t.Helper()
	d.must(d.to(v.Props), "%s: repair", what)
	if after := d.state(); after != before {
		m.t.Errorf("%s: repaired to\n%s\nand it was\n%s", what, after, before)
		ok = false
	}
	look, err := d.look(v.Props)
	d.must(err, "%s: look after the repair", what)
	if look.Absent || len(look.Steps) > 0 {
		m.t.Errorf("%s: a look after the repair shows absent %v and %v", what, look.Absent, look.Steps)
		ok = false
	}
	if !ok {
		delete(m.things, v.Name)
		return missed
	}
	m.good++
	return seen
}

// gone deletes the thing itself.
func (m *matrix) gone() {
	m.t.Helper()
	m.cells++
	hand, ok := m.s.Hands[""]
	if !ok {
		m.t.Errorf(`nobody can delete the thing in the world: give a hand for ""`)
		return
	}
	base := m.s.all()[0]
	d := m.thing(base)
	before := d.state()
	hand(m.t, d.w, Edited{Attrs: cloned(d.live.last), Props: map[string]any{}})
	look, err := d.look(base.Props)
	d.must(err, "the thing is deleted: look")
	if !look.Absent {
		m.t.Errorf("the thing is deleted: the look does not say absent")
		delete(m.things, base.Name)
		return
	}
	m.repaired(d, "the thing is deleted", base, before, true)
}

// open holds maps to what their documentation says: what others add stays, and is no difference.
func (m *matrix) open() {
	m.t.Helper()
	for path := range m.s.Open {
		l := leaf{path: path.Any(), entry: true}
		l.hand, _ = m.s.handOf(l.path)
		places := m.s.places(l)
		if len(places) == 0 || l.hand == "" {
			m.t.Errorf("Open names %s, which no variant sets or no hand changes", path)
			continue
		}
		p := places[0]
		d := m.thing(p.variant)
		before := d.state()
		changed, _ := tree.With(p.variant.Props, path.Key("by-hand"), p.value).(map[string]any)
		value, _ := tree.Get(changed, l.hand)
		m.s.Hands[l.hand](m.t, d.w, Edited{Attrs: cloned(d.live.last), Props: cloned(changed), Value: value})
		look, err := d.look(p.variant.Props)
		d.must(err, "%s: look", path)
		if d.state() == before || len(look.Steps) > 0 {
			m.t.Errorf("%s: what others add is to be left alone, and shows %v", path, look.Steps)
		}
	}
}
