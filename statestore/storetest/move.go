package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
)

var moveCases = map[string]func(*fixture){
	"needs follow":         needsFollow,
	"swap":                 swap,
	"chain":                chain,
	"all at once":          allAtOnce,
	"unlawful moves":       unlawfulMoves,
	"move, then put":       moveThenPut,
	"the place is free":    placeIsFree,
	"ownership follows":    ownershipFollows,
	"needs stay protected": needsStayProtected,
}

func needsFollow(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("b", 0), row("user", 0, "b", "x"), row("x", 0))
	w.commit(statestore.Batch{Move: map[string]string{"b": "z"}})
	snap := f.load()
	moved, user := snap.Rows["z"], snap.Rows["user"]
	if moved.Address != "z" || moved.Birth != "b" || moved.Version != 1 || string(moved.Body) != "row of b" {
		f.Errorf("moved row %+v", moved)
	}
	if !slices.Equal(user.Needs, []string{"x", "z"}) || user.Version != 1 {
		f.Errorf("the row that needs it: %+v", user)
	}
	if len(snap.Rows) != 3 {
		f.Errorf("%d rows", len(snap.Rows))
	}
	f.lawful()
}

func swap(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0, "a"), row("of-a", 0, "a"), row("of-both", 0, "a", "b"))
	w.commit(statestore.Batch{Move: map[string]string{"a": "b", "b": "a"}})
	rows := f.load().Rows
	if string(rows["a"].Body) != "row of b" || string(rows["b"].Body) != "row of a" {
		f.Errorf("a is %q, b is %q", rows["a"].Body, rows["b"].Body)
	}
	for address, want := range map[string][]string{"a": {"b"}, "b": nil, "of-a": {"b"}, "of-both": {"a", "b"}} {
		if got := rows[address].Needs; !slices.Equal(got, want) {
			f.Errorf("%s needs %v, want %v", address, got, want)
		}
	}
	f.lawful()
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("b", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Errorf("after the swap: %v", err)
	}
}

// allAtOnce moves so many rows that no page or block of a store keeps any of those before.
func allAtOnce(f *fixture) {
	const n = 500
	w := f.begin(f.store, "r1")
	moves := map[string]string{}
	var rows []statestore.Row
	for i := range n {
		r := row(fmt.Sprintf("r%03d", i), 0)
		r.Body = bytes.Repeat([]byte{byte(i)}, 200)
		rows, moves[r.Address] = append(rows, r), "old/"+r.Address
	}
	w.put(rows...)
	w.commit(statestore.Batch{Move: moves})
	snap := f.load()
	if len(snap.Rows) != n {
		f.Errorf("%d rows, want %d", len(snap.Rows), n)
	}
	for i := range n {
		address := fmt.Sprintf("r%03d", i)
		if moved := snap.Rows["old/"+address]; moved.Birth != address || len(moved.Body) != 200 {
			f.Errorf("%s is %+v", address, moved)
		}
	}
	f.lawful()
}

func chain(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0, "a"), row("c", 0, "b"))
	w.commit(statestore.Batch{Move: map[string]string{"a": "b", "b": "c", "c": "d"}})
	rows := f.load().Rows
	for address, want := range map[string]string{"b": "row of a", "c": "row of b", "d": "row of c"} {
		if string(rows[address].Body) != want {
			f.Errorf("%s is %q", address, rows[address].Body)
		}
	}
	if !slices.Equal(rows["c"].Needs, []string{"b"}) || !slices.Equal(rows["d"].Needs, []string{"c"}) || len(rows) != 3 {
		f.Errorf("needs %v and %v, %d rows", rows["c"].Needs, rows["d"].Needs, len(rows))
	}
	f.lawful()
}

func unlawfulMoves(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0), row("c", 0))
	for name, test := range map[string]struct {
		move map[string]string
		want error
	}{
		"onto another row":      {map[string]string{"a": "b"}, statestore.ErrConflict},
		"two to one":            {map[string]string{"a": "z", "b": "z"}, statestore.ErrInvalid},
		"what is not there":     {map[string]string{"x": "y"}, statestore.ErrInvalid},
		"to nowhere":            {map[string]string{"a": ""}, statestore.ErrInvalid},
		"a chain that ends bad": {map[string]string{"a": "b", "b": "c"}, statestore.ErrConflict},
	} {
		if err := w.try(statestore.Batch{Move: test.move}); !errors.Is(err, test.want) {
			f.Errorf("%s: %v", name, err)
		}
	}
	if snap := f.load(); snap.Serial != 1 || len(snap.Rows) != 3 {
		f.Errorf("refused moves left serial %d, %d rows", snap.Serial, len(snap.Rows))
	}
}

func moveThenPut(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	w.put(row("a", 1))
	r := row("b", 2) // puts see the moved row, with its version
	r.Generations[0].Identity = "id of a"
	fresh := row("a", 0)
	fresh.Generations[0].Identity = "fresh"
	w.commit(statestore.Batch{Move: map[string]string{"a": "b"}, Put: []statestore.Row{r, fresh}})
	rows := f.load().Rows
	if rows["b"].Version != 3 || rows["a"].Version != 1 {
		f.Errorf("versions %d and %d", rows["b"].Version, rows["a"].Version)
	}
	f.lawful()
}

func placeIsFree(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	w.commit(statestore.Batch{Move: map[string]string{"a": "b"}})
	fresh := row("a", 0)
	fresh.Generations[0].Identity = "fresh"
	w.put(fresh)
	w.put(gone("b", 1))
	f.lawful()
}

func ownershipFollows(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	w.commit(statestore.Batch{Move: map[string]string{"a": "b"}})
	thief := row("a", 0)
	err := w.try(statestore.Batch{Put: []statestore.Row{thief}})
	if owned, ok := errors.AsType[*statestore.OwnedError](err); !ok || owned.Address != "b" {
		f.Errorf("the thing belongs to the moved row: %v", err)
	}
}

func needsStayProtected(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0, "a"))
	w.commit(statestore.Batch{Move: map[string]string{"b": "c"}})
	err := w.try(statestore.Batch{Put: []statestore.Row{gone("a", 1)}})
	if needed, ok := errors.AsType[*statestore.NeededError](err); !ok || !slices.Equal(needed.By, []string{"c"}) {
		f.Errorf("the moved row still needs it: %v", err)
	}
}
