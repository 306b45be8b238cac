package engine

import (
	"context"
	"os/exec"

	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Engine plans and applies the stages of one store. Its fields are set once, before the first call; it must not be
// copied after that.
type Engine struct {
	// Catalog holds every kind that can be declared or deleted.
	Catalog *reconcile.Catalog
	Store   statestore.Store
	// Key is the stage's key: it seals what state holds and derives what is recomputable.
	Key *seal.Key
	// Known says that this stage was deployed before as far as this machine remembers, whatever the store says: recomputed
	// values then count as recovered.
	Known bool
	// Remember makes it durable on this machine which store the stage has. A run calls it before its first change, so that
	// the owner tags of a run that is cut are never taken for another store's. Nil: nothing is remembered.
	Remember func(ctx context.Context, store string) error
	// Parallel bounds provider calls in flight; 0 means 16.
	Parallel int
	// KeepDurations keeps in state how long operations take, by kind, with the last commit of a run. Later runs begin first with
	// what takes longest.
	KeepDurations bool
	// Root is the project's directory, absolute: the record says where a stack lies as seen from there. "": it does not say.
	Root string
	// Cache is the folder for builds. Kinds that build write below it; "" is the current folder.
	Cache string
	// Secret reads a secret's value; nil reads SecretSource's environment variables, files and sealed files.
	Secret func(ctx context.Context, name string, source graph.SecretSource) (string, error)
	// Peers opens the records of other stacks, for references to their outputs; nil: there can be none.
	Peers values.Peers
	// Events receives what happens in runs, in order, on one goroutine at a time. It must not block for long.
	Events func(Event)
	// Reading receives which resources a plan reads, as their reads begin and end, from many goroutines at once. Nil: nobody watches.
	Reading func(Reading)
	// User is who runs it, for the history.
	User string
	// RunHook runs the command of a hook and gives its output; nil is [exec.Cmd.CombinedOutput], which leaves the processes
	// that the command has started running when it is cancelled.
	RunHook func(*exec.Cmd) (output []byte, err error)
	// Dev is the dev session that the engine works for; nil: kinds that live in one alone are left as they are.
	Dev *reconcile.Dev
	// Warm keeps what is expensive from one plan to the next; nil keeps nothing.
	Warm *Warm

	redact redact.Redactor
}

// Redacted is the text of an error with every secret masked that this engine has met: plain, and encoded for JSON,
// URLs and base64.
func (e *Engine) Redacted(err error) string { return e.redact.Text(err.Error()) }

// RedactedText is the same of any text.
func (e *Engine) RedactedText(text string) string { return e.redact.Text(text) }

// planner makes the plans of the engine.
func (e *Engine) planner() *planner.Planner {
	return &planner.Planner{
		Catalog: e.Catalog, Store: e.Store, Key: e.Key, Known: e.Known, Parallel: e.Parallel, Cache: e.Cache, Secret: e.Secret, Peers: e.Peers,
		Events: e.Events, Reading: e.Reading, Dev: e.Dev, Warm: e.Warm, Redact: &e.redact,
	}
}

// Plan says what deploying the graph would do. It writes nothing, neither to the store nor to the cloud.
// What is wrong with the graph is a *GraphError, what cannot be done a *RefusedError with everything in it, both
// beside the plan as far as it came.
func (e *Engine) Plan(ctx context.Context, g *Graph, o PlanOptions) (*Plan, error) {
	return e.planner().Plan(ctx, g, o)
}

// PlanDestroy says what destroying a stage would do. It goes by state, by the owner tags in every location that state or the
// program names, and by what the program declares and no entry has. The graph may be nil, or without resources. Nothing is
// built. What is declared and could not be looked for is a blocked line, with which the destroy is not complete.
func (e *Engine) PlanDestroy(ctx context.Context, stage statestore.Stage, g *Graph, o PlanOptions) (*Plan, error) {
	return e.planner().PlanDestroy(ctx, stage, g, o)
}

// PlanDrift says what changed outside athanor since the last deploy, and how applying it would change that back: it is
// the plan of what was deployed last. An object that vanished is made again, as it was deployed.
//
// The graph is the program of now. Nil, or one without resources, of which only Dir counts, goes by state alone.
// What the program changed since the last deploy is left to the next
// one, path by path (see [Plan].Left): a path that changed in the program and outside is the program's, since it
// speaks last; undoing a manual change that the program has taken over since would be wrong. With the program,
// what refers to an object that is made again follows it; by state alone it keeps the value that it was deployed
// with.
//
// Nothing is refused as a whole: what must not be replaced, and what cannot be looked at, is blocked by itself. Of the
// options only Target and Exclude count. A stage without rows is in order when its last run left none, and else
// ErrNothingKnown. The error is a *RefusedError when the credentials lead elsewhere.
func (e *Engine) PlanDrift(ctx context.Context, stage statestore.Stage, g *Graph, o PlanOptions) (*Plan, error) {
	return e.planner().PlanDrift(ctx, stage, g, o)
}

// PlanOrphans finds the objects with a stage's owner tag that no row knows, in few calls: in every location that the
// program or state names, and where neither names one, in the default location of every provider that can tell. What is
// retained, and what is declared, is listed and never deleted. The graph may be nil. What must not be deleted is a
// *RefusedError beside what was found.
func (e *Engine) PlanOrphans(ctx context.Context, stage statestore.Stage, g *Graph, o PlanOptions) (*Orphans, error) {
	return e.planner().PlanOrphans(ctx, stage, g, o)
}

// Scan lists the objects of the kinds in use that no row knows: in every location that the program or state names,
// for other kinds in the provider's default place. It writes nothing.
func (e *Engine) Scan(ctx context.Context, g *Graph, o ScanOptions) (*Scan, error) {
	return e.planner().Scan(ctx, g, o)
}

// Apply does what a plan says, and nothing that it does not announce: what an object calls for beyond that stops its resource.
// A plan that was read from a document is applied with its program, on the state that it was made on. A plan with nothing to do
// takes no lease, is not a run and commits nothing.
// Failures of single resources are in the result; an error means that the run as a whole could not be done.
func (e *Engine) Apply(ctx context.Context, p *Plan, o ApplyOptions) (*Result, error) {
	return e.runner().Apply(ctx, p, o)
}

// runner applies the plans of the engine.
func (e *Engine) runner() *execute.Runner {
	return &execute.Runner{
		Planner: e.planner(), Remember: e.Remember, KeepDurations: e.KeepDurations, Root: e.Root, User: e.User, RunHook: e.RunHook,
	}
}
