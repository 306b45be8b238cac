package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

func (b *bench) put(kind, name string, mark reconcile.Mark) *thing {
	th := &thing{Kind: "world." + kind, Name: name, Tags: adopt.Tags(mark)}
	b.world.things[name] = th
	return th
}

func (b *bench) ours(addr string, generation uint64) reconcile.Mark {
	id, _ := b.e.Store.ID(b.t.Context())
	return reconcile.Mark{Stack: "shop", Stage: "test", Address: addr, Generation: generation, Store: id}
}

func standings(things []engine.Thing) string {
	var s []string
	for _, t := range things {
		text := fmt.Sprintf("%s:%s", t.Name, t.Standing)
		if t.Address != "" {
			text += "=" + t.Address
		}
		if t.Declared {
			text += "!"
		}
		s = append(s, text)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

// TestTakeOneByItsIdentity: that address alone is touched; what it needs is read.
func TestTakeOneByItsIdentity(t *testing.T) {
	b := newBench(t)
	g := graph(res("base", m{"name": "base", "color": "1"}), kind("Assigned", res("a", m{"color": "blue", "after": "⟦base.id⟧"})),
		res("other", m{"name": "other"}))
	b.deploy(graph(g.Resources[0]))
	b.world.things["base"].Color = "drifted"
	b.put("Assigned", "pot", reconcile.Mark{})
	take := func(addr, id string) engine.PlanOptions {
		return engine.PlanOptions{Take: &engine.Take{Address: addr, Identity: id}}
	}
	for _, id := range []string{"thing:pot", "pot"} { // by its name too, where the kind lists
		b.opts = take("a", id)
		if p := b.plan(g); !strings.Contains(actions(p), "a:adopt") || p.Summary.Unchanged != 2 {
			t.Fatalf("%s: %s", id, actions(p))
		}
	}
	b.world.takeLog()
	r := b.deploy(g)
	for _, line := range b.world.takeLog() {
		if !strings.HasSuffix(line, " pot") {
			t.Errorf("touched another: %s", line)
		}
	}
	if r.Summary.Adopted != 1 || b.world.things["pot"].After != "thing:base" || b.world.things["base"].Color != "drifted" || len(b.world.things) != 2 {
		t.Fatalf("%+v %+v", r.Summary, b.world.things["pot"])
	}
	b.opts = engine.PlanOptions{}
	b.deploy(g)
	b.settled(g)

	for want, o := range map[string]engine.PlanOptions{
		"nothing is declared as":             take("b", "thing:pot"),
		"is already in state as thing:pot":   take("a", "thing:jar"),
		"there is no world.Thing thing:none": take("new", "thing:none"),
		"it needs gone, which is not there":  take("late", "thing:jar"),
	} {
		b.put("Thing", "jar", reconcile.Mark{})
		more := graph(append(slices.Clone(g.Resources), res("new", m{}), res("gone", m{"name": "gone"}), res("late", m{"after": "⟦gone.id⟧"}))...)
		p, err := b.e.Plan(t.Context(), more, o)
		text := fmt.Sprint(err)
		if p != nil {
			text += reasons(p)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

func TestScan(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "a"}), res("b", m{"name": "known"}), kind("Same", res("s", m{"name": "page"})), kind("Note", res("n", m{"text": "x"})))
	b.deploy(graph(g.Resources[1]))
	b.put("Thing", "a", reconcile.Mark{})
	b.put("Thing", "free", reconcile.Mark{}).Color = "red"
	b.put("Thing", "theirs", theirs)
	b.put("Thing", "kept", retained)
	b.put("Thing", "lost", b.ours("lost", 2))
	b.put("Same", "page", reconcile.Mark{})
	b.put("Bulk", "elsewhere", reconcile.Mark{})
	b.world.takeLog()
	s, err := b.e.Scan(t.Context(), g, engine.ScanOptions{Describe: []string{"thing:free"}})
	if err != nil {
		t.Fatal(err)
	}
	if have, want := standings(s.Things), "a:adoptable=a! free:adoptable kept:retained=a lost:ours=lost page:ours=s! theirs:foreign=x"; have != want {
		t.Errorf("%s\nwant %s", have, want)
	}
	if log := b.world.takeLog(); len(log) > 0 {
		t.Errorf("a scan wrote %v", log)
	}
	free := s.Things[slices.IndexFunc(s.Things, func(t engine.Thing) bool { return t.Name == "free" })]
	if fmt.Sprint(free.Props) != "map[color:red name:free]" || len(free.Missing) > 0 || free.Assigned {
		t.Errorf("%v %v", free.Props, free.Missing)
	}
	// What was read back is a declaration whose plan shows nothing but the owner tag.
	b.opts.Adopt = true
	p := b.plan(graph(g.Resources[1], engine.Resource{Address: "free", Kind: "world.Thing", Props: free.Props}))
	if !strings.Contains(actions(p), "free:adopt") || strings.Contains(strings.ReplaceAll(reasons(p), "free.tags[", ""), "free.") {
		t.Errorf("%s %s", actions(p), reasons(p))
	}
	// Kinds that are not in use are looked for by name, in the default place.
	s, err = b.e.Scan(t.Context(), graph(), engine.ScanOptions{Kinds: []string{"world.Bulk"}})
	if err != nil || !strings.Contains(standings(s.Things), "elsewhere:adoptable") {
		t.Errorf("%v %v", err, s)
	}
	if _, err := b.e.Scan(t.Context(), graph(), engine.ScanOptions{Kinds: []string{"world.Bulky"}}); err == nil || len(reconcile.Hints(err)) == 0 {
		t.Errorf("%v", err)
	}
}

func TestOrphans(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "a"}), res("lost", m{"name": "lost"}))
	b.deploy(graph(g.Resources[0]))
	b.put("Thing", "lost", b.ours("lost", 1))   // declared: the next deploy takes it up
	b.put("Thing", "old", b.ours("old", 3))     // no longer declared, and its row is lost
	b.put("Bulk", "twin", b.ours("a", 1))       // the row of a knows another
	b.put("Thing", "full", b.ours("full", 1))   // holds data
	b.put("Thing", "kept", retained)            // retained on purpose
	b.put("Thing", "store", stranger)           // the same stage, another store
	b.put("Thing", "theirs", theirs)            // somebody else's
	b.put("Thing", "nobodys", reconcile.Mark{}) // nobody's
	b.world.things["full"].Data = 1
	b.world.things["store"].Tags[adopt.TagAddress] = "away"
	b.world.reads = 0
	orphans := func(g *engine.Graph) (*engine.Orphans, error) {
		t.Helper()
		o, err := b.e.PlanOrphans(t.Context(), testStage, g, b.opts)
		if o == nil {
			t.Fatal(err)
		}
		return o, err
	}
	o, err := orphans(g)
	want := "full:ours=full kept:retained=a lost:ours=lost! old:ours=old store:ours=away twin:ours=a"
	if have := standings(o.Things); have != want {
		t.Fatalf("%s\nwant %s", have, want)
	}
	if !errors.Is(err, reconcile.ErrHoldsData) || !errors.Is(err, engine.ErrOtherStore) {
		t.Errorf("%v", err)
	}
	if most := len(o.Things)*2 + 4; b.world.reads > most {
		t.Errorf("%d reads for %d things", b.world.reads, len(o.Things))
	}
	if _, err := b.e.Apply(t.Context(), o.Plan, engine.ApplyOptions{Command: "orphans"}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("applied: %v", err)
	}
	b.opts.TakeOver, b.opts.AllowDelete = true, []string{"full"}
	if o, err = orphans(g); err != nil || actions(o.Plan) != "a:delete away:delete full:delete old:delete" {
		t.Fatalf("%v %s", err, actions(o.Plan))
	}
	r, err := b.e.Apply(t.Context(), o.Plan, engine.ApplyOptions{PlanOptions: b.opts, Command: "orphans"})
	if err != nil || len(r.Failures) > 0 || r.Summary.Deleted != 4 {
		t.Fatalf("%v %s %+v", err, failures(r), r.Summary)
	}
	if have := strings.Join(b.world.names(), " "); have != "a kept lost nobodys theirs" {
		t.Errorf("left: %s", have)
	}
	if row := b.row("a"); len(row.Generations) != 1 || row.Generations[0].Identity != "thing:a" {
		t.Errorf("%+v", row)
	}
	if runs, err := b.store.Runs(t.Context(), testStage, 1); err != nil || runs[0].Command != "orphans" {
		t.Errorf("%v %v", runs, err)
	}
	b.opts = engine.PlanOptions{}
	if r := b.deploy(g); r.Summary.Recovered != 1 || r.Summary.Created > 0 {
		t.Errorf("%+v", r.Summary)
	}
	b.settled(g)
	// Without state and program it is looked for where the credentials lead by themselves.
	b.lose()
	o, _ = orphans(nil)
	if have := standings(o.Things); have != "a:ours=a kept:retained=a lost:ours=lost" || len(o.Places) != 1 {
		t.Errorf("%s in %v", have, o.Places)
	}
}

// TestOrphansOfWhatIsProtected: what the row of the address forbids holds for its twins.
func TestOrphansOfWhatIsProtected(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "a"}, func(o *engine.Options) { o.Protect = true }))
	b.deploy(g)
	b.put("Bulk", "twin", b.ours("a", 1))
	o, err := b.e.PlanOrphans(t.Context(), testStage, g, b.opts)
	if !errors.Is(err, engine.ErrProtected) || len(o.Things) != 1 || b.world.things["twin"] == nil {
		t.Fatalf("%v %+v", err, o)
	}
}
