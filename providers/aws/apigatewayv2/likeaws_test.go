package apigatewayv2

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/wiretest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS stands before the emulator and does what API Gateway is documented, or known, to do where moto does not:
//
//   - A stage with settings for a route that is not there is refused, and so are two routes with one key, two stages with
//     one name, and the deletion of an integration or an authorizer that a route uses.
//
//   - An API has a type of addresses, which moto does not store. Scopes can be taken from a route.
//
//   - Listings come in pages; moto answers all at once. Pages are short here, but for somebody else.
//
//   - An API or a stage that a custom domain leads to is not deleted, by those that are tested: somebody else may. Custom
//     domains are kept here, see custom.
//
// It also gives the random account of a test a name that is always the same. It changes nothing else, and every call
// reaches the emulator through the proxy that counts and breaks it: what had no effect there has none here.
type likeAWS struct {
	*awstest.Front
	real    string
	outside *sdk.Client

	mu sync.Mutex
	custom
	addresses map[string]any  // by the identity of the API
	unscoped  map[string]bool // by the identity of the route
}

const pageSize = 3

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{
		real: cloud.Account, addresses: map[string]any{}, unscoped: map[string]bool{}, outside: sdk.NewFromConfig(cloud.Config(t)),
		custom: custom{domains: map[string]obj{}, mappings: map[string][]obj{}},
	}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

// request is one as it goes on to the emulator.
type request struct {
	*http.Request
	path []string // below /v2
	body obj
	text []byte
}

func (r *request) is(method string, path ...string) bool {
	if r.Method != method || len(path) != len(r.path) {
		return false
	}
	for i, part := range path {
		if part != "*" && part != r.path[i] {
			return false
		}
	}
	return true
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	text, _ := io.ReadAll(in.Body)
	r := &request{Request: in, text: bytes.ReplaceAll(text, []byte(account), []byte(s.real))}
	for part := range strings.SplitSeq(strings.TrimPrefix(in.URL.EscapedPath(), "/v2/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			panic(err)
		}
		r.path = append(r.path, plain)
	}
	if len(r.text) > 0 && r.text[0] == '{' {
		if err := json.Unmarshal(r.text, &r.body); err != nil {
			panic(err)
		}
	}
	if code, message := s.refusal(r); code != 0 {
		refuse(w, code, message)
		return
	}
	if r.about() {
		s.domain(w, r)
		return
	}
	s.pass(w, r)
}

// refusal is what AWS answers where moto takes everything.
func (s *likeAWS) refusal(r *request) (status int, message string) {
	switch {
	case r.is("POST", "apis", "*", "routes"):
		for _, route := range s.list(r, "routes") {
			if route["routeKey"] == r.body["routeKey"] {
				return http.StatusConflict, "Route with key already exists for this API"
			}
		}
	case r.is("POST", "apis", "*", "stages"):
		for _, stage := range s.list(r, "stages") {
			if stage["stageName"] == r.body["stageName"] {
				return http.StatusConflict, "Stage already exists"
			}
		}
		return s.unknownRoute(r)
	case r.is("PATCH", "apis", "*", "stages", "*"):
		return s.unknownRoute(r)
	case r.is("DELETE", "apis", "*"), r.is("DELETE", "apis", "*", "stages", "*"):
		if s.isMapped(r.path[1], slices.Concat(r.path, []string{"", "", ""})[3]) && !wiretest.FromOutside(r.Request) {
			return http.StatusBadRequest, "Please remove all API mappings from your custom domain names."
		}
	case r.is("DELETE", "apis", "*", "integrations", "*"):
		return s.inUse(r, "target", "integrations/"+r.path[3])
	case r.is("DELETE", "apis", "*", "authorizers", "*"):
		return s.inUse(r, "authorizerId", r.path[3])
	}
	return 0, ""
}

func (s *likeAWS) unknownRoute(r *request) (status int, message string) {
	settings, _ := r.body["routeSettings"].(obj)
	for key := range settings {
		if !slices.ContainsFunc(s.list(r, "routes"), func(route obj) bool { return route["routeKey"] == key }) {
			return http.StatusNotFound, "Unable to find Route by key " + key + " within the provided RouteSettings"
		}
	}
	return 0, ""
}

func (s *likeAWS) inUse(r *request, by, what string) (status int, message string) {
	if slices.ContainsFunc(s.list(r, "routes"), func(route obj) bool { return route[by] == what }) {
		return http.StatusConflict, "Cannot delete, is referenced in route"
	}
	return 0, ""
}

// list is what the emulator has of one sort in the API of a request.
func (s *likeAWS) list(r *request, sort string) []obj {
	all, err := childrenOf(r.Context(), s.outside, r.path[1], sort)
	if err != nil {
		return nil
	}
	return all
}

// items are those of a page, as API Gateway writes them.
func items(page any) []obj {
	var all []obj
	list, _ := plain(page)["items"].([]any)
	for _, item := range list {
		all = append(all, item.(obj))
	}
	return all
}

// plain is an answer of the SDK as API Gateway writes it: names begin small, and what is not set is left out.
func plain(v any) obj {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	out, _ := small(tree, "").(obj) // nothing, of nothing
	return out
}

// small is a tree with the names of the API in small. Keys of maps that are the author's stay as they are.
func small(v any, in string) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for k, x := range v {
			switch in {
			case "stageVariables", "routeSettings", "tags", "requestParameters", "responseParameters", "status":
			default:
				k = strings.ToLower(k[:1]) + k[1:]
			}
			inner := k
			switch in {
			case "responseParameters":
				inner = "status"
			case "routeSettings":
				inner = ""
			}
			if x = small(x, inner); x != nil && x != "" {
				out[k] = x
			}
		}
		delete(out, "resultMetadata")
		return out
	case []any:
		for i := range v {
			v[i] = small(v[i], "")
		}
	}
	return v
}

// pass sends a request on and its answer back. Without an answer there is none either.
func (s *likeAWS) pass(w http.ResponseWriter, r *request) {
	res, err := s.Send(r.Request, r.text)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = bytes.ReplaceAll(body, []byte(s.real), []byte(account))
	var out obj
	if res.StatusCode < 300 && json.Unmarshal(body, &out) == nil {
		s.after(r, out)
		if body, err = json.Marshal(out); err != nil {
			panic(err)
		}
		body = bytes.ReplaceAll(body, []byte(s.real), []byte(account))
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}

// after keeps what moto does not, and adds it to what it answers.
func (s *likeAWS) after(r *request, out obj) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := out["apiId"].(string); ok && r.path[0] == "apis" && len(r.path) <= 2 {
		if to, ok := r.body["ipAddressType"]; ok && r.Method != http.MethodGet {
			s.addresses[id] = to
		}
	}
	if scopes, ok := r.body["authorizationScopes"].([]any); ok && r.is("PATCH", "apis", "*", "routes", "*") {
		s.unscoped[r.path[3]] = len(scopes) == 0
	}
	all, many := out["items"].([]any)
	for _, item := range all {
		s.amend(item.(obj))
	}
	s.amend(out)
	if many && !wiretest.FromOutside(r.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("nextToken"))
		out["items"] = all[from:min(from+pageSize, len(all))]
		if from+pageSize < len(all) {
			out["nextToken"] = strconv.Itoa(from + pageSize)
		}
	}
}

func (s *likeAWS) amend(item obj) {
	if id, ok := item["apiId"].(string); ok && item["protocolType"] != nil {
		item["ipAddressType"] = "ipv4"
		if to, ok := s.addresses[id]; ok {
			item["ipAddressType"] = to
		}
	}
	if id, ok := item["routeId"].(string); ok && s.unscoped[id] {
		item["authorizationScopes"] = nil
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("X-Amzn-Errortype", map[int]string{http.StatusConflict: "ConflictException", http.StatusNotFound: "NotFoundException", http.StatusBadRequest: "BadRequestException"}[status])
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(obj{"message": message})
}
