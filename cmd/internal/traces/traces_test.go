package traces_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/traces"
	"github.com/athanor-dev/athanor/engine"
)

type attributes []struct {
	Key   string
	Value struct{ StringValue *string }
}

func (a attributes) get(key string) string {
	for _, one := range a {
		if one.Key == key && one.Value.StringValue != nil {
			return *one.Value.StringValue
		}
	}
	return ""
}

type spanSent struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          attributes
	Events                              []struct {
		TimeUnixNano, Name string
		Attributes         attributes
	}
	Status struct {
		Code    int
		Message string
	}
}

// collector is a receiver that takes what the specification says, and nothing else.
type collector struct {
	*testing.T
	url string

	mu       sync.Mutex
	spans    []spanSent
	resource attributes
	headers  http.Header
	requests int
	answers  []int // the first ones; then 200
	body     string
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{T: t, answers: answers, body: `{}`}
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests++; len(c.answers) > 0 {
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			c.Error(err)
			return
		}
		body = unpacked
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.Errorf("%s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	var sent struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes attributes }
			ScopeSpans []struct {
				Scope struct{ Name, Version string }
				Spans []spanSent
			}
		}
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&sent); err != nil || len(sent.ResourceSpans) != 1 || len(sent.ResourceSpans[0].ScopeSpans) != 1 {
		c.Errorf("%+v: %v", sent, err)
		return
	}
	c.headers, c.resource = r.Header, sent.ResourceSpans[0].Resource.Attributes
	for _, s := range sent.ResourceSpans[0].ScopeSpans[0].Spans {
		start, err1 := strconv.ParseUint(s.StartTimeUnixNano, 10, 64)
		end, err2 := strconv.ParseUint(s.EndTimeUnixNano, 10, 64)
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(s.TraceID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(s.SpanID) ||
			err1 != nil || err2 != nil || end < start || start == 0 || s.Name == "" || s.Kind != 1 {
			c.Errorf("a span %+v", s)
		}
		c.spans = append(c.spans, s)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, c.body)
}

func (c *collector) span(name string) spanSent {
	c.Helper()
	for _, s := range c.spans {
		if s.Name == name {
			return s
		}
	}
	c.Fatalf("no span %q in %+v", name, c.spans)
	return spanSent{}
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

var about = traces.About{Version: "1.2.3", Stack: "shop", Stage: "prod", Command: "deploy"}

func begin(t *testing.T, env ...string) *traces.Run {
	t.Helper()
	r, err := traces.Begin(environment(env...), about)
	if err != nil || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	return r
}

// TestTrace: a run is a span with one below it for the work on each resource, with its times, its end and what it waited for.
func TestTrace(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	r := begin(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.url+"/", "OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=y", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip",
		"OTEL_RESOURCE_ATTRIBUTES", "team=shop,service.name=ignored", "OTEL_SERVICE_NAME", "infra",
		"TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	at := time.Now().Add(-time.Minute)
	event := func(after time.Duration, e engine.Event) {
		e.Time = at.Add(after)
		r.Event(e)
	}
	event(0, engine.Event{Type: engine.EventRun, Run: "20261123-103104-K4TQZE", Status: engine.StatusRunning})
	event(1, engine.Event{Type: engine.EventStart, Address: "queue", Kind: "aws.sqs.Queue", Action: engine.Create})
	event(1, engine.Event{Type: engine.EventStart, Address: "role", Kind: "aws.iam.Role", Action: engine.Update})
	event(2, engine.Event{Type: engine.EventProgress, Address: "queue", Kind: "aws.sqs.Queue", Action: engine.Create, Note: "not visible yet"})
	event(time.Second, engine.Event{Type: engine.EventDone, Address: "queue", Kind: "aws.sqs.Queue", Action: engine.Create, Status: engine.StatusDone})
	event(2*time.Second, engine.Event{Type: engine.EventDone, Address: "role", Action: engine.Update, Status: engine.StatusFailed, Error: "AccessDenied", Cause: "c1", Paths: []string{"policy", "tags"}})
	event(2*time.Second, engine.Event{Type: engine.EventDone, Address: "function", Action: engine.Create, Status: engine.StatusBlocked, Note: "needs role"})
	event(2*time.Second, engine.Event{Type: engine.EventStart, Address: "cut", Action: engine.Delete})
	event(2*time.Second, engine.Event{Type: engine.EventWarning, Address: "other", Note: "mind the gap"})
	if err := r.End(t.Context(), "failed", "1 failed"); err != nil {
		t.Fatal(err)
	}
	root := c.span("athanor deploy")
	for key, want := range map[string]string{
		"athanor.stack": "shop", "athanor.stage": "prod", "athanor.command": "deploy", "athanor.run": "20261123-103104-K4TQZE", "athanor.state": "failed",
	} {
		if got := root.Attributes.get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if root.TraceID != "0af7651916cd43dd8448eb211c80319c" || root.ParentSpanID != "b7ad6b7169203331" || root.Status.Code != 2 || root.Status.Message != "1 failed" ||
		len(root.Events) != 1 || root.Events[0].Attributes.get("message") != "mind the gap" || root.Events[0].Attributes.get("athanor.address") != "other" {
		t.Errorf("the run: %+v", root)
	}
	queue := c.span("create queue")
	if queue.EndTimeUnixNano != fmt.Sprint(at.Add(time.Second).UnixNano()) || queue.Status.Code != 0 || queue.Attributes.get("athanor.kind") != "aws.sqs.Queue" ||
		len(queue.Events) != 1 || queue.Events[0].Attributes.get("message") != "not visible yet" {
		t.Errorf("the queue: %+v", queue)
	}
	if role := c.span("update role"); role.Status.Code != 2 || role.Status.Message != "AccessDenied" || role.Attributes.get("athanor.cause") != "c1" || role.Attributes.get("athanor.paths") != "policy, tags" {
		t.Errorf("the role: %+v", role)
	}
	if function := c.span("create function"); function.Status.Message != "needs role" {
		t.Errorf("the function: %+v", function)
	}
	if cut := c.span("delete cut"); cut.Attributes.get("athanor.status") != "interrupted" {
		t.Errorf("what was cut: %+v", cut)
	}
	var ids []string
	for _, s := range c.spans {
		if s.TraceID != root.TraceID || s.SpanID != root.SpanID && s.ParentSpanID != root.SpanID {
			t.Errorf("%s is not below the run: %+v", s.Name, s)
		}
		ids = append(ids, s.SpanID)
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 5 {
		t.Errorf("span ids %v", ids)
	}
	if c.resource.get("service.name") != "infra" || c.resource.get("service.version") != "1.2.3" || c.resource.get("team") != "shop" || c.headers.Get("Api-Key") != "a b" || c.headers.Get("X") != "y" {
		t.Errorf("resource %+v, headers %v", c.resource, c.headers)
	}
}

// TestLarge: a trace of many spans is sent in parts, none of which is lost.
func TestLarge(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	r := begin(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.url+"/v1/traces")
	for i := range 2500 {
		r.Event(engine.Event{Type: engine.EventDone, Time: time.Now(), Address: fmt.Sprint(i), Action: engine.Create, Status: engine.StatusDone})
	}
	if err := r.End(t.Context(), "succeeded", ""); err != nil || len(c.spans) != 2501 || c.requests != 3 {
		t.Errorf("%d spans in %d requests, %v", len(c.spans), c.requests, err)
	}
}

// TestAnswers: what is refused for a while is sent again, anything else not; errors name no password.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers  []int
		body     string
		requests int
		want     string
	}{
		"later":           {answers: []int{503, 429}, requests: 3},
		"never":           {answers: []int{400}, requests: 1, want: "400"},
		"elsewhere":       {answers: []int{307}, requests: 1, want: "307"},
		"partly":          {body: `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`, requests: 1, want: "too old"},
		"partly, nothing": {body: `{"partialSuccess":{"rejectedSpans":"0"}}`, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, test.answers...)
			if test.body != "" {
				c.body = test.body
			}
			address := strings.Replace(c.url, "://", "://me:hunter2@", 1)
			err := begin(t, "OTEL_EXPORTER_OTLP_ENDPOINT", address).End(t.Context(), "succeeded", "")
			if said := fmt.Sprint(err); c.requests != test.requests || (err == nil) != (test.want == "") || !strings.Contains(said, test.want) || strings.Contains(said, "hunter2") {
				t.Errorf("%d requests, %v", c.requests, err)
			}
		})
	}
	r := begin(t, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hunter2@127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT", "50")
	if err := r.End(t.Context(), "succeeded", ""); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestEnvironment: nothing is sent where nobody wants it, and what cannot be understood is an error without its value.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	const to = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, env := range [][]string{
		{},
		{to, "http://h", "OTEL_SDK_DISABLED", "true"},
		{to, "http://h", "OTEL_TRACES_EXPORTER", "none"},
		{to, "http://h", "OTEL_TRACES_SAMPLER", "always_off"},
		{to, "http://h", "TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
	} {
		r, err := traces.Begin(environment(env...), about)
		if r != nil || err != nil {
			t.Errorf("%v: %v, %v", env, r, err)
		}
		r.Event(engine.Event{})
		if err := r.End(t.Context(), "", ""); err != nil {
			t.Error(err)
		}
	}
	for _, env := range [][]string{
		{to, "collector:hunter2"},
		{to, "ftp://hunter2"},
		{to, "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
		{to, "http://h", "OTEL_EXPORTER_OTLP_HEADERS", "hunter2"},
		{to, "http://h", "OTEL_EXPORTER_OTLP_TIMEOUT", "soon"},
	} {
		if r, err := traces.Begin(environment(env...), about); r != nil || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v, %v", env, r, err)
		}
	}
	for _, broken := range []string{"x", "00-00000000000000000000000000000000-b7ad6b7169203331-00", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-00"} {
		if r, err := traces.Begin(environment(to, "http://h", "TRACEPARENT", broken), about); r == nil || err != nil {
			t.Errorf("%s: %v, %v", broken, r, err)
		}
	}
}
