package service_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// signedIn is the token of a person of the platform group.
func (s *served) signedIn(people *issuer, name string) string {
	s.Helper()
	claims := people.job(map[string]any{"aud": "athanor", "sub": name, "groups": "platform", "nonce": "n", "email": name + "@acme.example"})
	code, token := s.signIn(people.sign(rs256, claims), "n")
	if code != http.StatusCreated {
		s.Fatalf("%s: %d", name, code)
	}
	return token.Secret
}

// want sends one request, holds its answer to a status, and reads it.
func (s *served) want(status int, method, path, token, body string, into any) {
	s.Helper()
	code, _, text := s.send(method, path, token, body)
	if code != status {
		s.Errorf("%s %s: %d %s, want %d", method, path, code, text, status)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			s.Errorf("%s %s: %v: %s", method, path, err, text)
		}
	}
}

// submit submits a plan for a serial.
func (s *served) submit(token, document string, serial uint64) (plan wire.Plan) {
	s.Helper()
	body, _ := json.Marshal(wire.NewPlan{Serial: serial, Document: []byte(document), Lines: []wire.PlanLine{{Address: "queue", Action: "create", Kind: "aws:sqs:Queue"}}})
	s.want(http.StatusCreated, "POST", stageURL+"/plans", token, string(body), &plan)
	return plan
}

func (s *served) decide(status int, token string, plan wire.Plan, approve bool) {
	s.Helper()
	body, _ := json.Marshal(wire.Decision{Digest: plan.Digest, Approve: approve})
	s.want(status, "POST", stageURL+"/plans/"+plan.ID+"/decision", token, string(body), nil)
}

// run registers and starts a run of a plan, and returns its token.
func (s *served) run(status int, token, run, plan string) wire.Lease {
	s.Helper()
	s.want(http.StatusCreated, "POST", stageURL+"/runs", token, fmt.Sprintf(`{"run":%q,"plan":%q,"client":{"host":"h","pid":1}}`, run, plan), nil)
	nonce := base64.StdEncoding.EncodeToString(make([]byte, 32))
	var lease wire.Lease
	s.want(status, "POST", stageURL+"/runs/"+run+"/start", token, fmt.Sprintf(`{"nonce":%q}`, nonce), &lease)
	return lease
}

// end finishes a run, with a change of a row where one is named.
func (s *served) end(lease wire.Lease, address string) {
	s.Helper()
	batch := wire.Batch{Epoch: lease.Epoch, Seq: 1, Finish: "succeeded"}
	if address != "" {
		full := wire.FromBatch(lease.Epoch, &statestore.Batch{Seq: 1, Finish: statestore.Succeeded, Put: []statestore.Row{row(address, 0)}})
		batch = full
	}
	body, _ := json.Marshal(batch)
	s.want(http.StatusOK, "POST", stageURL+"/runs/"+string(lease.Run)+"/complete", lease.Token, string(body), nil)
}

// TestApprovalLife: an approval is good for as long as the service says.
func TestApprovalLife(t *testing.T) {
	t.Parallel()
	people, jobs := newIssuer(t), newIssuer(t)
	var later atomic.Int64
	s := serve(t, people.takes(jobs), func(set *service.Settings) {
		set.ApprovalLife = time.Hour
		set.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	ann, boss := s.signedIn(people, "ann"), newToken(t, s.store)
	ci := newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"})
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":true}`, nil)
	plan := s.submit(ci, "sealed", 0)
	s.decide(http.StatusOK, ann, plan, true)
	for at, want := range map[time.Duration]string{59 * time.Minute: "approved", time.Hour: "expired"} {
		later.Store(int64(at))
		var shown wire.Plan
		if s.want(http.StatusOK, "GET", stageURL+"/plans/"+plan.ID, ci, "", &shown); shown.State != want {
			t.Errorf("after %v it is %s, want %s", at, shown.State, want)
		}
	}
	later.Store(int64(time.Hour))
	s.run(http.StatusForbidden, ci, "r1", plan.ID)
}

// TestApprovals: a stage with the rule takes only runs of a plan that another person has approved, once and for the state that
// it was made for.
func TestApprovals(t *testing.T) {
	t.Parallel()
	people, jobs := newIssuer(t), newIssuer(t)
	var later atomic.Int64
	s := serve(t, people.takes(jobs), func(set *service.Settings) {
		set.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	ann, bob := s.signedIn(people, "ann"), s.signedIn(people, "bob")
	boss := newToken(t, s.store)
	ci := newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"})
	s.want(http.StatusForbidden, "PUT", stageURL+"/rule", ci, `{"approval":true}`, nil)
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":true}`, nil)
	var rule wire.StageRule
	if s.want(http.StatusOK, "GET", stageURL+"/rule", ci, "", &rule); !rule.Approval {
		t.Error("the rule is not set")
	}

	s.run(http.StatusForbidden, ci, "r1", "")
	s.run(http.StatusForbidden, boss, "r2", "") // not even an admin
	s.run(http.StatusNotFound, ci, "r3", "0123456789ab")
	plan := s.submit(ci, "sealed 1", 0)
	if again := s.submit(ci, "sealed 1", 0); again.ID != plan.ID || plan.State != "waiting" || plan.Submitter.Account != "token ci" {
		t.Errorf("submitted again: %+v, %+v", plan, again)
	}
	s.run(http.StatusForbidden, ci, "r4", plan.ID)
	s.decide(http.StatusForbidden, ci, plan, true)   // a machine
	s.decide(http.StatusForbidden, boss, plan, true) // a token of nobody in particular
	other := plan
	other.Digest = wire.DigestOf([]byte("another"))
	s.decide(http.StatusUnprocessableEntity, ann, other, true)
	for range 2 {
		s.decide(http.StatusOK, ann, plan, true)
	}
	s.decide(http.StatusUnprocessableEntity, bob, plan, false)
	lease := s.run(http.StatusOK, ci, "r5", plan.ID)
	if again := s.run(http.StatusOK, ci, "r5", plan.ID); again.Token != lease.Token {
		t.Error("a start that was repeated")
	}
	s.want(http.StatusForbidden, "POST", stageURL+"/runs/r5/unlock", ci, `{}`, nil)
	s.end(lease, "queue")
	s.run(http.StatusForbidden, ci, "r6", plan.ID) // good once

	// For one state.
	plan = s.submit(ci, "sealed 2", 0)
	s.decide(http.StatusOK, bob, plan, true)
	s.run(http.StatusForbidden, ci, "r7", plan.ID)
	if held, err := s.store.Load(t.Context(), prod); err != nil || held.Holder != nil {
		t.Errorf("what was refused holds the stage: %+v, %v", held.Holder, err)
	}

	// Nobody approves their own plan, by whatever token of theirs.
	plan = s.submit(ann, "sealed 3", 1)
	s.decide(http.StatusForbidden, ann, plan, true)
	s.decide(http.StatusForbidden, s.signedIn(people, "ann"), plan, true)
	var made wire.Token
	s.want(http.StatusCreated, "POST", "/v1/tokens", ann, `{"name":"anns-robot","grants":[{"role":"deployer","on":"shop/*"}]}`, &made)
	plan = s.submit(made.Secret, "sealed 4", 1)
	s.decide(http.StatusForbidden, ann, plan, true)
	s.decide(http.StatusOK, ann, plan, false) // but rejects it
	s.run(http.StatusForbidden, ci, "r8", plan.ID)

	// A run that was cut goes on under its plan; nobody else's run in between.
	plan = s.submit(ci, "sealed 5", 1)
	s.decide(http.StatusOK, ann, plan, true)
	lease = s.run(http.StatusOK, ci, "r9", plan.ID)
	s.run(http.StatusConflict, ci, "r10", plan.ID) // while it may still run
	s.want(http.StatusOK, "POST", stageURL+"/runs/r9/unlock", boss, `{}`, nil)
	lease = s.run(http.StatusOK, ci, "r11", plan.ID)
	s.end(lease, "")
	s.run(http.StatusForbidden, ci, "r12", plan.ID)

	// For a day.
	plan = s.submit(ci, "sealed 6", 1)
	s.decide(http.StatusOK, ann, plan, true)
	later.Store(int64(24 * time.Hour))
	s.run(http.StatusForbidden, ci, "r14", plan.ID)
	var plans wire.Plans
	if s.want(http.StatusOK, "GET", stageURL+"/plans", ci, "", &plans); len(plans.Plans) != 6 || plans.Plans[0].State != "expired" {
		t.Errorf("plans %+v", plans)
	}
	var shown wire.Plan
	if s.want(http.StatusOK, "GET", stageURL+"/plans/"+plan.ID, ci, "", &shown); string(shown.Document) != "sealed 6" {
		t.Errorf("plan %+v", shown)
	}
	s.want(http.StatusNotFound, "GET", stageURL+"/plans/nothing", ci, "", nil)
	s.want(http.StatusForbidden, "POST", stageURL+"/plans", newToken(t, s.store, wire.Grant{Role: "reader", On: "*/*"}), `{}`, nil)
	s.want(http.StatusUnprocessableEntity, "POST", stageURL+"/plans", ci, `{"serial":"1","document":"","lines":[]}`, nil)

	elsewhere := newToken(t, s.store, wire.Grant{Role: "admin", On: "other/*"})
	s.want(http.StatusForbidden, "GET", stageURL+"/plans", elsewhere, "", nil)
	s.want(http.StatusForbidden, "GET", stageURL+"/rule", elsewhere, "", nil)

	// Who changed the rule within a day approves nothing there.
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":false}`, nil)
	s.end(s.run(http.StatusOK, ci, "r15", ""), "")
	later.Store(0)
	cat := s.signedIn(people, "cat")
	s.want(http.StatusOK, "PUT", stageURL+"/rule", cat, `{"approval":true}`, nil)
	plan = s.submit(ci, "sealed 7", 1)
	s.decide(http.StatusForbidden, cat, plan, true)
}
