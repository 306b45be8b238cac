//go:build frameworks

// Package frameworks deploys projects of frameworks, built with their own packages, and asks what they answer.
package frameworks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// project is a framework's project, with what changes it and shows it.
type project struct {
	folder string
	// page shows the value, and save changes it.
	page string
	save func(t *testing.T, base, value string)
	// source has the text in a file, which the page shows.
	source, text string
	// bundled are packages, or scopes of some, that athanor bundles: it reads nothing outside of the project, so they are copied into it.
	bundled []string
	// anew says that two builds of the same sources differ.
	anew bool
}

func projects() []project {
	return []project{
		{"hono", "/api/notes/today", func(t *testing.T, base, value string) {
			ask(t, http.MethodPost, base+"/api/notes/today", "text/plain", value)
		}, "src/index.ts", "nothing", nil, false},
		{"react-router", "/", form("/?index", "name"), "app/routes/guests.tsx", "The last guest was", nil, false},
		{"astro", "/", form("/", "line"), "src/pages/index.astro", "The board says", nil, true},
		{"sveltekit", "/", form("/", "item"), "src/routes/+page.svelte", "The shelf holds", []string{"@sveltejs", "svelte", "clsx", "devalue", "cookie", "esm-env", "set-cookie-parser"}, true},
		{"tanstack-start", "/", form("/", "name"), "src/routes/index.tsx", "The bell was rung by", nil, false},
	}
}

// form sends a form with one field.
func form(path, field string) func(t *testing.T, base, value string) {
	return func(t *testing.T, base, value string) {
		ask(t, http.MethodPost, base+path, "application/x-www-form-urlencoded", url.Values{field: {value}}.Encode())
	}
}

// laid is a copy of a project with its packages, which the task has installed.
func laid(t *testing.T, p project) string {
	t.Helper()
	root, _ := proctest.ModuleRoot()
	packages := filepath.Join(root, ".cache", "frameworks", "node_modules")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("%v: run `task frameworks`", err)
	}
	if len(p.bundled) == 0 {
		if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	own := filepath.Join(dir, "node_modules")
	entries, err := os.ReadDir(packages)
	if err := errors.Join(err, os.Mkdir(own, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from, to := filepath.Join(packages, e.Name()), filepath.Join(own, e.Name())
		if slices.Contains(p.bundled, e.Name()) {
			err = os.CopyFS(to, os.DirFS(from))
		} else {
			err = os.Symlink(from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ask sends a request, follows where it leads, and gives what is answered.
func ask(t *testing.T, method, url, kind, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 400 {
		t.Fatalf("%s %s: %s %v\n%s", method, url, res.Status, err, text)
	}
	return string(text)
}

// edit changes the text of the page.
func (p project) edit(t *testing.T, dir, to string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(p.source))
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), p.text) {
		t.Fatalf("%s has no %q: %v", file, p.text, err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), p.text, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDeploy: a project is built within the run and deployed as its build says; its page shows a value of KV, which a form changes;
// without a change nothing is built or uploaded; a changed source is built and uploaded; nothing is left.
func TestDeploy(t *testing.T) {
	for _, p := range projects() {
		t.Run(p.folder, func(t *testing.T) {
			cloud := cloudflaretest.Start(t)
			program := programtest.Build(t, cloud, "../../cmd/athanor")
			program.Folder = laid(t, p)
			first := program.Do("deploy")
			base := cloud.Run(t, fmt.Sprint(first.Outputs["worker"]))
			if have := ask(t, http.MethodGet, base+p.page, "", ""); !strings.Contains(have, p.text) {
				t.Errorf("the page is %q", have)
			}
			p.save(t, base, "Grace Hopper")
			if have := ask(t, http.MethodGet, base+p.page, "", ""); !strings.Contains(have, "Grace Hopper") {
				t.Errorf("after a change the page is %q", have)
			}
			if again := program.Do("deploy"); again.Calls.Mutations != 0 || again.Commits != 0 {
				t.Errorf("the second deploy wrote: %s", again)
			}
			p.edit(t, program.Folder, "HELLO")
			if changed := program.Do("deploy"); changed.Updated != 2 {
				t.Errorf("a changed source: %s", changed)
			}
			base = cloud.Run(t, fmt.Sprint(first.Outputs["worker"]))
			if have := ask(t, http.MethodGet, base+strings.Replace(p.page, "today", "never", 1), "", ""); !strings.Contains(have, "HELLO") {
				t.Errorf("after an edit the page is %q", have)
			}
			if err := os.RemoveAll(filepath.Join(program.Folder, strings.Split(firstOutput[p.folder], "/")[0])); err != nil {
				t.Fatal(err)
			}
			switch checkout := program.Do("deploy"); {
			case p.anew && checkout.Updated != 2, !p.anew && (checkout.Updated != 1 || checkout.Calls.Mutations != 1):
				t.Errorf("in a new checkout: %s", checkout) // it is built, and equal to what is deployed where the framework builds equally
			}
			program.Do("destroy", "--allow-delete", "**")
			if left, _ := cloud.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts", nil).([]any); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// firstOutput is where each project is built to.
var firstOutput = map[string]string{
	"hono": "dist", "react-router": "build", "astro": "dist", "sveltekit": ".svelte-kit/cloudflare", "tanstack-start": "dist",
}

// TestDev: in dev the framework's own dev server runs on this machine with the bindings of the stage, and answers a saved source; nothing is
// built and nothing is created at Cloudflare.
func TestDev(t *testing.T) {
	for _, p := range projects() {
		t.Run(p.folder, func(t *testing.T) {
			cloud := cloudflaretest.Start(t)
			program := programtest.Build(t, cloud, "../../cmd/athanor")
			program.Folder = laid(t, p)
			cmd := program.Command("dev", "--json")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			base := ""
			// deployed reads on to the end of a round in which something was done.
			deployed := func() {
				t.Helper()
				for lines.Scan() {
					var line struct {
						Type, Text, State string
						Created, Updated  int
					}
					if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
						t.Fatalf("%v: %s", err, lines.Text())
					}
					if at, ok := strings.CutPrefix(line.Text, "serves at "); ok {
						base = at
					}
					switch {
					case line.Type == "problem", line.Type == "error", line.Type == "deployed" && line.State != "succeeded":
						t.Fatal(lines.Text())
					case line.Type == "deployed" && line.State == "succeeded" && line.Created+line.Updated > 0:
						return
					}
				}
				t.Fatal("the session ended")
			}
			deployed()
			p.save(t, base, "Ada")
			if have := ask(t, http.MethodGet, base+p.page, "", ""); !strings.Contains(have, "Ada") {
				t.Errorf("the page is %q", have)
			}
			go func() { _, _ = io.Copy(io.Discard, out) }() // what comes from here on is not read
			p.edit(t, program.Folder, "HELLO")
			// The dev server says nothing when it has seen a save: it answers with it, and the test's own time bounds that.
			for !strings.Contains(ask(t, http.MethodGet, base+strings.Replace(p.page, "today", "never", 1), "", ""), "HELLO") {
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // interrupted
			if _, err := os.Stat(filepath.Join(program.Folder, filepath.FromSlash(firstOutput[p.folder]))); err == nil {
				t.Error("dev built the project")
			}
			if wrote := cloud.Wrote(); len(wrote) > 0 {
				t.Errorf("dev wrote %v", wrote)
			}
		})
	}
}
