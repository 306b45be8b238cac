package cloudflaretest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listener is a test that hears what it logs.
type listener struct {
	testing.TB
	lines chan string
}

func (l listener) Log(args ...any) { l.lines <- fmt.Sprint(args...) }

const bound = `export default {
	async fetch(request, env) {
		await env.CACHE.put("stage", env.STAGE);
		await env.JOBS.send(env.STAGE);
		const names = await env.DB.prepare("SELECT name FROM orders ORDER BY name").raw();
		return Response.json([await env.CACHE.get("stage"), names.flat(), env.KEY.length]);
	},
	async queue(batch) {
		for (const message of batch.messages) console.log("job of " + message.body);
	},
};`

// TestRun: a Worker that was uploaded is run for real and answers, with KV, a database that was filled by the API, a queue
// whose messages it gets itself, a variable and a secret. So does the next version.
func TestRun(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 100)
	s := Start(listener{t, lines})
	s.WithDatabases(t)
	kv := s.Do(t, http.MethodPost, "/accounts/ACCOUNT/storage/kv/namespaces", object{"title": "cache"}).(object)["id"]
	db := s.Do(t, http.MethodPost, "/accounts/ACCOUNT/d1/database", object{"name": "orders"}).(object)["uuid"]
	s.Do(t, http.MethodPost, fmt.Sprintf("/accounts/ACCOUNT/d1/database/%s/query", db), object{
		"sql": "CREATE TABLE orders (name TEXT); INSERT INTO orders VALUES ('first'), ('sec;ond')",
	})
	queue := s.Do(t, http.MethodPost, "/accounts/ACCOUNT/queues", object{"queue_name": "jobs"}).(object)["queue_id"]
	upload := func(stage string) {
		s.Upload(t, "shop", esm(bound, object{"bindings": []any{
			object{"type": "kv_namespace", "name": "CACHE", "namespace_id": kv},
			object{"type": "d1", "name": "DB", "database_id": db},
			object{"type": "queue", "name": "JOBS", "queue_name": "jobs"},
			object{"type": "plain_text", "name": "STAGE", "text": stage},
			object{"type": "secret_text", "name": "KEY", "text": "hidden"},
		}}))
	}
	upload("prod")
	s.Do(t, http.MethodPost, fmt.Sprintf("/accounts/ACCOUNT/queues/%s/consumers", queue), object{
		"type": "worker", "script_name": "shop", "settings": object{"batch_size": 1, "max_wait_time_ms": 0},
	})
	url := s.Run(t, "shop")
	if said := fetch(t, url); said != `200 ["prod",["first","sec;ond"],6]` {
		t.Errorf("it answers %s", said)
	}
	limit := time.After(time.Minute)
	for heard := ""; !strings.Contains(heard, "job of prod"); {
		select {
		case heard = <-lines:
		case <-limit:
			t.Fatal("the message did not come")
		}
	}
	s.Do(t, http.MethodPost, fmt.Sprintf("/accounts/ACCOUNT/d1/database/%s/query", db), object{
		"sql": "SELECT 1; INSERT INTO orders VALUES ('third')",
	})
	upload("next")
	if again := s.Run(t, "shop"); again != url {
		t.Errorf("the address was %s and is %s", url, again)
	}
	if said := fetch(t, url); said != `200 ["next",["first","sec;ond","third"],6]` {
		t.Errorf("the next version answers %s", said)
	}
}

// TestUploadThatDoesNotStart: code that the runtime refuses is refused when it is uploaded, with what the runtime says.
func TestUploadThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Upload(t, "shop", esm(answering, nil))
	for name, text := range map[string]string{
		"Dynamic require of":   `const require = (x) => { throw new Error("Dynamic require of " + x) }; require("events"); export default {}`,
		"SyntaxError":          `export default {`,
		"No such module":       `import "node:fs"; export default {}`,
		"missing is not defin": `missing(); export default {}`,
	} {
		kind, body := esm(text, nil).Encode()
		status, envelope := s.send(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/shop", nil, kind, body)
		if status != 400 || codeOf(envelope) != 10021 || !strings.Contains(fmt.Sprint(envelope["errors"]), name) {
			t.Errorf("%s: %d %v", name, status, envelope["errors"])
		}
	}
	if n := len(s.Uploads("shop")); n != 1 {
		t.Errorf("%d uploads were taken", n)
	}
}
