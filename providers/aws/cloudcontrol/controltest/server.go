package controltest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Account and Region are those of every server.
const (
	Account = "111122223333"
	Region  = "eu-north-1"
)

// Server is one account.
type Server struct {
	// URL is the endpoint of all services.
	URL string
	// Strict has references checked: a property that the schemas say refers to another type must name a resource.
	Strict bool

	schemas *Schemas

	mu        sync.Mutex
	resources map[string]*resource // by type and identifier
	requests  map[string]*request  // by token
	tokens    map[string]*request  // by client token
	hidden    map[string][]string  // properties that are never shown, by type
	defaults  map[string]map[string]any
	refusals  []*Refusal
	calls     []string
	serial    int
}

// Start is a server with nothing in it, for as long as the test runs. It knows of some services what the schemas do not tell.
func Start(t testing.TB, schemas *Schemas) *Server {
	t.Helper()
	s := &Server{
		schemas: schemas, resources: map[string]*resource{}, requests: map[string]*request{}, tokens: map[string]*request{},
		hidden: map[string][]string{}, defaults: map[string]map[string]any{},
	}
	for typ, how := range services() {
		s.Hide(typ, how.hidden...)
		for name, v := range how.defaults {
			s.Default(typ, name, v)
		}
	}
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	s.URL = front.URL
	return s
}

// Config is what clients are made of. It reads no environment and never retries.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &s.URL, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("AKIA"+Account, "controltest", ""),
	}
}

// Environ is the environment of this process with what leads a provider here, and nowhere else.
func (s *Server) Environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "AWS_") })
	return append(env, "AWS_ENDPOINT_URL="+s.URL, "AWS_REGION="+Region, "AWS_ACCESS_KEY_ID=AKIA"+Account,
		"AWS_SECRET_ACCESS_KEY=controltest", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
}

// Hide has properties of a type never shown: they can only be written.
func (s *Server) Hide(typ string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[typ] = append(s.hidden[typ], names...)
}

// Default has the service fill in a property that a model leaves out. A value that is a func(map[string]any) any is asked with
// the model.
func (s *Server) Default(typ, name string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.defaults[typ] == nil {
		s.defaults[typ] = map[string]any{}
	}
	s.defaults[typ][name] = value
}

// Refusal is an error that comes instead of an answer, or at the end of a request.
type Refusal struct {
	// Op is an operation, or a pattern of path.Match; Type is one of the registry, "" for any.
	Op, Type string
	// Code is the error: an exception of the service ("ThrottlingException"), or where Late is set, a code of handlers
	// ("NotStabilized").
	Code string
	Late bool
	// Lost lets the call have its effect, and breaks the connection instead of answering.
	Lost bool
	// Times is how often; 0 means once, below 0 always.
	Times int

	fired int
}

// Refuse arms a refusal.
func (s *Server) Refuse(r Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, &r)
}

// refusal takes the one that hits a call; late ones and lost ones are asked for apart.
func (s *Server) refusal(op, typ string, want func(*Refusal) bool) *Refusal {
	for _, r := range s.refusals {
		times := r.Times
		if times == 0 {
			times = 1
		}
		if ok, _ := path.Match(r.Op, op); !ok || r.Type != "" && r.Type != typ || !want(r) || times > 0 && r.fired >= times {
			continue
		}
		r.fired++
		return r
	}
	return nil
}

// Calls are the operations that were called since the last Reset, in order.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Mutations are those of Calls that change something.
func (s *Server) Mutations() []string {
	return slices.DeleteFunc(s.Calls(), func(op string) bool { return strings.HasPrefix(op, "Get") || strings.HasPrefix(op, "List") })
}

// Reset forgets the calls.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// problem is an exception of the service.
type problem struct{ code, message string }

func refuse(code, format string, args ...any) *problem {
	return &problem{code, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one call, or breaks the connection where a test asks for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if op == "" {
		identity(w)
		return
	}
	answer, bad, lost := s.call(op, body)
	if lost {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if bad != nil {
		w.Header().Set("X-Amzn-Errortype", bad.code)
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]any{"__type": "com.amazonaws.cloudcontrol#" + bad.code, "Message": bad.message}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// call makes one call. All requests under way go on with it.
func (s *Server) call(op string, body []byte) (answer any, bad *problem, lost bool) {
	var in input
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuse("SerializationException", "%v", err), false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, op)
	if r := s.refusal(op, in.TypeName, func(r *Refusal) bool { return !r.Late && !r.Lost }); r != nil {
		return nil, refuse(r.Code, "refused by the test"), false
	}
	answer, bad = s.answer(op, &in)
	for _, token := range slices.Sorted(maps.Keys(s.requests)) {
		if q := s.requests[token]; q.token != in.RequestToken || op != "GetResourceRequestStatus" {
			s.advance(q)
		}
	}
	return answer, bad, s.refusal(op, in.TypeName, func(r *Refusal) bool { return r.Lost }) != nil
}

func (s *Server) answer(op string, in *input) (any, *problem) {
	if op == "GetResources" {
		return s.tagged(in), nil
	}
	if op == "GetResourceRequestStatus" {
		q := s.requests[in.RequestToken]
		if q == nil {
			return nil, refuse("RequestTokenNotFoundException", "no request %s", in.RequestToken)
		}
		s.advance(q)
		return map[string]any{"ProgressEvent": q.event()}, nil
	}
	t := s.schemas.types[in.TypeName]
	if t == nil || len(t.PrimaryIdentifier) == 0 {
		return nil, refuse("TypeNotFoundException", "%s", in.TypeName)
	}
	switch op {
	case "CreateResource", "UpdateResource", "DeleteResource":
		q, bad := s.request(op, t, in)
		if bad != nil {
			return nil, bad
		}
		return map[string]any{"ProgressEvent": q.event()}, nil
	case "GetResource":
		r := s.resources[key(in.TypeName, in.Identifier)]
		if r == nil {
			return nil, refuse("ResourceNotFoundException", "%s %s was not found", in.TypeName, in.Identifier)
		}
		return map[string]any{"TypeName": in.TypeName, "ResourceDescription": s.describe(r)}, nil
	case "ListResources":
		return s.list(in)
	}
	return nil, refuse("UnsupportedActionException", "%s", op)
}

// identity answers STS, which alone does not speak JSON.
func identity(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
		`<Arn>arn:aws:iam::%s:user/test</Arn><UserId>AIDATEST</UserId><Account>%s</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`, Account, Account)
}

// seconds is a time as AWS JSON writes it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
