package cloudflaretest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/wiretest"
)

// world is all that the server keeps, and what stands behind the proxy.
type world struct {
	catalog  *catalog
	handlers map[string]handler
	token    string

	over   sync.Mutex // guards report: a call may outlive the test
	report Reporter
	ended  bool

	mu       sync.Mutex
	budget   *budget           // nil: calls are not counted
	accounts map[string]string // names by id
	hidden   bool              // they are not listed
	owned    bool              // the token is the account's own, and may not list any
	zones    []*zone
	kv       keyValues
	records  []*record
	queues   []*queue
	buckets  []*bucket
	bases    []*database
	sqlite   *sqlite // nil until there is a database

	importPolls int // how many answers an import is unfinished for

	workers    []*worker
	hostnames  []*hostname
	routes     []*route
	subdomains map[string]string // of workers.dev, by account
	sessions   []*session
	files      map[string]asset // by account and hash
	filesTaken int
	tailMade   chan struct{} // closed when a tail is made, and another one then
	seconds    int           // that have passed
	url        string        // of the server, without a path

	rulesets []*ruleset
	drives   []*drive
	flows    []*flow
	apps     []*app
	images   *images
	tokens   []*token

	shelves shelves // of operations without handlers
}

// request is a call as a handler sees it.
type request struct {
	account string // its name in the path
	path    map[string]string
	query   url.Values
	header  http.Header
	body    object // of JSON, or the fields of a form
	upload  Upload // of a form
	raw     []byte
}

func (r request) text(name string) string {
	s, _ := r.body[name].(string)
	return s
}

// handler does one operation, with the world to itself.
type handler func(w *world, r request) (any, *failure)

// all are the handlers by operation.
var all = sync.OnceValue(func() map[string]handler {
	m := map[string]handler{}
	for _, service := range []map[string]handler{
		accountHandlers, recordHandlers, keyValueHandlers, queueHandlers, bucketHandlers, databaseHandlers,
		workerHandlers, versionHandlers, settingHandlers, triggerHandlers, assetHandlers, tailHandlers, referenceHandlers,
		rulesetHandlers(), driveHandlers, flowHandlers, containerHandlers, tokenHandlers, tunnelHandlers,
	} {
		maps.Copy(m, service)
	}
	return m
})

func (w *world) end() {
	w.over.Lock()
	defer w.over.Unlock()
	w.ended = true
}

// wrong fails the test: a request, or this server, does what Cloudflare's descriptions do not allow.
func (w *world) wrong(format string, args ...any) {
	w.over.Lock()
	defer w.over.Unlock()
	if !w.ended {
		w.report.Errorf("cloudflaretest: "+format, args...)
	}
}

// Read tells what a request asks for.
func (w *world) Read(r *http.Request, body []byte) wiretest.Call {
	if strings.HasPrefix(r.URL.Path, uploadPath) {
		return wiretest.Call{Service: "D1", Operation: "UploadImport", Mutating: true, Method: r.Method, URI: r.URL.RequestURI(), Body: body}
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	op := cloudflare.OperationOf(r.Method, path)
	if known, _ := w.catalog.find(r.Method, path); op.Service == "Cloudflare" && known != nil {
		op = known.named()
	}
	return wiretest.Call{
		Service: op.Service, Operation: op.Name, Mutating: !op.Reads() && !asks(op.Name, body),
		Constant: op.Name == "ListAccounts" || op.Name == "ListZones" || op.Name == "GetZone", Method: r.Method, URI: r.URL.RequestURI(), Body: body,
	}
}

// asks reports a call of a database that only reads.
func asks(operation string, body []byte) bool {
	var q struct{ SQL, Action string }
	if operation != "QueryDatabase" && operation != "ImportDatabase" || json.Unmarshal(body, &q) != nil {
		return false
	}
	return strings.HasPrefix(q.SQL, "SELECT ") || q.Action == "poll"
}

// Refuse is the answer to a call that does not reach the server.
func (w *world) Refuse(c wiretest.Call, f wiretest.Fault) wiretest.Answer {
	switch f.Kind {
	case Throttle: // without Retry-After, so that no test waits for it
		return refused(&failure{status: 429, code: 971, message: "Please wait and consider throttling your request speed"})
	case Deny:
		return refused(&failure{status: 403, code: 10000, message: "Authentication error"})
	case Refuse:
		code, _ := strconv.Atoi(f.Code)
		return refused(&failure{status: max(f.Status, 400), code: code, message: "refused by the test"})
	case Stale:
		return absent(c)
	}
	return broken()
}

// Answer does what a request asks for.
func (w *world) Answer(_ context.Context, r *http.Request, c wiretest.Call) wiretest.Answer {
	return w.within(r, func() wiretest.Answer { return w.answer(r, c) })
}

func (w *world) answer(r *http.Request, c wiretest.Call) wiretest.Answer {
	if strings.HasPrefix(r.URL.Path, uploadPath) {
		return w.uploadImport(r, c.Body)
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	op, values := w.catalog.find(r.Method, path)
	if op == nil {
		w.wrong("%s %s is no operation", r.Method, path)
		return refused(&failure{status: 400, code: 7000, message: "cloudflaretest: " + r.Method + " " + path + " is no operation that this server knows"})
	}
	in, err := parts(op, r, c.Body, values)
	if err != nil {
		w.wrong("%s: %v", op, err)
		return refused(notUnderstood(op, err.Error()))
	}
	if f := w.admits(op, r, in); f != nil {
		return refused(f)
	}
	do := w.handlers[op.String()]
	if do == nil && !w.catalog.of(op).isOfHandlers(op, w.handlers) {
		do = w.catalog.of(op).described(op, path)
	}
	if do == nil {
		w.wrong("%s is not done here", op)
		return refused(notUnderstood(op, "this server does not do it"))
	}
	if err := op.checkRequest(values, in.query, in.header, in.body); err != nil {
		w.wrong("request of %s: %v\n%s\n%s", op, err, r.URL.RequestURI(), c.Body)
		return refused(notUnderstood(op, err.Error()))
	}
	return w.done(op, do, in)
}

func (w *world) done(op *operation, do handler, in request) wiretest.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	result, f := do(w, in)
	if f != nil {
		told := *f
		if told.service == "" {
			told.service = op.Service
		}
		if !w.catalog.of(op).declares(&told) {
			w.wrong("%s answers an error that it does not declare: %v", op, f)
		}
		return refused(f)
	}
	if a, ready := result.(wiretest.Answer); ready { // which is no JSON
		return a
	}
	a := said(result)
	if err := op.checkAnswer(a.Body); err != nil {
		w.wrong("answer of %s: %v\n%s", op, err, a.Body)
	}
	return a
}

func parts(op *operation, r *http.Request, body []byte, values map[string]string) (request, error) {
	in := request{path: map[string]string{}, query: r.URL.Query(), header: r.Header, raw: body}
	for name, v := range values {
		text, err := url.PathUnescape(v)
		if err != nil {
			return in, err
		}
		in.path[name], values[name] = text, text
	}
	in.account = in.path["account_id"]
	// wrangler sends JSON as plain text in places.
	kind := r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "multipart/form-data") {
		var err error
		in.body, in.upload, err = form(kind, body, op.Service == "workers")
		for name, v := range in.body { // a form has texts alone
			if text, isText := v.(string); isText {
				in.body[name] = typed(op.described().properties[name], []string{text})
			}
		}
		return in, err
	}
	if len(body) > 0 && (strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/plain") && body[0] == '{') {
		if body[0] == '[' { // what is no object is described as the only field, body
			body = plain(object{"body": json.RawMessage(body)})
		}
		if err := json.Unmarshal(body, &in.body); err != nil {
			return in, err
		}
	}
	return in, nil
}

// tokenForm is what every token looks like; anything else is refused before it is looked up.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{40}$`)

// admits checks the token, and that the account is one that it reaches. Assets come with a token of their own.
func (w *world) admits(op *operation, r *http.Request, in request) *failure {
	if op.String() == "workers.CreateAssetUpload" {
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	_, reached := w.accounts[in.account]
	switch {
	case token == "":
		return &failure{status: 400, code: 9106, message: "Missing X-Auth-Key, X-Auth-Email or Authorization headers"}
	case scheme != "Bearer" || !tokenForm.MatchString(token):
		return &failure{status: 400, code: 6003, message: "Invalid request headers"}
	case token != w.token:
		return &failure{status: 403, code: 9109, message: "Invalid access token"}
	case in.account != "" && !cloudflare.IsID(in.account):
		return notFound(r.URL.Path)
	case in.account != "" && !reached:
		return &failure{status: 403, code: 10000, message: "Authentication error"}
	}
	return nil
}

// sorted are the values of a map in the order of their keys.
func sorted[V any](m map[string]V) []V {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	values := make([]V, len(keys))
	for i, k := range keys {
		values[i] = m[k]
	}
	return values
}
