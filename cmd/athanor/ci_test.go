//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// The recipes for CI are run here as their users run them: in a fresh clone, with nothing of the environment of this test, and
// against servers that refuse what GitHub and GitLab refuse.

// ciRepository is a repository with a stack and the recipes, and what a release of athanor and a store for it are.
type ciRepository struct {
	t        *testing.T
	dir      string // the repository
	releases string // where the release is
	sum      string // of its archive
	store    string
	secret   string // the passphrase of the stage's key
}

const ciVersion = "v1.2.3"

func newCIRepository(t *testing.T, recipes, into string) *ciRepository {
	t.Helper()
	for _, name := range []string{"bash", "git", "python3", "curl", "tar", "sha256sum"} {
		if _, err := exec.LookPath(name); err != nil {
			proctest.Missing(t, "%v", err)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &ciRepository{t: t, dir: filepath.Join(dir, "repository"), store: "bolt:" + filepath.Join(dir, "state.db"), secret: "correct horse battery staple"}
	archive := packed(t)
	r.sum = fmt.Sprintf("%x", sha256.Sum256(archive))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/download/"+ciVersion+"/athanor-linux-amd64.tar.gz" {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(archive)
	}))
	t.Cleanup(server.Close)
	r.releases = server.URL
	if err := os.CopyFS(filepath.Join(r.dir, into), os.DirFS(recipes)); err != nil {
		t.Fatal(err)
	}
	r.pinned()
	r.git("init", "-q", "-b", "main")
	r.write("athanor.yaml", ciStack("one"))
	// The stage's key is in the repository, wrapped: a plan of a stage that is new is authenticated by it too.
	cmd := r.command(r.dir, "secret", "rewrap", "--passphrase")
	cmd.Stdin = strings.NewReader(r.secret + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "shop.prod.key.json; check it in") {
		t.Fatalf("%v: %s", err, out)
	}
	r.commit()
	return r
}

// packed is the command as a release packs it: a program of its name that calls it.
func packed(t *testing.T) []byte {
	t.Helper()
	command, err := exec.LookPath("athanor")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	script := "#!/bin/bash\nexec -a athanor " + command + " \"$@\"\n"
	if err := w.WriteHeader(&tar.Header{Name: "athanor", Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pinned writes the release into the recipes, as the release itself does.
func (r *ciRepository) pinned() {
	r.t.Helper()
	count := 0
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		now := strings.ReplaceAll(strings.ReplaceAll(string(text), "v0.0.0", ciVersion), strings.Repeat("0", 64), r.sum)
		now = strings.ReplaceAll(now, "https://github.com/athanor-dev/athanor/releases", r.releases)
		if now != string(text) {
			count++
		}
		return os.WriteFile(path, []byte(now), 0o600)
	})
	if err != nil || count != 1 {
		r.t.Fatalf("the release is named in %d files, want one: %v", count, err)
	}
}

// ciStack is a stack whose resources are in state alone, so that every clone sees the same.
func ciStack(inputs ...string) string {
	text := "stack: shop\nresources:\n"
	for i, input := range inputs {
		text += fmt.Sprintf("  value%d: {kind: local.Value, props: {input: %s}}\n", i, input)
	}
	return text + "outputs: {inputs: \"" + strings.Join(inputs, " ") + "\"}\n"
}

func (r *ciRepository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *ciRepository) git(args ...string) string {
	r.t.Helper()
	cmd := limited(r.t, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits everything and gives the commit.
func (r *ciRepository) commit() string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "a change")
	return r.git("rev-parse", "HEAD")
}

// branch makes a branch of main whose stack has these inputs, and gives its commit.
func (r *ciRepository) branch(name string, inputs ...string) string {
	r.t.Helper()
	r.git("checkout", "-q", "-B", name, "main")
	r.write("athanor.yaml", ciStack(inputs...))
	return r.commit()
}

// merge squashes a stack with these inputs onto main and gives the commit.
func (r *ciRepository) merge(inputs ...string) string {
	r.t.Helper()
	r.git("checkout", "-q", "main")
	r.write("athanor.yaml", ciStack(inputs...))
	return r.commit()
}

// clone is a fresh clone at a commit.
func (r *ciRepository) clone(dir, commit string) {
	r.t.Helper()
	r.git("clone", "-q", "--no-checkout", r.dir, dir)
	r.git("-C", dir, "checkout", "-q", "--detach", r.git("rev-parse", commit))
}

// athanor runs the command with the store of the repository, in a clone of main, and gives what it printed.
func (r *ciRepository) athanor(code int, args ...string) string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "clone")
	r.clone(dir, "main")
	cmd := r.command(dir, args...)
	out, err := cmd.CombinedOutput()
	if have := exitCode(r.t, cmd, err); have != code {
		r.t.Fatalf("athanor %v: exit code %d, want %d\n%s", args, have, code, out)
	}
	return string(out)
}

// command is the command in a folder, with the store of the repository and a home of its own.
func (r *ciRepository) command(dir string, args ...string) *exec.Cmd {
	w := &world{t: r.t, dir: dir, env: []string{"HOME=" + r.t.TempDir(), "PATH=" + os.Getenv("PATH"), "ATHANOR_STORE=" + r.store, "ATHANOR_PASSPHRASE=" + r.secret, "ATHANOR_STAGE=prod"}}
	return w.command(args...)
}

// deployed checks which inputs the stage was deployed with last.
func (r *ciRepository) deployed(inputs ...string) {
	r.t.Helper()
	if out := strings.TrimSpace(r.athanor(0, "output", "inputs")); out != strings.Join(inputs, " ") {
		r.t.Errorf("%s is deployed, want %v", out, inputs)
	}
}

// ciShell runs a shell script as CI does: with an environment of its own.
func ciShell(t *testing.T, dir, shell, text string, env map[string]string) (out string, code int) {
	t.Helper()
	args := strings.Fields(shell)
	cmd := limited(t, args[0], append(args[1:], "-c", text)...)
	cmd.Dir = dir
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	text2, err := cmd.CombinedOutput()
	return string(text2), exitCode(t, cmd, err)
}

// yamlTree reads a YAML file.
func yamlTree(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return all
}

// valueAt is the value at a path of a tree; nil for none.
func valueAt(at any, path ...string) any {
	for _, name := range path {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	return at
}

func textsOf(at any) map[string]string {
	all := map[string]string{}
	m, _ := at.(map[string]any)
	for name, value := range m {
		all[name] = fmt.Sprint(value)
	}
	return all
}

func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
