package kindtest

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// orders are the lists of the props whose elements were not yet declared in another order.
type orders struct {
	t         T
	s         Suite
	all, left []leaf
}

// lists are those of the props that can have two elements.
func (s Suite) lists(t T) *orders {
	t.Helper()
	o := &orders{t: t, s: s}
	if s.Kind.Spec().Recorded || s.Ordered[""] != "" {
		return o // no service answers, or a schema says it
	}
	var visit func(fields []props.Field)
	visit = func(fields []props.Field) {
		for _, f := range fields {
			if strings.HasPrefix(f.Type, "list of ") && f.MaxItems != 1 {
				o.all = append(o.all, leaf{path: f.Path, field: f})
			}
			visit(f.Fields)
		}
	}
	visit(s.fields(t))
	o.left = slices.Clone(o.all)
	return o
}

// move declares each list of a variant that the live object was made from in another order. That is a difference where Ordered
// says so, and nowhere else: a service may answer the elements of a set in any order, and an emulator answers in the declared one,
// so that a set which is compared as a list would be seen nowhere else.
func (o *orders) move(d *driver, v Variant) {
	o.t.Helper()
	var seen *reconcile.Look
	o.left = slices.DeleteFunc(o.left, func(l leaf) bool {
		o.t.Helper()
		declared, ok := o.s.reordered(l, v)
		if !ok {
			return false
		}
		if seen == nil {
			look, err := d.look(v.Props)
			d.must(err, "%s: look", v.Name)
			seen = &look
		}
		job, err := d.job(d.live, declared)
		d.must(err, "%s: %s in another order", v.Name, l.path)
		look, err := o.s.Kind.Compare(job, *seen)
		d.must(err, "%s: %s in another order: compare", v.Name, l.path)
		o.judge(l, v, look.Steps)
		return true
	})
}

func (o *orders) judge(l leaf, v Variant, steps []reconcile.Step) {
	o.t.Helper()
	isOrdered := o.isOrdered(l)
	switch {
	case isOrdered && len(steps) == 0:
		o.t.Errorf("Ordered names %s, and another order of that in %s is no difference", l.path, v.Name)
	case !isOrdered && len(steps) > 0:
		o.t.Errorf("%s of %s in another order differs: %v. Compare it as a set (the tag set), or say in Ordered why its order counts",
			l.path, v.Name, steps)
	}
}

// reordered are the props of a variant with one of its lists in another order.
func (s Suite) reordered(l leaf, v Variant) (map[string]any, bool) {
	for _, p := range s.places(l) {
		list, ok := p.value.([]any)
		if !ok || p.variant.Name != v.Name {
			continue
		}
		other := slices.Clone(list)
		slices.Reverse(other)
		declared, _ := tree.With(v.Props, p.at, other).(map[string]any)
		if !tree.Equal(other, list) && s.valid(declared) {
			return declared, true
		}
	}
	return nil, false
}

// isOrdered reports whether Ordered names a list, or the object or map that it is in.
func (o *orders) isOrdered(l leaf) bool {
	for path := range o.s.Ordered {
		isList := slices.ContainsFunc(o.all, func(other leaf) bool { return other.path == path })
		if l.path == path || !isList && l.path.Within(path) {
			return true
		}
	}
	return false
}

// checkOrders finds the sets that no variant has two elements of: nothing can be seen of the order of one. What Ordered names is
// a list, or has some in it.
func checkOrders(t T, s Suite) {
	t.Helper()
	o := s.lists(t)
	for _, l := range o.all {
		moved := slices.ContainsFunc(s.all(), func(v Variant) bool { _, ok := s.reordered(l, v); return ok })
		if !moved && !o.isOrdered(l) {
			t.Errorf("%s has one order in all variants: give it two elements in one, or say in Ordered why its order counts", l.path)
		}
	}
	for path := range s.Ordered {
		if path != "" && !slices.ContainsFunc(o.all, func(l leaf) bool { return l.path.Within(path) }) {
			t.Errorf("Ordered names %s, where the props have no list", path)
		}
	}
}
