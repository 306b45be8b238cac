package workers

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// devServer is one that takes its bindings as frameworks without Vite's plugin do: by wrangler's getPlatformProxy.
const devServer = `
import { createServer } from "node:http";
import { getPlatformProxy } from "wrangler";
const { env } = await getPlatformProxy();
console.log("the key is " + env.KEY);
createServer(async (request, response) => {
  if (request.method === "POST") await env.KV.put("last", "posted");
  const { results } = await env.DB.prepare("SELECT n FROM t ORDER BY n").all();
  response.end([env.STAGE, await env.KV.get("last"), ...results.map((r) => r.n), env.OWN, env.KEY === "sesame-street"].join(" "));
}).listen(process.env.PORT, "127.0.0.1");`

// inSession are the facts of a Worker in a dev session of its own, in a folder that has wrangler.
func inSession(t *testing.T, files map[string]string) kind.Facts {
	t.Helper()
	packages, err := filepath.Abs("../../../.cache/cloudflare/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(packages, "wrangler")); errors.Is(err, os.ErrNotExist) {
		proctest.Missing(t, "wrangler not found: run `task cloudflare` (needs Node.js)")
	}
	dir := t.TempDir()
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dev := &reconcile.Dev{Dir: filepath.Join(dir, ".athanor", "dev"), Output: func(address string, line reconcile.LogLine) { t.Log(address, line.Text) }}
	t.Cleanup(func() {
		if err := dev.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return kind.Facts{
		Address: "site", Dev: dev, Dir: dir, Owner: reconcile.Mark{Stack: "shop", Stage: "local-ada", Address: "site", Generation: 1},
		Secret: map[tree.Path]bool{"env.KEY": true},
	}
}

// TestServe: a dev server has the bindings of the stage, and the data of the session while that works on it too; what wrangler.jsonc binds
// to other names stays; its secrets are in no file and no line; a change starts it again where it answers, and nothing of it is left.
func TestServe(t *testing.T) {
	t.Parallel()
	f := inSession(t, map[string]string{
		"serve.mjs": devServer,
		"wrangler.jsonc": `{"name": "own", "compatibility_date": "2026-01-01", "vars": {"OWN": "mine", "STAGE": "not mine"},
			"kv_namespaces": [{"binding": "KV", "id": "elsewhere"}]}`,
	})
	s, err := here.Of(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), "local-db", "CREATE TABLE t (n)", "INSERT INTO t VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	props := WorkerProps{
		CompatibilityDate: "2026-01-01", Code: &Code{Build: ".", Serve: &Serve{Run: "node serve.mjs"}},
		Env: map[string]any{
			"KV": map[string]any{"kv": "local-kv"}, "DB": map[string]any{"d1": "local-db"}, "STAGE": "test", "KEY": "sesame-street",
		},
	}
	run := func() Worker {
		t.Helper()
		out, err := runHere(t.Context(), f, "site", props)
		if err != nil {
			t.Fatal(err)
		}
		if digest, runs := local.Served(f); !runs || digest != out.ETag {
			t.Errorf("it runs: %t, %q instead of %q", runs, digest, out.ETag)
		}
		return out
	}
	first := run()
	asks := func(method, want string) {
		t.Helper()
		if have := fetched(t, method, first.URL, ""); have != want {
			t.Errorf("%s is answered with %q, want %q", method, have, want)
		}
	}
	asks(http.MethodGet, "test  7 mine true")
	if _, err := s.Do(t.Context(), "local-db", "INSERT INTO t VALUES (8)"); err != nil {
		t.Fatal(err)
	}
	asks(http.MethodPost, "test posted 7 8 mine true")

	props.Env["STAGE"] = "next"
	if again := run(); again.URL != first.URL {
		t.Errorf("it moved from %s to %s", first.URL, again.URL)
	}
	asks(http.MethodGet, "next posted 7 8 mine true")

	var lines []string
	for line, err := range local.Logs(t.Context(), f, kind.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.Text)
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "the key is (secret)") {
		t.Errorf("the log is %q", all)
	}
	err = filepath.WalkDir(filepath.Join(f.Dir, ".athanor"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "sesame-street") {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := local.StopServing(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if res, err := http.Get(first.URL); err == nil {
		res.Body.Close()
		t.Error("it answers after its end")
	}
	if log, _ := local.LogOf(f.Dev, f.Dir, f.Owner, f.Address); log != "" {
		if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its log is left: %v", err)
		}
	}
}

// TestServeWithoutBindings: a dev server that takes no bindings fails, and the hint says what takes them.
func TestServeWithoutBindings(t *testing.T) {
	t.Parallel()
	f := inSession(t, nil)
	_, err := runHere(t.Context(), f, "site", WorkerProps{
		CompatibilityDate: "2026-01-01", Code: &Code{Build: ".", Serve: &Serve{Run: "exit 3"}}, Env: map[string]any{"STAGE": "test"},
	})
	if !errors.Is(err, local.ErrNotReady) || !strings.Contains(strings.Join(reconcile.Hints(err), " "), "getPlatformProxy()") {
		t.Errorf("it failed of %v (%q)", err, reconcile.Hints(err))
	}
}

// TestLogsHere: another command reads what a Worker of this machine printed, as long as the Worker is there; its secrets are masked.
func TestLogsHere(t *testing.T) {
	t.Parallel()
	f := inSession(t, nil)
	f.Redact = func(text string) string { return strings.ReplaceAll(text, "sesame-street", "(secret)") }
	out, err := runHere(t.Context(), f, "api", WorkerProps{
		CompatibilityDate: "2026-01-01", Env: map[string]any{"KEY": "sesame-street"},
		Code: Script(`export default { fetch(request, env) { console.log("asked with " + env.KEY); return new Response("ok"); } };`),
	})
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, http.MethodGet, out.URL, "")
	other := f
	other.Dev = nil // another command has no session
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for line, err := range local.Logs(ctx, other, kind.LogQuery{Follow: true, Filter: "asked"}) {
		if err != nil || line.Text != "asked with (secret)" {
			t.Errorf("the line is %q, %v", line.Text, err)
		}
		break
	}
	if err := localWorker.Delete(t.Context(), workerSite{Facts: f, Last: &out}); err != nil {
		t.Fatal(err)
	}
	if log, there := local.LogOf(nil, f.Dir, f.Owner, f.Address); there {
		t.Errorf("%s is left", log)
	}
}
