package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
)

var prod = statestore.Stage{Stack: "shop", Name: "prod"}

// hostile is what an attacker would call a resource, or let a cloud say in an error.
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>'`

// newStore returns a store in a file.
func newStore(t testing.TB) statestore.Store {
	t.Helper()
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// writer is a run that writes to a store.
type writer struct {
	t     testing.TB
	store statestore.Store
	lease statestore.Lease
	batch uint64
	event uint64
}

func begin(t testing.TB, store statestore.Store, stage statestore.Stage, run, user string) *writer {
	t.Helper()
	lease, err := store.Acquire(t.Context(), stage, statestore.Claim{Run: run, Command: "deploy", User: user, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &writer{t: t, store: store, lease: lease}
}

// commit writes a batch with events.
func (w *writer) commit(b statestore.Batch, events ...map[string]any) {
	w.t.Helper()
	w.batch++
	b.Seq = w.batch
	for _, e := range events {
		w.event++
		e["time"] = time.Date(2026, 11, 23, 10, 31, int(w.event%60), 0, time.UTC)
		body, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		b.Events = append(b.Events, statestore.Event{Seq: w.event, Body: body})
	}
	if _, err := w.store.Commit(context.WithoutCancel(w.t.Context()), w.lease, b); err != nil {
		w.t.Fatal(err)
	}
}

func row(address, kind, identity string, needs ...string) statestore.Row {
	return statestore.Row{Address: address, Birth: address, Needs: needs, Body: []byte("sealed"), Generations: []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: kind, Identity: identity, Body: []byte("sealed"),
		Place: statestore.Place{Provider: "aws", Account: "123456789012", Region: "eu-north-1"}, Written: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
	}}}
}

// deployed is a store with one finished run of the stage.
func deployed(t testing.TB) statestore.Store {
	t.Helper()
	store := newStore(t)
	w := begin(t, store, prod, "20261123-103104-K4TQZE", "ada (uid 1)")
	w.commit(statestore.Batch{
		Put: []statestore.Row{
			row("dead", "aws.sqs.Queue", "dead-1"), row("orders", "aws.sqs.Queue", "orders-1", "dead"),
			row("worker", "aws.lambda.Function", "worker-1", "orders"), row(hostile, hostile, hostile),
		},
		Finish: statestore.Failed, Summary: []byte(`{"created":2,"failed":1,"unchanged":9}`),
	},
		map[string]any{"type": "run", "action": "deploy", "status": "running"},
		map[string]any{"type": "start", "address": "dead", "kind": "aws.sqs.Queue", "action": "create", "status": "running"},
		map[string]any{"type": "done", "address": "dead", "kind": "aws.sqs.Queue", "action": "create", "status": "done", "elapsed": 1.0, "paths": []string{hostile}},
		map[string]any{"type": "start", "address": "orders", "kind": "aws.sqs.Queue", "action": "create", "status": "running"},
		map[string]any{"type": "start", "address": hostile, "kind": hostile, "action": hostile, "status": "running"},
		map[string]any{
			"type": "done", "address": hostile, "kind": hostile, "action": "create", "status": "failed", "error": hostile, "hint": hostile, "cause": hostile,
		},
		map[string]any{"type": "done", "address": "orders", "kind": "aws.sqs.Queue", "action": "create", "status": "done", "elapsed": 1.0, "note": hostile},
		map[string]any{"type": "warning", "note": hostile},
		map[string]any{"type": "run", "status": hostile},
	)
	return store
}

// visitor may do everything unless a test says otherwise.
func visitor(*http.Request) (*page.Visitor, error) {
	return &page.Visitor{Name: "ada", Secret: "secret", May: func(page.Right, statestore.Stage) bool { return true }}, nil
}

// serve returns a server of the pages of a store.
func serve(t testing.TB, settings page.Settings) *httptest.Server {
	t.Helper()
	if settings.Admit == nil {
		settings.Admit = visitor
	}
	settings.Log = func(method, path string, err error) { t.Errorf("%s %s: %v", method, path, err) }
	p := page.New(context.WithoutCancel(t.Context()), settings)
	server := httptest.NewServer(p)
	t.Cleanup(func() { p.Stop(); server.Close() })
	return server
}

// get reads a page.
func get(t testing.TB, server *httptest.Server, path string) (*http.Response, string) {
	t.Helper()
	answer, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

const runPath = "/s/shop/prod/runs/20261123-103104-K4TQZE"

// views are all pages of the deployed stage, with what each must say.
func views() map[string]string {
	return map[string]string{
		"/":                                    "1</b> stage in",
		"/s/shop/prod":                         "aws 123456789012 eu-north-1",
		"/s/shop/prod?q=lambda&sort=-kind":     "1 to 1 of 1, 4 in all",
		"/s/shop/prod/resource?address=orders": "orders-1",
		"/s/shop/prod/resource?address=" + url.QueryEscape(hostile): "failed",
		"/s/shop/prod/graph":         `data-node="worker"`,
		"/s/shop/prod/history":       "2 created, 1 failed",
		"/s/shop/prod/plans":         "p.json",
		"/s/shop/prod/plans/p.json":  "nothing is deleted",
		runPath:                      "critical path: dead, orders",
		runPath + "?view=tree&all=1": "K4TQZE",
		"/s/shop/prod/compare?from=20261123-103104-K4TQZE&to=20261123-103104-K4TQZE": "3 of them alike",
		"/tokens": "Revoke",
		"/audit":  "run.start",
	}
}

var ownScript = regexp.MustCompile(`<script src="/assets/[a-z]+\.js\?v=[0-9a-f]{12}" defer></script>`)

// TestViews reads every page: each is whole without scripts, no text of anybody becomes markup, and nothing in it is inline.
func TestViews(t *testing.T) {
	plan, err := json.Marshal(map[string]any{
		"serial": 1, "digest": hostile, "summary": map[string]int{"updated": 1}, "warnings": []string{hostile},
		"violations":    []map[string]any{{"policy": hostile, "message": hostile}},
		"outputChanges": []map[string]any{{"name": hostile, "have": hostile, "want": hostile}, {"name": "key", "want": "plain", "secret": true}},
		"actions": []map[string]any{
			{"address": hostile, "kind": hostile, "action": "update", "source": hostile, "notes": []string{hostile}, "problem": hostile, "reasons": []map[string]any{
				{"path": hostile, "have": hostile, "want": map[string]any{"a": hostile}}, {"path": "password", "have": "p1", "want": "p2", "secret": true},
			}},
			{"address": "uploads", "kind": "k", "action": "update", "reasons": []map[string]any{{"path": "v", "have": 1, "want": 2, "source": "world"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, page.Settings{
		Store: deployed(t), StoreName: hostile, Version: hostile, SourceURL: "https://git.example.com/{file}#L{line}",
		Admit: func(r *http.Request) (*page.Visitor, error) {
			v, err := visitor(r)
			v.Name, v.Team = hostile, team{}
			return v, err
		},
		Declared: func(context.Context, statestore.Stage) map[string]string {
			return map[string]string{"orders": "a b/main.go:12:3", hostile: hostile}
		},
		Open: func(context.Context, *statestore.Snapshot, string) (*page.Entry, error) {
			return &page.Entry{
				Mask: "(secret)", Props: map[string]any{hostile: hostile, "list": []any{hostile, "dead-1", 4}, "key": "(secret)"}, Problem: hostile,
				Attributes: map[string]any{"arn": "javascript:alert(1)"},
			}, nil
		},
		Plans: func(*http.Request, *page.Visitor, statestore.Stage) ([]page.Plan, error) {
			return []page.Plan{{ID: "p.json", Document: plan, State: hostile, Submitter: hostile, Commit: hostile, Deploy: hostile, Why: hostile, MayApprove: true, MayReject: true}}, nil
		},
	})
	for path, want := range views() {
		answer, body := get(t, server, path)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s\n%s", path, answer.Status, body)
			continue
		}
		if !strings.Contains(body, want) {
			t.Errorf("%s does not say %q", path, want)
		}
		checkMarkup(t, path, body)
		checkHeaders(t, path, answer.Header)
		if strings.Contains(body, "p1") || strings.Contains(body, "p2") || strings.Contains(body, "plain<") {
			t.Errorf("%s shows a secret of the plan", path)
		}
	}
	if _, body := get(t, server, "/s/shop/prod/resource?address=orders"); !strings.Contains(body, `href="https://git.example.com/a%20b/main.go#L12"`) {
		t.Errorf("no link to the line:\n%s", body)
	}
}

// TestPlainWords: what pages say of an error is said plainly, wherever the error comes from, and so is each line of an event stream.
func TestPlainWords(t *testing.T) {
	const raw, plain = "dial tcp 10.0.0.1:443: connect: connection refused", "cannot connect to 10.0.0.1:443: connection refused"
	plan, err := json.Marshal(map[string]any{
		"serial": 1, "summary": map[string]int{"blocked": 1}, "warnings": []string{"w: " + raw},
		"actions": []map[string]any{{"address": "dead", "kind": "k", "action": "blocked", "problem": "p: " + raw}},
	})
	if err != nil {
		t.Fatal(err)
	}
	store, run := newStore(t), "20261123-120000-BBBBBB"
	begin(t, store, prod, run, "ada").commit(statestore.Batch{
		Put: []statestore.Row{row("dead", "k", "dead-1")}, Finish: statestore.Failed,
	},
		map[string]any{"type": "start", "address": "dead", "kind": "k", "action": "create", "status": "running"},
		map[string]any{"type": "done", "address": "dead", "kind": "k", "action": "create", "status": "failed", "error": "e: " + raw},
		map[string]any{"type": "hook", "address": "dead", "kind": "k", "action": "create", "status": "failed", "error": "h: " + raw},
		map[string]any{"type": "warning", "note": "v: " + raw},
	)
	server := serve(t, page.Settings{
		Store:   store,
		Plainly: func(text string) string { return strings.ReplaceAll(text, raw, plain) },
		Open: func(context.Context, *statestore.Snapshot, string) (*page.Entry, error) {
			return &page.Entry{Problem: "o: " + raw}, nil
		},
		Plans: func(*http.Request, *page.Visitor, statestore.Stage) ([]page.Plan, error) {
			return []page.Plan{{ID: "p.json", Document: plan}}, nil
		},
	})
	of := "/s/shop/prod"
	for path, want := range map[string][]string{
		of: nil, of + "/history": nil, of + "/runs/" + run: {"e: ", "h: ", "v: "}, of + "/resource?address=dead": {"o: ", "e: "},
		of + "/plans/p.json": {"p: ", "w: "}, of + "/compare?from=" + run + "&to=" + run: nil, of + "/runs/" + run + "/events": {"e: ", "h: ", "v: "},
	} {
		_, body := get(t, server, path)
		for _, word := range want {
			if !strings.Contains(body, word+plain) {
				t.Errorf("%s does not say %q", path, word+plain)
			}
		}
		if strings.Contains(body, "dial tcp") {
			t.Errorf("%s has words of the system:\n%s", path, body)
		}
	}
}

// checkMarkup finds scripts, styles, handlers and addresses that the templates do not have.
func checkMarkup(t *testing.T, path, body string) {
	t.Helper()
	rest := ownScript.ReplaceAllString(body, "")
	for _, bad := range []string{"<script", "<style", "<img", "javascript:alert(1)\"", " style="} {
		if i := strings.Index(strings.ToLower(rest), bad); i >= 0 {
			t.Errorf("%s has %s: …%s…", path, bad, rest[max(0, i-80):min(len(rest), i+80)])
		}
	}
	for _, tag := range regexp.MustCompile(`<[a-zA-Z][^>]*>`).FindAllString(rest, -1) {
		unquoted := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)
		if strings.Contains(unquoted, " on") || strings.Contains(unquoted, "onerror") {
			t.Errorf("%s has a handler: %s", path, tag)
		}
	}
}

func checkHeaders(t *testing.T, path string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s: policy %q", path, policy)
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %s: %q", path, name, h.Get(name))
		}
	}
}

// TestProblems reads what there is not: each answer is a page with the right status and the headers of every other.
func TestProblems(t *testing.T) {
	server := serve(t, page.Settings{Store: deployed(t)})
	for path, want := range map[string]int{
		"/nosuch": 404, "/s/shop/nosuch": 404, "/s/shop/prod/resource?address=nosuch": 404, "/s/shop/prod/runs/nosuch": 404, "/s/shop/prod/compare?from=a&to=b": 404,
		"/assets/nosuch.js": 404, "/assets/dagre.LICENSE": 404, "/tokens": 404, "/s/~%21/prod": 404, "/s/shop/prod/plans/nosuch": 404,
		runPath + "/events?after=x": 400, runPath + "/cancel": 403,
	} {
		answer, body := get(t, server, path)
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
		checkHeaders(t, path, answer.Header)
		checkMarkup(t, path, body)
	}
}

// TestAssets reads every file that a page names: each is there, of its type, and may be kept forever.
func TestAssets(t *testing.T) {
	server := serve(t, page.Settings{Store: deployed(t)})
	_, body := get(t, server, "/s/shop/prod/graph")
	names := map[string]bool{}
	for _, path := range regexp.MustCompile(`/assets/[a-z.]+\?v=[0-9a-f]+`).FindAllString(body, -1) {
		names[path] = true
		answer, _ := get(t, server, path)
		if answer.StatusCode != http.StatusOK || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s %q", path, answer.Status, answer.Header.Get("Cache-Control"))
		}
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/") && kind != "image/svg+xml" {
			t.Errorf("%s: %q", path, kind)
		}
	}
	if len(names) != 6 {
		t.Errorf("%v", names)
	}
	if answer, _ := get(t, server, "/assets/page.js?v=old"); strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
		t.Error("an old version is kept forever")
	}
}

// TestRights shows a stage to those alone who may read it, and lets those alone cancel who may.
func TestRights(t *testing.T) {
	store := deployed(t)
	w := begin(t, store, statestore.Stage{Stack: "shop", Name: "staging"}, "20261123-110000-AAAAAA", "grace")
	w.commit(statestore.Batch{Put: []statestore.Row{row("a", "k", "staging-a")}})
	server := serve(t, page.Settings{Store: store, Admit: func(*http.Request) (*page.Visitor, error) {
		return &page.Visitor{Name: "reader", Secret: "s", May: func(right page.Right, s statestore.Stage) bool { return right == page.Read && s == prod }}, nil
	}, Cancel: func(*http.Request, *page.Visitor, statestore.Stage, string) error {
		t.Error("it was cancelled")
		return nil
	}})
	if _, body := get(t, server, "/"); strings.Contains(body, "staging") || !strings.Contains(body, "/s/shop/prod") {
		t.Errorf("the list: %s", body)
	}
	for _, path := range []string{"", "/graph", "/history", "/runs/20261123-110000-AAAAAA", "/runs/20261123-110000-AAAAAA/events", "/resource?address=a", "/nosuch", "/plans"} {
		if answer, body := get(t, server, "/s/shop/staging"+path); answer.StatusCode != http.StatusForbidden && path != "/nosuch" || strings.Contains(body, "staging-a") {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	answer, err := http.PostForm(server.URL+runPath+"/cancel", url.Values{"csrf": {page.FormToken("s")}})
	if err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", answer.Status, err)
	}
}

// TestForms sends the form that cancels a run as a browser would, and as other sites would make it.
func TestForms(t *testing.T) {
	store := newStore(t)
	const run = "20261123-110000-AAAAAA"
	w := begin(t, store, prod, run, "grace")
	w.commit(statestore.Batch{Put: []statestore.Row{row("a", "k", "i")}})
	server := serve(t, page.Settings{Store: store, Cancel: func(r *http.Request, v *page.Visitor, stage statestore.Stage, run string) error {
		_, err := store.Interrupt(r.Context(), stage, statestore.Order{Run: run, Who: v.Name})
		return err
	}})
	path := "/s/shop/prod/runs/" + run + "/cancel"
	if _, body := get(t, server, path); !strings.Contains(body, `name="csrf" value="`+page.FormToken("secret")+`"`) {
		t.Errorf("the form has no token: %s", body)
	}
	cancelled := func() bool {
		runs, err := store.Runs(t.Context(), prod, 1)
		if err != nil {
			t.Fatal(err)
		}
		return runs[0].Cancelled
	}
	send := func(token string, headers ...string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(url.Values{"csrf": {token}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	good := page.FormToken("secret")
	for name, status := range map[string]int{
		"no token": send(""), "the token of another session": send(page.FormToken("other")), "another origin": send(good, "Origin", "https://evil.example"),
		"another site": send(good, "Sec-Fetch-Site", "cross-site"), "a site beside": send(good, "Sec-Fetch-Site", "same-site"), "no origin at all": send(good, "Origin", "null"),
	} {
		if status != http.StatusForbidden || cancelled() {
			t.Errorf("%s: %d, cancelled %v", name, status, cancelled())
		}
	}
	if status := send(good, "Origin", server.URL, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || !cancelled() {
		t.Errorf("the form itself: %d, cancelled %v", status, cancelled())
	}
	if _, body := get(t, server, "/s/shop/prod/runs/"+run); !strings.Contains(body, "stopping") {
		t.Errorf("the run does not say that it stops: %s", body)
	}
}

// TestMany shows 10,000 resources 100 at a time, and folds their graph.
func TestMany(t *testing.T) {
	server := serve(t, page.Settings{Store: many(t, 10_000)})
	_, body := get(t, server, "/s/shop/prod")
	if n := strings.Count(body, `class="name"`); n != 100 || !strings.Contains(body, "1 to 100 of 10000") {
		t.Errorf("%d rows", n)
	}
	if _, body := get(t, server, "/s/shop/prod?from=9950"); !strings.Contains(body, "9901 to 10000 of 10000") || strings.Contains(body, `rel="next"`) {
		t.Error("the last page is another")
	}
	if _, body := get(t, server, "/s/shop/prod?q=scope7%2Fr17"); !strings.Contains(body, ", 10000 in all") || !strings.Contains(body, "scope7/r170") {
		t.Error("the filter finds something else")
	}
	if _, body := get(t, server, "/s/shop/prod/graph"); strings.Count(body, "data-node=") != 10 || !strings.Contains(body, "1,000 resources") {
		t.Errorf("%d nodes", strings.Count(body, "data-node="))
	}
	if _, body := get(t, server, "/s/shop/prod/graph?scope=scope7"); strings.Count(body, "data-node=") != 1000 {
		t.Errorf("%d nodes of a scope", strings.Count(body, "data-node="))
	}
}

// manyPages are pages of 10,000 resources, each with what its answer may have in KiB, and what may be allocated in thousands for it when it
// is the first one of a server and when it is not: a page shows a part, so that its size does not follow that of the stage. Bounds are
// half again what was counted.
var manyPages = []struct {
	path               string
	size, first, later int
}{
	{"/", 10, 115, 115},
	{"/s/shop/prod", 100, 145, 145},
	{"/s/shop/prod?q=r17", 100, 160, 160},
	{"/s/shop/prod/graph", 40, 130, 130},
	{"/s/shop/prod/graph?scope=scope7", 760, 270, 270},
	{"/s/shop/prod/resource?address=scope7%2Fr17", 12, 240, 115},
	{"/s/shop/prod/history", 12, 115, 115},
	{"/s/shop/prod/runs/20261123-103104-K4TQZE", 320, 680, 210},
}

// TestManyIsBounded counts the work for pages of 10,000 resources and of the run that created them, and the bytes that are sent.
func TestManyIsBounded(t *testing.T) {
	store := many(t, 10_000)
	get(t, serve(t, page.Settings{Store: store}), "/s/shop/prod/nosuch") // templates and files are prepared once for a process
	for _, p := range manyPages {
		server := serve(t, page.Settings{Store: store})
		for i, most := range []int{p.first, p.later} {
			size := 0
			work := allocations(func() {
				answer, body := get(t, server, p.path)
				if size = len(body); answer.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", p.path, answer.Status)
				}
			})
			t.Logf("%s: time %d: %d bytes, %d allocations", p.path, i+1, size, work)
			if size > p.size<<10 || work > uint64(most)*1000 {
				t.Errorf("%s: time %d: %d bytes and %d allocations, at most %d KiB and %d,000", p.path, i+1, size, work, p.size, most)
			}
		}
	}
}

// allocations counts what a call allocates. Unlike [testing.AllocsPerRun] it does not call it once before.
func allocations(call func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// many is a store with a stage of n resources in ten scopes.
func many(t testing.TB, n int) statestore.Store {
	t.Helper()
	store := newStore(t)
	w := begin(t, store, prod, "20261123-103104-K4TQZE", "ada")
	var rows []statestore.Row
	for i := range n {
		r := row(fmt.Sprintf("scope%d/r%d", i%10, i/10), "aws.sqs.Queue", fmt.Sprintf("queue-%d", i))
		if i >= 10 {
			r.Needs = []string{fmt.Sprintf("scope%d/r%d", i%10, i/20)}
			if r.Needs[0] == r.Address {
				r.Needs = nil
			}
		}
		rows = append(rows, r)
	}
	events := []map[string]any{{"type": "run", "action": "deploy", "status": "running", "total": n}}
	for i := range rows {
		one := map[string]any{"type": "start", "address": rows[i].Address, "kind": "aws.sqs.Queue", "action": "create", "status": "running"}
		done := maps.Clone(one)
		done["type"], done["status"], done["elapsed"] = "done", "done", 0.5
		events = append(events, one, done)
	}
	w.commit(statestore.Batch{Put: rows, Finish: statestore.Succeeded, Summary: []byte(`{"created":` + fmt.Sprint(n) + `}`)}, events...)
	return store
}

// BenchmarkFirstPaint is what a server needs for the pages of 10,000 resources.
func BenchmarkFirstPaint(b *testing.B) {
	server := serve(b, page.Settings{Store: many(b, 10_000)})
	for _, p := range manyPages {
		b.Run(strings.ReplaceAll(p.path, "/", "_"), func(b *testing.B) {
			for b.Loop() {
				get(b, server, p.path)
			}
		})
	}
}

// TestFollow reads the events of a run that is at work over connections that are cut after each number of events: each event
// comes once and in order, and the stream ends with the run.
func TestFollow(t *testing.T) {
	const total = 24
	for cut := 1; cut <= 5; cut++ {
		store := newStore(t)
		const run = "20261123-110000-AAAAAA"
		w := begin(t, store, prod, run, "grace")
		server := serve(t, page.Settings{Store: store, Poll: time.Millisecond})
		var got []uint64
		last, ended := "", false
		for n := 0; !ended; n++ {
			if w.event < total {
				for range 3 {
					w.commit(statestore.Batch{}, map[string]any{"type": "progress", "address": "a", "note": hostile})
				}
			} else if w.event == total {
				w.commit(statestore.Batch{Finish: statestore.Succeeded}, map[string]any{"type": "run", "status": "succeeded"})
			}
			seqs, id, over := follow(t, server.URL+"/s/shop/prod/runs/"+run+"/events", last, cut, w.event)
			got, last, ended = append(got, seqs...), id, over
			if n > 200 {
				t.Fatal("it does not end")
			}
		}
		want := make([]uint64, total+1)
		for i := range want {
			want[i] = uint64(i + 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut after %d: %v", cut, got)
		}
	}
}

// follow reads at most so many events, or those up to the newest, and cuts the connection.
func follow(t *testing.T, address, last string, most int, newest uint64) (seqs []uint64, id string, over bool) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if id = last; last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("%s %q", answer.Status, kind)
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		line := lines.Text()
		if line == "event: end" {
			return seqs, id, true
		}
		if given, ok := strings.CutPrefix(line, "id: "); ok {
			id = given
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e struct{ Seq uint64 }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, e.Seq)
			if len(seqs) == most || e.Seq == newest && newest%3 == 0 {
				return seqs, id, false
			}
		}
	}
	return seqs, id, false
}

// TestStopEndsStreams stops the server while a run is followed: the stream ends without the event "end", so that the browser
// asks elsewhere.
func TestStopEndsStreams(t *testing.T) {
	store := newStore(t)
	begin(t, store, prod, "20261123-110000-AAAAAA", "grace").commit(statestore.Batch{}, map[string]any{"type": "run"})
	p := page.New(context.WithoutCancel(t.Context()), page.Settings{Store: store, Admit: visitor, Poll: time.Millisecond})
	server := httptest.NewServer(p)
	defer server.Close()
	answer, err := http.Get(server.URL + "/s/shop/prod/runs/20261123-110000-AAAAAA/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p.Stop()
	if body, _ := io.ReadAll(answer.Body); strings.Contains(string(body), "event: end") {
		t.Errorf("%s", body)
	}
}

// TestProgress: the page of a run at work says how far it is, as far as its events do, and that of an ended one does not.
func TestProgress(t *testing.T) {
	store := newStore(t)
	const path = "/s/shop/prod/runs/20261123-110000-AAAAAA"
	w := begin(t, store, prod, "20261123-110000-AAAAAA", "ada")
	server := serve(t, page.Settings{Store: store})
	shows := func(says bool, text string) {
		t.Helper()
		if _, body := get(t, server, path); strings.Contains(body, text) != says {
			t.Errorf("the page says %q: %t\n%s", text, !says, body)
		}
	}
	w.commit(statestore.Batch{}, map[string]any{"type": "run", "action": "deploy", "status": "running", "total": 4})
	shows(true, `0 of 4 done, 4 waiting`)
	shows(true, `<code>athanor cancel --stack shop --stage prod</code>`) // these pages have no form for it
	w.commit(statestore.Batch{},
		map[string]any{"type": "start", "address": "a", "action": "create", "status": "running"},
		map[string]any{"type": "done", "address": "a", "action": "create", "status": "done"},
		map[string]any{"type": "start", "address": "b", "action": "create", "status": "running"})
	shows(true, `1 of 4 done, 1 running, 2 waiting`)
	shows(true, `<progress max="4" value="1" aria-label="1 of 4 resources done">`)
	w.commit(statestore.Batch{Finish: statestore.Failed}, map[string]any{"type": "run", "status": "failed"})
	shows(false, "<progress")
	shows(false, "athanor cancel")
	shows(false, "waiting")
}
