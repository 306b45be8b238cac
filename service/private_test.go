package service_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestPrivateStage: of a private stage no page shows more than addresses, kinds and statuses, also none that was shown whole before;
// and what goes on is shown again when it is private no longer. Commands read it as ever.
func TestPrivateStage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	boss := newToken(t, s.store)
	client := s.with(boss)
	lease, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "r1", Command: "deploy", User: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	const hush = "hush-hush"
	r := row("orders", 0)
	r.Generations[0].Identity, r.Generations[0].Place = "https://"+hush, statestore.Place{Provider: "p", Account: hush, Region: hush}
	var events []statestore.Event
	for i, e := range []map[string]any{
		{"type": "start", "address": "orders", "kind": "k", "action": "update"},
		{"type": "progress", "address": "orders", "kind": "k", "action": "update", "note": "waiting for " + hush},
		{"type": "done", "address": "orders", "kind": "k", "action": "update", "status": "done", "paths": []string{hush}, "note": hush, "elapsed": 2},
		{"type": "done", "address": "jobs", "kind": "k", "action": "create", "status": "failed", "error": "AccessDenied " + hush, "hint": hush, "cause": hush},
		{"type": "warning", "note": "a warning about " + hush},
	} {
		e["time"] = time.Now()
		body, _ := json.Marshal(e)
		events = append(events, statestore.Event{Seq: uint64(i + 1), Body: body})
	}
	if _, err := client.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{r}, Events: events, Finish: statestore.Failed}); err != nil {
		t.Fatal(err)
	}
	planner := newToken(t, s.store, wire.Grant{Role: "planner", On: "*/*"})
	drift := wire.NewDrift{Serial: 1, Drifted: 1, Lines: []wire.DriftLine{{Address: "orders", Kind: "k", Action: "update", Paths: []wire.Text{hush}}}}
	report, _ := json.Marshal(drift)
	s.want(http.StatusOK, "PUT", stageURL+"/drift", planner, string(report), nil)

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, s.url, &http.Client{Jar: jar}}
	if status, _ := b.post("/", "/signin", url.Values{"token": {boss}}); status != http.StatusOK {
		t.Fatalf("sign in: %d", status)
	}
	const stage = "/s/shop/prod"
	shows := map[string]bool{ // whether it shows something of a stage that is not private
		"/": false, stage: true, stage + "?q=" + hush: true, stage + "/resource?address=orders": true, stage + "/resource?address=jobs": true,
		stage + "/graph": false, stage + "/plans": false, stage + "/history": false, stage + "/runs/r1": true, stage + "/runs/r1?all=1&view=tree": true,
		stage + "/compare?from=r1&to=r1": false, stage + "/runs/r1/events": true,
	}
	look := func(private bool) {
		t.Helper()
		for path, shown := range shows {
			status, body := b.get(path)
			body = strings.NewReplacer(`value="`+hush+`"`, "", "q="+hush, "").Replace(body) // the search itself
			switch {
			case status != http.StatusOK:
				t.Errorf("%s: %d", path, status)
			case private && strings.Contains(body, hush):
				t.Errorf("%s shows of a private stage:\n%s", path, body)
			case !private && shown && !strings.Contains(body, hush):
				t.Errorf("%s shows nothing of a stage that is not private:\n%s", path, body)
			case strings.Contains(body, "shop/prod is private") != (private && path != "/" && !strings.HasSuffix(path, "/events")):
				t.Errorf("%s, private %v: says the wrong thing of it", path, private)
			case private && path != "/" && !strings.Contains(path, "q="+hush) && path != stage+"/plans" && path != stage+"/history" &&
				!strings.Contains(body, "orders") && !strings.Contains(body, "jobs"):
				t.Errorf("%s: no address:\n%s", path, body)
			}
		}
	}
	look(false)
	deployer := newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"})
	s.want(http.StatusForbidden, "PUT", stageURL+"/rule", deployer, `{"private":true}`, nil)
	var rule wire.StageRule
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"private":true}`, &rule)
	if !rule.Private || rule.Approval {
		t.Errorf("rule %+v", rule)
	}
	look(true)
	if snap, err := client.Load(t.Context(), prod); err != nil || snap.Rows["orders"].Generations[0].Identity != "https://"+hush {
		t.Errorf("a command reads %+v, %v", snap, err)
	}
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":true}`, &rule)
	if !rule.Private || !rule.Approval {
		t.Errorf("another part of the rule was changed: %+v", rule)
	}
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"private":false}`, nil)
	look(false)
	all, err := audited(t, client, "shop")
	if err != nil || len(all) < 2 {
		t.Fatal(all, err)
	}
	for i, want := range []string{"private true", "approval true", "private false"} {
		if e := all[len(all)-3+i]; e.Action != "stage.rule" || e.Detail != wire.Text(want) {
			t.Errorf("entry %d: %+v, want %s", i, e, want)
		}
	}
}

// TestTwoAdminsSwitchOff: where somebody else is admin too, approvals are demanded until both have asked to demand none. A token that
// one of them made, or the same one again, is nobody else, and a request is good for a day.
func TestTwoAdminsSwitchOff(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serve(t, func(set *service.Settings) { set.Clock = func() time.Time { return now } })
	ann := newToken(t, s.store)
	set := func(status int, token, body string) {
		t.Helper()
		s.want(status, "PUT", stageURL+"/rule", token, body, nil)
	}
	demanded := func(want bool) {
		t.Helper()
		var rule wire.StageRule
		if s.want(http.StatusOK, "GET", stageURL+"/rule", ann, "", &rule); rule.Approval != want {
			t.Errorf("approval %v, want %v", rule.Approval, want)
		}
	}
	set(http.StatusOK, ann, `{"approval":true}`)
	set(http.StatusOK, ann, `{"approval":false}`) // nobody else is admin
	demanded(false)
	set(http.StatusOK, ann, `{"approval":true}`)
	newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"}, wire.Grant{Role: "admin", On: "shop/dev"})
	var made wire.Token
	s.want(http.StatusCreated, "POST", "/v1/tokens", ann, `{"name":"second","grants":[{"role":"admin","on":"*/*"}]}`, &made)
	set(http.StatusOK, made.Secret, `{"approval":false}`) // it is ann's
	set(http.StatusOK, ann, `{"approval":true}`)
	bob := newToken(t, s.store)
	for _, token := range []string{ann, ann, made.Secret} {
		set(http.StatusForbidden, token, `{"approval":false}`)
		demanded(true)
	}
	now = now.Add(25 * time.Hour)
	set(http.StatusForbidden, bob, `{"approval":false}`) // ann's request is too old
	demanded(true)
	set(http.StatusOK, ann, `{"approval":false,"private":true}`)
	demanded(false)
	set(http.StatusOK, bob, `{"approval":true}`)
	set(http.StatusForbidden, bob, `{"approval":false}`)
	set(http.StatusOK, bob, `{"approval":true}`) // bob wants it after all
	set(http.StatusForbidden, ann, `{"approval":false}`)
	demanded(true)
}
