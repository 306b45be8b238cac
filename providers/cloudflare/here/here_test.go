package here

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// place is one in a dev session of its own, whose stack has miniflare installed. Without that the test is skipped, or
// fails when $ATHANOR_NO_SKIP is set.
func place(t *testing.T) kind.Facts {
	t.Helper()
	packages, err := filepath.Abs("../../../.cache/cloudflare/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(packages, "miniflare"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		proctest.Missing(t, "miniflare not found: run `task cloudflare` (needs Node.js)")
	case err != nil:
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	dev := &reconcile.Dev{Dir: filepath.Join(dir, ".athanor", "dev"), Output: func(address string, line reconcile.LogLine) { t.Log(address, line.Text) }}
	t.Cleanup(func() {
		if err := dev.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return kind.Facts{Dev: dev, Dir: dir, Owner: reconcile.Mark{Stack: "shop", Stage: "local-ada", Address: "api", Generation: 1}}
}

func session(t *testing.T, p kind.Facts) *Session {
	t.Helper()
	s, err := Of(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keeps is a Worker that keeps what it is asked for wherever it can.
func keeps() Worker {
	const code = `import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";
export class Flow extends WorkflowEntrypoint { run(event, step) { return step.do("one", async () => event.payload); } }
export class Counter extends DurableObject {
  async add() { const n = 1 + (await this.ctx.storage.get("n") ?? 0); await this.ctx.storage.put("n", n); return n; }
}
export default { async fetch(request, env) {
  await env.KV.put("a", "b");
  await env.R2.put("x", "y");
  await env.D1.exec("CREATE TABLE IF NOT EXISTS t (n)");
  await env.FLOW.create({ id: "one", params: 7 });
  return new Response(String(await env.DO.get(env.DO.idFromName("one")).add()));
} };`
	return Worker{Address: "api", Digest: "one", Worker: miniflare.Worker{
		Name: "keeps", Main: "index.js", CompatibilityDate: "2026-01-01",
		Modules: []miniflare.Module{{Name: "index.js", Type: "application/javascript+module", Content: []byte(code)}},
		Bindings: []map[string]any{
			{"type": "kv_namespace", "name": "KV", "namespace_id": "local-kv"},
			{"type": "r2_bucket", "name": "R2", "bucket_name": "bucket"},
			{"type": "d1", "name": "D1", "database_id": "local-d1"},
			{"type": "durable_object_namespace", "name": "DO", "class_name": "Counter"},
			{"type": "workflow", "name": "FLOW", "workflow_name": "pay", "class_name": "Flow"},
		},
	}}
}

func answer(t *testing.T, url string) string {
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
	return string(text)
}

// files are those below a folder whose paths hold a text.
func files(t *testing.T, dir, text string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, text) {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}

// What an object holds is found on disk by its id, and goes alone; with the last one everything of the stage goes, with
// a session and without.
func TestDataGoes(t *testing.T) {
	p := place(t)
	s := session(t, p)
	w, err := s.Run(t.Context(), keeps())
	if err != nil {
		t.Fatal(err)
	}
	if have := answer(t, w.URL); have != "1" {
		t.Fatalf("it answers %q", have)
	}
	if err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, _ := dataOf(p.Dev, p.Dir, p.Owner)
	for _, one := range []struct {
		folder string
		remove func(*reconcile.Dev) error
	}{
		{"kv", func(d *reconcile.Dev) error { return KV().Remove(d, p.Dir, p.Owner, "local-kv") }},
		{"r2", func(d *reconcile.Dev) error { return R2().Remove(d, p.Dir, p.Owner, "bucket") }},
		{"do", func(d *reconcile.Dev) error { return RemoveObjects(d, p.Dir, p.Owner, "keeps") }},
		{"workflows", func(d *reconcile.Dev) error { return RemoveInstances(d, p.Dir, p.Owner, "pay") }},
		{"d1", func(*reconcile.Dev) error { return D1().Remove(nil, filepath.Join(p.Dir, "."), p.Owner, "local-d1") }},
	} {
		if files(t, data, "/"+one.folder+"/") == 0 {
			t.Errorf("%s holds nothing", one.folder)
		}
		others := files(t, data, "") - files(t, data, "/"+one.folder+"/")
		for range 2 { // twice is once
			if err := one.remove(p.Dev); err != nil {
				t.Fatal(err)
			}
		}
		if n := files(t, data, "/"+one.folder+"/"); n != 0 {
			t.Errorf("%d files of %s are left", n, one.folder)
		}
		if n := files(t, data, ""); one.folder != "d1" && n != others {
			t.Errorf("of the others %d are left, want %d", n, others)
		}
	}
	if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A runtime that has ended by itself is started again when it is needed, and what it ran counts as missing.
func TestRuntimeEnds(t *testing.T) {
	p := place(t)
	s := session(t, p)
	if _, err := s.Run(t.Context(), keeps()); err != nil {
		t.Fatal(err)
	}
	if w, runs := s.Find("keeps"); !runs || w.Digest != "one" {
		t.Fatalf("it runs: %t, %+v", runs, w)
	}
	s.server.Close()
	if _, runs := s.Find("keeps"); runs {
		t.Error("it runs in a runtime that has ended")
	}
	w, err := s.Run(t.Context(), keeps())
	if err != nil || answer(t, w.URL) != "1" {
		t.Errorf("again: %v", err)
	}
	if err := s.Stop(t.Context(), "keeps"); err != nil {
		t.Error(err)
	}
	if _, runs := s.Find("keeps"); runs {
		t.Error("it runs after its end")
	}
}

// A Worker answers where it did in the session before, unless somebody else listens there by now.
func TestAddressStays(t *testing.T) {
	p := place(t)
	first, err := session(t, p).Run(t.Context(), keeps())
	if err != nil {
		t.Fatal(err)
	}
	next := func() Worker {
		t.Helper()
		if err := p.Dev.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Dev = &reconcile.Dev{Dir: p.Dev.Dir}
		dev := p.Dev
		t.Cleanup(func() { _ = dev.Close(context.WithoutCancel(t.Context())) })
		w, err := session(t, p).Run(t.Context(), keeps())
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if again := next(); again.URL != first.URL {
		t.Errorf("it answers at %s, and then at %s", first.URL, again.URL)
	}
	if err := p.Dev.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", strings.TrimPrefix(first.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if other := next(); other.URL == first.URL || answer(t, other.URL) == "" {
		t.Errorf("it answers at %s, where somebody else listens", other.URL)
	}
	data, _ := dataOf(p.Dev, p.Dir, p.Owner)
	if err := os.WriteFile(filepath.Join(data, Ports), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := next(); w.URL == "" {
		t.Error("what is kept of ports is not readable, and nothing runs")
	}
}

// TestNamesStay: a Worker of a further generation has the name that it had earlier, and one of its own where that one still runs.
func TestNamesStay(t *testing.T) {
	p := place(t)
	mark := reconcile.Mark{Stack: "shop", Stage: "local-ada", Address: "keeps", Generation: 2}
	for _, c := range []struct{ earlier, want string }{{"", Name(mark)}, {"ours", "ours"}, {"keeps", "keeps"}} {
		if have := session(t, p).NameOf(mark, c.earlier); have != c.want {
			t.Errorf("after %q it is called %s, want %s", c.earlier, have, c.want)
		}
	}
	if _, err := session(t, p).Run(t.Context(), keeps()); err != nil {
		t.Fatal(err)
	}
	if have := session(t, p).NameOf(mark, "keeps"); have != Name(mark) {
		t.Errorf("beside the one that it replaces it is called %s, want %s", have, Name(mark))
	}
}

// TestObjectsOfOthersStay: the objects of a Worker go without those of one whose name begins alike.
func TestObjectsOfOthersStay(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, ".athanor", "local", "shop.local-ada", objects)
	for _, class := range []string{"api-Room", "api-Desk", "api-two-Room"} {
		if err := os.MkdirAll(filepath.Join(data, class), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveObjects(nil, dir, reconcile.Mark{Stack: "shop", Stage: "local-ada"}, "api"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(data)
	if err != nil || len(left) != 1 || left[0].Name() != "api-two-Room" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Where nothing may be changed, nothing is run.
func TestLooksRunNothing(t *testing.T) {
	p := kind.Facts{Dev: &reconcile.Dev{Dir: filepath.Join(t.TempDir(), ".athanor", "dev")}, Owner: reconcile.Mark{Stack: "shop", Stage: "s"}}
	s := session(t, p)
	looking := reconcile.ReadOnly(t.Context())
	if _, err := s.Run(looking, keeps()); err == nil {
		t.Error("a look runs a Worker")
	}
	if err := s.Consume(looking, "keeps", "jobs", &miniflare.Consumer{Queue: "jobs"}); err == nil {
		t.Error("a look makes a consumer")
	}
	if _, err := s.Do(looking, "local-d1", "SELECT 1"); err == nil {
		t.Error("a look writes SQL")
	}
	if s.server != nil {
		t.Error("the runtime runs")
	}
	if err := p.Dev.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(p); !errors.Is(err, reconcile.ErrDevClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := Of(kind.Facts{}); !errors.Is(err, reconcile.ErrDevClosed) {
		t.Errorf("without a session: %v", err)
	}
}

func TestNames(t *testing.T) {
	one := reconcile.Mark{Stack: "shop", Stage: "local-ada", Address: "net/Cache[a.b]", Generation: 1}
	two := one
	two.Generation = 2
	long := one
	long.Address = strings.Repeat("long", 70)
	seen := map[string]bool{}
	for _, m := range []reconcile.Mark{one, two, long} {
		name, id := Name(m), ID(m)
		if len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "-") || name != Name(m) {
			t.Errorf("%q", name)
		}
		if Elsewhere(id) || !Elsewhere("0123456789abcdef0123456789abcdef") || Elsewhere("") {
			t.Errorf("%q is elsewhere", id)
		}
		if seen[name] || seen[id] {
			t.Errorf("%q and %q are not alone", name, id)
		}
		seen[name], seen[id] = true, true
	}
	if name := Name(one); !strings.HasPrefix(name, "shop-net-cache-a-b-") {
		t.Errorf("%q", name)
	}
}
