package cloudflaretest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// esm is an upload of one module, with more metadata.
func esm(text string, metadata object) Upload {
	u := Upload{
		Metadata: object{"main_module": "index.js", "compatibility_date": "2026-01-01"},
		Modules:  []Module{{Name: "index.js", Type: "application/javascript+module", Content: []byte(text)}},
	}
	maps.Copy(u.Metadata, metadata)
	return u
}

const answering = `export default { async fetch() { return new Response("hello") } }`

// TestUploadRefused: an upload that Cloudflare would not take is refused with its code, and nothing is made.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	bound := func(b object) object { return object{"bindings": []any{b}} }
	class := `export class Room {}; export default {}`
	for _, c := range []struct {
		name   string
		upload Upload
		code   int
	}{
		{"no main module", esm(answering, object{"main_module": "other.js"}), 10021},
		{"no handlers", esm("1", nil), 10068},
		{"a date to come", esm(answering, object{"compatibility_date": "2999-01-01"}), 10021},
		{"no namespace", esm(answering, bound(object{"type": "kv_namespace", "name": "KV", "namespace_id": hexID(16)})), 10041},
		{"no bucket", esm(answering, bound(object{"type": "r2_bucket", "name": "R2", "bucket_name": "none"})), 10085},
		{"no database", esm(answering, bound(object{"type": "d1", "name": "DB", "id": uuid()})), 10181},
		{"no queue", esm(answering, bound(object{"type": "queue", "name": "Q", "queue_name": "none"})), 11000},
		{"no service", esm(answering, bound(object{"type": "service", "name": "S", "service": "none"})), 10143},
		{"no service's environment", esm(answering, bound(object{"type": "service", "name": "S", "service": "none", "environment": "production"})), 10144},
		{"no assets", esm(answering, bound(object{"type": "assets", "name": "A"})), 10021},
		{"no migration", esm(class, bound(object{"type": "durable_object_namespace", "name": "DO", "class_name": "Room"})), 10061},
		{"no class", esm(answering, bound(object{"type": "durable_object_namespace", "name": "DO", "class_name": "Room"})), 10061},
		{"a migration to no class", esm(answering, object{"migrations": object{"new_tag": "v1", "new_sqlite_classes": []any{"Room"}}}), 10070},
		{"another tag", esm(class, object{"migrations": object{"old_tag": "v1", "new_sqlite_classes": []any{"Room"}}}), 10079},
		{"a class that never was", esm(class, object{"migrations": object{"deleted_classes": []any{"Other"}}}), 10074},
		{"names twice", esm(answering, object{"bindings": []any{
			object{"type": "plain_text", "name": "A", "text": "1"}, object{"type": "plain_text", "name": "A", "text": "2"},
		}}), 10021},
		{"a token that is none", esm(answering, object{"assets": object{"jwt": "none"}}), 10000},
	} {
		s := Start(t)
		_, envelope := s.TryUpload(t, "shop", c.upload)
		if code := codeOf(envelope); code != c.code {
			t.Errorf("%s: %v, want %d", c.name, envelope["errors"], c.code)
		}
		if list := s.Do(t, "GET", "/accounts/ACCOUNT/workers/scripts", nil).([]any); len(list) != 0 {
			t.Errorf("%s: made %v", c.name, list)
		}
	}
}

func codeOf(envelope object) int {
	errs, _ := envelope["errors"].([]any)
	if len(errs) == 0 {
		return 0
	}
	return int(errs[0].(object)["code"].(float64))
}

// read is what a GET below the scripts of the account answers.
func read(t *testing.T, s *Server, path string) object {
	t.Helper()
	return s.Do(t, "GET", "/accounts/ACCOUNT/workers/scripts/"+path, nil).(object)
}

// TestUploadAndRead: what was uploaded is read back, secrets by name alone; what an upload does not say goes, tags stay.
func TestUploadAndRead(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Upload(t, "shop", esm(answering, object{
		"tags": []any{"a=1", "b:2"}, "logpush": true, "observability": object{"enabled": true},
		"bindings": []any{
			object{"type": "plain_text", "name": "STAGE", "text": "prod"}, object{"type": "secret_text", "name": "KEY", "text": "hidden"},
		},
	}))
	settings := read(t, s, "shop/settings")
	if text := fmt.Sprint(settings); strings.Contains(text, "hidden") || !strings.Contains(text, "prod") || settings["logpush"] != true {
		t.Errorf("settings: %v", text)
	}
	for filter, want := range map[string]int{"a=1:yes": 1, "a=1:yes,b:2:yes": 1, "a=1:no": 0, "c:yes": 0} {
		if list := s.Do(t, "GET", "/accounts/ACCOUNT/workers/scripts?tags="+filter, nil).([]any); len(list) != want {
			t.Errorf("%s: %d Workers, want %d", filter, len(list), want)
		}
	}
	s.Upload(t, "shop", esm(answering, nil))
	settings = read(t, s, "shop/settings")
	if text := fmt.Sprint(settings["bindings"]); !strings.Contains(text, "KEY") || strings.Contains(text, "STAGE") {
		t.Errorf("kept: %v", text)
	}
	if len(settings["tags"].([]any)) != 2 || settings["logpush"] != false || settings["observability"] != nil {
		t.Errorf("after: %v", settings)
	}
	if n := len(s.Uploads("shop")); n != 2 {
		t.Errorf("%d uploads", n)
	}
}

// TestVersions: a version gets no traffic until it is deployed, and secrets are not changed past it.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Upload(t, "shop", esm(answering, nil))
	kind, body := esm(`export default { fetch() { return new Response("second") } }`, nil).Encode()
	_, envelope := s.send(t, http.MethodPost, "/accounts/ACCOUNT/workers/scripts/shop/versions", nil, kind, body)
	second := envelope["result"].(object)
	first := read(t, s, "shop/deployments")["deployments"].([]any)[0].(object)["versions"].([]any)[0].(object)["version_id"]
	if second["id"] == first || len(read(t, s, "shop/versions?deployable=true")["items"].([]any)) != 2 {
		t.Errorf("%v is live", first)
	}
	status, refused := s.TryWith(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/shop/secrets", nil, object{"name": "KEY", "type": "secret_text", "text": "x"})
	if status != 400 || codeOf(refused) != 10215 {
		t.Errorf("a secret past the newest version: %d %v", status, refused)
	}
	etag := s.Do(t, "GET", "/accounts/ACCOUNT/workers/scripts", nil).([]any)[0].(object)["etag"]
	share := func(a, b int) (int, object) {
		return s.TryWith(t, http.MethodPost, "/accounts/ACCOUNT/workers/scripts/shop/deployments", nil, object{
			"strategy": "percentage", "versions": []any{object{"version_id": second["id"], "percentage": a}, object{"version_id": first, "percentage": b}},
		})
	}
	if status, refused := share(10, 80); status != 400 {
		t.Errorf("shares that make 90: %d %v", status, refused)
	}
	if status, refused := share(10, 90); status != 200 {
		t.Errorf("shares that make 100: %d %v", status, refused)
	}
	if now := s.Do(t, "GET", "/accounts/ACCOUNT/workers/scripts", nil).([]any)[0].(object)["etag"]; now == etag {
		t.Errorf("the code is still %v", now)
	}
	s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/shop/secrets", object{"name": "KEY", "type": "secret_text", "text": "x"})
	s.Do(t, http.MethodDelete, "/accounts/ACCOUNT/workers/scripts/shop/secrets/KEY", nil)
}

// TestClasses follows a class of Durable Objects through its life.
func TestClasses(t *testing.T) {
	t.Parallel()
	s := Start(t)
	room := object{"type": "durable_object_namespace", "name": "ROOM", "class_name": "Room"}
	s.Upload(t, "shop", esm(`export class Room {}; export default {}`, object{
		"bindings": []any{room}, "migrations": object{"new_tag": "v1", "new_sqlite_classes": []any{"Room"}},
	}))
	s.AddDurableObject("shop", "Room")
	list := s.Do(t, "GET", "/accounts/ACCOUNT/workers/durable_objects/namespaces", nil).([]any)
	id := list[0].(object)["id"].(string)
	if objects := s.Do(t, "GET", "/accounts/ACCOUNT/workers/durable_objects/namespaces/"+id+"/objects", nil).([]any); len(objects) != 1 {
		t.Errorf("objects: %v", objects)
	}
	if _, envelope := s.TryUpload(t, "shop", esm(answering, nil)); codeOf(envelope) != 10064 {
		t.Errorf("without its class: %v", envelope["errors"])
	}
	if _, envelope := s.TryUpload(t, "shop", esm(answering, object{
		"bindings": []any{room}, "migrations": object{"old_tag": "v1", "new_tag": "v2", "deleted_classes": []any{"Room"}},
	})); codeOf(envelope) != 10061 {
		t.Errorf("deleted and bound: %v", envelope["errors"])
	}
	s.Upload(t, "shop", esm(`class A {}; export { A as Hall }; export default {}`, object{
		"migrations": object{"old_tag": "v1", "new_tag": "v2", "renamed_classes": []any{object{"from": "Room", "to": "Hall"}}},
	}))
	if list := s.Do(t, "GET", "/accounts/ACCOUNT/workers/durable_objects/namespaces", nil).([]any); list[0].(object)["id"] != id || list[0].(object)["class"] != "Hall" {
		t.Errorf("renamed: %v", list)
	}
	s.Upload(t, "shop", esm(answering, object{"migrations": object{"old_tag": "v2", "new_tag": "v3", "steps": []any{object{"deleted_classes": []any{"Hall"}}}}}))
	if list := s.Do(t, "GET", "/accounts/ACCOUNT/workers/durable_objects/namespaces", nil).([]any); len(list) != 0 {
		t.Errorf("deleted: %v", list)
	}
}

// TestDeleteScript: a Worker that others need goes by force alone, and a consumer of a queue not even so.
func TestDeleteScript(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Upload(t, "api", esm(answering, nil))
	s.Upload(t, "shop", esm(answering, object{"bindings": []any{object{"type": "service", "name": "API", "service": "api"}}}))
	queue := hexID(16)
	s.AddQueue(queue, "jobs")
	made := s.Do(t, http.MethodPost, "/accounts/ACCOUNT/queues/"+queue+"/consumers", object{"type": "worker", "script_name": "shop"}).(object)
	for _, c := range []struct {
		path string
		code int
	}{{"api", 10142}, {"api?force=true", 0}, {"shop?force=true", 10064}, {"none", 10007}} {
		if _, envelope := s.TryWith(t, http.MethodDelete, "/accounts/ACCOUNT/workers/scripts/"+c.path, nil, nil); codeOf(envelope) != c.code {
			t.Errorf("%s: %v, want %d", c.path, envelope["errors"], c.code)
		}
	}
	s.Do(t, http.MethodDelete, "/accounts/ACCOUNT/queues/"+queue+"/consumers/"+made["consumer_id"].(string), nil)
	s.Do(t, http.MethodDelete, "/accounts/ACCOUNT/workers/scripts/shop", nil)
}
