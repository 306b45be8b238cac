package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"go.yaml.in/yaml/v3"
)

// res is a resource of a state with one instance.
func res(typ, name string, attrs map[string]any, depends ...string) map[string]any {
	return map[string]any{
		"mode": "managed", "type": typ, "name": name, "provider": `provider["registry.terraform.io/hashicorp/aws"]`,
		"instances": []any{map[string]any{"attributes": attrs, "dependencies": depends}},
	}
}

// stateOf is a state file of version 4.
func stateOf(t testing.TB, resources ...any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"version": 4, "terraform_version": "1.9.0", "lineage": "x", "resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func vpcAttrs(n int) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("vpc-%08x", n), "arn": fmt.Sprintf("arn:aws:ec2:eu-north-1:123456789012:vpc/vpc-%08x", n), "cidr_block": "10.0.0.0/16",
		"enable_dns_support": true, "tags": map[string]any{"Name": "net"},
	}
}

func subnetAttrs(n, vpc int) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("subnet-%08x", n), "vpc_id": fmt.Sprintf("vpc-%08x", vpc), "cidr_block": fmt.Sprintf("10.0.%d.0/24", n&255),
		"arn": fmt.Sprintf("arn:aws:ec2:eu-north-1:123456789012:subnet/subnet-%08x", n),
	}
}

func resource(t *testing.T, s from.Stack, address string) from.Resource {
	t.Helper()
	for _, r := range s.Resources {
		if r.Address == address {
			return r
		}
	}
	t.Fatalf("there is no %s: %v", address, addresses(s))
	return from.Resource{}
}

func addresses(s from.Stack) []string {
	var all []string
	for _, r := range s.Resources {
		all = append(all, r.Address)
	}
	return all
}

func outcomes(s from.Stack) map[string]from.Outcome {
	all := map[string]from.Outcome{}
	for _, e := range s.Entries {
		all[e.Source] = e.Outcome
	}
	return all
}

func TestModulesAndReferences(t *testing.T) {
	vpc := res("aws_vpc", "main", vpcAttrs(1))
	subnet := res("aws_subnet", "main", subnetAttrs(2, 1), "module.net.aws_vpc.main")
	vpc["module"], subnet["module"] = "module.net", `module.net.module.part["a.b"]`
	s, text := stackOf(t, "shop.tfstate", stateOf(t, vpc, subnet), from.Options{})
	if got := fmt.Sprint(addresses(s)); got != "[net/main net/part-a-b/main]" {
		t.Error(got)
	}
	if got := resource(t, s, "net/part-a-b/main"); got.Props["VpcId"] != (from.Ref{Address: "net/main", Attribute: "VpcId"}) || got.Adopt != "subnet-00000002" {
		t.Error(got)
	}
	if !strings.Contains(text, "region: eu-north-1") || s.Name != "shop" {
		t.Error(text)
	}
}

func TestSameNameOfSeveralTypes(t *testing.T) {
	s, _ := stackOf(t, "s.tfstate", stateOf(t, res("aws_vpc", "this", vpcAttrs(1)), res("aws_subnet", "this", subnetAttrs(2, 1))), from.Options{})
	if got := fmt.Sprint(addresses(s)); got != "[vpc-this subnet-this]" {
		t.Error(got)
	}
}

// keyed is a resource with an instance for each key.
func keyed(typ, name string, keys []any, attrs func(n int) map[string]any) map[string]any {
	r := res(typ, name, nil)
	var all []any
	for n, key := range keys {
		all = append(all, map[string]any{"index_key": key, "attributes": attrs(n)})
	}
	r["instances"] = all
	return r
}

func TestForWhereInstancesDifferByLittle(t *testing.T) {
	subnets := keyed("aws_subnet", "s", []any{"a", "b"}, func(n int) map[string]any { return subnetAttrs(n+5, 1) })
	s, text := stackOf(t, "s.tfstate", stateOf(t, res("aws_vpc", "v", vpcAttrs(1)), subnets), from.Options{})
	r := resource(t, s, "s")
	if len(r.For) != 2 || r.For["a"]["adopt"] != "subnet-00000005" || r.For["b"]["cidrBlock"] != "10.0.6.0/24" {
		t.Error(r.For)
	}
	if r.Props["CidrBlock"] != (from.Each{Name: "cidrBlock"}) || r.Props["VpcId"] != (from.Ref{Address: "v", Attribute: "VpcId"}) {
		t.Error(r.Props)
	}
	if !strings.Contains(text, "adopt: ${each.value.adopt}") {
		t.Error(text)
	}
}

func TestInstancesOfSeveralShapesStayApart(t *testing.T) {
	subnets := keyed("aws_subnet", "s", []any{0, 1}, func(n int) map[string]any {
		attrs := subnetAttrs(n+5, 1)
		if n == 1 {
			attrs["tags"] = map[string]any{"Name": "second"}
		}
		return attrs
	})
	s, _ := stackOf(t, "s.tfstate", stateOf(t, subnets), from.Options{})
	if got := fmt.Sprint(addresses(s)); got != "[s[0] s[1]]" {
		t.Error(got)
	}
}

func TestRoleFoldsWhatIsAttached(t *testing.T) {
	role := map[string]any{
		"id": "app", "name": "app", "arn": "arn:aws:iam::123456789012:role/app", "path": "/", "max_session_duration": 3600,
		"assume_role_policy": `{"Statement":[]}`,
	}
	policy := map[string]any{"id": "arn:aws:iam::123456789012:policy/read", "arn": "arn:aws:iam::123456789012:policy/read", "name": "read", "policy": `{"Statement":[]}`}
	s, _ := stackOf(t, "s.tfstate", stateOf(t,
		res("aws_iam_role", "app", role), res("aws_iam_policy", "read", policy),
		res("aws_iam_role_policy_attachment", "a", map[string]any{"id": "app-1", "role": "app", "policy_arn": "arn:aws:iam::123456789012:policy/read"},
			"aws_iam_policy.read", "aws_iam_role.app"),
		res("aws_iam_role_policy", "own", map[string]any{"id": "app:own", "role": "app", "name": "own", "policy": `{"Statement":[{"Effect":"Allow"}]}`}, "aws_iam_role.app"),
		res("aws_iam_role_policy_attachment", "lost", map[string]any{"id": "x-1", "role": "other", "policy_arn": "arn:aws:iam::aws:policy/X"}),
	), from.Options{})
	r := resource(t, s, "app")
	if got := fmt.Sprint(r.Props["managedPolicies"]); got != "[{read arn}]" {
		t.Error(got)
	}
	if r.Props["inline"] == nil || r.Props["trustPolicy"] == nil {
		t.Error(r.Props)
	}
	got := outcomes(s)
	if got["aws_iam_role_policy_attachment.a"] != from.Folded || got["aws_iam_role_policy.own"] != from.Folded ||
		got["aws_iam_role_policy_attachment.lost"] != from.Unmapped {
		t.Error(got)
	}
}

// TestEveryObjectIsCountedOnce is about parts of several objects, and parts of objects that are not adopted.
func TestEveryObjectIsCountedOnce(t *testing.T) {
	role := func(name string) map[string]any {
		return map[string]any{"id": name, "name": name, "arn": "arn:aws:iam::123456789012:role/" + name, "assume_role_policy": `{"Statement":[]}`}
	}
	bad := role("bad")
	delete(bad, "assume_role_policy") // which the kind needs
	data := stateOf(t,
		res("aws_iam_role", "a", role("a")), res("aws_iam_role", "b", role("b")), res("aws_iam_role", "bad", bad),
		res("aws_iam_policy_attachment", "both", map[string]any{
			"id": "x", "roles": []any{"a", "b", "elsewhere"}, "policy_arn": "arn:aws:iam::aws:policy/ReadOnlyAccess",
		}),
		res("aws_iam_role_policy", "lost", map[string]any{"id": "bad:p", "role": "bad", "name": "p", "policy": `{"Statement":[]}`}),
	)
	s, _ := stackOf(t, "s.tfstate", data, from.Options{})
	counts := map[from.Outcome]int{}
	for _, e := range s.Entries {
		counts[e.Outcome]++
	}
	if len(s.Entries) != 5 || counts[from.Mapped] != 2 || counts[from.Folded] != 1 || counts[from.Unmapped] != 2 {
		t.Errorf("%v", s.Entries)
	}
	for _, address := range []string{"a", "b"} {
		if resource(t, s, address).Props["managedPolicies"] == nil {
			t.Errorf("%s has no policy", address)
		}
	}
}

// TestQueueAndBucketNeedEachOther is about references that would make a circle: one of them stays literal.
func TestQueueAndBucketNeedEachOther(t *testing.T) {
	queueARN, bucketARN := "arn:aws:sqs:eu-north-1:123456789012:jobs", "arn:aws:s3:::jobs-in"
	s, _ := stackOf(t, "s.tfstate", stateOf(t,
		res("aws_sqs_queue", "jobs", map[string]any{"id": "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "arn": queueARN, "name": "jobs"}),
		res("aws_s3_bucket", "in", map[string]any{"id": "jobs-in", "bucket": "jobs-in", "arn": bucketARN}),
		res("aws_sqs_queue_policy", "p", map[string]any{"id": "x", "queue_url": "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "policy": `{"Resource":"` + queueARN + `","Source":"` + bucketARN + `"}`}, "aws_s3_bucket.in", "aws_sqs_queue.jobs"),
		res("aws_s3_bucket_notification", "n", map[string]any{"id": "jobs-in", "bucket": "jobs-in", "queue": []any{map[string]any{"id": "q", "queue_arn": queueARN, "events": []any{"s3:ObjectCreated:*"}}}}, "aws_s3_bucket.in", "aws_sqs_queue.jobs"),
	), from.Options{})
	bucket := fmt.Sprint(resource(t, s, "in").Props)
	queue := fmt.Sprint(resource(t, s, "jobs").Props)
	if strings.Contains(bucket, "{jobs arn}") == strings.Contains(queue, "{in arn}") {
		t.Errorf("one of both is to refer to the other:\n%s\n%s", bucket, queue)
	}
}

const password = "correct-horse-battery-9"

// TestSecretsAreNowhere puts a secret where each rule finds it, and looks for it in all that is shown.
func TestSecretsAreNowhere(t *testing.T) {
	parameter := func(name, value string) map[string]any {
		return map[string]any{"id": name, "arn": "arn:aws:ssm:eu-north-1:123456789012:parameter/" + name, "name": name, "type": "SecureString", "value": value}
	}
	function := map[string]any{
		"id": "f", "arn": "arn:aws:lambda:eu-north-1:123456789012:function:f", "function_name": "f", "role": "arn:aws:iam::123456789012:role/r",
		"runtime": "python3.14", "handler": "a.b", "s3_bucket": "code", "s3_key": "f.zip",
		"environment": []any{map[string]any{"variables": map[string]any{
			"DB_PASSWORD": password, "DSN": "postgres://app:" + password + "@db/shop", "RANDOM": "Zk39fQx71LmWv08TbYc5RnJd", "LEVEL": "debug",
			"STRIPE": "sk_live_0123456789abcdef",
		}}},
	}
	sensitive := res("aws_ssm_parameter", "plain", map[string]any{
		"id": "p", "arn": "arn:aws:ssm:eu-north-1:123456789012:parameter/p", "name": "p", "type": "String", "value": "whisper-it-softly",
	})
	sensitive["instances"].([]any)[0].(map[string]any)["sensitive_attributes"] = []any{[]any{map[string]any{"type": "get_attr", "value": "value"}}}
	unmapped := res("foo_bar", "x", map[string]any{"id": password})
	data := stateOf(t, res("aws_ssm_parameter", "key", parameter("key", "open-sesame-now")), res("aws_lambda_function", "f", function), sensitive, unmapped)
	s, text := stackOf(t, "s.tfstate", data, from.Options{})
	report, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{password, "open-sesame-now", "whisper-it-softly", "Zk39fQx71LmWv08TbYc5RnJd", "sk_live_0123456789abcdef"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s stands in the stack:\n%s", secret, text)
		}
		if strings.Contains(string(report), secret) {
			t.Errorf("%s stands in the report:\n%s", secret, report)
		}
	}
	if !strings.Contains(text, "LEVEL: debug") || !strings.Contains(text, "postgres://app:${secret.") && !strings.Contains(text, "DSN: ${secret.") {
		t.Error(text)
	}
	why := map[string]bool{}
	for _, secret := range s.Secrets {
		for _, f := range secret.Found {
			why[strings.Fields(f.Why)[0]] = true
		}
	}
	if !why["sensitive"] || !why["its"] || !why["the"] {
		t.Error(why)
	}
}

func TestRandomValuesStay(t *testing.T) {
	data := stateOf(t,
		res("random_id", "suffix", map[string]any{"id": "q83v", "hex": "abcdef12"}),
		res("random_password", "pw", map[string]any{"id": "none", "result": password}),
		res("aws_sqs_queue", "q", map[string]any{"id": "u", "url": "u", "arn": "arn:aws:sqs:eu-north-1:123456789012:jobs-abcdef12", "name": "jobs-abcdef12"}, "random_id.suffix"),
		res("aws_ssm_parameter", "p", map[string]any{"id": "p", "arn": "arn:aws:ssm:eu-north-1:123456789012:parameter/p", "name": "p", "type": "String", "value": password}, "random_password.pw"),
	)
	s, text := stackOf(t, "s.tfstate", data, from.Options{})
	if s.Config["suffix"] != "abcdef12" || !strings.Contains(text, "name: jobs-${config.suffix}") || len(s.Secrets) != 1 || strings.Contains(text, password) {
		t.Errorf("%v %v\n%s", s.Config, s.Secrets, text)
	}
	if got := outcomes(s)["random_password.pw"]; got != from.Needless {
		t.Error(got)
	}
}

func TestDataSourceIsReadWhereSomethingRefersToIt(t *testing.T) {
	data := res("aws_vpc", "shared", vpcAttrs(1))
	other := res("aws_vpc", "unused", vpcAttrs(9))
	data["mode"], other["mode"] = "data", "data"
	s, text := stackOf(t, "s.tfstate", stateOf(t, data, other, res("aws_subnet", "s", subnetAttrs(2, 1), "data.aws_vpc.shared")), from.Options{})
	if len(s.Reads) != 1 || s.Reads[0].Address != "shared" || s.Reads[0].Adopt != "vpc-00000001" || !strings.Contains(text, "VpcId: ${shared.VpcId}") {
		t.Error(text)
	}
}

func TestOnly(t *testing.T) {
	vpc, subnet := res("aws_vpc", "v", vpcAttrs(1)), res("aws_subnet", "s", subnetAttrs(2, 1), "aws_vpc.v")
	subnet["module"] = "module.net"
	chosen := func(address string) bool { return strings.HasPrefix(address, "module.net.") }
	s, text := stackOf(t, "s.tfstate", stateOf(t, vpc, subnet), from.Options{Chosen: chosen})
	if fmt.Sprint(addresses(s)) != "[net/s]" || !strings.Contains(text, "VpcId: vpc-00000001") {
		t.Error(text)
	}
}

func TestRegionsOfAliases(t *testing.T) {
	far := vpcAttrs(3)
	far["arn"] = "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-00000003"
	r := res("aws_vpc", "far", far)
	r["provider"] = `provider["registry.terraform.io/hashicorp/aws"].virginia`
	s, text := stackOf(t, "s.tfstate", stateOf(t, res("aws_vpc", "a", vpcAttrs(1)), res("aws_vpc", "b", vpcAttrs(2)), r), from.Options{})
	if resource(t, s, "far").Provider != "virginia" || fmt.Sprint(s.Providers["virginia"]) != "map[region:us-east-1 use:aws]" {
		t.Error(text)
	}
}

func TestShownState(t *testing.T) {
	data, err := json.Marshal(map[string]any{
		"format_version": "1.0", "terraform_version": "1.9.0", "values": map[string]any{
			"outputs": map[string]any{"net": map[string]any{"value": "vpc-00000001", "sensitive": false}},
			"root_module": map[string]any{
				"resources": []any{map[string]any{"address": "aws_vpc.v", "mode": "managed", "type": "aws_vpc", "name": "v", "values": vpcAttrs(1)}},
				"child_modules": []any{map[string]any{"address": "module.m", "resources": []any{map[string]any{
					"address": "module.m.aws_subnet.s", "mode": "managed", "type": "aws_subnet", "name": "s", "values": subnetAttrs(2, 1), "depends_on": []any{"aws_vpc.v"},
				}}}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, text := stackOf(t, "shown.json", data, from.Options{})
	if fmt.Sprint(addresses(s)) != "[v m/s]" || !strings.Contains(text, "net: ${v.VpcId}") || !strings.Contains(text, "VpcId: ${v.VpcId}") {
		t.Error(text)
	}
}

func TestRefused(t *testing.T) {
	source := Source{Find: kindsOf(t)}
	for name, want := range map[string]struct {
		content string
		err     error
	}{
		"encrypted": {`{"serial":1,"lineage":"x","meta":{},"encrypted_data":"AAAA","encryption_version":"v0"}`, errEncrypted},
		"old":       {`{"version":3,"terraform_version":"0.11.14","modules":[]}`, errOld},
		"plan":      {`{"format_version":"1.2","terraform_version":"1.9.0","planned_values":{}}`, errPlan},
		"cut":       {`{"version":4,"terraform_version":"1.9.0","resources":[{"mode":"man`, errDamaged},
		"types":     {`{"version":4,"terraform_version":"1.9.0","resources":{"a":1}}`, errDamaged},
		"deep":      {`{"version":4,"terraform_version":"1.9.0","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, errDamaged},
		"twice":     {`{"version":4,"terraform_version":"1.9.0","resources":[]} {}`, errDamaged},
		"nothing":   {`{"terraform_version":"1.9.0"}`, errDamaged},
	} {
		f := from.File{Name: "s.json", Content: []byte(want.content)}
		if !source.Recognizes(f) {
			t.Errorf("%s is not recognised", name)
		}
		if _, err := source.Draft(f, from.Options{}); !errors.Is(err, want.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesAreData puts syntax of YAML, templates and terminals into everything that a state names. What is written
// is read back as the same text.
func TestNamesAreData(t *testing.T) {
	odd := []string{
		"a: b\n- c", "${stack}", "$${x}", "{{.}}", "x\"y'z", "../../etc/passwd", "# no comment", "&a *a !!int 3", "\u202etxt", "\x1b[31mred", "null", "1e3", "", "[0]", "a\x00b",
		"⟦0⟧",
	}
	for _, text := range odd {
		attrs := vpcAttrs(1)
		attrs["cidr_block"], attrs["tags"] = text, map[string]any{text: text}
		r := res("aws_vpc", text, attrs)
		r["module"] = "module." + text
		r["instances"].([]any)[0].(map[string]any)["index_key"] = text
		s, out := stackOf(t, "s.tfstate", stateOf(t, r), from.Options{})
		var doc struct {
			Resources map[string]struct {
				Props struct {
					CidrBlock string `yaml:"CidrBlock"`
					Tags      []struct {
						Key   string `yaml:"Key"`
						Value string `yaml:"Value"`
					} `yaml:"Tags"`
				}
			}
		}
		if err := yaml.Unmarshal([]byte(out), &doc); err != nil || len(doc.Resources) != 1 || len(s.Resources) != 1 {
			t.Errorf("%q: %v\n%s", text, err, out)
			continue
		}
		for address, r := range doc.Resources {
			want := strings.ReplaceAll(text, "${", "$${")
			if strings.ContainsAny(address, " \n\"'$#&\x1b\x00.") && !strings.Contains(address, "[") {
				t.Errorf("%q gives the address %q", text, address)
			}
			if text != "" && (r.Props.CidrBlock != want || len(r.Props.Tags) != 1 || r.Props.Tags[0].Value != want) {
				t.Errorf("%q becomes %+v\n%s", text, r.Props, out)
			}
		}
		if strings.ContainsAny(out, "\x1b\u202e\x00") {
			t.Errorf("%q stands in the stack as it is:\n%q", text, out)
		}
	}
}

// TestHugeState reads 10,000 resources, and as many of one name that depend on all others of it.
func TestHugeState(t *testing.T) {
	var all []any
	for n := range 10000 {
		subnet := res("aws_subnet", fmt.Sprintf("s%d", n), subnetAttrs(n+100000, n%50), fmt.Sprintf("aws_vpc.v%d", n%50), "aws_vpc.same")
		if n%2 == 0 {
			subnet["name"] = "same"
		}
		all = append(all, subnet)
		if n < 50 {
			all = append(all, res("aws_vpc", fmt.Sprintf("v%d", n), vpcAttrs(n)))
		}
	}
	s, _ := stackOf(t, "s.tfstate", stateOf(t, all...), from.Options{})
	if len(s.Resources) != 10050 {
		t.Error(len(s.Resources))
	}
}

func TestTableIsWhole(t *testing.T) {
	lines, err := table()
	if err != nil {
		t.Fatal(err)
	}
	for typ, line := range lines {
		if line.hook != "" && !line.other && hooks[line.hook] == nil {
			t.Errorf("%s: there is no function %s", typ, line.hook)
		}
		if line.fold && lines[line.parent] == nil {
			t.Errorf("%s folds into %s, which has no line", typ, line.parent)
		}
	}
}
