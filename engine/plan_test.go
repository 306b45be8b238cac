package engine_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
)

func TestPlanWritesNothing(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "state.db")
	store, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b.store, b.e.Store = store, store
	g := graph(res("a", m{"color": "red"}), res("b", m{"base": "⟦a.id⟧"}), res("c", m{}))
	g.Outputs = m{"id": "⟦a.id⟧"}
	b.plan(g)
	b.deploy(g)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b.world.takeLog()
	g.Resources = append(g.Resources[:2:2], res("d", m{"shape": "x"}))
	g.Resources[0] = res("a", m{"color": "blue", "shape": "flat"})
	p := b.plan(g)
	if _, err := b.e.PlanDestroy(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, b.opts); err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(path)
	if !bytes.Equal(before, after) || len(b.world.log) > 0 || p.Summary.Deleted != 1 || p.Summary.Replaced != 2 {
		t.Errorf("a plan wrote: %v %v %s", !bytes.Equal(before, after), b.world.log, actions(p))
	}
	if b.deploy(g); len(b.world.things) != 3 {
		t.Errorf("%v", b.world.names())
	}
	b.settled(g)
}

func TestRefusalsAreListedTogether(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("kept", m{"shape": "1"}), res("full", m{"name": "full"}), res("gone", m{}, func(o *engine.Options) { o.Protect = true })))
	b.world.things["full"].Data = 1
	b.world.things["theirs"] = &thing{Kind: "world.Thing", Name: "theirs", Tags: map[string]string{}}
	g := graph(res("kept", m{"shape": "2"}, func(o *engine.Options) { o.Protect = true }), res("new", m{"name": "theirs"}))
	g.Funcs.Policies = []func(*engine.Plan) []engine.Violation{func(p *engine.Plan) []engine.Violation {
		return []engine.Violation{{Policy: "naming", Message: "no"}, {Policy: "style", Message: "hm", Warning: true}}
	}}
	b.world.takeLog()
	p, err := b.e.Plan(t.Context(), g, b.opts)
	var refused *engine.RefusedError
	if !errors.As(err, &refused) || len(refused.Problems) != 5 || !errors.Is(err, engine.ErrProtected) || !errors.Is(err, reconcile.ErrHoldsData) || !errors.Is(err, adopt.ErrForeign) {
		t.Fatalf("%v", err)
	}
	if len(p.Violations) != 2 {
		t.Errorf("%v", p.Violations)
	}
	if _, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{}); !errors.Is(err, engine.ErrRefused) || len(b.world.log) > 0 {
		t.Errorf("applied: %v %v", err, b.world.log)
	}
	// Leave, by each of its ways.
	for _, o := range []engine.PlanOptions{{Replace: []string{"full"}}, {AllowDelete: []string{"f*"}}} {
		if _, err := b.e.Plan(t.Context(), graph(res("kept", m{"shape": "1"}), res("full", m{"name": "full", "shape": "2"})), o); errors.Is(err, reconcile.ErrHoldsData) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestNoObserveComparesWithTheRecord(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"}), res("c", m{}))
	b.deploy(g)
	b.opts.NoObserve, b.world.reads = true, 0
	b.world.of("a")[0].Color = "green"
	if p := b.plan(g); p.Pending() || !p.Unobserved || b.world.reads > 0 {
		t.Fatalf("%s, %d reads", actions(p), b.world.reads)
	}
	g = graph(res("a", m{"color": "blue"}), res("b", m{"after": "⟦a.id⟧"}), res("d", m{"after": "⟦a.id⟧"}))
	if p := b.plan(g); actions(p) != "a:update b:unchanged c:delete d:create" {
		t.Fatalf("%s", actions(p))
	}
	if r := b.deploy(g); len(r.Failures) > 0 || b.world.of("a")[0].Color != "blue" || len(b.world.things) != 3 {
		t.Fatalf("%s %v", failures(r), b.world.names())
	}
}

// A prop that is secret by its type is masked also where the record alone is compared.
func TestRecordAloneShowsNoSecret(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"tokens": "typed-secret"})))
	b.opts.NoObserve = true
	p := b.plan(graph(res("a", m{"tokens": "typed-anew"})))
	if text := reasons(p); actions(p) != "a:update" || strings.Contains(text, "typed-") {
		t.Error(text)
	}
}

func TestIgnoredPathsAreCarriedOver(t *testing.T) {
	for _, first := range []bool{false, true} {
		b := newBench(t)
		g := func(shape string) *engine.Graph {
			return graph(res("a", m{"shape": shape, "color": "red"}, func(o *engine.Options) {
				o.IgnoreChanges, o.DeleteFirst = []tree.Path{"color"}, first
			}))
		}
		b.deploy(g("1"))
		b.world.of("a")[0].Color = "theirs"
		if p := b.plan(g("1")); p.Pending() {
			t.Fatalf("%s", actions(p))
		}
		if r := b.deploy(g("2")); r.Summary.Replaced != 1 || len(b.world.things) != 1 || b.world.of("a")[0].Color != "theirs" {
			t.Fatalf("%+v %s %+v", r.Summary, failures(r), b.world.of("a")[0])
		}
		b.settled(g("2"))
	}
}

func TestReplaceOnAndRequests(t *testing.T) {
	b := newBench(t)
	on := func(color string) *engine.Graph {
		return graph(res("a", m{"color": color}, func(o *engine.Options) { o.ReplaceOn = []tree.Path{"color"} }))
	}
	b.deploy(on("red"))
	if got := actions(b.plan(on("blue"))); got != "a:replace" {
		t.Fatal(got)
	}
	b.deploy(on("blue"))
	b.settled(on("blue"))
	b.opts.Replace = []string{"a"}
	if p := b.plan(on("blue")); actions(p) != "a:replace" || p.Actions[0].Reasons[0].Source != engine.ByRequest {
		t.Fatal(actions(p))
	}
	name := b.world.names()[0]
	if b.deploy(on("blue")); len(b.world.things) != 1 || b.world.names()[0] == name {
		t.Errorf("%v", b.world.names())
	}
}

// What a kind says that moves by some props alone stays known while others change, so that nothing behind it is replaced.
func TestMovedBy(t *testing.T) {
	b := newBench(t)
	g := func(color, peer string) *engine.Graph {
		return graph(kind("Exact", res("a", m{"color": color, "peer": peer})), res("b", m{"base": "⟦a.color⟧"}))
	}
	b.deploy(g("red", "one"))
	if p := b.plan(g("red", "two")); actions(p) != "a:update b:unchanged" {
		t.Errorf("another prop changes: %s", actions(p))
	}
	if p := b.plan(g("blue", "two")); actions(p) != "a:update b:replace?" {
		t.Errorf("its own prop changes: %s", actions(p))
	}
	if r := b.deploy(g("red", "two")); len(r.Failures) > 0 || r.Summary.Replaced > 0 || b.world.gone["world.Exact a 1"]+b.world.gone["world.Thing b 1"] > 0 {
		t.Errorf("%+v %s", r.Summary, failures(r))
	}
	b.settled(g("red", "two"))
}

func TestMayReplace(t *testing.T) {
	b := newBench(t)
	g := func(shape, color string) *engine.Graph {
		return graph(res("a", m{"shape": shape, "color": color}), res("b", m{"base": "⟦a.color⟧"}))
	}
	b.deploy(g("1", "red"))
	// A replacement that ends with the same value replaces nothing behind it.
	if p := b.plan(g("2", "red")); actions(p) != "a:replace b:replace?" {
		t.Fatal(actions(p))
	}
	if r := b.deploy(g("2", "red")); len(r.Failures) > 0 || b.world.gone["world.Thing b 1"] != 0 || r.Summary.Replaced != 1 || r.Summary.Unchanged != 1 {
		t.Fatalf("%s", failures(r))
	}
	b.settled(g("2", "red"))
	// An update moves what it may move and nothing else.
	if p := b.plan(g("2", "blue")); actions(p) != "a:update b:replace?" {
		t.Fatal(actions(p))
	}
	if r := b.deploy(g("2", "blue")); len(r.Failures) > 0 || b.world.gone["world.Thing b 1"] != 1 {
		t.Fatalf("%s", failures(r))
	}
	b.settled(g("2", "blue"))
	c := graph(res("a", m{"color": "red"}), res("b", m{"after": "⟦a.id⟧"}))
	b = newBench(t)
	b.deploy(c)
	c.Resources[0].Props = m{"color": "blue"}
	if p := b.plan(c); actions(p) != "a:update b:unchanged" {
		t.Errorf("references are per property: %s", actions(p))
	}
}

// takeAlong deletes with an object what refers to it, as some providers do.
func (w *world) takeAlong(op, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op == "delete" {
		maps.DeleteFunc(w.things, func(_ string, other *thing) bool { return other.After == "thing:"+name })
	}
}

// TestDeletedWith: what goes with another has no deletion of its own in the run that deletes the other, and stays where that one
// stays.
func TestDeletedWith(t *testing.T) {
	program := graph(res("p", m{"name": "parent"}), res("k", m{"after": "⟦p.id⟧", "name": "kid"}, func(o *engine.Options) { o.DeletedWith = "p" }))
	for name, c := range map[string]struct {
		during func(*bench) func(op, name string)
		deny   string
		log    string
		left   []string
		says   string
	}{
		"it goes with it":     {during: func(b *bench) func(string, string) { return b.world.takeAlong }, log: "delete parent"},
		"it does not go":      {log: "delete parent", left: []string{"kid"}, says: "k: p was deleted, and it is still there"},
		"the other one fails": {deny: "delete parent", left: []string{"kid", "parent"}, says: "p: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.deploy(program)
				if c.during != nil {
					b.world.during = c.during(b)
				}
				if c.deny != "" {
					b.world.fail[c.deny] = errDenied
				}
				p := b.plan(graph())
				if got := actions(p); got != "k:delete p:delete" || !slices.Contains(p.Actions[0].Notes, "deleted with p") || len(p.Actions[0].Steps) > 0 && len(p.Actions[0].Steps[0].Operations) > 0 {
					t.Fatalf("%s %+v", got, p.Actions[0])
				}
				b.world.takeLog()
				r := b.deploy(graph())
				if log := strings.Join(slices.Compact(b.world.takeLog()), ","); log != c.log {
					t.Errorf("calls: %s", log)
				}
				if names := b.world.names(); !slices.Equal(names, c.left) || !strings.Contains(failures(r), c.says) || (r.Summary.Deleted == 2) != (len(c.left) == 0) {
					t.Errorf("%v: %s: %+v", names, failures(r), r.Summary)
				}
				b.world.during, b.world.fail = b.world.takeAlong, map[string]error{}
				if r := b.deploy(graph()); len(r.Failures) > 0 || len(b.world.things) > 0 {
					t.Errorf("once more: %s: %v", failures(r), b.world.names())
				}
			})
		})
	}
}

// TestReadsShareTheTime: what is read one by one does not wait until the kinds that read many at once are done.
func TestReadsShareTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		g := graph(kind("Bulk", res("many", m{})), res("other", m{"after": "⟦many.id⟧"}))
		b.deploy(g)
		b.world.during = func(string, string) { time.Sleep(time.Second) }
		begun := time.Now()
		p := b.plan(g)
		// The kind that reads many asks once for all, and then for each.
		if took := time.Since(begun); p.Pending() || took != 2*time.Second {
			t.Errorf("%s, %s", actions(p), took)
		}
	})
}

func TestRetainForgetAndDeletedWith(t *testing.T) {
	b := newBench(t)
	retain := func(o *engine.Options) { o.Retain = true }
	b.deploy(graph(res("a", m{"shape": "1"}, retain), res("f", m{}), kind("Bare", res("n", m{}, retain)), res("p", m{"name": "parent"}),
		res("k", m{"after": "⟦p.id⟧", "name": "kid"}, func(o *engine.Options) { o.DeletedWith = "p" })))
	if _, err := b.e.Plan(t.Context(), graph(), b.opts); err == nil || !strings.Contains(err.Error(), "nothing but its name") {
		t.Fatalf("%v", err)
	}
	// Replaced, the old one is kept; the drift of what is retained is left alone.
	b.deploy(graph(res("a", m{"shape": "2"}, retain), res("f", m{}), kind("Bare", res("n", m{}, retain)), res("p", m{"name": "parent"}),
		res("k", m{"after": "⟦p.id⟧", "name": "kid"}, func(o *engine.Options) { o.DeletedWith = "p" })))
	if got := len(b.world.of("a")); got != 2 {
		t.Fatalf("%d of a", got)
	}
	for _, th := range b.world.of("a") {
		th.Color = "drifted"
	}
	g := graph()
	g.Forget = []string{"f", "n"}
	p := b.plan(g)
	if actions(p) != "a:forget f:forget k:delete n:forget p:delete" {
		t.Fatal(actions(p))
	}
	b.world.during = func(op, name string) {
		if op == "delete" && name == "parent" {
			b.world.mu.Lock()
			delete(b.world.things, "kid")
			b.world.mu.Unlock()
		}
	}
	b.world.takeLog()
	r := b.deploy(g)
	log := strings.Join(b.world.takeLog(), ",")
	if r.Summary.Forgotten != 3 || r.Summary.Deleted != 2 {
		t.Errorf("counted: %+v", r.Summary)
	}
	if len(r.Failures) > 0 || strings.Contains(log, "delete kid") || strings.Contains(log, "set ") || len(b.world.things) != 4 {
		t.Fatalf("%s: %s: %v", failures(r), log, b.world.names())
	}
	for _, th := range b.world.of("a") {
		if !adopt.MarkOf(th.Tags).Retained {
			t.Errorf("%+v", th)
		}
	}
	// What was retained is listed, and never deleted.
	b.lose()
	p = b.plan(graph(res("z", m{})))
	if actions(p) != "z:create" || len(p.Warnings) == 0 {
		t.Errorf("%s %v", actions(p), p.Warnings)
	}
}

func TestReads(t *testing.T) {
	b := newBench(t)
	b.world.things["zone"] = &thing{Kind: "world.Thing", Name: "zone", Color: "red", Tags: map[string]string{}}
	g := graph(res("a", m{"color": "⟦z.color⟧"}))
	for _, r := range []engine.Read{
		{Address: "z", Kind: "world.Thing", ID: "thing:zone"},
		{Address: "z", Kind: "world.Thing", Query: m{"name": "zone"}},
		{Address: "z", Kind: "world.Thing", Query: m{"color": "red"}},
	} {
		g.Reads = []engine.Read{r}
		if p := b.plan(g); actions(p) != "a:create" || reasons(p) != "a.color: <nil> → red (program)" {
			t.Fatalf("%s %s", actions(p), reasons(p))
		}
	}
	g.Reads[0].Query = m{"name": "none"}
	if _, err := b.e.Plan(t.Context(), g, b.opts); err == nil || !strings.Contains(err.Error(), "no such") {
		t.Fatalf("%v", err)
	}
	g.Reads[0].Query = m{"name": "zone"}
	b.deploy(g)
	b.settled(g)
	// Read becomes managed: adopted. Managed becomes read: retained.
	managed := graph(res("z", m{"name": "zone", "color": "red"}, func(o *engine.Options) { o.Adopt = "*" }), res("a", m{"color": "⟦z.color⟧"}))
	if p := b.plan(managed); !strings.Contains(actions(p), "z:adopt") {
		t.Fatal(actions(p))
	}
	b.deploy(managed)
	b.settled(managed)
	if p := b.plan(g); actions(p) != "a:unchanged z:forget" {
		t.Fatal(actions(p))
	}
	b.deploy(g)
	if b.world.things["zone"] == nil || b.row("z").Address != "" {
		t.Fatal("not released")
	}
	b.settled(g)
}

func TestSecretsAreNowhere(t *testing.T) {
	const secret, made = `s3cr"t/&+ü-väl`, "what-is-made-of-it"
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "state.db")
	store, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b.store, b.e.Store = store, store
	t.Setenv("ATHANOR_TEST_SECRET", secret)
	var seen bytes.Buffer
	b.e.Events = func(e engine.Event) { data, _ := json.Marshal(e); seen.Write(data) }
	then, err := token.Plain.Then("f1", "⟦secret:key⟧")
	if err != nil {
		t.Fatal(err)
	}
	g := graph(res("a", m{"tokens": "⟦secret:key⟧", "color": "x⟦secret:key⟧"}), res("b", m{"name": "bad", "color": then}))
	g.Funcs.Then = map[string]func(any) (any, error){"f1": func(any) (any, error) { return made, nil }}
	g.Secrets = map[string]engine.SecretSource{"key": {Env: "ATHANOR_TEST_SECRET"}}
	g.Outputs = m{"all": "⟦secret:key⟧"}
	b.world.fail["create bad"] = errors.Join(errDenied, errors.New("bad "+made+" "+secret+" "+base64.StdEncoding.EncodeToString([]byte("x"+secret+"y"))+url.QueryEscape(secret)))
	p := b.plan(g)
	plan, _ := json.Marshal(p)
	seen.Write(plan)
	r := b.deploy(g)
	seen.WriteString(failures(r) + b.e.Redacted(r.Failures[0].Err) + r.Failures[0].Error())
	if !r.Secret["all"] || r.Outputs["all"] != secret || !errors.Is(r.Failures[0], errDenied) {
		t.Errorf("%v %v", r.Secret, r.Outputs)
	}
	rows, _ := b.e.Rows(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, false)
	view, _ := json.Marshal(rows)
	seen.Write(view)
	// The secret becomes plain: the path stays masked.
	b.world.of("a")[0].Color = "was x" + secret[:5]
	plain := graph(res("a", m{"color": "open"}), res("b", m{"name": "bad"}))
	plan, _ = json.Marshal(b.plan(plain))
	if bytes.Contains(plan, []byte("was x")) {
		t.Errorf("what was secret once is shown: %s", plan)
	}
	file, _ := os.ReadFile(path)
	seen.Write(file)
	quoted, _ := json.Marshal(secret)
	for _, form := range []string{
		made, secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret))[:12], base64.StdEncoding.EncodeToString([]byte("x" + secret))[2:14],
		base64.URLEncoding.EncodeToString([]byte(secret))[:12],
	} {
		if bytes.Contains(seen.Bytes(), []byte(form)) {
			i := bytes.Index(seen.Bytes(), []byte(form))
			t.Errorf("found %q: …%.200s", form, seen.Bytes()[max(0, i-150):])
		}
	}
}

func TestDocumentsRoundTrip(t *testing.T) {
	b := newBench(t)
	g := graph(res("a", m{"color": "red"}, func(o *engine.Options) {
		o.Timeouts = engine.Timeouts{Create: 90 * time.Second, Delete: time.Hour}
		o.Before = []engine.Hook{{Run: "true"}}
	}))
	g.Reads = []engine.Read{{Address: "z", Kind: "world.Thing", Query: m{"name": "zone"}}}
	g.Outputs = m{"n": int64(3)}
	data, err := json.Marshal(g)
	if err != nil || !bytes.Contains(data, []byte(`"create":"1m30s"`)) {
		t.Fatalf("%s %v", data, err)
	}
	back, err := engine.ReadGraph(data)
	if err != nil || !reflect.DeepEqual(back, g) {
		t.Fatalf("%v\n%+v\n%+v", err, back, g)
	}
	d1, _ := g.Digest()
	back.Resources[0].Source = "elsewhere:1"
	if d2, _ := back.Digest(); d1 != d2 {
		t.Error("digest")
	}
	for _, bad := range []string{`{"format":9}`, `{"format":1,"x":1}`, string(data) + "{}", strings.Replace(string(data), "1m30s", "-1m30s", 1)} {
		if _, err := engine.ReadGraph([]byte(bad)); err == nil {
			t.Errorf("read %s", bad)
		}
	}
	g.Reads = nil
	p := b.plan(g)
	data, _ = json.Marshal(p)
	read, err := engine.ReadPlan(data)
	if err != nil || !reflect.DeepEqual(read.Actions, p.Actions) || read.Digest != p.Digest || read.Summary != p.Summary {
		t.Fatalf("%v\n%+v\n%+v", err, read, p)
	}
}

func TestClashesAndUnknowns(t *testing.T) {
	b := newBench(t)
	_, err := b.e.Plan(t.Context(), graph(res("a", m{"name": "pot"}), res("b", m{"name": "pot"}), kind("Bare", res("c", m{"name": "pot"}))), b.opts)
	if err == nil || !strings.Contains(err.Error(), "a names the same world.Thing: pot") {
		t.Errorf("%v", err)
	}
	_, err = b.e.Plan(t.Context(), graph(res("a", m{"colour": "x"}), kind("Thin", res("b", m{})), res("c", m{"color": "⟦d.id⟧"}), res("1", m{}), res("a", m{})), b.opts)
	var wrong *engine.GraphError
	if !errors.As(err, &wrong) || len(wrong.Problems) != 5 {
		t.Errorf("%v", err)
	}
}

// TestPublicPartsOfSecrets: what the program itself writes around a secret is shown, the secret is not.
func TestPublicPartsOfSecrets(t *testing.T) {
	const secret, around = "s3cr3t-and-long-enough", "/the-name-of-the-database"
	b := newBench(t)
	t.Setenv("ATHANOR_TEST_SECRET", secret)
	g := graph(res("a", m{"name": "bad", "color": "⟦secret:key⟧" + around}))
	g.Secrets = map[string]engine.SecretSource{"key": {Env: "ATHANOR_TEST_SECRET"}}
	b.world.fail["create bad"] = errors.Join(errDenied, errors.New("no such thing: "+around+" of "+secret+" of "+secret+around))
	r := b.deploy(g)
	if said := b.e.Redacted(r.Failures[0].Err); !strings.Contains(said, "no such thing: "+around+" of ") || strings.Contains(said, secret) {
		t.Error(said)
	}
}

// TestValuesOfAStackAreBounded: a value that is referred to often counts each time.
func TestValuesOfAStackAreBounded(t *testing.T) {
	b := newBench(t)
	t.Setenv("ATHANOR_TEST_SECRET", strings.Repeat("x", 1<<19))
	for resources, over := range map[int]bool{100: false, 140: true} {
		g := graph()
		for i := range resources {
			g.Resources = append(g.Resources, res("r"+strconv.Itoa(i), m{"color": "⟦secret:key⟧"}))
		}
		g.Secrets = map[string]engine.SecretSource{"key": {Env: "ATHANOR_TEST_SECRET"}}
		refused := slices.ContainsFunc(b.plan(g).Actions, func(a engine.Planned) bool {
			return a.Action == engine.Blocked && strings.Contains(a.Problem, "more than 64 MiB")
		})
		if refused != over {
			t.Errorf("%d resources: refused %t", resources, refused)
		}
	}
}

// TestPlanNamesReferences: of what is created a plan has the reference that the program has, beside its value.
func TestPlanNamesReferences(t *testing.T) {
	b := newBench(t)
	b.deploy(graph(res("a", m{"color": "red"})))
	p := b.plan(graph(res("a", m{"color": "red"}), res("new", m{}),
		res("b", m{"base": "⟦a.id⟧", "color": "blue", "shape": "of ⟦a.id⟧"}), res("c", m{"base": "⟦new.id⟧"})))
	refs := map[string]string{}
	for _, a := range p.Actions {
		for _, r := range a.Reasons {
			refs[a.Address+"."+string(r.Path)] = r.Ref
			if r.Ref != "" && (r.Unknown || token.Has(r.Want.(string))) {
				t.Errorf("%s %s: %v, and it is not known", a.Address, r.Path, r.Want)
			}
		}
	}
	want := map[string]string{"b.base": "${a.id}", "b.color": "", "b.shape": "", "c.base": ""}
	if !maps.Equal(refs, want) {
		t.Errorf("%v, want %v", refs, want)
	}
}
