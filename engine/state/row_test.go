package state_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// TestIntentsOfRows: a row keeps what a creation began with, and one that was written before rows did so has it in other members.
func TestIntentsOfRows(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	row := statestore.Row{Address: "a", Birth: "a", Generations: []statestore.Generation{
		{Number: 1, State: statestore.Live, Kind: "k", Identity: "one"},
		{Number: 2, State: statestore.Candidate, Kind: "k", Intent: true, Written: began},
	}}
	whole := &state.Intent{Address: "a", Name: "pot", NameGiven: true, Props: map[string]any{"size": "l"}, Started: began}
	for body, want := range map[string]*state.Intent{
		`{"gens":{"2":{"name":"pot","named":true,"props":{"size":"l"}}},"props":{"size":"s"}}`: whole,
		`{"gens":{"2":{"name":"pot","named":true}},"props":{"size":"l"}}`:                      whole,
		`{"gens":{"2":{"intent":{}}},"props":{"size":"l"}}`:                                    {},
	} {
		entry, err := state.DecodeRow(row, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if g := entry.Candidate(); !reflect.DeepEqual(g.Intent, want) || g.Begun() == want.Started.IsZero() || entry.Live().Intent != nil {
			t.Errorf("%s: %+v", body, g.Intent)
		}
	}
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	whole.Assets = map[string]string{"code": "digest"}
	for _, intent := range []*state.Intent{whole, {}, nil, {Address: "a", Started: began, Undo: true}} {
		g := &state.Generation{Number: 1, State: statestore.Candidate, Kind: "k", Intent: intent}
		entry := &state.Entry{Address: "a", Birth: "a", Generations: []*state.Generation{g}}
		stage := statestore.Stage{Stack: "shop", Name: "test"}
		row, err := entry.Seal(stage, key)
		if err != nil || row.Generations[0].Intent != (intent != nil) {
			t.Fatalf("%+v: %v", row, err)
		}
		if entry, err = state.Open(row, stage, key); err != nil || !reflect.DeepEqual(entry.Candidate().Intent, intent) {
			t.Errorf("%+v came back as %+v: %v", intent, entry.Candidate().Intent, err)
		}
	}
}

// TestDeclaredPropsOfRows: an entry that has the declared props has the very same, and whatever is declared it reads as it would alone.
func TestDeclaredPropsOfRows(t *testing.T) {
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	key, err := seal.LoadOrMake(t.TempDir(), stage.Stack, stage.Name)
	if err != nil {
		t.Fatal(err)
	}
	all := []map[string]any{
		nil,
		{},
		{"size": "s"},
		{"size": "sm"},
		{"size": int64(1)},
		{"size": int64(12)},
		{"size": "s", "sizes": []any{"s", "m"}},
		{"deep": map[string]any{"size": "ü\n\"", "none": nil, "half": 0.5}},
	}
	opener := state.NewOpener(stage, key)
	for i, props := range all {
		entry := &state.Entry{
			Address: "a", Birth: "a", Props: props, SecretPaths: []tree.Path{"size"},
			Generations: []*state.Generation{{Number: 1, State: statestore.Live, Kind: "k", Attributes: map[string]any{"size": "s"}}},
		}
		row, err := entry.Seal(stage, key)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := state.Open(row, stage, key)
		if err != nil {
			t.Fatal(err)
		}
		for k, declared := range all {
			have, err := opener.Open(row, declared)
			if err != nil || !reflect.DeepEqual(have, alone) {
				t.Errorf("%v, declared %v: %+v, %v", props, declared, have, err)
				continue
			}
			if same := reflect.ValueOf(have.Props).Pointer() == reflect.ValueOf(declared).Pointer(); len(declared) > 0 && same != (i == k) {
				t.Errorf("%v, declared %v: the very same is %v", props, declared, same)
			}
		}
	}
}

// TestFilesOfRows: a row keeps what files assets were made of, also where they are counted alone, and one that was written before rows
// did so tells none.
func TestFilesOfRows(t *testing.T) {
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	stage := statestore.Stage{Stack: "shop", Name: "test"}
	for name, files := range map[string]map[string]reconcile.Asset{
		"none":  nil,
		"named": {"code": {Digest: "d", Size: 7, Files: &reconcile.Files{Count: 2, Size: 7, Digests: map[string]string{"src/a.js": "0a", "b.js": "0b"}}}},
		"many":  {"code": {Digest: "d", Size: 7, Files: &reconcile.Files{Count: 501, Size: 8}}, "assets": {Digest: "e"}},
	} {
		entry := &state.Entry{Address: "a", Birth: "a", Files: files, Generations: []*state.Generation{{Number: 1, State: statestore.Live, Kind: "k"}}}
		row, err := entry.Seal(stage, key)
		if err != nil {
			t.Fatal(err)
		}
		if entry, err = state.Open(row, stage, key); err != nil || !reflect.DeepEqual(entry.Files, files) {
			t.Errorf("%s: %+v came back as %+v: %v", name, files, entry.Files, err)
		}
	}
}

// FuzzRow decodes bodies of rows: whatever they hold is an error or an entry, never a panic.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"cut":{"b":["peer"]},"gens":{"1":{"attrs":{"id":"x"},"name":"n","named":true,"written":{"p":"d"}}},"options":{"timeouts":{"create":"1m30s"}},"props":{},"secret":["a"],"was":["b"]}`))
	f.Add([]byte(`{"gens":[1],"options":{"timeouts":5},"cut":{"a":3},"secret":{"x":1}}`))
	f.Add([]byte(`{"gens":{"1":{"intent":{"address":"a","name":"n","props":{"p":1},"assets":{"code":2},"started":"yesterday"}}}}`))
	f.Add([]byte(`{"files":{"code":{"count":"two","files":{"a":1}},"x":[]},"gens":{"1":{}}}`))
	f.Add([]byte(`[]`))
	row := statestore.Row{Address: "a", Birth: "a", Generations: []statestore.Generation{{Number: 1, State: statestore.Live, Kind: "k"}}}
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = state.DecodeRow(row, body)
	})
}
