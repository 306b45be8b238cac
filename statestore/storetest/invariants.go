package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

func unlawfulRows(f *fixture) {
	w := f.begin(f.store, "r1")
	bad := map[string]func(*statestore.Row){
		"no address":     func(r *statestore.Row) { r.Address = "" },
		"long address":   func(r *statestore.Row) { r.Address = strings.Repeat("a", statestore.MaxAddress+1) },
		"needs itself":   func(r *statestore.Row) { r.Needs = []string{"a"} },
		"needs unsorted": func(r *statestore.Row) { r.Needs = []string{"c", "b"} },
		"needs twice":    func(r *statestore.Row) { r.Needs = []string{"b", "b"} },
		"needs nothing":  func(r *statestore.Row) { r.Needs = []string{""} },
		"two live": func(r *statestore.Row) {
			r.Generations = append(r.Generations, statestore.Generation{Number: 2, State: statestore.Live, Kind: "k"})
		},
		"number twice": func(r *statestore.Row) {
			r.Generations = append(r.Generations, statestore.Generation{Number: 1, State: statestore.Condemned, Kind: "k"})
		},
		"unknown state": func(r *statestore.Row) { r.Generations[0].State = "gone" },
		"no kind":       func(r *statestore.Row) { r.Generations[0].Kind = "" },
		"slot too high": func(r *statestore.Row) { r.Generations[0].Slot = 4 },
		"slot negative": func(r *statestore.Row) { r.Generations[0].Slot = -1 },
		"two candidates": func(r *statestore.Row) {
			r.Generations = []statestore.Generation{{Number: 1, State: statestore.Candidate, Kind: "k"}, {Number: 2, State: statestore.Candidate, Kind: "k"}}
		},
		"endless identity": func(r *statestore.Row) { r.Generations[0].Identity = strings.Repeat("i", 5*statestore.MaxAddress) },
	}
	for name, spoil := range bad {
		r := row("a", 0)
		spoil(&r)
		if err := w.try(statestore.Batch{Put: []statestore.Row{row("good", 0), r}}); !errors.Is(err, statestore.ErrInvalid) {
			f.Errorf("%s: %v", name, err)
		}
	}
	for name, batch := range map[string]statestore.Batch{
		"twice":          {Put: []statestore.Row{row("a", 0), row("a", 0)}},
		"empty":          {},
		"finish running": {Finish: statestore.Running},
		"finish lost":    {Finish: statestore.Lost},
	} {
		if err := w.try(batch); !errors.Is(err, statestore.ErrInvalid) {
			f.Errorf("batch %s: %v", name, err)
		}
	}
	if len(f.load().Rows) != 0 {
		f.Error("a refused batch left a row")
	}
}

func oneOwner(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	thief := row("b", 0)
	thief.Generations[0].Identity = "id of a"
	err := w.try(statestore.Batch{Put: []statestore.Row{thief}})
	owned, ok := errors.AsType[*statestore.OwnedError](err)
	if !ok || !errors.Is(err, statestore.ErrOwned) || owned.Address != "a" || owned.Claimant != "b" || owned.Identity != "id of a" || owned.Kind != "aws.sqs.Queue" {
		f.Fatalf("a second owner: %v", err)
	}
	if _, there := f.load().Rows["b"]; there {
		f.Fatal("a refused row was written")
	}
	for name, differ := range map[string]func(*statestore.Generation){
		"kind":    func(g *statestore.Generation) { g.Kind = "other" },
		"region":  func(g *statestore.Generation) { g.Place.Region = "us" },
		"account": func(g *statestore.Generation) { g.Place.Account = "2" },
		"unknown": func(g *statestore.Generation) { g.Identity = "" },
	} {
		r := row("differs by "+name, 0)
		r.Generations[0].Identity = "id of a"
		differ(&r.Generations[0])
		w.put(r)
	}
	twins := []statestore.Row{row("x", 0), row("y", 0)}
	twins[1].Generations[0].Identity = twins[0].Generations[0].Identity
	if err := w.try(statestore.Batch{Put: twins}); !errors.Is(err, statestore.ErrOwned) {
		f.Errorf("two owners within a batch: %v", err)
	}
	again := row("a", 1) // the same object twice in one row is one owner
	again.Generations = append(again.Generations, again.Generations[0])
	again.Generations[1].Number, again.Generations[1].State = 2, statestore.Condemned
	w.put(again)
	again.Version, again.Generations = 2, again.Generations[:1]
	w.put(again)
	if err := w.try(statestore.Batch{Put: []statestore.Row{thief}}); !errors.Is(err, statestore.ErrOwned) {
		f.Errorf("after one of two generations went: %v", err)
	}
	f.lawful()
}

func identityPasses(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	heir := row("b", 0)
	heir.Generations[0].Identity = "id of a"
	w.put(heir, gone("a", 1)) // whatever the order in the batch
	other := row("b", 1)
	other.Generations[0].Identity = "new"
	taker := row("c", 0)
	taker.Generations[0].Identity = "id of a"
	w.put(taker, other)
	if err := w.try(statestore.Batch{Put: []statestore.Row{heir}}); !errors.Is(err, statestore.ErrConflict) {
		f.Errorf("stale heir: %v", err)
	}
	f.lawful()
}

func needed(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0, "a"), row("c", 0, "a", "b"))
	err := w.try(statestore.Batch{Put: []statestore.Row{gone("a", 1)}})
	e, ok := errors.AsType[*statestore.NeededError](err)
	if !ok || !errors.Is(err, statestore.ErrNeeded) || e.Address != "a" || !slices.Equal(e.By, []string{"b", "c"}) {
		f.Fatalf("removing a needed row: %v", err)
	}
	w.put(row("c", 1, "b"))
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("a", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Fatalf("still needed by one: %v", err)
	}
	w.put(gone("a", 1), gone("b", 1), gone("c", 2)) // together, in any order
	w.put(row("x", 0, "y"), row("y", 0, "x"))       // a cycle, and an edge to what is made later
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("x", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Fatalf("one of a cycle: %v", err)
	}
	w.put(gone("x", 1), gone("y", 1))
	if n := len(f.load().Rows); n != 0 {
		f.Errorf("%d rows left", n)
	}
}
