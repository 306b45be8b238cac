// Package pulumiapi answers the Pulumi Service API, so that the pulumi command keeps its stacks in the service.
//
// A Pulumi stack is a stage of the store, named pulumi:ORGANIZATION:PROJECT and STACK. An update is a run of it: it has the
// lease, and its checkpoints, renewals and end are commits under that lease, in each of which the store checks the token. What
// the store has no place for (tags, messages, options, old versions) is in folders beside.
package pulumiapi

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// API answers the requests of the pulumi command.
type API struct {
	service *service.Service
	states  *foreign.States
	store   statestore.Folders
	life    time.Duration
}

// defaultOrganization is where stacks are whose name has none, as in the backends of Pulumi without a service.
const defaultOrganization = "organization"

// lifeOfLease is how long an update may be silent. The command renews it before half of that has passed.
const lifeOfLease = 5 * time.Minute

// Mount adds the protocol to a service, under /api/. The master key wraps the keys of the stacks.
func Mount(s *service.Service, master foreign.Master) {
	api := &API{service: s, states: foreign.New(s, master, "pulumi:deployment"), store: s.Store(), life: lifeOfLease}
	s.Mount("/api/", api.handler())
	s.Explain(Prefix, api.notes)
}

// Prefix begins the stack of a stage that is a Pulumi stack.
const Prefix = "pulumi:"

// call is one request whose caller is known.
type call struct {
	*http.Request
	writer http.ResponseWriter
	by     *service.Caller
	secret string
	id     stackID
	update string
}

// stackID names a Pulumi stack.
type stackID struct{ Org, Project, Stack string }

func (id stackID) stage() statestore.Stage {
	return statestore.Stage{Stack: Prefix + id.Org + ":" + id.Project, Name: id.Stack}
}

func (id stackID) key() string { return id.Org + "/" + id.Project + "/" + id.Stack }

// validName are the names that Pulumi allows, without those that have a meaning in a path.
var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$`) })

// apiError is an error in the form that the command shows.
type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return e.Message }

func refuse(code int, message string) error { return &apiError{code, message} }

func errNoStack() error { return refuse(http.StatusNotFound, "Not Found: the stack does not exist") }

// route is one operation. Need is the role on the stack; empty where the path names none.
type route struct {
	pattern  string
	need     string
	byUpdate bool
	do       func(*call) (any, error)
}

func (a *API) handler() http.Handler {
	const stack, update = "/api/stacks/{org}/{project}/{stack}", "/api/stacks/{org}/{project}/{stack}/{kind}/{update}"
	mux := http.NewServeMux()
	for _, r := range []route{
		{pattern: "GET /api/capabilities", do: a.capabilities},
		{pattern: "GET /api/cli/version", do: a.cliVersion},
		{pattern: "GET /api/user", do: a.user},
		{pattern: "GET /api/user/organizations/default", do: a.defaultOrganization},
		{pattern: "GET /api/user/stacks", do: a.listStacks},
		{pattern: "POST /api/stacks/{org}/{project}", do: a.createStack},
		{pattern: "HEAD /api/stacks/{org}/{project}", do: a.projectExists},
		{pattern: "GET " + stack, need: "reader", do: a.getStack},
		{pattern: "DELETE " + stack, need: "deployer", do: a.deleteStack},
		{pattern: "PATCH " + stack + "/tags", need: "deployer", do: a.setTags},
		{pattern: "GET " + stack + "/export", need: "deployer", do: a.export},
		{pattern: "GET " + stack + "/export/{version}", need: "deployer", do: a.export},
		{pattern: "POST " + stack + "/import", need: "deployer", do: a.importState},
		{pattern: "POST " + stack + "/encrypt", need: "planner", do: a.encrypt},
		{pattern: "POST " + stack + "/batch-encrypt", need: "planner", do: a.batchEncrypt},
		{pattern: "POST " + stack + "/decrypt", need: "deployer", do: a.decrypt},
		{pattern: "POST " + stack + "/batch-decrypt", need: "deployer", do: a.batchDecrypt},
		{pattern: "POST " + stack + "/decrypt/log-decryption", need: "reader", do: a.nothing},
		{pattern: "POST " + stack + "/decrypt/log-batch-decryption", need: "reader", do: a.nothing},
		{pattern: "GET " + stack + "/updates", need: "reader", do: a.history},
		{pattern: "GET " + stack + "/updates/{version}", need: "reader", do: a.version},
		{pattern: "POST " + stack + "/update", need: "deployer", do: a.create("update")},
		{pattern: "POST " + stack + "/refresh", need: "deployer", do: a.create("refresh")},
		{pattern: "POST " + stack + "/destroy", need: "deployer", do: a.create("destroy")},
		{pattern: "POST " + stack + "/preview", need: "planner", do: a.create("preview")},
		{pattern: "POST " + update, need: "planner", do: a.start},
		{pattern: "GET " + update, need: "reader", do: a.status},
		{pattern: "POST " + update + "/cancel", need: "deployer", do: a.cancel},
		{pattern: "PATCH " + update + "/checkpoint", byUpdate: true, do: a.checkpoint},
		{pattern: "PATCH " + update + "/checkpointverbatim", byUpdate: true, do: a.checkpointVerbatim},
		{pattern: "PATCH " + update + "/checkpointdelta", byUpdate: true, do: a.checkpointDelta},
		{pattern: "POST " + update + "/events/batch", byUpdate: true, do: a.events},
		{pattern: "GET " + update + "/events", need: "reader", do: a.listEvents},
		{pattern: "POST " + update + "/renew_lease", byUpdate: true, do: a.renew},
		{pattern: "POST " + update + "/complete", byUpdate: true, do: a.complete},
	} {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { a.answer(r, w, req) })
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, req *http.Request) {
		write(w, http.StatusNotFound, &apiError{http.StatusNotFound, "Not Found: athanor does not offer this part of the Pulumi Service API"})
	})
	return mux
}

func (a *API) answer(r route, w http.ResponseWriter, req *http.Request) {
	c := &call{Request: req, writer: w, update: req.PathValue("update")}
	err := a.admit(r, c)
	var body any
	if err == nil {
		body, err = r.do(c)
	}
	if err != nil {
		a.fail(c, err)
		return
	}
	write(w, http.StatusOK, body)
}

// admit finds out who sends a request and whether they may.
func (a *API) admit(r route, c *call) (err error) {
	scheme, secret, _ := strings.Cut(c.Header.Get("Authorization"), " ")
	want := "token"
	if r.byUpdate {
		want = "update-token"
	}
	if scheme != want || secret == "" {
		return refuse(http.StatusUnauthorized, "Unauthorized: No credentials provided or are invalid.")
	}
	c.secret = secret
	if c.by, err = a.service.Admit(c.Request, secret, r.byUpdate); err != nil {
		return err
	}
	c.id = stackID{c.PathValue("org"), c.PathValue("project"), c.PathValue("stack")}
	for _, name := range []string{c.id.Org, c.id.Project, c.id.Stack} {
		if name != "" && !validName().MatchString(name) {
			return refuse(http.StatusBadRequest, "Bad Request: "+name+" is not a valid name")
		}
	}
	if r.need != "" {
		return c.by.Require(r.need, c.id.stage())
	}
	return nil
}

// fail writes an error. What is the service's own goes to its log and is not shown.
func (a *API) fail(c *call, err error) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = a.translate(c, err)
	}
	write(c.writer, e.Code, e)
}

// translate writes an error of the store or the service in the command's form.
func (a *API) translate(c *call, err error) *apiError {
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		return &apiError{http.StatusConflict, "Conflict: Another update is currently in progress: " + held.Holder.Command + " by " +
			held.Holder.User + " since " + held.Holder.Since.UTC().Format(time.RFC3339)}
	}
	if fenced, ok := errors.AsType[*statestore.FencedError](err); ok { // the command stops writing when it is refused like this
		return &apiError{http.StatusForbidden, "Forbidden: " + fenced.Error()}
	}
	p := wire.FromError(err)
	if p == nil {
		p = wire.NewProblem(http.StatusInternalServerError, "internal", "the service failed", "")
	}
	if p.Status >= http.StatusInternalServerError {
		a.service.Report(c.Request, err)
	}
	return &apiError{p.Status, http.StatusText(p.Status) + ": " + p.Error()}
}

// write writes an answer. Nil is an empty object: the command reads JSON from each answer.
func write(w http.ResponseWriter, status int, body any) {
	if body == nil {
		body = struct{}{}
	}
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"code":500,"message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that went away asks again
}

// decode reads a body, which may be compressed. Fields that are not known are left out: newer commands send more.
func decode(c *call, into any) error {
	var body io.Reader = http.MaxBytesReader(c.writer, c.Body, wire.MaxBody)
	if c.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return refuse(http.StatusBadRequest, "Bad Request: "+err.Error())
		}
		body = unpacked
	}
	data, err := io.ReadAll(io.LimitReader(body, wire.MaxBody+1))
	if _, large := errors.AsType[*http.MaxBytesError](err); large || len(data) > wire.MaxBody {
		return refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large: a body has at most 64 MiB, after decompression too")
	}
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "Bad Request: "+err.Error())
	}
	return nil
}

func (a *API) nothing(*call) (any, error) { return nil, nil }

// capabilities lists what the command may use beyond the base: nothing is offered that is not answered.
func (a *API) capabilities(*call) (any, error) {
	type capability struct {
		Capability    string `json:"capability"`
		Version       int    `json:"version,omitempty"`
		Configuration any    `json:"configuration,omitempty"`
	}
	return map[string]any{"capabilities": []capability{
		{"delta-checkpoint-uploads-v2", 2, map[string]int{"checkpointCutoffSizeBytes": deltaFrom}},
		{"batch-encrypt", 1, nil},
		{"deployment-schema-version", 1, map[string]int{"version": 4}},
	}}, nil
}

// deltaFrom is the size in bytes from which on the command sends differences.
const deltaFrom = 16 << 10

// cliVersion names no version: it is not for the service to say that a command is old.
func (a *API) cliVersion(*call) (any, error) {
	return nil, refuse(http.StatusNotFound, "Not Found: the service recommends no version")
}

func (a *API) user(c *call) (any, error) {
	type organization struct {
		Login string `json:"githubLogin"`
		Name  string `json:"name"`
	}
	return map[string]any{
		"id": c.by.TokenID(), "githubLogin": c.by.TokenName(), "name": c.by.TokenName(), "email": "", "avatarUrl": "",
		"organizations": []organization{{defaultOrganization, defaultOrganization}},
	}, nil
}

func (a *API) defaultOrganization(*call) (any, error) {
	return map[string]any{"GitHubLogin": defaultOrganization, "messages": []any{}}, nil
}

// audit notes what a request did, once.
func (a *API) audit(ctx context.Context, c *call, action, run, detail, id string) error {
	return a.service.Audit(ctx, c.by, action, c.id.stage(), run, detail, action+" "+c.id.key()+" "+id)
}
