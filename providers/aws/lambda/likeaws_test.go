package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name things in it.
const account = "111122223333"

// likeAWS stands before the emulator and does what Lambda is documented to do where moto does not:
//
//   - What UpdateFunctionConfiguration and UpdateFunctionCode set is shown by GetFunction; moto drops all but a few
//     members, and never shows dead letters, file systems, logging and SnapStart.
//
//   - A reserved concurrency of 0 is shown; moto takes it for none.
//
//   - PutFunctionEventInvokeConfig replaces; moto shows the first one for ever. UpdateFunctionUrlConfig sets the invoke mode.
//
//   - AddPermission refuses a statement id that is taken, and writes conditions for tokens and URLs
//     (https://docs.aws.amazon.com/lambda/latest/dg/access-control-resource-based.html); moto writes neither.
//
//   - A mapping reads Kafka, MQ and DocumentDB too, and a second one of the same function and queue or stream is refused. moto
//     knows queues and streams alone and wants them to exist, so that every source that is no queue is one to it.
//
// It also gives the random account of a test a name that is always the same, and shows a function or a mapping as busy, or
// failed, for as many looks as a test asks. Every call reaches the emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	cloud   *awstest.Server
	outside *sdk.Client

	mu   sync.Mutex
	kept map[string]obj // what moto does not keep, by "function NAME", "url NAME", "async NAME", "statement NAME SID", "mapping UUID"
	ages time.Duration  // how much older IAM shows roles to be than they are
	show []obj          // members that GetFunction, or GetEventSourceMapping, shows instead, a look each
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{cloud: cloud, kept: map[string]obj{}, outside: sdk.NewFromConfig(cloud.Config(t))}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

var created = regexp.MustCompile("<CreateDate>[^<]*<")

// looks has the next looks show these members.
func (s *likeAWS) looks(members ...obj) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show = append(s.show, members...)
}

// request is one call of Lambda: the parts of its path after the version.
type request struct {
	method, what, name, part, last string
	in                             obj
	source                         string // that a listing asks for
}

func requestOf(r *http.Request, text []byte) request {
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	p = append(p, "", "", "", "", "")
	q := request{method: r.Method, what: p[1], name: p[2], part: p[3], last: p[4], in: obj{}, source: r.URL.Query().Get("EventSourceArn")}
	q.name = q.name[strings.LastIndexByte(q.name, ':')+1:]
	if len(text) > 0 {
		if err := json.Unmarshal(text, &q.in); err != nil {
			panic(err)
		}
	}
	if q.name == "" {
		q.name, _ = q.in["FunctionName"].(string)
	}
	return q
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	if !strings.HasPrefix(r.URL.Path, "/20") {
		status, header, body := s.pass(r, text)
		if s.ages > 0 {
			body = created.ReplaceAll(body, []byte("<CreateDate>"+time.Now().Add(-s.ages).UTC().Format(time.RFC3339)+"<"))
		}
		reply(w, status, header, body)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := requestOf(r, text)
	if code := s.refused(r.Context(), q); code != "" {
		reply(w, http.StatusConflict, http.Header{"X-Amzn-Errortype": {code}}, []byte(`{"Type":"User","Message":"Refused as AWS does."}`))
		return
	}
	text = s.standIn(r, q, text)
	status, header, body := s.pass(r, text)
	effect := status/100 == 2 || status == 0 && s.reached(r, text)
	if effect && r.Method != http.MethodGet {
		s.keep(r.Context(), q, body)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if status/100 == 2 || q.part == "event-invoke-config" && r.Method == http.MethodGet {
		status, body = s.shown(q, status, body)
	}
	reply(w, status, header, body)
}

func reply(w http.ResponseWriter, status int, header http.Header, body []byte) {
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// pass sends a request on, with the account's real name. Without an answer the status is 0.
func (s *likeAWS) pass(r *http.Request, text []byte) (int, http.Header, []byte) {
	for _, at := range []*string{&r.URL.Path, &r.URL.RawPath, &r.URL.RawQuery} {
		*at = strings.ReplaceAll(*at, account, s.cloud.Account)
	}
	res, err := s.Send(r, bytes.ReplaceAll(text, []byte(account), []byte(s.cloud.Account)))
	if err != nil {
		return 0, nil, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, nil
	}
	return res.StatusCode, res.Header, bytes.ReplaceAll(body, []byte(s.cloud.Account), []byte(account))
}

// reached reports that the last call like this one went through to moto.
func (s *likeAWS) reached(r *http.Request, text []byte) bool {
	text = bytes.ReplaceAll(text, []byte(account), []byte(s.cloud.Account))
	for _, c := range slices.Backward(s.cloud.Calls()) {
		if c.Method == r.Method && strings.HasPrefix(c.URI, r.URL.EscapedPath()) && bytes.Equal(c.Body, text) {
			return c.Forwarded
		}
	}
	return false
}

func (s *likeAWS) refused(ctx context.Context, q request) string {
	switch {
	case q.method == http.MethodPost && q.part == "policy":
		if _, taken := s.kept["statement "+q.name+" "+str(q.in["StatementId"])]; taken {
			return "ResourceConflictException"
		}
	case q.method == http.MethodPost && q.what == "event-source-mappings":
		for id, m := range s.kept {
			if strings.HasPrefix(id, "mapping ") && m["FunctionName"] == q.in["FunctionName"] && m["EventSourceArn"] == q.in["EventSourceArn"] &&
				slices.Contains([]string{"sqs", "dynamodb", "kinesis"}, serviceIn(q.in)) {
				return "ResourceConflictException"
			}
		}
	}
	return ""
}

func str(v any) string {
	text, _ := v.(string)
	return text
}

func serviceIn(in obj) string {
	parts := strings.Split(str(in["EventSourceArn"]), ":")
	if len(parts) < 6 {
		return "kafka"
	}
	return parts[2]
}

// standIn is the queue that moto reads for sources that it does not know.
const standIn = "arn:aws:sqs:us-east-1:" + account + ":stand-in"

func (s *likeAWS) standIn(r *http.Request, q request, text []byte) []byte {
	if q.what != "event-source-mappings" {
		return text
	}
	if q.method == http.MethodPost && foreign(q.in) {
		in := maps.Clone(q.in)
		in["EventSourceArn"] = standIn
		if in["BatchSize"] == nil {
			in["BatchSize"] = 100
		}
		var err error
		if text, err = json.Marshal(in); err != nil {
			panic(err)
		}
	}
	if query := r.URL.Query(); query.Get("FunctionName") != "" && foreign(obj{"EventSourceArn": q.source}) {
		query.Set("EventSourceArn", standIn)
		r.URL.RawQuery = query.Encode()
	}
	return text
}

func foreign(in obj) bool { return serviceIn(in) != "sqs" }

// keep remembers what had its effect and moto forgets.
func (s *likeAWS) keep(ctx context.Context, q request, body []byte) {
	switch {
	case q.what == "functions" && q.part == "" && q.method == http.MethodDelete:
		maps.DeleteFunc(s.kept, func(key string, _ obj) bool { return strings.Contains(key+" ", " "+q.name+" ") })
	case q.part == "policy" && q.method == http.MethodDelete:
		delete(s.kept, "statement "+q.name+" "+q.last)
	case q.part == "policy":
		s.kept["statement "+q.name+" "+str(q.in["StatementId"])] = q.in
	case q.what == "event-source-mappings":
		s.keepMapping(ctx, q, body)
	case q.what == "functions" && (q.part == "configuration" || q.part == "code" || q.part == ""):
		s.merge("function "+q.name, q.in)
		switch created, ok := q.in["Code"].(obj); {
		case ok:
			s.kept["function "+q.name]["SourceKMSKeyArn"] = created["SourceKMSKeyArn"]
		case q.part == "code":
			s.kept["function "+q.name]["SourceKMSKeyArn"] = q.in["SourceKMSKeyArn"]
		}
	case q.method == http.MethodDelete:
		delete(s.kept, q.part+" "+q.name)
	case q.part == "url":
		s.merge("url "+q.name, q.in)
	case q.part == "event-invoke-config", q.part == "concurrency":
		s.kept[q.part+" "+q.name] = q.in
	}
}

func (s *likeAWS) merge(key string, in obj) {
	if s.kept[key] == nil {
		s.kept[key] = obj{}
	}
	maps.Copy(s.kept[key], in)
}

func (s *likeAWS) keepMapping(ctx context.Context, q request, body []byte) {
	id := q.name
	if q.method == http.MethodPost {
		var out struct{ UUID string }
		if json.Unmarshal(body, &out) != nil { // the answer was lost
			list, err := s.outside.ListEventSourceMappings(ctx, &sdk.ListEventSourceMappingsInput{})
			if err != nil {
				panic(err)
			}
			for _, m := range list.EventSourceMappings {
				if _, known := s.kept["mapping "+*m.UUID]; !known {
					out.UUID = *m.UUID
				}
			}
		}
		id = out.UUID
	}
	if q.method == http.MethodDelete {
		delete(s.kept, "mapping "+id)
		return
	}
	s.merge("mapping "+id, q.in)
}

// shown is an answer with what moto left out.
func (s *likeAWS) shown(q request, status int, body []byte) (int, []byte) {
	out := obj{}
	if len(body) > 0 && json.Unmarshal(body, &out) != nil {
		return status, body
	}
	switch {
	case q.part == "policy" && q.method == http.MethodGet:
		out["Policy"] = s.policy(q.name)
	case q.part == "event-invoke-config" && q.method == http.MethodGet:
		if kept := s.kept[q.part+" "+q.name]; kept != nil {
			status, out = http.StatusOK, kept
		}
	case q.part == "url" && q.method == http.MethodGet:
		maps.Copy(out, s.kept["url "+q.name])
	case q.what == "functions" && q.part == "" && q.method == http.MethodGet && q.name != "":
		s.function(q.name, out)
	case q.what == "event-source-mappings" && q.method == http.MethodGet && q.name == "":
		s.mappings(q.source, out)
	case q.what == "event-source-mappings" && q.method == http.MethodGet:
		s.mapping(out)
		s.instead(out)
	default:
		return status, body
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return status, text
}

// instead shows what a test asks for.
func (s *likeAWS) instead(out obj) {
	if len(s.show) > 0 {
		maps.Copy(out, s.show[0])
		s.show = s.show[1:]
	}
}

func (s *likeAWS) function(name string, out obj) {
	kept := s.kept["function "+name]
	c := out["Configuration"].(obj)
	for _, member := range []string{
		"EphemeralStorage", "DeadLetterConfig", "TracingConfig", "KMSKeyArn", "FileSystemConfigs", "LoggingConfig", "Architectures", "SnapStart",
	} {
		if v, ok := kept[member]; ok {
			c[member] = v
		}
	}
	if v, ok := kept["ImageConfig"]; ok && c["PackageType"] == "Image" {
		c["ImageConfigResponse"] = obj{"ImageConfig": v}
	}
	if l, ok := c["LoggingConfig"].(obj); ok && l["LogFormat"] != "JSON" {
		delete(l, "ApplicationLogLevel")
		delete(l, "SystemLogLevel")
	}
	if key := str(kept["SourceKMSKeyArn"]); key != "" {
		out["Code"].(obj)["SourceKMSKeyArn"] = key
	}
	if n, ok := s.kept["concurrency "+name]; ok {
		out["Concurrency"] = n
	}
	s.instead(c)
}

// policy is a function's policy as Lambda writes it.
func (s *likeAWS) policy(name string) string {
	var list []any
	for _, key := range slices.Sorted(maps.Keys(s.kept)) {
		if !strings.HasPrefix(key, "statement "+name+" ") {
			continue
		}
		in := s.kept[key]
		st := obj{"Sid": in["StatementId"], "Effect": "Allow", "Action": in["Action"], "Resource": "arn:aws:lambda:us-east-1:" + account + ":function:" + name}
		switch who := str(in["Principal"]); {
		case who == "*":
			st["Principal"] = "*"
		case strings.HasSuffix(who, ".amazonaws.com"):
			st["Principal"] = obj{"Service": who}
		case strings.HasPrefix(who, "arn:"):
			st["Principal"] = obj{"AWS": who}
		default:
			st["Principal"] = obj{"AWS": "arn:aws:iam::" + who + ":root"}
		}
		conditions := obj{}
		for member, c := range map[string][2]string{
			"SourceArn": {"ArnLike", "AWS:SourceArn"}, "SourceAccount": {"StringEquals", "AWS:SourceAccount"}, "PrincipalOrgID": {"StringEquals", "aws:PrincipalOrgID"},
			"EventSourceToken": {"StringEquals", "lambda:EventSourceToken"}, "FunctionUrlAuthType": {"StringEquals", "lambda:FunctionUrlAuthType"},
			"InvokedViaFunctionUrl": {"Bool", "lambda:InvokedViaFunctionUrl"},
		} {
			if v, ok := in[member]; ok {
				if conditions[c[0]] == nil {
					conditions[c[0]] = obj{}
				}
				text, _ := json.Marshal(v)
				conditions[c[0]].(obj)[c[1]] = strings.Trim(string(text), `"`)
			}
		}
		if len(conditions) > 0 {
			st["Condition"] = conditions
		}
		list = append(list, st)
	}
	text, err := json.Marshal(obj{"Version": "2012-10-17", "Id": "default", "Statement": list})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *likeAWS) mapping(out obj) {
	kept := s.kept["mapping "+str(out["UUID"])]
	if kept["EventSourceArn"] == nil {
		delete(out, "EventSourceArn")
	}
	maps.Copy(out, kept)
}

func (s *likeAWS) mappings(source string, out obj) {
	all := []any{}
	list, _ := out["EventSourceMappings"].([]any)
	for _, x := range list {
		m := x.(obj)
		s.mapping(m)
		if source == "" || m["EventSourceArn"] == source {
			all = append(all, m)
		}
	}
	out["EventSourceMappings"] = all
}
