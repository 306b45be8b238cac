package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func (b *bench) export(reveal bool) (*engine.Export, string) {
	b.t.Helper()
	doc, err := b.e.Export(b.t.Context(), testStage, reveal)
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		b.t.Fatal(err)
	}
	again, err := engine.ReadExport(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return again, string(data)
}

func (b *bench) planImport(doc *engine.Export, serial *uint64) (*engine.Plan, error) {
	return b.e.PlanImport(b.t.Context(), testStage, doc, serial)
}

// half deploys a stack with every state that a row may be in: live, condemned, a creation that was begun.
func (b *bench) half() *engine.Graph {
	b.t.Helper()
	b.t.Setenv("PW", "s3cr3t-of-the-shop")
	g := graph(
		res("a", m{"shape": "round", "tokens": "⟦secret:pw⟧"}), res("b", m{"after": "⟦a.id⟧"}),
		kind("Note", res("note", m{"text": "x"})), kind("Assigned", res("own", m{})), res("begun", m{"name": "begun"}),
	)
	g.Secrets = map[string]engine.SecretSource{"pw": {Env: "PW"}}
	g.Outputs, g.Dir = m{"id": "⟦a.id⟧", "pw": "⟦secret:pw⟧"}, "/work/shop"
	b.e.Root = "/work"
	b.world.fail["create begun"] = errDenied
	b.deploy(g)
	g.Resources[0].Props["shape"] = "square"
	for name := range b.world.things {
		b.world.fail["delete "+name] = errDenied
	}
	b.deploy(g)
	clear(b.world.fail)
	return g
}

// TestRoundTrip: a stage passes to another store and back, byte for byte, and the deploy goes on as if nothing had happened.
func TestRoundTrip(t *testing.T) {
	b := newBench(t)
	g := b.half()
	first, text := b.export(false)
	if strings.Contains(text, "s3cr3t") || !strings.Contains(text, string(statestore.Condemned)) || !strings.Contains(text, `"intent":true`) {
		t.Fatalf("export: %s", text)
	}
	if _, open := b.export(true); !strings.Contains(open, "s3cr3t-of-the-shop") || strings.Contains(open, "sealed") {
		t.Errorf("revealed: %s", open)
	}

	from := b.store
	b.store = mem.New()
	b.e.Store = b.store
	p, err := b.planImport(first, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := b.do(p); r.Summary.Recovered != len(first.Rows) || r.Calls != (engine.Calls{}) {
		t.Errorf("%+v %+v", r.Summary, r.Calls)
	}
	second, _ := b.export(false)
	second.From = first.From
	again, err := json.Marshal(second)
	if err != nil || string(again) != text {
		t.Errorf("the copy differs:\n%s\n%s", again, text)
	}
	if dir, err := b.e.StackDir(t.Context(), testStage); err != nil || dir != "/work/shop" {
		t.Errorf("the directory: %q %v", dir, err)
	}
	if c, err := b.e.Check(t.Context(), testStage); err != nil || len(c.Findings) > 0 || c.Rows != len(first.Rows) {
		t.Errorf("check: %+v %v", c, err)
	}
	b.deploy(g)
	b.settled(g)
	for _, th := range b.world.things {
		if id, err := b.store.ID(t.Context()); err != nil || adopt.MarkOf(th.Tags).Store != id {
			t.Errorf("%s is marked by %s", th.Name, adopt.MarkOf(th.Tags).Store)
		}
	}
	if snap, err := from.Load(t.Context(), testStage); err != nil || len(snap.Rows) != len(first.Rows) {
		t.Errorf("the first store: %v", err)
	}
}

// TestImportReplacesOneVersion: what is there is replaced whole, and only the version that was meant.
func TestImportReplacesOneVersion(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"}), res("b", m{})))
	doc, _ := b.export(false)
	p, err := b.planImport(doc, nil)
	if err != nil || p.Pending() || b.do(p).Run != "" {
		t.Errorf("the same record: %v %s", err, actions(p))
	}
	b.deploy(graph(res("a", m{"color": "blue"}), res("c", m{})))
	_, err = b.planImport(doc, nil)
	moved, ok := errors.AsType[*engine.SerialError](err)
	if !ok || !errors.Is(err, engine.ErrSerial) || moved.Want != doc.From.Serial || moved.Have <= moved.Want || moved.Elsewhere {
		t.Fatalf("%v", err)
	}
	if _, err := b.planImport(doc, new(moved.Have+1)); !errors.Is(err, engine.ErrSerial) {
		t.Errorf("another serial: %v", err)
	}
	other := *doc
	other.From.Store = "elsewhere"
	if _, err := b.planImport(&other, nil); !strings.Contains(err.Error(), "of another store") || !strings.Contains(strings.Join(reconcile.Hints(err), ""), "--serial") {
		t.Errorf("another store: %v", err)
	}
	if p, err = b.planImport(doc, &moved.Have); err != nil || actions(p) != "a:update b:recover c:forget" {
		t.Fatalf("%v %s", err, actions(p))
	}
	b.deploy(graph(res("a", m{"color": "black"}), res("c", m{})))
	if _, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "state"}); !errors.Is(err, engine.ErrSerial) {
		t.Errorf("it moved before the lease was there: %v", err)
	}
	snap, err := b.store.Load(t.Context(), testStage)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = b.planImport(doc, &snap.Serial); err != nil {
		t.Fatal(err)
	}
	b.do(p)
	if b.rows() != "a b" {
		t.Errorf("rows %s", b.rows())
	}
}

// TestImportVerifiesEverything: nothing is written of a document that cannot be read back whole.
func TestImportVerifiesEverything(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"}), res("b", m{})))
	whole, text := b.export(false)
	b.lose()
	for _, c := range []struct {
		name, want string
		change     func(*engine.Export)
	}{
		{"another stage", "the document is of shop/prod, not of shop/test", func(d *engine.Export) { d.Stage = "prod" }},
		{"another key", "the stage key 00 is needed", func(d *engine.Export) { d.Key = "00" }},
		{"a problem", "a: it could not be read when it was exported: torn", func(d *engine.Export) { d.Rows[0].Problem = "torn" }},
		{"twice", "a: the document has it twice", func(d *engine.Export) { d.Rows[1] = d.Rows[0] }},
		{"two owners", "already belongs to a", func(d *engine.Export) { d.Rows[1].Generations[0].Identity = d.Rows[0].Generations[0].Identity }},
		{"two live", "more than one live", func(d *engine.Export) {
			g := d.Rows[0].Generations[0]
			g.Number++
			d.Rows[0].Generations = append(d.Rows[0].Generations, g)
		}},
		{"a bad state", "unknown state", func(d *engine.Export) { d.Rows[0].Generations[0].State = "undead" }},
		{"a bad address", "bad address", func(d *engine.Export) { d.Rows[0].Address = "" }},
		{"about nothing", "a: it is about nothing", func(d *engine.Export) { d.Rows[0].Generations = nil }},
		{"another row's body", "a: sealed bytes do not open", func(d *engine.Export) { d.Rows[0].Body = d.Rows[1].Body }},
		{"no body", "a: sealed bytes do not open", func(d *engine.Export) { d.Rows[0].Body = nil }},
		{"both", "a: it is both sealed and open", func(d *engine.Export) { d.Rows[0].Body.Open = json.RawMessage(`{}`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := engine.ReadExport([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			c.change(doc)
			if _, err := b.planImport(doc, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if snap, err := b.store.Load(t.Context(), testStage); err != nil || snap.Serial != 0 {
		t.Errorf("something was written: %v", err)
	}
	for _, text := range []string{"{}", text + "x", strings.Replace(text, `"format":1`, `"format":2`, 1), strings.Replace(text, `"rows"`, `"rowz"`, 1)} {
		if _, err := engine.ReadExport([]byte(text)); err == nil {
			t.Errorf("read: %.60s", text)
		}
	}
	if _, err := b.planImport(whole, nil); err != nil {
		t.Errorf("the document itself: %v", err)
	}
}

// TestRevealedDocumentPassesToAnotherKey: what is open is sealed with the key at hand.
func TestRevealedDocumentPassesToAnotherKey(t *testing.T) {
	b := newBench(t)
	g := b.half()
	doc, _ := b.export(true)
	b.lose()
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	b.e.Key = key
	p, err := b.planImport(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.do(p)
	if values, secret, err := b.e.Outputs(t.Context(), testStage); err != nil || values["pw"] != "s3cr3t-of-the-shop" || !secret["pw"] {
		t.Errorf("outputs %v %v %v", values, secret, err)
	}
	b.deploy(g)
	b.settled(g)
}

// TestCheckNamesWhatIsWrong: each damaged row with what it is about, and the stage-wide facts.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.half()
	b.spoil("own")
	b.edit(func(snap *statestore.Snapshot) statestore.Change {
		return statestore.Change{Outputs: []byte("x"), Meta: map[string][]byte{"dir": []byte("x")}}
	})
	c, err := b.e.Check(t.Context(), testStage)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, f := range c.Findings {
		said = append(said, f.Err.Error())
	}
	all := strings.Join(said, "\n")
	if len(c.Findings) != 3 || c.Findings[0].Address != "own" || len(c.Findings[0].Identities) != 1 || !strings.Contains(all, "its outputs") || !strings.Contains(all, "the fact dir") {
		t.Errorf("%s: %+v", all, c.Findings)
	}
}
