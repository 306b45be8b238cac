//go:build peers

package cloudflaretest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// only bounds the test to single types, for who adds one: -args -only=zone_hold,tiered_cache.
var only = flag.String("only", "", "judge these types of the provider alone, and what they refer to (names without the prefix, with commas)")

// bounded are the types of the flag -only, with the provider's prefix.
func bounded() (all []string) {
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" {
			all = append(all, "cloudflare_"+name)
		}
	}
	return all
}

// expected are the entries of a table for the types that the test judges.
func expected(table map[string][]string) map[string][]string {
	wanted := maps.Clone(table)
	if types := bounded(); len(types) > 0 {
		maps.DeleteFunc(wanted, func(name string, _ []string) bool { return !slices.Contains(types, name) })
	}
	return wanted
}

// terraform is a project of OpenTofu with the real Terraform provider of Cloudflare, both of which nobody here wrote.
type terraform struct {
	t   *testing.T
	s   *cloudflaretest.Server
	dir string
	// zone is the id of the zone of the test.
	zone string
	env  []string
}

// newTerraform lays the project out. The provider is taken as it lies in $ATHANOR_PEERS: nothing is downloaded.
func newTerraform(t *testing.T) *terraform {
	t.Helper()
	peers := os.Getenv("ATHANOR_PEERS")
	if _, err := os.Stat(filepath.Join(peers, "terraform-provider-cloudflare")); peers == "" || err != nil {
		t.Fatalf("$ATHANOR_PEERS has no terraform-provider-cloudflare: %v", err)
	}
	p := &terraform{t: t, s: cloudflaretest.Start(t), dir: t.TempDir()}
	p.zone = p.s.AddZone(p.s.Account, "shop.example")
	p.s.WithDatabases(t)
	p.s.Sparse()
	config := fmt.Sprintf("provider_installation {\n  dev_overrides { \"cloudflare/cloudflare\" = %q }\n}\n", peers)
	if err := os.WriteFile(filepath.Join(p.dir, "rc"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.dir, os.DirFS("testdata/terraform")); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(p.dir, "rc"), "TF_VAR_account="+p.s.Account,
		"TF_VAR_zone="+p.zone, "TF_VAR_base="+p.s.URL, "HOME="+p.dir, "CHECKPOINT_DISABLE=1")
	for name, value := range p.s.Env() {
		p.env = append(p.env, name+"="+value)
	}
	return p
}

// run runs a command, and gives what it prints. It fails the test when it takes longer than two minutes: a client that repeats
// what is refused does so for ever.
func (p *terraform) run(edited bool, args ...string) (out []byte, err error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	if slices.Contains([]string{"plan", "apply", "destroy"}, args[0]) {
		for _, typ := range bounded() {
			args = append(args, "-target="+typ+".it")
		}
	}
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("ATHANOR_TOFU"), "tofu"), args...)
	cmd.Dir, cmd.Env = p.dir, append(p.env, fmt.Sprintf("TF_VAR_edited=%t", edited))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err = cmd.Output()
	if ctx.Err() != nil {
		p.t.Fatalf("tofu %s takes longer than two minutes\n%s%s", strings.Join(args, " "), out, said.String())
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, said.String())
	}
	return out, err
}

// planned is what OpenTofu says of a plan, or of a state.
type planned struct {
	Changes []struct {
		Type   string
		Change struct {
			Actions       []string
			Before, After map[string]any
			Unknown       map[string]any `json:"after_unknown"`
		}
	} `json:"resource_changes"`
	Prior struct {
		Values values
	} `json:"prior_state"`
	Configuration struct {
		Root struct {
			Resources []struct {
				Type        string
				Expressions map[string]any
			}
		} `json:"root_module"`
	}
}

type values struct {
	Root struct {
		Resources []made
	} `json:"root_module"`
}

// made is what the provider has made, with all attributes.
type made struct {
	Type   string
	Values map[string]any
}

// plan plans, and fails the test when that fails.
func (p *terraform) plan(edited bool) (plan planned) {
	p.t.Helper()
	if out, err := p.run(edited, "plan", "-no-color", "-out=plan", "-input=false"); err != nil {
		p.t.Fatalf("plan: %v\n%s", err, out)
	}
	out, err := p.run(edited, "show", "-json", "plan")
	if err == nil {
		err = json.Unmarshal(out, &plan)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

// declared are the attributes that the configuration declares, by type.
func (p planned) declared() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, r := range p.Configuration.Root.Resources {
		all[r.Type] = r.Expressions
	}
	return all
}

// differences are the attributes, by type, that a plan would change.
func (p planned) differences() map[string][]string {
	all := map[string][]string{}
	for _, c := range p.Changes {
		if slices.Equal(c.Change.Actions, []string{"no-op"}) {
			continue
		}
		names := []string{}
		for name, after := range c.Change.After {
			if fmt.Sprint(after) != fmt.Sprint(c.Change.Before[name]) {
				names = append(names, name)
			}
		}
		known := len(names) > 0
		for name, unknown := range c.Change.Unknown {
			if unknown == true && !known { // else they follow from the others
				names = append(names, name)
			}
		}
		slices.Sort(names)
		all[c.Type] = names
	}
	return all
}

// own are differences that the provider shows of its own.
var own = map[string][]string{
	"cloudflare_hyperdrive_config": {"caching"}, // https://github.com/cloudflare/terraform-provider-cloudflare/issues/6650
	// Without schedules this server answers an empty list, and the provider wants null. It is not known what Cloudflare answers.
	"cloudflare_workflow": {"schedules"},
	// The provider sends where a rule comes from, which no answer is described to have.
	"cloudflare_email_routing_catch_all": {"source"}, "cloudflare_email_routing_rule": {"source"},
	// Answers are described to have these always, and the provider wants none where none is declared.
	"cloudflare_keyless_certificate":     {"enabled"},
	"cloudflare_zero_trust_dlp_settings": {"payload_logging"},
	// The provider does not know worker_binding after an apply either, where none is declared, and plans to read all the rest again.
	"cloudflare_pipeline_stream": {"created_at", "endpoint", "modified_at", "version", "worker_binding"},
}

// ownImported are differences inside of what is declared that the provider shows of what it imports: defaults of its own, what no answer is described
// to have, and secrets.
var ownImported = map[string][]string{
	"cloudflare_load_balancer_monitor_group": {"members"}, "cloudflare_load_balancer_pool": {"origins"}, "cloudflare_snippet_rules": {"rules"},
	"cloudflare_magic_transit_connector": {"device"}, "cloudflare_pipeline_sink": {"config"}, "cloudflare_web_analytics_site": {"host"}, "cloudflare_workers_for_platforms_dispatch_namespace": {"name"}, "cloudflare_zero_trust_dlp_custom_profile": {"entries"},
	"cloudflare_zone_hold": {"include_subdomains"}, // true is answered, and the provider does not read it
}

// notImported are types that the provider imports no object of, with the reason.
var notImported = map[string]string{
	"content_scanning": noImport, "r2_bucket_lock": noImport, "schema_validation_settings": noImport, "stream_webhook": noImport,
	"ai_search_namespace": noImport, "zero_trust_device_settings": noImport,
	"magic_network_monitoring_configuration": noImport, "account_dns_settings": noImport, "zone_dns_settings": noImport,
	"schema_validation_operation_settings": noImport, "flagship_flag": noImport, "r2_bucket_sippy": noImport,
	"zero_trust_device_default_profile_certificates": noImport, "zero_trust_risk_behavior": noImport,
	"zero_trust_access_mtls_hostname_settings":      "the provider takes every id for one of a zone",
	"certificate_authorities_hostname_associations": "the provider refuses ids of every form that was tried, and says of none what it is",
	"list": "an import reads the items, which this server does not have",
}

const noImport = "the provider has no import of them"

// TestTerraformProvider: the real provider applies, finds nothing to do, updates, finds nothing to do, and destroys one resource of
// each type, against this server. What it made of the types that athanor has by the generic kind athanor adopts in between; what athanor then creates of
// them the provider imports.
func TestTerraformProvider(t *testing.T) {
	p := newTerraform(t)
	var objects []common
	for _, edited := range []bool{false, true} {
		if out, err := p.run(edited, "apply", "-no-color", "-auto-approve", "-input=false"); err != nil {
			t.Errorf("apply, edited %t: %v\n%s", edited, err, out)
		}
		plan := p.plan(edited)
		if have, want := plan.differences(), expected(own); !maps.EqualFunc(have, want, slices.Equal) {
			t.Errorf("after apply, edited %t, a plan would change %v, want %v", edited, have, want)
		}
		if edited {
			if objects = p.commons(plan); *only == "" && len(objects) != len(generics) {
				t.Errorf("%d types are of both, and the configuration has %d of them", len(generics), len(objects))
			}
			p.adopts(objects)
		}
	}
	if out, err := p.run(true, "destroy", "-no-color", "-auto-approve", "-input=false"); err != nil {
		t.Errorf("destroy: %v\n%s", err, out)
	}
	for _, path := range []string{"/workers/scripts", "/storage/kv/namespaces", "/queues", "/d1/database", "/hyperdrive/configs", "/workflows", "/workers/domains"} {
		if left, _ := p.s.Do(t, "GET", "/accounts/"+p.s.Account+path, nil).([]any); len(left) > 0 {
			t.Errorf("%s: %d objects are left", path, len(left))
		}
	}
	if have, want := p.imports(p.creates(objects)), expected(ownImported); !maps.EqualFunc(have, want, slices.Equal) {
		t.Errorf("of what athanor has created a plan would change %v, want %v", have, want)
	}
}

// common is an object of a type that both the provider and athanor have.
type common struct {
	// resource is the provider's type, without its prefix, and id what the object is called by.
	resource, id string
	kind         reconcile.Any
	typ          *schema.Type
	// props are those of the configuration, and by is what the provider imports it by, "" where it imports none.
	props, by string
}

// commons are the objects that the provider has made of types that athanor has by the generic kind, declared as the configuration declares them.
func (p *terraform) commons(plan planned) (all []common) {
	p.t.Helper()
	declared := plan.declared()
	for _, r := range plan.Prior.Values.Root.Resources {
		c := common{resource: strings.TrimPrefix(r.Type, "cloudflare_")}
		name := generics[c.resource]
		if name == "" {
			continue
		}
		var err error
		if c.typ, err = schema.Lookup(schema.Prefix + name); err != nil {
			p.t.Fatal(err)
		}
		if c.kind, err = generic.Kind(c.typ.Name); err != nil {
			p.t.Fatal(err)
		}
		props := map[string]any{}
		for attribute := range declared[r.Type] {
			if prop := propOf(c.typ.Root, attribute); prop != "" {
				props[prop] = shaped(c.typ.Root.Properties[prop], r.Values[attribute])
			}
		}
		for _, parent := range c.typ.Parents() {
			if v := r.Values[parent]; v != nil {
				props[parent] = v
			}
		}
		if zone := r.Values["zone_id"]; zone != nil {
			props[schema.Zone] = zone
		}
		text, err := json.Marshal(props)
		if err != nil {
			p.t.Fatal(err)
		}
		c.props = string(text)
		attributes := []string{c.typ.ID, "id"}
		if c.typ.Shape == schema.Setting {
			attributes = slices.DeleteFunc(append(c.typ.Parents(), "zone_id"), func(name string) bool { return name == schema.Zone })
		}
		if c.typ.Shape == schema.Setting && c.typ.ZoneOptional() && r.Values["zone_id"] == nil && len(c.typ.Parents()) == 1 {
			_, c.id, _ = strings.Cut(c.typ.Path, "}/")
		}
		for _, attribute := range append(attributes, "account_id") {
			if id := r.Values[attribute]; id != nil && c.id == "" {
				c.id = fmt.Sprint(id)
			}
		}
		all = append(all, c)
	}
	return all
}

// declaring is athanor's resource for the object.
func (c common) declaring(t *testing.T, s *cloudflaretest.Server) *reconcile.Job {
	t.Helper()
	props, err := tree.Decode([]byte(c.props))
	if err != nil {
		t.Fatal(err)
	}
	job := s.Job(t, c.kind, props.(map[string]any), nil)
	job.Digest = func(_ string, value []byte) string { return string(value) }
	return job
}

// adopts has athanor read each object by its identity: there is no difference.
func (p *terraform) adopts(objects []common) {
	for _, c := range objects {
		p.t.Run("adopt "+c.resource, func(t *testing.T) {
			job := c.declaring(t, p.s)
			job.ID = c.id
			look, err := c.kind.Look(t.Context(), job)
			differs := slices.DeleteFunc(look.Steps, func(s reconcile.Step) bool { // ownership, and what nobody is shown
				return s.Path == "mark" || c.typ.WriteOnlyAt(s.Path) || slices.Contains(c.typ.OnceShown, string(s.Path))
			})
			if err != nil || look.Absent || len(differs) > 0 {
				t.Errorf("by %q as %s: absent %t, differs in %v (%v)", job.ID, c.props, look.Absent, differs, err)
			}
		})
	}
}

// creates has athanor create each object, what others refer to first, and gives what the provider imports each by, by its types.
func (p *terraform) creates(objects []common) map[string]common {
	p.t.Helper()
	made, renamed := map[string]common{}, []string{}
	for pending := objects; len(pending) > 0; {
		var later []common
		for _, c := range pending {
			if slices.ContainsFunc(pending, func(other common) bool {
				return other.resource != c.resource && made[other.resource].kind == nil && other.typ.Shape == schema.Collection && strings.Contains(c.props, `"`+other.id+`"`)
			}) {
				later = append(later, c)
				continue
			}
			c.props = strings.NewReplacer(renamed...).Replace(c.props)
			ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute) // a kind that never becomes as declared is named
			out, err := c.kind.Settle(ctx, c.declaring(p.t, p.s), reconcile.Hooks{})
			cancel()
			if err != nil {
				p.t.Errorf("%s is not created as %s: %v", c.resource, c.props, err)
			}
			id, _ := out.Attrs[c.typ.ID].(string)
			if notImported[c.resource] == "" {
				c.by = p.importedBy(c, out.Attrs)
			}
			made[c.resource] = c
			if id != "" && c.typ.Shape == schema.Collection {
				renamed = append(renamed, `"`+c.id+`"`, `"`+id+`"`)
			}
		}
		if len(later) == len(pending) {
			p.t.Fatalf("%d objects refer to each other", len(later))
		}
		pending = later
	}
	return made
}

// imports has the provider import each object, and gives the attributes by type that a plan would change, of those that the configuration declares
// and athanor writes no owner tag into.
func (p *terraform) imports(made map[string]common) map[string][]string {
	p.t.Helper()
	var blocks strings.Builder
	for _, resource := range slices.Sorted(maps.Keys(made)) {
		if by := made[resource].by; by != "" {
			fmt.Fprintf(&blocks, "import {\n  to = cloudflare_%s.it\n  id = %q\n}\n", resource, by)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, "imports.tf"), []byte(blocks.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
	plan := p.plan(true)
	declared := plan.declared()
	all := plan.differences()
	for typ, names := range all {
		c := made[strings.TrimPrefix(typ, "cloudflare_")]
		if c.by == "" { // it is of no type that both have, or is not imported
			delete(all, typ)
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			prop := propOf(c.typ.Root, name)
			return declared[typ][name] == nil || prop == c.typ.Tag || c.typ.WriteOnlyAt(tree.Path("").Key(prop))
		})
		if all[typ] = names; len(names) == 0 {
			delete(all, typ)
		}
	}
	return all
}

// importedBy is what the provider imports an object by: the parts of its path.
func (p *terraform) importedBy(c common, attrs map[string]any) string {
	var parts []string
	switch {
	case c.typ.ZoneOptional() && attrs[schema.ZoneID] == nil:
		parts = append(parts, "accounts", p.s.Account)
	case c.typ.ZoneOptional():
		parts = append(parts, "zones", p.zone)
	case slices.Contains(c.typ.Parents(), schema.Zone):
		parts = append(parts, p.zone)
	default:
		parts = append(parts, p.s.Account)
	}
	if c.resource == "origin_ca_certificate" {
		parts = nil
	}
	for _, name := range append(c.typ.Parents(), c.typ.ID) {
		if part := attrs[name]; part != nil && name != schema.Zone {
			parts = append(parts, fmt.Sprint(part))
		}
	}
	return strings.Join(parts, "/")
}

// otherwise are attributes whose words differ from those of the API.
var otherwise = map[string]string{"cloud_provider": "provider", "element_id": "elementId"}

// propOf is the property of an object that an attribute of the provider is: the same words, however they are joined.
func propOf(n *schema.Node, attribute string) string {
	if n == nil {
		return ""
	}
	if n.Properties[schema.Items] != nil && slices.Contains([]string{"rules", "domains"}, attribute) { // the whole body is a list
		return schema.Items
	}
	attribute = cmp.Or(otherwise[attribute], attribute)
	for prop := range n.Properties {
		if strings.EqualFold(strings.ReplaceAll(prop, "_", ""), strings.ReplaceAll(attribute, "_", "")) {
			return prop
		}
	}
	return ""
}

// shaped is a value of the provider as the API has it: without what is not set, and with the API's names.
func shaped(n *schema.Node, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			if inner == nil {
				continue
			}
			prop := cmp.Or(propOf(n, name), otherwise[name], name)
			out[prop] = shaped(n.Below(prop), inner)
		}
		return out
	case string: // the provider has free objects as text
		var inner map[string]any
		if (n == nil || n.Types != "s") && json.Unmarshal([]byte(v), &inner) == nil {
			return inner
		}
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = shaped(n.Element(), inner)
		}
		return out
	}
	return v
}

// generics are the types of the provider that athanor has by the generic kind, with those of the kind. Those that athanor reads from a state of the
// provider by a rule of its own (docs/from-terraform.md) are tried there.
var generics = map[string]string{
	"load_balancer_monitor": "loadbalancers.Monitor", "load_balancer_pool": "loadbalancers.Pool", "load_balancer": "loadbalancers.LoadBalancer",
	"zero_trust_access_group": "zerotrust.AccessGroup", "zero_trust_access_identity_provider": "zerotrust.AccessIdentityProvider",
	"zero_trust_access_policy": "zerotrust.AccessPolicy", "zero_trust_access_application": "zerotrust.AccessApplication",
	"zero_trust_access_service_token": "zerotrust.AccessServiceToken", "zero_trust_access_tag": "zerotrust.AccessTag",
	"zero_trust_access_custom_page": "zerotrust.AccessCustomPage", "zero_trust_access_infrastructure_target": "zerotrust.AccessInfrastructureTarget",
	"zero_trust_access_mtls_certificate": "zerotrust.AccessCertificate", "zero_trust_tunnel_cloudflared": "zerotrust.Tunnel",
	"zero_trust_tunnel_cloudflared_config": "zerotrust.TunnelConfiguration", "zero_trust_tunnel_cloudflared_virtual_network": "zerotrust.VirtualNetwork",
	"zero_trust_tunnel_cloudflared_route": "zerotrust.TunnelRoute", "zero_trust_network_hostname_route": "zerotrust.HostnameRoute",
	"zero_trust_tunnel_warp_connector": "zerotrust.WarpConnector", "zero_trust_gateway_policy": "zerotrust.GatewayRule", "zero_trust_list": "zerotrust.GatewayList",
	"zero_trust_dns_location": "zerotrust.GatewayLocation", "zero_trust_gateway_proxy_endpoint": "zerotrust.GatewayProxyEndpoint",
	"zero_trust_device_managed_networks": "zerotrust.DeviceNetwork", "zero_trust_device_posture_rule": "zerotrust.DevicePosture",
	"zero_trust_device_custom_profile": "zerotrust.DevicePolicyCustom", "zero_trust_dex_test": "zerotrust.DeviceDexTest",
	"zero_trust_dlp_custom_profile": "zerotrust.DlpProfileCustom", "zone_dnssec": "dns.Dnssec", "zone_lockdown": "firewall.Lockdown",
	"email_routing_address": "emailrouting.Address", "email_routing_rule": "emailrouting.Rule", "email_routing_catch_all": "emailrouting.RuleCatchAll",
	"access_rule": "firewall.AccessRule", "user_agent_blocking_rule": "firewall.UaRule", "healthcheck": "healthchecks.Healthcheck",
	"custom_hostname": "customhostnames.Hostname", "custom_hostname_fallback_origin": "customhostnames.FallbackOrigin",
	"regional_hostname": "addressing.RegionalHostname", "spectrum_application": "spectrum.App", "waiting_room": "waitingrooms.WaitingRoom",
	"waiting_room_event": "waitingrooms.Event", "waiting_room_settings": "waitingrooms.Setting", "web3_hostname": "web3.Hostname",
	"page_shield_policy": "pageshield.Policy", "argo_smart_routing": "argo.SmartRouting", "argo_tiered_caching": "argo.TieredCaching",
	"regional_tiered_cache": "cache.RegionalTieredCache", "zone_cache_reserve": "cache.CacheReserve",
	"url_normalization_settings": "urlnormalization.Settings", "bot_management": "botmanagement.Settings",
	"leaked_credential_check_rule": "leakedcredentialchecks.Detection",
	"mtls_certificate":             "mtlscertificates.Certificate", "custom_ssl": "customcertificates.Certificate",
	"keyless_certificate": "keylesscertificates.Certificate", "client_certificate": "clientcertificates.Certificate",
	"workers_for_platforms_dispatch_namespace": "workersforplatforms.DispatchNamespace", "pages_project": "pages.Project", "pages_domain": "pages.ProjectDomain",
	"turnstile_widget": "turnstile.Widget", "list": "rules.List", "r2_bucket_lock": "r2.BucketLock",
	"stream_webhook": "stream.Webhook",
	"ai_gateway":     "aigateway.Gateway", "notification_policy_webhooks": "alerting.DestinationWebhook", "notification_policy": "alerting.Policy",
	"logpush_job": "logpush.Job", "web_analytics_site": "rum.Site", "magic_transit_site": "magictransit.Site", "magic_wan_gre_tunnel": "magictransit.GreTunnel",
	"magic_wan_static_route": "magictransit.Route", "address_map": "addressing.AddressMap", "account_dns_settings_internal_view": "dns.View",
	"connectivity_directory_service": "connectivity.DirectoryService", "dns_zone_transfers_acl": "dns.ZoneTransferAcl", "dns_zone_transfers_peer": "dns.ZoneTransferPeer",
	"dns_zone_transfers_tsig": "dns.ZoneTransferTsig", "dns_firewall": "dnsfirewall.Cluster", "zone_cache_variants": "cache.Variant",
	"origin_ca_certificate": "origincacertificates.Certificate", "authenticated_origin_pulls_certificate": "origintlsclientauth.Certificate",
	"universal_ssl_setting": "ssl.UniversalSetting", "content_scanning": "contentscanning.Settings", "rate_limit": "ratelimits.RateLimit",
	"managed_transforms": "managedtransforms.Settings", "snippet_rules": "snippets.Rule", "schema_validation_settings": "schemavalidation.Setting",
	"api_shield": "apigateway.Configuration", "token_validation_config": "tokenvalidation.Configuration", "load_balancer_monitor_group": "loadbalancers.MonitorGroup",
	"magic_network_monitoring_rule": "magicnetworkmonitoring.Rule", "magic_wan_ipsec_tunnel": "magictransit.IpsecTunnel",
	"user_group": "iam.UserGroup", "email_security_block_sender": "emailsecurity.SettingBlockSender",
	"email_security_trusted_domains": "emailsecurity.SettingTrustedDomain", "email_security_impersonation_registry": "emailsecurity.SettingImpersonationRegistry",
	"zero_trust_risk_scoring_integration": "zerotrust.RiskScoringIntegration",
	"zero_trust_access_key_configuration": "zerotrust.AccessKey", "zero_trust_gateway_logging": "zerotrust.GatewayLogging",
	"ai_search_namespace": "aisearch.Namespace", "ai_search_token": "aisearch.Token",
	"api_shield_schema_validation_settings":           "apigateway.SettingSchemaValidation",
	"authenticated_origin_pulls_hostname_certificate": "origintlsclientauth.HostnameCertificate",
	"authenticated_origin_pulls_settings":             "origintlsclientauth.Setting", "byo_ip_prefix": "addressing.Prefix",
	"certificate_authorities_hostname_associations": "certificateauthorities.HostnameAssociation",
	"custom_csr": "customcsrs.CSR", "custom_origin_trust_store": "acm.CustomTrustStore",
	"custom_page_asset": "custompages.Asset", "flagship_app": "flagship.App", "google_tag_gateway": "googletaggateway.Config",
	"moq_relay": "moq.Relay", "origin_cloud_region": "cache.OriginCloudRegion", "pipeline_stream": "pipelines.Stream",
	"pipeline_sink": "pipelines.Sink", "pipeline": "pipelines.Pipeline",
	"schema_validation_schemas": "schemavalidation.Schema", "secrets_store": "secretsstore.Store",
	"secrets_store_secret": "secretsstore.Secret", "token_validation_rules": "tokenvalidation.Rule",
	"vulnerability_scanner_credential_set":     "vulnerabilityscanner.CredentialSet",
	"zero_trust_access_ai_controls_mcp_portal": "zerotrust.AccessAiControlMcpPortal",
	"zero_trust_device_deployment_groups":      "zerotrust.DeviceDeploymentGroup",
	"zero_trust_device_ip_profile":             "zerotrust.DeviceIpProfile", "zero_trust_device_settings": "zerotrust.DeviceSetting",
	"zero_trust_device_subnet": "zerotrust.WarpSubnet", "zero_trust_dex_rule": "zerotrust.DexRule",
	"zero_trust_dlp_data_tag_category": "zerotrust.DlpDataTagCategory",
	"zero_trust_dlp_sensitivity_group": "zerotrust.DlpSensitivityGroup", "zero_trust_dlp_settings": "zerotrust.DlpSetting",
	"magic_transit_connector": "magictransit.Connector", "magic_transit_site_acl": "magictransit.SiteAcl",
	"magic_network_monitoring_configuration": "magicnetworkmonitoring.Config", "dls_prefix_binding": "dls.RegionalServicePrefixBinding",
	"zero_trust_tunnel_warp_connector_config": "zerotrust.WarpConnectorConfiguration", "account_dns_settings": "dns.AccountSettings",
	"zone_dns_settings": "dns.ZoneSettings", "dns_zone_transfers_incoming": "dns.ZoneTransferIncoming", "dns_zone_transfers_outgoing": "dns.ZoneTransferOutgoing",
	"zone_hold": "zones.Hold", "tiered_cache": "cache.SmartTieredCache", "cloud_connector_rules": "cloudconnector.Rules",
	"api_shield_operation": "apigateway.Operation", "api_shield_operation_schema_validation_settings": "apigateway.OperationSchemaValidation",
	"schema_validation_operation_settings": "schemavalidation.SettingOperation", "account_member": "accounts.Member",
	"sso_connector": "iam.Sso", "share": "resourcesharing.Share", "share_recipient": "resourcesharing.Recipient",
	"share_resource": "resourcesharing.Resource", "flagship_flag": "flagship.AppFlag", "ai_gateway_dynamic_routing": "aigateway.Route",
	"ai_search_instance": "aisearch.Instance",
	"r2_bucket_sippy":    "r2.BucketSippy", "vulnerability_scanner_credential": "vulnerabilityscanner.CredentialSetCredential",
	"vulnerability_scanner_target_environment": "vulnerabilityscanner.TargetEnvironment", "worker": "workers.BetaWorker",
	"zero_trust_access_ai_controls_mcp_server": "zerotrust.AccessAiControlMcpServer", "zero_trust_access_mtls_hostname_settings": "zerotrust.AccessCertificateSetting",
	"zero_trust_access_short_lived_certificate":               "zerotrust.AccessApplicationCA",
	"zero_trust_device_custom_profile_local_domain_fallback":  "zerotrust.DevicePolicyCustomFallbackDomain",
	"zero_trust_device_default_profile_certificates":          "zerotrust.DevicePolicyDefaultCertificate",
	"zero_trust_device_default_profile_local_domain_fallback": "zerotrust.DevicePolicyDefaultFallbackDomain",
	"zero_trust_dlp_custom_entry":                             "zerotrust.DlpEntryCustom", "zero_trust_dlp_data_class": "zerotrust.DlpDataClass", "zero_trust_dlp_data_tag": "zerotrust.DlpDataTagCategoryDataTag",
	"zero_trust_dlp_predefined_profile": "zerotrust.DlpProfilePredefined", "zero_trust_dlp_sensitivity_level": "zerotrust.DlpSensitivityGroupLevel",
	"zero_trust_dlp_sensitivity_level_order": "zerotrust.DlpSensitivityGroupLevelOrder", "zero_trust_gateway_settings": "zerotrust.GatewayConfiguration",
	"zero_trust_risk_behavior":       "zerotrust.RiskScoringBehaviour",
	"zero_trust_gateway_certificate": "zerotrust.GatewayCertificate", "zero_trust_gateway_pacfile": "zerotrust.GatewayPacfile",
}
