package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

const (
	auditSubmit  = "plan.submit"
	auditApprove = "plan.approve"
	auditReject  = "plan.reject"
	auditRule    = "stage.rule"

	rulesFolder = "service.rules"
	keptPlans   = 50
	// ruleRest is how long after a change of the rule of a stage who changed it approves nothing there.
	ruleRest = 24 * time.Hour
)

// How long an approval is good for: by default, and at most.
const (
	ApprovalLife     = 24 * time.Hour
	MostApprovalLife = 30 * 24 * time.Hour
)

// storedRule is the rule of a stage, with who changed what it says of approvals.
type storedRule struct {
	wire.StageRule

	By identity  `json:"by"`
	At time.Time `json:"at"`
	// Off is who asked to demand no approvals any more; nil: nobody. Another admin has to ask the same.
	Off *askedOff `json:"off,omitempty"`
}

// askedOff is a wish of one admin.
type askedOff struct {
	By identity  `json:"by"`
	At time.Time `json:"at"`
}

// identity is who acts, for the rule that nobody approves their own plan: the subject of a person, the token, and who created
// the token.
type identity struct {
	Subject string `json:"subject,omitempty"`
	Token   string `json:"token"`
	Maker   string `json:"maker,omitempty"`
}

func (c *caller) identity() identity { return identity{c.token.Subject, c.token.ID, c.token.Maker} }

// same reports whether two identities may be of one person.
func (i identity) same(other identity) bool {
	mine := []string{i.Subject, i.Token, i.Maker}
	for _, one := range []string{other.Subject, other.Token, other.Maker} {
		if one != "" && slices.Contains(mine, one) {
			return true
		}
	}
	return false
}

// storedPlan is a submitted plan as it is stored.
type storedPlan struct {
	wire.Plan

	By identity `json:"by"`
}

func plansFolder(stage statestore.Stage) string {
	return "service.plans/" + wire.Segment(stage.Stack) + "/" + wire.Segment(stage.Name)
}

func ruleKey(stage statestore.Stage) string {
	return wire.Segment(stage.Stack) + "/" + wire.Segment(stage.Name)
}

// readRule reads the rule of a stage.
func (s *Service) readRule(ctx context.Context, stage statestore.Stage) (rule storedRule, err error) {
	err = s.store.ReadFolder(ctx, rulesFolder, func(f statestore.Folder) error {
		rule = storedRule{}
		data, err := f.Get(ruleKey(stage))
		if err != nil || data == nil {
			return err
		}
		return json.Unmarshal(data, &rule)
	}, ruleKey(stage))
	return rule, err
}

func (s *Service) showRule(in *request) (any, error) {
	rule, err := s.readRule(in.Context(), in.stage)
	return rule.StageRule, err
}

// setRule changes the rule of a stage. Approvals that are demanded are given up by two admins, where there are two: the first one's
// request is kept for a day.
func (s *Service) setRule(in *request) (any, error) {
	var change wire.StageRuleChange
	if err := decode(in, &change); err != nil {
		return nil, err
	}
	retention, err := retentionOf(change.Retention)
	if err != nil {
		return nil, err
	}
	others := false
	if change.Approval != nil && !*change.Approval {
		if others, err = s.tokens.otherAdmin(in.Context(), in.caller.identity(), in.stage); err != nil {
			return nil, err
		}
	}
	me, now := in.caller.identity(), s.settings.Clock().UTC()
	var rule storedRule
	refused := false
	err = s.store.ChangeFolder(in.Context(), rulesFolder, func(f statestore.Folder) (bool, error) {
		rule, refused = storedRule{}, false
		data, err := f.Get(ruleKey(in.stage))
		if err == nil && data != nil {
			err = json.Unmarshal(data, &rule)
		}
		if err != nil {
			return false, err
		}
		if change.Approval != nil {
			asked := rule.Off != nil && !rule.Off.By.same(me) && now.Sub(rule.Off.At) < ruleRest
			if refused = rule.Approval && others && !asked; refused {
				rule.Off = &askedOff{me, now}
			} else {
				rule.Approval, rule.By, rule.At, rule.Off = *change.Approval, me, now, nil
			}
		}
		if change.Private != nil {
			rule.Private = *change.Private
		}
		if change.Retention != "" {
			rule.Retention = ""
			if retention > 0 {
				rule.Retention = retention.String()
			}
		}
		if data, err = json.Marshal(rule); err != nil {
			return false, err
		}
		return true, f.Put(ruleKey(in.stage), data)
	}, ruleKey(in.stage))
	if err != nil {
		return nil, err
	}
	var said []string
	switch {
	case refused:
		said = append(said, "approval false asked for")
	case change.Approval != nil:
		said = append(said, fmt.Sprint("approval ", *change.Approval))
	}
	if change.Private != nil {
		said = append(said, fmt.Sprint("private ", *change.Private))
	}
	if change.Retention != "" {
		said = append(said, fmt.Sprint("retention ", retention))
	}
	err = s.audit(in.Context(), auditRule+" "+in.stage.String()+" "+now.String(), s.entry(in, auditRule, strings.Join(said, ", ")))
	if err == nil && refused {
		err = notApproved("a second admin has to switch approvals off, within a day", "athanor stage set approval=off, by another admin")
	}
	return rule.StageRule, err
}

// retentionOf reads for how long a stage demands that the audit log is kept: 0 for no demand.
func retentionOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	kept, err := parseDuration(text)
	if err != nil || kept != 0 && kept < LeastAuditKept {
		return 0, &statestore.InvalidError{Rule: fmt.Sprintf("a retention is a duration of %d days at least, or 0s", LeastAuditKept/(24*time.Hour))}
	}
	return kept, nil
}

// retention is the longest time for which a stage of a stack demands that the audit log is kept: the chain is of the whole stack, and no
// stage of it could keep less than another. A rule that cannot be read is an error: it may demand more.
func (s *Service) retention(ctx context.Context, stack string) (longest time.Duration, err error) {
	prefix := wire.Segment(stack) + "/"
	err = s.store.ReadFolder(ctx, rulesFolder, func(f statestore.Folder) error {
		longest = 0
		for key, data := range f.Documents(prefix, "") {
			var rule storedRule
			err := json.Unmarshal(data, &rule)
			var kept time.Duration
			if err == nil {
				kept, err = retentionOf(rule.Retention)
			}
			if err != nil {
				return fmt.Errorf("the rule of %s: %w", key, err)
			}
			longest = max(longest, kept)
		}
		return nil
	})
	return longest, err
}

// private says which stages show the page no more than addresses, kinds and statuses.
func (s *Service) private(ctx context.Context) (func(statestore.Stage) bool, error) {
	hidden := map[string]bool{}
	err := s.store.ReadFolder(ctx, rulesFolder, func(f statestore.Folder) error {
		clear(hidden)
		for key, data := range f.Documents("", "") {
			var rule storedRule
			hidden[key] = json.Unmarshal(data, &rule) != nil || rule.Private // one that cannot be read may be private
		}
		return nil
	})
	return func(stage statestore.Stage) bool { return hidden[ruleKey(stage)] }, err
}

// submitPlan keeps a plan until somebody decides. The same document is one plan.
func (s *Service) submitPlan(in *request) (any, error) {
	var body wire.NewPlan
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	if len(body.Document) == 0 {
		return nil, &statestore.InvalidError{Rule: "a plan has a document"}
	}
	raw := make([]byte, 6)
	_, _ = rand.Read(raw) // it never fails
	plan := storedPlan{wire.Plan{
		ID: hex.EncodeToString(raw), Digest: wire.DigestOf(body.Document), NewPlan: body, State: wire.PlanWaiting, Submitter: s.author(in),
		Submitted: s.settings.Clock().UTC(),
	}, in.caller.identity()}
	err := s.store.ChangeFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) (bool, error) {
		all, err := readPlans(f)
		if err != nil {
			return false, err
		}
		for _, old := range all {
			if old.Digest == plan.Digest { // the answer was lost
				plan = old
				return false, nil
			}
		}
		for _, old := range all[min(len(all), keptPlans-1):] {
			if err := f.Delete(old.ID); err != nil {
				return false, err
			}
		}
		return true, putPlan(f, &plan)
	})
	if err == nil {
		err = s.audit(in.Context(), auditSubmit+" "+plan.ID, s.entry(in, auditSubmit, plan.ID))
	}
	return s.shownPlan(&plan), err
}

// readPlans lists plans, the newest first.
func readPlans(f statestore.Folder) ([]storedPlan, error) {
	var all []storedPlan
	for id, data := range f.Documents("", "") {
		var plan storedPlan
		if err := json.Unmarshal(data, &plan); err != nil {
			return nil, fmt.Errorf("plan %s: %w", id, err)
		}
		all = append(all, plan)
	}
	slices.SortStableFunc(all, func(a, b storedPlan) int { return b.Submitted.Compare(a.Submitted) })
	return all, nil
}

func putPlan(f statestore.Folder, plan *storedPlan) error {
	data, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return f.Put(plan.ID, data)
}

// shownPlan is a plan with the state that it has now.
func (s *Service) shownPlan(plan *storedPlan) wire.Plan {
	shown := plan.Plan
	if shown.State == wire.PlanApproved && s.settings.Clock().Sub(shown.Decided) >= s.settings.ApprovalLife {
		shown.State = wire.PlanExpired
	}
	return shown
}

func (s *Service) listPlans(in *request) (any, error) {
	answer := wire.Plans{Plans: []wire.Plan{}}
	err := s.store.ReadFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) error {
		answer.Plans = answer.Plans[:0]
		all, err := readPlans(f)
		for i := range all {
			answer.Plans = append(answer.Plans, s.shownPlan(&all[i]))
		}
		return err
	})
	return answer, err
}

// getPlan reads a plan of a folder.
func getPlan(f statestore.Folder, id string) (*storedPlan, error) {
	data, err := f.Get(id)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "there is no such plan", "")
	}
	plan := new(storedPlan)
	return plan, json.Unmarshal(data, plan)
}

func (s *Service) showPlan(in *request) (any, error) {
	var answer wire.Plan
	err := s.store.ReadFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) error {
		plan, err := getPlan(f, in.PathValue("plan"))
		if err == nil {
			answer = s.shownPlan(plan)
		}
		return err
	})
	return answer, err
}

// mayDecide returns why a caller may not approve or reject a plan, whatever state it is in; nil where they may.
func mayDecide(who *caller, rule *storedRule, plan *storedPlan, approve bool, now time.Time) error {
	switch me := who.identity(); {
	case !who.token.Person:
		return notApproved("only a person who signed in decides about plans", "athanor login URL --oidc")
	case approve && rule.By.same(me) && now.Sub(rule.At) < ruleRest:
		return notApproved("the rule of the stage was changed by you within the last day", "ask somebody else to approve")
	case approve && plan.By.same(me):
		return notApproved("the plan was submitted by you, or by a token of yours", "ask somebody else to approve")
	}
	return nil
}

// decide approves or rejects a plan. Only a person does, who neither submitted it, nor created the token that did, nor changed
// the rule of the stage within a day.
func (s *Service) decide(in *request) (any, error) {
	var body wire.Decision
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	rule, err := s.readRule(in.Context(), in.stage)
	if err != nil {
		return nil, err
	}
	now := s.settings.Clock().UTC().Truncate(time.Second)
	var plan *storedPlan
	err = s.store.ChangeFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) (bool, error) {
		if plan, err = getPlan(f, in.PathValue("plan")); err != nil {
			return false, err
		}
		want := wire.PlanRejected
		if body.Approve {
			want = wire.PlanApproved
		}
		if err := mayDecide(in.caller, &rule, plan, body.Approve, now); err != nil {
			return false, err
		}
		switch {
		case plan.Digest != body.Digest:
			return false, &statestore.InvalidError{Rule: "the digest is that of another plan"}
		case plan.State == want && plan.Decider != nil && plan.Decider.Token == in.caller.token.ID:
			return false, nil // the answer was lost
		case plan.State != wire.PlanWaiting:
			return false, &statestore.InvalidError{Rule: "the plan is decided: it is " + plan.State}
		}
		plan.State, plan.Decided, plan.Note = want, now, body.Note
		plan.Decider = new(s.author(in))
		return true, putPlan(f, plan)
	})
	if err != nil {
		return nil, err
	}
	action := auditReject
	if body.Approve {
		action = auditApprove
	}
	return s.shownPlan(plan), s.audit(in.Context(), action+" "+plan.ID, s.entry(in, action, plan.ID))
}

func notApproved(why, what string) error {
	p := wire.NewProblem(http.StatusForbidden, wire.CodeNotApproved, "it is not approved", why)
	p.Hint = what
	return p
}

// Permit returns an error where a stage takes only runs of approved plans: a protocol that has no plans cannot run there.
func (s *Service) Permit(ctx context.Context, stage statestore.Stage) error {
	rule, err := s.readRule(ctx, stage)
	if err == nil && rule.Approval {
		err = notApproved("the stage takes only runs of plans that somebody else has approved", "")
	}
	return err
}

// reservation is an approved plan that a run is about to use.
type reservation struct {
	// serial is what the stage must have when the run begins; nil for a run that goes on for one that was cut.
	serial *uint64
	before storedPlan // what the plan was
}

// permitted reserves the approved plan of a registered run, where the stage demands one; nil elsewhere. A run that goes on for
// one that was cut needs no other approval, as long as no other run came in between.
func (s *Service) permitted(in *request, id, ended string) (*reservation, error) {
	rule, err := s.readRule(in.Context(), in.stage)
	if err != nil || !rule.Approval {
		return nil, err
	}
	if id == "" {
		return nil, notApproved("the stage takes only runs of plans that somebody else has approved",
			"athanor plan --submit, and athanor deploy --approved ID when it is approved")
	}
	snap, err := s.store.Load(in.Context(), in.stage)
	if err != nil {
		return nil, err
	}
	if h := snap.Holder; h != nil && h.Run != in.run && h.Run != ended {
		return nil, &statestore.HeldError{Stage: in.stage, Holder: *h}
	}
	runs, err := s.store.Runs(in.Context(), in.stage, 1)
	if err != nil {
		return nil, err
	}
	var reserved *reservation
	err = s.store.ChangeFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) (bool, error) {
		plan, err := getPlan(f, id)
		if err != nil {
			return false, err
		}
		reserved = &reservation{before: *plan}
		state := s.shownPlan(plan).State
		cut := len(runs) > 0 && runs[0].ID == string(plan.Run) && runs[0].State != statestore.Succeeded
		switch {
		case state == wire.PlanUsed && string(plan.Run) == in.run:
			return false, nil // the answer was lost
		case state == wire.PlanUsed && cut && s.settings.Clock().Sub(plan.Decided) < s.settings.ApprovalLife:
		case state == wire.PlanApproved:
			reserved.serial = &reserved.before.Serial
		default:
			return false, notApproved("plan "+id+" is "+state, "athanor plan --submit makes a new one")
		}
		plan.State, plan.Run = wire.PlanUsed, wire.Text(in.run)
		return true, putPlan(f, plan)
	})
	return reserved, err
}

// unused gives a plan back whose run did not begin.
func (s *Service) unused(in *request, reserved *reservation) error {
	return s.store.ChangeFolder(in.Context(), plansFolder(in.stage), func(f statestore.Folder) (bool, error) {
		plan, err := getPlan(f, reserved.before.ID)
		if err != nil || string(plan.Run) != in.run || string(reserved.before.Run) == in.run {
			return false, err
		}
		return true, putPlan(f, &reserved.before)
	})
}
