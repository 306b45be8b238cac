package kindtest

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Mutators are hands for the attributes that a table writes and a read shows, in the service's form of them. empty makes the body of a call,
// and apply makes the call as somebody else would. An attribute is written with those that share its document. What is derived
// from a table has the same mistake as the table: see [Golden].
func Mutators[P any, W kind.Wire](table *kind.Table[P], empty func() W, apply func(t T, w World, to Edited, body W)) map[tree.Path]Hand {
	hands := map[tree.Path]Hand{}
	if table.Validate() != nil {
		return hands // Run says what is wrong with it
	}
	for _, a := range table.Attributes() {
		if a.Wire == "" || a.Wire == "-" || a.Immutable || a.WriteOnly {
			continue
		}
		hands[a.Path] = func(t T, w World, to Edited) {
			t.Helper()
			p := PropsOf(t, table, to.Props)
			body := empty()
			if err := table.Changed(p, p, []tree.Path{a.Path}, body); err != nil {
				t.Fatalf("%s: %v", a.Path, err)
			}
			apply(t, w, to, body)
		}
	}
	return hands
}

// PropsOf is a tree of props in Go, with the defaults of the table.
func PropsOf[P any](t T, table *kind.Table[P], declared map[string]any) P {
	t.Helper()
	var p P
	if err := props.Decode(treeOfProps(declared), &p); err != nil {
		t.Fatalf("%v", err)
	}
	table.Default(&p)
	return p
}

// Derive adds to a suite what a table says: an immutable attribute cannot drift, a write-only one is not seen to, and nobody can read it
// back; and one that counts with another alone, or without it, is no difference where Base says otherwise.
func Derive[P any](table *kind.Table[P], s Suite) Suite {
	if table.Validate() != nil {
		return s // Run says what is wrong with it
	}
	const unseen = "the service does not show it"
	silent, steady, unreadable := map[tree.Path]string{}, map[tree.Path]string{}, map[tree.Path]string{}
	maps.Copy(silent, s.Silent)
	maps.Copy(steady, s.Steady)
	maps.Copy(unreadable, s.Unreadable)
	isSet := func(path tree.Path) bool { v, ok := tree.Get(s.Base, path); return ok && !zeroValue(v) }
	for _, a := range table.Attributes() {
		if a.Immutable {
			steady[a.Path] = "it keeps that for life"
		}
		if a.WriteOnly {
			steady[a.Path], unreadable[a.Path] = unseen, unseen
			if s.Rewritten == "" && isSet(a.Path) {
				s.Rewritten = unseen
			}
		}
		for _, with := range a.With {
			if !isSet(with) {
				silent[a.Path] = "it counts with " + string(with) + " alone"
			}
		}
		for _, without := range a.Without {
			if isSet(without) {
				silent[a.Path] = "it counts without " + string(without) + " alone"
			}
		}
	}
	s.Silent, s.Steady, s.Unreadable = silent, steady, unreadable
	return s
}

// Refusals are props, each with a part of the problem that a kind finds in them; "" when it finds none.
type Refusals []struct {
	Props   map[string]any
	Problem string
}

// Refuses checks props as a program would declare them.
func Refuses(t *testing.T, kind reconcile.Any, cases Refusals) {
	t.Helper()
	for _, c := range cases {
		err := kind.Decode(&reconcile.Job{Props: treeOfProps(c.Props)})
		if (err == nil) != (c.Problem == "") || err != nil && !strings.Contains(fmt.Sprint(err), c.Problem) {
			t.Errorf("%.90v: %v, want %q", c.Props, err, c.Problem)
		}
	}
}
