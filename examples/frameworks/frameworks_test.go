//go:build frameworks

// Package frameworks deploys projects of frameworks, built with their own packages, and asks what they answer.
package frameworks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
}

func projects() []project {
	return []project{
		{"hono", "/api/notes/today", func(t *testing.T, base, value string) {
			ask(t, http.MethodPost, base+"/api/notes/today", "text/plain", value)
		}, "src/index.ts", "nothing"},
		{"react-router", "/", func(t *testing.T, base, value string) {
			ask(t, http.MethodPost, base+"/?index", "application/x-www-form-urlencoded", url.Values{"name": {value}}.Encode())
		}, "app/routes/guests.tsx", "The last guest was"},
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
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
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
			if checkout := program.Do("deploy"); checkout.Updated != 1 || checkout.Calls.Mutations != 1 {
				t.Errorf("in a new checkout: %s", checkout) // it is built, and equal to what is deployed
			}
			program.Do("destroy", "--allow-delete", "**")
			if left, _ := cloud.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/scripts", nil).([]any); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// firstOutput is where each project is built to.
var firstOutput = map[string]string{"hono": "dist", "react-router": "build"}

// TestDev: in dev the project runs on this machine, and a saved source is answered.
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
			// deployed reads on to a round in which something was done, to its end: what a build writes is seen too, and begins another
			// one, which goes on where the one before was.
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
					case line.Type == "problem", line.Type == "error":
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
			p.edit(t, program.Folder, "HELLO")
			deployed()
			if have := ask(t, http.MethodGet, base+strings.Replace(p.page, "today", "never", 1), "", ""); !strings.Contains(have, "HELLO") {
				t.Errorf("after an edit the page is %q", have)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait() // interrupted
			if wrote := cloud.Wrote(); len(wrote) > 0 {
				t.Errorf("dev wrote %v", wrote)
			}
		})
	}
}
