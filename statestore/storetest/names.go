package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// strange are addresses that a careless encoding takes for each other.
func strange() []string {
	long := strings.Repeat("x", 300)
	return []string{
		"a", "A", "a/b", "a__b", "a_b", "a%2Fb", "a//b", "a/", "/a", ".", "..", "../a", "a/..", " ", "a ", "a\x00", "a\x00b", "\x00", "a\nb",
		"é", "e\u0301", "ı", "İ", "ß", "ẞ", "ÿ", "\xff", "\xff\xff", "日本/語", "🜁", "a[b]", "a[b][c]", "head", "rows", "o", "m",
		long, long + "x", long + "y", long[:299] + "/", strings.Repeat("🜁", 300),
	}
}

func injectiveAddresses(f *fixture) {
	w := f.begin(f.store, "r1")
	for i, address := range strange() {
		r := row(address, 0)
		if i > 0 {
			r.Needs = []string{strange()[i-1]}
		}
		w.put(r)
	}
	snap := f.load()
	if len(snap.Rows) != len(strange()) || len(snap.Damaged) != 0 {
		f.Fatalf("%d rows, %d damaged, of %d", len(snap.Rows), len(snap.Damaged), len(strange()))
	}
	for _, address := range strange() {
		if got := snap.Rows[address]; got.Address != address || string(got.Body) != "row of "+address {
			f.Errorf("%q loads as %q with %q", address, got.Address, got.Body)
		}
	}
	for i, address := range strange()[:len(strange())-1] {
		err := w.try(statestore.Batch{Put: []statestore.Row{gone(address, 1)}})
		if needed, ok := errors.AsType[*statestore.NeededError](err); !ok || !slices.Equal(needed.By, strange()[i+1:i+2]) {
			f.Errorf("removing %q: %v", address, err)
		}
	}
	f.lawful()
}

// longestNames: names of the greatest length that differ in their last byte alone are told apart everywhere.
func longestNames(f *fixture) {
	long := strings.Repeat("n", statestore.MaxAddress-1)
	f.stage = statestore.Stage{Stack: long + "s", Name: long + "t"}
	w := f.begin(f.store, long+"r")
	named := func(last string, needs ...string) statestore.Row {
		r := row(long+last, 0, needs...)
		r.Generations[0].Identity = strings.Repeat("i", 3*statestore.MaxAddress) + last
		return r
	}
	w.commit(statestore.Batch{
		Put:  []statestore.Row{named("a"), named("b", long+"a"), named("c")},
		Meta: map[string][]byte{long + "x": {1}, long + "y": {2}},
	})
	snap := f.load()
	if len(snap.Rows) != 3 || string(snap.Rows[long+"b"].Body) != "row of "+long+"b" || len(snap.Meta) != 2 || snap.Meta[long+"y"][0] != 2 {
		f.Errorf("%d rows, %d facts", len(snap.Rows), len(snap.Meta))
	}
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone(long+"a", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Errorf("removing what is needed: %v", err)
	}
	thief := named("d")
	thief.Generations[0].Identity = strings.Repeat("i", 3*statestore.MaxAddress) + "c"
	if err := w.try(statestore.Batch{Put: []statestore.Row{thief}}); !errors.Is(err, statestore.ErrOwned) {
		f.Errorf("a second owner: %v", err)
	}
	w.put(gone(long+"c", 1))
	w.put(thief)
	f.lawful()
	w.finish()
	f.stage.Name = long + "u"
	if snap := f.load(); len(snap.Rows) != 0 || snap.LastRun != nil {
		f.Error("two stages are one")
	}
}

func injectiveStages(f *fixture) {
	names := []statestore.Stage{
		{Stack: "a", Name: "b/c"},
		{Stack: "a/b", Name: "c"},
		{Stack: "a", Name: "b"},
		{Stack: "A", Name: "b"},
		{Stack: "..", Name: "b"},
		{Stack: "a\x00", Name: "b"},
		{Stack: "a", Name: "\x00b"},
		{Stack: "é", Name: "x"},
		{Stack: "e\u0301", Name: "x"},
		{Stack: strings.Repeat("s", 300), Name: "x"},
		{Stack: strings.Repeat("s", 299), Name: "sx"},
	}
	for i, name := range names {
		f.stage = name
		f.begin(f.store, "r").put(row(numbered("row-%d", i), 0))
	}
	for i, name := range names {
		f.stage = name
		if rows := f.load().Rows; len(rows) != 1 || rows[numbered("row-%d", i)].Version != 1 {
			f.Errorf("%q holds %v", name, rows)
		}
	}
	got, err := f.store.Stages(f.Context())
	if err != nil || len(got) != len(names) {
		f.Fatalf("stages: %v, %v", got, err)
	}
	for _, name := range names {
		if !slices.Contains(got, name) {
			f.Errorf("stage %q is not listed", name)
		}
	}
}
