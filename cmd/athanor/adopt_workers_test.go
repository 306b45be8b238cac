//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// madeWorkers is an app of Workers that was made outside athanor: a script with a trigger and a domain, what it is bound to, a route and a
// record.
type madeWorkers struct {
	server *cloudflaretest.Server
	zone   string
	ids    map[string]string // by type of Terraform
}

// makeWorkers makes the app, and gives it the state that the real provider of Cloudflare wrote of another one, with its own ids.
func makeWorkers(t *testing.T, server *cloudflaretest.Server) (*madeWorkers, string) {
	t.Helper()
	m := &madeWorkers{server: server, zone: server.AddZone(server.Account, "example.com"), ids: map[string]string{}}
	account, zone := "/accounts/"+server.Account, "/zones/"+m.zone
	for typ, made := range map[string]struct {
		method, path, id string
		body             attributes
	}{
		"cloudflare_workers_kv_namespace": {"POST", account + "/storage/kv/namespaces", "id", attributes{"title": "shop-cache"}},
		"cloudflare_d1_database":          {"POST", account + "/d1/database", "uuid", attributes{"name": "shop-db"}},
		"cloudflare_r2_bucket":            {"POST", account + "/r2/buckets", "name", attributes{"name": "shop-files"}},
		"cloudflare_queue":                {"POST", account + "/queues", "queue_id", attributes{"queue_name": "shop-jobs"}},
		"cloudflare_dns_record":           {"POST", zone + "/dns_records", "id", attributes{"name": "www.example.com", "type": "CNAME", "content": "example.org", "ttl": 300, "proxied": false}},
	} {
		answer, _ := server.Do(t, made.method, made.path, made.body).(attributes)
		id, ok := answer[made.id].(string)
		if !ok {
			t.Fatalf("%s: %v", typ, answer)
		}
		m.ids[typ] = id
	}
	m.upload(t, "export default { fetch() { return new Response('hello') } }\n", "2025-01-01",
		attributes{"name": "CACHE", "type": "kv_namespace", "namespace_id": m.ids["cloudflare_workers_kv_namespace"]},
		attributes{"name": "LEVEL", "type": "plain_text", "text": "debug"}, attributes{"name": "TOKEN", "type": "secret_text", "text": "tok-very-secret-3"},
		attributes{"name": "DB", "type": "d1", "id": m.ids["cloudflare_d1_database"]}, attributes{"name": "FILES", "type": "r2_bucket", "bucket_name": "shop-files"},
		attributes{"name": "JOBS", "type": "queue", "queue_name": "shop-jobs"})
	server.Do(t, http.MethodPut, account+"/workers/scripts/shop-api/schedules", []any{attributes{"cron": "0 3 * * *"}})
	domain, _ := server.Do(t, http.MethodPut, account+"/workers/domains", attributes{"zone_id": m.zone, "hostname": "api.example.com", "service": "shop-api", "environment": "production"}).(attributes)
	m.ids["cloudflare_workers_custom_domain"], _ = domain["id"].(string)
	route, _ := server.Do(t, http.MethodPost, zone+"/workers/routes", attributes{"pattern": "example.com/api/*", "script": "shop-api"}).(attributes)
	m.ids["cloudflare_workers_route"], _ = route["id"].(string)

	state := tofuState(t, "cloudflare.tfstate")
	theirs := stateIDs(t, state)
	changes := []string{theirs["account"], server.Account, theirs["zone"], m.zone}
	for typ, id := range m.ids {
		changes = append(changes, theirs[typ], id)
	}
	return m, strings.NewReplacer(changes...).Replace(state)
}

// stateIDs are the ids in a state of Workers by their types, and those of the account and the zone.
func stateIDs(t *testing.T, text string) map[string]string {
	t.Helper()
	var state struct {
		Resources []struct {
			Type      string
			Instances []struct{ Attributes attributes }
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range state.Resources {
		of := r.Instances[0].Attributes
		all[r.Type], _ = of["id"].(string)
		for name, attr := range map[string]string{"account": "account_id", "zone": "zone_id"} {
			if id, ok := of[attr].(string); ok {
				all[name] = id
			}
		}
	}
	return all
}

// upload uploads the script as somebody else.
func (m *madeWorkers) upload(t *testing.T, code, date string, bindings ...any) {
	t.Helper()
	m.server.Upload(t, "shop-api", cloudflaretest.Upload{
		Metadata: attributes{"main_module": "worker.js", "compatibility_date": date, "bindings": bindings},
		Modules:  []cloudflaretest.Module{{Name: "worker.js", Type: "application/javascript+module", Content: []byte(code)}},
	})
}

// TestAdoptWorkers takes over an app of Workers. Each prop that is changed by hand is drift.
func TestAdoptWorkers(t *testing.T) {
	t.Parallel()
	server := cloudflaretest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	m, state := makeWorkers(t, server)
	w.write("shop.tfstate", state)
	p := &adoptedProject{world: w, mapped: 7, folded: 2, mutations: func() int { return len(server.Mutations()) }}
	p.tagged = []string{"mark"} // the code is read, and is what would be uploaded
	p.take()
	for _, want := range []string{"kv: ${cache.id}", "d1: ${db.id}", "r2: ${files.name}", "queue: ${jobs.name}", "0 3 * * *", "- api.example.com"} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %s in\n%s", want, p.yaml)
		}
	}
	if strings.Contains(p.yaml, "tok-very-secret-3") {
		t.Error("a secret is shown")
	}
	m.drifts(p)
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	for _, kind := range []string{"storage/kv/namespaces", "d1/database", "queues", "workers/scripts"} {
		if left, _ := server.Do(t, http.MethodGet, "/accounts/"+server.Account+"/"+kind, nil).([]any); len(left) != 0 {
			t.Errorf("%s: %v", kind, left)
		}
	}
}

// neverChanged are props of the app that identify an object, or that nothing but a replacement changes.
var neverChanged = []string{
	"db name", "files name", "files locationHint", "jobs name", "www zone", "www name", "www type", "workers_script-api name", "workers_route-api zone",
}

// drifts changes by hand each prop that is declared, and those that have their defaults, and wants each to be drift.
func (m *madeWorkers) drifts(p *adoptedProject) {
	t := p.t
	t.Helper()
	account, zone := "/accounts/"+m.server.Account, "/zones/"+m.zone
	do := func(method, path string, body any) { t.Helper(); m.server.Do(t, method, path, body) }
	m.server.AddScript("other-api")
	do(http.MethodPut, account+"/storage/kv/namespaces/"+m.ids["cloudflare_workers_kv_namespace"], attributes{"title": "other"})
	do(http.MethodPatch, account+"/d1/database/"+m.ids["cloudflare_d1_database"], attributes{"read_replication": attributes{"mode": "auto"}})
	m.server.DoWith(t, http.MethodPatch, account+"/r2/buckets/shop-files", http.Header{"Cf-R2-Storage-Class": {"InfrequentAccess"}}, nil)
	do(http.MethodPatch, account+"/queues/"+m.ids["cloudflare_queue"], attributes{"settings": attributes{"delivery_delay": 5, "delivery_paused": true, "message_retention_period": 86400}})
	do(http.MethodPatch, zone+"/dns_records/"+m.ids["cloudflare_dns_record"], attributes{"name": "www.example.com", "type": "CNAME", "content": "other.example", "ttl": 600})
	do(http.MethodPut, zone+"/workers/routes/"+m.ids["cloudflare_workers_route"], attributes{"pattern": "example.com/other/*", "script": "other-api"})
	do(http.MethodPut, account+"/workers/scripts/shop-api/schedules", []any{attributes{"cron": "0 4 * * *"}})
	domains, _ := m.server.Do(t, http.MethodGet, account+"/workers/domains", nil).([]any)
	for _, d := range domains {
		if id, ok := d.(attributes)["id"].(string); ok {
			do(http.MethodDelete, account+"/workers/domains/"+id, nil)
		}
	}
	m.upload(t, "export default { fetch() { return new Response('other') } }\n", "2025-02-02", attributes{"name": "LEVEL", "type": "plain_text", "text": "info"})
	edited := map[string]bool{}
	found := p.planned(2)
	for address, props := range map[string][]string{
		"cache": {"title"}, "db": {"readReplication"}, "files": {"storageClass"}, "jobs": {"deliveryDelay", "deliveryPaused", "messageRetention"}, "www": {"content", "ttl"},
		"workers_route-api": {"pattern", "script"}, "workers_script-api": {"code", "crons", "domains", "compatibilityDate", "env"},
	} {
		for _, prop := range props {
			edited[address+" "+prop] = true
			if !shows(found[address], prop) {
				t.Errorf("%s %s is no drift: %v", address, prop, found[address])
			}
		}
	}
	for address, props := range p.props() {
		for prop := range props {
			if at := address + " " + prop; edited[at] == slices.Contains(neverChanged, at) {
				t.Errorf("%s: it is changed, %t, or it is said never to be", at, edited[at])
			}
		}
	}
	said := p.run(2, "drift")
	for address := range found {
		if !strings.Contains(said, address) {
			t.Errorf("%s is no drift:\n%s", address, said)
		}
	}
	do(http.MethodDelete, account+"/workers/scripts/other-api", nil)
}
