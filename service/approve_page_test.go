package service_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// served with pages that people sign in to at an issuer.
type signing struct {
	*served
	people *issuer
}

// servePages serves at the URL that the settings name as the service's own.
func servePages(t *testing.T) signing {
	t.Helper()
	people, jobs := newIssuer(t), newIssuer(t)
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	s := serve(t, people.takes(jobs), func(set *service.Settings) { set.OIDC.Audience = server.URL })
	handler, s.url = described(t, s.service), server.URL
	return signing{s, people}
}

func (s signing) browser() *browser {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &browser{s.T, s.url, &http.Client{Jar: jar}}
}

// signedInBrowser follows the link of the form as a person does, and comes back to the page that was asked for.
func (s signing) signedInBrowser(who, path string) *browser {
	s.Helper()
	s.people.who.Store(who)
	b := s.browser()
	_, body := b.get(path)
	link := regexp.MustCompile(`href="(/signin/to/0[^"]*)"`).FindStringSubmatch(body)
	if link == nil {
		s.Fatalf("no link to sign in:\n%s", body)
	}
	if status, body := b.get(strings.ReplaceAll(link[1], "&amp;", "&")); status != http.StatusOK || !strings.Contains(body, who+"@acme.example") {
		s.Fatalf("%s: %d\n%s", who, status, body)
	}
	return b
}

// digestOf is the digest that a page of a plan sends back with a decision.
func digestOf(body string) string {
	found := regexp.MustCompile(`name="digest" value="([0-9a-f]*)"`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return found[1]
}

// TestApproveOnPage: people sign in at their issuer, see the submitted plan, and decide about it by the rules of the protocol;
// what they did is in the audit log.
func TestApproveOnPage(t *testing.T) {
	t.Parallel()
	s := servePages(t)
	boss, ci := newToken(t, s.store), newToken(t, s.store, wire.Grant{Role: "deployer", On: "*/*"})
	s.want(http.StatusOK, "PUT", stageURL+"/rule", boss, `{"approval":true}`, nil)
	const path = "/s/shop/prod/plans"
	// The stage was never deployed: its first plan can be seen nevertheless.
	plan := s.submit(ci, "sealed 1", 0)
	ann := s.signedInBrowser("ann", path+"/"+plan.ID)
	status, body := ann.get(path + "/" + plan.ID)
	for _, want := range []string{"As claimed by token ci", "queue", "aws:sqs:Queue", "1 to create", "Approve plan", "Reject", "athanor approve " + plan.ID + " --stage prod", plan.Digest[:16]} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the plan: %d without %q\n%s", status, want, body)
		}
	}
	if _, body := ann.get(path); !strings.Contains(body, "waits for approval") {
		t.Errorf("the plans: %s", body)
	}
	decide := func(b *browser, plan wire.Plan, do, digest string) (int, string) {
		return b.post(path+"/"+plan.ID, path+"/"+plan.ID, url.Values{"do": {do}, "digest": {digest}, "comment": {"fine <b>"}})
	}
	state := func(id string) (plan wire.Plan) {
		s.want(http.StatusOK, "GET", stageURL+"/plans/"+id, ci, "", &plan)
		return plan
	}

	// Machines see it and decide nothing, nor do readers, who are people.
	robot := s.browser()
	robot.post("/", "/signin", url.Values{"token": {ci}})
	if _, body := robot.get(path + "/" + plan.ID); strings.Contains(body, "Approve plan") || !strings.Contains(body, "only a person who signed in decides") {
		t.Errorf("a machine is asked: %s", body)
	}
	if status, _ := decide(robot, plan, "approve", plan.Digest); status != http.StatusForbidden {
		t.Errorf("a machine approves: %d", status)
	}
	// Another site cannot send the form, and what is approved is what was shown.
	forged := url.Values{"do": {"approve"}, "digest": {plan.Digest}}
	if answer, err := ann.client.PostForm(s.url+path+"/"+plan.ID, forged); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("without the token of the form: %v, %v", answer, err)
	}
	if status, _ := decide(ann, plan, "approve", wire.DigestOf([]byte("another"))); status != http.StatusUnprocessableEntity {
		t.Errorf("another digest: %d", status)
	}
	if got := state(plan.ID); got.State != wire.PlanWaiting {
		t.Errorf("what was refused decided: %+v", got)
	}
	if digest := digestOf(body); digest != plan.Digest {
		t.Errorf("the form has the digest %q", digest)
	}
	if status, body := decide(ann, plan, "approve", digestOf(body)); status != http.StatusOK || !strings.Contains(body, "fine &lt;b&gt;") ||
		!strings.Contains(body, "athanor deploy --approved "+plan.ID+" --stage prod") || strings.Contains(body, "Approve plan") {
		t.Errorf("approve: %d\n%s", status, body)
	}
	if got := state(plan.ID); got.State != wire.PlanApproved || got.Decider == nil || got.Decider.Account != "token ann@acme.example" || got.Note != "fine <b>" {
		t.Errorf("the plan: %+v", got)
	}
	s.end(s.run(http.StatusOK, ci, "r1", plan.ID), "queue")
	if _, body := ann.get(path + "/" + plan.ID); !strings.Contains(body, "used") || strings.Contains(body, "State has changed") {
		t.Errorf("the used plan: %s", body)
	}

	// Nobody approves their own plan on the page either, but rejects it.
	own := s.submit(s.signedIn(s.people, "ann"), "sealed 2", 1)
	if _, body := ann.get(path + "/" + own.ID); strings.Contains(body, "Approve plan") || !strings.Contains(body, "Reject") || !strings.Contains(body, "submitted by you") {
		t.Errorf("an own plan: %s", body)
	}
	if status, _ := decide(ann, own, "approve", own.Digest); status != http.StatusForbidden {
		t.Errorf("an own plan was approved: %d", status)
	}
	if status, _ := decide(ann, own, "reject", own.Digest); status != http.StatusOK || state(own.ID).State != wire.PlanRejected {
		t.Errorf("an own plan was not rejected: %d", status)
	}
	// A plan whose state has moved on says so.
	if _, body := ann.get(path + "/" + s.submit(ci, "sealed 3", 0).ID); !strings.Contains(body, "State has changed since this plan was made") {
		t.Errorf("an old plan: %s", body)
	}
	var log wire.Audit
	s.want(http.StatusOK, "GET", "/v1/stacks/shop/audit", boss, "", &log)
	var decided []string
	for _, e := range log.Entries {
		if e.Action == "plan.approve" || e.Action == "plan.reject" {
			decided = append(decided, e.Action+" "+string(e.Author.Account))
		}
	}
	if text := strings.Join(decided, "; "); text != "plan.approve token ann@acme.example; plan.reject token ann@acme.example" {
		t.Errorf("the audit log: %s", text)
	}
}

// TestSignInOnPage: a browser is signed in by the answer to the sign-in that it began itself, and by no other.
func TestSignInOnPage(t *testing.T) {
	t.Parallel()
	s := servePages(t)
	if _, err := s.store.Acquire(t.Context(), prod, statestore.Claim{Run: "20261123-103104-K4TQZE", Command: "deploy", User: "ada"}); err != nil {
		t.Fatal(err)
	}
	if status, body := s.signedInBrowser("ann", "/s/shop/prod").get("/s/shop/prod"); status != http.StatusOK || !strings.Contains(body, "ann@acme.example") {
		t.Errorf("signed in: %d", status)
	}
	stranger := s.browser()
	for path, want := range map[string]int{
		"/signin/back?code=c&state=x": 400, "/signin/to/1": 404, "/signin/to/-1": 404, "/signin/to/x": 404, "/signin/nosuch": 404,
	} {
		if status, _ := stranger.get(path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	// Who began to sign in brings the answer to another sign-in, or one of another issuer, or a refusal.
	begin := func() (*browser, string) {
		b := s.browser()
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		answer, err := b.client.Get(s.url + "/signin/to/0?next=//evil.example/")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		to, err := answer.Location()
		if err != nil || to.Query().Get("tenant") != "1" || to.Query().Get("redirect_uri") != s.url+"/signin/back" {
			t.Fatalf("%v %v", to, err)
		}
		for _, c := range answer.Cookies() {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("cookie %+v", c)
			}
		}
		return b, to.Query().Get("state")
	}
	b, state := begin()
	_, other := begin()
	for _, answer := range []string{other, state} { // the first one ended the sign-in, whatever it was
		if status, _ := b.get("/signin/back?code=c&state=" + answer); status != http.StatusBadRequest {
			t.Errorf("the answer to another sign-in: %d", status)
		}
	}
	for _, query := range []string{"code=wrong", "error=access_denied", "code=c&iss=" + url.QueryEscape("https://evil.example")} {
		b, state := begin()
		if status, body := b.get("/signin/back?" + query + "&state=" + state); status != http.StatusUnauthorized || strings.Contains(body, "access_denied") {
			t.Errorf("%s: %d", query, status)
		}
		if status, _ := b.get("/"); status != http.StatusUnauthorized {
			t.Errorf("%s: signed in: %d", query, status)
		}
	}
	// What was asked for elsewhere is not come back to.
	b, _ = begin()
	b.client.CheckRedirect = nil
	if status, body := b.get("/signin/to/0?next=//evil.example/"); status != http.StatusOK || !strings.Contains(body, "signed in as token ann@acme.example") {
		t.Errorf("from another site: %d", status)
	}
}
