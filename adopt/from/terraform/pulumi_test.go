package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"go.yaml.in/yaml/v3"
)

const urns = "urn:pulumi:prod::shop::"

// object is an object of a state of Pulumi.
func pulumiObject(typ, name, id string, outputs map[string]any, depends ...string) map[string]any {
	return map[string]any{"urn": urns + typ + "::" + name, "type": typ, "custom": true, "id": id, "outputs": outputs, "dependencies": depends}
}

// exported is what `pulumi stack export` prints.
func exported(t testing.TB, objects ...any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"version": 3, "deployment": map[string]any{"manifest": map[string]any{"version": "v3.170.0"}, "resources": objects}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pulumiStack(t testing.TB, content []byte, o from.Options) (from.Stack, string) {
	t.Helper()
	d, err := Pulumi{Find: kindsOf(t)}.Draft(from.File{Name: "shop.json", Content: content}, o)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}

func exportOf(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/pulumi/shop.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRuledTypes: the rule finds the types of all tokens of Cloudflare's that the table has, which are those of Pulumi's packages.
func TestRuledTypes(t *testing.T) {
	found := 0
	for token, typ := range pulumiTypes() {
		if !strings.HasPrefix(token, "cloudflare:index/") {
			continue
		}
		if found++; ruledType(token) != typ.typ {
			t.Errorf("%s is %s, and by the rule %s", token, typ.typ, ruledType(token))
		}
	}
	if found < 40 || ruledType("kubernetes:core/v1:Secret") != "kubernetes:core/v1:Secret" {
		t.Errorf("%d tokens were compared", found)
	}
}

// TestPulumiSecrets reads what the real pulumi exported: its secrets are sealed with a passphrase.
func TestPulumiSecrets(t *testing.T) {
	data := exportOf(t)
	s, text := pulumiStack(t, data, withPassphrase("hunter2hunter2"))
	if len(s.Secrets) != 1 || s.Secrets[0].Value != "correct-horse-9" || !strings.Contains(text, "secureValue: ${secret.") || strings.Contains(text, "correct-horse-9") {
		t.Errorf("%+v\n%s", s.Secrets, text)
	}
	if outcomes(s)[urns+"testprovider:index:Random::q"] != from.Unmapped {
		t.Error(s.Entries)
	}
	for passphrase, says := range map[string]string{"": "its secrets, by passphrase", "another": "not that of the stack"} {
		_, err := Pulumi{Find: kindsOf(t)}.Draft(from.File{Name: "s", Content: data}, withPassphrase(passphrase))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", passphrase, err)
		}
	}
}

func TestPulumiRecognized(t *testing.T) {
	for _, source := range []from.Source{Source{}, Pulumi{}} {
		for content, want := range map[string]string{
			string(exportOf(t)): "pulumi", string(stateOf(t)): "terraform",
			`{"version":3,"checkpoint":{"stack":"organization/shop/prod","latest":{"manifest":{},"resources":[]}}}`: "pulumi",
		} {
			if got := source.Recognizes(from.File{Name: "s.json", Content: []byte(content)}); got != (source.Kind() == want) {
				t.Errorf("%s: %v for %.60s", source.Kind(), got, content)
			}
		}
	}
	if stack, stage := (Pulumi{}).Place(from.File{Content: exportOf(t)}); stack != "shop" || stage != "prod" {
		t.Error(stack, stage)
	}
}

func TestPulumiRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		err     error
	}{
		"cut":         {`{"version":3,"deployment":{"manifest":{},"resources":[{"urn":"urn:pu`, errDamaged},
		"old":         {`{"version":1,"deployment":{"manifest":{}}}`, errOld},
		"nothing":     {`{"version":3}`, errNoObjects},
		"types":       {`{"version":3,"deployment":{"manifest":{},"resources":{}}}`, errDamaged},
		"deep":        {`{"version":3,"deployment":{"manifest":{},"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, errDamaged},
		"service":     {`{"version":3,"deployment":{"manifest":{},"secrets_providers":{"type":"service"},"resources":[{"urn":"urn:pulumi:a::b::aws:sqs/queue:Queue::q","type":"aws:sqs/queue:Queue","custom":true,"outputs":{"name":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"AAA"}}}]}}`, errEncrypted},
		"deep secret": {`{"version":3,"deployment":{"manifest":{},"resources":[{"urn":"u","type":"t","custom":true,"outputs":{"x":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","plaintext":"` + strings.Repeat("[", 200) + `"}}}]}}`, errDamaged},
	} {
		if _, err := (Pulumi{Find: kindsOf(t)}).Draft(from.File{Name: "s", Content: []byte(c.content)}, from.Options{}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPulumiDeletedAndRead leaves what is pending deletion to Pulumi, and reads what it only reads.
func TestPulumiDeletedAndRead(t *testing.T) {
	vpc := func(n int) map[string]any {
		return map[string]any{"arn": fmt.Sprintf("arn:aws:ec2:eu-north-1:123456789012:vpc/vpc-%08x", n), "cidrBlock": "10.0.0.0/16", "id": fmt.Sprintf("vpc-%08x", n)}
	}
	old, shared := pulumiObject("aws:ec2/vpc:Vpc", "old", "vpc-00000002", vpc(2)), pulumiObject("aws:ec2/vpc:Vpc", "shared", "vpc-00000001", vpc(1))
	old["delete"], shared["external"] = true, true
	subnet := pulumiObject("aws:ec2/subnet:Subnet", "a[0]", "subnet-00000003", map[string]any{
		"vpcId": "vpc-00000001", "cidrBlock": "10.0.1.0/24", "arn": "arn:aws:ec2:eu-north-1:123456789012:subnet/subnet-00000003",
	}, urns+"aws:ec2/vpc:Vpc::shared")
	s, text := pulumiStack(t, exported(t, old, shared, subnet), from.Options{})
	if outcomes(s)[urns+"aws:ec2/vpc:Vpc::old"] != from.Unmapped || len(s.Reads) != 1 || !strings.Contains(text, "VpcId: ${shared.VpcId}") {
		t.Errorf("%v\n%s", s.Entries, text)
	}
}

// TestPulumiNames has the attributes that Pulumi calls otherwise, and keys that users gave, which stay.
func TestPulumiNames(t *testing.T) {
	const arn = "arn:aws:lambda:eu-north-1:123456789012:function:f"
	s, text := pulumiStack(t, exported(t,
		pulumiObject("aws:lambda/function:Function", "f", "f", map[string]any{
			"arn": arn, "name": "f", "role": "arn:aws:iam::123456789012:role/r", "runtime": "python3.13", "handler": "a.b", "s3Bucket": "code", "s3Key": "f.zip",
			"environment": map[string]any{"variables": map[string]any{"logLevel": "debug"}},
		}),
		pulumiObject("aws:lambda/functionUrl:FunctionUrl", "u", "f", map[string]any{"functionName": "f", "authorizationType": "NONE", "functionUrl": "https://x.lambda-url.eu-north-1.on.aws/"}),
		pulumiObject("aws:lambda/permission:Permission", "p", "allow", map[string]any{
			"function": "f", "statementId": "allow", "action": "lambda:InvokeFunction", "principal": "sns.amazonaws.com",
		}, urns+"aws:lambda/function:Function::f"),
		pulumiObject("aws:connect/instance:Instance", "no", "i-1", map[string]any{"arn": "x"}),
	), from.Options{})
	for _, want := range []string{"logLevel: debug", "function: ${f.arn}", "auth: NONE"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if got := outcomes(s); got[urns+"aws:connect/instance:Instance::no"] != from.Unmapped || got[urns+"aws:lambda/functionUrl:FunctionUrl::u"] != from.Folded {
		t.Error(got)
	}
}

// TestPulumiNamesAreData puts syntax into everything that a state names.
func TestPulumiNamesAreData(t *testing.T) {
	for _, text := range []string{"a: b\n- c", "${stack}", "{{.}}", "x\"y'z", "../../etc/passwd", "\u202etxt", "\x1b[31mred", "::", "a::b$c", ""} {
		component := map[string]any{"urn": urns + "x:index:C::" + text, "type": "x:index:C"}
		vpc := pulumiObject("aws:ec2/vpc:Vpc", text, text, map[string]any{"id": "vpc-00000001", "cidrBlock": text, "tags": map[string]any{text: text}})
		vpc["parent"] = component["urn"]
		s, out := pulumiStack(t, exported(t, component, vpc), from.Options{})
		var doc struct{ Resources map[string]any }
		if err := yaml.Unmarshal([]byte(out), &doc); err != nil || len(doc.Resources) != 1 || len(s.Resources) != 1 || strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
	}
}

// TestPulumiTable finds a line of the table of types for each token.
func TestPulumiTable(t *testing.T) {
	lines, err := table()
	if err != nil {
		t.Fatal(err)
	}
	types := pulumiTypes()
	if len(types) < 240 {
		t.Error(len(types))
	}
	for token, typ := range types {
		if lines[typ.typ] == nil || strings.Count(token, ":") != 2 {
			t.Errorf("%s: there is no line of %s", token, typ.typ)
		}
	}
}

// TestHugePulumiState reads 10,000 objects.
func TestHugePulumiState(t *testing.T) {
	var all []any
	for n := range 10000 {
		name := fmt.Sprintf("s%d", n)
		all = append(all, pulumiObject("aws:sqs/queue:Queue", name, "https://sqs/"+name, map[string]any{
			"arn": "arn:aws:sqs:eu-north-1:123456789012:" + name, "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/" + name, "name": name,
		}))
	}
	if s, _ := pulumiStack(t, exported(t, all...), from.Options{}); len(s.Resources) != 10000 {
		t.Error(len(s.Resources))
	}
}
