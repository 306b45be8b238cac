package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// hooked runs a task between its node's hooks. A before-hook that fails stops the work; an after-hook that fails
// is recorded and shown, and the work stands. Where a thing is deleted before the new one comes, the hooks stand
// around both. What was replaced is taken away later without any.
func (r *run) hooked(ctx context.Context, t *task, action Action, do func(context.Context, *node) (bool, error)) (bool, error) {
	n := t.n
	before, after := n.hooks()
	switch {
	case n.decl != nil && t.collecting:
		before, after = nil, nil
	case n.decl != nil && t.drop:
		after = nil
	case n.decl != nil && n.plan.DeleteFirst:
		before = nil
	}
	for _, h := range before {
		if err := reconcile.Interrupted(ctx, nil); err != nil {
			return false, err
		}
		if err := r.hook(ctx, n, action, h, nil); err != nil {
			return false, fmt.Errorf("before: %w", err)
		}
	}
	if err := r.w.gate.MayBegin(); err != nil {
		return false, err
	}
	waiting, err := do(ctx, n)
	if err != nil {
		return waiting, err
	}
	var errs []error
	for _, h := range after {
		if err := r.hook(ctx, n, action, h, n.attrs); err != nil {
			errs = append(errs, fmt.Errorf("after (the resource itself is done): %w", err))
		}
	}
	return waiting, errors.Join(errs...)
}

// hooks are those of the program, or for what is no longer declared the commands that were deployed last: functions
// are gone with the declaration.
func (n *node) hooks() (before, after []graph.Hook) {
	if n.decl != nil {
		return n.decl.Options.Before, n.decl.Options.After
	}
	if n.rec == nil || n.plan.Action != Delete {
		return nil, nil
	}
	function := func(h graph.Hook) bool { return h.Func != "" }
	o := n.rec.Options
	return slices.DeleteFunc(slices.Clone(o.Before), function), slices.DeleteFunc(slices.Clone(o.After), function)
}

func (r *run) hook(ctx context.Context, n *node, action Action, h graph.Hook, attrs map[string]any) error {
	if err := r.w.gate.MayWrite(ctx); err != nil {
		return err
	}
	if err := r.permits(n, plan.Seen{Operation: plan.Operation{Verb: plan.Hook, Call: cmp.Or(h.Run, h.Func)}}); err != nil {
		return err
	}
	calls.Began(ctx, true)
	info := HookInfo{Stack: r.w.stage.Stack, Stage: r.w.stage.Name, Address: n.addr, Kind: n.spec.Type, Action: action, Attrs: attrs}
	var err error
	if h.Func != "" {
		f, ok := r.w.graph.Funcs.Hooks[h.Func]
		if !ok {
			return errors.New("this graph needs its program: it has Go hooks")
		}
		err = f(ctx, info)
	} else {
		err = r.runCommand(ctx, h.Run, info)
	}
	e := Event{Type: EventHook, Address: n.addr, Kind: n.spec.Type, Action: action, Status: StatusDone, Note: h.Run}
	if err != nil {
		e.Status, e.Error = StatusFailed, err.Error()
	}
	r.emit(e)
	return err
}

// runCommand runs a hook command in the stack's directory. Its output is part of the error alone.
func (r *run) runCommand(ctx context.Context, line string, info HookInfo) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = r.w.graph.Dir
	cmd.Env = append(os.Environ(),
		"ATHANOR_ADDRESS="+info.Address, "ATHANOR_KIND="+info.Kind, "ATHANOR_ACTION="+string(info.Action),
		"ATHANOR_STACK="+info.Stack, "ATHANOR_STAGE="+info.Stage)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", line, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}
