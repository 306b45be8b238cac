package aws

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestCanonicalPolicy(t *testing.T) {
	const one = `{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":["123456789012"]},` +
		`"Action":["sqs:ReceiveMessage","sqs:SendMessage"],"Resource":["*"],"Condition":{"Bool":{"aws:securetransport":["true"]}}}]}`
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"lists, order, case, accounts, truths", one, `{"Statement":{"Resource":"*","Sid":"a","Action":["SQS:SendMessage","sqs:ReceiveMessage","sqs:sendmessage"],` +
			`"Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Effect":"Allow","Condition":{"Bool":{"aws:SecureTransport":true}}},"Version":"2012-10-17"}`, true},
		{"everybody", `{"Statement":{"Principal":"*"}}`, `{"Statement":[{"Principal":{"AWS":"*"}}]}`, true},
		{"version that is not said", `{"Statement":[]}`, `{"Version":"2008-10-17","Statement":[]}`, true},
		{"version", `{"Statement":[]}`, `{"Version":"2012-10-17","Statement":[]}`, false},
		{"names that are empty", `{"Id":"","Statement":[{"Sid":"","Effect":"Deny"}]}`, `{"Statement":[{"Effect":"Deny"}]}`, true},
		{"order of statements", `{"Statement":[{"Sid":"a"},{"Sid":"b"}]}`, `{"Statement":[{"Sid":"b"},{"Sid":"a"}]}`, true},
		{"effect", `{"Statement":[{"Effect":"Allow"}]}`, `{"Statement":[{"Effect":"Deny"}]}`, false},
		{"a user is no account", `{"Statement":[{"Principal":{"AWS":"arn:aws:iam::123456789012:user/x"}}]}`, `{"Statement":[{"Principal":{"AWS":"123456789012"}}]}`, false},
		{"a service is no account", `{"Statement":[{"Principal":{"Service":"*"}}]}`, `{"Statement":[{"Principal":"*"}]}`, false},
		{"case of resources", `{"Statement":[{"Resource":"arn:aws:sqs:::A"}]}`, `{"Statement":[{"Resource":"arn:aws:sqs:::a"}]}`, false},
		{"case of values", `{"Statement":[{"Condition":{"StringEquals":{"k":"A"}}}]}`, `{"Statement":[{"Condition":{"StringEquals":{"k":"a"}}}]}`, false},
		{"but not these actions", `{"Statement":[{"NotAction":"a:b"}]}`, `{"Statement":[{"Action":"a:b"}]}`, false},
		{"none", ``, `{"Statement":[]}`, false},
	} {
		a, b := CanonicalPolicy(c.a), CanonicalPolicy(c.b)
		if tree.Equal(a, b) != c.same {
			t.Errorf("%s:\n%s\n%s", c.name, tree.Canonical(a), tree.Canonical(b))
		}
		if again := CanonicalPolicy(a); !tree.Equal(a, again) {
			t.Errorf("%s: the form has a form of its own: %s and %s", c.name, tree.Canonical(a), tree.Canonical(again))
		}
	}
	if CanonicalPolicy("") != nil || CanonicalPolicy(nil) != nil || CanonicalPolicy("not JSON") != "not JSON" {
		t.Error("what is no policy stays as it is")
	}
}

// TestPolicyKeepsTokens: neither the form nor the case of a reference may change.
func TestPolicyKeepsTokens(t *testing.T) {
	ref := token.Plain.Ref(token.Ref{Address: "Orders", Path: "ARN"})
	doc := CanonicalPolicy(map[string]any{"Statement": map[string]any{
		"Action": ref, "Resource": ref, "Principal": map[string]any{"AWS": ref}, "Condition": map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": ref}},
	}})
	uses, err := token.Refs(doc)
	if err != nil || len(uses) != 4 {
		t.Errorf("%v, %v in %s", uses, err, tree.Canonical(doc))
	}
	if CanonicalPolicy(ref) != ref {
		t.Error("a whole document that is known later")
	}
}

// TestPolicy: what authors write in Go is a prop, and the document that they would write in YAML.
func TestPolicy(t *testing.T) {
	p := Policy(Statement{
		Sid: "topic", Principals: map[string][]string{"Service": {"sns.amazonaws.com"}}, Actions: []string{"sqs:SendMessage"}, Resources: []string{"*"},
		Conditions: map[string]map[string][]string{"ArnEquals": {"aws:SourceArn": {"arn"}}},
	}, Statement{Effect: "Deny", Everybody: true})
	text, err := DocumentText(p)
	const want = `{"Statement":[{"Action":["sqs:SendMessage"],"Condition":{"ArnEquals":{"aws:SourceArn":["arn"]}},"Effect":"Allow",` +
		`"Principal":{"Service":["sns.amazonaws.com"]},"Resource":["*"],"Sid":"topic"},{"Effect":"Deny","Principal":"*"}],"Version":"2012-10-17"}`
	if err != nil || text != want {
		t.Errorf("%s, %v", text, err)
	}
	encoded, err := props.Encode(struct{ Policy any }{p})
	if err != nil || !tree.Equal(CanonicalPolicy(encoded["policy"]), CanonicalPolicy(want)) {
		t.Errorf("as a prop: %v, %v", encoded, err)
	}
	if text, err := DocumentText(" {} "); err != nil || text != " {} " {
		t.Errorf("text stays as it was written: %q, %v", text, err)
	}
}

func TestARN(t *testing.T) {
	for text, want := range map[ARN]Parts{
		"arn:aws:sqs:eu-west-1:123456789012:jobs":               {"aws", "sqs", "eu-west-1", "123456789012", "jobs"},
		"arn:aws-cn:s3:::bucket":                                {"aws-cn", "s3", "", "", "bucket"},
		"arn:aws:sns:us-east-1:123456789012:topic:uuid:a:b:c/d": {"aws", "sns", "us-east-1", "123456789012", "topic:uuid:a:b:c/d"},
	} {
		have, ok := text.Parse()
		if !ok || have != want || have.ARN() != text {
			t.Errorf("%s: %+v, %v, %s", text, have, ok, have.ARN())
		}
	}
	for _, text := range []ARN{"", "orders", "arn:aws:sqs", "arn:aws:sqs:r:1:", "urn:aws:sqs:r:1:x", "https://sqs/1/orders:a:b:c:d:e"} {
		if p, ok := text.Parse(); ok {
			t.Errorf("%s: %+v", text, p)
		}
	}
	for region, want := range map[string]string{
		"eu-west-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eusc-de-east-1": "aws-eusc",
	} {
		if have := Partition(region); have != want {
			t.Errorf("%s: %s", region, have)
		}
	}
}

func TestCheckTags(t *testing.T) {
	errs := CheckTags(map[string]string{"team": "x", "athanor:stack": "x", "AWS:x": "x"})
	if len(errs) != 2 || !strings.Contains(errs.Error(), "athanor:stack") {
		t.Errorf("%v", errs)
	}
	if CheckTags(map[string]string{"team": "x"}) != nil {
		t.Error("tags of the author")
	}
}

func TestDocument(t *testing.T) {
	for _, c := range []struct{ in, want any }{
		{nil, nil},
		{"", nil},
		{"not JSON", "not JSON"},
		{`{"a": 1}`, map[string]any{"a": int64(1)}},
		{"[]", []any{}},
		{map[string][]string{"a": {"b"}}, map[string]any{"a": []any{"b"}}},
		{`"text"`, "text"},
	} {
		if got := Document(c.in); !tree.Equal(got, c.want) {
			t.Errorf("Document(%#v) = %#v, want %#v", c.in, got, c.want)
		}
	}
	if f := func() {}; Document(f) == nil { // what is no document stays as it is
		t.Error("a function became nothing")
	}
}
