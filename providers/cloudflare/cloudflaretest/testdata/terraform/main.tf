# One resource of each type that this server and the provider have in common. "edited" is the step of the test: false at first.
terraform {
  required_providers {
    cloudflare = { source = "cloudflare/cloudflare" }
  }
}

provider "cloudflare" {
  base_url = var.base
}

variable "base" { type = string }
variable "account" { type = string }
variable "zone" { type = string }
variable "edited" { type = bool }

resource "cloudflare_workers_kv_namespace" "it" {
  account_id = var.account
  title      = var.edited ? "sessions" : "cache"
}

resource "cloudflare_workers_kv" "it" {
  account_id   = var.account
  namespace_id = cloudflare_workers_kv_namespace.it.id
  key_name     = "greeting"
  value        = var.edited ? "welcome" : "hello"
}

resource "cloudflare_r2_bucket" "it" {
  account_id = var.account
  name       = "files"
}

resource "cloudflare_r2_bucket_cors" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  rules       = [{ id = "all", allowed = { methods = ["GET"], origins = [var.edited ? "https://www.shop.example" : "https://shop.example"] } }]
}

resource "cloudflare_r2_managed_domain" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  enabled     = var.edited
}

resource "cloudflare_queue" "it" {
  account_id = var.account
  queue_name = "jobs"
  settings   = { delivery_delay = var.edited ? 5 : 0, delivery_paused = false, message_retention_period = 345600 }
}

resource "cloudflare_queue_consumer" "it" {
  account_id  = var.account
  queue_id    = cloudflare_queue.it.id
  script_name = cloudflare_workers_script.it.script_name
  type        = "worker"
  settings    = { batch_size = var.edited ? 20 : 10, max_retries = 3, max_wait_time_ms = 5000, retry_delay = 0 }
}

resource "cloudflare_d1_database" "it" {
  account_id = var.account
  name       = "orders"

  read_replication = { mode = var.edited ? "auto" : "disabled" } # undeclared it is a difference for ever, github.com/cloudflare/terraform-provider-cloudflare/pull/7243
}

resource "cloudflare_hyperdrive_config" "it" {
  account_id = var.account
  name       = "orders"
  origin     = { database = "orders", host = "db.shop.example", port = 5432, scheme = "postgres", user = var.edited ? "bob" : "ada", password = "secret" }
}

resource "cloudflare_dns_record" "it" {
  zone_id = var.zone
  name    = "www.shop.example"
  type    = "A"
  content = var.edited ? "192.0.2.2" : "192.0.2.1"
  ttl     = 300
}

resource "cloudflare_zone_setting" "it" {
  zone_id    = var.zone
  setting_id = "always_use_https"
  value      = var.edited ? "off" : "on"
}

resource "cloudflare_ruleset" "it" {
  zone_id = var.zone
  name    = "shop"
  kind    = "zone"
  phase   = "http_request_firewall_custom"
  rules   = [{ expression = "http.host eq \"old.shop.example\"", action = var.edited ? "managed_challenge" : "block", description = "old" }]
}

resource "cloudflare_workers_script" "it" {
  account_id         = var.account
  script_name        = "shop"
  main_module        = "index.js"
  content            = "import { WorkflowEntrypoint } from 'cloudflare:workers'; export class Pay extends WorkflowEntrypoint { async run() {} }; export default { fetch: () => new Response('${var.edited ? "welcome" : "hello"}'), queue() {} };"
  compatibility_date = "2026-01-01"
  bindings           = [{ name = "CACHE", type = "kv_namespace", namespace_id = cloudflare_workers_kv_namespace.it.id }]
}

resource "cloudflare_workers_script_subdomain" "it" {
  account_id       = var.account
  script_name      = cloudflare_workers_script.it.script_name
  enabled          = var.edited
  previews_enabled = false
}

resource "cloudflare_workers_cron_trigger" "it" {
  account_id  = var.account
  script_name = cloudflare_workers_script.it.script_name
  schedules   = [{ cron = var.edited ? "0 4 * * *" : "0 3 * * *" }]
}

resource "cloudflare_workers_route" "it" {
  zone_id = var.zone
  pattern = var.edited ? "shop.example/api/v2/*" : "shop.example/api/*"
  script  = cloudflare_workers_script.it.script_name
}

resource "cloudflare_workers_custom_domain" "it" {
  account_id = var.account
  zone_id    = var.zone
  hostname   = "app.shop.example"
  service    = cloudflare_workers_script.it.script_name
}

resource "cloudflare_workflow" "it" {
  account_id    = var.account
  workflow_name = "pay"
  class_name    = "Pay"
  script_name   = cloudflare_workers_script.it.script_name
}

resource "cloudflare_zone" "it" {
  account = { id = var.account }
  name    = "other.example"
  type    = "full"
}

resource "cloudflare_r2_bucket_lifecycle" "it" {
  account_id  = var.account
  bucket_name = cloudflare_r2_bucket.it.name
  rules = [{
    id                        = "old"
    enabled                   = var.edited
    conditions                = { prefix = "logs/" }
    delete_objects_transition = { condition = { type = "Age", max_age = 2592000 } }
  }]
}
