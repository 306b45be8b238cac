package terraform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// oddQueue is a queue in a state.
func oddQueue(region, account, name string) map[string]any {
	url := "https://sqs." + region + ".amazonaws.com/" + account + "/" + name
	return map[string]any{
		"id": url, "url": url, "arn": "arn:aws:sqs:" + region + ":" + account + ":" + name, "name": name, "visibility_timeout_seconds": 30, "message_retention_seconds": 345600,
		"max_message_size": 1048576, "delay_seconds": 0, "receive_wait_time_seconds": 0, "fifo_queue": false, "policy": "", "redrive_policy": "", "tags": nil, "tags_all": map[string]any{},
	}
}

// changedFirst changes the first instance of a resource.
func changedFirst(r map[string]any, with map[string]any) map[string]any {
	maps.Copy(r["instances"].([]any)[0].(map[string]any), with)
	return r
}

// steps is a path of sensitive_attributes: names of attributes, and keys of maps after a =.
func steps(names ...string) []any {
	var all []any
	for _, name := range names {
		if key, ok := strings.CutPrefix(name, "="); ok {
			all = append(all, map[string]any{"type": "index", "value": map[string]any{"value": key, "type": "string"}})
			continue
		}
		all = append(all, map[string]any{"type": "get_attr", "value": name})
	}
	return all
}

// TestOddStates reads states that are real and rare: each says what became of every object, and nothing secret stands in the stack.
func TestOddStates(t *testing.T) {
	const home, account = "eu-north-1", "123456789012"
	function := func(env map[string]any) map[string]any {
		return map[string]any{
			"id": "f", "function_name": "f", "arn": "arn:aws:lambda:eu-north-1:123456789012:function:f", "role": "arn:aws:iam::123456789012:role/f", "runtime": "python3.14", "handler": "i.h",
			"s3_bucket": "code", "s3_key": "f.zip", "environment": []any{map[string]any{"variables": env}},
		}
	}
	parameter := map[string]any{"id": "p", "name": "p", "type": "String", "arn": "arn:aws:ssm:eu-north-1:123456789012:parameter/p", "value": "open words", "tags": map[string]any{"a.b": "hush-hush-1"}}
	gone := oddQueue(home, account, "gone")
	deposed := res("aws_sqs_queue", "d", oddQueue(home, account, "new"))
	deposed["instances"] = append(deposed["instances"].([]any), map[string]any{"deposed": "1a2b3c4d", "attributes": gone})
	provider := func(r map[string]any, address string) map[string]any {
		r["provider"] = address
		return r
	}
	for name, c := range map[string]struct {
		resources []any
		want, not []string
		outcomes  map[string]from.Outcome
		texts     map[string]string
	}{
		"providers of version 0.12": {
			resources: []any{
				provider(res("aws_sqs_queue", "a", oddQueue(home, account, "a")), "provider.aws"), provider(res("aws_sqs_queue", "c", oddQueue(home, account, "c")), "provider.aws"),
				provider(changedFirst(res("aws_sqs_queue", "b", oddQueue("us-east-1", account, "b")), map[string]any{"depends_on": []any{"aws_sqs_queue.a"}, "dependencies": nil}), "module.x.provider.aws.east"),
				provider(changedFirst(res("aws_sqs_queue", "flat", nil), map[string]any{"attributes": nil, "attributes_flat": map[string]any{"id": "x", "tags.%": "1"}}), "provider.aws"),
			},
			want: []string{"  east:\n    region: us-east-1\n", "provider: east", "dependsOn:\n        - a"}, outcomes: map[string]from.Outcome{"aws_sqs_queue.flat": from.Unmapped},
		},
		"deposed": {
			resources: []any{deposed}, want: []string{"adopt: arn:aws:sqs:eu-north-1:123456789012:new"}, not: []string{":gone"},
			texts: map[string]string{"aws_sqs_queue.d": "delete it before the resource is removed"},
		},
		"tainted": {
			resources: []any{changedFirst(res("aws_sqs_queue", "t", oddQueue(home, account, "t")), map[string]any{"status": "tainted"})},
			outcomes:  map[string]from.Outcome{"aws_sqs_queue.t": from.Ambiguous}, texts: map[string]string{"aws_sqs_queue.t": "would replace it"},
		},
		"another account": {
			resources: []any{
				res("aws_sqs_queue", "a", oddQueue(home, account, "a")), res("aws_sqs_queue", "b", oddQueue(home, account, "b")),
				provider(res("aws_sqs_queue", "other", oddQueue(home, "210987654321", "other")), `provider["registry.terraform.io/hashicorp/aws"].billing`),
				res("aws_sqs_queue", "third", oddQueue("us-east-1", "333333333333", "third")),
			},
			want: []string{
				"  billing:\n    accountId: \"210987654321\"\n    use: aws\n", "provider: billing", "  aws-us-east-1-333333333333:\n    accountId: \"333333333333\"\n    region: us-east-1\n",
			},
			outcomes: map[string]from.Outcome{"aws_sqs_queue.a": from.Mapped, "aws_sqs_queue.other": from.Ambiguous}, texts: map[string]string{"aws_sqs_queue.other": "providers.billing a profile or a role"},
		},
		"a name with a dot in a sensitive path": {
			resources: []any{changedFirst(res("aws_ssm_parameter", "p", parameter), map[string]any{"sensitive_attributes": []any{steps("tags", "=a.b")}})},
			want:      []string{"a.b: ${secret.pB}", "value: open words"}, not: []string{"hush-hush-1"},
		},
		"a secret behind a dollar": {
			resources: []any{changedFirst(res("aws_lambda_function", "f", function(map[string]any{"A": "correct-horse", "B": "5$correct-horse and correct-horse", "C": "x correct-horse"})),
				map[string]any{"sensitive_attributes": []any{[]any{steps("environment")[0], map[string]any{"type": "index", "value": map[string]any{"value": 0, "type": "number"}}, steps("variables")[0], steps("=A")[0]}}})},
			want: []string{"A: ${secret.fA}", "B: ${secret.fAText}", "C: x ${secret.fA}"}, not: []string{"correct-horse"},
		},
		"a number that is sensitive": {
			resources: []any{
				changedFirst(res("aws_sqs_queue", "n", oddQueue(home, account, "n")),
					map[string]any{"sensitive_attributes": []any{steps("message_retention_seconds"), steps("delay_seconds"), steps("visibility_timeout_seconds")}}),
				changedFirst(res("aws_sqs_queue", "m", map[string]any{"id": "x", "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/m", "arn": "arn:aws:sqs:eu-north-1:123456789012:m", "name": "m", "delay_seconds": 77}),
					map[string]any{"sensitive_attributes": []any{steps("delay_seconds")}}),
			},
			want: []string{"ignoreChanges:\n        - delay\n"}, not: []string{"77", "1m17s"},
			outcomes: map[string]from.Outcome{"aws_sqs_queue.n": from.Mapped, "aws_sqs_queue.m": from.Ambiguous}, texts: map[string]string{"aws_sqs_queue.m": "delay: sensitive at its provider"},
		},
		"truth values, lists and objects that are sensitive": {
			resources: []any{
				changedFirst(res("aws_subnet", "s", map[string]any{"id": "subnet-00000001", "arn": "arn:aws:ec2:eu-north-1:123456789012:subnet/subnet-00000001", "vpc_id": "vpc-00000001", "cidr_block": "10.0.0.0/24", "map_public_ip_on_launch": true}),
					map[string]any{"sensitive_attributes": []any{steps("map_public_ip_on_launch")}}),
				changedFirst(res("aws_security_group", "g", map[string]any{
					"id": "sg-00000001", "arn": "arn:aws:ec2:eu-north-1:123456789012:security-group/sg-00000001", "name": "g", "description": "d", "vpc_id": "vpc-00000001",
					"ingress": []any{map[string]any{"from_port": 54321, "to_port": 54321, "protocol": "tcp", "cidr_blocks": []any{"10.0.0.0/8"}, "self": false}},
				}),
					map[string]any{"sensitive_attributes": []any{steps("ingress")}}),
				changedFirst(res("aws_lambda_function", "f", func() map[string]any {
					f := function(map[string]any{"A": "b"})
					f["memory_size"], f["tracing_config"] = 2048, []any{map[string]any{"mode": "Active"}}
					return f
				}()), map[string]any{"sensitive_attributes": []any{steps("memory_size"), steps("tracing_config")}}),
			},
			want: []string{"- MapPublicIpOnLaunch\n", "- SecurityGroupIngress\n", "- memory\n"}, not: []string{"54321", "2048", "2GiB", "MapPublicIpOnLaunch: true"},
			texts: map[string]string{"aws_subnet.s": "only text", "aws_security_group.g": "SecurityGroupIngress: sensitive"},
		},
		"a number that is sensitive and needed": {
			resources: []any{changedFirst(res("cloudflare_zero_trust_device_custom_profile", "p", map[string]any{
				"id": "f-1", "policy_id": "f-1", "account_id": "0123456789abcdef0123456789abcdef", "default": false, "name": "some", "match": "any(y)", "precedence": 4321, "enabled": true,
			}), map[string]any{"sensitive_attributes": []any{steps("precedence")}})},
			not: []string{"4321"}, outcomes: map[string]from.Outcome{"cloudflare_zero_trust_device_custom_profile.p": from.Unmapped},
			texts: map[string]string{"cloudflare_zero_trust_device_custom_profile.p": "its precedence is needed and sensitive"},
		},
		"nulls of providers": {
			resources: []any{res("aws_lambda_function", "f", function(map[string]any{"A": "b"})), res("aws_cloudfront_cache_policy", "p", map[string]any{
				"id": "p-1", "name": "p", "etag": "e", "min_ttl": 1, "parameters_in_cache_key_and_forwarded_to_origin": []any{map[string]any{"enable_accept_encoding_gzip": true, "cookies_config": nil}},
			})},
			not: []string{"null"},
		},
		"providers that nobody knows": {
			resources: []any{
				provider(res("custom_thing", "y", map[string]any{"id": "evil\n  injected: true"}), "garbage"), res("aws_not_yet_known", "x", map[string]any{"id": "x-1"}),
				changedFirst(provider(res("kubernetes_secret", "k", map[string]any{"id": "ns/k", "data": map[string]any{"tls.crt": "k8s-very-secret"}}), `provider["registry.terraform.io/hashicorp/kubernetes"]`),
					map[string]any{"sensitive_attributes": []any{steps("data")}}),
				res("aws_sqs_queue", "ok", oddQueue(home, account, "ok")),
			},
			not: []string{"injected", "k8s-very-secret"}, outcomes: map[string]from.Outcome{"custom_thing.y": from.Unmapped, "aws_not_yet_known.x": from.Unmapped, "aws_sqs_queue.ok": from.Mapped},
		},
		"keys that are no names": {
			resources: []any{keyed("aws_sqs_queue", "k", []any{"a.b", `a"b`, "${x}", "", "\n", "[0]", "null", "A", "a", "ö", "a b"}, func(n int) map[string]any { return oddQueue(home, account, "k"+string(rune('a'+n))) })},
			want:      []string{"a-b-2:", "key:", "\"null\":"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var doc map[string]any
			if err := json.Unmarshal(stateOf(t, c.resources...), &doc); err != nil {
				t.Fatal(err)
			}
			doc["check_results"] = []any{map[string]any{"object_kind": "resource", "config_addr": "aws_sqs_queue.a", "status": "pass", "objects": nil}}
			data, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			s, text := stackOf(t, "s.tfstate", data, from.Options{})
			report, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q", want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("there is %q", not)
				}
				if strings.Contains(not, "-") && strings.Contains(string(report), not) {
					t.Errorf("the report has %q", not)
				}
			}
			for source, outcome := range c.outcomes {
				if got := outcomes(s)[source]; got != outcome {
					t.Errorf("%s: %s", source, got)
				}
			}
			for source, want := range c.texts {
				if !slices.ContainsFunc(s.Entries, func(e from.Entry) bool { return e.Source == source && strings.Contains(e.Text, want) }) {
					t.Errorf("nothing says %q: %+v", want, s.Entries)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}
