package kindtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// cell is one entry of the drift matrix: an object that is made from a variant, and one path of it that somebody
// changes.
type cell struct {
	leaf    leaf
	change  string // edit, delete, add
	variant Variant
	at      tree.Path
	// props are how the object then looks.
	props map[string]any
}

func (c cell) String() string { return fmt.Sprintf("%s %s of %s", c.change, c.at, c.variant.Name) }

// place is where a leaf stands in a variant.
type place struct {
	variant Variant
	at      tree.Path
	value   any
}

// places are all of a leaf, in the order of the variants.
func (s Suite) places(l leaf) []place {
	var all []place
	depth := len(l.path.Steps())
	for _, v := range s.all() {
		tree.Walk(v.Props, func(p tree.Path, x any) bool {
			steps := len(p.Steps())
			if steps == depth && p.Within(l.path) {
				all = append(all, place{v, p, x})
			}
			return steps < depth
		})
	}
	return all
}

// edits are the cells in which a leaf gets another value: the first place and value that are valid.
func (s Suite) edits(l leaf) []cell {
	places := s.places(l)
	for _, p := range places {
		for _, other := range s.others(l, p, places) {
			changed, _ := tree.With(p.variant.Props, p.at, other).(map[string]any)
			if !tree.Equal(other, p.value) && s.valid(changed) {
				return []cell{{l, "edit", p.variant, p.at, changed}}
			}
		}
	}
	return nil
}

// deletes are the cells in which a leaf goes, with as much around it as must go with it: one for each place where that is
// valid, since where a leaf has its default going changes nothing.
func (s Suite) deletes(l leaf) []cell {
	var cells []cell
	for _, p := range s.places(l) {
		for at := p.at; len(at.Steps()) >= len(l.hand.Steps()) && at != ""; at = at.Parent() {
			changed, _ := tree.Without(p.variant.Props, at).(map[string]any)
			if s.valid(changed) {
				cells = append(cells, cell{l, "delete", p.variant, at, changed})
				break
			}
		}
	}
	return cells
}

// adds are the cells in which somebody adds what nobody declared: an entry of a map, and what the object that Base
// declares has not.
func (s Suite) adds(l leaf) []cell {
	var cells []cell
	places := s.places(l)
	if l.entry && len(places) > 0 && s.Open[l.path.Parent()] == "" {
		p := places[0]
		at := p.at.Parent().Key("by-hand")
		if changed, _ := tree.With(p.variant.Props, at, p.value).(map[string]any); s.valid(changed) {
			cells = append(cells, cell{l, "add", p.variant, at, changed})
		}
	}
	if _, there := tree.Get(s.Base, l.hand); there || s.Open[l.hand] != "" {
		return cells
	}
	for _, p := range places {
		value, _ := tree.Get(p.variant.Props, l.hand)
		changed, _ := tree.With(s.Base, l.hand, value).(map[string]any)
		if s.valid(changed) {
			return append(cells, cell{l, "add", s.all()[0], l.hand, changed})
		}
	}
	return cells
}

// valid reports props that one could declare.
func (s Suite) valid(props map[string]any) bool {
	return props != nil && s.Kind.Decode(&reconcile.Job{Address: address, Props: cloned(props)}) == nil
}

// others are values for a leaf beside the one that it has: those of the suite, those that other variants have there,
// then what its type suggests.
func (s Suite) others(l leaf, at place, places []place) []any {
	all := slices.Clone(s.Others[l.path])
	for _, p := range places {
		all = append(all, p.value)
	}
	for _, word := range l.field.Enum {
		all = append(all, word)
	}
	switch v := at.value.(type) {
	case bool:
		all = append(all, !v)
	case int64:
		all = append(all, v+1, v-1)
	case []any:
		if len(v) > 1 {
			all = append(all, v[1:])
		}
	case string:
		all = append(all, suggested(l.field, v)...)
	}
	return all
}

// suggested are texts like the one that is there.
func suggested(f props.Field, v string) []any {
	switch f.Type {
	case "duration":
		if d, err := token.ParseDuration(v); err == nil {
			var all []any
			for _, unit := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} { // that of the service, or more
				all = append(all, (d + unit).String(), (d - unit).String())
			}
			return all
		}
		return nil
	case "size":
		if n, err := props.ParseSize(v); err == nil {
			return []any{(n + 1).String(), (n - 1).String()}
		}
		return nil
	default:
		return []any{v + "x"}
	}
}
