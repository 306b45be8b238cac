package engine_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// TestWhatActedOutsideIsUndone: a command that failed after it had acted is undone with the values that it ran with, by a destroy as
// by a deploy of a program that has no such command any more.
func TestWhatActedOutsideIsUndone(t *testing.T) {
	run := func(text string) *engine.Graph {
		return graph(engine.Resource{Address: "k", Kind: "world.Run", Props: m{"text": text}})
	}
	for name, next := range map[string]func(*bench) *engine.Result{
		"destroy": func(b *bench) *engine.Result { return b.destroy() },
		"removed": func(b *bench) *engine.Result { return b.deploy(graph()) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.world.fail["after run one"] = errDenied
			if r := b.deploy(run("one")); len(r.Failures) != 1 {
				t.Fatalf("a command that fails: %+v", r.Summary)
			}
			if r := next(b); len(r.Failures) > 0 {
				t.Errorf("%s", failures(r))
			}
			if log := strings.Join(b.world.takeLog(), ","); log != "run one,undo one" {
				t.Errorf("calls: %s", log)
			}
		})
	}
}
