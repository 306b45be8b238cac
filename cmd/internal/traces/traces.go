// Package traces sends a run as an OpenTelemetry trace, by OTLP over HTTP in JSON.
//
// It knows the environment variables of OpenTelemetry, the events of a run, and how spans are written and sent. It does not
// know what a resource is, nor what a run does; that a trace could not be sent never changes how a run ends.
package traces

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// About says what a trace is of.
type About struct {
	Version, Stack, Stage, Command string
}

// Run is the trace of one run. The methods of a nil Run do nothing.
type Run struct {
	to       target
	about    About
	resource []attribute
	traceID  string
	root     span

	mu    sync.Mutex
	open  map[string]*span // by address and action
	ended []*span
}

// target is where traces are sent.
type target struct {
	address string
	headers http.Header
	timeout time.Duration
	packed  bool
	client  *http.Client
}

const (
	defaultTimeout = 10 * time.Second
	mostSpans      = 1000 // of one request
	mostAnswer     = 64 << 10
)

// parent is the form of TRACEPARENT: version, trace, span, flags.
var parent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// Begin returns the trace of a run that begins now, as the environment says; nil where it names no endpoint or switches traces
// off. A variable that cannot be understood is an error.
func Begin(env func(string) string, about About) (*Run, error) {
	address := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); address == "" && base != "" {
		address = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if address == "" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" || env("OTEL_TRACES_SAMPLER") == "always_off" {
		return nil, nil //nolint:nilnil // nobody wants traces
	}
	if at, err := url.Parse(address); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, errors.New("the endpoint of OTLP is no http or https URL") // it may hold a password
	}
	protocol := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if protocol == "grpc" {
		return nil, errors.New("OTLP by grpc is not spoken: name an endpoint of http and unset OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	r := &Run{about: about, open: map[string]*span{}, traceID: random(16)}
	r.to = target{address: address, timeout: defaultTimeout, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if text := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"), env("OTEL_EXPORTER_OTLP_TIMEOUT")); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 1 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT %q: it is a number of milliseconds", text)
		}
		r.to.timeout = time.Duration(ms) * time.Millisecond
	}
	r.to.packed = cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"), env("OTEL_EXPORTER_OTLP_COMPRESSION")) == "gzip"
	headers, err := pairs(cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), env("OTEL_EXPORTER_OTLP_HEADERS")))
	if err != nil {
		return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE")
	}
	r.to.headers = http.Header{}
	for _, h := range headers {
		r.to.headers.Set(h[0], h[1])
	}
	extra, err := pairs(env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is no list of NAME=VALUE")
	}
	name := "athanor"
	for _, a := range extra {
		switch a[0] {
		case "service.name":
			name = a[1]
		case "service.version":
		default:
			r.resource = append(r.resource, text(a[0], a[1]))
		}
	}
	r.resource = append(r.resource, text("service.name", cmp.Or(env("OTEL_SERVICE_NAME"), name)), text("service.version", about.Version))
	r.root = span{TraceID: r.traceID, ID: random(8), Name: "athanor " + about.Command, Kind: kindInternal, Start: nano(time.Now())}
	if above := parent.FindStringSubmatch(env("TRACEPARENT")); above != nil && strings.Trim(above[1], "0") != "" && strings.Trim(above[2], "0") != "" {
		if flags, _ := strconv.ParseUint(above[3], 16, 8); flags&1 == 0 {
			return nil, nil //nolint:nilnil // who began the trace does not sample it
		}
		r.traceID, r.root.TraceID, r.root.Parent = above[1], above[1], above[2]
	}
	return r, nil
}

func random(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

// pairs reads NAME=VALUE,NAME=VALUE, whose values are percent-encoded.
func pairs(list string) (all [][2]string, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		value, bad := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || bad != nil {
			return nil, errors.New("malformed")
		}
		all = append(all, [2]string{name, value})
	}
	return all, nil
}

// Event notes an event of the run. Its texts are redacted.
func (r *Run) Event(e engine.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.Address + "\n" + string(e.Action)
	at := r.open[key]
	switch e.Type {
	case engine.EventRun:
		r.root.set("athanor.run", e.Run)
	case engine.EventStart:
		r.open[key] = r.begun(e)
	case engine.EventDone:
		if at == nil {
			at = r.begun(e) // it was blocked, and never began
		}
		delete(r.open, key)
		at.end(e.Time)
		at.set("athanor.status", string(e.Status))
		if e.Cause != "" {
			at.set("athanor.cause", e.Cause)
		}
		if len(e.Paths) > 0 {
			at.set("athanor.paths", strings.Join(e.Paths, ", "))
		}
		if e.Status == engine.StatusFailed || e.Status == engine.StatusBlocked {
			at.Status = &status{statusError, cmp.Or(e.Error, e.Note, string(e.Status))}
		}
		r.ended = append(r.ended, at)
	case engine.EventProgress, engine.EventHook, engine.EventWarning:
		if at == nil {
			at = &r.root
		}
		moment := happening{Time: nano(e.Time), Name: string(e.Type), Attributes: []attribute{text("message", cmp.Or(e.Error, e.Note))}}
		if at == &r.root && e.Address != "" {
			moment.Attributes = append(moment.Attributes, text("athanor.address", e.Address))
		}
		at.Events = append(at.Events, moment)
	}
}

// begun is the span of the work on a resource.
func (r *Run) begun(e engine.Event) *span {
	s := &span{
		TraceID: r.traceID, ID: random(8), Parent: r.root.ID, Name: string(e.Action) + " " + e.Address, Kind: kindInternal, Start: nano(e.Time), End: nano(e.Time),
	}
	s.set("athanor.address", e.Address)
	s.set("athanor.kind", e.Kind)
	s.set("athanor.action", string(e.Action))
	return s
}

// End sends the trace of a run that ended in a state; with failure, as one that failed. It takes at most the timeout of the
// environment, ten seconds by default, and goes on when the context has ended: an interrupted run has a trace as well.
func (r *Run) End(ctx context.Context, state string, failure string) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, s := range r.open { // cut in the middle
		s.end(now)
		s.set("athanor.status", string(engine.StatusInterrupted))
		r.ended = append(r.ended, s)
	}
	r.root.end(now)
	for name, value := range map[string]string{
		"athanor.stack": r.about.Stack, "athanor.stage": r.about.Stage, "athanor.command": r.about.Command, "athanor.state": state,
	} {
		r.root.set(name, value)
	}
	if failure != "" {
		r.root.Status = &status{statusError, failure}
	}
	spans := append([]*span{&r.root}, r.ended...)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), r.to.timeout)
	defer stop()
	for len(spans) > 0 {
		part := spans[:min(len(spans), mostSpans)]
		spans = spans[len(part):]
		body, err := json.Marshal(request{[]resourceSpans{{
			Resource: resource{r.resource}, Scopes: []scopeSpans{{Scope: scope{"athanor", r.about.Version}, Spans: part}},
		}}})
		if err == nil {
			err = r.to.send(ctx, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send sends one request. One that is refused for a while is sent again, as long as there is time.
func (t *target) send(ctx context.Context, body []byte) error {
	encoding := ""
	if t.packed {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body, encoding = packed.Bytes(), "gzip"
	}
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		again, err := t.try(ctx, body, encoding)
		if err == nil || !again {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// try sends a request once, and says whether it may be sent again.
func (t *target) try(ctx context.Context, body []byte, encoding string) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the endpoint of OTLP cannot be asked")
	}
	req.Header = t.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	res, err := t.client.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // without the URL, which may hold a password
		}
		return ctx.Err() == nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, fmt.Errorf("%s answers %s", req.URL.Host, res.Status)
	}
	if res.StatusCode/100 != 2 {
		return false, fmt.Errorf("%s answers %s", req.URL.Host, res.Status)
	}
	var answer struct {
		Partial struct {
			Rejected json.Number `json:"rejectedSpans"`
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if err == nil && json.Unmarshal(data, &answer) == nil && answer.Partial.Rejected != "" && answer.Partial.Rejected != "0" {
		err = fmt.Errorf("%s rejected %s spans: %.200q", req.URL.Host, answer.Partial.Rejected, answer.Partial.Message)
	}
	return false, err
}
