package engine_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// sameStore is a store that was made anew on a machine that remembers what the old one was called.
type sameStore struct {
	statestore.Store
	id string
}

func (s sameStore) ID(context.Context) (string, error) { return s.id, nil }

// loseFile deletes the store's file; the machine remembers its id.
func (b *bench) loseFile() {
	b.t.Helper()
	id, err := b.e.Store.ID(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = mem.New()
	b.e.Store, b.e.Known = sameStore{b.store, id}, true
}

// loseRow takes single rows out of the record, as a damaged file or a hand might.
func (b *bench) loseRow(addrs ...string) {
	b.t.Helper()
	ctx := b.t.Context()
	snap, err := b.e.Store.Load(ctx, testStage)
	if err != nil {
		b.t.Fatal(err)
	}
	j, err := statestore.Begin(ctx, b.e.Store, testStage, statestore.Claim{Run: "hand-" + strings.Join(addrs, "-"), Command: "state"})
	if err != nil {
		b.t.Fatal(err)
	}
	change := statestore.Change{}
	for _, addr := range addrs {
		change.Put = append(change.Put, statestore.Row{Address: addr, Version: snap.Rows[addr].Version})
	}
	if err := j.Commit(ctx, change); err != nil {
		b.t.Fatal(err)
	}
	if err := j.Finish(ctx, statestore.Succeeded, nil); err != nil {
		b.t.Fatal(err)
	}
}

// The whole table of adoption: what is there × whether a row knows it × whether what it goes by is known at plan × the flag.
// The four outcomes of a line are those of: known, known --adopt, unknown, unknown --adopt.
var (
	theirs   = reconcile.Mark{Stack: "other", Stage: "test", Address: "x", Generation: 1, Store: "s"}
	staged   = reconcile.Mark{Stack: "shop", Stage: "prod", Address: "a", Generation: 1, Store: "s"}
	sibling  = reconcile.Mark{Stack: "shop", Stage: "test", Address: "x", Generation: 1, Store: "s"}
	stranger = reconcile.Mark{Stack: "shop", Stage: "test", Address: "a", Generation: 1, Store: "s"}
	retained = reconcile.Mark{Stack: "shop", Stage: "test", Address: "a", Generation: 1, Store: "s", Retained: true}
)

type adoption struct {
	there string
	mark  *reconcile.Mark // written onto what is there; nil: left as it is
	row   bool
	want  [4]string
}

func all(outcome string) [4]string { return [4]string{outcome, outcome, outcome, outcome} }

var (
	refusedOrTaken = [4]string{"refused", "adopt", "failed", "adopt"}
	neverTaken     = [4]string{"refused", "refused", "failed", "failed"}
	// settledOrMay: with the input not known yet a change may come, and does not.
	settledOrMay = all("unchanged")
)

func adoptions() map[string][]adoption {
	known := []adoption{
		{"nothing", nil, false, all("create")},
		{"nothing", nil, true, all("create")},
		{"ours", nil, false, all("recover")},
		{"ours", nil, true, settledOrMay},
		{"ours, by another store", &stranger, false, all("recover")},
		{"ours, by another store", &stranger, true, all("update")},
		{"nobody's", &reconcile.Mark{}, false, refusedOrTaken},
		{"nobody's", &reconcile.Mark{}, true, all("update")},
		{"another stack's", &theirs, false, neverTaken},
		{"another stack's", &theirs, true, all("refused")},
		{"another stage's", &staged, false, neverTaken},
		{"another stage's", &staged, true, all("refused")},
		{"another address's", &sibling, false, neverTaken},
		{"another address's", &sibling, true, all("refused")},
		{"retained", &retained, false, refusedOrTaken},
		{"retained", &retained, true, all("refused")},
	}
	// A generated name can be looked for whatever is not known of the props.
	generated := make([]adoption, len(known))
	for i, c := range known {
		if c.want[2] == "failed" {
			c.want[2], c.want[3] = c.want[0], c.want[1]
		}
		if c.there == "another address's" && !c.row {
			c.want = all("create") // that one was renamed away, and the next name is free
		}
		generated[i] = c
	}
	// What the cloud names itself is found by its owner tag alone.
	assigned := make([]adoption, len(generated))
	for i, c := range generated {
		if !c.row && c.mark != nil && c.mark != &stranger {
			c.want = all("create")
		}
		assigned[i] = c
	}
	bare := []adoption{
		{"nothing", nil, false, all("create")},
		{"nothing", nil, true, all("create")},
		{"something", nil, false, refusedOrTaken}, // ambiguous: a given name proves nothing
		{"something", nil, true, settledOrMay},
	}
	bareGenerated := []adoption{bare[0], bare[1], {"something", nil, false, all("recover")}, bare[3]}
	return map[string][]adoption{
		"Thing given": known, "Thing generated": generated, "Assigned": assigned,
		"Bare given": bare, "Bare generated": bareGenerated,
		"Same given": {bare[0], bare[1], {"equal", nil, false, all("recover")}, bare[3], {"edited", nil, false, refusedOrTaken}, {"edited", nil, true, all("update")}},
	}
}

// adoptionGraph declares a, whose name or another input is that of up.
func adoptionGraph(sort string) *engine.Graph {
	kindName, how, _ := strings.Cut(sort, " ")
	props := m{"color": "blue", "after": "⟦up.id⟧"}
	if how == "given" {
		props = m{"color": "blue", "name": "⟦up.color⟧"}
	}
	return graph(res("up", m{"name": "up", "color": "pot"}), kind(kindName, res("a", props)))
}

func (b *bench) adopted(kind string) *thing {
	for _, name := range b.world.names() {
		if t := b.world.things[name]; t.Kind == kind && name != "up" {
			return t
		}
	}
	return nil
}

func TestAdoptionTable(t *testing.T) {
	for sort, lines := range adoptions() {
		for _, line := range lines {
			for i, want := range line.want {
				name := fmt.Sprintf("%s/%s row=%t unknown=%t adopt=%t", sort, line.there, line.row, i >= 2, i%2 == 1)
				lose := map[string]func(*bench){"all": (*bench).loseFile, "one": func(b *bench) { b.loseRow("a") }}
				if line.mark == &sibling { // without any row that one is nobody's any more, and would go
					delete(lose, "all")
				}
				for how, lose := range lose {
					if line.row {
						lose = func(*bench) {}
					}
					t.Run(name+" lost="+how, func(t *testing.T) { line.check(t, sort, lose, i >= 2, i%2 == 1, want) })
				}
			}
		}
	}
}

func (c adoption) check(t *testing.T, sort string, lose func(*bench), unknown, flag bool, want string) {
	b, g := newBench(t), adoptionGraph(sort)
	b.deploy(g)
	kindName := g.Resources[1].Kind
	before := b.adopted(kindName)
	c.arrange(b, before)
	lose(b)
	if unknown {
		delete(b.world.things, "up")
	}
	// The plan alone never writes, with the flag or without.
	b.opts.Adopt = flag
	b.world.takeLog()
	state := *before
	state.Tags = maps.Clone(before.Tags)
	plan, err := b.e.Plan(t.Context(), g, b.opts)
	if log := b.world.takeLog(); len(log) > 0 {
		t.Fatalf("the plan wrote %v", log)
	}
	have, text := b.outcome(plan, err)
	if have != want {
		t.Fatalf("%s, want %s: %s", have, want, text)
	}
	for _, line := range b.world.takeLog() {
		if strings.HasPrefix(line, "delete") {
			t.Errorf("something was deleted: %s", line)
		}
	}
	after := b.adopted(kindName)
	switch want {
	case "refused", "failed":
		if after.Color != state.Color || !maps.Equal(after.Tags, state.Tags) {
			t.Errorf("touched: %+v, was %+v", after, state)
		}
		owner := "who owns it"
		if c.mark != nil && !c.mark.IsZero() {
			owner = c.mark.Stack + "/" + c.mark.Stage
		} else if c.mark != nil || c.there == "edited" {
			owner = "not ours"
		}
		if !strings.Contains(text, owner) || !strings.Contains(text, after.Name) {
			t.Errorf("names neither owner nor object: %s", text)
		}
		return
	case "create":
	default:
		if after.Name != state.Name || after.Color != "blue" || b.world.made[kindName+" a 1"] > 1 {
			t.Errorf("not taken over and settled: %+v", after)
		}
	}
	b.opts.Adopt = false
	b.settled(g)
}

// arrange makes of a stage that is as declared what a line of the table begins with.
func (c adoption) arrange(b *bench, th *thing) {
	switch c.there {
	case "nothing":
		delete(b.world.things, key(th.Region, th.Name))
	case "edited":
		th.Color = "edited"
	}
	if c.mark != nil {
		th.Tags = adopt.Tags(*c.mark)
	}
	if c.mark != nil && *c.mark != stranger {
		th.Color = "drifted"
	}
}

// outcome applies a plan and says what became of a.
func (b *bench) outcome(p *engine.Plan, err error) (outcome, text string) {
	b.t.Helper()
	if err != nil {
		return "refused", err.Error()
	}
	outcome = "unchanged"
	b.e.Events = func(e engine.Event) {
		if e.Type == engine.EventDone && e.Address == "a" {
			outcome = string(e.Action)
			if e.Status == engine.StatusFailed {
				outcome = "failed"
			}
		}
	}
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.e.Events = nil
	return outcome, failures(r) + " " + actions(p)
}
