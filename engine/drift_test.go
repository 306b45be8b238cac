package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// drift plans drift. g may be nil: by the record alone.
func (b *bench) drift(g *engine.Graph) *engine.Plan {
	b.t.Helper()
	p, err := b.e.PlanDrift(b.t.Context(), testStage, g, b.opts)
	if err != nil {
		b.t.Fatalf("drift: %v", err)
	}
	return p
}

// repair applies what drift planned.
func (b *bench) repair(p *engine.Plan) *engine.Result {
	b.t.Helper()
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "drift"})
	if err != nil {
		b.t.Fatalf("repair: %v", err)
	}
	return r
}

// left is what a drift plan leaves, in one line.
func left(p *engine.Plan) string {
	var all []string
	for _, l := range p.Left {
		line := l.Address + ": " + l.Why
		for _, r := range l.Reasons {
			line += fmt.Sprintf(" [%s %v→%v %s]", r.Path, r.Have, r.Want, r.Source)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

// undrifted checks that there is no drift, by the program and by the record alone.
func (b *bench) undrifted(g *engine.Graph) {
	b.t.Helper()
	for _, with := range []*engine.Graph{g, nil} {
		if p := b.drift(with); p.Drifted() || p.Pending() {
			b.t.Errorf("drift with program %t: %s: %s", with != nil, actions(p), reasons(p))
		}
	}
}

func TestDriftIsSeenAndRepaired(t *testing.T) {
	for _, program := range []bool{true, false} {
		b := newBench(t)
		g := graph(res("a", m{"color": "red", "shape": "round"}), res("b", m{"after": "⟦a.id⟧"}))
		g.Outputs = m{"id": "⟦a.id⟧"}
		b.deploy(g)
		b.undrifted(g)
		with := g
		if !program {
			with = nil
		}
		b.world.of("a")[0].Color = "green"
		b.world.takeLog()
		p := b.drift(with)
		if got := actions(p); got != "a:update b:unchanged" || !p.Drift || !p.Drifted() || len(p.Left) > 0 {
			t.Fatalf("program %t: %s, left %s", program, got, left(p))
		}
		if r := p.Actions[0].Reasons[0]; len(p.Actions[0].Reasons) != 1 || r.Path != "color" || r.Have != "green" || r.Want != "red" || r.Source != engine.ByWorld {
			t.Errorf("%+v", r)
		}
		if len(b.world.log) > 0 {
			t.Errorf("a drift plan wrote %v", b.world.log)
		}
		if r := b.repair(p); r.Summary.Updated != 1 || b.world.of("a")[0].Color != "red" {
			t.Errorf("%+v %s", r.Summary, failures(r))
		}
		if log := b.world.takeLog(); len(log) != 1 {
			t.Errorf("a repair wrote %v", log)
		}
		b.undrifted(g)
		b.settled(g)
		runs, err := b.store.Runs(t.Context(), testStage, 1)
		if err != nil || len(runs) != 1 || runs[0].Command != "drift" {
			t.Errorf("%+v %v", runs, err)
		}
	}
}

// An object that vanished is made again, and what refers to it follows: at once by the program, and with the next
// deploy when state alone was at hand.
func TestDriftOfAVanishedObject(t *testing.T) {
	for _, program := range []bool{true, false} {
		b := newBench(t)
		a := engine.Resource{Address: "a", Kind: "world.Assigned", Props: m{"color": "red"}}
		g := graph(a, res("b", m{"after": "⟦a.id⟧"}))
		g.Outputs = m{"id": "⟦a.id⟧"}
		b.deploy(g)
		old := b.world.of("a")[0].Name
		delete(b.world.things, old)
		with := g
		if !program {
			with = nil
		}
		p := b.drift(with)
		if p.Actions[0].Action != engine.Create || p.Actions[0].Reasons[0].Source != engine.ByWorld || !strings.Contains(p.Actions[0].Notes[0], "it was deleted outside") {
			t.Fatalf("%+v", p.Actions[0])
		}
		if program == (len(p.Warnings) > 0) {
			t.Errorf("program %t: %v", program, p.Warnings)
		}
		if r := b.repair(p); len(r.Failures) > 0 || len(b.world.of("a")) != 1 || b.world.of("a")[0].Color != "red" {
			t.Fatalf("%s", failures(r))
		}
		id := "thing:" + b.world.of("a")[0].Name
		out, _, err := b.e.Outputs(t.Context(), testStage)
		if followed := b.world.of("b")[0].After == id && out["id"] == id; err != nil || followed != program {
			t.Errorf("program %t: b is after %s, and a is %s; output %v", program, b.world.of("b")[0].After, id, out)
		}
		if !program {
			if r := b.deploy(g); len(r.Failures) > 0 || b.world.of("b")[0].After != id {
				t.Errorf("the next deploy: %s", failures(r))
			}
		}
		b.undrifted(g)
		b.settled(g)
	}
}

// What the program changed is left: also where the world changed it too, and where it took the world's change over.
func TestDriftLeavesWhatTheProgramChanged(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(
		res("both", m{"color": "red", "peer": "p"}), res("program", m{"color": "red"}), res("taken", m{"color": "red"}),
		res("gone", m{"color": "red"}), res("old", m{"color": "red"}), res("kind", m{"color": "red"}),
	))
	for _, th := range b.world.things {
		if th.Tags["athanor:id"] != "program" {
			th.Color = "hand"
		}
	}
	b.world.of("both")[0].Peer = "hand"
	kind := engine.Resource{Address: "kind", Kind: "world.Bare", Props: m{"color": "red"}}
	g := graph(
		res("both", m{"color": "blue", "peer": "p"}), res("program", m{"color": "blue"}), res("taken", m{"color": "hand"}), kind,
		res("new", m{}), res("new-name", m{"color": "red"}, func(o *engine.Options) { o.RenamedFrom = []string{"old"} }),
	)
	p := b.drift(g)
	if got := actions(p); got != "both:update gone:update kind:update old:update program:unchanged taken:unchanged" {
		t.Fatalf("%s: %s", got, reasons(p))
	}
	const want = "both: the program changed it [color red→blue program] [color hand→red world]; gone: the program no longer declares it; " +
		"kind: the program makes it world.Bare; new: the program declares it since; old: the program calls it new-name; " +
		"program: the program changed it [color red→blue program]; taken: the program changed it [color red→hand program]"
	if got := left(p); got != want {
		t.Errorf("left\n%s\nwant\n%s", got, want)
	}
	b.repair(p)
	if th := b.world.of("both")[0]; th.Color != "hand" || th.Peer != "p" {
		t.Errorf("both: %+v", th)
	}
	for addr, color := range map[string]string{"program": "red", "taken": "hand", "gone": "red", "old": "red", "kind": "red"} {
		if th := b.world.of(addr); len(th) != 1 || th[0].Color != color {
			t.Errorf("%s: %+v, want %s", addr, th, color)
		}
	}
	if p := b.drift(g); p.Pending() || !p.Drifted() || left(p) != want {
		t.Errorf("after the repair: %s, left %s", actions(p), left(p))
	}
	if r := b.deploy(g); len(r.Failures) > 0 {
		t.Fatal(failures(r))
	}
	b.undrifted(g)
	b.settled(g)
}

// A fixed path that the world changed is repaired by a replacement, and left where that would lose what must not be
// lost. Everything else is repaired all the same.
func TestDriftAtAFixedPath(t *testing.T) {
	b := newBench(t)
	g := graph(
		res("free", m{"shape": "round"}), res("full", m{"shape": "round"}),
		res("kept", m{"shape": "round"}, func(o *engine.Options) { o.Protect = true }), res("behind", m{"after": "⟦kept.id⟧", "color": "red"}),
	)
	b.deploy(g)
	for _, addr := range []string{"free", "full", "kept"} {
		b.world.of(addr)[0].Shape = "bent"
	}
	b.world.of("full")[0].Data = 1
	b.world.of("behind")[0].Color = "hand"
	p := b.drift(g)
	if got := actions(p); got != "behind:update free:replace full:blocked kept:blocked" || !p.Drifted() {
		t.Fatalf("%s", got)
	}
	for _, a := range p.Actions[2:] {
		if len(a.Reasons) == 0 || a.Problem == "" || a.Hint == "" {
			t.Errorf("%+v", a)
		}
	}
	r := b.repair(p)
	if r.Summary.Replaced != 1 || r.Summary.Updated != 1 || r.Summary.Blocked != 2 || len(b.world.of("free")) != 1 || b.world.of("free")[0].Shape != "round" {
		t.Fatalf("%+v %s", r.Summary, failures(r))
	}
	if b.world.of("full")[0].Shape != "bent" || b.world.of("kept")[0].Shape != "bent" {
		t.Error("what must not be lost was")
	}
	if p := b.drift(g); p.Pending() || !p.Drifted() {
		t.Errorf("what could not be repaired is no drift any more: %s", actions(p))
	}
}

// What cannot be looked at is an error of its own and no drift, and hides no other.
func TestDriftThatCannotBeSeen(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "a"}), res("b", m{"after": "⟦a.id⟧", "color": "red"}))
	b.deploy(g)
	b.world.fail["observe a"] = errDenied
	if p := b.drift(g); actions(p) != "a:blocked b:unchanged" || p.Drifted() {
		t.Errorf("%s", actions(p))
	}
	b.world.of("b")[0].Color = "hand"
	if p := b.drift(g); actions(p) != "a:blocked b:update" || !p.Drifted() {
		t.Errorf("%s", actions(p))
	}
}

// TestDriftKeepsTheState: a repair mends the object alone; options, needs, opened cycles and outputs stay as deployed.
func TestDriftKeepsTheState(t *testing.T) {
	for _, program := range []bool{true, false} {
		b := newBench(t)
		g := graph(
			res("a", m{"peer": "⟦b.id⟧", "color": "red"}, func(o *engine.Options) { o.IgnoreChanges = []tree.Path{"tokens"} }),
			res("b", m{"peer": "⟦a.id⟧", "color": "red"}), res("c", m{"after": "⟦b.id⟧", "color": "red"}, func(o *engine.Options) { o.DependsOn = []string{"a"} }),
		)
		g.Outputs = m{"a": "⟦a.id⟧", "text": "x"}
		b.deploy(g)
		before := []engine.RowView{b.row("a"), b.row("b"), b.row("c")}
		with := g
		if !program {
			with = nil
		}
		for _, th := range b.world.things {
			th.Color, th.Secret = "hand", "theirs"
		}
		p := b.drift(with)
		if actions(p) != "a:update b:update c:update" || len(p.Actions[0].Reasons) != 1 {
			t.Fatalf("%s %s", actions(p), reasons(p))
		}
		if r := b.repair(p); r.Summary.Updated != 3 || b.world.of("a")[0].Secret != "theirs" || b.world.of("b")[0].Secret != "" {
			t.Fatalf("%+v %s", r.Summary, failures(r))
		}
		for i, addr := range []string{"a", "b", "c"} {
			was, is := before[i], b.row(addr)
			for j := range is.Generations {
				was.Generations[j].Written = is.Generations[j].Written
			}
			if fmt.Sprintf("%+v", was) != fmt.Sprintf("%+v", is) {
				t.Errorf("program %t: %s was\n%+v\nand is\n%+v", program, addr, was, is)
			}
		}
		if out, _, err := b.e.Outputs(t.Context(), testStage); err != nil || len(out) != 2 {
			t.Errorf("outputs %v %v", out, err)
		}
		b.undrifted(g)
		b.settled(g)
		if r := b.destroy(); r.Summary.Deleted != 3 || len(b.world.things) > 0 { // the cycle can still be opened
			t.Errorf("%+v %s", r.Summary, failures(r))
		}
	}
}

// What an interrupted deploy began is the next one's: it is neither drift nor taken away.
func TestDriftLeavesWhatWasInterrupted(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"name": "a"}), res("b", m{"shape": "1"}), res("c", m{"color": "red"}))
	b.deploy(g)
	g.Resources[1].Props["shape"] = "2"
	g.Resources = append(g.Resources, res("d", m{"name": "d"}))
	b.world.fail["create d"] = errDenied
	b.world.cut = func(point string) error {
		if strings.HasPrefix(point, "after create") {
			return errDenied
		}
		return nil
	}
	b.deploy(g)
	b.world.cut, b.world.fail = nil, map[string]error{}
	b.world.of("c")[0].Color = "hand"
	p := b.drift(g)
	if got := left(p); actions(p) != "a:unchanged c:update" || !strings.Contains(got, "b: its replacement was interrupted") || !strings.Contains(got, "d: its creation was interrupted") {
		t.Fatalf("%s, left %s", actions(p), got)
	}
	things := len(b.world.things)
	if r := b.repair(p); r.Summary.Updated != 1 || len(b.world.things) != things {
		t.Errorf("%+v %v", r.Summary, b.world.names())
	}
	if r := b.deploy(g); len(r.Failures) > 0 || b.world.of("b")[0].Shape != "2" {
		t.Errorf("%s %v", failures(r), b.world.names())
	}
	b.settled(g)
}

// TestDriftNamesACutUndo: an undo that failed after it had acted is named as one, until the command runs again.
func TestDriftNamesACutUndo(t *testing.T) {
	b := newBench(t)
	g := graph(engine.Resource{Address: "k", Kind: "world.Run", Props: m{"text": "one"}})
	b.deploy(g)
	fails := func(point string) {
		b.world.cut = func(at string) error {
			if at == point {
				return errDenied
			}
			return nil
		}
	}
	fails("after undo one")
	b.destroy()
	if got := left(b.drift(g)); got != "k: its undo was interrupted" {
		t.Errorf("left %q", got)
	}
	fails("after run one")
	b.deploy(g)
	if got := left(b.drift(g)); got != "k: its creation was interrupted" {
		t.Errorf("left %q after a run", got)
	}
	b.world.cut = nil
	b.deploy(g)
	b.settled(g)
}

// A row that `state mv` moved half way is the move's: its owner tags are no drift.
func TestDriftLeavesAHalfMove(t *testing.T) {
	s := moveStories()[0]
	half := 0
	for at := range s.cut(t, -1, func(*bench) {}) {
		s.cut(t, at, func(b *bench) {
			p := b.drift(nil)
			if p.Drifted() {
				t.Errorf("cut at %d: %s: %s", at, actions(p), reasons(p))
			}
			if strings.Contains(left(p), "its move from") {
				half++
			}
		})
	}
	if half == 0 {
		t.Error("no cut left a half move")
	}
}

// A secret that drifted is seen and repaired, and shown nowhere; it need not be at hand.
func TestDriftOfASecret(t *testing.T) {
	b := newBench(t)
	t.Setenv("DRIFT_PW", "hush-hush")
	g := graph(res("a", m{"color": "⟦secret:pw⟧", "tokens": "typed-secret"}))
	g.Secrets = map[string]engine.SecretSource{"pw": {Env: "DRIFT_PW"}}
	b.deploy(g)
	if b.world.of("a")[0].Color != "hush-hush" {
		t.Fatalf("%+v", b.world.of("a")[0])
	}
	th := b.world.of("a")[0]
	th.Color, th.Secret = "leaked-by-hand", "typed-by-hand"
	t.Setenv("DRIFT_PW", "rotated-one")
	g.Resources[0].Props["tokens"] = "typed-anew"
	b.e = &engine.Engine{Catalog: b.e.Catalog, Store: b.store, Key: b.e.Key} // one that has met no secret yet
	p := b.drift(g)
	for _, secret := range []string{"hush-hush", "rotated-one", "typed-secret", "typed-anew", "leaked-by-hand", "typed-by-hand"} {
		if text := fmt.Sprintf("%+v %s", p.Actions, left(p)); strings.Contains(text, secret) {
			t.Errorf("%s is in the plan: %s", secret, text)
		}
	}
	if len(p.Left) != 1 || len(p.Left[0].Reasons) != 4 || p.Pending() || !p.Drifted() {
		t.Errorf("rotated: %s, %s", left(p), actions(p))
	}
	for _, with := range []*engine.Graph{nil, {Format: engine.GraphFormat, Stack: "shop", Stage: "test", Resources: []engine.Resource{
		res("a", m{"color": "⟦secret:pw⟧", "tokens": "typed-secret"}),
	}, Secrets: map[string]engine.SecretSource{"pw": {Env: "DRIFT_NOT_SET"}}}} {
		th.Color, th.Secret = "leaked-by-hand", "typed-by-hand"
		p := b.drift(with)
		if len(p.Left) > 0 || actions(p) != "a:update" || len(p.Actions[0].Reasons) != 2 || strings.Contains(fmt.Sprint(p.Actions), "hush") {
			t.Fatalf("%s %s, left %s", actions(p), reasons(p), left(p))
		}
		if b.repair(p); th.Color != "hush-hush" || th.Secret != "typed-secret" {
			t.Errorf("%+v", th)
		}
	}
}

// TestDriftTakesValuesLiterally: what stands in state is a value, also where it looks like a reference.
func TestDriftTakesValuesLiterally(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	b.world.of("a")[0].Color = "⟦nobody.id⟧" // a live value with the brackets in it becomes another's prop
	g := graph(res("a", m{"color": "red"}, func(o *engine.Options) { o.IgnoreChanges = []tree.Path{"color"} }), res("b", m{"after": "⟦a.color⟧", "color": "blue"}))
	b.deploy(g)
	b.world.of("b")[0].Color = "hand"
	for _, with := range []*engine.Graph{nil, g} {
		if p := b.drift(with); actions(p) != "a:unchanged b:update" {
			t.Errorf("%s", actions(p))
		}
	}
	if b.repair(b.drift(nil)); b.world.of("b")[0].Color != "blue" || b.world.of("b")[0].After != "⟦nobody.id⟧" {
		t.Errorf("%+v", b.world.of("b")[0])
	}
	b.settled(g)
}

func TestDriftWithoutState(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{}))
	if _, err := b.e.PlanDrift(t.Context(), testStage, g, b.opts); !errors.Is(err, engine.ErrNothingKnown) {
		t.Errorf("never deployed: %v", err)
	}
	b.deploy(g)
	b.destroy()
	if p := b.drift(g); p.Drifted() || len(p.Actions) > 0 || left(p) != "a: the program declares it since" {
		t.Errorf("destroyed: %s, left %s", actions(p), left(p))
	}
}

// Somebody else's deploy between looking and repairing makes the plan anew.
func TestDriftIsPlannedAgainWhenTheRecordMoved(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), res("b", m{"color": "red"}))
	b.deploy(g)
	b.world.of("a")[0].Color = "hand"
	p := b.drift(g)
	g.Resources[1].Props["color"] = "blue"
	b.deploy(g)
	b.world.of("a")[0].Color, b.world.of("b")[0].Color = "hand", "hand"
	if _, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "drift"}); !errors.Is(err, engine.ErrNotApproved) {
		t.Errorf("another plan was not asked for: %v", err)
	}
	_, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "drift", Approve: func(again *engine.Plan) bool {
		return again.Drift && actions(again) == "a:update b:update"
	}})
	if err != nil || b.world.of("a")[0].Color != "red" || b.world.of("b")[0].Color != "blue" {
		t.Errorf("%v %+v", err, b.world.names())
	}
}

// builtBench has a kind whose color is what was built of its source.
func builtBench(t *testing.T) (b *bench, source *string) {
	b, source = newBench(t), new(string)
	*source = "one"
	k := b.world.kindOf(sort{name: "Built", prepare: func(thingProps) (string, error) { return *source, nil }})
	compare, create := k.Compare, k.Create
	k.Compare = func(d *reconcile.Diff[thing], want thingProps, live thing) {
		asset, _ := d.Asset("code")
		want.Color = asset.Digest
		compare(d, want, live)
	}
	k.Create = func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) (thingAttrs, error) {
		s.Want.Color = s.Assets["code"].Digest
		return create(ctx, s)
	}
	provider := b.world.provider()
	provider.Kinds = append(provider.Kinds, reconciletest.Erase(k))
	catalog, err := reconcile.NewCatalog(provider)
	if err != nil {
		t.Fatal(err)
	}
	b.e.Catalog = catalog
	return b, source
}

// What is built anew was changed by its author, not by the world.
func TestWhatIsBuiltAnewIsNoDrift(t *testing.T) {
	b, source := builtBench(t)
	g := graph(engine.Resource{Address: "a", Kind: "world.Built", Props: m{"peer": "p"}})
	b.deploy(g)
	th := b.world.of("a")[0]
	*source = "two"
	if p := b.plan(g); actions(p) != "a:update" || p.Actions[0].Reasons[0].Source != engine.ByProgram {
		t.Errorf("plan: %s %s", actions(p), reasons(p))
	}
	if p := b.drift(g); p.Drifted() || left(p) != "a: what it is made of changed [color one→two program]" {
		t.Errorf("%s, left %s", actions(p), left(p))
	}
	th.Peer, th.Color = "hand", "hand"
	if b.repair(b.drift(g)); th.Peer != "p" || th.Color != "hand" {
		t.Errorf("%+v", th)
	}
	delete(b.world.things, th.Name)
	if p := b.drift(g); actions(p) != "a:blocked" || !p.Drifted() || !strings.Contains(p.Actions[0].Problem, "created from changed") {
		t.Errorf("gone: %+v", p.Actions)
	}
	b.deploy(g)
	*source = "three"
	b.deploy(g)
	b.world.of("a")[0].Color = "hand"
	if b.repair(b.drift(g)); b.world.of("a")[0].Color != "three" {
		t.Errorf("%+v", b.world.of("a")[0])
	}
	b.settled(g)
}

// Within the visibility bound a plan believes a value that was set outside at once. It reads again only when it finds a value
// that athanor has replaced, since reading may still show that.
func TestOnlyReplacedValuesMayBeOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var told []engine.Event
		b.e.Events = func(e engine.Event) { told = append(told, e) }
		late := func(color string) *engine.Graph { return graph(kind("Late", res("a", m{"color": color}))) }
		set := func(color string) {
			b.world.mu.Lock()
			defer b.world.mu.Unlock()
			b.world.of("a")[0].Color = color
		}
		b.deploy(late("red"))
		for i, outside := range []string{"hand", "blue"} {
			set(outside)
			told = nil
			began := time.Now()
			if p := b.plan(late("red")); actions(p) != "a:update" || time.Since(began) > 0 || len(told) > 0 {
				t.Fatalf("%d: %s after %s; told %v", i, actions(p), time.Since(began), told)
			}
		}
		set("red")
		b.deploy(late("green"))
		set("red") // as a read would show it that is behind
		go func() { time.Sleep(3 * time.Second); set("green") }()
		told = nil
		began := time.Now()
		if p := b.plan(late("green")); actions(p) != "a:unchanged" || time.Since(began) < 3*time.Second {
			t.Errorf("%s after %s", actions(p), time.Since(began))
		}
		if len(told) != 1 || told[0].Type != engine.EventProgress || !strings.Contains(told[0].Note, "before the last run") {
			t.Errorf("told %v", told)
		}
		set("red") // by somebody, for good: it is believed when the bound has passed
		if p := b.plan(late("green")); actions(p) != "a:update" || time.Since(began) > 11*time.Second {
			t.Errorf("%s after %s", actions(p), time.Since(began))
		}
	})
}
