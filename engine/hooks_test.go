package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// TestHooksRunForWhatIsPermitted: a before-hook runs when the object was read, its change is permitted, and there is
// one. What a hook changes that the plan does not announce stops the resource, and the error names the hook.
func TestHooksRunForWhatIsPermitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, now m
		outside  func(b *bench) // between the plan and its application
		inHook   func(b *bench)
		ran      bool
		failure  string
	}{
		"it is replaced by request":    {m{"color": "red"}, m{"color": "blue"}, nil, nil, true, ""},
		"it differs":                   {m{"name": "x", "color": "red"}, m{"name": "x", "color": "blue"}, nil, nil, true, ""},
		"it is created":                {nil, m{"name": "x"}, nil, nil, true, ""},
		"it was changed to a third":    {m{"name": "x", "color": "red"}, m{"name": "x", "color": "blue"}, func(b *bench) { b.world.things["x"].Color = "green" }, nil, false, "changed since the plan"},
		"it was changed to what is so": {m{"name": "x", "color": "red"}, m{"name": "x", "color": "blue"}, func(b *bench) { b.world.things["x"].Color = "blue" }, nil, false, ""},
		"it was deleted":               {m{"name": "x", "color": "red"}, m{"name": "x", "color": "blue"}, func(b *bench) { delete(b.world.things, "x") }, nil, false, "changed since the plan"},
		"it came into being":           {nil, m{"name": "x"}, func(b *bench) { b.world.things["x"] = &thing{Name: "x", Kind: "world.Thing"} }, nil, false, "world.Thing"},
		"the hook changes it": {
			m{"name": "x", "color": "red"}, m{"name": "x", "color": "blue"}, nil, func(b *bench) { b.world.things["x"].Color = "green" }, true, "hook drain",
		},
	} {
		b := newBench(t)
		if c.was != nil {
			b.deploy(graph(res("a", c.was)))
		}
		g := graph(res("a", c.now, func(o *engine.Options) { o.Before = []engine.Hook{{Func: "drain"}} }))
		ran := false
		g.Funcs.Hooks = map[string]func(context.Context, engine.HookInfo) error{"drain": func(context.Context, engine.HookInfo) error {
			if ran = true; c.inHook != nil {
				c.inHook(b)
			}
			return nil
		}}
		if strings.Contains(name, "request") {
			b.opts.Replace = []string{"a"}
		}
		p := b.plan(g)
		if c.outside != nil {
			c.outside(b)
		}
		r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if ran != c.ran || !strings.Contains(failures(r), c.failure) || (r.State == statestore.Succeeded) != (c.failure == "") {
			t.Errorf("%s: the hook ran: %t, %s %s", name, ran, r.State, failures(r))
		}
	}
}

// TestHooksOfDeletions: what is deleted already needs no hook, and neither does what the deletion must leave.
func TestHooksOfDeletions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outside func(b *bench)
		ran     bool
		failure string
	}{
		"it is there":       {func(*bench) {}, true, ""},
		"it is deleted":     {func(b *bench) { delete(b.world.things, "x") }, false, ""},
		"another took it":   {func(b *bench) { b.world.things["x"].Tags["athanor:stack"] = "other" }, false, "other"},
		"users put data in": {func(b *bench) { b.world.things["x"].Data = 1 }, false, "holds data"},
		"it cannot be read": {func(b *bench) { b.unreadable(true) }, false, "denied"},
	} {
		b := newBench(t)
		file := filepath.Join(t.TempDir(), "ran")
		b.deploy(graph(res("a", m{"name": "x"}, func(o *engine.Options) { o.Before = nil }), res("b", m{})))
		b.deploy(graph(res("a", m{"name": "x"}, func(o *engine.Options) { o.Before = []engine.Hook{{Run: "touch " + file}} }), res("b", m{})))
		_ = os.Remove(file)
		p := b.plan(graph(res("b", m{})))
		c.outside(b)
		r, err := b.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, missing := os.Stat(file)
		if (missing == nil) != c.ran || !strings.Contains(failures(r), c.failure) || (len(r.Failures) == 0) != (c.failure == "") {
			t.Errorf("%s: the hook ran: %t, %s", name, missing == nil, failures(r))
		}
	}
}
