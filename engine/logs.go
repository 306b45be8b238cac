package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// LogSource is the log of one thing on record.
type LogSource struct {
	Address, Kind string
	// Lines are those that are asked for, with every secret of the stage masked. See reconcile.Any.Logs.
	Lines func(ctx context.Context, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error]
}

// ErrNoLogs is matched when something has no logs, or nothing has any.
var ErrNoLogs = errors.New("no logs")

// LogSources are the logs of what is on record at the addresses that globs name, sorted; without globs, of everything that
// has logs. No program is needed; dir is the stack's directory. Credentials that lead to another account than the one on record
// are refused, before any line is read.
func (e *Engine) LogSources(ctx context.Context, stage statestore.Stage, dir string, globs []string) ([]LogSource, error) {
	w, err := e.newWork(ctx, &Graph{Format: GraphFormat, Stack: stage.Stack, Stage: stage.Name, Dir: dir}, true, PlanOptions{})
	if err != nil {
		return nil, err
	}
	addrs, err := w.loggers(globs)
	if err != nil {
		return nil, err
	}
	w.learnAll()
	looking := reconcile.ReadOnly(reconcile.WithGate(ctx, w.gate))
	sources, errs := make([]LogSource, len(addrs)), make([]error, len(addrs))
	parallel(len(addrs), lookers, func(i int) { sources[i], errs[i] = w.logSource(looking, addrs[i]) })
	var problems []Problem
	for i, err := range errs {
		if err != nil {
			problems = append(problems, Problem{Address: addrs[i], Err: w.redact.Error(err)})
		}
	}
	if len(problems) > 0 {
		return nil, &RefusedError{problems}
	}
	return sources, nil
}

// loggers are the addresses that are meant, sorted. One that is named outright must have logs; a glob must name one that
// has.
func (w *work) loggers(globs []string) ([]string, error) {
	able := map[string]bool{}
	for addr, rec := range w.records {
		if k, err := w.kindOn(rec); err == nil && k.Spec().Logs {
			able[addr] = true
		}
	}
	if len(globs) == 0 {
		if len(able) == 0 {
			return nil, reconcile.WithHint(fmt.Errorf("%w: nothing on record of %s has any", ErrNoLogs, w.stage), "`athanor kinds` says which kinds have logs")
		}
		return slices.Sorted(maps.Keys(able)), nil
	}
	meant := map[string]bool{}
	for _, glob := range globs {
		hit := false
		for addr := range able {
			if graph.Match(glob, addr) {
				hit, meant[addr] = true, true
			}
		}
		if !hit {
			return nil, w.noLogs(glob, able)
		}
	}
	return slices.Sorted(maps.Keys(meant)), nil
}

// noLogs says why a name leads to no log.
func (w *work) noLogs(glob string, able map[string]bool) error {
	if err := w.damaged[glob]; err != nil {
		return unreadable(glob, err)
	}
	known := w.known()
	rec := w.records[glob]
	if rec == nil {
		return nothingAs(glob, slices.Collect(maps.Keys(known)))
	}
	k, err := w.kindOn(rec)
	if err != nil {
		return fmt.Errorf("%s: %w", glob, err)
	}
	err = fmt.Errorf("%s: %w: %s has none", glob, ErrNoLogs, k.Spec().Type)
	if len(able) > 0 {
		return reconcile.WithHint(err, "there are logs of %s", strings.Join(slices.Sorted(maps.Keys(able)), ", "))
	}
	return err
}

// shownGeneration is the thing of a row whose log is meant: the live one, else one half made.
func shownGeneration(rec *state.Entry) *state.Generation {
	if g := rec.Live(); g != nil {
		return g
	}
	return rec.Candidate()
}

func (w *work) kindOn(rec *state.Entry) (reconcile.Any, error) {
	g := shownGeneration(rec)
	if g == nil {
		return nil, errors.New("it is being deleted")
	}
	return w.e.Catalog.Find(g.Kind)
}

// logSource opens the way to a thing's log.
func (w *work) logSource(ctx context.Context, addr string) (LogSource, error) {
	rec := w.records[addr]
	g := shownGeneration(rec)
	kind, err := w.kindOn(rec)
	if err != nil {
		return LogSource{}, err
	}
	n := &node{addr: addr, rec: rec, kind: kind, spec: kind.Spec()}
	a, err := w.cloud.At(ctx, n.addr, n.rec, g)
	if err != nil {
		return LogSource{}, err
	}
	job := w.recordedJob(n, a, g)
	lines := func(ctx context.Context, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
		return func(yield func(reconcile.LogLine, error) bool) {
			for line, err := range kind.Logs(reconcile.WithGate(ctx, w.gate), job, query) {
				line.Text = w.redact.Text(line.Text)
				if !yield(line, w.redact.Error(err)) || err != nil {
					return
				}
			}
		}
	}
	return LogSource{Address: addr, Kind: g.Kind, Lines: lines}, nil
}

// learnAll learns every secret that is on record: whatever prints may print any of them.
func (w *work) learnAll() {
	for _, rec := range w.records {
		paths := rec.SecretPaths
		for _, g := range rec.Generations {
			kind, err := w.e.Catalog.Find(g.Kind)
			if err != nil {
				continue
			}
			w.e.learn(w.redact, g)
			paths = slices.Concat(paths, kind.Spec().SecretProps)
		}
		for _, p := range paths {
			if v, ok := tree.Get(rec.Props, p); ok {
				w.redact.Learn(v)
			}
		}
	}
}
