package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// machine offers the local variants of two kinds: of one that goes on by itself, and of one that lives in a session.
func (w *world) machine() reconcile.Provider {
	hosted := w.kindOf(sort{name: "Here", unlisted: true})
	hosted.Type, hosted.Stands = "here.Hosted", "world.Hosted"
	app := devKind(w)
	app.Type, app.Stands = "here.App", "world.App"
	return reconcile.Provider{
		Name: "here", Kinds: []reconcile.Any{reconciletest.Erase(hosted), reconciletest.Erase(app)},
		Open: func(context.Context, any) (reconcile.Cloud, error) { return &region{w: w, here: true}, nil },
	}
}

// appKind is made in the cloud, and in dev as [devKind].
func appKind(w *world) *reconciletest.Kind[noteProps, runLive, noteAttrs] {
	k := runKind(w)
	k.Type = "world.App"
	return k
}

const toCloud, toMachine = "to the cloud", "to this machine"

// hosted is a stack of a resource with a local variant, one without that knows it, and one with that knows both.
func hosted(color string) *engine.Graph {
	return graph(kind("Hosted", res("a", m{"color": color})), res("b", m{"after": "⟦a.id⟧"}), kind("Hosted", res("c", m{"after": "⟦a.id⟧", "peer": "⟦b.id⟧"})))
}

// inCloud is a session that makes everything in the cloud.
func inCloud() *engine.Dev { return &engine.Dev{Remote: []string{"*"}} }

// kinds are the objects of the world, each as kind and address.
func (w *world) kinds() string {
	var all []string
	for line := range strings.Lines(w.shape()) {
		words := strings.Fields(line)
		all = append(all, strings.TrimPrefix(words[0], "world.")+" "+words[1])
	}
	return strings.Join(all, ", ")
}

// locals are the addresses that a plan says are on this machine.
func locals(p *engine.Plan) string {
	var all []string
	for i := range p.Actions {
		if p.Actions[i].Local {
			all = append(all, p.Actions[i].Address)
		}
	}
	return strings.Join(all, " ")
}

// In dev a kind with a local variant is made by that, and needs no cloud; everything else, and what is told to be, is made
// where it is declared. A change of that is a replacement, in which each object is deleted by what made it.
func TestLocalVariants(t *testing.T) {
	b := newBench(t)
	step := func(name, want, things, here string) {
		t.Helper()
		p := b.plan(hosted("red"))
		if got := actions(p); got != want || locals(p) != here {
			t.Fatalf("%s: %s, local: %s: %s", name, got, locals(p), reasons(p))
		}
		b.deploy(hosted("red"))
		if got := b.world.kinds(); got != things {
			t.Fatalf("%s: there are %s", name, got)
		}
		b.settled(hosted("red"))
	}
	b.opts.Dev = &engine.Dev{}
	step("dev", "a:create b:create c:create", "Here a, Here c, Thing b", "a c")
	b.opts.Dev = &engine.Dev{Narrow: true, Remote: []string{"c*"}}
	step("told", "a:unchanged b:unchanged c:replace", "Here a, Hosted c, Thing b", "a")
	b.opts.Dev = &engine.Dev{Narrow: true}
	step("and back", "a:unchanged b:unchanged c:replace", "Here a, Here c, Thing b", "a c")
	b.opts.Dev = nil
	step("deployed", "a:replace b:update? c:replace", "Hosted a, Hosted c, Thing b", "")
	for what, n := range b.world.gone {
		if n != 1 || b.world.made[what] != 1 {
			t.Errorf("%s was made %d and deleted %d times", what, b.world.made[what], n)
		}
	}

	// What deploy made is not deleted for it.
	b.opts.Dev = here()
	_, err := b.e.Plan(t.Context(), hosted("red"), b.opts)
	if err == nil || !strings.Contains(err.Error(), "dev did not make it, and it would be replaced") || !strings.Contains(strings.Join(reconcile.Hints(err), " "), "--remote a") {
		t.Errorf("on a deployed stage: %v", err)
	}
	b.opts.Dev = &engine.Dev{Here: true, Remote: []string{"a", "c"}}
	b.settled(hosted("red"))
}

// A stack of what has local variants alone never asks for a cloud; options that guard an object of the cloud guard
// nothing here.
func TestLocalVariantsNeedNoCloud(t *testing.T) {
	b := newBench(t)
	guarded := func(o *engine.Options) { o.Protect, o.Retain, o.Adopt = true, true, "thing:theirs" }
	g := graph(kind("Hosted", res("a", m{"color": "red"}, guarded)))
	b.opts.Dev = &engine.Dev{}
	b.deploy(g)
	b.settled(g)
	if n := b.world.opened[""]; n != 0 {
		t.Errorf("the cloud was asked %d times", n)
	}
	b.opts.Dev = nil
	g.Resources[0].Options.Adopt = ""
	if got := actions(b.plan(g)); got != "a:replace" {
		t.Errorf("deployed: %s", got)
	}
	b.opts.Dev = &engine.Dev{}
	r := b.deploy(graph())
	if r.Summary.Deleted != 1 || len(b.world.things) != 0 {
		t.Errorf("%+v: %s is left", r.Summary, b.world.kinds())
	}
}

// What made an object looks after it, with a session and without: drift sees and repairs it, and destroy deletes it.
func TestLocalVariantsByTheRecord(t *testing.T) {
	b := newBench(t)
	b.opts.Dev = &engine.Dev{}
	b.deploy(hosted("red"))
	b.opts.Dev = nil
	for _, th := range b.world.things {
		if th.Kind == "world.Here" {
			th.Color = "green"
		}
	}
	p, err := b.e.PlanDrift(t.Context(), testStage, hosted("red"), b.opts)
	if err != nil || len(p.Left) != 0 || actions(p) != "a:update b:unchanged c:update" || locals(p) != "a c" {
		t.Fatalf("drift: %s %+v %v", actions(p), p.Left, err)
	}
	if r := b.destroy(); r.Summary.Deleted != 3 || len(b.world.things) != 0 {
		t.Errorf("destroy: %+v, %s", r.Summary, b.world.kinds())
	}
}

// A variant that lives in a session ends when the stage is deployed without one, and a deployed one when dev takes over.
func TestLocalVariantInASession(t *testing.T) {
	b := newBench(t)
	g := graph(engine.Resource{Address: "app", Kind: "world.App", Props: m{"text": "one"}})
	session := func(dir string) {
		b.e.Dev, b.opts.Dev = &reconcile.Dev{Dir: dir}, &engine.Dev{}
	}
	session("one")
	b.deploy(g)
	b.settled(g)
	session("two") // the first one ended, and what lived in it
	if got := actions(b.plan(g)); got != "app:create" {
		t.Fatalf("in the next session: %s", got)
	}
	b.deploy(g)
	b.e.Dev, b.opts.Dev = nil, nil
	b.world.takeLog()
	r := b.deploy(g)
	if log := b.world.takeLog(); r.Summary.Replaced != 1 || !slices.Equal(log, []string{"run one", "undo one"}) {
		t.Fatalf("deployed: %v %+v %v", r.Failures, r.Summary, log)
	}
	b.settled(g)
	if r := b.destroy(); r.Summary.Deleted != 1 {
		t.Errorf("destroy: %+v", r.Summary)
	}
}

// Programs declare what they want and not how dev serves it.
func TestLocalVariantsAreNotDeclared(t *testing.T) {
	b := newBench(t)
	for _, dev := range []*engine.Dev{nil, {}} {
		b.opts.Dev = dev
		g := graph(engine.Resource{Address: "a", Kind: "here.Hosted", Props: m{}})
		if _, err := b.e.Plan(t.Context(), g, b.opts); err == nil || !strings.Contains(err.Error(), "here.Hosted is how dev serves world.Hosted") {
			t.Errorf("declared: %v", err)
		}
	}
	if types := b.e.Catalog.Types(); slices.Contains(types, "here.Hosted") || !slices.Contains(types, "world.Hosted") {
		t.Errorf("listed: %v", types)
	}
	stands := func(of string, change func(*reconciletest.Kind[noteProps, noteAttrs, noteAttrs])) error {
		k := noteKind()
		k.Type, k.Stands = "other.Note", of
		if change != nil {
			change(k)
		}
		_, err := reconcile.NewCatalog(b.world.provider(), b.world.machine(), reconcile.Provider{
			Name: "other", Kinds: []reconcile.Any{reconciletest.Erase(k)}, Open: b.world.machine().Open,
		})
		return err
	}
	for of, want := range map[string]string{"world.Note": "", "world.Nothing": "there is no", "world.Hosted": "stands for", "world.Thing": "are not those of", "here.App": "there is no"} {
		if err := stands(of, nil); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a variant of %s: %v, want %q", of, err, want)
		}
	}
}
