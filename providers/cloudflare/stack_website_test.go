package cloudflare_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

// buildsWorker is a project's build: it writes what @cloudflare/vite-plugin writes, with the text of a source in it.
const buildsWorker = `echo run >> ../runs
mkdir -p dist/site dist/client .wrangler/deploy
echo '{"configPath":"../../dist/site/wrangler.json"}' > .wrangler/deploy/config.json
echo '{"name":"site","main":"index.js","compatibility_date":"2026-01-31","assets":{"directory":"../client"},"kv_namespaces":[{"binding":"GUESTS","id":"x"}]}' > dist/site/wrangler.json
echo robots > dist/client/robots.txt
cat > dist/site/index.js <<END
export default { async fetch(request, env) {
  if (request.method === "POST") await env.GUESTS.put("last", await request.text());
  return new Response("$(cat src/text) " + (await env.GUESTS.get("last") ?? "nobody"));
} };
END
`

// TestWebsite: a website is built within the run, before its files are hashed, and answers; nothing is built or uploaded without a change;
// a changed source is; a checkout that is not built is built, and what was deployed stays.
func TestWebsite(t *testing.T) {
	s := newStage(t)
	s.dir = t.TempDir()
	lay := func(name, text string) {
		t.Helper()
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay("web/build.sh", buildsWorker)
	lay("web/src/text", "hello")
	program := func(st *athanor.Stack) error {
		guests := kv.NewNamespace(st, "guests", kv.NamespaceProps{})
		site := workers.NewWebsite(st, "site", workers.WebsiteProps{Dir: "web", Build: new("sh build.sh"), Env: workers.Env{"GUESTS": guests}})
		st.Output("site", site.Name)
		return nil
	}
	if sum := s.deploy(program); sum.Created != 3 {
		t.Fatalf("first deploy: %+v", sum)
	}
	scripts, _ := s.s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts", nil).([]any)
	name := ""
	for _, one := range scripts {
		if id := one.(map[string]any)["id"].(string); id != "worker" {
			name = id
		}
	}
	asks := func(method, path, body, want string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.s.Run(t, name)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s %s is answered with %q (%v), want %q", method, path, text, err, want)
		}
	}
	asks(http.MethodPost, "/", "Ada", "hello Ada")
	asks(http.MethodGet, "/robots.txt", "", "robots")
	for _, step := range []struct {
		what    string
		do      func()
		updated int
		calls   int
		runs    int
	}{
		{"nothing", func() {}, 0, 0, 1},
		{"what npm installs", func() { lay("web/node_modules/a/index.js", "1") }, 0, 0, 1},
		{"a source", func() { lay("web/src/text", "good day") }, 2, 2, 2}, // it asks which files are new
		{"a new checkout", func() { _ = os.RemoveAll(filepath.Join(s.dir, "web", "dist")) }, 1, 0, 3},
	} {
		step.do()
		s.s.Reset()
		sum := s.deploy(program)
		runs, _ := os.ReadFile(filepath.Join(s.dir, "runs"))
		if n := strings.Count(string(runs), "\n"); sum.Updated != step.updated || len(s.s.Wrote()) != step.calls || n != step.runs {
			t.Errorf("%s: %+v, wrote %v, built %d times", step.what, sum, s.s.Wrote(), n)
		}
	}
	asks(http.MethodGet, "/", "", "good day Ada")
	if sum := s.destroy("**"); sum.Deleted != 3 {
		t.Errorf("destroy: %+v", sum)
	}
	s.empty()
}
