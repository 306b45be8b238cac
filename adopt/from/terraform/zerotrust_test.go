package terraform

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// TestMostUsedTypesAreMapped holds the table to the types that are met most: the first 90 of AWS and the first 30 of Cloudflare of a
// count of 210 states and 258 repositories that are public. Each is mapped, folds, or has no object.
func TestMostUsedTypesAreMapped(t *testing.T) {
	lines, err := table()
	if err != nil {
		t.Fatal(err)
	}
	for provider, c := range map[string]struct {
		least int
		names string
	}{
		"aws": {90, `iam_role iam_role_policy_attachment s3_bucket security_group lambda_function iam_policy vpc subnet internet_gateway route_table dynamodb_table
			route_table_association lambda_permission instance cloudwatch_log_group ecs_cluster lb_target_group lb_listener ecs_task_definition iam_role_policy lb
			ecs_service s3_bucket_policy eip ecr_repository cloudfront_distribution api_gateway_rest_api s3_bucket_public_access_block api_gateway_method
			api_gateway_integration api_gateway_resource db_instance nat_gateway s3_bucket_versioning api_gateway_deployment iam_instance_profile db_subnet_group
			sqs_queue iam_policy_attachment sns_topic route53_record autoscaling_group route sns_topic_subscription key_pair apigatewayv2_api s3_object
			cloudwatch_event_rule cloudwatch_event_target s3_bucket_acl apigatewayv2_route apigatewayv2_integration acm_certificate apigatewayv2_stage
			s3_bucket_website_configuration ssm_parameter lambda_function_url s3_bucket_notification api_gateway_stage
			s3_bucket_server_side_encryption_configuration cloudfront_origin_access_control security_group_rule api_gateway_method_response
			api_gateway_integration_response launch_template iam_openid_connect_provider secretsmanager_secret eks_cluster lambda_event_source_mapping
			lb_target_group_attachment launch_configuration acm_certificate_validation cloudwatch_metric_alarm s3_bucket_cors_configuration route53_zone
			dynamodb_table_item s3_bucket_ownership_controls secretsmanager_secret_version s3_bucket_lifecycle_configuration cognito_user_pool
			cognito_user_pool_client kms_key iam_user eks_node_group glue_catalog_database lb_listener_rule s3_bucket_object glue_catalog_table vpc_endpoint
			autoscaling_policy`},
		"cloudflare": {30, `record dns_record zone_settings_override ruleset zone zero_trust_tunnel_cloudflared workers_script zero_trust_access_application
			pages_project zero_trust_tunnel_cloudflared_config r2_bucket workers_route page_rule zero_trust_access_group pages_domain
			zero_trust_tunnel_cloudflared_route zero_trust_access_policy zero_trust_access_identity_provider api_token zero_trust_gateway_policy tunnel
			zone_setting worker_route email_routing_rule tunnel_config zero_trust_access_short_lived_certificate zero_trust_access_service_token account
			email_routing_address worker_script`},
	} {
		names := strings.Fields(c.names)
		if len(names) != c.least {
			t.Errorf("%d types of %s", len(names), provider)
		}
		for _, name := range names {
			typ := provider + "_" + name
			if line := lines[typ]; line == nil || line.noKind {
				t.Errorf("%s is not mapped", typ)
			}
		}
	}
}

// TestRealZeroTrust reads what the real provider of Cloudflare wrote of Zero Trust, of Pages and of rules: cmd/athanor's
// TestRealCloudflareZeroTrust makes it.
func TestRealZeroTrust(t *testing.T) {
	s, text := stackOf(t, "zerotrust.tfstate", made(t, "zerotrust.tfstate"), from.Options{})
	for _, e := range s.Entries {
		if e.Outcome != from.Mapped {
			t.Errorf("%s: %s: %s", e.Source, e.Outcome, e.Text)
		}
	}
	if len(s.Entries) != 15 || strings.Contains(text, "very-secret") || strings.Contains(text, "null") {
		t.Errorf("%d entries\n%s", len(s.Entries), text)
	}
	for _, want := range []string{
		"- everyone: {}", "github-organization:", "connectTimeout: 30", "- id: always_use_https", "precedence: 1", "client_secret: ${secret.githubClientSecret}",
		"kind: cloudflare.Ruleset", "ref: the_old_site", "kind: cloudflare.zerotrust.AccessApplicationCA", "kind: cloudflare.UserToken", "kind: cloudflare.zerotrust.AccessServiceToken",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// TestOldZeroTrust reads states of version 4 of the provider of Cloudflare, which has other shapes than the API. No provider wrote them: the
// attributes are those of the schemas of that version, in internal/sdkv2provider of its repository.
func TestOldZeroTrust(t *testing.T) {
	const origin = `{"connect_timeout": "1m30s", "tls_timeout": "10s", "tcp_keep_alive": "30s", "keep_alive_timeout": "1m30s", "keep_alive_connections": 100, "no_tls_verify": true,
		"http_host_header": "wiki", "proxy_type": "", "bastion_mode": false, "ip_rules": [], "access": [{"required": true, "team_name": "team", "aud_tag": ["a-1"]}]}`
	state := `{"version": 4, "terraform_version": "1.5.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` + strings.Join([]string{
		managed("cloudflare_access_group", "staff", `{"id": "g-0123456789", "account_id": "0123456789abcdef0123456789abcdef", "zone_id": null, "name": "staff", "exclude": [],
			"include": [{"email": ["a@shop.example", "b@shop.example"], "email_domain": [], "everyone": false, "certificate": true, "common_name": "", "geo": ["SE"],
			"service_token": ["s-1"], "login_method": null, "github": [{"name": "athanor", "teams": ["core", "docs"], "identity_provider_id": "i-1"}],
			"okta": [{"name": ["staff"], "identity_provider_id": "i-2"}], "saml": [{"attribute_name": "n", "attribute_value": "v", "identity_provider_id": "i-4"}]}],
			"require": [{"azure": [{"id": ["z-1"], "identity_provider_id": "i-3"}], "auth_method": "hwk"}]}`),
		managed("cloudflare_access_policy", "own", `{"id": "p-1", "application_id": "w-1", "name": "own", "decision": "allow", "include": [{"everyone": true}]}`),
		managed("cloudflare_access_policy", "shared", `{"id": "p-0123456789", "application_id": null, "account_id": "0123456789abcdef0123456789abcdef", "name": "shared", "decision": "allow",
			"include": [{"group": ["g-0123456789"]}], "approval_group": [{"approvals_needed": 2, "email_addresses": ["a@shop.example"], "email_list_uuid": ""}]}`),
		managed("cloudflare_access_application", "wiki", `{"id": "w-1", "zone_id": "z-9", "name": "wiki", "domain": "wiki.shop.example", "type": "self_hosted", "aud": "x", "policies": ["p-0123456789", "p-3"],
			"cors_headers": [{"allow_all_origins": true, "max_age": 0, "allowed_methods": ["GET"]}], "saas_app": [],
			"target_criteria": [{"port": 22, "protocol": "SSH", "target_attributes": [{"name": "hostname", "values": ["a", "b"]}]}]}`),
		managed("cloudflare_tunnel_config", "office", `{"id": "t-1", "tunnel_id": "t-1", "account_id": "0123456789abcdef0123456789abcdef", "config": [{"warp_routing": [{"enabled": false}],
			"origin_request": [], "ingress_rule": [{"hostname": "wiki.shop.example", "path": "", "service": "http://localhost:8080", "origin_request": [`+origin+`]},
			{"hostname": "", "path": "", "service": "http_status:404", "origin_request": []}]}]}`),
		managed("cloudflare_page_rule", "old", `{"id": "r-1", "zone_id": "z-9", "target": "old.shop.example/*", "priority": 2, "status": "active", "actions": [{"always_use_https": false,
			"disable_apps": true, "browser_cache_ttl": "0", "edge_cache_ttl": 7200, "cache_level": "", "forwarding_url": [{"url": "https://shop.example/$1", "status_code": 301}], "minify": [],
			"cache_ttl_by_status": [{"codes": "200-299", "ttl": 300}, {"codes": "404", "ttl": 1}],
			"cache_key_fields": [{"cookie": [{"check_presence": ["c"], "include": []}], "header": [], "host": [{"resolved": true}], "query_string": [{"exclude": [], "include": [], "ignore": true}], "user": []}]}]}`),
		managed("cloudflare_pages_project", "site", `{"id": "site", "account_id": "0123456789abcdef0123456789abcdef", "name": "site", "production_branch": "main", "subdomain": "site.pages.dev", "domains": [],
			"build_config": [{"build_command": "make", "destination_dir": "public", "root_dir": "", "web_analytics_tag": "", "web_analytics_token": ""}],
			"source": [{"type": "github", "config": [{"owner": "athanor", "repo_name": "site", "production_branch": "main", "production_deployment_enabled": true, "pr_comments_enabled": true}]}],
			"deployment_configs": [{"preview": [], "production": [{"environment_variables": {"LEVEL": "debug"}, "secrets": {"TOKEN": "pages-very-secret-1"}, "kv_namespaces": {"KV": "n-1"},
			"d1_databases": {"DB": "d-1"}, "r2_buckets": {"FILES": "files"}, "durable_object_namespaces": {}, "service_binding": [{"name": "API", "service": "api", "environment": "production"}],
			"compatibility_date": "2024-01-01", "compatibility_flags": [], "fail_open": false, "placement": [{"mode": "smart"}], "usage_model": "bundled"}]}]}`),
		managed("cloudflare_pages_domain", "site", `{"id": "d-1", "account_id": "0123456789abcdef0123456789abcdef", "project_name": "site", "domain": "www.shop.example", "status": "active"}`),
		managed("cloudflare_teams_rule", "bad", `{"id": "b-1", "account_id": "0123456789abcdef0123456789abcdef", "name": "bad", "description": "d", "precedence": 10, "enabled": true, "action": "isolate",
			"filters": ["http"], "traffic": "any(x)", "version": 3, "rule_settings": [{"block_page_enabled": false, "block_page_reason": "because", "add_headers": {}, "override_ips": null,
			"biso_admin_controls": [{"version": "v1", "disable_printing": true, "disable_copy_paste": true, "disable_download": false, "disable_keyboard": false, "disable_upload": false}],
			"notification_settings": [{"enabled": true, "message": "no", "support_url": "https://shop.example"}], "check_session": [{"enforce": true, "duration": "5m0s"}]}]}`),
		managed("cloudflare_access_identity_provider", "github", `{"id": "i-1", "account_id": "0123456789abcdef0123456789abcdef", "name": "GitHub", "type": "github",
			"config": [{"client_id": "c-1", "client_secret": "idp-very-secret-1", "redirect_url": "https://x.example/callback", "idp_public_cert": "", "claims": []}], "scim_config": []}`),
		managed("cloudflare_device_settings_policy", "all", `{"id": "0123456789abcdef0123456789abcdef", "account_id": "0123456789abcdef0123456789abcdef", "default": true}`),
		managed("cloudflare_device_settings_policy", "some", `{"id": "0123456789abcdef0123456789abcdef/f-1", "account_id": "0123456789abcdef0123456789abcdef", "default": false, "name": "some", "match": "any(y)",
			"precedence": 5, "service_mode_v2_mode": "proxy", "service_mode_v2_port": 3128, "enabled": true}`),
		managed("cloudflare_hyperdrive_config", "db", `{"id": "h-1", "account_id": "0123456789abcdef0123456789abcdef", "name": "db", "origin": {"database": "shop", "host": "db.shop.example", "port": 5432,
			"scheme": "postgres", "user": "app", "password": "db-very-secret-2", "access_client_id": null}, "caching": {"disabled": false, "max_age": 60, "stale_while_revalidate": 15}}`),
		managed("cloudflare_zone_dnssec", "zone", `{"id": "z-9", "zone_id": "z-9", "status": "pending", "ds": "x", "flags": 257}`),
	}, ",") + `]}`
	s, text := stackOf(t, "shop.tfstate", []byte(state), from.Options{Name: "shop"})
	for _, want := range []string{
		"email: b@shop.example", "- certificate: {}", "country_code: SE", "token_id: s-1", "team: docs", "- okta:", "name: staff", "attribute_value: v", "- azureAD:", "auth_method: hwk",
		"approvals_needed: 2", "id: ${staff.id}", "- id: ${shared.id}", "precedence: 2", "allow_all_origins: true", "hostname:", "zone: z-9",
		"connectTimeout: 90", "keepAliveTimeout: 90", "tlsTimeout: 10", "noTLSVerify: true", "audTag:", "- service: http_status:404",
		"- id: disable_apps\n", "- id: browser_cache_ttl\n          value: 0\n", "- id: edge_cache_ttl\n          value: 7200\n", "url: https://shop.example/$1", "200-299: 300", "\"404\": 1", "exclude: '*'", "resolved: true",
		"type: plain_text", "type: secret_text", "namespace_id: n-1", "service: api", "production_deployments_enabled: true", "mode: smart",
		"adopt: site/www.shop.example", "name: www.shop.example", "block_reason: because", "dp: true", "dcp: true", "msg: \"no\"", "duration: 5m0s",
		"client_secret: ${secret.githubClientSecret}", "adopt: f-1", "port: 3128", "password: ${secret.dbPassword}", "maxAge: 1m", "status: active",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, "very-secret") || strings.Contains(text, "null") {
		t.Error("a secret or a null is in it")
	}
	for _, e := range s.Entries {
		wanted := from.Mapped
		if e.Source == "cloudflare_access_policy.own" || e.Source == "cloudflare_device_settings_policy.all" {
			wanted = from.Unmapped
		}
		if e.Outcome != wanted {
			t.Errorf("%s: %s: %s", e.Source, e.Outcome, e.Text)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
