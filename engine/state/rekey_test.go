package state_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// TestRekey gives the entries of a stage a new key: what is written once more to the cloud afterwards is nothing, and what
// was derived goes on naming the key that it was derived from, however often it is sealed again.
func TestRekey(t *testing.T) {
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	born, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := born.Next()
	if err != nil {
		t.Fatal(err)
	}
	digest := func(k *seal.Key, address, path string, v any) string {
		return k.Digest("written "+address+" "+path, tree.Canonical(v))
	}
	secret := map[string]any{"value": "hunter2", "list": []any{"a"}}
	entries := map[string]*state.Entry{
		"written": {Address: "written", Birth: "was", Props: secret, SecretPaths: []tree.Path{"value"}, Generations: []*state.Generation{{
			Number: 3, State: statestore.Live, Kind: "k", Identity: "id", WriteDigests: map[tree.Path]string{
				"value": digest(born, "written", "value", "hunter2"), "list": digest(born, "was", "list", []any{"a"}), "lost": "of nothing",
			},
		}}},
		"random": {Address: "random", Birth: "random", Generations: []*state.Generation{{
			Number: 1, State: statestore.Live, Kind: "random.Password", StateOnly: true, Attributes: map[string]any{"value": "generated"},
		}}},
	}
	secrecy := func(kind string) state.Secrecy {
		if kind == "random.Password" {
			return state.Secrecy{Attributes: []tree.Path{"value"}, Derives: true}
		}
		return state.Secrecy{}
	}
	again := map[string]*state.Entry{}
	for address, entry := range entries {
		row, err := entry.Seal(stage, born)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := ring.Open(row.Body, state.Binding(stage, row.Birth))
		if err != nil {
			t.Fatal(err)
		}
		next, derived, err := state.Rekey(row, plain, ring, secrecy)
		if want := map[string][]string{"random": {born.ID()}}[address]; err != nil || !slices.Equal(derived, want) {
			t.Fatalf("%s derives from %v, not %v: %v", address, derived, want, err)
		}
		values, err := state.SecretValues(row, next, secrecy)
		if want := map[string]string{"random": `"generated"`, "written": `"hunter2"`}[address]; err != nil || len(values) != 1 || string(slices.Collect(maps.Values(values))[0]) != want {
			t.Errorf("the secrets of %s are %q, %v", address, values, err)
		}
		row.Body = ring.Seal(next, state.Binding(stage, row.Birth))
		for range 2 { // a deploy reads it and writes it again
			if again[address], err = state.Open(row, stage, ring); err != nil {
				t.Fatal(err)
			}
			if row, err = again[address].Seal(stage, ring); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := state.Open(row, stage, born); err == nil {
			t.Errorf("%s opens with the old key", address)
		}
	}
	if live := again["random"].Live(); live.DerivedFrom != born.ID() || live.Deriver(ring).ID() != born.ID() {
		t.Errorf("the random value names key %q, not %s", live.DerivedFrom, born.ID())
	}
	if (*state.Generation)(nil).Deriver(ring).ID() != ring.ID() {
		t.Error("what is new derives from an older key")
	}
	want := map[tree.Path]string{"value": digest(ring, "written", "value", "hunter2"), "list": digest(ring, "was", "list", []any{"a"}), "lost": "of nothing"}
	if have := again["written"].Live().WriteDigests; !maps.Equal(have, want) {
		t.Errorf("digests %v, want %v", have, want)
	}
}

// TestDerivedBetween writes an entry in the midst of a rotation: what was derived from the older key does not take the
// newest for its own.
func TestDerivedBetween(t *testing.T) {
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	born, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := born.Next()
	if err != nil {
		t.Fatal(err)
	}
	entry := &state.Entry{Address: "a", Birth: "a", Generations: []*state.Generation{{Number: 1, State: statestore.Live, Kind: "random.ID", StateOnly: true}}}
	row, err := entry.Seal(stage, born)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err = state.Open(row, stage, ring); err != nil {
		t.Fatal(err)
	}
	if row, err = entry.Seal(stage, ring); err != nil {
		t.Fatal(err)
	}
	secrecy := func(string) state.Secrecy { return state.Secrecy{Derives: true} }
	plain, err := ring.Open(row.Body, state.Binding(stage, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, derived, err := state.Rekey(row, plain, ring, secrecy); err != nil || !slices.Equal(derived, []string{born.ID()}) {
		t.Errorf("derives from %v, not %s: %v", derived, born.ID(), err)
	}
}
