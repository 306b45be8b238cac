package awstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// functions are what Lambda is documented to do and moto does not:
//
//   - What UpdateFunctionConfiguration and UpdateFunctionCode set is shown by GetFunction; moto drops all but a few
//     members, and never shows dead letters, file systems, logging and SnapStart.
//
//   - A reserved concurrency of 0 is shown; moto takes it for none.
//
//   - A version or an alias has provisioned concurrency; moto knows none.
//
//   - PutFunctionEventInvokeConfig replaces; moto shows the first one for ever. UpdateFunctionUrlConfig sets the invoke mode.
//
//   - AddPermission refuses a statement id that is taken, and writes conditions for tokens and URLs
//     (https://docs.aws.amazon.com/lambda/latest/dg/access-control-resource-based.html); moto writes neither.
//
//   - A mapping reads Kafka, MQ, DocumentDB and streams by whatever ARN they have, and a second one of the same function and
//     queue or stream is refused. moto wants sources to exist, so that every one that is no queue is its queue "stand-in",
//     which a test makes.
type functions struct {
	mu sync.Mutex
	// kept is what moto does not keep, by "function NAME", "url NAME", "event-invoke-config NAME", "concurrency NAME",
	// "statement NAME SID" and "mapping UUID".
	kept map[string]Fields
}

// functionCall is one call of Lambda: the parts of its path after the version.
type functionCall struct {
	method, what, name, part, last string
	in                             Fields
	source                         string // that a listing asks for
}

func functionCallOf(r *http.Request, c Call) functionCall {
	p := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), "", "", "", "", "")
	q := functionCall{method: c.Method, what: p[1], name: p[2], part: p[3], last: p[4], in: Fields{}, source: r.URL.Query().Get("EventSourceArn")}
	q.name = q.name[strings.LastIndexByte(q.name, ':')+1:]
	if json.Unmarshal(c.Body, &q.in) != nil {
		q.in = Fields{} // it has no body
	}
	if q.name == "" {
		q.name = text(q.in["FunctionName"])
	}
	return q
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// before refuses what Lambda refuses and moto does not, and gives moto a source that it knows.
func (f *functions) before(r *http.Request, c *Call, target *url.URL) (a Answer, refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := functionCallOf(r, *c)
	if q.part == "provisioned-concurrency" {
		return f.provisioned(q, r.URL.Query().Get("Qualifier")), true
	}
	if f.taken(q) {
		body := encoded(Fields{"Type": "User", "Message": "The resource is there already."})
		return Answer{Status: http.StatusConflict, Header: http.Header{
			"X-Amzn-Errortype": {"ResourceConflictException"}, "Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))},
		}, Body: body}, true
	}
	if q.what != "event-source-mappings" || !foreign(serviceOfARN(q.source)) && !foreign(serviceOfARN(text(q.in["EventSourceArn"]))) {
		return Answer{}, false
	}
	parts := strings.SplitN(r.Header.Get("Authorization"), "/", 4) // Credential=KEY/DATE/REGION/…
	region := "us-east-1"
	if len(parts) == 4 {
		region = parts[2]
	}
	standIn := "arn:aws:sqs:" + region + ":" + c.Account + ":stand-in"
	if q.method == http.MethodPost && foreign(serviceOfARN(text(q.in["EventSourceArn"]))) {
		in := maps.Clone(q.in)
		in["EventSourceArn"] = standIn
		if in["BatchSize"] == nil {
			in["BatchSize"] = 100 // which is the default of all but queues
		}
		c.Body = encoded(in)
	}
	if query := target.Query(); query.Get("FunctionName") != "" && foreign(serviceOfARN(q.source)) {
		query.Set("EventSourceArn", standIn)
		target.RawQuery = query.Encode()
	}
	return Answer{}, false
}

// provisioned sets, shows or clears the provisioned concurrency of a version or an alias. It is allocated at once.
// https://docs.aws.amazon.com/lambda/latest/api/API_PutProvisionedConcurrencyConfig.html
func (f *functions) provisioned(q functionCall, qualifier string) Answer {
	key := "provisioned " + q.name + " " + qualifier
	a := Answer{Status: http.StatusNoContent, Header: http.Header{"Content-Type": {"application/json"}}}
	switch q.method {
	case http.MethodDelete:
		delete(f.kept, key)
	case http.MethodPut:
		n := q.in["ProvisionedConcurrentExecutions"]
		f.kept[key] = Fields{
			"RequestedProvisionedConcurrentExecutions": n, "AllocatedProvisionedConcurrentExecutions": n,
			"AvailableProvisionedConcurrentExecutions": n, "Status": "READY",
		}
		a.Status, a.Body = http.StatusAccepted, encoded(f.kept[key])
	default:
		if a.Status, a.Body = http.StatusOK, encoded(f.kept[key]); f.kept[key] == nil {
			a.Status, a.Body = http.StatusNotFound, encoded(Fields{"Type": "User", "Message": "No Provisioned Concurrency Config found for this function"})
			a.Header.Set("X-Amzn-Errortype", "ProvisionedConcurrencyConfigNotFoundException")
		}
	}
	a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	return a
}

// taken reports a creation of what is there.
func (f *functions) taken(q functionCall) bool {
	if q.method != http.MethodPost {
		return false
	}
	if q.part == "policy" {
		_, there := f.kept["statement "+q.name+" "+text(q.in["StatementId"])]
		return there
	}
	if q.what != "event-source-mappings" || !slices.Contains([]string{"sqs", "dynamodb", "kinesis"}, serviceOfARN(text(q.in["EventSourceArn"]))) {
		return false
	}
	for key, m := range f.kept {
		if strings.HasPrefix(key, "mapping ") && m["FunctionName"] == q.in["FunctionName"] && m["EventSourceArn"] == q.in["EventSourceArn"] {
			return true
		}
	}
	return false
}

func serviceOfARN(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) < 6 {
		return "kafka" // a cluster of one's own has none
	}
	return parts[2]
}

func foreign(service string) bool { return service != "sqs" }

// after keeps what had its effect and moto forgets, and shows it.
func (f *functions) after(r *http.Request, c Call, a Answer) Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := functionCallOf(r, c)
	if a.Status/100 == 2 && q.method != http.MethodGet {
		f.keep(q, a.Body)
		return a
	}
	out := Fields{}
	if q.method != http.MethodGet || len(a.Body) > 0 && json.Unmarshal(a.Body, &out) != nil {
		return a
	}
	switch kept := f.kept[q.part+" "+q.name]; {
	case q.part == "event-invoke-config" && kept != nil:
		a.Status, out = http.StatusOK, maps.Clone(kept)
		a.Header.Del("X-Amzn-Errortype")
	case a.Status/100 != 2:
		return a
	case q.part == "url":
		maps.Copy(out, kept)
	case q.part == "policy":
		out["Policy"] = f.policy(q.name, "arn:aws:lambda:us-east-1:"+c.Account+":function:"+q.name)
	case q.what == "functions" && q.part == "" && q.name != "":
		f.function(q.name, out)
	case q.what == "event-source-mappings" && q.name == "":
		f.mappings(q.source, out)
	case q.what == "event-source-mappings":
		f.mapping(out)
	default:
		return a
	}
	a.Body = encoded(out)
	a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	return a
}

func (f *functions) keep(q functionCall, body []byte) {
	switch {
	case q.what == "functions" && q.part == "" && q.method == http.MethodDelete:
		maps.DeleteFunc(f.kept, func(key string, _ Fields) bool { return strings.Contains(key+" ", " "+q.name+" ") })
	case q.part == "policy" && q.method == http.MethodDelete:
		delete(f.kept, "statement "+q.name+" "+q.last)
	case q.part == "policy":
		f.kept["statement "+q.name+" "+text(q.in["StatementId"])] = q.in
	case q.what == "event-source-mappings":
		f.keepMapping(q, body)
	case q.what == "functions" && (q.part == "configuration" || q.part == "code" || q.part == ""):
		f.merge("function "+q.name, q.in)
		switch created, ok := q.in["Code"].(Fields); {
		case ok:
			f.kept["function "+q.name]["SourceKMSKeyArn"] = created["SourceKMSKeyArn"]
		case q.part == "code":
			f.kept["function "+q.name]["SourceKMSKeyArn"] = q.in["SourceKMSKeyArn"]
		}
	case q.method == http.MethodDelete:
		delete(f.kept, q.part+" "+q.name)
	case q.part == "url":
		f.merge("url "+q.name, q.in)
	case q.part == "event-invoke-config", q.part == "concurrency":
		f.kept[q.part+" "+q.name] = q.in
	}
}

func (f *functions) merge(key string, in Fields) {
	if f.kept[key] == nil {
		f.kept[key] = Fields{}
	}
	maps.Copy(f.kept[key], in)
}

func (f *functions) keepMapping(q functionCall, body []byte) {
	id := q.name
	switch q.method {
	case http.MethodDelete:
		delete(f.kept, "mapping "+id)
		return
	case http.MethodPost:
		id = text(fields(body)["UUID"])
	}
	f.merge("mapping "+id, q.in)
}

func (f *functions) function(name string, out Fields) {
	kept := f.kept["function "+name]
	c := out["Configuration"].(Fields)
	for _, member := range []string{
		"EphemeralStorage", "DeadLetterConfig", "TracingConfig", "KMSKeyArn", "FileSystemConfigs", "LoggingConfig", "Architectures", "SnapStart",
	} {
		if v, ok := kept[member]; ok {
			c[member] = v
		}
	}
	if v, ok := kept["ImageConfig"]; ok && c["PackageType"] == "Image" {
		c["ImageConfigResponse"] = Fields{"ImageConfig": v}
	}
	if l, ok := c["LoggingConfig"].(Fields); ok && l["LogFormat"] != "JSON" {
		delete(l, "ApplicationLogLevel")
		delete(l, "SystemLogLevel")
	}
	if key := text(kept["SourceKMSKeyArn"]); key != "" {
		out["Code"].(Fields)["SourceKMSKeyArn"] = key
	}
	if n, ok := f.kept["concurrency "+name]; ok {
		out["Concurrency"] = n
	}
}

// policy is a function's policy as Lambda writes it.
func (f *functions) policy(name, arn string) string {
	var list []any
	for _, key := range slices.Sorted(maps.Keys(f.kept)) {
		if !strings.HasPrefix(key, "statement "+name+" ") {
			continue
		}
		in := f.kept[key]
		st := Fields{"Sid": in["StatementId"], "Effect": "Allow", "Action": in["Action"], "Resource": arn}
		switch who := text(in["Principal"]); {
		case who == "*":
			st["Principal"] = "*"
		case strings.HasSuffix(who, ".amazonaws.com"):
			st["Principal"] = Fields{"Service": who}
		case strings.HasPrefix(who, "arn:"):
			st["Principal"] = Fields{"AWS": who}
		default:
			st["Principal"] = Fields{"AWS": "arn:aws:iam::" + who + ":root"}
		}
		conditions := Fields{}
		for member, c := range map[string][2]string{
			"SourceArn": {"ArnLike", "AWS:SourceArn"}, "SourceAccount": {"StringEquals", "AWS:SourceAccount"}, "PrincipalOrgID": {"StringEquals", "aws:PrincipalOrgID"},
			"EventSourceToken": {"StringEquals", "lambda:EventSourceToken"}, "FunctionUrlAuthType": {"StringEquals", "lambda:FunctionUrlAuthType"},
			"InvokedViaFunctionUrl": {"Bool", "lambda:InvokedViaFunctionUrl"},
		} {
			if v, ok := in[member]; ok {
				if conditions[c[0]] == nil {
					conditions[c[0]] = Fields{}
				}
				conditions[c[0]].(Fields)[c[1]] = fmt.Sprint(v)
			}
		}
		if len(conditions) > 0 {
			st["Condition"] = conditions
		}
		list = append(list, st)
	}
	return string(encoded(Fields{"Version": "2012-10-17", "Id": "default", "Statement": list}))
}

func (f *functions) mapping(out Fields) {
	kept := f.kept["mapping "+text(out["UUID"])]
	if kept["EventSourceArn"] == nil {
		delete(out, "EventSourceArn")
	}
	maps.Copy(out, kept)
}

func (f *functions) mappings(source string, out Fields) {
	all := []any{}
	list, _ := out["EventSourceMappings"].([]any)
	for _, x := range list {
		m := x.(Fields)
		f.mapping(m)
		if source == "" || m["EventSourceArn"] == source {
			all = append(all, m)
		}
	}
	out["EventSourceMappings"] = all
}
