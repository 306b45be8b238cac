package dynamodb

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS stands before the emulator and does what DynamoDB is documented to do where moto does not:
//
//   - Streams go and come again, each with an ARN of its own; moto never takes a second one.
//
//   - Encryption, table class and on-demand bounds can be changed, and are shown; moto drops them.
//
//   - UpdateTable takes one index to make or to delete, definitions of the keys that are used and no others, no
//     capacity that is there already, and no warm throughput that is less:
//     https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
//
//   - A policy comes with CreateTable, and goes with the table.
//
//   - Contributor insights and streams of Kinesis, for which moto has no calls.
//
//   - Items are counted every six hours, which is never in a test.
//
//   - What is asked for takes its time where a test says so (slow): a table that is made, changed or deleted is not
//     ACTIVE, nor is its index, and takes no other change.
//
// It also gives the random account of a test a name that is always the same. It changes nothing else, and every
// call reaches the emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	real    string
	outside *sdk.Client

	mu     sync.Mutex
	tables map[string]*extras
	slow   int // looks of the tested code at a table that is not ACTIVE after a change
	label  int
}

// extras are what moto does not keep of a table.
type extras struct {
	stream, sse, class any
	label              string
	onDemand           map[string]any // by index, "" for the table
	insights           map[string]string
	kinesis            map[string]string
	left               int    // looks until it is ACTIVE
	status, index      string // what is shown until then, and the index that is not ACTIVE
	ghost              obj    // what is shown of a table that is being deleted
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{real: cloud.Account, tables: map[string]*extras{}, outside: sdk.NewFromConfig(cloud.Config(t))}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has closed the connection
	}
	text = bytes.ReplaceAll(text, []byte(account), []byte(s.real))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	in := obj{}
	if operation != "" {
		if err := json.Unmarshal(text, &in); err != nil {
			panic(err)
		}
	}
	name, _ := in["TableName"].(string)
	if arn, _ := in["ResourceArn"].(string); name == "" {
		name = arn[strings.LastIndexByte(arn, '/')+1:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.tables[name]
	own := r.Header.Get("X-Awstest-Outsider") == ""
	switch operation {
	case "CreateTable":
		s.create(w, r, name, in)
	case "UpdateTable":
		s.update(w, r, x, in, own)
	case "DescribeTable":
		s.describe(w, r, text, name, x, own)
	case "DeleteTable":
		s.drop(w, r, text, name, x, own)
	case "ListContributorInsights", "UpdateContributorInsights", "DescribeKinesisStreamingDestination",
		"EnableKinesisStreamingDestination", "DisableKinesisStreamingDestination", "UpdateKinesisStreamingDestination":
		s.beside(w, r, text, operation, x, in)
	default:
		s.pass(w, r, text, nil)
	}
}

func (s *likeAWS) create(w http.ResponseWriter, r *http.Request, name string, in obj) {
	x := &extras{onDemand: map[string]any{}, insights: map[string]string{}, kinesis: map[string]string{}}
	x.take(in, s)
	for _, index := range listOf(in["GlobalSecondaryIndexes"]) {
		x.bound(index["IndexName"].(string), index)
	}
	policy, _ := in["ResourcePolicy"].(string)
	if s.slow > 0 {
		x.left, x.status = s.slow, "CREATING"
	}
	s.pass(w, r, text(without(in, "StreamSpecification", "SSESpecification", "TableClass", "OnDemandThroughput", "ResourcePolicy")), nil, func(int) {
		_, err := s.outside.DescribeTable(r.Context(), &sdk.DescribeTableInput{TableName: &name})
		if s.tables[name] != nil || err != nil { // it was there before, or it was not made; also when the answer is lost
			return
		}
		s.tables[name] = x
		if policy != "" {
			arn := "arn:aws:dynamodb:us-east-1:" + s.real + ":table/" + name
			if _, err := s.outside.PutResourcePolicy(r.Context(), &sdk.PutResourcePolicyInput{ResourceArn: &arn, Policy: &policy}); err != nil {
				panic(err)
			}
		}
	})
}

// take keeps what moto does not.
func (x *extras) take(in obj, s *likeAWS) {
	if spec, ok := in["StreamSpecification"].(obj); ok {
		if x.stream = nil; spec["StreamEnabled"] == true {
			s.label++
			x.stream, x.label = spec, "2026-01-01T00:00:00."+strconv.Itoa(100+s.label)
		}
	}
	if spec, ok := in["SSESpecification"].(obj); ok {
		if x.sse = nil; spec["Enabled"] == true {
			key := spec["KMSMasterKeyId"]
			if key == nil {
				key = "arn:aws:kms:us-east-1:" + s.real + ":key/managed"
			}
			x.sse = obj{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}
		}
	}
	if class, ok := in["TableClass"].(string); ok && class != "" {
		x.class = obj{"TableClass": class}
	}
	x.bound("", in)
}

func (x *extras) bound(index string, in obj) {
	if o, ok := in["OnDemandThroughput"].(obj); ok {
		x.onDemand[index] = o
	}
}

func (s *likeAWS) update(w http.ResponseWriter, r *http.Request, x *extras, in obj, own bool) {
	if x == nil {
		s.pass(w, r, text(in), nil)
		return
	}
	if code, message := s.refused(r, x, in); code != "" {
		// The proxy still counts it: a change of nothing stands for it on its way.
		s.pass(w, r, text(obj{"TableName": in["TableName"]}), nil, func(res *http.Response, body []byte) (int, []byte) {
			if res.StatusCode != http.StatusOK {
				return res.StatusCode, body
			}
			return refuse(code, message)
		})
		return
	}
	before := s.live(r, in["TableName"].(string))
	for _, u := range listOf(in["GlobalSecondaryIndexUpdates"]) {
		if change, ok := u["Update"].(obj); ok {
			keepAsItIs(change, before)
		}
	}
	s.pass(w, r, text(without(in, "StreamSpecification", "SSESpecification", "TableClass", "OnDemandThroughput")), s.shown("TableDescription", x, own), func(status int) {
		if status == http.StatusOK {
			s.updated(x, in, own)
		}
	})
}

// updated keeps of a change what moto does not.
func (s *likeAWS) updated(x *extras, in obj, own bool) {
	made := ""
	for _, u := range listOf(in["GlobalSecondaryIndexUpdates"]) {
		for what, change := range u {
			name := change.(obj)["IndexName"].(string)
			switch what {
			case "Delete":
				delete(x.onDemand, name)
				delete(x.insights, name)
				continue
			case "Create":
				made = name
			}
			x.bound(name, change.(obj))
		}
	}
	x.take(in, s)
	if own && s.slow > 0 {
		x.left, x.status, x.index = s.slow, "UPDATING", made
	}
}

// keepAsItIs: moto takes what an update does not say for none.
func keepAsItIs(change, table obj) {
	for _, index := range listOf(table["GlobalSecondaryIndexes"]) {
		if index["IndexName"] != change["IndexName"] {
			continue
		}
		for _, key := range []string{"ProvisionedThroughput", "WarmThroughput"} {
			if change[key] == nil {
				change[key] = index[key]
			}
		}
	}
}

// refused says what DynamoDB would not take.
func (s *likeAWS) refused(r *http.Request, x *extras, in obj) (code, message string) {
	if x.left > 0 {
		return "ResourceInUseException", "Attempt to change a resource which is still in use: Table is being " + x.status
	}
	table := s.live(r, in["TableName"].(string))
	one := 0
	for _, u := range listOf(in["GlobalSecondaryIndexUpdates"]) {
		if u["Update"] == nil {
			one++
		}
		if create, ok := u["Create"].(obj); ok && !slices.Equal(attributes(in), usedKeys(table, create)) {
			return "ValidationException", "One or more parameter values were invalid: AttributeDefinitions " + strings.Join(attributes(in), ", ") +
				", keys used " + strings.Join(usedKeys(table, create), ", ")
		}
	}
	if one > 1 {
		return "LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
	}
	if spec, ok := in["StreamSpecification"].(obj); ok && (spec["StreamEnabled"] == true) == (x.stream != nil) {
		return "ValidationException", "Table already has, or has no, enabled stream"
	}
	have, _ := table["ProvisionedThroughput"].(obj)
	if p, ok := in["ProvisionedThroughput"].(obj); ok && in["BillingMode"] == nil && p["ReadCapacityUnits"] == have["ReadCapacityUnits"] && p["WriteCapacityUnits"] == have["WriteCapacityUnits"] {
		return "ValidationException", "The provisioned throughput for the table will not change"
	}
	warm, _ := table["WarmThroughput"].(obj)
	if p, ok := in["WarmThroughput"].(obj); ok && p["ReadUnitsPerSecond"].(float64) < warm["ReadUnitsPerSecond"].(float64) {
		return "ValidationException", "decreasing WarmThroughput is not supported"
	}
	return "", ""
}

func (s *likeAWS) describe(w http.ResponseWriter, r *http.Request, body []byte, name string, x *extras, own bool) {
	if x == nil || x.ghost == nil {
		s.pass(w, r, body, s.shown("Table", x, own))
		return
	}
	ghost := x.ghost
	if x.left--; x.left <= 0 {
		delete(s.tables, name)
	}
	s.pass(w, r, body, nil, func(res *http.Response, body []byte) (int, []byte) {
		if res.StatusCode != http.StatusBadRequest {
			return res.StatusCode, body
		}
		return http.StatusOK, text(obj{"Table": ghost})
	})
}

// shown adds to a description what moto does not keep.
func (s *likeAWS) shown(under string, x *extras, own bool) func([]byte) []byte {
	return func(body []byte) []byte {
		out := obj{}
		if err := json.Unmarshal(body, &out); err != nil || out[under] == nil || x == nil {
			return body
		}
		table := out[under].(obj)
		x.overlay(table)
		if own && x.left > 0 && under == "Table" {
			x.left--
			table["TableStatus"] = x.status
			for _, index := range listOf(table["GlobalSecondaryIndexes"]) {
				if index["IndexName"] == x.index {
					index["IndexStatus"] = "CREATING"
				}
			}
		}
		return text(out)
	}
}

func (x *extras) overlay(table obj) {
	table["ItemCount"] = 0
	delete(table, "StreamSpecification")
	delete(table, "SSEDescription")
	delete(table, "LatestStreamArn")
	if x.label != "" {
		table["LatestStreamArn"] = table["TableArn"].(string) + "/stream/" + x.label
	}
	for key, v := range map[string]any{"StreamSpecification": x.stream, "SSEDescription": x.sse, "TableClassSummary": x.class} {
		if v != nil {
			table[key] = v
		}
	}
	if table["BillingModeSummary"].(obj)["BillingMode"] == "PROVISIONED" {
		delete(table, "BillingModeSummary") // of a table that never was billed otherwise
	}
	if o := x.onDemand[""]; o != nil {
		table["OnDemandThroughput"] = o
	}
	for _, index := range listOf(table["GlobalSecondaryIndexes"]) {
		if o := x.onDemand[index["IndexName"].(string)]; o != nil {
			index["OnDemandThroughput"] = o
		}
	}
}

func (s *likeAWS) drop(w http.ResponseWriter, r *http.Request, body []byte, name string, x *extras, own bool) {
	table := s.live(r, name)
	s.pass(w, r, body, func(body []byte) []byte {
		if x != nil && own && s.slow > 0 {
			x.overlay(table)
			table["TableStatus"] = "DELETING"
			x.ghost, x.left = table, s.slow
		}
		return body
	}, func(int) {
		if _, err := s.outside.DescribeTable(r.Context(), &sdk.DescribeTableInput{TableName: &name}); err == nil {
			return
		}
		if x != nil && x.ghost == nil {
			delete(s.tables, name)
		}
	})
}

// live is a table as moto has it.
func (s *likeAWS) live(r *http.Request, name string) obj {
	q := r.Clone(r.Context())
	q.Header.Set("X-Amz-Target", "DynamoDB_20120810.DescribeTable")
	q.Header.Set("X-Awstest-Outsider", "true")
	res, err := s.Send(q, text(obj{"TableName": name}))
	if err != nil {
		return obj{}
	}
	defer res.Body.Close()
	var out struct{ Table obj }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return obj{}
	}
	return out.Table
}

type edit = func([]byte) []byte

// pass sends a request on and its answer back. after is done in any case, answer instead of what came back from a cloud
// that was reached.
func (s *likeAWS) pass(w http.ResponseWriter, r *http.Request, body []byte, change edit, after ...any) {
	res, err := s.Send(r, body)
	status := 0
	if err == nil {
		status = res.StatusCode
	}
	answer := func(res *http.Response, body []byte) (int, []byte) { return res.StatusCode, body }
	for _, f := range after {
		switch f := f.(type) {
		case func(int):
			f(status)
		case func(*http.Response, []byte) (int, []byte):
			answer = f
		}
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if change != nil && status < 300 {
		got = change(got)
	}
	status, got = answer(res, got)
	got = bytes.ReplaceAll(got, []byte(s.real), []byte(account))
	maps.Copy(w.Header(), res.Header)
	w.Header().Del("X-Amz-Crc32")
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Content-Length", strconv.Itoa(len(got)))
	w.WriteHeader(status)
	_, _ = w.Write(got)
}
