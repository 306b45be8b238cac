# One resource of each type of the provider that athanor has by the generic kind, which this server does by the descriptions alone.

# Load balancing.
resource "cloudflare_load_balancer_monitor" "it" {
  account_id     = var.account
  type           = "https"
  path           = var.edited ? "/ready" : "/health"
  expected_codes = "2xx"
  description    = "shop"
}

resource "cloudflare_load_balancer_pool" "it" {
  account_id = var.account
  name       = "shop"
  monitor    = cloudflare_load_balancer_monitor.it.id
  origins    = [{ name = "one", address = var.edited ? "192.0.2.2" : "192.0.2.1", enabled = true, weight = 1 }]
}

resource "cloudflare_load_balancer" "it" {
  zone_id       = var.zone
  name          = "lb.shop.example"
  default_pools = [cloudflare_load_balancer_pool.it.id]
  fallback_pool = cloudflare_load_balancer_pool.it.id
  description   = var.edited ? "two" : "one"
}

# Access.
resource "cloudflare_zero_trust_access_group" "it" {
  account_id = var.account
  name       = var.edited ? "team" : "staff"
  include    = [{ email_domain = { domain = "shop.example" } }]
}

resource "cloudflare_zero_trust_access_identity_provider" "it" {
  account_id = var.account
  name       = var.edited ? "pin by mail" : "pin"
  type       = "onetimepin"
  config     = {}
  read_only  = false
}

resource "cloudflare_zero_trust_access_policy" "it" {
  account_id       = var.account
  name             = "staff"
  decision         = "allow"
  session_duration = var.edited ? "12h" : "24h"
  include          = [{ group = { id = cloudflare_zero_trust_access_group.it.id } }]
}

resource "cloudflare_zero_trust_access_application" "it" {
  account_id       = var.account
  name             = "admin"
  type             = "self_hosted"
  domain           = "admin.shop.example"
  session_duration = var.edited ? "12h" : "24h"
  policies         = [{ id = cloudflare_zero_trust_access_policy.it.id, precedence = 1 }]
}

resource "cloudflare_zero_trust_access_service_token" "it" {
  account_id = var.account
  name       = var.edited ? "machine" : "robot"
  duration   = "8760h"
}

resource "cloudflare_zero_trust_access_tag" "it" {
  account_id = var.account
  name       = "engineers"
}

resource "cloudflare_zero_trust_access_custom_page" "it" {
  account_id  = var.account
  name        = "denied"
  type        = "forbidden"
  custom_html = var.edited ? "<p>Not you.</p>" : "<p>No.</p>"
}

resource "cloudflare_zero_trust_access_infrastructure_target" "it" {
  account_id = var.account
  hostname   = "bastion"
  ip         = { ipv4 = { ip_addr = var.edited ? "10.0.0.2" : "10.0.0.1", virtual_network_id = cloudflare_zero_trust_tunnel_cloudflared_virtual_network.it.id } }
}

resource "cloudflare_zero_trust_access_mtls_certificate" "it" {
  account_id           = var.account
  name                 = var.edited ? "authority 2" : "authority"
  certificate          = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  associated_hostnames = []
}

# Tunnels.
resource "cloudflare_zero_trust_tunnel_cloudflared" "it" {
  account_id = var.account
  name       = var.edited ? "office 2" : "office"
  config_src = "cloudflare"
}

resource "cloudflare_zero_trust_tunnel_cloudflared_config" "it" {
  account_id = var.account
  tunnel_id  = cloudflare_zero_trust_tunnel_cloudflared.it.id
  config     = { ingress = [{ hostname = "app.shop.example", service = var.edited ? "http://localhost:8081" : "http://localhost:8080" }, { service = "http_status:404" }] }
}

resource "cloudflare_zero_trust_tunnel_cloudflared_virtual_network" "it" {
  account_id = var.account
  name       = "office"
  comment    = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_tunnel_cloudflared_route" "it" {
  account_id         = var.account
  tunnel_id          = cloudflare_zero_trust_tunnel_cloudflared.it.id
  network            = "10.1.0.0/16"
  virtual_network_id = cloudflare_zero_trust_tunnel_cloudflared_virtual_network.it.id
  comment            = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_network_hostname_route" "it" {
  account_id = var.account
  tunnel_id  = cloudflare_zero_trust_tunnel_cloudflared.it.id
  hostname   = "intern.shop.example"
  comment    = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_tunnel_warp_connector" "it" {
  account_id = var.account
  name       = var.edited ? "branch 2" : "branch"
}

# Gateway, devices and data.
resource "cloudflare_zero_trust_gateway_policy" "it" {
  account_id  = var.account
  name        = "malware"
  description = "what is known to be bad"
  action      = "block"
  enabled     = var.edited
  filters     = ["dns"]
  traffic     = "any(dns.security_category[*] in {80})"
  precedence  = 10
}

resource "cloudflare_zero_trust_list" "it" {
  account_id  = var.account
  name        = "office"
  type        = "IP"
  description = var.edited ? "addresses of the office" : "addresses"
  items       = [{ value = "192.0.2.1" }]
}

resource "cloudflare_zero_trust_dns_location" "it" {
  account_id     = var.account
  name           = var.edited ? "office 2" : "office"
  client_default = false
}

resource "cloudflare_zero_trust_gateway_proxy_endpoint" "it" {
  account_id = var.account
  name       = var.edited ? "office 2" : "office"
  ips        = ["192.0.2.1/32"]
}

resource "cloudflare_zero_trust_device_managed_networks" "it" {
  account_id = var.account
  name       = var.edited ? "office 2" : "office"
  type       = "tls"
  config     = { tls_sockaddr = "192.0.2.1:443", sha256 = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c" }
}

resource "cloudflare_zero_trust_device_posture_rule" "it" {
  account_id  = var.account
  name        = "disk"
  type        = "disk_encryption"
  description = var.edited ? "the disk of a computer" : "the disk"
  input       = { require_all = true }
  match       = [{ platform = "mac" }]
}

resource "cloudflare_zero_trust_device_custom_profile" "it" {
  account_id  = var.account
  name        = "staff"
  match       = "identity.email == \"ada@shop.example\""
  precedence  = 100
  description = var.edited ? "of the staff" : "the staff"
}

resource "cloudflare_zero_trust_dex_test" "it" {
  account_id  = var.account
  name        = "shop"
  enabled     = var.edited
  interval    = "0h30m0s"
  data        = { host = "https://shop.example", kind = "http", method = "GET" }
  description = "the shop"
}

resource "cloudflare_zero_trust_dlp_custom_profile" "it" {
  account_id          = var.account
  name                = var.edited ? "orders 2" : "orders"
  allowed_match_count = 0
  entries             = []
}

# DNS, mail, zones.
resource "cloudflare_zone_dnssec" "it" {
  zone_id = var.zone
  status  = var.edited ? "disabled" : "active"
}

resource "cloudflare_zone_lockdown" "it" {
  zone_id        = var.zone
  urls           = ["shop.example/admin*"]
  configurations = [{ target = "ip", value = "192.0.2.1" }]
  description    = var.edited ? "of the office" : "the office"
}

resource "cloudflare_email_routing_address" "it" {
  account_id = var.account
  email      = "team@example.org"
}

resource "cloudflare_email_routing_rule" "it" {
  zone_id  = var.zone
  name     = "hello"
  enabled  = var.edited
  matchers = [{ type = "literal", field = "to", value = "hello@shop.example" }]
  actions  = [{ type = "forward", value = ["team@example.org"] }]
  priority = 0
}

resource "cloudflare_email_routing_catch_all" "it" {
  zone_id  = var.zone
  name     = "rest"
  enabled  = var.edited
  matchers = [{ type = "all" }]
  actions  = [{ type = "drop" }]
}

resource "cloudflare_page_rule" "it" {
  zone_id  = var.zone
  target   = "old.shop.example/*"
  priority = 1
  status   = var.edited ? "disabled" : "active"
  actions  = { cache_level = "bypass" }
}

resource "cloudflare_access_rule" "it" {
  account_id    = var.account
  mode          = var.edited ? "challenge" : "block"
  notes         = "the bad"
  configuration = { target = "ip", value = "192.0.2.1" }
}

resource "cloudflare_user_agent_blocking_rule" "it" {
  zone_id       = var.zone
  mode          = var.edited ? "challenge" : "block"
  description   = "the bad"
  paused        = false
  configuration = { target = "ua", value = "BadBot/1.0" }
}

resource "cloudflare_healthcheck" "it" {
  zone_id     = var.zone
  name        = "shop"
  address     = "shop.example"
  type        = "HTTPS"
  description = var.edited ? "the whole shop" : "the shop"
  http_config = { path = "/health", expected_codes = ["200"] }
}

resource "cloudflare_custom_hostname" "it" {
  zone_id  = var.zone
  hostname = "app.customer.example"
  ssl      = { method = var.edited ? "txt" : "http", type = "dv" }
}

resource "cloudflare_custom_hostname_fallback_origin" "it" {
  zone_id = var.zone
  origin  = var.edited ? "proxy2.shop.example" : "proxy.shop.example"
}

resource "cloudflare_regional_hostname" "it" {
  zone_id    = var.zone
  hostname   = "eu.shop.example"
  region_key = var.edited ? "us" : "eu"
}

resource "cloudflare_spectrum_application" "it" {
  zone_id       = var.zone
  protocol      = "tcp/22"
  dns           = { type = "CNAME", name = "ssh.shop.example" }
  origin_direct = [var.edited ? "tcp://192.0.2.2:22" : "tcp://192.0.2.1:22"]
}

resource "cloudflare_waiting_room" "it" {
  zone_id              = var.zone
  name                 = "checkout"
  host                 = "shop.example"
  path                 = "/checkout"
  new_users_per_minute = var.edited ? 300 : 200
  total_active_users   = 300
}

resource "cloudflare_waiting_room_event" "it" {
  zone_id          = var.zone
  waiting_room_id  = cloudflare_waiting_room.it.id
  name             = "sale"
  event_start_time = "2027-01-01T00:00:00Z"
  event_end_time   = var.edited ? "2027-01-03T00:00:00Z" : "2027-01-02T00:00:00Z"
}

resource "cloudflare_waiting_room_settings" "it" {
  zone_id                      = var.zone
  search_engine_crawler_bypass = var.edited
}

resource "cloudflare_web3_hostname" "it" {
  zone_id     = var.zone
  name        = "web3.shop.example"
  target      = "ethereum"
  description = var.edited ? "the new web" : "the web"
}

resource "cloudflare_page_shield_policy" "it" {
  zone_id     = var.zone
  action      = "allow"
  description = "scripts"
  enabled     = var.edited
  expression  = "ends_with(http.request.uri.path, \"/checkout\")"
  value       = "script-src 'none'"
}

resource "cloudflare_argo_smart_routing" "it" {
  zone_id = var.zone
  value   = var.edited ? "off" : "on"
}

resource "cloudflare_argo_tiered_caching" "it" {
  zone_id = var.zone
  value   = var.edited ? "off" : "on"
}

resource "cloudflare_regional_tiered_cache" "it" {
  zone_id = var.zone
  value   = var.edited ? "off" : "on"
}

resource "cloudflare_zone_cache_reserve" "it" {
  zone_id = var.zone
  value   = var.edited ? "off" : "on"
}

resource "cloudflare_url_normalization_settings" "it" {
  zone_id = var.zone
  scope   = var.edited ? "both" : "incoming"
  type    = "cloudflare"
}

resource "cloudflare_bot_management" "it" {
  zone_id    = var.zone
  fight_mode = var.edited
}

resource "cloudflare_leaked_credential_check_rule" "it" {
  zone_id  = var.zone
  username = "lookup_json_string(http.request.body.raw, \"${var.edited ? "name" : "user"}\")"
  password = "lookup_json_string(http.request.body.raw, \"secret\")"
}

# Certificates.
resource "cloudflare_mtls_certificate" "it" {
  account_id   = var.account
  name         = "authority"
  ca           = true
  certificates = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
}

resource "cloudflare_custom_ssl" "it" {
  zone_id       = var.zone
  certificate   = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  private_key   = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
  bundle_method = var.edited ? "optimal" : "ubiquitous"
}

resource "cloudflare_keyless_certificate" "it" {
  zone_id     = var.zone
  name        = var.edited ? "keys 2" : "keys"
  host        = "keys.shop.example"
  port        = 2407
  certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

resource "cloudflare_client_certificate" "it" {
  zone_id       = var.zone
  csr           = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"
  validity_days = 3650
}

# Workers and what belongs to them, media, AI.
resource "cloudflare_workers_for_platforms_dispatch_namespace" "it" {
  account_id = var.account
  name       = "customers"
}

resource "cloudflare_pages_project" "it" {
  account_id        = var.account
  name              = "site"
  production_branch = "main"
  build_config      = { build_command = "make", destination_dir = "public" }
}

resource "cloudflare_pages_domain" "it" {
  account_id   = var.account
  project_name = cloudflare_pages_project.it.name
  name         = "www.other.example"
}

resource "cloudflare_turnstile_widget" "it" {
  account_id = var.account
  name       = "login"
  domains    = ["shop.example"]
  mode       = var.edited ? "invisible" : "managed"
}

resource "cloudflare_list" "it" {
  account_id  = var.account
  name        = "office"
  kind        = "ip"
  description = var.edited ? "addresses of the office" : "addresses"
}

resource "cloudflare_r2_bucket_lock" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  rules       = [{ id = "week", enabled = var.edited, condition = { type = "Age", max_age_seconds = 604800 } }]
}

resource "cloudflare_stream_webhook" "it" {
  account_id       = var.account
  notification_url = var.edited ? "https://shop.example/stream/2" : "https://shop.example/stream"
}

resource "cloudflare_ai_gateway" "it" {
  account_id                 = var.account
  id                         = "gateway"
  cache_invalidate_on_update = true
  cache_ttl                  = var.edited ? 600 : 300
  collect_logs               = true
  rate_limiting_interval     = 60
  rate_limiting_limit        = 100
  rate_limiting_technique    = "fixed"
}

# Accounts: notices, logs, networks.
resource "cloudflare_notification_policy_webhooks" "it" {
  account_id = var.account
  name       = var.edited ? "chat 2" : "chat"
  url        = "https://chat.shop.example/hook"
}

resource "cloudflare_notification_policy" "it" {
  account_id  = var.account
  name        = "ssl"
  alert_type  = "universal_ssl_event_type"
  enabled     = var.edited
  description = "certificates"
  mechanisms  = { email = [{ id = "team@example.org" }] }
}

resource "cloudflare_logpush_job" "it" {
  account_id       = var.account
  dataset          = "audit_logs"
  destination_conf = "r2://logs/{DATE}?account-id=0123456789abcdef0123456789abcdef"
  enabled          = true
}

resource "cloudflare_web_analytics_site" "it" {
  account_id   = var.account
  host         = "www.shop.example"
  auto_install = var.edited
}

resource "cloudflare_magic_transit_site" "it" {
  account_id  = var.account
  name        = "office"
  description = var.edited ? "of the office" : "the office"
}

resource "cloudflare_magic_wan_gre_tunnel" "it" {
  account_id              = var.account
  name                    = "office"
  customer_gre_endpoint   = "203.0.113.1"
  cloudflare_gre_endpoint = "203.0.113.2"
  interface_address       = "192.0.2.0/31"
  description             = var.edited ? "of the office" : "the office"
}

resource "cloudflare_magic_wan_static_route" "it" {
  account_id  = var.account
  prefix      = "192.0.2.0/24"
  nexthop     = "203.0.113.1"
  priority    = var.edited ? 20 : 10
  description = "the office"
}

resource "cloudflare_address_map" "it" {
  account_id  = var.account
  description = var.edited ? "of the office" : "the office"
  enabled     = true
}

resource "cloudflare_account_dns_settings_internal_view" "it" {
  account_id = var.account
  name       = var.edited ? "inside 2" : "inside"
  zones      = [var.zone]
}

resource "cloudflare_connectivity_directory_service" "it" {
  account_id = var.account
  name       = var.edited ? "orders 2" : "orders"
  type       = "http"
  http_port  = 80
  https_port = 443
  host       = { ipv4 = "10.0.0.1", network = { tunnel_id = cloudflare_zero_trust_tunnel_cloudflared.it.id } }
}

# What else there is of zones.
resource "cloudflare_dns_zone_transfers_acl" "it" {
  account_id = var.account
  name       = var.edited ? "office 2" : "office"
  ip_range   = "192.0.2.53/28"
}

resource "cloudflare_dns_zone_transfers_peer" "it" {
  account_id = var.account
  name       = var.edited ? "office 2" : "office"
}

resource "cloudflare_dns_zone_transfers_tsig" "it" {
  account_id = var.account
  name       = var.edited ? "tsig2.shop.example." : "tsig.shop.example."
  algo       = "hmac-sha512."
  secret     = "caf79a7804b04337c9c66ccd7bef9190a1e1679b5dd03d8aa10f7ad45e1a9dab92b417896c15d4d007c7c14194538d2a5d0feffdecc5a7f0e1c570cfa700837c"
}

resource "cloudflare_dns_firewall" "it" {
  account_id   = var.account
  name         = var.edited ? "office 2" : "office"
  upstream_ips = ["192.0.2.1"]

  deprecate_any_requests = true
  ecs_fallback           = false
  negative_cache_ttl     = 900
  ratelimit              = 600
}

resource "cloudflare_zone_cache_variants" "it" {
  zone_id = var.zone
  value   = { avif = var.edited ? ["image/webp"] : ["image/webp", "image/jpeg"] }
}

resource "cloudflare_origin_ca_certificate" "it" {
  csr                = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----"
  hostnames          = ["shop.example"]
  request_type       = "origin-rsa"
  requested_validity = 5475
}

resource "cloudflare_authenticated_origin_pulls_certificate" "it" {
  zone_id     = var.zone
  certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  private_key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
}

resource "cloudflare_universal_ssl_setting" "it" {
  zone_id = var.zone
  enabled = var.edited
}

resource "cloudflare_content_scanning" "it" {
  zone_id = var.zone
  value   = var.edited ? "disabled" : "enabled"
}

resource "cloudflare_rate_limit" "it" {
  zone_id   = var.zone
  threshold = var.edited ? 20 : 10
  period    = 60
  match     = { request = { methods = ["GET"], url = "shop.example/*" } }
  action    = { mode = "simulate", timeout = 60 }
}

resource "cloudflare_managed_transforms" "it" {
  zone_id                  = var.zone
  managed_request_headers  = [{ id = "add_bot_protection_headers", enabled = var.edited }]
  managed_response_headers = []
}

resource "cloudflare_snippet_rules" "it" {
  zone_id = var.zone
  rules   = [{ expression = "ip.src ne 192.0.2.1", snippet_name = "greet", description = var.edited ? "of the office" : "the office", enabled = true }]
}

resource "cloudflare_schema_validation_settings" "it" {
  zone_id                              = var.zone
  validation_default_mitigation_action = var.edited ? "log" : "block"
}

resource "cloudflare_api_shield" "it" {
  zone_id                 = var.zone
  auth_id_characteristics = [{ name = var.edited ? "authorization" : "x-api-key", type = "header" }]
}

resource "cloudflare_token_validation_config" "it" {
  zone_id       = var.zone
  title         = var.edited ? "tokens 2" : "tokens"
  description   = "of the shop"
  token_type    = "JWT"
  token_sources = ["http.request.headers[\"authorization\"][0]"]
  credentials   = { keys = [{ kty = "RSA", alg = "RS256", kid = "one", n = "AQAB", e = "AQAB" }] }
}

# What else there is of accounts.
resource "cloudflare_load_balancer_monitor_group" "it" {
  account_id  = var.account
  description = var.edited ? "of the shop" : "the shop"
  members     = [{ monitor_id = cloudflare_load_balancer_monitor.it.id, enabled = true, monitoring_only = false, must_be_healthy = true }]
}

resource "cloudflare_magic_network_monitoring_rule" "it" {
  account_id              = var.account
  name                    = "office"
  duration                = "1m"
  prefixes                = ["203.0.113.1/32"]
  automatic_advertisement = true
  type                    = "threshold"
  bandwidth_threshold     = 1000
}

resource "cloudflare_magic_wan_ipsec_tunnel" "it" {
  account_id          = var.account
  name                = "office"
  cloudflare_endpoint = "203.0.113.2"
  customer_endpoint   = "203.0.113.1"
  interface_address   = "192.0.2.0/31"
  description         = var.edited ? "of the office" : "the office"
}

resource "cloudflare_user_group" "it" {
  account_id = var.account
  name       = var.edited ? "developers" : "engineers"
  policies   = []
}

resource "cloudflare_email_security_block_sender" "it" {
  account_id   = var.account
  is_regex     = false
  pattern      = "bad@example.org"
  pattern_type = "EMAIL"
  comments     = var.edited ? "the very bad" : "the bad"
}

resource "cloudflare_email_security_trusted_domains" "it" {
  account_id    = var.account
  is_recent     = true
  is_regex      = false
  is_similarity = false
  pattern       = "example.org"
  comments      = var.edited ? "the very good" : "the good"
}

resource "cloudflare_email_security_impersonation_registry" "it" {
  account_id     = var.account
  email          = "ada@shop.example"
  is_email_regex = false
  name           = var.edited ? "Ada L." : "Ada"
}

resource "cloudflare_zero_trust_risk_scoring_integration" "it" {
  account_id       = var.account
  integration_type = "Okta"
  active           = true
  reference_id     = "okta"
  tenant_url       = var.edited ? "https://two.okta.example" : "https://one.okta.example"
}

resource "cloudflare_zero_trust_access_key_configuration" "it" {
  account_id                 = var.account
  key_rotation_interval_days = var.edited ? 60 : 30
}

resource "cloudflare_zero_trust_gateway_logging" "it" {
  account_id = var.account
  redact_pii = var.edited
}

# Later services.
resource "cloudflare_ai_search_namespace" "it" {
  account_id  = var.account
  name        = "shop"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_ai_search_token" "it" {
  account_id = var.account
  name       = var.edited ? "search 2" : "search"
  cf_api_id  = "id"
  cf_api_key = "key"
}

resource "cloudflare_api_shield_schema_validation_settings" "it" {
  zone_id                              = var.zone
  validation_default_mitigation_action = var.edited ? "log" : "block"
}

resource "cloudflare_authenticated_origin_pulls_hostname_certificate" "it" {
  zone_id     = var.zone
  certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  private_key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
}

resource "cloudflare_authenticated_origin_pulls_settings" "it" {
  zone_id = var.zone
  enabled = var.edited
}

resource "cloudflare_byo_ip_prefix" "it" {
  account_id  = var.account
  asn         = 64512
  cidr        = "192.0.2.0/24"
  description = var.edited ? "of the office" : "the office"
}

resource "cloudflare_certificate_authorities_hostname_associations" "it" {
  zone_id             = var.zone
  hostnames           = [var.edited ? "api2.shop.example" : "api.shop.example"]
  mtls_certificate_id = cloudflare_mtls_certificate.it.id
}

resource "cloudflare_custom_csr" "it" {
  zone_id      = var.zone
  common_name  = "shop.example"
  country      = "SE"
  locality     = "Lund"
  organization = "Shop"
  state        = "Skane"
  sans         = ["shop.example"]
}

resource "cloudflare_custom_origin_trust_store" "it" {
  zone_id     = var.zone
  certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

resource "cloudflare_custom_page_asset" "it" {
  account_id  = var.account
  name        = "logo"
  description = var.edited ? "of the shop" : "the shop"
  url         = "https://shop.example/logo.html"
}

resource "cloudflare_flagship_app" "it" {
  account_id = var.account
  name       = var.edited ? "shop 2" : "shop"
}

resource "cloudflare_google_tag_gateway" "it" {
  zone_id          = var.zone
  enabled          = var.edited
  endpoint         = "/metrics"
  hide_original_ip = true
  measurement_id   = "G-ABC123"
}

resource "cloudflare_moq_relay" "it" {
  account_id = var.account
  name       = var.edited ? "talk 2" : "talk"
}

resource "cloudflare_origin_cloud_region" "it" {
  zone_id   = var.zone
  origin_ip = "192.0.2.10"
  region    = var.edited ? "us-west-1" : "us-east-1"
  vendor    = "aws"
}

resource "cloudflare_pipeline_stream" "it" {
  account_id = var.account
  name       = "events"
  http       = { enabled = true, authentication = true }
}

resource "cloudflare_pipeline_sink" "it" {
  account_id = var.account
  name       = "lake"
  type       = "r2"
  config     = { account_id = var.account, bucket = "files", credentials = { access_key_id = "id", secret_access_key = "key" } }
}

resource "cloudflare_pipeline" "it" {
  account_id = var.account
  name       = "flow"
  sql        = "INSERT INTO lake SELECT * FROM events"
}

resource "cloudflare_schema_validation_schemas" "it" {
  zone_id            = var.zone
  kind               = "openapi_v3"
  name               = "orders"
  source             = "{}"
  validation_enabled = var.edited
}

resource "cloudflare_secrets_store" "it" {
  account_id = var.account
  name       = "default_secrets_store"
}

resource "cloudflare_secrets_store_secret" "it" {
  account_id = var.account
  store_id   = cloudflare_secrets_store.it.id
  name       = "KEY"
  scopes     = ["workers"]
  value      = "secret"
  comment    = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_token_validation_rules" "it" {
  zone_id     = var.zone
  title       = var.edited ? "tokens 2" : "tokens"
  description = "of the shop"
  action      = "block"
  enabled     = true
  expression  = "is_jwt_valid(\"one\")"
  selector    = {}
}

resource "cloudflare_vulnerability_scanner_credential_set" "it" {
  account_id = var.account
  name       = var.edited ? "shop 2" : "shop"
}

resource "cloudflare_zero_trust_access_ai_controls_mcp_portal" "it" {
  account_id  = var.account
  id          = "portal"
  name        = "portal"
  hostname    = "portal.shop.example"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_device_deployment_groups" "it" {
  account_id     = var.account
  name           = var.edited ? "first 2" : "first"
  version_config = [{ target_environment = "windows", version = "2026.1.1" }]
}

resource "cloudflare_zero_trust_device_ip_profile" "it" {
  account_id  = var.account
  name        = "office"
  match       = "identity.email == \"ada@shop.example\""
  precedence  = 100
  subnet_id   = "0123456789abcdef0123456789abcdef"
  description = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_device_settings" "it" {
  account_id            = var.account
  gateway_proxy_enabled = var.edited
}

resource "cloudflare_zero_trust_device_subnet" "it" {
  account_id = var.account
  name       = "office"
  network    = "100.64.0.0/12"
  comment    = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_dex_rule" "it" {
  account_id  = var.account
  name        = "office"
  match       = "identity.email == \"ada@shop.example\""
  description = var.edited ? "of the office" : "the office"
}

resource "cloudflare_zero_trust_dlp_data_tag_category" "it" {
  account_id  = var.account
  name        = "orders"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_dlp_sensitivity_group" "it" {
  account_id  = var.account
  name        = "orders"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_dlp_settings" "it" {
  account_id = var.account
  ocr        = var.edited
}

resource "cloudflare_zero_trust_gateway_certificate" "it" {
  account_id           = var.account
  validity_period_days = 1826
}

resource "cloudflare_zero_trust_gateway_pacfile" "it" {
  account_id  = var.account
  name        = "office"
  contents    = "function FindProxyForURL(url, host) { return \"DIRECT\"; }"
  description = var.edited ? "of the office" : "the office"
}

# Networks and their devices.
resource "cloudflare_magic_transit_connector" "it" {
  account_id = var.account
  device     = { serial_number = "SERIAL1" }
  notes      = var.edited ? "of the office" : "the office"
}

resource "cloudflare_magic_transit_site_acl" "it" {
  account_id  = var.account
  site_id     = cloudflare_magic_transit_site.it.id
  name        = "printers"
  description = var.edited ? "of the printers" : "the printers"
  lan_1       = { lan_id = "0123456789abcdef0123456789abcdef", ports = [631] }
  lan_2       = { lan_id = "fedcba9876543210fedcba9876543210" }
  protocols   = ["tcp"]
}

resource "cloudflare_magic_network_monitoring_configuration" "it" {
  account_id       = var.account
  name             = "shop"
  default_sampling = var.edited ? 2 : 1
  router_ips       = ["203.0.113.1"]
}

resource "cloudflare_dls_prefix_binding" "it" {
  account_id = var.account
  cidr       = "192.0.2.0/26"
  prefix_id  = cloudflare_byo_ip_prefix.it.id
  region_key = var.edited ? "us" : "eu"
}

resource "cloudflare_zero_trust_tunnel_warp_connector_config" "it" {
  account_id = var.account
  tunnel_id  = cloudflare_zero_trust_tunnel_warp_connector.it.id
  ha_mode    = var.edited ? "local" : "disabled"
  config     = { vips = [{ address = "10.0.0.9" }] }
}

# DNS and what zones have once.
resource "cloudflare_account_dns_settings" "it" {
  account_id    = var.account
  zone_defaults = {
    flatten_all_cnames  = false
    foundation_dns      = false
    internal_dns        = {}
    multi_provider      = false
    nameservers         = { type = "cloudflare.standard" }
    ns_ttl              = var.edited ? 43200 : 86400
    secondary_overrides = false
    soa                 = { expire = 604800, min_ttl = 1800, mname = "kristina.ns.cloudflare.com", refresh = 10000, retry = 2400, rname = "admin.example.com", ttl = 3600 }
    zone_mode           = "dns_only"
  }
}

resource "cloudflare_zone_dns_settings" "it" {
  zone_id             = var.zone
  flatten_all_cnames  = false
  foundation_dns      = false
  internal_dns        = {}
  multi_provider      = var.edited
  nameservers         = { type = "cloudflare.standard" }
  ns_ttl              = 86400
  secondary_overrides = false
  soa                 = { expire = 604800, min_ttl = 1800, mname = "kristina.ns.cloudflare.com", refresh = 10000, retry = 2400, rname = "admin.example.com", ttl = 3600 }
  zone_mode           = "dns_only"
}

resource "cloudflare_dns_zone_transfers_incoming" "it" {
  zone_id              = var.zone
  name                 = "shop.example"
  peers                = [cloudflare_dns_zone_transfers_peer.it.id]
  auto_refresh_seconds = var.edited ? 43200 : 86400
}

resource "cloudflare_dns_zone_transfers_outgoing" "it" {
  zone_id = var.zone
  name    = var.edited ? "www.shop.example" : "shop.example"
  peers   = [cloudflare_dns_zone_transfers_peer.it.id]
}

resource "cloudflare_email_routing_dns" "it" {
  zone_id = var.zone
  name    = "shop.example"
}

resource "cloudflare_zone_hold" "it" {
  zone_id            = var.zone
  include_subdomains = var.edited
}

resource "cloudflare_tiered_cache" "it" {
  zone_id = var.zone
  value   = var.edited ? "off" : "on"
}

resource "cloudflare_cloud_connector_rules" "it" {
  zone_id = var.zone
  rules   = [{ description = "files", enabled = var.edited, expression = "http.request.uri.path wildcard \"/files/*\"", provider = "aws_s3", parameters = { host = "files.s3.amazonaws.com" } }]
}

# API Shield.
resource "cloudflare_api_shield_operation" "it" {
  zone_id  = var.zone
  endpoint = "/orders/{var1}"
  host     = "api.shop.example"
  method   = "GET"
}

resource "cloudflare_api_shield_operation_schema_validation_settings" "it" {
  zone_id           = var.zone
  operation_id      = cloudflare_api_shield_operation.it.id
  mitigation_action = var.edited ? "log" : "block"
}

resource "cloudflare_schema_validation_operation_settings" "it" {
  zone_id           = var.zone
  operation_id      = cloudflare_api_shield_operation.it.id
  mitigation_action = var.edited ? "log" : "block"
}

# Accounts: members, shares, clients.
resource "cloudflare_account_member" "it" {
  account_id = var.account
  email      = "ada@shop.example"
  status     = "accepted"
  policies   = [{ access = var.edited ? "deny" : "allow", permission_groups = [{ id = "c8fed203ed3043cba015a93ad1616f1f" }], resource_groups = [{ id = "6d7f2f5f5b1d4a0e9081fdc98d432fd1" }] }]
}

resource "cloudflare_user_group_members" "it" {
  account_id    = var.account
  user_group_id = cloudflare_user_group.it.id
  members       = [{ id = cloudflare_account_member.it.id }]
}

resource "cloudflare_sso_connector" "it" {
  account_id   = var.account
  email_domain = "shop.example"
  enabled      = var.edited
}

resource "cloudflare_share" "it" {
  account_id = var.account
  name       = var.edited ? "lists 2" : "lists"
  recipients = [{ recipient_account_id = "0123456789abcdef0123456789abcdef" }]
  resources  = [{ meta = jsonencode({}), resource_account_id = var.account, resource_id = "023e105f4ecef8ad9ca31a8372d0c353", resource_type = "custom-ruleset" }]
}

resource "cloudflare_share_recipient" "it" {
  account_id           = var.account
  share_id             = cloudflare_share.it.id
  recipient_account_id = "fedcba9876543210fedcba9876543210"
}

resource "cloudflare_share_resource" "it" {
  account_id          = var.account
  share_id            = cloudflare_share.it.id
  meta                = jsonencode(var.edited ? { note = "two" } : { note = "one" })
  resource_account_id = var.account
  resource_id         = "123e105f4ecef8ad9ca31a8372d0c353"
  resource_type       = "custom-ruleset"
}

# Flags, models, media.
resource "cloudflare_flagship_flag" "it" {
  account_id        = var.account
  app_id            = cloudflare_flagship_app.it.id
  key               = "checkout"
  flag_key          = "checkout"
  enabled           = var.edited
  default_variation = "off"
  variations        = { on = jsonencode(true), off = jsonencode(false) }
  rules             = []
}

resource "cloudflare_ai_gateway_dynamic_routing" "it" {
  account_id = var.account
  gateway_id = cloudflare_ai_gateway.it.id
  name       = "models"
  elements   = [{ id = "start", type = "start", outputs = { next = { element_id = "end" } } }, { id = "end", type = "end", outputs = {} }]
}

resource "cloudflare_ai_search_instance" "it" {
  account_id = var.account
  id         = "docs"
  type       = "r2"
  source     = "files"
  cache      = var.edited
}

resource "cloudflare_stream_caption_language" "it" {
  account_id = var.account
  identifier = "0123456789abcdef0123456789abcdef"
  language   = "en"
}

resource "cloudflare_r2_bucket_sippy" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  source      = { cloud_provider = "aws", bucket = var.edited ? "old2" : "old", region = "eu-north-1", access_key_id = "id", secret_access_key = "key" }
  destination = { cloud_provider = "r2", access_key_id = "id", secret_access_key = "key" }
}

resource "cloudflare_vulnerability_scanner_credential" "it" {
  account_id        = var.account
  credential_set_id = cloudflare_vulnerability_scanner_credential_set.it.id
  name              = var.edited ? "key 2" : "key"
  location          = "header"
  location_name     = "x-api-key"
  value             = "secret"
}

resource "cloudflare_vulnerability_scanner_target_environment" "it" {
  account_id  = var.account
  name        = "shop"
  description = var.edited ? "of the shop" : "the shop"
  target      = { type = "zone", zone_tag = var.zone }
}

# Workers, as the later part of the API has them.
resource "cloudflare_worker" "it" {
  account_id = var.account
  name       = "later"
  logpush    = var.edited
}

# What else there is of Zero Trust.
resource "cloudflare_zero_trust_access_ai_controls_mcp_server" "it" {
  account_id  = var.account
  id          = "server"
  name        = "server"
  hostname    = "https://server.shop.example/mcp"
  auth_type   = "unauthenticated"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_access_mtls_hostname_settings" "it" {
  account_id = var.account
  settings   = [{ hostname = "admin.shop.example", china_network = false, client_certificate_forwarding = var.edited }]
}

resource "cloudflare_zero_trust_access_short_lived_certificate" "it" {
  account_id = var.account
  app_id     = cloudflare_zero_trust_access_application.it.id
}

resource "cloudflare_zero_trust_device_custom_profile_local_domain_fallback" "it" {
  account_id = var.account
  policy_id  = cloudflare_zero_trust_device_custom_profile.it.id
  domains    = [{ suffix = "intern.example", description = var.edited ? "of the office" : "the office" }]
}

resource "cloudflare_zero_trust_device_default_profile_certificates" "it" {
  zone_id = var.zone
  enabled = var.edited
}

resource "cloudflare_zero_trust_device_default_profile_local_domain_fallback" "it" {
  account_id = var.account
  domains    = [{ suffix = "intern.example", description = var.edited ? "of the office" : "the office" }]
}

resource "cloudflare_zero_trust_dlp_custom_entry" "it" {
  account_id = var.account
  name       = var.edited ? "order 2" : "order"
  enabled    = true
  pattern    = { regex = "ORDER-[0-9]+" }
  profile_id = cloudflare_zero_trust_dlp_custom_profile.it.id
}

resource "cloudflare_zero_trust_dlp_data_class" "it" {
  account_id         = var.account
  name               = "orders"
  description        = var.edited ? "of the shop" : "the shop"
  expression         = "\"0123456789abcdef0123456789abcdef\""
  data_tags          = [cloudflare_zero_trust_dlp_data_tag.it.id]
  sensitivity_levels = [{ group_id = cloudflare_zero_trust_dlp_sensitivity_group.it.id, level_id = cloudflare_zero_trust_dlp_sensitivity_level.it.id }]
}

resource "cloudflare_zero_trust_dlp_data_tag" "it" {
  account_id  = var.account
  category_id = cloudflare_zero_trust_dlp_data_tag_category.it.id
  name        = "orders"
  description = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_dlp_predefined_profile" "it" {
  account_id          = var.account
  profile_id          = "c8932cc4-3312-4152-8041-f3f257122dc4"
  allowed_match_count = var.edited ? 2 : 1
  enabled_entries     = []
}

resource "cloudflare_zero_trust_dlp_sensitivity_level" "it" {
  account_id           = var.account
  sensitivity_group_id = cloudflare_zero_trust_dlp_sensitivity_group.it.id
  name                 = "high"
  description          = var.edited ? "of the shop" : "the shop"
}

resource "cloudflare_zero_trust_dlp_sensitivity_level_order" "it" {
  account_id           = var.account
  sensitivity_group_id = cloudflare_zero_trust_dlp_sensitivity_group.it.id
  level_ids            = [cloudflare_zero_trust_dlp_sensitivity_level.it.id]
}

resource "cloudflare_zero_trust_gateway_settings" "it" {
  account_id = var.account
  settings   = { activity_log = { enabled = var.edited } }
}

resource "cloudflare_zero_trust_risk_behavior" "it" {
  account_id = var.account
  behaviors  = { imp_travel = { enabled = true, risk_level = var.edited ? "low" : "high" } }
}

resource "cloudflare_r2_custom_domain" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  domain      = "cdn.shop.example"
  zone_id     = var.zone
  enabled     = true
  min_tls     = var.edited ? "1.3" : "1.2"
}

resource "cloudflare_r2_bucket_event_notification" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  queue_id    = cloudflare_queue.it.id
  rules = [{
    actions     = ["PutObject"]
    description = "what is new"
    prefix      = var.edited ? "new/" : "in/"
  }]
}

resource "cloudflare_account_token" "it" {
  account_id = var.account
  name       = var.edited ? "deployer" : "deploy"
  policies = [{
    effect            = "allow"
    permission_groups = [{ id = "00000000000000000000000000000001" }]
    resources         = jsonencode({ "com.cloudflare.api.account.${var.account}" = "*" })
  }]
}

resource "cloudflare_api_token" "it" {
  name = var.edited ? "mine again" : "mine"
  policies = [{
    effect            = "allow"
    permission_groups = [{ id = "00000000000000000000000000000001" }]
    resources         = jsonencode({ "com.cloudflare.api.account.${var.account}" = "*" })
  }]
}

resource "cloudflare_worker_version" "it" {
  account_id         = var.account
  worker_id          = cloudflare_worker.it.id
  main_module        = "index.js"
  compatibility_date = var.edited ? "2026-02-28" : "2026-01-31"
  modules = [{
    name           = "index.js"
    content_type   = "application/javascript+module"
    content_base64 = base64encode("export default { fetch: () => new Response('it') }")
  }]
}
