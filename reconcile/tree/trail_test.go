package tree_test

import (
	"fmt"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestTrailMakesThePathOfItsSteps goes deeper than a trail holds in itself, and back.
func TestTrailMakesThePathOfItsSteps(t *testing.T) {
	var at tree.Trail
	paths := []tree.Path{""}
	for i := range 20 {
		last := paths[len(paths)-1]
		switch i % 3 {
		case 0:
			at.Enter(fmt.Sprintf("k%d", i))
			paths = append(paths, last.Key(fmt.Sprintf("k%d", i)))
		case 1:
			at.Element(i)
			paths = append(paths, last.Index(i))
		default:
			at.Enter("odd key")
			paths = append(paths, last.Key("odd key"))
		}
	}
	for i := len(paths) - 1; i > 0; i-- {
		if have := at.Path(); have != paths[i] {
			t.Fatalf("%d steps: have %s, want %s", i, have, paths[i])
		}
		at.Leave()
	}
	at.Enter("again")
	if have := at.Path(); have != "again" {
		t.Errorf("have %s", have)
	}
}

func TestFirstStep(t *testing.T) {
	for path, want := range map[tree.Path]tree.Step{
		"a.b": {Key: "a", Index: -1}, "[3].x": {Index: 3}, `["a b"][0]`: {Key: "a b", Index: -1}, "*.x": {Index: -1, Any: true},
	} {
		if have, ok := path.First(); !ok || have != want || have != path.Steps()[0] {
			t.Errorf("%s: have %+v, %v", path, have, ok)
		}
	}
	if _, ok := tree.Path("").First(); ok {
		t.Error("the root has a first step")
	}
}

func TestAnyLooksEverywhere(t *testing.T) {
	v := map[string]any{"a": []any{int64(1), map[string]any{"b": "deep"}}, "c": true}
	is := func(want any) func(any) bool {
		return func(x any) bool { return haveScalar(x) && x == want }
	}
	for _, there := range []any{int64(1), "deep", true} {
		if !tree.Any(v, is(there)) {
			t.Errorf("%v was not found", there)
		}
	}
	if tree.Any(v, is("b")) {
		t.Error("a key was taken for a value")
	}
}

func haveScalar(x any) bool {
	switch x.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// TestAppendKeysKeepsWhatIsThere appends in order and leaves what stands before.
func TestAppendKeysKeepsWhatIsThere(t *testing.T) {
	have := tree.AppendKeys([]string{"z"}, map[string]any{"c": nil, "a": nil, "b": nil})
	if fmt.Sprint(have) != "[z a b c]" {
		t.Errorf("have %v", have)
	}
}
