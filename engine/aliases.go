package engine

import (
	"context"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	// Resource is [graph.Resource].
	Resource = graph.Resource
	// Read is [graph.Read].
	Read = graph.Read
	// Options is [graph.Options].
	Options = graph.Options
	// Timeouts is [graph.Timeouts].
	Timeouts = graph.Timeouts
	// Hook is [graph.Hook].
	Hook = graph.Hook
	// SecretSource is [graph.SecretSource].
	SecretSource = graph.SecretSource
)

type (
	// Calls is [calls.Calls].
	Calls = calls.Calls
	// Cause is [causes.Cause].
	Cause = causes.Cause
	// PlaceError is [observe.PlaceError].
	PlaceError = observe.PlaceError
	// Peers is [values.Peers].
	Peers = values.Peers
	// PeerError is [values.PeerError].
	PeerError = values.PeerError
)

type (
	// Action is [plan.Action].
	Action = plan.Action
	// Dev is [plan.Dev].
	Dev = plan.Dev
	// Event is [plan.Event].
	Event = plan.Event
	// EventType is [plan.EventType].
	EventType = plan.EventType
	// Funcs is [planner.Funcs].
	Funcs = planner.Funcs
	// Graph is [planner.Graph].
	Graph = planner.Graph
	// GraphError is [plan.GraphError].
	GraphError = plan.GraphError
	// HalfMovedError is [plan.HalfMovedError].
	HalfMovedError = plan.HalfMovedError
	// HookInfo is [planner.HookInfo].
	HookInfo = planner.HookInfo
	// Left is [plan.Left].
	Left = plan.Left
	// Orphans is [planner.Orphans].
	Orphans = planner.Orphans
	// OutputChange is [plan.OutputChange].
	OutputChange = plan.OutputChange
	// Plan is [plan.Plan].
	Plan = plan.Plan
	// PlanOptions is [plan.PlanOptions].
	PlanOptions = plan.PlanOptions
	// Planned is [plan.Planned].
	Planned = plan.Planned
	// Problem is [plan.Problem].
	Problem = plan.Problem
	// Reading is [planner.Reading].
	Reading = planner.Reading
	// Reason is [plan.Reason].
	Reason = plan.Reason
	// RefusedError is [plan.RefusedError].
	RefusedError = plan.RefusedError
	// Scan is [planner.Scan].
	Scan = planner.Scan
	// ScanOptions is [planner.ScanOptions].
	ScanOptions = planner.ScanOptions
	// Source is [plan.Source].
	Source = plan.Source
	// StaleError is [plan.StaleError].
	StaleError = plan.StaleError
	// Standing is [planner.Standing].
	Standing = planner.Standing
	// Status is [plan.Status].
	Status = plan.Status
	// Summary is [plan.Summary].
	Summary = plan.Summary
	// Take is [plan.Take].
	Take = plan.Take
	// Thing is [planner.Thing].
	Thing = planner.Thing
	// Violation is [plan.Violation].
	Violation = plan.Violation
	// Warm is [planner.Warm].
	Warm = planner.Warm
)

type (
	// ApplyOptions is [execute.RunOptions].
	ApplyOptions = execute.RunOptions
	// ConvergeError is [execute.ConvergeError].
	ConvergeError = execute.ConvergeError
	// ResourceError is [execute.ResourceError].
	ResourceError = execute.ResourceError
	// Result is [execute.Result].
	Result = execute.Result
	// Slow is [execute.Slow].
	Slow = execute.Slow
	// Step is [execute.Step].
	Step = execute.Step
)

// The classes of what is done to a resource, see [plan.Action].
const (
	Create    = plan.Create
	Adopt     = plan.Adopt
	Recover   = plan.Recover
	Update    = plan.Update
	Replace   = plan.Replace
	Delete    = plan.Delete
	Move      = plan.Move
	Forget    = plan.Forget
	Wait      = plan.Wait
	Unchanged = plan.Unchanged
	Blocked   = plan.Blocked
)

// Who made a difference, see [plan.Source].
const (
	ByProgram = plan.ByProgram
	ByWorld   = plan.ByWorld
	ByRequest = plan.ByRequest
)

// The types of events, see [plan.EventType].
const (
	EventRun      = plan.EventRun
	EventStart    = plan.EventStart
	EventProgress = plan.EventProgress
	EventDone     = plan.EventDone
	EventHook     = plan.EventHook
	EventWarning  = plan.EventWarning
	EventSummary  = plan.EventSummary
)

// The statuses of work on a resource, see [plan.Status].
const (
	StatusRunning     = plan.StatusRunning
	StatusDone        = plan.StatusDone
	StatusFailed      = plan.StatusFailed
	StatusBlocked     = plan.StatusBlocked
	StatusWaiting     = plan.StatusWaiting
	StatusSkipped     = plan.StatusSkipped
	StatusInterrupted = plan.StatusInterrupted
)

// Whose an object is that no entry has, see [planner.Standing].
const (
	StandingOurs      = planner.StandingOurs
	StandingAdoptable = planner.StandingAdoptable
	StandingForeign   = planner.StandingForeign
	StandingRetained  = planner.StandingRetained
)

// Who asks a run to stop, as [Result.InterruptedBy] says it.
const (
	BySignal = execute.BySignal
	ByCancel = execute.ByCancel
)

// GraphFormat is the version of the graph document that this engine writes and reads.
const GraphFormat = planner.GraphFormat

// LocalStage begins the names of stages that are dev's own.
const LocalStage = plan.LocalStage

// What callers branch on, see the variables of the same names in [plan].
var (
	ErrBlocked      = plan.ErrBlocked
	ErrDeployed     = plan.ErrDeployed
	ErrNotApproved  = plan.ErrNotApproved
	ErrNothingKnown = plan.ErrNothingKnown
	ErrOtherStore   = plan.ErrOtherStore
	ErrProtected    = plan.ErrProtected
	ErrRefused      = plan.ErrRefused
	ErrStale        = plan.ErrStale
)

// ReadGraph reads a graph document. Unknown fields and other formats are errors.
func ReadGraph(data []byte) (*Graph, error) { return planner.ReadGraph(data) }

// ReadPlan reads a plan document. Unknown fields and other formats are errors. What it gives can be shown and applied, with
// the program that it was made of ([ApplyOptions].Graph).
func ReadPlan(data []byte) (*Plan, error) { return plan.ReadPlan(data) }

// GroupProblems returns problems by their cause, those that follow from others last.
func GroupProblems(problems []Problem) []plan.ProblemGroup { return plan.GroupProblems(problems) }

// NewWarm keeps nothing yet.
func NewWarm() *Warm { return planner.NewWarm() }

// Needs are what deploying a plan asks of the access control of providers: looking at everything that is looked at, and doing
// what is planned, each on the object that it is done to. A plan that was read from a document has none.
func Needs(ctx context.Context, p *Plan) []reconcile.Need { return planner.Needs(ctx, p) }

// Reads returns how many calls planning made that read something; 0 for a plan that was read from a document.
func Reads(p *Plan) int64 { return planner.Reads(p) }
