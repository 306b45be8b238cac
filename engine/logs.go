package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/engine/tail"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// ErrNoLogs is matched when something has no logs, or nothing has any.
var ErrNoLogs = errors.New("no logs")

// LogSources are the logs of what is in state at the addresses that globs name, sorted; without globs, of everything
// that has logs. No program is needed; dir is the stack's directory. Credentials that lead to another account than the
// one in state are refused, before any line is read.
func (e *Engine) LogSources(ctx context.Context, stage statestore.Stage, dir string, globs []string) ([]tail.Source, error) {
	w, err := e.planner().NewWork(ctx, planner.EmptyGraph(stage, &planner.Graph{Dir: dir}), planner.Policy{})
	if err != nil {
		return nil, err
	}
	l := &loggers{Jobs: w.Jobs, gate: w.Gate, records: w.Records, damaged: w.Damaged}
	addrs, err := l.meant(globs)
	if err != nil {
		return nil, err
	}
	l.learnAll()
	looking := reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	sources, errs := make([]tail.Source, len(addrs)), make([]error, len(addrs))
	planner.Parallel(len(addrs), planner.Lookers, func(i int) { sources[i], errs[i] = l.logSource(looking, addrs[i]) })
	var problems []plan.Problem
	for i, err := range errs {
		if err != nil {
			problems = append(problems, plan.Problem{Address: addrs[i], Err: w.Redact.Error(err)})
		}
	}
	if len(problems) > 0 {
		return nil, &plan.RefusedError{Problems: problems}
	}
	return sources, nil
}

// loggers are what has logs in the state of a stage.
type loggers struct {
	*planner.Jobs
	gate    *calls.Gate
	records map[string]*state.Entry
	damaged map[string]error
}

// meant are the addresses that are meant, sorted. One that is named outright must have logs; a glob must name one that
// has.
func (l *loggers) meant(globs []string) ([]string, error) {
	able := map[string]bool{}
	for addr, rec := range l.records {
		if k, err := l.kindOn(rec); err == nil && k.Spec().Logs {
			able[addr] = true
		}
	}
	if len(globs) == 0 {
		if len(able) == 0 {
			return nil, reconcile.WithHint(fmt.Errorf("%w: state has nothing of %s that has logs", ErrNoLogs, l.Stage), "`athanor kinds` says which kinds have logs")
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
			return nil, l.noLogs(glob, able)
		}
	}
	return slices.Sorted(maps.Keys(meant)), nil
}

// noLogs says why a name leads to no log.
func (l *loggers) noLogs(glob string, able map[string]bool) error {
	if err := l.damaged[glob]; err != nil {
		return plan.Unreadable(glob, err)
	}
	known := planner.KnownAddresses(l.records, l.damaged)
	rec := l.records[glob]
	if rec == nil {
		return planner.NothingAs(glob, slices.Collect(maps.Keys(known)))
	}
	k, err := l.kindOn(rec)
	if err != nil {
		return fmt.Errorf("%s: %w", glob, err)
	}
	err = fmt.Errorf("%s: %w: %s has none", glob, ErrNoLogs, k.Spec().Type)
	if len(able) > 0 {
		return reconcile.WithHint(err, "there are logs of %s", strings.Join(slices.Sorted(maps.Keys(able)), ", "))
	}
	return err
}

func (l *loggers) kindOn(rec *state.Entry) (reconcile.Any, error) {
	g := rec.Present() // whose log is meant
	if g == nil {
		return nil, errors.New("it is being deleted")
	}
	return l.Catalog.Find(g.Kind)
}

// logSource opens the way to an object's log.
func (l *loggers) logSource(ctx context.Context, addr string) (tail.Source, error) {
	rec := l.records[addr]
	g := rec.Present() // whose log is meant
	kind, err := l.kindOn(rec)
	if err != nil {
		return tail.Source{}, err
	}
	n := &plan.Node{Declaration: plan.Declaration{Address: addr, Kind: kind, Spec: kind.Spec()}, Tracked: plan.Tracked{Entry: rec}}
	a, err := l.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return tail.Source{}, err
	}
	job := l.RecordedJob(n, a, g)
	lines := func(ctx context.Context, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
		return func(yield func(reconcile.LogLine, error) bool) {
			for line, err := range kind.Logs(reconcile.WithGate(ctx, l.gate), job, query) {
				line.Text = l.Redact.Text(line.Text)
				if !yield(line, l.Redact.Error(err)) || err != nil {
					return
				}
			}
		}
	}
	return tail.Source{Address: addr, Kind: g.Kind, Lines: lines}, nil
}

// learnAll learns every secret that is in state: whatever prints may print any of them.
func (l *loggers) learnAll() {
	for _, rec := range l.records {
		paths := rec.SecretPaths
		for _, g := range rec.Generations {
			kind, err := l.Catalog.Find(g.Kind)
			if err != nil {
				continue
			}
			learnSecrets(l.Catalog, l.Redact, g)
			paths = slices.Concat(paths, kind.Spec().SecretProps)
		}
		for _, p := range paths {
			if v, ok := tree.Get(rec.Props, p); ok {
				l.Redact.Learn(v)
			}
		}
	}
}
