package service_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestDriftReports: what a schedule reports is kept and shown on the page; the audit log, and so webhooks, are told of what is
// another finding than before.
func TestDriftReports(t *testing.T) {
	t.Parallel()
	s := servePages(t)
	boss, watch := newToken(t, s.store), newToken(t, s.store, wire.Grant{Role: "planner", On: "shop/*"})
	reader := newToken(t, s.store, wire.Grant{Role: "reader", On: "shop/*"})
	s.end(s.run(http.StatusOK, boss, "r1", ""), "queue")
	report := func(status int, token string, found wire.NewDrift) {
		t.Helper()
		body, _ := json.Marshal(found)
		s.want(status, "PUT", stageURL+"/drift", token, string(body), nil)
	}
	b := s.browser()
	b.post("/", "/signin", url.Values{"token": {reader}})
	page := func(path string, want, not string) {
		t.Helper()
		if status, body := b.get(path); status != http.StatusOK || !strings.Contains(body, want) || not != "" && strings.Contains(body, not) {
			t.Errorf("%s: %d, want %q and not %q:\n%s", path, status, want, not, body)
		}
	}
	page("/s/shop/prod", "not reported", "drifted")
	if found, err := s.with(reader).Drift(t.Context(), prod); found != nil || err != nil {
		t.Errorf("before any report: %+v, %v", found, err)
	}
	none := wire.NewDrift{Serial: 1}
	queue := wire.DriftLine{Address: "queue<b>", Kind: "aws:sqs:Queue", Action: "update", Paths: []wire.Text{"visibilityTimeout"}}
	some := wire.NewDrift{Serial: 1, Drifted: 2, Lines: []wire.DriftLine{queue}}
	report(http.StatusForbidden, reader, none)
	report(http.StatusForbidden, newToken(t, s.store, wire.Grant{Role: "planner", On: "other/*"}), none)
	report(http.StatusUnprocessableEntity, watch, wire.NewDrift{Lines: []wire.DriftLine{queue}})
	report(http.StatusUnprocessableEntity, watch, wire.NewDrift{Uncompared: -1})

	report(http.StatusOK, watch, none)
	page("/s/shop/prod", "none</span></dd><dd>reported", "drifted")
	for range 3 {
		report(http.StatusOK, watch, some)
	}
	page("/s/shop/prod", "2 resources drifted", "state has changed since")
	page("/s/shop/prod", "queue&lt;b&gt;</a>", "")
	page("/s/shop/prod", "visibilityTimeout", "")
	page("/s/shop/prod", "and 1 more", "")
	page("/?is=attention", "2 resources drifted", "")
	s.end(s.run(http.StatusOK, boss, "r2", ""), "other")
	page("/s/shop/prod", "state has changed since", "")
	if found, err := s.with(reader).Drift(t.Context(), prod); err != nil || found.Drifted != 2 || len(found.Lines) != 1 || found.By.Account == "" {
		t.Errorf("the report: %+v, %v", found, err)
	}
	if found, err := s.with(boss).Drift(t.Context(), statestore.Stage{Stack: "shop", Name: "staging"}); found != nil || err != nil {
		t.Errorf("of another stage: %+v, %v", found, err)
	}
	report(http.StatusOK, watch, wire.NewDrift{Serial: 2, Uncompared: 1})
	page("/s/shop/prod", "1 resource not compared", "drifted")
	report(http.StatusOK, watch, wire.NewDrift{Serial: 2})
	var log wire.Audit
	s.want(http.StatusOK, "GET", "/v1/stacks/shop/audit", boss, "", &log)
	var told []string
	for _, e := range log.Entries {
		if e.Action == "drift.report" {
			told = append(told, string(e.Detail))
		}
	}
	if text := strings.Join(told, "; "); text != "2 drifted; 0 drifted, 1 not compared; 0 drifted" {
		t.Errorf("the audit log: %s", text)
	}
}
