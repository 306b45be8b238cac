package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Plan is a plan that can be shown: its document as `plan --json` prints it, and what became of it.
type Plan struct {
	ID string
	// Document is the plan as JSON. Its secrets are masked. It is nil where the plan is sealed for who shows it.
	Document []byte
	// Claimed is what a plan without a document does, as its submitter says.
	Claimed []wire.PlanLine
	// Serial is what the plan was made for, and Digest names its document. They count for a submitted plan.
	Serial uint64
	Digest string
	// State is "saved" for a file, else that of a submitted plan ([wire.Plan]).
	State     string
	Submitter string
	Submitted time.Time
	Commit    string
	// Reviews are what was said of it, oldest first.
	Reviews []Review
	// MayApprove and MayReject: the visitor may do so.
	MayApprove, MayReject bool
	// Why is why the visitor may not.
	Why string
	// Deploy is the command that deploys exactly this plan; "" where it cannot be deployed now.
	Deploy string
}

// Review is one approval or rejection.
type Review struct {
	By, Verdict, Comment string
	At                   time.Time
}

// Submitted is a submitted plan as it can be shown without its document.
func Submitted(plan *wire.Plan) Plan {
	shown := Plan{
		ID: plan.ID, Claimed: plan.Lines, Serial: plan.Serial, Digest: plan.Digest, State: plan.State, Submitter: plan.Submitter.Account, Submitted: plan.Submitted,
	}
	if plan.Decider != nil {
		verdict := wire.PlanApproved
		if plan.State == wire.PlanRejected {
			verdict = wire.PlanRejected
		}
		shown.Reviews = []Review{{By: plan.Decider.Account, Verdict: verdict, Comment: string(plan.Note), At: plan.Decided}}
	}
	return shown
}

// planDocument is the part of the engine's plan document that pages show.
type planDocument struct {
	Stack         string         `json:"stack"`
	Stage         string         `json:"stage"`
	Destroy       bool           `json:"destroy"`
	Drift         bool           `json:"drift"`
	Serial        uint64         `json:"serial"`
	Digest        string         `json:"digest"`
	Made          time.Time      `json:"made"`
	Actions       []planned      `json:"actions"`
	Summary       map[string]int `json:"summary"`
	OutputChanges []struct {
		Name   string `json:"name"`
		Have   any    `json:"have"`
		Want   any    `json:"want"`
		Secret bool   `json:"secret"`
	} `json:"outputChanges"`
	Warnings   []string `json:"warnings"`
	Violations []struct {
		Policy  string `json:"policy"`
		Message string `json:"message"`
		Address string `json:"address"`
		Warning bool   `json:"warning"`
	} `json:"violations"`
}

// planned is one line of a plan.
type planned struct {
	Address   string   `json:"address"`
	Kind      string   `json:"kind"`
	Action    string   `json:"action"`
	May       bool     `json:"may"`
	Notes     []string `json:"notes"`
	Waiting   string   `json:"waiting"`
	From      string   `json:"from"`
	Identity  string   `json:"identity"`
	Problem   string   `json:"problem"`
	BlockedBy string   `json:"blockedBy"`
	Hint      string   `json:"hint"`
	Source    string   `json:"source"`
	Reasons   []reason `json:"reasons"`
}

// reason is one difference behind a line.
type reason struct {
	Path     string `json:"path"`
	Have     any    `json:"have"`
	Want     any    `json:"want"`
	Source   string `json:"source"`
	Replaces bool   `json:"replaces"`
	Unknown  bool   `json:"unknown"`
	Secret   bool   `json:"secret"`
	Note     string `json:"note"`
}

// Verb is what is done.
func (a *planned) Verb() verb { return verbOf(a.Action) }

// Old is the present value; "" where there is none.
func (r *reason) Old() string { return r.text(r.Have, false) }

// New is the value that is wanted; "" where there is none.
func (r *reason) New() string { return r.text(r.Want, r.Unknown) }

func (r *reason) text(v any, unknown bool) string {
	switch {
	case r.Secret && v != nil:
		return "(secret)"
	case v == nil && unknown:
		return "known later"
	case v == nil:
		return ""
	}
	text, isText := v.(string)
	if !isText {
		encoded, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		text = string(encoded)
	}
	if text = references.Replace(text); unknown {
		text += ", known later"
	}
	return text
}

// references writes references to other resources as programs do; inside of texts the document has them in brackets.
var references = strings.NewReplacer("⟦", "${", "⟧", "}")

// planBody is one plan.
type planBody struct {
	Plan

	Document  planDocument
	Drift     []planned // what was changed outside athanor
	Changes   []planned
	Blocked   []planned
	Unchanged []string
	Counts    []string
	Deletes   []string
	Replaces  []string
	Stale     bool // the state has moved since, before the plan was deployed
	Sealed    bool // values and reasons are not known here
	Check     string
	Status    status
	At        *moment
	Reviewed  []reviewLine
	Stage     string
	URL       string
}

type reviewLine struct {
	Review

	Status status
	When   *moment
}

func planStatus(state string) status {
	switch state {
	case wire.PlanApproved, wire.PlanUsed:
		return status{"ok", "ok", state}
	case wire.PlanRejected:
		return status{"bad", "bad", state}
	case wire.PlanWaiting:
		return status{"", "clock", "waits for approval"}
	case wire.PlanExpired:
		return status{"warn", "clock", state}
	default:
		return status{"", "wait", state}
	}
}

// summaries are the actions as the summary of a plan counts them.
var summaries = map[string]string{
	"create": "created", "adopt": "adopted", "recover": "recovered", "update": "updated", "replace": "replaced", "move": "moved", "delete": "deleted",
	"forget": "forgotten", "blocked": "blocked", "unchanged": "unchanged",
}

// claimed is what is known of a plan whose document is sealed. It has no values and no reasons.
func (p *Plan) claimed() planDocument {
	document := planDocument{Serial: p.Serial, Digest: p.Digest, Summary: map[string]int{}}
	for _, line := range p.Claimed {
		document.Actions = append(document.Actions, planned{Address: string(line.Address), Kind: line.Kind, Action: line.Action})
		document.Summary[summaries[line.Action]]++
	}
	return document
}

// body sorts the lines of a plan.
func (p *Plan) body(v *visit, serial uint64) *planBody {
	b := &planBody{Plan: *p, Status: planStatus(p.State), At: momentOf(p.Submitted, v.now)}
	if b.Sealed = p.Document == nil; b.Sealed {
		b.Document = p.claimed()
	} else if err := json.Unmarshal(p.Document, &b.Document); err != nil {
		b.Blocked = []planned{{Action: "blocked", Problem: "the plan cannot be read"}}
	}
	b.Stale = b.Document.Serial != serial && p.State != wire.PlanUsed
	if b.Sealed {
		b.Check = shellCommand("athanor", "approve", p.ID, "--stage", v.stage.Name)
	}
	if p.State == wire.PlanApproved && p.Deploy == "" {
		b.Deploy = shellCommand("athanor", "deploy", "--approved", p.ID, "--stage", v.stage.Name)
	}
	for _, a := range b.Document.Actions {
		byCloud := len(a.Reasons) > 0
		for _, r := range a.Reasons {
			byCloud = byCloud && r.Source == "world"
		}
		switch {
		case a.Action == "unchanged":
			b.Unchanged = append(b.Unchanged, a.Address)
			continue
		case a.Action == "blocked":
			b.Blocked = append(b.Blocked, a)
		case byCloud:
			b.Drift = append(b.Drift, a)
		default:
			b.Changes = append(b.Changes, a)
		}
		switch a.Action {
		case "delete":
			b.Deletes = append(b.Deletes, a.Address)
		case "replace":
			b.Replaces = append(b.Replaces, a.Address)
		}
	}
	for _, w := range [][2]string{
		{"created", "to create"},
		{"adopted", "to adopt"},
		{"recovered", "to recover"},
		{"updated", "to update"},
		{"replaced", "to replace"},
		{"moved", "to move"},
		{"deleted", "to delete"},
		{"forgotten", "to remove from state"},
		{"blocked", "blocked"},
		{"unchanged", "unchanged"},
	} {
		if n := b.Document.Summary[w[0]]; n > 0 {
			b.Counts = append(b.Counts, thousands(n)+" "+w[1])
		}
	}
	for _, r := range p.Reviews {
		line := reviewLine{r, planStatus(r.Verdict), momentOf(r.At, v.now)}
		b.Reviewed = append(b.Reviewed, line)
	}
	return b
}

// plansBody lists plans.
type plansBody struct {
	Plans   []*planBody
	Service bool // plans are submitted here
}

func (p *Page) plansOf(v *visit, head *stageHead) ([]*planBody, error) {
	if p.settings.Plans == nil {
		return nil, nil
	}
	plans, err := p.settings.Plans(v.Request, v.visitor, v.stage)
	if err != nil {
		return nil, err
	}
	var all []*planBody
	for i := range plans {
		b := plans[i].body(v, head.Serial)
		for j := range b.Blocked {
			b.Blocked[j].Problem = p.settings.Plainly(b.Blocked[j].Problem)
		}
		for j, warning := range b.Document.Warnings {
			b.Document.Warnings[j] = p.settings.Plainly(warning)
		}
		b.Stage, b.URL = v.stage.Name, head.URL()+"/plans/"+url.PathEscape(wire.Segment(plans[i].ID))
		all = append(all, b)
	}
	return all, nil
}

// headAndPlans reads a stage and its plans. A stage that was never deployed may have plans that wait.
func (p *Page) headAndPlans(v *visit) (*stageHead, []*planBody, error) {
	head, _, missing := p.head(v)
	if head == nil {
		if _, never := errors.AsType[*problem](missing); !never {
			return nil, nil, missing
		}
		head = p.headOf(v, &statestore.Snapshot{Stage: v.stage}, nil)
	}
	plans, err := p.plansOf(v, head)
	if err == nil && len(plans) == 0 {
		err = missing
	}
	return head, plans, err
}

func (p *Page) plans(v *visit) error {
	head, plans, err := p.headAndPlans(v)
	if err != nil {
		return err
	}
	body := &plansBody{Plans: plans, Service: p.settings.DecidePlan != nil}
	f := p.stageFrame(v, head, "Plans", "plans")
	f.Body = body
	return p.show(v, "plans", f)
}

func (p *Page) findPlan(v *visit) (*stageHead, *planBody, error) {
	id, err := wire.Name(v.PathValue("plan"))
	if err != nil {
		return nil, nil, notFound("There is no such plan", "")
	}
	head, plans, err := p.headAndPlans(v)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range plans {
		if b.ID == id {
			return head, b, nil
		}
	}
	return nil, nil, notFound(v.stage.String()+" has no plan "+id, "")
}

func (p *Page) plan(v *visit) error {
	head, body, err := p.findPlan(v)
	if err != nil {
		return err
	}
	f := p.stageFrame(v, head, "Plan "+body.ID, "plans")
	f.Crumb, f.Body = "plan "+body.ID, body
	return p.show(v, "plan", f)
}

// decidePlan approves or rejects the plan that the visitor was shown.
func (p *Page) decidePlan(v *visit) error {
	_, body, err := p.findPlan(v)
	if err != nil {
		return err
	}
	verdict := v.PostFormValue("do")
	if p.settings.DecidePlan == nil || (verdict != "approve" || !body.MayApprove) && (verdict != "reject" || !body.MayReject) {
		return &problem{http.StatusForbidden, "You may not decide about this plan", body.Why, ""}
	}
	decision := wire.Decision{Digest: v.PostFormValue("digest"), Approve: verdict == "approve", Note: wire.Text(v.PostFormValue("comment"))}
	if err := p.settings.DecidePlan(v.Request, v.visitor, v.stage, body.ID, decision); err != nil {
		return err
	}
	http.Redirect(v.writer, v.Request, body.URL, http.StatusSeeOther)
	return nil
}
