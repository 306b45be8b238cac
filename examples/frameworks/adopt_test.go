//go:build frameworks

package frameworks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// TestAdopt: what wrangler has deployed of a framework's project is adopted as a website, by the name of the Worker. The plan shows ownership
// alone; the second deploy makes no change, the page shows what it showed, and nothing is left in the end.
func TestAdopt(t *testing.T) {
	for _, p := range projects() {
		t.Run(p.folder, func(t *testing.T) {
			cloud := cloudflaretest.Start(t)
			program := programtest.Build(t, cloud, "../../cmd/athanor")
			program.Folder = laid(t, p)
			kept := cloud.Do(t, http.MethodPost, "/accounts/ACCOUNT/storage/kv/namespaces", map[string]any{"title": "kept"}).(map[string]any)["id"].(string)
			config := filepath.Join(program.Folder, "wrangler.jsonc")
			if text, ok := wrangledAlone[p.folder]; ok {
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			worker := change(t, config, `"id": "local"`, `"id": "`+kept+`"`, `"name": "([^"]+)"`)
			wrangled(t, cloud, program.Folder, "npm", "run", "build")
			wrangled(t, cloud, program.Folder, "npx", "wrangler", "deploy")

			stack := filepath.Join(program.Folder, "athanor.yaml")
			change(t, stack, "kind: cloudflare.KVNamespace}", "kind: cloudflare.KVNamespace, props: {title: kept}, options: {adopt: "+kept+"}}", "")
			change(t, stack, "    kind: cloudflare.Website\n", "    kind: cloudflare.Website\n    options: {adopt: "+worker+"}\n", "")
			named(t, stack, worker)
			out, errs, code := program.Run("plan", "--json")
			if code != 2 {
				t.Fatalf("plan: exit %d\n%s%s", code, out, errs)
			}
			var plan struct {
				Actions []struct {
					Address, Action string
					Reasons         []struct{ Path string }
				}
			}
			if err := json.Unmarshal([]byte(out), &plan); err != nil {
				t.Fatal(err)
			}
			for _, a := range plan.Actions {
				if a.Action != "adopt" && a.Address != "site/build" {
					t.Errorf("%s: %s", a.Address, a.Action)
				}
				for _, r := range a.Reasons {
					if a.Action == "adopt" && !slices.Contains([]string{"mark", "code", "assets"}, r.Path) {
						t.Errorf("%s differs in %s", a.Address, r.Path)
					}
				}
			}
			if c := program.Do("deploy"); c.Adopted != 2 || c.Created != 1 {
				t.Errorf("the adoption: %s, adopted %d", c, c.Adopted)
			}
			base := cloud.Run(t, worker)
			p.save(t, base, "Grace Hopper")
			if have := ask(t, http.MethodGet, base+p.page, "", ""); !strings.Contains(have, "Grace Hopper") {
				t.Errorf("the page is %q", have)
			}
			if again := program.Do("deploy"); again.Calls.Mutations != 0 || again.Commits != 0 {
				t.Errorf("the second deploy wrote: %s", again)
			}
			program.Do("destroy", "--allow-delete", "**")
			if left, _ := cloud.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts", nil).([]any); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// wrangledAlone are configurations of the frameworks whose build writes none, as their users deploy them by wrangler.
var wrangledAlone = map[string]string{
	"astro": `{"name": "board", "main": "dist/_worker.js/index.js", "compatibility_date": "2026-01-31",
		"compatibility_flags": ["nodejs_compat", "disable_nodejs_process_v2"], "assets": {"binding": "ASSETS", "directory": "dist"},
		"kv_namespaces": [{"binding": "LINES", "id": "local"}, {"binding": "SESSION", "id": "local"}]}`,
	"sveltekit": `{"name": "stock", "main": ".svelte-kit/cloudflare/_worker.js", "compatibility_date": "2026-01-31",
		"compatibility_flags": ["nodejs_compat"], "assets": {"binding": "ASSETS", "directory": ".svelte-kit/cloudflare"},
		"kv_namespaces": [{"binding": "SHELF", "id": "local"}]}`,
}

// change changes a text wherever a file has it, and gives what a pattern finds in it.
func change(t *testing.T, file, from, to, find string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q: %v", file, from, err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
	if find == "" {
		return ""
	}
	return regexp.MustCompile(find).FindStringSubmatch(string(text))[1]
}

// named gives the website the name of the Worker, and serves it where wrangler does by itself.
func named(t *testing.T, stack, worker string) {
	t.Helper()
	text, err := os.ReadFile(stack)
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`(kind: cloudflare.Website\n.*\n    props:)( \{|\n)`)
	if !of.Match(text) {
		t.Fatalf("%s has no props of a website:\n%s", stack, text)
	}
	text = of.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[len(found)-1] == '{' {
			return fmt.Appendf(slices.Clip(found), "name: %s, workersDev: true, previews: true, ", worker)
		}
		return fmt.Appendf(slices.Clip(found), "      name: %s\n      workersDev: true\n      previews: true\n", worker)
	})
	if err := os.WriteFile(stack, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wrangled runs a command in a project, with the account of the test.
func wrangled(t *testing.T, cloud *cloudflaretest.Server, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir(), "CI=1", "NO_COLOR=1", "WRANGLER_SEND_METRICS=false", "WRANGLER_HIDE_BANNER=true")
	for name, value := range cloud.Env() {
		if value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}
