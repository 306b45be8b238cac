package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// worker runs tasks, each with all that stands around it: its hooks, its events, its failure.
type worker struct {
	*report
	*agreement
	gate  *calls.Gate
	stage statestore.Stage
	hooks map[string]func(context.Context, planner.HookInfo) error // of the program, by id
	dir   string                                                   // in which hook commands run
	// runHook runs the command of a hook; nil: the engine does.
	runHook func(*exec.Cmd) (output []byte, err error)
	// stopping says that nothing new may start.
	stopping func() bool
	known    durations.Table // as state has it
}

// hooked runs a task between its node's hooks. They run where the first read shows that there is something to do, and
// that the plan permits it. A before-hook that fails stops the work; an after-hook that fails is written to state and
// shown, and the work stands. Where an object is deleted before the new one comes, the hooks stand around both. What
// was replaced is taken away later without any.
func (w *worker) hooked(ctx context.Context, t *task, action plan.Action, first preview, do func(context.Context, *plan.Node) (bool, error)) (bool, error) {
	n := t.n
	before, after := n.Hooks()
	switch {
	case n.Decl != nil && t.collecting:
		before, after = nil, nil
	case n.Decl != nil && t.drop:
		after = nil
	case n.Decl != nil && n.Plan.DeleteFirst && !n.Kept:
		before = nil
	}
	if len(before) > 0 && first != nil {
		needed, err := first(ctx, n)
		switch {
		case err != nil:
			return false, err
		case !needed:
			before, after = nil, nil
		}
	}
	for _, h := range before {
		if err := reconcile.Interrupted(ctx, nil); err != nil {
			return false, err
		}
		if err := w.hook(ctx, n, action, h, nil); err != nil {
			return false, fmt.Errorf("before: %w", err)
		}
	}
	if err := w.gate.MayBegin(); err != nil {
		return false, err
	}
	waiting, err := do(ctx, n)
	if err != nil {
		return waiting, changedByHook(err, before)
	}
	var errs []error
	for _, h := range after {
		if err := w.hook(ctx, n, action, h, n.Attrs); err != nil {
			errs = append(errs, fmt.Errorf("after (the resource itself is done): %w", err))
		}
	}
	return waiting, errors.Join(errs...)
}

func (w *worker) hook(ctx context.Context, n *plan.Node, action plan.Action, h graph.Hook, attrs map[string]any) error {
	if err := w.gate.MayWrite(ctx); err != nil {
		return err
	}
	if err := w.permits(n, operation.Seen{Operation: operation.Operation{Verb: operation.Hook, Call: cmp.Or(h.Run, h.Func)}}); err != nil {
		return err
	}
	calls.Began(ctx, true)
	info := planner.HookInfo{Stack: w.stage.Stack, Stage: w.stage.Name, Address: n.Address, Kind: n.Spec.Type, Action: action, Attrs: attrs}
	var err error
	if h.Func != "" {
		f, ok := w.hooks[h.Func]
		if !ok {
			return errors.New("this graph needs its program: it has Go hooks")
		}
		err = f(ctx, info)
	} else {
		err = w.runCommand(ctx, h.Run, info)
	}
	e := plan.Event{Type: plan.EventHook, Address: n.Address, Kind: n.Spec.Type, Action: action, Status: plan.StatusDone, Note: cmp.Or(h.Run, h.Func)}
	if err != nil {
		e.Status, e.Error = plan.StatusFailed, err.Error()
	}
	w.emit(e)
	return err
}

// runCommand runs a hook command in the stack's directory. Its output is part of the error alone.
func (w *worker) runCommand(ctx context.Context, line string, info planner.HookInfo) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(),
		"ATHANOR_ADDRESS="+info.Address, "ATHANOR_KIND="+info.Kind, "ATHANOR_ACTION="+string(info.Action),
		"ATHANOR_STACK="+info.Stack, "ATHANOR_STAGE="+info.Stage)
	output := (*exec.Cmd).CombinedOutput
	if w.runHook != nil {
		output = w.runHook
	}
	out, err := output(cmd)
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", line, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}

// work does one task with everything around it: saved plan, hooks, events, failure.
func (w *worker) work(ctx context.Context, t *task, first preview, do func(context.Context, *plan.Node) (bool, error)) (bool, error) {
	n, begun := t.n, time.Now()
	ctx, calls := calls.Note(t.yields(reconcile.WithPriorities(ctx, t.priority)))
	action := t.action()
	operation := action
	w.emit(plan.Event{Type: plan.EventStart, Address: n.Address, Kind: n.KindName(), Action: action, Status: plan.StatusRunning})
	n.Changed = nil
	waiting, err := w.hooked(ctx, t, action, first, do)
	if action == plan.Create {
		action = n.Doing() // it may have been found instead
	}
	e := plan.Event{Type: plan.EventDone, Address: n.Address, Kind: n.KindName(), Action: action, Status: plan.StatusDone, Elapsed: calls.Elapsed(begun)}
	e.Paths = pathTexts(n.Changed)
	t.took, t.limited, t.ended = e.Elapsed, calls.Limited(), time.Now()
	switch {
	case err != nil:
		ended(&e, err, calls.Mutated())
		e.Cause, e.Class = w.fail(n, action, err), classOf(n, err)
	case t.drop && n.Kept:
		e.Action = plan.Unchanged
	case waiting:
		e.Status, e.Note = plan.StatusWaiting, n.Plan.Waiting
	case action == plan.Replace && n.Plan.May && n.Entry.Live() != nil && n.Entry.Live().Number == n.Plan.Generation:
		// What it needs came out so that nothing had to be replaced.
		switch action = plan.Update; {
		case n.Entry.Found:
			action = plan.Recover
		case len(n.Changed) == 0:
			action = plan.Unchanged
		}
		e.Action = action
	case action == plan.Update && n.Plan.May && len(n.Changed) == 0:
		// What it needs came out as it was: the update that may have been was none.
		action, e.Action = plan.Unchanged, plan.Unchanged
	}
	if !t.drop || n.Decl == nil {
		w.account(n, action, e.Status)
	} else if err != nil {
		w.count(action, e.Status)
	}
	if err == nil && !waiting && !(t.drop && n.Kept) {
		t.learned = w.took(n.KindName(), operation, e.Elapsed) && !w.known.Has(n.KindName(), string(operation))
	}
	w.emit(e)
	return waiting, err
}

// schedule runs tasks and accounts for those that could not run.
func (w *worker) schedule(tasks []*task) {
	order := func(tasks []*task) { rank(tasks, w.expected(w.known)) }
	sched := newSchedule(w.stopping, order, func(t, cause *task) {
		w.blocked(t.n, cause.n, cause.state == finished)
	})
	sched.run(tasks)
	w.slow(slowest(tasks))
	for _, t := range tasks {
		if t.state != pending {
			continue
		}
		if !w.stopping() {
			w.fail(t.n, t.n.Doing(), errWaitsForItself)
		}
		w.setStatus(t.n, plan.StatusSkipped)
	}
}
