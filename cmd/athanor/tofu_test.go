//go:build peers

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// tofu is the real tofu with the real providers, in the folder of a world.
type tofu struct {
	*world
	program string
}

// newTofu finds tofu at $ATHANOR_TOFU and its providers in $ATHANOR_PEERS.
func newTofu(t *testing.T) *tofu {
	t.Helper()
	program, peers := os.Getenv("ATHANOR_TOFU"), os.Getenv("ATHANOR_PEERS")
	if program == "" || peers == "" {
		t.Fatal("$ATHANOR_TOFU names no tofu, or $ATHANOR_PEERS no folder with its providers: task peers sets them")
	}
	p := &tofu{newWorld(t, "stack: outer\nresources: {}\n"), program}
	var overrides strings.Builder
	for _, name := range []string{"hashicorp/random", "hashicorp/local", "hashicorp/null", "hashicorp/tls", "cloudflare/cloudflare", "cyrilgdn/postgresql"} {
		fmt.Fprintf(&overrides, "%q = %q\n", name, peers)
	}
	p.write("tofurc", "provider_installation {\n dev_overrides {\n"+overrides.String()+" }\n}\n")
	p.env = append(p.env, "TF_CLI_CONFIG_FILE="+filepath.Join(p.dir, "tofurc"), "CHECKPOINT_DISABLE=1")
	return p
}

// newTofuOf is tofu with a folder in it, and what the provider of Cloudflare asks of a server.
func newTofuOf(t *testing.T, server *cloudflaretest.Server, folder string) *tofu {
	t.Helper()
	p := newTofu(t)
	for name, value := range server.Env() {
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "CLOUDFLARE_BASE_URL="+server.URL)
	if err := os.Mkdir(filepath.Join(p.dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// tofu runs it in a folder.
func (p *tofu) tofu(folder string, args ...string) {
	p.t.Helper()
	cmd := limited(p.t, p.program, args...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, folder), p.env
	if out, err := cmd.CombinedOutput(); err != nil && args[0] != "init" { // init finds no release of what is overridden
		p.t.Fatalf("tofu %v: %v\n%s", args, err, out)
	}
}

// project writes the configuration of the project, with a backend.
func (p *tofu) project(backend string) {
	p.t.Helper()
	if err := os.CopyFS(filepath.Join(p.dir, "shop"), os.DirFS("../../adopt/from/terraform/testdata/tofu/modules")); err != nil {
		p.t.Fatal(err)
	}
	p.write("shop/backend.tf", backend)
	p.tofu("shop", "init", "-no-color")
}

// keep writes a state into the testdata of adopt/from/terraform, where $ATHANOR_UPDATE asks for it.
func (p *tofu) keep(state, name string) {
	if os.Getenv("ATHANOR_UPDATE") == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(p.dir, state))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("../../adopt/from/terraform/testdata/tofu", name), data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// adopted takes over what the project has made, and changes nothing.
func (p *tofu) adopted(where string, args ...string) {
	p.t.Helper()
	out := p.run(0, append([]string{"adopt", "--from", where}, args...)...)
	for _, want := range []string{"m-1/deep/deep:", "path: shop/out/", "pw: ${secret.dbResult}"} {
		if !strings.Contains(out, want) {
			p.t.Errorf("there is no %s in\n%s", want, out)
		}
	}
	p.write("athanor.yaml", out)
	stage := append([]string{"--yes"}, args...)
	wantCounts(p.t, p.summary(0, append([]string{"deploy", "--adopt"}, stage...)...), map[string]float64{"recovered": 10, "created": 0, "updated": 0, "replaced": 0, "deleted": 0})
	wantCounts(p.t, p.summary(0, append([]string{"deploy"}, stage...)...), map[string]float64{"recovered": 0, "unchanged": 10})
}

// TestRealTofu adopts what the real tofu has made, with modules, for_each, a moved block and sensitive outputs, from a file, from
// an encrypted one and from the file of a workspace.
func TestRealTofu(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		p := newTofu(t)
		p.project("")
		p.tofu("shop", "apply", "-auto-approve", "-no-color")
		p.keep("shop/terraform.tfstate", "modules.tfstate")
		p.adopted("shop/terraform.tfstate", "--stage", "prod")
	})
	t.Run("shown", func(t *testing.T) {
		p := newTofu(t)
		p.project("")
		p.tofu("shop", "apply", "-auto-approve", "-no-color")
		cmd := limited(t, p.program, "show", "-json")
		cmd.Dir, cmd.Env = filepath.Join(p.dir, "shop"), p.env
		shown, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		p.write("shop/shown.json", string(shown))
		p.adopted("shop/shown.json", "--stage", "prod")
	})
	t.Run("workspace", func(t *testing.T) {
		p := newTofu(t)
		p.project("")
		p.tofu("shop", "workspace", "new", "blue")
		p.tofu("shop", "apply", "-auto-approve", "-no-color")
		p.adopted("shop/terraform.tfstate.d/blue/terraform.tfstate", "--stage", "blue")
	})
	t.Run("encrypted", func(t *testing.T) {
		p := newTofu(t)
		p.project(`terraform {
  encryption {
    key_provider "pbkdf2" "mine" {
      passphrase = "correct-horse-battery-staple"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.mine
    }
    state {
      method = method.aes_gcm.m
    }
  }
}`)
		p.tofu("shop", "apply", "-auto-approve", "-no-color")
		if _, said, code := p.printed("", "adopt", "--from", "shop/terraform.tfstate"); code != 1 || !strings.Contains(said, "the state is encrypted") {
			t.Errorf("exit code %d: %s", code, said)
		}
		p.env = append(p.env, "ATHANOR_SOURCE_PASSPHRASE=correct-horse-battery-staple")
		p.adopted("shop/terraform.tfstate", "--stage", "prod")
	})
}

// remote makes the project with a backend, and reads its state there.
func (p *tofu) remote(backend, where string) {
	p.t.Helper()
	p.project(backend)
	p.tofu("shop", "workspace", "new", "blue")
	p.tofu("shop", "apply", "-auto-approve", "-no-color")
	out, said, code := p.printed("", "adopt", "--from", where, "--no-observe")
	if code != 0 || !strings.Contains(out, "m-1/deep/deep:") || !strings.Contains(said, "10 objects mapped") {
		p.t.Errorf("%s: exit code %d\n%s%s", where, code, out, said)
	}
}

// TestRealBackends reads states where the real backends of tofu keep them.
func TestRealBackends(t *testing.T) {
	t.Run("pg", func(t *testing.T) {
		database := pgtest.Start(t).Database(t)
		p := newTofu(t)
		p.remote(`terraform {
  backend "pg" {
    conn_str = "`+withQuery(t, database, "sslmode", "disable")+`"
  }
}`, withQuery(t, database, "workspace", "blue"))
	})
	t.Run("s3", func(t *testing.T) {
		server := s3test.Start(t, s3test.Versitygw)
		u, err := url.Parse(server.URL(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/env:/blue/net.tfstate"
		p := newTofu(t)
		p.env = append(p.env, server.Environment()...)
		p.remote(`terraform {
  backend "s3" {
    bucket = "`+u.Host+`"
    key = "net.tfstate"
    region = "`+u.Query().Get("region")+`"
    use_path_style = true
    skip_credentials_validation = true
    skip_requesting_account_id = true
    skip_region_validation = true
    endpoints = {
      s3 = "`+server.Origin+`"
    }
  }
}`, u.String())
	})
	t.Run("http", func(t *testing.T) {
		var kept []byte
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				kept, _ = io.ReadAll(r.Body)
			case r.Method == http.MethodGet && kept == nil:
				rw.WriteHeader(http.StatusNotFound)
			default:
				_, _ = rw.Write(kept)
			}
		}))
		t.Cleanup(server.Close)
		p := newTofu(t)
		p.project("terraform {\n  backend \"http\" {\n    address = \"" + server.URL + "/net\"\n  }\n}")
		p.tofu("shop", "apply", "-auto-approve", "-no-color")
		if out := p.run(0, "adopt", "--from", server.URL+"/net", "--no-observe"); !strings.Contains(out, "stack: net\n") || !strings.Contains(out, "m-1/deep/deep:") {
			t.Error(out)
		}
	})
}

// TestRealTofuReadsOutputs gives what a stack prints to the real tofu, which finds each value as it is.
func TestRealTofuReadsOutputs(t *testing.T) {
	p := newTofu(t)
	const odd = "a\"b\\c${d}%{e}\n\té $"
	p.write("athanor.yaml", "stack: net\nsecrets: {pw: {env: ATHANOR_SECRET_PW}}\nresources:\n  v: {kind: local.Value, props: {input: 1}}\noutputs:\n  text: "+
		`"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "${", "$${").Replace(odd)+`"`+"\n  list: [a, 1]\n  map: {x y: {z: true}}\n  pw: ${secret.pw}\n")
	p.env = append(p.env, "ATHANOR_SECRET_PW=hunter2")
	p.run(0, "deploy", "--yes")
	vars, said, code := p.printed("", "output", "--tfvars")
	if code != 0 || strings.Contains(vars, "pw") || !strings.Contains(said, "left out: pw") {
		t.Errorf("exit code %d\n%s%s", code, vars, said)
	}
	if err := os.Mkdir(filepath.Join(p.dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("shop/main.tf", "variable \"text\" {}\nvariable \"list\" {}\nvariable \"map\" {}\noutput \"all\" {\n value = jsonencode([var.text, var.list, var.map])\n}\n")
	p.write("shop/net.auto.tfvars", vars)
	p.tofu("shop", "init")
	p.tofu("shop", "apply", "-auto-approve")
	cmd := limited(t, p.program, "output", "-raw", "all")
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "shop"), p.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var have []any
	if err := json.Unmarshal(out, &have); err != nil || len(have) != 3 || have[0] != odd || fmt.Sprint(have[1:]) != "[[a 1] map[x y:map[z:true]]]" {
		t.Errorf("%s: %v", out, err)
	}
}

// TestRealCloudflareProvider adopts what the real provider of Cloudflare has made at a Cloudflare of ours.
func TestRealCloudflareProvider(t *testing.T) {
	server := cloudflaretest.Start(t)
	zone := server.AddZone(server.Account, "example.com")
	p := newTofuOf(t, server, "shop")
	p.write("shop/worker.js", "export default { fetch() { return new Response('hello') } }\n")
	p.write("shop/main.tf", `terraform {
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
resource "cloudflare_workers_kv_namespace" "cache" {
  account_id = local.account
  title      = "shop-cache"
}
resource "cloudflare_d1_database" "db" {
  account_id = local.account
  name       = "shop-db"
  read_replication = {
    mode = "disabled"
  }
}
resource "cloudflare_r2_bucket" "files" {
  account_id = local.account
  name       = "shop-files"
}
resource "cloudflare_queue" "jobs" {
  account_id = local.account
  queue_name = "shop-jobs"
}
resource "cloudflare_dns_record" "www" {
  zone_id = local.zone
  name    = "www.example.com"
  type    = "CNAME"
  content = "example.org"
  ttl     = 300
  proxied = false
}
resource "cloudflare_workers_script" "api" {
  account_id         = local.account
  script_name        = "shop-api"
  content            = file("worker.js")
  main_module        = "worker.js"
  compatibility_date = "2025-01-01"
  bindings = [
    { type = "kv_namespace", name = "CACHE", namespace_id = cloudflare_workers_kv_namespace.cache.id },
    { type = "plain_text", name = "LEVEL", text = "debug" },
    { type = "secret_text", name = "TOKEN", text = "tok-very-secret-3" },
    { type = "d1", name = "DB", id = cloudflare_d1_database.db.id },
    { type = "r2_bucket", name = "FILES", bucket_name = cloudflare_r2_bucket.files.name },
    { type = "queue", name = "JOBS", queue_name = cloudflare_queue.jobs.queue_name },
  ]
}
resource "cloudflare_workers_cron_trigger" "api" {
  account_id  = local.account
  script_name = cloudflare_workers_script.api.script_name
  schedules   = [{ cron = "0 3 * * *" }]
}
resource "cloudflare_workers_custom_domain" "api" {
  account_id = local.account
  zone_id    = local.zone
  hostname   = "api.example.com"
  service    = cloudflare_workers_script.api.script_name
}
resource "cloudflare_workers_route" "api" {
  zone_id = local.zone
  pattern = "example.com/api/*"
  script  = cloudflare_workers_script.api.script_name
}
`)
	p.tofu("shop", "init")
	p.tofu("shop", "apply", "-auto-approve", "-no-color")
	p.keep("shop/terraform.tfstate", "cloudflare.tfstate")
	var r adoption
	printed := p.run(0, "adopt", "--from", "shop/terraform.tfstate", "--stage", "prod", "--json")
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if r.Counts.Mapped != 7 || r.Counts.Folded != 2 || len(r.Drift) != 0 || strings.Contains(printed, "tok-very-secret-3") {
		t.Errorf("%+v\n%s", r.Counts, printed)
	}
	for _, want := range []string{"d1: ${db.id}", "r2: ${files.name}", "queue: ${jobs.name}", "0 3 * * *", "- api.example.com"} {
		if !strings.Contains(r.YAML, want) {
			t.Errorf("there is no %s in\n%s", want, r.YAML)
		}
	}
	p.write("athanor.yaml", r.YAML)
	before := len(server.Mutations())
	if s := p.summary(0, "deploy", "--adopt", "--yes", "--stage", "prod"); s["created"] != 0.0 || s["updated"] != 0.0 || s["replaced"] != 0.0 || s["deleted"] != 0.0 {
		t.Errorf("%v", s)
	}
	for _, call := range server.Mutations()[before:] { // owner tags alone: the plain binding stays a plain one
		if body := string(call.Body); strings.Contains(body, `"type":"secret_text"`) {
			t.Errorf("%s %s: %s", call.Method, call.URI, body)
		}
	}
	before = len(server.Mutations())
	p.run(0, "deploy", "--yes", "--stage", "prod")
	if after := server.Mutations(); len(after) != before {
		t.Errorf("a second deploy changes something: %v", after[before:])
	}
	p.env = append(p.env, "ATHANOR_STAGE=prod")
	made := &madeWorkers{server, zone, stateIDs(t, p.read("shop/terraform.tfstate"))}
	made.drifts(&adoptedProject{world: p.world, yaml: r.YAML})
	p.run(0, "destroy", "--yes", "--stage", "prod", "--allow-delete", "*")
	for _, kind := range []string{"storage/kv/namespaces", "d1/database", "queues", "workers/scripts"} {
		if left, _ := server.Do(t, http.MethodGet, "/accounts/"+server.Account+"/"+kind, nil).([]any); len(left) != 0 {
			t.Errorf("%s: %v", kind, left)
		}
	}
}
