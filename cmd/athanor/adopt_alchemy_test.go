//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// alchemyState is a state as alchemy 0.77.0 writes it: testdata/alchemy of adopt/from/terraform has some that it wrote.
func alchemyState(t *testing.T, kind, id string, output map[string]any) string {
	t.Helper()
	output["Symbol(alchemy::ResourceKind)"] = kind
	text, err := json.Marshal(map[string]any{
		"status": "created", "kind": kind, "id": id, "fqn": "shop/prod/" + id, "seq": 0, "data": map[string]any{}, "props": map[string]any{}, "output": output,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAdoptFromAlchemy adopts what lies at Cloudflare by a folder of states: nothing is created or deleted, the second deploy changes
// nothing, and drift is seen. The states stay as they were.
func TestAdoptFromAlchemy(t *testing.T) {
	cloud := cloudflaretest.Start(t)
	w := newWorld(t, "")
	for name, value := range cloud.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.env = append(w.env, "ALCHEMY_PASSWORD=hunter2hunter2")
	account := "/accounts/" + cloud.Account
	made := func(path, field string, body map[string]any) string {
		t.Helper()
		answer, _ := cloud.Do(t, "POST", account+path, body).(map[string]any)
		id, ok := answer[field].(string)
		if !ok {
			t.Fatalf("%s: %v", path, answer)
		}
		return id
	}
	namespace := made("/storage/kv/namespaces", "id", map[string]any{"title": "shop-sessions"})
	queue := made("/queues", "queue_id", map[string]any{"queue_name": "shop-jobs"})
	database := made("/d1/database", "uuid", map[string]any{"name": "shop-orders"})
	states := map[string]string{
		"sessions": alchemyState(t, "cloudflare::KVNamespace", "sessions", map[string]any{"type": "kv_namespace", "namespaceId": namespace, "title": "shop-sessions"}),
		"jobs":     alchemyState(t, "cloudflare::Queue", "jobs", map[string]any{"type": "queue", "id": queue, "name": "shop-jobs", "settings": map[string]any{"deliveryDelay": 5}}),
		"orders":   alchemyState(t, "cloudflare::D1Database", "orders", map[string]any{"type": "d1", "id": database, "name": "shop-orders", "readReplication": map[string]any{"mode": "disabled"}}),
		"pg":       alchemyState(t, "cloudflare::Hyperdrive", "pg", map[string]any{"type": "hyperdrive", "hyperdriveId": "h-1", "name": "shop-pg"}),
		"note":     alchemyState(t, "fs::File", "note", map[string]any{"path": "note.txt", "content": "hello"}),
	}
	if err := os.MkdirAll(filepath.Join(w.dir, ".alchemy/shop/prod"), 0o700); err != nil {
		t.Fatal(err)
	}
	for id, text := range states {
		w.write(".alchemy/shop/prod/"+id+".json", text)
	}

	w.follow("from-alchemy.md")
	var r adoption
	printed := w.run(0, "adopt", "--from", ".alchemy/shop/prod", "--json")
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if r.Counts.Mapped != 3 || r.Counts.Unmapped != 1 || r.Counts.Ambiguous != 0 || !strings.Contains(printed, `"stage":"prod"`) {
		t.Errorf("%+v\n%s", r.Counts, printed)
	}
	if len(r.Drift) != 1 || r.Drift[0].Address != "jobs" || r.Drift[0].Path != "deliveryDelay" {
		t.Errorf("what Cloudflare has otherwise is the drift of the source: %+v", r.Drift)
	}
	w.write("athanor.yaml", r.YAML)
	if s := w.summary(0, "deploy", "--adopt", "--yes", "--stage", "prod"); s["adopted"] != 3.0 || s["created"] != 0.0 || s["updated"] != 0.0 || s["deleted"] != 0.0 {
		t.Errorf("the first deploy: %v", s)
	}
	if s := w.summary(0, "deploy", "--yes", "--stage", "prod"); s["unchanged"] != 3.0 {
		t.Errorf("the second deploy: %v", s)
	}
	for id, text := range states {
		if w.read(".alchemy/shop/prod/"+id+".json") != text {
			t.Errorf("the state of %s was changed", id)
		}
	}
	cloud.Do(t, "PUT", account+"/storage/kv/namespaces/"+namespace, map[string]any{"title": "other"})
	if drift := w.run(2, "drift", "--stage", "prod"); !strings.Contains(drift, "sessions") || !strings.Contains(drift, "other") {
		t.Error(drift)
	}
	w.run(0, "destroy", "--yes", "--allow-delete", "*", "--stage", "prod")
}
