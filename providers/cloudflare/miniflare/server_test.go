package miniflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// packages is where tools/cloudflare.sh puts miniflare. Without it the test is skipped, or fails when $ATHANOR_NO_SKIP is set.
func packages(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../../.cache/cloudflare")
	if err != nil {
		t.Fatal(err)
	}
	if set := os.Getenv("ATHANOR_CLOUDFLARE"); set != "" {
		dir = set
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", "miniflare"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		proctest.Missing(t, "miniflare not found: run `task cloudflare` (needs Node.js)")
	case err != nil:
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Packages = []string{t.TempDir(), packages(t)}
	if o.Log == nil {
		o.Log = func(line string) { t.Log(line) }
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// esm is a Worker of one module.
func esm(name, code string, bindings ...map[string]any) Worker {
	return Worker{
		Name: name, Main: "index.js", CompatibilityDate: "2026-01-01", Bindings: bindings,
		Modules: []Module{{Name: "index.js", Type: "application/javascript+module", Content: []byte(code)}},
	}
}

func set(t *testing.T, s *Server, w Worker) string {
	t.Helper()
	url, err := s.Set(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func get(t testing.TB, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, text)
}

func saying(text string) string {
	return `export default { fetch(request) { return new Response(` + "`" + text + "`" + `) } }`
}

// TestMissing: without miniflare the error says how to get it, and nothing runs on.
func TestMissing(t *testing.T) {
	packages(t)
	_, err := Start(t.Context(), Options{Packages: []string{t.TempDir()}})
	if !errors.Is(err, ErrMissing) || len(reconcile.Hints(err)) != 1 {
		t.Errorf("%v, hints %q", err, reconcile.Hints(err))
	}
	t.Setenv("PATH", t.TempDir())
	if _, err = Start(t.Context(), Options{Packages: []string{packages(t)}}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "Node.js") {
		t.Errorf("without Node.js: %v", err)
	}
}

// TestNobodyAnswers: a request that no handler answers goes on to where it was for, which is the Worker itself. That ends, with the
// reason, also in what is printed. A Worker that asks itself for something is answered.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 100)
	s := start(t, Options{Log: func(line string) { lines <- line }})
	const silent = "index.js has no default export"
	for _, c := range []struct{ code, says string }{
		{"export class Alone {}", "508 shop: " + silent},
		{"export function scheduled() {}; export class Alone {}", "508 shop: " + silent},
		{"", "508 shop: " + silent},
		{`export default { fetch: (request) => fetch(request) }`, "508 shop: the Worker sends GET /page on to its own address"},
		{`export default { async fetch(request) {
			const left = Number(new URL(request.url).searchParams.get("left") ?? 9);
			return left ? fetch(new Request("http://" + request.headers.get("host") + "/?left=" + (left - 1), request)) : new Response([...request.headers.keys()].filter((name) => name.startsWith("athanor")).join());
		} }`, "200 athanor-returns"},
		{`export default { fetch: (request) => new Response([...request.headers.keys()].filter((name) => name.startsWith("athanor")).join() || "none") }`, "200 none"},
	} {
		url := set(t, s, esm("shop", c.code))
		said := get(t, url+"/page")
		if !strings.HasPrefix(said, c.says) {
			t.Errorf("%s: it says %s, want %s", c.code, said, c.says)
		}
		if refused, ok := strings.CutPrefix(said, "508 "); ok {
			if line := <-lines; line != strings.TrimSpace(refused) {
				t.Errorf("%s: printed is %q", c.code, line)
			}
		}
	}
	if len(lines) > 0 {
		t.Errorf("it also prints %q", <-lines)
	}
	other := set(t, s, esm("other", `export default { fetch: (request, env) => env.SHOP.fetch(request) }`, map[string]any{"type": "service", "name": "SHOP", "service": "shop"}))
	set(t, s, esm("shop", "export class Alone {}"))
	if said := get(t, other); !strings.HasPrefix(said, "508 other: ") {
		t.Errorf("what is bound to it says %s", said)
	}
}

// TestSilent: what has a default export, in any of its forms, may answer.
func TestSilent(t *testing.T) {
	for code, silent := range map[string]bool{
		"export default {}": false, "export/* a\n */default{}": false, "export // it\ndefault class {}": false, "const a = {};\nexport { b, a as default };": false,
		`export{a as default}from"./a.js"`: false, `export { default } from "./a.js"`: false, "export class A {}": true, "": true,
		"switch (a) { default: b() }": true, "export function fetch() {}": true, "exports.default = {}": true,
	} {
		if have := Silent(esm("shop", code)); (have != "") != silent {
			t.Errorf("%s: %q", code, have)
		}
	}
	if have := Silent(Worker{Main: "a.js", Modules: []Module{{"a.js", "application/javascript", nil}}}); have != "" {
		t.Errorf("a script: %q", have)
	}
}

// TestSet: a Worker keeps its address while it changes, what it stores stays, and a version that does not start changes
// nothing and says why.
func TestSet(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Data: filepath.Join(t.TempDir(), "data")})
	counting := func(word string) Worker {
		return esm("shop", `export default { async fetch(request, env) {
			const n = Number(await env.KV.get("n")) + 1;
			await env.KV.put("n", String(n));
			return new Response("`+word+` " + n + " " + new URL(request.url).host);
		} }`, map[string]any{"type": "kv_namespace", "name": "KV", "namespace_id": "counts"})
	}
	url := set(t, s, counting("one"))
	host := strings.TrimPrefix(url, "http://")
	if said := get(t, url); said != "200 one 1 "+host {
		t.Errorf("first: %s", said)
	}
	if again := set(t, s, counting("two")); again != url {
		t.Errorf("the address was %s and is %s", url, again)
	}
	if said := get(t, url); said != "200 two 2 "+host {
		t.Errorf("second: %s", said)
	}
	_, err := s.Set(t.Context(), esm("shop", `export default {`))
	if err == nil || !strings.Contains(err.Error(), "SyntaxError") {
		t.Errorf("a version that cannot start: %v", err)
	}
	if said := get(t, url); said != "200 two 3 "+host {
		t.Errorf("after that: %s", said)
	}
	info, err := os.Stat(s.data)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data: %v %v", info.Mode(), err)
	}
	s.Close()
	s = start(t, Options{Data: s.data})
	if said := get(t, set(t, s, counting("three"))); !strings.HasPrefix(said, "200 three 4 ") {
		t.Errorf("in the next server: %s", said)
	}
}

// TestNoRequestLost: while a Worker changes again and again, every request is answered by some version of it.
func TestNoRequestLost(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := set(t, s, esm("shop", saying("0")))
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	answered := make([]int, 4)
	for i := range answered {
		asking.Go(func() {
			for ctx.Err() == nil {
				res, err := http.Get(url)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("a request was lost: %v %v", res, err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				answered[i]++
			}
		})
	}
	for i := range 4 {
		set(t, s, esm("shop", saying(fmt.Sprint(i+1))))
	}
	stop()
	asking.Wait()
	if said := get(t, url); said != "200 4" {
		t.Errorf("the last version says %s", said)
	}
	t.Logf("%d requests were answered", answered)
}

// TestWebsocket: one goes through, and a change of the Worker cuts it without waiting for it.
func TestWebsocket(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := set(t, s, esm("shop", `export default { fetch() {
		const [client, server] = Object.values(new WebSocketPair());
		server.accept();
		server.addEventListener("message", (event) => server.send("heard " + event.data));
		return new Response(null, { status: 101, webSocket: client });
	} }`))
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.Read(t.Context()); err != nil || string(text) != "heard hello" {
		t.Errorf("it says %q, %v", text, err)
	}
	began := time.Now()
	set(t, s, esm("shop", saying("next")))
	t.Logf("changed in %v", time.Since(began))
	if _, _, err := conn.Read(t.Context()); err == nil {
		t.Error("the websocket of the old version is still there")
	}
}

// TestBindings: what a Worker is bound to works, other Workers too, whether they come first or later.
func TestBindings(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := set(t, s, esm("first", `export default { async fetch(request, env) {
		return new Response(env.NEXT ? "next says " + await (await env.NEXT.fetch(request)).text() : "alone");
	} }`, map[string]any{"type": "service", "name": "NEXT", "service": "second"}))
	if said := get(t, first); said != "200 alone" {
		t.Errorf("before the other is there: %s", said)
	}
	second := set(t, s, esm("second", `export class Counter {
		constructor(state) { this.state = state }
		async fetch() {
			const n = (await this.state.storage.get("n") ?? 0) + 1;
			await this.state.storage.put("n", n);
			return new Response(String(n));
		}
	}
	export default { async fetch(request, env) {
		await env.DB.exec("CREATE TABLE IF NOT EXISTS t (a)");
		await env.DB.exec("INSERT INTO t VALUES (1)");
		await env.FILES.put("a", "b");
		const n = await (await env.COUNTER.get(env.COUNTER.idFromName("one")).fetch(request)).text();
		return Response.json([n, await env.DB.prepare("SELECT count(*) AS n FROM t").first("n"),
			await (await env.FILES.get("a")).text(), env.STAGE, env.KEY, env.LIMITS.orders]);
	} }`,
		map[string]any{"type": "d1", "name": "DB", "id": "orders"},
		map[string]any{"type": "r2_bucket", "name": "FILES", "bucket_name": "files", "jurisdiction": "eu"},
		map[string]any{"type": "durable_object_namespace", "name": "COUNTER", "class_name": "Counter"},
		map[string]any{"type": "plain_text", "name": "STAGE", "text": "dev"},
		map[string]any{"type": "secret_text", "name": "KEY", "text": "hidden"},
		map[string]any{"type": "json", "name": "LIMITS", "json": map[string]any{"orders": 2}},
		map[string]any{"type": "ai", "name": "AI"},
	))
	if said := get(t, second); said != `200 ["1",1,"b","dev","hidden",2]` {
		t.Errorf("second: %s", said)
	}
	if said := get(t, first); said != `200 next says ["2",2,"b","dev","hidden",2]` {
		t.Errorf("first: %s", said)
	}
	rows, err := s.Query(t.Context(), "orders", "INSERT INTO t VALUES (2)", "SELECT sum(a) AS sum FROM t")
	if text := fmt.Sprint(rows); err != nil || text != "[[] [map[sum:4]]]" {
		t.Errorf("asked from outside: %s, %v", text, err)
	}
	rows, err = s.Query(t.Context(), "other", "CREATE TABLE a (b); INSERT INTO a VALUES (';')", "SELECT b FROM a")
	if text := fmt.Sprint(rows); err != nil || text != "[[] [map[b:;]]]" {
		t.Errorf("two statements in one: %s, %v", text, err)
	}
	if _, err := s.Query(t.Context(), "other", "INSERT INTO a VALUES (1)", "INSERT INTO none VALUES (1)"); err == nil {
		t.Error("the second statement cannot be done")
	}
	if rows, err := s.Query(t.Context(), "other", "SELECT count(*) AS n FROM a"); err != nil || fmt.Sprint(rows) != "[[map[n:1]]]" {
		t.Errorf("half of it is done: %v, %v", rows, err)
	}
	if _, err := s.Query(t.Context(), "orders", "SELECT nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a mistake in SQL: %v", err)
	}
	if err := s.Remove(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if said := get(t, first); said != "200 alone" {
		t.Errorf("after the other has gone: %s", said)
	}
	if _, err := http.Get(second); err == nil {
		t.Errorf("%s still answers", second)
	}
}

// TestQueue: messages reach their consumer, another Worker, in batches.
func TestQueue(t *testing.T) {
	t.Parallel()
	said := make(chan string, 100)
	s := start(t, Options{Log: func(line string) { said <- line }})
	consumer := esm("consumer", `export default { async queue(batch) { console.log("got " + batch.messages.map((m) => m.body).join()) } }`)
	consumer.Consumers = []Consumer{{Queue: "jobs", BatchSize: 2, BatchTimeout: time.Second, MaxRetries: new(0)}}
	set(t, s, consumer)
	producer := set(t, s, esm("producer", `export default { async fetch(request, env) {
		await env.JOBS.sendBatch([{ body: "a" }, { body: "b" }]);
		return new Response("sent");
	} }`, map[string]any{"type": "queue", "name": "JOBS", "queue_name": "jobs"}))
	get(t, producer)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		select {
		case line := <-said:
			if strings.Contains(line, "got a,b") {
				return
			}
		case <-ctx.Done():
			t.Fatal("the messages did not come")
		}
	}
}

// TestAssets: static files are served as their configuration says, beside a Worker and others.
func TestAssets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"index.html": "home", "style.css": "body {}", "404.html": "lost", "_redirects": "/old /style.css 302\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, Options{})
	api := set(t, s, esm("api", saying("api")))
	site := esm("site", `export default { async fetch(request, env) { return new Response("worker " + await (await env.ASSETS.fetch(new URL("/style.css", request.url))).text()) } }`,
		map[string]any{"type": "assets", "name": "ASSETS"})
	site.Assets = &Assets{Directory: dir, Config: map[string]any{"not_found_handling": "404-page", "run_worker_first": []any{"/api/*", "!/api/docs"}}}
	url := set(t, s, site)
	for path, want := range map[string]string{
		"/": "200 home", "/style.css": "200 body {}", "/old": "200 body {}", "/api/x": "200 worker body {}", "/api/docs": "404 lost",
	} {
		if said := get(t, url+path); said != want {
			t.Errorf("%s: %s, want %s", path, said, want)
		}
	}
	if said := get(t, api); said != "200 api" {
		t.Errorf("the other Worker: %s", said)
	}
	site.Name = "more"
	if _, err := s.Set(t.Context(), site); err == nil || !strings.Contains(err.Error(), "more and site have assets") {
		t.Errorf("assets of two Workers: %v", err)
	}
}

// TestScheduled: what a Worker does by the clock is asked for. The date of today is one, though the runtime be older.
func TestScheduled(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	w := esm("shop", `let ran = "";
	export default {
		async scheduled(event) { ran += event.cron },
		async fetch() { return new Response(ran) },
	}`)
	w.CompatibilityDate = time.Now().UTC().Format(time.DateOnly) // the runtime refuses one that is to come there
	url := set(t, s, w)
	if said := get(t, url+"/cdn-cgi/handler/scheduled?cron=0+*+*+*+*"); said != "200 ok" {
		t.Errorf("asked: %s", said)
	}
	if said := get(t, url); said != "200 0 * * * *" {
		t.Errorf("ran: %s", said)
	}
}

// BenchmarkSet is how long it takes from another version to its first answer, without a spare.
func BenchmarkSet(b *testing.B) {
	s, err := Start(b.Context(), Options{Packages: []string{packages(b)}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for n := 0; b.Loop(); n++ {
		url, err := s.Set(b.Context(), esm("shop", saying(fmt.Sprint(n))))
		if err != nil {
			b.Fatal(err)
		}
		if said := get(b, url); said != fmt.Sprintf("200 %d", n) {
			b.Fatalf("version %d says %s", n, said)
		}
	}
}

// TestUnsupported names the bindings that are left out.
func TestUnsupported(t *testing.T) {
	w := esm("shop", "", map[string]any{"type": "vectorize", "name": "V"}, map[string]any{"type": "ai", "name": "A"}, map[string]any{"type": "assets", "name": "F"}, map[string]any{"type": "json", "name": "J"})
	if text, _ := json.Marshal(Unsupported(w)); string(text) != `["A (ai)","V (vectorize)"]` {
		t.Errorf("%s", text)
	}
}

// TestAsker: the Worker that does SQL starts with each change of another one, so it is there only when a database was asked for, or
// when there is no other.
func TestAsker(t *testing.T) {
	shop := map[string]*served{"shop": {worker: esm("shop", "export default {}")}}
	for _, c := range []struct {
		workers   map[string]*served
		databases []string
		want      []string
	}{
		{shop, nil, []string{"shop"}},
		{shop, []string{"orders"}, []string{"shop", askerName}},
		{nil, []string{"orders"}, []string{askerName}},
		{nil, nil, []string{askerName}},
	} {
		options, _, err := (&Server{}).options(c.workers, c.databases)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, w := range options["workers"].([]any) {
			names = append(names, w.(map[string]any)["name"].(string))
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%d Workers and databases %v: %v start, want %v", len(c.workers), c.databases, names, c.want)
		}
	}
}
