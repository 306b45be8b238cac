package athanor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Hook runs around whatever changes a resource. See [Run] and [Call].
type Hook struct {
	run  string
	call func(context.Context, HookInfo) error
}

// Run is a shell command in the stack's directory. It runs around a deletion too. It sees ATHANOR_ADDRESS, ATHANOR_KIND,
// ATHANOR_ACTION ("create", "update", "delete", …), ATHANOR_STACK and ATHANOR_STAGE.
func Run(line string) Hook { return Hook{run: line} }

// Call is a function of the program. A graph with one needs its program, and it does not run where a resource is destroyed or no longer
// declared. It runs in the directory that the command runs in, and [Stack.Dir] is that of the stack. Of a HookInfo it has Stack, Stage,
// Address, Kind, Action ("create", "update", …), and in After the attributes of the object, Attrs, by their names in YAML.
func Call(f func(context.Context, HookInfo) error) Hook { return Hook{call: f} }

// Before runs hooks before the resource is changed; one that fails stops the change.
func Before(hooks ...Hook) Option {
	return func(d *declaration) { d.options.Before = d.hooks("before", d.options.Before, hooks) }
}

// After runs hooks after the resource was changed; one that fails is shown, and the change stands.
func After(hooks ...Hook) Option {
	return func(d *declaration) { d.options.After = d.hooks("after", d.options.After, hooks) }
}

// hooks adds to those that a resource has. The id of a function is its place, so that it is the same in
// every evaluation.
func (d *declaration) hooks(when string, have []engine.Hook, more []Hook) []engine.Hook {
	for _, h := range more {
		switch {
		case h.call != nil:
			id := d.address + " " + when + " " + strconv.Itoa(len(have))
			d.stack.mu.Lock()
			d.stack.graph.Funcs.Hooks[id] = d.stack.files.guardedHook(h.call)
			d.stack.mu.Unlock()
			have = append(have, engine.Hook{Func: id})
		case h.run == "":
			d.fail(when, errors.New("a hook without a command"))
		case token.Has(h.run):
			d.fail(when, fmt.Errorf("the command %w; a function sees the attributes", errLiteral))
		default:
			have = append(have, engine.Hook{Run: h.run})
		}
	}
	return have
}

// guardedHook is a hook whose panic is its error.
func (n fileNames) guardedHook(call func(context.Context, HookInfo) error) func(context.Context, HookInfo) error {
	return func(ctx context.Context, info HookInfo) (err error) {
		if panicked := n.guarded(func() { err = call(ctx, info) }); panicked != nil {
			return panicked.placed()
		}
		return err
	}
}
