//go:build peers

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// TestRealCloudflareZeroTrust adopts what the real provider of Cloudflare has made of Zero Trust, of Pages and of rules.
func TestRealCloudflareZeroTrust(t *testing.T) {
	server := cloudflaretest.Start(t)
	zone := server.AddZone(server.Account, "example.com")
	p := newTofuOf(t, server, "edge")
	p.write("edge/main.tf", `terraform {
  required_providers {
    cloudflare = {
      source = "cloudflare/cloudflare"
    }
  }
}
locals {
  account = "`+server.Account+`"
  zone    = "`+zone+`"
}
resource "cloudflare_zero_trust_access_identity_provider" "github" {
  account_id = local.account
  name       = "GitHub"
  type       = "github"
  config     = { client_id = "Iv1.client", client_secret = "idp-very-secret-1" }
}
resource "cloudflare_zero_trust_access_group" "staff" {
  account_id = local.account
  name       = "staff"
  include = [
    { email_domain = { domain = "example.com" } },
    { github_organization = { name = "athanor", team = "core", identity_provider_id = cloudflare_zero_trust_access_identity_provider.github.id } },
  ]
  exclude = [{ email = { email = "gone@example.com" } }]
}
resource "cloudflare_zero_trust_access_policy" "staff" {
  account_id       = local.account
  name             = "staff"
  decision         = "allow"
  session_duration = "24h"
  include          = [{ group = { id = cloudflare_zero_trust_access_group.staff.id } }, { everyone = {} }]
}
resource "cloudflare_zero_trust_access_application" "wiki" {
  account_id       = local.account
  name             = "wiki"
  domain           = "wiki.example.com"
  type             = "self_hosted"
  session_duration = "12h"
  allowed_idps     = [cloudflare_zero_trust_access_identity_provider.github.id]
  policies         = [{ id = cloudflare_zero_trust_access_policy.staff.id, precedence = 1 }]
}
resource "cloudflare_zero_trust_gateway_policy" "malware" {
  account_id  = local.account
  name        = "malware"
  description = "what is known to be bad"
  action      = "block"
  enabled     = true
  filters     = ["dns"]
  traffic     = "any(dns.security_category[*] in {80})"
  precedence  = 10
  rule_settings = { block_page_enabled = true, block_reason = "malware" }
}
resource "cloudflare_zero_trust_tunnel_cloudflared" "office" {
  account_id = local.account
  name       = "office"
  config_src = "cloudflare"
}
resource "cloudflare_zero_trust_tunnel_cloudflared_config" "office" {
  account_id = local.account
  tunnel_id  = cloudflare_zero_trust_tunnel_cloudflared.office.id
  config = {
    ingress = [
      { hostname = "wiki.example.com", service = "http://localhost:8080", origin_request = { connect_timeout = 30, no_tls_verify = true, http_host_header = "wiki" } },
      { service = "http_status:404" },
    ]
  }
}
resource "cloudflare_zero_trust_tunnel_cloudflared_route" "office" {
  account_id = local.account
  tunnel_id  = cloudflare_zero_trust_tunnel_cloudflared.office.id
  network    = "10.1.0.0/16"
  comment    = "the office"
}
resource "cloudflare_page_rule" "old" {
  zone_id  = local.zone
  target   = "old.example.com/*"
  priority = 1
  status   = "active"
  actions  = { cache_level = "bypass", always_use_https = true }
}
resource "cloudflare_pages_project" "site" {
  account_id        = local.account
  name              = "site"
  production_branch = "main"
  build_config      = { build_command = "make", destination_dir = "public" }
  deployment_configs = {
    production = {
      compatibility_date = "2026-01-01"
      env_vars = { LEVEL = { type = "plain_text", value = "debug" }, TOKEN = { type = "secret_text", value = "pages-very-secret-2" } }
    }
    preview = { compatibility_date = "2026-01-01" }
  }
}
resource "cloudflare_pages_domain" "site" {
  account_id   = local.account
  project_name = cloudflare_pages_project.site.name
  name         = "www.example.com"
}
resource "cloudflare_ruleset" "redirects" {
  zone_id = local.zone
  name    = "default"
  kind    = "zone"
  phase   = "http_request_dynamic_redirect"
  rules = [
    {
      description = "the old site", expression = "http.host eq \"old.example.com\"", action = "redirect", enabled = true
      action_parameters = { from_value = { status_code = 301, preserve_query_string = true, target_url = { value = "https://example.com" } } }
    },
    { ref = "off", expression = "http.host eq \"x.example.com\"", action = "redirect", enabled = false, action_parameters = { from_value = { status_code = 302, target_url = { value = "https://x.example" } } } },
  ]
}
resource "cloudflare_zero_trust_access_service_token" "ci" {
  account_id = local.account
  name       = "ci"
  duration   = "8760h"
}
resource "cloudflare_zero_trust_access_short_lived_certificate" "wiki" {
  account_id = local.account
  app_id     = cloudflare_zero_trust_access_application.wiki.id
}
resource "cloudflare_api_token" "deploy" {
  name     = "deploy"
  policies = [{ effect = "allow", permission_groups = [{ id = "00000000000000000000000000000001" }], resources = jsonencode({ "com.cloudflare.api.account.${local.account}" = "*" }) }]
}
`)
	p.tofu("edge", "init")
	p.tofu("edge", "apply", "-auto-approve", "-no-color")
	p.keep("edge/terraform.tfstate", "zerotrust.tfstate")
	state := p.read("edge/terraform.tfstate")
	if err := os.RemoveAll(filepath.Join(p.dir, "edge")); err != nil { // without the configuration
		t.Fatal(err)
	}
	p.write("shop.tfstate", state)
	adopted := &adoptedProject{world: p.world, mapped: 15, mutations: func() int { return len(server.Mutations()) }, tagged: []string{"mark"}}
	adopted.take()
	for _, want := range []string{
		"- ${github.id}", "id: ${zero_trust_access_policy-staff.id}", "id: ${zero_trust_access_group-staff.id}", "- everyone: {}", "github-organization:", "noTLSVerify: true",
		"tunnel_id: ${zero_trust_tunnel_cloudflared-office.id}", "- id: always_use_https", "project_name: ${pages_project-site.name}", "value: debug", "client_secret: ${secret.",
		"app_id: ${zero_trust_access_application-wiki.id}", "ref: the_old_site", "kind: cloudflare.UserToken", "value: ${secret.",
	} {
		if !strings.Contains(adopted.yaml, want) {
			t.Errorf("there is no %s in\n%s", want, adopted.yaml)
		}
	}
	if strings.Contains(adopted.yaml, "very-secret") {
		t.Error("a secret is shown")
	}
	adopted.edgeDrifts(server)
	p.run(0, "destroy", "--yes", "--allow-delete", "*")
	for _, kind := range []string{"access/groups", "access/policies", "access/apps", "access/identity_providers", "gateway/rules", "pages/projects"} {
		if left, _ := server.Do(t, http.MethodGet, "/accounts/"+server.Account+"/"+kind, nil).([]any); len(left) != 0 {
			t.Errorf("%s: %v", kind, left)
		}
	}
}

// edgePaths are where the server keeps the objects of a kind. ID is that of the object.
var edgePaths = map[string]string{
	"cloudflare.zerotrust.AccessIdentityProvider": "/accounts/ACCOUNT/access/identity_providers", "cloudflare.zerotrust.AccessGroup": "/accounts/ACCOUNT/access/groups",
	"cloudflare.zerotrust.AccessPolicy": "/accounts/ACCOUNT/access/policies", "cloudflare.zerotrust.AccessApplication": "/accounts/ACCOUNT/access/apps",
	"cloudflare.zerotrust.GatewayRule": "/accounts/ACCOUNT/gateway/rules", "cloudflare.zerotrust.Tunnel": "/accounts/ACCOUNT/cfd_tunnel",
	"cloudflare.zerotrust.TunnelConfiguration": "/accounts/ACCOUNT/cfd_tunnel/ID/configurations", "cloudflare.zerotrust.TunnelRoute": "/accounts/ACCOUNT/teamnet/routes",
	"cloudflare.pagerules.Rule": "/zones/PARENT/pagerules", "cloudflare.pages.Project": "/accounts/ACCOUNT/pages/projects",
}

// edgeDrifts changes every declared prop by hand that the server shows, and wants each to be drift; then it puts all back.
func (p *adoptedProject) edgeDrifts(server *cloudflaretest.Server) {
	t := p.t
	t.Helper()
	var doc struct {
		Resources map[string]struct {
			Kind    string
			Props   attributes
			Options struct{ Adopt string }
		}
	}
	if err := yaml.Unmarshal([]byte(p.yaml), &doc); err != nil {
		t.Fatal(err)
	}
	type edit struct {
		path, id, name string
		value          any
	}
	var undo []edit
	want := map[string][]string{}
	for address, r := range doc.Resources {
		parent, id, isIn := strings.Cut(r.Options.Adopt, "/")
		if !isIn {
			parent, id = "", parent
		}
		path := strings.NewReplacer("PARENT", parent, "ID", id).Replace(edgePaths[r.Kind])
		var live attributes
		for _, o := range server.Objects(path) {
			if strings.Contains(edgePaths[r.Kind], "ID") {
				live, id = o, ""
			} else if o["id"] == id || o["name"] == id {
				live = o
			}
		}
		for prop, declared := range r.Props {
			value, there := live[prop]
			if !there || value == nil || prop == "zone" || prop == "tunnel_id" && id == "" || r.Kind == "cloudflare.pages.Project" && prop == "name" {
				continue
			}
			now := changed(value, declared)
			if prop == "comment" { // the owner tag stands behind it
				now = fmt.Sprint("changed ", value)
			}
			if fmt.Sprint(now) == fmt.Sprint(value) {
				continue
			}
			undo = append(undo, edit{path, id, prop, value})
			server.EditObject(t, path, id, prop, now)
			want[address] = append(want[address], prop)
		}
	}
	if len(want) < 10 || len(undo) < 40 {
		t.Errorf("%d props of %d objects were changed: %v", len(undo), len(want), want)
	}
	found := p.planned(2)
	for address, props := range want {
		for _, prop := range props {
			if !shows(found[address], prop) {
				t.Errorf("%s %s is no drift: %v", address, prop, found[address])
			}
		}
	}
	for _, e := range undo {
		server.EditObject(t, e.path, e.id, e.name, e.value)
	}
	p.run(0, "drift")
}
