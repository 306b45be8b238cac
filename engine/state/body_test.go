package state_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// TestBodiesAreCanonical seals entries with any of their fields set: what is sealed is the canonical form of a tree, and comes back
// as the entry that it was. A field that is added is set too, by its type.
func TestBodiesAreCanonical(t *testing.T) {
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	stage, chance := statestore.Stage{Stack: "shop", Name: "test"}, rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		entry := &state.Entry{}
		setFields(t, chance, reflect.ValueOf(entry).Elem())
		entry.Address, entry.Birth, entry.Found = "net/a", "b", false
		if chance.IntN(2) == 0 {
			entry.SetOptions(&graph.Options{Protect: true, DependsOn: []string{"x"}})
		}
		for _, number := range chance.Perm(12)[:1+chance.IntN(3)] {
			g := &state.Generation{}
			setFields(t, chance, reflect.ValueOf(g).Elem())
			g.Number, g.State, g.Slot = uint64(number+1), statestore.Condemned, 0
			g.Kind, g.IntentDurable = "k", false
			entry.Generations = append(entry.Generations, g)
		}
		row, err := entry.Seal(stage, key)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := key.Open(row.Body, state.Binding(stage, row.Birth))
		if err != nil {
			t.Fatal(err)
		}
		body, err := tree.Decode(plain)
		if err != nil || string(tree.Canonical(body)) != string(plain) {
			t.Fatalf("not canonical, %v: %s", err, plain)
		}
		back, err := state.Open(row, stage, key)
		if err != nil || !reflect.DeepEqual(back, entry) {
			t.Fatalf("%s came back as\n%s: %v", shown(entry), shown(back), err)
		}
	}
}

// setFields sets about half of the fields of a structure.
func setFields(t *testing.T, chance *rand.Rand, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.CanSet() || v.Type().Field(i).Anonymous || chance.IntN(2) == 0 {
			continue
		}
		switch at := field.Addr().Interface().(type) {
		case *string:
			*at = fmt.Sprintf("a\"<%d>", chance.IntN(100))
		case *bool:
			*at = true
		case *uint64:
			*at = uint64(chance.IntN(1000))
		case *int:
			*at = chance.IntN(3)
		case *time.Time:
			*at = time.Unix(1795412680, int64(chance.IntN(1e9))).UTC()
		case *map[string]any:
			*at = map[string]any{"z": "ü", "b": int64(2), "a": []any{true, nil, 1.5}, "m": map[string]any{}}
			if chance.IntN(4) == 0 {
				*at = map[string]any{}
			}
		case *[]string:
			*at = []string{"x", "y"}
		case *[]tree.Path:
			*at = []tree.Path{"p.q", "r"}
		case *map[string][]tree.Path:
			*at = map[string][]tree.Path{"up": {"p"}, "down": {"q", "r"}}
		case *map[tree.Path]string:
			*at = map[tree.Path]string{"p": "digest", "o": "other"}
		case *map[tree.Path][]string:
			*at = map[tree.Path][]string{"p": {"digest"}, "o": nil}
		case *map[string]reconcile.Asset:
			*at = map[string]reconcile.Asset{"code": {Digest: "d", Size: 3, Files: &reconcile.Files{Count: 1, Size: 3, Digests: map[string]string{"f": "d"}}}}
		case *reconcile.Place:
			*at = reconcile.Place{Provider: "local", Account: "a", Region: "r"}
		case *statestore.State, *[]*state.Generation: // the caller's
		case **state.Intent:
			*at = &state.Intent{Address: "net/a", Started: time.Unix(1795412680, 5).UTC(), Undo: chance.IntN(2) == 0}
			if chance.IntN(4) == 0 {
				*at = &state.Intent{}
			}
		default:
			t.Fatalf("%v has a field of type %T, which this test does not know", v.Type(), field.Interface())
		}
	}
}

func shown(e *state.Entry) string {
	text := fmt.Sprintf("%+v", *e)
	for _, g := range e.Generations {
		text += fmt.Sprintf("\n %+v", *g)
	}
	return text
}
