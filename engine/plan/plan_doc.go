package plan

import (
	"errors"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Action is the class of what will be done to one resource.
type Action string

// The classes.
const (
	Create    Action = "create"    // there is none
	Adopt     Action = "adopt"     // there is one of somebody else's, or of nobody's, to be taken over
	Recover   Action = "recover"   // there is one of ours that the record does not know
	Update    Action = "update"    // there is one of ours that differs
	Replace   Action = "replace"   // it differs where nothing can change in place
	Delete    Action = "delete"    // no longer declared, or condemned
	Move      Action = "move"      // the same object under another address
	Forget    Action = "forget"    // retained, not deleted
	Wait      Action = "wait"      // as declared as far as we can; somebody else must act
	Unchanged Action = "unchanged" // as declared
	Blocked   Action = "blocked"   // cannot be planned, or depends on one that cannot
)

// Source says who made a difference.
type Source string

// The sources of a difference.
const (
	ByProgram Source = "program" // the declaration changed since the last deploy
	ByWorld   Source = "world"   // drift: a change outside athanor
	ByRequest Source = "request" // --replace, --force
)

// Reason is one difference behind an action.
type Reason struct {
	Path tree.Path `json:"path"`
	Have any       `json:"have"`
	Want any       `json:"want"`
	// Ref is the reference that the program has there, such as ${dead.arn}, of a creation whose value is known; "" where it has something else.
	Ref      string `json:"ref,omitempty"`
	Source   Source `json:"source,omitempty"`
	Replaces bool   `json:"replaces,omitempty"`
	// Unknown: want is known only later; the action "may" happen.
	Unknown bool `json:"unknown,omitempty"`
	Secret  bool `json:"secret,omitempty"`
	// Call is the operation that applies it, Note what that does beside.
	Call string `json:"call,omitempty"`
	Note string `json:"note,omitempty"`
	// Files are those that differ where the value is made of files, such as code; nil where state does not tell.
	Files *reconcile.FileChanges `json:"files,omitempty"`
}

// Planned is one line of a plan.
type Planned struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Action  Action `json:"action"`
	// May: the action happens only if a value that is not known yet turns out different.
	May bool `json:"may,omitempty"`
	// DeleteFirst: the old object is deleted before the new one is created.
	DeleteFirst bool     `json:"deleteFirst,omitempty"`
	Reasons     []Reason `json:"reasons,omitempty"`
	// Local: it is on this machine, made by the local variant of the kind that the program declares.
	Local bool `json:"local,omitempty"`
	// InDev: it lives in a dev session alone. A plain deploy leaves it as it is: unchanged.
	InDev bool `json:"inDev,omitempty"`
	// Notes are sentences for people: why it vanished, when a renamedFrom may go, "create (not yet visible)".
	Notes []string `json:"notes,omitempty"`
	// Waiting is what somebody else must do.
	Waiting string `json:"waiting,omitempty"`
	// WaitUntil is set when the object may be there and not be visible yet: a run waits for it until then, and acts on what it
	// sees or on its certain absence.
	WaitUntil time.Time `json:"waitUntil,omitzero"`
	// From is the old address of a move, or the identity that is adopted or recovered.
	From string `json:"from,omitempty"`
	// Identity is the physical identity of the live object, "" when there is none.
	Identity string `json:"identity,omitempty"`
	// Generation is that of the object which the action is about.
	Generation uint64          `json:"generation,omitempty"`
	Place      reconcile.Place `json:"place,omitzero"`
	// Needs are the addresses whose work comes before this one's.
	Needs []string `json:"needs,omitempty"`
	// Assets are the digests of what was prepared.
	Assets map[string]string `json:"assets,omitempty"`
	// Steps are the operations that this line announces. Nothing else is done to the resource.
	Steps []operation.Step `json:"steps,omitempty"`
	// Problem is why it is blocked. Cause names the cause in the plan that others have as well, BlockedBy the resource without
	// which this one cannot be planned.
	Problem   string `json:"problem,omitempty"`
	Cause     string `json:"cause,omitempty"`
	BlockedBy string `json:"blockedBy,omitempty"`
	// Confined: what blocks it is its entry in state, which this program cannot read or whose kind it does not know. A
	// deploy goes on without it, and without what needs it.
	Confined bool   `json:"confined,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Source   string `json:"source,omitempty"`
	// Bound says which call of the program bound each row of the prop bindings, by the key of the row.
	Bound map[string]string `json:"bound,omitempty"`
}

// NameObject lets a line name the object of a generation.
func NameObject(p *Planned, g *state.Generation) {
	p.Kind, p.Identity, p.Generation, p.Place = g.Kind, g.Identity, g.Number, g.Location
}

// Plan says what will be done. It is a document: it can be saved, and deploy can be held to it.
type Plan struct {
	Format int    `json:"format"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	// Store is the identity of the store that was planned with, "" before the first run of the stage.
	Store string `json:"store,omitempty"`
	// Destroy: everything goes.
	Destroy bool `json:"destroy,omitempty"`
	// Drift: what changed outside athanor since the last deploy goes back to what it was. Left is what the program
	// changed meanwhile, which is the next deploy's; nothing of it is in Actions.
	Drift bool   `json:"drift,omitempty"`
	Left  []Left `json:"left,omitempty"`
	// Serial is the record's version that was planned on; Digest the graph's.
	Serial  uint64    `json:"serial"`
	Digest  string    `json:"digest"`
	Actions []Planned `json:"actions"`
	Summary Summary   `json:"summary"`
	// Causes are the problems that several lines have in common, those that follow from others last.
	Causes []causes.Cause `json:"causes,omitempty"`
	// Outputs as far as they are known; secret ones masked.
	Outputs map[string]any `json:"outputs,omitempty"`
	// OutputChanges are the outputs that deploying changes.
	OutputChanges []OutputChange `json:"outputChanges,omitempty"`
	// Used are keyed digests of the outputs of other stacks that were planned with, by network/prod.vpcId.
	Used map[string]string `json:"used,omitempty"`
	// Warnings and Violations are shown before approval.
	Warnings   []string    `json:"warnings,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	// Dev: planned in a dev session, where what is InDev is treated like everything else.
	Dev bool `json:"dev,omitempty"`
	// Unobserved: compared with the record only.
	Unobserved bool `json:"unobserved,omitempty"`
	// Recovered: the record was lost, and found again by reading.
	Recovered bool `json:"recovered,omitempty"`
	// Made is when everything had been read.
	Made time.Time `json:"made,omitzero"`

	// work is what the plan was made with, nil for a plan that was read from a document.
	work any
}

// Summary counts.
type Summary struct {
	Created   int `json:"created"`
	Adopted   int `json:"adopted"`
	Recovered int `json:"recovered"`
	Updated   int `json:"updated"`
	Replaced  int `json:"replaced"`
	Moved     int `json:"moved"`
	Deleted   int `json:"deleted"`
	Forgotten int `json:"forgotten"`
	Unchanged int `json:"unchanged"`
	// OutputsChanged counts the outputs that a plan changes.
	OutputsChanged int `json:"outputsChanged,omitempty"`
	// OutputsFailed counts the outputs that a run could not compute. Each keeps the value that state has of it.
	OutputsFailed int `json:"outputsFailed,omitempty"`
	// InDev counts what lives in a dev session alone and was left as it is.
	InDev      int `json:"inDev,omitempty"`
	Waiting    int `json:"waiting"`
	Failed     int `json:"failed"`
	Blocked    int `json:"blocked"`
	NotStarted int `json:"notStarted,omitempty"`
	// Interrupted counts what was cut short where it waited; the next run completes it.
	Interrupted int `json:"interrupted,omitempty"`
}

// Pending reports whether anything is to be done: every class but unchanged and waiting, and every changed output.
func (p *Plan) Pending() bool {
	return len(p.OutputChanges) > 0 || p.Acts()
}

// Changes counts the resources that a run of the plan works on.
func (p *Plan) Changes() int {
	n := 0
	for i := range p.Actions {
		if IsPending(&p.Actions[i]) {
			n++
		}
	}
	return n
}

// Blocked returns the lines of what cannot be planned.
func (p *Plan) Blocked() []Planned {
	var blocked []Planned
	for i := range p.Actions {
		if p.Actions[i].Action == Blocked {
			blocked = append(blocked, p.Actions[i])
		}
	}
	return blocked
}

// Uncompared returns the blocked lines of a drift plan whose resources could not be compared. The other blocked lines say
// what drifted and is not repaired.
func (p *Plan) Uncompared() []Planned {
	return slices.DeleteFunc(p.Blocked(), func(a Planned) bool { return len(a.Reasons) > 0 })
}

// Refusal returns the error for which a run of the plan does not begin, nil when it does: a deploy does not begin with what
// cannot be planned, while a destroy and a repair leave that out.
func (p *Plan) Refusal() error {
	if stops := p.Stops(); len(stops) > 0 && !p.Destroy && !p.Drift {
		return p.BlockedError(stops)
	}
	return nil
}

// BlockedError returns blocked lines of the plan as one error, nil for none.
func (p *Plan) BlockedError(lines []Planned) error {
	if len(lines) == 0 {
		return nil
	}
	shared := map[string]causes.Cause{}
	for _, c := range p.Causes {
		shared[c.ID] = c
	}
	e := &RefusedError{}
	for _, b := range lines {
		err := errors.New(b.Problem)
		if b.Hint != "" {
			err = reconcile.WithHint(err, "%s", b.Hint)
		}
		e.Problems = append(e.Problems, Problem{
			Address: b.Address, Source: b.Source, Err: err, Own: []string{b.Identity}, Follows: b.BlockedBy,
			Cause: b.Cause, Common: shared[b.Cause].Error, CommonHint: shared[b.Cause].Hint,
		})
	}
	return e
}

// Acts reports whether anything is to be done to a resource.
func (p *Plan) Acts() bool { return p.Changes() > 0 }

// Stops returns the blocked lines for which a deploy does not begin: what the program declares, or what would be deleted, cannot
// be planned. Lines that are blocked by their entry alone are none.
func (p *Plan) Stops() []Planned {
	return slices.DeleteFunc(p.Blocked(), func(a Planned) bool { return a.Confined })
}

// Violation is what a policy refuses. A warning is shown and refuses nothing.
type Violation struct {
	Address string `json:"address,omitempty"`
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
}

// OutputChange is one output that a plan changes.
type OutputChange struct {
	Name string `json:"name"`
	// Have and Want are the values, masked where Secret. Nil is none: the output comes, or goes.
	Have any `json:"have"`
	Want any `json:"want"`
	// Unknown: want is known only later; the output may change.
	Unknown bool `json:"unknown,omitempty"`
	Secret  bool `json:"secret,omitempty"`
}

// PlanFormat is the version of the plan document.
const PlanFormat = 1

// Work returns what a plan was made with, for who makes and applies plans; nil for a plan that was read from a document.
func (p *Plan) Work() any { return p.work }

// MadeWith notes what a plan was made with.
func (p *Plan) MadeWith(work any) { p.work = work }
