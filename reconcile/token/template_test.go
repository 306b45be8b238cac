package token

import (
	"errors"
	"fmt"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestTemplateIsResolvedAsOftenAsMoreIsKnown reads a tree once and resolves it while nothing and when everything is known.
func TestTemplateIsResolvedAsOftenAsMoreIsKnown(t *testing.T) {
	same := map[string]any{"deep": []any{"text", int64(1)}}
	read, err := Parse(map[string]any{
		"one": "⟦a.n⟧", "text": "x⟦a.n⟧y", "list": []any{"first", "⟦b.all...⟧", "⟦a.n⟧"}, "⟦a.n⟧": true, "same": same,
	})
	if err != nil {
		t.Fatal(err)
	}
	known := false
	lookup := func(e Expr) (Value, error) {
		switch {
		case !known:
			return Value{Unknown: true}, nil
		case e.Ref.Address == "b":
			return Value{Any: []any{"s", "t"}}, nil
		}
		return Value{Any: int64(7), Secret: true}, nil
	}
	before, err := read.Resolve(lookup)
	if err != nil || len(before.Unknown) != 5 || !before.Unknown["list[2]"] || !before.Unknown["list"] || !before.Unknown[""] {
		t.Fatalf("have %v, %v", before.Unknown, err)
	}
	known = true
	for range 2 {
		after, err := read.Resolve(lookup)
		want := map[string]any{
			"one": int64(7), "text": "x7y", "list": []any{"first", "s", "t", int64(7)}, "7": true, "same": same,
		}
		if err != nil || !tree.Equal(after.Tree, want) || len(after.Unknown) > 0 {
			t.Fatalf("have %s, %v", tree.Canonical(after.Tree), err)
		}
		if len(after.Secret) != 4 || !after.Secret["list[3]"] {
			t.Errorf("secret are %v", after.Secret)
		}
	}
}

// TestTemplateWithoutTokensIsTheTree: nothing is copied where nothing is to be put in.
func TestTemplateWithoutTokensIsTheTree(t *testing.T) {
	v := map[string]any{"a": []any{"b", int64(1)}, "c": "plain"}
	read, err := Parse(v)
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		r, err := read.Resolve(nil)
		if m, ok := r.Tree.(map[string]any); err != nil || !ok || len(m) != 2 {
			t.Fatal(r, err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestTemplateKnowsAllReferences counts more of them than a parser holds in itself.
func TestTemplateKnowsAllReferences(t *testing.T) {
	var list []any
	for i := range 30 {
		list = append(list, fmt.Sprintf("⟦r%d.id⟧", i))
	}
	read, err := Parse(list)
	if err != nil || len(read.Refs()) != 30 {
		t.Fatalf("have %d, %v", len(read.Refs()), err)
	}
	for i, u := range read.Refs() {
		if u.Ref.Address != fmt.Sprintf("r%d", i) || u.At != tree.Path("").Index(i) {
			t.Errorf("%d is %v", i, u)
		}
	}
	if _, err := Parse([]any{"a", "⟦cut"}); err == nil {
		t.Error("a damaged token was read")
	} else if e, ok := errors.AsType[*Error](err); !ok || e.Path != "[1]" {
		t.Errorf("have %v", err)
	}
}

// TestLiteralIsTakenAsItStands: no token is read in it, not even a damaged one, and what is secret is told.
func TestLiteralIsTakenAsItStands(t *testing.T) {
	values := map[string]any{"text": "⟦a.id⟧", "list": []any{"⟦cut"}}
	read := Literal(values, map[tree.Path]bool{"list": true})
	if len(read.Refs()) != 0 || len(read.Secrets()) != 0 {
		t.Errorf("it refers to %v, %v", read.Refs(), read.Secrets())
	}
	out, err := read.Resolve(func(Expr) (Value, error) { return Value{}, errors.New("it was looked up") })
	if err != nil || !tree.Equal(out.Tree, values) || len(out.Unknown) != 0 || len(out.Secret) != 1 || !out.Secret["list"] {
		t.Errorf("have %v, %v", out, err)
	}
}

// TestEqualReferencesAreOneObject holds what a program's references take to the number of different ones.
func TestEqualReferencesAreOneObject(t *testing.T) {
	var p Parser
	tree := map[string]any{"one": "⟦a.n⟧", "list": []any{"⟦a.n⟧", "⟦a.n[0]⟧", "x⟦a.n⟧"}, "more": []any{"⟦a.n...⟧"}}
	different := map[*Expr]bool{}
	for range 3 {
		read, err := p.Parse(tree)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]any{}
		for _, e := range read.root.(entries) {
			at[e.key] = e.value
		}
		list, more := at["list"].(list), at["more"].(list)
		for _, e := range []any{at["one"], list[0], list[1], list[2].(text)[1].Expr, more[0]} {
			different[e.(*Expr)] = true
		}
	}
	if len(different) != 3 {
		t.Errorf("%d objects for a.n, a.n[0] and a.n...", len(different))
	}
}
