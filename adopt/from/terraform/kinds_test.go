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
		managed("cloudflare_zero_trust_access_service_token", "ci", `{"id": "x-1", "name": "ci"}`),
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
		case "cloudflare_zero_trust_access_service_token":
			wanted = from.Unmapped
		}
		if e.Outcome != wanted {
			t.Errorf("%s: %s: %s", e.Source, e.Outcome, e.Text)
		}
		if wanted == from.Unmapped && !strings.Contains(e.Text, "cloudflare.zerotrust.AccessServiceToken") {
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

// edgeDistribution is a distribution with a bucket behind it. No provider wrote it: the attributes are those of the documentation of
// hashicorp/aws 5. more are further attributes.
func edgeDistribution(more, behavior string) string {
	return managed("aws_cloudfront_distribution", "site", `{"id": "E2QWRUHAPOMQZL", "arn": "arn:aws:cloudfront::123456789012:distribution/E2QWRUHAPOMQZL",
		"domain_name": "d1.cloudfront.net", "hosted_zone_id": "Z2FDTNDATAQYW2", "enabled": true, "is_ipv6_enabled": true, "comment": "the site", "aliases": ["shop.example"],
		"default_root_object": "index.html", "price_class": "PriceClass_100", "http_version": "http2", "caller_reference": "x", "etag": "E1", "status": "Deployed",
		"wait_for_deployment": true, "retain_on_delete": false, "staging": false, "web_acl_id": "", "logging_config": [], "origin_group": [], "tags_all": {"team": "a"},
		"restrictions": [{"geo_restriction": [{"locations": [], "restriction_type": "none"}]}], "trusted_signers": [{"enabled": false, "items": []}],
		"viewer_certificate": [{"acm_certificate_arn": "arn:aws:acm:us-east-1:123456789012:certificate/c-1", "cloudfront_default_certificate": false, "iam_certificate_id": "",
			"minimum_protocol_version": "TLSv1.2_2021", "ssl_support_method": "sni-only"}],
		"origin": [{"origin_id": "site", "domain_name": "site.s3.eu-north-1.amazonaws.com", "origin_path": "", "origin_access_control_id": "E327GJI25M56DG", "connection_attempts": 3,
			"connection_timeout": 10, "custom_header": [], "custom_origin_config": [], "s3_origin_config": [], "origin_shield": [], "vpc_origin_config": []}],
		"default_cache_behavior": [{"target_origin_id": "site", "viewer_protocol_policy": "redirect-to-https", "allowed_methods": ["HEAD", "GET"], "cached_methods": ["HEAD", "GET"],
			"compress": true, "cache_policy_id": "658327ea-f89d-4fab-a63d-7e88639e58f6", "origin_request_policy_id": "", "min_ttl": 0, "max_ttl": 0, "default_ttl": 0,
			"forwarded_values": [], "function_association": [], "lambda_function_association": [], "grpc_config": [{"enabled": false}]`+behavior+`}],
		"ordered_cache_behavior": [], "custom_error_response": [{"error_code": 404, "response_code": 200, "response_page_path": "/index.html", "error_caching_min_ttl": 30}]`+more+`}`)
}

// TestEdgeKinds maps distributions, origin access controls, certificates and keys to kinds of their own, and those with what these do
// not have to the types of the registry.
func TestEdgeKinds(t *testing.T) {
	stack := func(resources ...string) (from.Stack, string) {
		return stackOf(t, "shop.tfstate", []byte(`{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [`+strings.Join(resources, ",")+`]}`), from.Options{Name: "shop"})
	}
	const alias = `{"id": "alias/shop", "name": "alias/shop", "arn": "arn:aws:kms:us-east-1:123456789012:alias/shop", "target_key_id": "k-1", "target_key_arn": "arn:aws:kms:us-east-1:123456789012:key/k-1"}`
	s, text := stack(edgeDistribution("", ""),
		managed("aws_cloudfront_origin_access_control", "site", `{"id": "E327GJI25M56DG", "name": "site", "description": "Managed by Terraform", "origin_access_control_origin_type": "s3",
			"signing_behavior": "always", "signing_protocol": "sigv4", "etag": "E1"}`),
		managed("aws_acm_certificate", "site", `{"id": "arn:aws:acm:us-east-1:123456789012:certificate/c-1", "arn": "arn:aws:acm:us-east-1:123456789012:certificate/c-1", "domain_name": "shop.example",
			"subject_alternative_names": ["shop.example", "www.shop.example"], "validation_method": "DNS", "key_algorithm": "RSA_2048", "type": "AMAZON_ISSUED", "status": "ISSUED",
			"domain_validation_options": [{"domain_name": "shop.example"}], "certificate_authority_arn": "", "tags_all": {}}`),
		managed("aws_acm_certificate_validation", "site", `{"id": "2026-01-01", "certificate_arn": "arn:aws:acm:us-east-1:123456789012:certificate/c-1"}`),
		managed("aws_kms_key", "shop", `{"id": "k-1", "key_id": "k-1", "arn": "arn:aws:kms:us-east-1:123456789012:key/k-1", "description": "of the shop", "enable_key_rotation": true, "rotation_period_in_days": 90,
			"deletion_window_in_days": 14, "is_enabled": true, "key_usage": "ENCRYPT_DECRYPT", "customer_master_key_spec": "SYMMETRIC_DEFAULT", "multi_region": false, "custom_key_store_id": "",
			"policy": "{\"Version\":\"2012-10-17\",\"Statement\":[]}"}`),
		managed("aws_kms_alias", "shop", alias),
	)
	for _, want := range []string{
		"kind: aws.cloudfront.Distribution", "certificate: ${acm_certificate-site.arn}", "accessControl: ${cloudfront_origin_access_control-site.id}", "s3: true", "status: 200", "cacheFor: 30s",
		"team: a", "priceClass: PriceClass_100", "kind: aws.cloudfront.OriginAccessControl", "kind: aws.acm.Certificate", "domain: shop.example", "- www.shop.example",
		"kind: aws.kms.Key", "- alias/shop", "rotationPeriod: 90d", "deletionWindow: 14d", "adopt: arn:aws:kms:us-east-1:123456789012:key/k-1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if got := outcomes(s); strings.Contains(text, "AWS::") || got["aws_kms_alias.shop"] != from.Folded || got["aws_acm_certificate_validation.site"] != from.Needless {
		t.Errorf("%v", got)
	}
	if t.Failed() {
		t.Log(text)
	}
	_, text = stack(managed("aws_kms_alias", "shop", alias))
	if !strings.Contains(text, "AWS::KMS::Alias") {
		t.Errorf("an alias of a key that is not there is lost:\n%s", text)
	}
}

// TestEdgeNeedsTheRegistry leaves distributions with what the kind of their own does not have to the type of the registry, which has all.
func TestEdgeNeedsTheRegistry(t *testing.T) {
	find := kindsOf(t)
	for name, more := range map[string][2]string{
		"firewall":  {`, "web_acl_id": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/x/y"`, ""},
		"countries": {`, "restrictions": [{"geo_restriction": [{"locations": ["SE"], "restriction_type": "whitelist"}]}]`, ""},
		"forwarded": {"", `, "cache_policy_id": "", "forwarded_values": [{"query_string": false, "cookies": [{"forward": "none"}]}]`},
		"lambda":    {"", `, "lambda_function_association": [{"event_type": "origin-request", "lambda_arn": "arn:aws:lambda:us-east-1:123456789012:function:f:1"}]`},
	} {
		st, err := parse([]byte(`{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [`+edgeDistribution(more[0], more[1])+`]}`), "")
		if err != nil {
			t.Fatal(err)
		}
		d := &draft{state: st, find: find, kinds: map[string]*kindFacts{}}
		o := &object{inst: st.instances[0], kind: "AWS::CloudFront::Distribution", props: map[string]any{}}
		if plainDistribution(d, o, st.instances[0]) {
			t.Errorf("%s is lost: %v", name, o.props)
		}
	}
}

// TestClusters maps clusters of ECS to a kind of their own, and those with what it does not have to the type of the registry.
func TestClusters(t *testing.T) {
	const arn = "arn:aws:ecs:eu-north-1:123456789012:cluster/"
	cluster := func(name, more string) string {
		return managed("aws_ecs_cluster", name, `{"id": "`+arn+name+`", "arn": "`+arn+name+`", "name": "`+name+`", "tags_all": {"team": "a"}, "setting": [{"name": "containerInsights", "value": "enhanced"}]`+more+`}`)
	}
	const file = `{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": {}, "resources": [`
	for name, c := range map[string]struct {
		resources []string
		want, not string
	}{
		"plain":                  {[]string{cluster("shop", "")}, "kind: aws.ecs.Cluster containerInsights: enhanced name: shop team: a adopt: shop", "AWS::"},
		"no insights":            {[]string{managed("aws_ecs_cluster", "shop", `{"id": "`+arn+`shop", "arn": "`+arn+`shop", "name": "shop", "setting": [{"name": "containerInsights", "value": "disabled"}]}`)}, "kind: aws.ecs.Cluster", "containerInsights"},
		"commands":               {[]string{cluster("shop", `, "configuration": [{"execute_command_configuration": []}]`)}, "kind: AWS::ECS::Cluster", "aws.ecs"},
		"providers, by an older": {[]string{cluster("shop", `, "capacity_providers": ["FARGATE"]`)}, "kind: AWS::ECS::Cluster", "aws.ecs"},
		"providers, by a part":   {[]string{cluster("shop", ""), managed("aws_ecs_cluster_capacity_providers", "shop", `{"id": "shop", "cluster_name": "shop", "capacity_providers": ["FARGATE_SPOT"]}`)}, "kind: AWS::ECS::Cluster FARGATE_SPOT ClusterSettings", "aws.ecs"},
	} {
		_, text := stackOf(t, "shop.tfstate", []byte(file+strings.Join(c.resources, ",")+`]}`), from.Options{Name: "shop"})
		words := strings.Fields(c.want)
		for i := 0; i < len(words); i++ {
			want := words[i]
			if strings.HasSuffix(want, ":") && i+1 < len(words) {
				i++
				want += " " + words[i]
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q is in\n%s", name, c.not, text)
		}
	}
}
