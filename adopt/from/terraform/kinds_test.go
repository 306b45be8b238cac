package terraform

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// TestKindsOfTheirOwn maps types whose kinds came later than those of the registry: repositories, state machines, schedules, and the
// types of Cloudflare's API. No provider wrote the state: the attributes are those of the documentation of hashicorp/aws 6 and
// cloudflare/cloudflare 5, and of version 4 where "old" is in the name.
func TestKindsOfTheirOwn(t *testing.T) {
	const arn = "arn:aws:iam::123456789012:role/flow"
	state := `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` + strings.Join([]string{
		managed("aws_ecr_repository", "images", `{"id": "images", "name": "images", "arn": "arn:aws:ecr:eu-north-1:123456789012:repository/images",
			"registry_id": "123456789012", "repository_url": "123456789012.dkr.ecr.eu-north-1.amazonaws.com/images", "image_tag_mutability": "IMMUTABLE",
			"image_scanning_configuration": [{"scan_on_push": true}], "encryption_configuration": [{"encryption_type": "AES256", "kms_key": ""}], "force_delete": null}`),
		managed("aws_ecr_lifecycle_policy", "images", `{"id": "images", "repository": "images", "registry_id": "123456789012", "policy": "{\"rules\":[]}"}`),
		managed("aws_sfn_state_machine", "flow", `{"id": "arn:aws:states:eu-north-1:123456789012:stateMachine:flow", "arn": "arn:aws:states:eu-north-1:123456789012:stateMachine:flow",
			"name": "flow", "type": "STANDARD", "role_arn": "`+arn+`", "definition": "{\"StartAt\":\"a\",\"States\":{\"a\":{\"Type\":\"Succeed\"}}}",
			"logging_configuration": [{"level": "ERROR", "include_execution_data": true, "log_destination": "arn:aws:logs:eu-north-1:123456789012:log-group:flow:*"}],
			"tracing_configuration": [{"enabled": true}], "encryption_configuration": [{"type": "AWS_OWNED_KEY", "kms_key_id": "", "kms_data_key_reuse_period_seconds": null}]}`),
		managed("aws_scheduler_schedule", "nightly", `{"id": "default/nightly", "arn": "arn:aws:scheduler:eu-north-1:123456789012:schedule/default/nightly", "name": "nightly",
			"group_name": "default", "schedule_expression": "rate(1 hour)", "schedule_expression_timezone": "UTC", "state": "DISABLED",
			"flexible_time_window": [{"mode": "FLEXIBLE", "maximum_window_in_minutes": 15}], "start_date": "", "end_date": "", "kms_key_arn": "",
			"target": [{"arn": "arn:aws:states:eu-north-1:123456789012:stateMachine:flow", "role_arn": "`+arn+`", "input": "{\"a\":1}",
			"retry_policy": [{"maximum_event_age_in_seconds": 3600, "maximum_retry_attempts": 3}], "dead_letter_config": [], "ecs_parameters": []}]}`),
		managed("cloudflare_zero_trust_tunnel_cloudflared", "office", `{"id": "t-1", "account_id": "0123456789abcdef0123456789abcdef", "name": "office",
			"config_src": "cloudflare", "tunnel_secret": "very-secret-words-1", "status": "healthy", "connections": []}`),
		managed("cloudflare_tunnel", "old", `{"id": "t-2", "account_id": "0123456789abcdef0123456789abcdef", "name": "old", "secret": "very-secret-words-2", "cname": "t-2.cfargotunnel.com"}`),
		managed("cloudflare_load_balancer_pool", "eu", `{"id": "p-1", "name": "eu", "enabled": true, "minimum_origins": 1,
			"origins": [{"name": "a", "address": "192.0.2.1", "enabled": true, "weight": 1}]}`),
		managed("cloudflare_email_routing_rule", "old", `{"id": "e-1", "zone_id": "z-1", "tag": "e-1", "name": "sales", "enabled": true, "priority": 0,
			"action": [{"type": "forward", "value": ["a@shop.example"]}], "matcher": [{"type": "literal", "field": "to", "value": "sales@shop.example"}]}`),
		managed("cloudflare_access_rule", "block", `{"id": "r-1", "zone_id": "z-1", "mode": "block", "notes": "", "configuration": {"target": "ip", "value": "198.51.100.4"}}`),
		managed("cloudflare_zero_trust_access_policy", "team", `{"id": "x-1", "name": "team"}`),
	}, ",") + `]}`
	s, text := stackOf(t, "shop.tfstate", []byte(state), from.Options{Name: "shop"})
	for _, want := range []string{
		"kind: aws.ecr.Repository", "tagMutability: IMMUTABLE", "scanOnPush: true", "lifecyclePolicy:", "adopt: arn:aws:ecr:eu-north-1:123456789012:repository/images",
		"kind: aws.sfn.StateMachine", "logLevel: ERROR", "logData: true", "tracing: true", "role: ${config.role}", "logGroup: arn:aws:logs:",
		"kind: aws.scheduler.Schedule", "disabled: true", "window: 15m", "retries: 3", "maxAge: 1h", "target: ${", "expression: rate(1 hour)",
		"kind: cloudflare.zerotrust.Tunnel", "adopt: t-1", "adopt: t-2", "kind: cloudflare.loadbalancers.Pool", "address: 192.0.2.1",
		"kind: cloudflare.emailrouting.Rule", "value: sales@shop.example", "kind: cloudflare.firewall.AccessRule", "target: ip",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, "very-secret") || strings.Contains(text, "AWS::") {
		t.Error("a secret of a tunnel, or a kind of the registry, is in it")
	}
	for _, e := range s.Entries {
		wanted := from.Mapped
		switch e.Type {
		case "aws_ecr_lifecycle_policy":
			wanted = from.Folded
		case "cloudflare_zero_trust_access_policy":
			wanted = from.Unmapped
		}
		if e.Outcome != wanted {
			t.Errorf("%s: %s: %s", e.Source, e.Outcome, e.Text)
		}
		if wanted == from.Unmapped && !strings.Contains(e.Text, "cloudflare.zerotrust.AccessPolicy") {
			t.Errorf("the reason names no kind: %s", e.Text)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestScheduleLooks says what of a schedule the kind does not have.
func TestScheduleLooks(t *testing.T) {
	state := `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` +
		managed("aws_scheduler_schedule", "nightly", `{"arn": "arn:aws:scheduler:eu-north-1:123456789012:schedule/default/nightly", "name": "nightly", "state": "ENABLED",
			"schedule_expression": "rate(1 hour)", "target": [{"arn": "arn:aws:ecs:eu-north-1:123456789012:cluster/a", "role_arn": "arn:aws:iam::123456789012:role/a",
			"ecs_parameters": [{"task_count": 1}]}]}`) + `]}`
	s, _ := stackOf(t, "shop.tfstate", []byte(state), from.Options{Name: "shop"})
	if len(s.Entries) != 1 || s.Entries[0].Outcome != from.Ambiguous || !strings.Contains(s.Entries[0].Text, "ecs_parameters") {
		t.Errorf("%+v", s.Entries)
	}
}

// managed is an object of a state.
func managed(typ, name, attributes string) string {
	provider, _, _ := strings.Cut(typ, "_")
	return `{"mode": "managed", "type": "` + typ + `", "name": "` + name + `", "provider": "provider[\"registry.terraform.io/x/` + provider + `\"]", ` +
		`"instances": [{"schema_version": 0, "attributes": ` + attributes + `, "sensitive_attributes": []}]}`
}
