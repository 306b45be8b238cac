package simtest

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Stage is what all scenarios work on.
func Stage() statestore.Stage { return statestore.Stage{Stack: "shop", Name: "test"} }

// Sim is one stage on one cloud, from the first deploy to the last.
type Sim struct {
	Cloud    *Cloud
	Director *Director
	// Opts are those of every command.
	Opts engine.PlanOptions
	// Documents says that every plan is written as JSON and read back before it is applied.
	Documents bool
	// Events, if set, hears what runs tell.
	Events func(engine.Event)

	// Programs are those of all commands so far, in order.
	Programs []*engine.Graph
	// Hooks are the addresses whose hooks have run, in order.
	Hooks []string

	catalog *reconcile.Catalog
	key     *seal.Key
	record  *store
	known   bool
	hooksMu sync.Mutex
}

// New makes an empty cloud and an empty record. It must be called in a bubble.
func New(key *seal.Key) (*Sim, error) {
	s := &Sim{Director: NewDirector(), key: key}
	s.Cloud = NewCloud(s.Director, Traits()...)
	s.record = &store{mem.New(), s.Director, "store"}
	s.Director.Sever = func() { s.unlock("somebody else") }
	var err error
	s.catalog, err = reconcile.NewCatalog(s.Cloud.Provider())
	return s, err
}

// With goes on with a program that knows every kind.
func (s *Sim) With() (err error) {
	s.catalog, err = reconcile.NewCatalog(s.Cloud.Provider())
	return err
}

// Without goes on with a program that does not know a kind any more.
func (s *Sim) Without(kind string) error {
	p := s.Cloud.Provider()
	p.Kinds = slices.DeleteFunc(p.Kinds, func(k reconcile.Any) bool { return k.Spec().Type == kind })
	var err error
	s.catalog, err = reconcile.NewCatalog(p)
	return err
}

// Command is one call of the program: a deploy of a graph, or a destroy.
type Command struct {
	Graph   *engine.Graph
	Destroy bool
	// PlanOnly: nothing is applied.
	PlanOnly bool
	// Saved, when set, is applied instead of a new plan.
	Saved *engine.Plan
	// Program: destroy knows the program, to look where it says when there is no record.
	Program *engine.Graph
	// Drift: what was changed outside is planned back; Graph is the program of now.
	Drift bool
}

// Report is how a command went.
type Report struct {
	Plan   *engine.Plan
	Result *engine.Result
	Err    error
	Life
}

// Failed reports whether the command says that something went wrong.
func (r *Report) Failed() bool {
	return r.Err != nil || r.Endless || r.Result.State != statestore.Succeeded
}

// Wrote reports whether it changed anything, world or record.
func (r *Report) Wrote() bool {
	for _, e := range r.Events {
		if e.Sort != Reading {
			return true
		}
	}
	return false
}

// Run runs a command as a process of its own, which meets these faults. A process that ended in the middle leaves its
// lease behind; that it is taken from the dead is the business of stores, and proven there.
func (s *Sim) Run(ctx context.Context, c Command, faults map[string]Outcome) *Report {
	r := &Report{}
	if c.Graph != nil && !c.Drift {
		s.Programs = append(s.Programs, c.Graph)
	}
	end := s.Director.Start(faults)
	s.command(reconcile.EvenIntervals(ctx), c, r) // a run that is played again waits as it did before
	end()
	r.Life = s.Director.Life()
	if r.Dead || r.Err != nil {
		s.unlock("the process is gone")
	}
	return r
}

func (s *Sim) command(ctx context.Context, c Command, r *Report) {
	e := &engine.Engine{Catalog: s.catalog, Store: s.record, Key: s.key, Known: s.known, Events: s.Events, RunHook: s.runHook}
	s.known = true
	s.Director.Planning(true)
	name := "deploy"
	switch {
	case c.Saved != nil:
		r.Plan = c.Saved
	case c.Destroy:
		name = "destroy"
		r.Plan, r.Err = e.PlanDestroy(ctx, Stage(), c.Program, s.Opts)
	case c.Drift:
		r.Plan, r.Err = e.PlanDrift(ctx, Stage(), c.Graph, s.Opts)
	default:
		r.Plan, r.Err = e.Plan(ctx, c.Graph, s.Opts)
	}
	s.Director.Planning(false)
	if r.Err != nil || c.PlanOnly {
		return
	}
	if !c.Destroy && len(r.Plan.Stops()) > 0 {
		r.Err = engine.ErrBlocked // as the command has it: found at plan, nothing is done
		return
	}
	plan, program := r.Plan, c.Graph
	if s.Documents {
		if plan, r.Err = throughDocument(r.Plan); r.Err != nil {
			return
		}
	}
	if c.Destroy {
		program = c.Program
	}
	r.Result, r.Err = e.Apply(ctx, plan, engine.ApplyOptions{
		PlanOptions: s.Opts, Command: name, Graph: program, Approve: func(*engine.Plan) bool { return true },
	})
}

// runHook notes for which resource a hook runs, and runs nothing.
func (s *Sim) runHook(cmd *exec.Cmd) ([]byte, error) {
	s.hooksMu.Lock()
	defer s.hooksMu.Unlock()
	for _, v := range cmd.Env {
		if address, ok := strings.CutPrefix(v, "ATHANOR_ADDRESS="); ok {
			s.Hooks = append(s.Hooks, address)
		}
	}
	return nil, nil
}

// unlock frees the lease of its holder.
func (s *Sim) unlock(why string) {
	order := statestore.Order{Unlock: true, Who: "simtest", Why: why}
	_, _ = s.record.Store.Interrupt(context.Background(), Stage(), order) // a store in memory does not fail
}

// Lose loses the whole record. The machine still knows which store it was.
func (s *Sim) Lose() { s.record = &store{mem.New(), s.Director, s.record.id} }

// Move goes on at another machine, without state.
func (s *Sim) Move() {
	s.record, s.known = &store{mem.New(), s.Director, s.record.id + "'"}, false
}

// StoreID is the identity of the store.
func (s *Sim) StoreID() string { return s.record.id }

// Record is the record as it is.
func (s *Sim) Record(ctx context.Context) (*statestore.Snapshot, error) {
	return s.record.Load(ctx, Stage())
}

// Serial is the version of the record.
func (s *Sim) Serial(ctx context.Context) uint64 {
	snap, err := s.Record(ctx)
	if err != nil {
		return 0
	}
	return snap.Serial
}

// Rows is the record as people see it.
func (s *Sim) Rows(ctx context.Context) ([]engine.RowView, error) {
	e := &engine.Engine{Catalog: s.catalog, Store: s.record, Key: s.key}
	return e.Rows(ctx, Stage(), true)
}

// Outputs are those of the last deploy.
func (s *Sim) Outputs(ctx context.Context) (map[string]any, error) {
	e := &engine.Engine{Catalog: s.catalog, Store: s.record, Key: s.key}
	values, _, err := e.Outputs(ctx, Stage())
	return values, err
}

// Wait lets time go by, as long as reads may lag behind and names stay reserved.
func (s *Sim) Wait() { <-time.After(2 * time.Minute) }

// Forget loses the entries of single addresses, as `state rm` or a state restored from an older copy does.
func (s *Sim) Forget(ctx context.Context, addresses ...string) error {
	snap, err := s.Record(ctx)
	if err != nil {
		return err
	}
	journal, err := statestore.Begin(ctx, s.record.Store, Stage(), statestore.Claim{Run: "forgets", Command: "state rm"})
	if err != nil {
		return err
	}
	change := statestore.Change{}
	for _, address := range addresses {
		change.Put = append(change.Put, statestore.Row{Address: address, Version: snap.Rows[address].Version})
	}
	return errors.Join(journal.Commit(ctx, change), journal.Finish(ctx, statestore.Succeeded, nil), journal.Close())
}
