package storetest

import (
	"errors"

	"github.com/athanor-dev/athanor/statestore"
)

var damageCases = map[string]func(*fixture){
	"named, never absent": damagedNamed,
	"not overwritten":     damagedKept,
	"repaired":            damagedRepaired,
	"removed":             damagedRemoved,
	"never moved":         damagedMoved,
}

// damaged is a stage with a row that cannot be decoded, which another one needs.
func (f *fixture) damaged() *writer {
	w := f.begin(f.store, "r1")
	w.put(row("bad", 0, "below"), row("below", 0), row("good", 0), row("user", 0, "bad"))
	f.subject.Damage(f.T, f.stage, "bad")
	return w
}

func damagedNamed(f *fixture) {
	f.damaged()
	snap := f.load()
	e := snap.Damaged["bad"]
	if e == nil || len(snap.Damaged) != 1 || !errors.Is(e, statestore.ErrDamaged) || e.Address != "bad" || e.Stage != f.stage || e.Err == nil {
		f.Fatalf("damaged rows: %v", snap.Damaged)
	}
	if _, there := snap.Rows["bad"]; there || len(snap.Rows) != 3 || string(snap.Rows["good"].Body) != "row of good" {
		f.Errorf("readable rows: %v", snap.Rows)
	}
	g := row("bad", 0).Generations[0]
	if len(e.Identities) != 1 || e.Identities[0] != (statestore.Identity{Place: g.Place, Kind: g.Kind, Identity: "id of bad"}) {
		f.Errorf("what could be read of it: %+v", e.Identities)
	}
	if broken := snap.Check(); len(broken) != 1 || !errors.Is(broken[0], statestore.ErrDamaged) {
		f.Errorf("check says %v", broken)
	}
}

func damagedKept(f *fixture) {
	w := f.damaged()
	for _, r := range []statestore.Row{row("bad", 0), row("bad", 1), gone("bad", 1), gone("bad", 0)} {
		err := w.try(statestore.Batch{Put: []statestore.Row{r}})
		if e, ok := errors.AsType[*statestore.DamagedError](err); !ok || e.Address != "bad" || len(e.Identities) != 1 {
			f.Errorf("version %d: %v", r.Version, err)
		}
	}
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("below", 1)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Errorf("what it needs can go: %v", err)
	}
	thief := row("thief", 0)
	thief.Generations[0].Identity = "id of bad"
	if err := w.try(statestore.Batch{Put: []statestore.Row{thief}}); !errors.Is(err, statestore.ErrOwned) {
		f.Errorf("its thing can be taken: %v", err)
	}
	w.put(row("good", 1), row("user", 1, "bad")) // the others go on
}

func damagedRepaired(f *fixture) {
	w := f.damaged()
	if err := w.try(statestore.Batch{Put: []statestore.Row{row("good", statestore.Repair)}}); !errors.Is(err, statestore.ErrConflict) {
		f.Errorf("repairing a good row: %v", err)
	}
	if err := w.try(statestore.Batch{Put: []statestore.Row{row("new", statestore.Repair)}}); !errors.Is(err, statestore.ErrConflict) {
		f.Errorf("repairing nothing: %v", err)
	}
	fixed := row("bad", statestore.Repair)
	fixed.Generations[0].Identity = "new id"
	w.put(fixed)
	heir := row("heir", 0)
	heir.Generations[0].Identity = "id of bad"
	w.put(heir)
	w.put(gone("below", 1)) // no longer needed
	snap := f.load()
	if len(snap.Damaged) != 0 || snap.Rows["bad"].Version != 1 {
		f.Errorf("damaged %v, row %+v", snap.Damaged, snap.Rows["bad"])
	}
	f.lawful()
}

func damagedRemoved(f *fixture) {
	w := f.damaged()
	if err := w.try(statestore.Batch{Put: []statestore.Row{gone("bad", statestore.Repair)}}); !errors.Is(err, statestore.ErrNeeded) {
		f.Errorf("a damaged row that is needed: %v", err)
	}
	w.put(gone("bad", statestore.Repair), gone("user", 1))
	if snap := f.load(); len(snap.Damaged) != 0 || len(snap.Rows) != 2 {
		f.Errorf("left: %+v", snap)
	}
	w.put(row("bad", 0))
	f.lawful()
}

func damagedMoved(f *fixture) {
	w := f.damaged()
	for name, move := range map[string]map[string]string{
		"itself": {"bad": "x"}, "onto it": {"good": "bad"}, "what it needs": {"below": "x"},
	} {
		if err := w.try(statestore.Batch{Move: move}); !errors.Is(err, statestore.ErrDamaged) {
			f.Errorf("moving %s: %v", name, err)
		}
	}
}
