package kindtest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// chosen are n of them all, the same ones each time, in their order. Other words choose others.
func chosen[E any](all []E, n int, by string) []E {
	if len(all) <= n {
		return all
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(by))
	first := int(sum.Sum32()) % len(all)
	some := make([]E, 0, n)
	for i := range n {
		some = append(some, all[(first+i*len(all)/n)%len(all)])
	}
	return some
}

// takenAndAdded is of how many leaves a sample has the cells that take away and add.
const takenAndAdded = 4

// sample edits every leaf, as many together as can be, and takes away and adds some.
func (m *matrix) sample(leaves []leaf) {
	m.t.Helper()
	var rest []leaf
	var batches []*batch
	for _, l := range leaves {
		edits := m.s.edits(l)
		if len(edits) == 0 {
			m.leaf(l)
			continue
		}
		rest = append(rest, l)
		for _, c := range edits {
			if !slices.ContainsFunc(batches, func(b *batch) bool { return b.takes(m.s, c) }) {
				batches = append(batches, &batch{props: c.props, cells: []cell{c}})
			}
		}
	}
	for _, b := range batches {
		m.edit(b.cells)
	}
	for _, l := range chosen(rest, takenAndAdded, m.s.Kind.Spec().Type) {
		m.taken(l)
		m.more(l)
	}
}

// edit makes edits of one variant together. Where they are not all seen and repaired it makes each half of them.
func (m *matrix) edit(cells []cell) {
	m.t.Helper()
	n := len(cells)
	switch {
	case n == 1 && m.run(cells[0]) == void:
		m.cells++
		m.t.Errorf("%s: the hand changed nothing", cells[0])
	case n > 1 && !m.together(cells):
		m.edit(cells[:n/2])
		m.edit(cells[n/2:])
	}
}

// batch are edits of one variant that are made together.
type batch struct {
	cells []cell
	props map[string]any // how the object then looks
}

// takes adds an edit, where it leaves the others alone and all of them together are valid.
func (b *batch) takes(s Suite, c cell) bool {
	apart := func(other cell) bool { return !other.at.Overlaps(c.at) && !s.concerns(other.at, c.at) }
	if b.cells[0].variant.Name != c.variant.Name || !all(b.cells, apart) {
		return false
	}
	value, _ := tree.Get(c.props, c.at)
	props, _ := tree.With(b.props, c.at, value).(map[string]any)
	if !s.valid(props) {
		return false
	}
	b.cells, b.props = append(b.cells, c), props
	return true
}

func all[E any](some []E, is func(E) bool) bool {
	return !slices.ContainsFunc(some, func(e E) bool { return !is(e) })
}

// together makes edits and expects each to be seen at its own path, and one reconcile to repair them all. Where that is not so
// nothing is said: fewer of them are to be made, in another world, and in the end each by itself.
func (m *matrix) together(cells []cell) bool {
	m.t.Helper()
	v := cells[0].variant
	d, hands, props := m.thing(v), map[tree.Path]bool{}, v.Props
	for _, c := range cells {
		hands[c.leaf.hand] = true
		value, _ := tree.Get(c.props, c.at)
		props, _ = tree.With(props, c.at, value).(map[string]any)
	}
	attempt := func() error {
		for _, hand := range slices.Sorted(maps.Keys(hands)) { // one that holds another comes before it
			if err := m.tried(hand, d, props); err != nil {
				return err
			}
		}
		look, err := d.look(v.Props)
		if err != nil {
			return err
		}
		concerned := func(step reconcile.Step) bool {
			return slices.ContainsFunc(cells, func(c cell) bool { return m.s.concerns(step.Path, c.leaf.hand) })
		}
		seen := func(c cell) bool {
			return slices.ContainsFunc(look.Steps, func(step reconcile.Step) bool { return m.s.concerns(step.Path, c.at) })
		}
		if look.Absent || !all(look.Steps, concerned) || !all(cells, seen) {
			return fmt.Errorf("seen are %v", look.Steps)
		}
		return d.to(v.Props)
	}
	if err := attempt(); err != nil || d.state() != d.whole {
		delete(m.things, v.Name)
		return false
	}
	m.cells, m.good = m.cells+len(cells), m.good+len(cells)
	for _, c := range cells {
		m.ran[c.String()] = seen
	}
	return true
}

// tried lets the mutator of a path make an object what props say, and tells of it when that is refused.
func (m *matrix) tried(hand tree.Path, d *thing, props map[string]any) (err error) {
	trial := &trial{T: m.t}
	defer func() {
		if p := recover(); p != nil {
			if p != any(trial) {
				panic(p)
			}
			err = trial.err
		}
	}()
	value, _ := tree.Get(props, hand)
	m.s.Hands[hand](trial, d.w, Edited{Attrs: cloned(d.live.last), Props: cloned(props), Value: tree.Clone(value)})
	return trial.err
}

// trial is a T in which something may fail. It keeps why.
type trial struct {
	T
	err error
}

func (t *trial) Errorf(format string, args ...any) { t.err = fmt.Errorf(format, args...) }

func (t *trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(t)
}
