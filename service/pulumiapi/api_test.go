package pulumiapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

const stackURL = "/api/stacks/acme/shop/dev"

// send sends one request and reads the answer into an object.
func (h *house) send(method, path, auth, body string) (int, map[string]any) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	answer := map[string]any{}
	if err := json.Unmarshal(data, &answer); err != nil && method != http.MethodHead {
		h.Fatalf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	return res.StatusCode, answer
}

// ok sends one request that has to succeed.
func (h *house) ok(method, path, auth, body string) map[string]any {
	h.Helper()
	code, answer := h.send(method, path, auth, body)
	if code != http.StatusOK {
		h.Fatalf("%s %s: %d %v", method, path, code, answer)
	}
	return answer
}

// refused sends one request that has to be answered with a status.
func (h *house) refused(want int, method, path, auth, body string) {
	h.Helper()
	if code, answer := h.send(method, path, auth, body); code != want {
		h.Errorf("%s %s: %d %v, want %d", method, path, code, answer, want)
	}
}

// begin creates a stack where there is none, and starts an update of a kind.
func (h *house) begin(kind string) (path, auth string) {
	h.Helper()
	h.send("POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"dev"}`)
	path = stackURL + "/" + kind + "/" + fmt.Sprint(h.ok("POST", stackURL+"/"+kind, "token "+h.token, `{}`)["updateID"])
	return path, "update-token " + fmt.Sprint(h.ok("POST", path, "token "+h.token, `{}`)["token"])
}

func deployment(names ...string) string {
	list, _ := json.Marshal(names)
	return `{"version":3,"deployment":{"manifest":{},"resources":` + string(list) + `}}`
}

func verbatim(seq int, document string) string {
	return fmt.Sprintf(`{"version":3,"sequenceNumber":%d,"untypedDeployment":%s}`, seq, document)
}

// resources are those that the stack has now.
func (h *house) resources() string {
	h.Helper()
	inner, _ := h.ok("GET", stackURL+"/export", "token "+h.token, "")["deployment"].(map[string]any)
	return fmt.Sprint(inner["resources"])
}

// TestUpdate: every request of an update may be repeated, and none goes on after the end.
func TestUpdate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	path, auth := h.begin("update")
	if again := h.ok("POST", path, "token "+h.token, `{}`); "update-token "+fmt.Sprint(again["token"]) != auth || again["version"] != 1.0 {
		t.Errorf("started again: %v", again)
	}
	for range 2 {
		h.ok("PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("a")))
		h.ok("POST", path+"/events/batch", auth, `{"events":[{"sequence":0,"x":1},{"sequence":1,"summaryEvent":{"resourceChanges":{"create":1}}}]}`)
		h.ok("POST", path+"/renew_lease", auth, `{"duration":300}`)
	}
	h.refused(http.StatusConflict, "PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("other")))
	h.ok("PATCH", path+"/checkpointverbatim", auth, verbatim(2, deployment("a", "b")))
	h.refused(http.StatusConflict, "PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("a")))
	if got := h.resources(); got != "[a b]" {
		t.Errorf("resources %s", got)
	}

	// A difference is of bytes, and is refused when it does not give what its hash says.
	after := strings.Replace(deployment("a", "b"), `"b"`, `"c"`, 1)
	at := strings.Index(deployment("a", "b"), `"b"`)
	delta := func(seq int, hash string, to int) string {
		return fmt.Sprintf(`{"sequenceNumber":%d,"checkpointHash":%q,"deploymentDelta":[{"Span":{"start":{"offset":%d},"end":{"offset":%d}},"NewText":"\"c\""}]}`,
			seq, hash, at, to)
	}
	sum := sha256.Sum256([]byte(after))
	hash := hex.EncodeToString(sum[:])
	h.refused(http.StatusBadRequest, "PATCH", path+"/checkpointdelta", auth, delta(3, strings.Repeat("0", 64), at+3))
	h.refused(http.StatusBadRequest, "PATCH", path+"/checkpointdelta", auth, delta(3, hash, 1<<20))
	for range 2 {
		h.ok("PATCH", path+"/checkpointdelta", auth, delta(3, hash, at+3))
	}
	h.refused(http.StatusBadRequest, "PATCH", path+"/checkpointverbatim", auth, verbatim(4, `{"version":3}`))
	h.refused(http.StatusBadRequest, "PATCH", path+"/checkpointverbatim", auth, verbatim(4, `[]`))

	for range 2 {
		h.ok("POST", path+"/complete", auth, `{"status":"succeeded"}`)
	}
	h.refused(http.StatusForbidden, "POST", path+"/complete", auth, `{"status":"failed"}`)
	h.refused(http.StatusForbidden, "PATCH", path+"/checkpointverbatim", auth, verbatim(5, deployment()))
	h.refused(http.StatusForbidden, "POST", path+"/renew_lease", auth, `{}`)
	h.refused(http.StatusForbidden, "POST", path+"/events/batch", auth, `{"events":[{"sequence":9}]}`)
	h.refused(http.StatusConflict, "POST", path+"/cancel", "token "+h.token, "")
	h.refused(http.StatusConflict, "POST", path, "token "+h.token, `{}`)
	if got := h.resources(); got != "[a c]" {
		t.Errorf("resources %s", got)
	}
	if events, _ := h.ok("GET", path+"/events", "token "+h.token, "")["events"].([]any); len(events) != 2 {
		t.Errorf("events %v", events)
	}
	latest, _ := h.ok("GET", stackURL+"/updates/latest", "token "+h.token, "")["info"].(map[string]any)
	if latest["result"] != "succeeded" || latest["version"] != 1.0 || fmt.Sprint(latest["resourceChanges"]) != "map[create:1]" {
		t.Errorf("latest %v", latest)
	}

	// Old versions can be exported.
	path, auth = h.begin("destroy")
	h.ok("PATCH", path+"/checkpoint", auth, `{"version":3,"deployment":{"manifest":{}}}`)
	h.ok("POST", path+"/complete", auth, `{"status":"succeeded"}`)
	if got := h.resources(); got != "<nil>" {
		t.Errorf("resources %s", got)
	}
	old, _ := h.ok("GET", stackURL+"/export/1", "token "+h.token, "")["deployment"].(map[string]any)
	if fmt.Sprint(old["resources"]) != "[a c]" {
		t.Errorf("version 1 is %v", old)
	}
	h.refused(http.StatusNotFound, "GET", stackURL+"/export/7", "token "+h.token, "")
}

// TestLeaseEnds: an update whose lease ended is taken over, and its token writes no more.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	path, auth := h.begin("update")
	h.ok("PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("a")))
	h.refused(http.StatusConflict, "POST", stackURL+"/update", "token "+h.token, `{}`)
	stage := statestore.Stage{Stack: "pulumi:acme:shop", Name: "dev"}
	if done, err := h.store.Interrupt(t.Context(), stage, statestore.Order{Unlock: true, Who: "athanor serve"}); !done || err != nil {
		t.Fatal(done, err)
	}
	next, with := h.begin("update")
	h.refused(http.StatusForbidden, "PATCH", path+"/checkpointverbatim", auth, verbatim(2, deployment()))
	h.refused(http.StatusForbidden, "POST", path+"/complete", auth, `{"status":"succeeded"}`)
	// The token of one update is not good for another, nor is an API token.
	h.refused(http.StatusForbidden, "PATCH", next+"/checkpointverbatim", auth, verbatim(1, deployment()))
	h.refused(http.StatusUnauthorized, "PATCH", next+"/checkpointverbatim", "token "+h.token, verbatim(1, deployment()))
	h.refused(http.StatusUnauthorized, "PATCH", next+"/checkpointverbatim", "update-token "+h.token, verbatim(1, deployment()))
	h.refused(http.StatusUnauthorized, "GET", stackURL, with, "")
	// The number of a checkpoint begins anew with each update.
	h.ok("PATCH", next+"/checkpointverbatim", with, verbatim(1, deployment("a", "b")))
	h.ok("POST", path+"/cancel", "token "+h.token, "") // it ended before; the next one is not touched
	h.ok("POST", next+"/complete", with, `{"status":"failed"}`)
	if got := h.resources(); got != "[a b]" {
		t.Errorf("resources %s", got)
	}
}

// TestCancelRaces: of requests that come together with a cancel, none writes after it was answered.
func TestCancelRaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 10 {
		path, auth := h.begin("update")
		var group sync.WaitGroup
		for n := range 4 {
			group.Go(func() {
				if code, _ := h.send("PATCH", path+"/checkpoint", auth, fmt.Sprintf(`{"version":3,"deployment":{"n":%d}}`, i*10+n)); code != 200 && code != 403 {
					t.Errorf("checkpoint: %d", code)
				}
				if code, _ := h.send("POST", path+"/renew_lease", auth, `{}`); code != 200 && code != 403 {
					t.Errorf("renew: %d", code)
				}
			})
		}
		h.ok("POST", path+"/cancel", "token "+h.token, "")
		before := h.ok("GET", stackURL+"/export", "token "+h.token, "")
		group.Wait()
		if after := h.ok("GET", stackURL+"/export", "token "+h.token, ""); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("written after the cancel: %v, before %v", after, before)
		}
		h.ok("POST", path+"/cancel", "token "+h.token, "")
	}
}

// TestRights: each role may do its part, on the stacks that its pattern matches.
func TestRights(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ok("POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"dev"}`)
	h.refused(http.StatusConflict, "POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"dev"}`)
	sealed, _ := json.Marshal(h.ok("POST", stackURL+"/encrypt", "token "+h.token, `{"plaintext":"aHVudGVyMg=="}`))
	for _, c := range []struct {
		role, on         string
		see, preview, up int
	}{
		{"reader", "pulumi:acme:*/*", 200, 403, 403},
		{"planner", "pulumi:acme:*/*", 200, 200, 403},
		{"deployer", "pulumi:acme:shop/d*", 200, 200, 200},
		{"deployer", "shop/*", 403, 403, 403},
	} {
		auth := "token " + h.newToken(c.role, c.on)
		h.refused(c.see, "GET", stackURL, auth, "")
		h.refused(c.preview, "POST", stackURL+"/preview", auth, `{}`)
		h.refused(c.up, "POST", stackURL+"/update", auth, `{}`)
		h.refused(c.up, "GET", stackURL+"/export", auth, "")
		h.refused(c.up, "POST", stackURL+"/decrypt", auth, string(sealed))
		list, _ := h.ok("GET", "/api/user/stacks", auth, "")["stacks"].([]any)
		if (len(list) == 1) != (c.see == 200) {
			t.Errorf("%s on %s lists %v", c.role, c.on, list)
		}
	}
	for _, auth := range []string{"", "token", "token ath_x", "Bearer " + h.token, "token " + h.token + "x"} {
		h.refused(http.StatusUnauthorized, "GET", stackURL, auth, "")
	}
	// A preview writes nothing, and its token ends with it.
	path, auth := h.begin("preview")
	h.ok("POST", path+"/events/batch", auth, `{"events":[{"sequence":1}]}`)
	h.refused(http.StatusForbidden, "PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("a")))
	h.ok("POST", path+"/complete", auth, `{"status":"succeeded"}`)
	h.refused(http.StatusForbidden, "POST", path+"/renew_lease", auth, `{}`)
	h.refused(http.StatusNotFound, "GET", "/api/stacks/acme/shop/other", "token "+h.token, "")
	h.refused(http.StatusBadRequest, "GET", "/api/stacks/acme/shop/.hidden", "token "+h.token, "")
	// A value that was encrypted for one stack is not opened for another.
	h.ok("POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"other"}`)
	h.refused(http.StatusBadRequest, "POST", "/api/stacks/acme/shop/other/decrypt", "token "+h.token, string(sealed))
	if plain := h.ok("POST", stackURL+"/decrypt", "token "+h.token, string(sealed)); plain["plaintext"] != "aHVudGVyMg==" {
		t.Errorf("decrypted %v", plain)
	}
	audit := h.auditOf("pulumi:acme:shop")
	if strings.Count(audit, "pulumi.decrypt") != 2 {
		t.Errorf("audit log: %s", audit)
	}
}

// auditOf is the audit log of a stack as text.
func (h *house) auditOf(stack string) string {
	h.Helper()
	text, _ := json.Marshal(h.ok("GET", "/v1/stacks/"+segment(stack)+"/audit", "Bearer "+h.token, ""))
	return string(text)
}

// TestApprovalRule: a stage that takes only runs of approved plans takes no update, which has none.
func TestApprovalRule(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ok("POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"dev"}`)
	h.ok("PUT", "/v1/stacks/"+segment("pulumi:acme:shop")+"/stages/dev/rule", "Bearer "+h.token, `{"approval":true}`)
	path := stackURL + "/update/" + fmt.Sprint(h.ok("POST", stackURL+"/update", "token "+h.token, `{}`)["updateID"])
	h.refused(http.StatusForbidden, "POST", path, "token "+h.token, `{}`)
	h.refused(http.StatusForbidden, "POST", stackURL+"/import", "token "+h.token, deployment("a"))
	h.refused(http.StatusForbidden, "DELETE", stackURL, "token "+h.token, "")
	h.begin("preview")
}

// TestOldStarts: what was created and not started ends after an hour, and holds nothing.
func TestOldStarts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ok("POST", "/api/stacks/acme/shop", "token "+h.token, `{"stackName":"dev"}`)
	old := stackURL + "/update/" + fmt.Sprint(h.ok("POST", stackURL+"/update", "token "+h.token, `{}`)["updateID"])
	other := h.newToken("admin", "*/*")
	h.refused(http.StatusForbidden, "POST", old, "token "+other, `{}`)
	path, auth := h.begin("update")
	h.refused(http.StatusConflict, "POST", old, "token "+h.token, `{}`)
	h.ok("POST", path+"/complete", auth, `{"status":"succeeded"}`)
	h.later.Store(int64(2 * time.Hour))
	h.refused(http.StatusConflict, "POST", old, "token "+h.token, `{}`)
}

// page reads the page of the stack as somebody who may read it alone.
func (h *house) page() string {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/s/"+segment("pulumi:acme:shop")+"/dev", nil)
	if err != nil {
		h.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "athanor_session", Value: h.newToken("reader", "pulumi:acme:*/*")})
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		h.Errorf("the page: %s, %v\n%s", res.Status, err, body)
	}
	return string(body)
}

// TestPendingOnPage: what a cut update has left pending is shown when it is over, by names alone, with what to do.
func TestPendingOnPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	path, auth := h.begin("update")
	const urn = "urn:pulumi:dev::shop::aws:sqs/queue:Queue::orders<b>"
	pending := `{"version":3,"deployment":{"manifest":{},"pending_operations":[{"type":"creating","resource":{"urn":"` + urn + `","inputs":{"password":"hunter2"}}}]}}`
	h.ok("PATCH", path+"/checkpointverbatim", auth, verbatim(1, pending))
	if body := h.page(); strings.Contains(body, "pending.") {
		t.Errorf("while the update is at work: %s", body)
	}
	h.ok("POST", path+"/complete", auth, `{"status":"failed"}`)
	body := h.page()
	for _, want := range []string{
		"1 operation is pending.", "creating urn:pulumi:dev::shop::aws:sqs/queue:Queue::orders&lt;b&gt;", "pulumi refresh --stack acme/shop/dev<",
		"pulumi refresh --clear-pending-creates --stack acme/shop/dev<",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("without %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "hunter2") {
		t.Error("the page shows an input")
	}
	path, auth = h.begin("refresh")
	h.ok("PATCH", path+"/checkpointverbatim", auth, verbatim(1, deployment("a")))
	h.ok("POST", path+"/complete", auth, `{"status":"succeeded"}`)
	if body := h.page(); strings.Contains(body, "pending.") {
		t.Errorf("after refresh: %s", body)
	}
}
