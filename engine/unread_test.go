package engine_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// unreadable lets no read of the bench's objects succeed, or all again.
func (b *bench) unreadable(fails bool) {
	for _, t := range b.world.things {
		delete(b.world.fail, "observe "+t.Name)
		if fails {
			b.world.fail["observe "+t.Name] = errDenied
		}
	}
}

// TestUnreadObjectsAreDeleted: an object that cannot be read is deleted by the identity in state where reading could
// show nothing that forbids it, and else with the user's permission alone.
func TestUnreadObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	kind := func(k string, props m) engine.Resource {
		r := res("a", props)
		r.Kind = "world." + k
		return r
	}
	for name, c := range map[string]struct {
		r       engine.Resource
		allow   bool
		deleted bool
	}{
		"it has no data":                      {kind("Dataless", m{}), false, true},
		"it may hold data":                    {kind("Thing", m{}), false, false},
		"it may hold data, which may go":      {kind("Thing", m{}), true, true},
		"its name was given":                  {kind("Dataless", m{"name": "given"}), false, false},
		"its name was given, and it may go":   {kind("Dataless", m{"name": "given"}), true, true},
		"its content says whose it is":        {kind("Same", m{"name": "given"}), true, false},
		"it may hold data, and was protected": {res("a", m{}, func(o *engine.Options) { o.Protect = true }), true, false},
	} {
		b := newBench(t)
		b.deploy(graph(c.r))
		b.unreadable(true)
		o := engine.PlanOptions{}
		if c.allow {
			o.AllowDelete = []string{"a"}
		}
		p, err := b.e.PlanDestroy(t.Context(), testStage, nil, o)
		if p == nil {
			t.Fatalf("%s: %v", name, err)
		}
		if planned := err == nil && actions(p) == "a:delete"; planned != c.deleted {
			t.Errorf("%s: planned %s, %v: %s", name, actions(p), err, reasons(p))
		}
		if !c.deleted {
			continue
		}
		if note := strings.Join(p.Actions[0].Notes, "; "); !strings.Contains(note, "denied") {
			t.Errorf("%s: the plan does not say why: %q", name, note)
		}
		r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "destroy", PlanOptions: o})
		if err != nil || r.State != statestore.Succeeded || len(b.world.things) != 0 || len(b.rows()) != 0 {
			t.Errorf("%s: %v %+v, left %v, rows %s", name, err, r, b.world.names(), b.rows())
		}
	}
}

// TestAReadThatFailsLate: the same holds where the plan could read the object and the run cannot.
func TestAReadThatFailsLate(t *testing.T) {
	t.Parallel()
	for kind, deleted := range map[string]bool{"world.Dataless": true, "world.Thing": false} {
		b := newBench(t)
		r := res("a", m{})
		r.Kind = kind
		b.deploy(graph(r))
		p, err := b.e.PlanDestroy(t.Context(), testStage, nil, engine.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.unreadable(true)
		done, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "destroy"})
		if err != nil || (len(b.world.things) == 0) != deleted || (done.State == statestore.Succeeded) != deleted {
			t.Errorf("%s: %v %+v, left %v", kind, err, done, b.world.names())
		}
	}
}
