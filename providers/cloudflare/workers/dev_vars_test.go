package workers

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestReadVars: variables are read as wrangler reads them.
func TestReadVars(t *testing.T) {
	t.Parallel()
	have := readVars("# a comment\nPLAIN=one two # and why\nexport QUOTED='a # b'\r\nDOUBLE=\"line\\nnext\"\nTICK=`it's`\nEMPTY=\nYAML: four\n" +
		"KEY=\"-----BEGIN\nMII=\n-----END\"\nnot a line\nSPACED = five \n")
	want := map[string]string{
		"PLAIN": "one two", "QUOTED": "a # b", "DOUBLE": "line\nnext", "TICK": "it's", "EMPTY": "", "YAML": "four", "KEY": "-----BEGIN\nMII=\n-----END",
		"SPACED": "five",
	}
	if !maps.Equal(have, want) {
		t.Errorf("%q\nwant %q", have, want)
	}
}

// TestVarsHere: on this machine a Worker has the variables of the nearest .dev.vars, beside and before those that are declared; what
// it prints of them is masked, and no digest says what they hold. A Worker at Cloudflare has none of them.
func TestVarsHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cloudflaretest.Packages(t, dir)
	lay(t, dir, map[string]string{
		"api/src/index.ts": `export default { async fetch(request, env) { console.log("key " + env.KEY); return Response.json(env); } };`,
		"api/.dev.vars":    "KEY=from-this-machine\nDEBUG=true\n", ".dev.vars": "KEY=from-too-far\n",
	})
	var mu sync.Mutex
	var printed []string
	key := make(chan struct{}) // closed when the Worker has printed it: its answer may come before
	once := sync.OnceFunc(func() { close(key) })
	dev := &reconcile.Dev{Dir: filepath.Join(dir, ".athanor", "dev"), Output: func(_ string, line reconcile.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		if printed = append(printed, line.Text); strings.HasPrefix(line.Text, "key ") {
			once()
		}
	}}
	t.Cleanup(func() {
		if err := dev.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	want := WorkerProps{Code: Bundle("api/src/index.ts"), CompatibilityDate: date, Env: map[string]any{"KEY": "declared", "STAGE": "local"}}
	work := reconcile.Workspace{Dir: dir, Cache: t.TempDir()}
	var read []string
	work.Told = func(path string) { read = append(read, path) }
	prepared := func() map[string]reconcile.Asset {
		t.Helper()
		assets, err := prepareHere(t.Context(), work, want)
		if err != nil {
			t.Fatal(err)
		}
		return assets
	}
	digest := func(assets map[string]reconcile.Asset) string {
		text, _ := digestHere(want, from(assets))
		return text
	}
	assets := prepared()
	facts := kind.Facts{Dev: dev, Dir: dir, Assets: assets, Owner: reconcile.Mark{Stack: "shop", Stage: "local-ada", Address: "api", Generation: 1}}
	out, err := runHere(t.Context(), facts, "api", want)
	if err != nil {
		t.Fatal(err)
	}
	if env := ask(t, out.URL); env["KEY"] != "from-this-machine" || env["DEBUG"] != "true" || env["STAGE"] != "local" {
		t.Errorf("the environment is %v", env)
	}
	if err := os.WriteFile(filepath.Join(dir, "api", ".dev.vars"), []byte("KEY=another-one-of-it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if before, after := digest(assets), digest(prepared()); before == after {
		t.Error("a saved file of variables is no change")
	}
	if !slices.Contains(read, filepath.Join(dir, "api", "src", ".dev.vars")) || !slices.Contains(read, filepath.Join(dir, "api", ".dev.vars")) {
		t.Errorf("it watches %v", read)
	}
	select {
	case <-key:
	case <-time.After(time.Minute):
		t.Error("the Worker prints nothing")
	}
	if err := dev.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(printed, "\n"); strings.Contains(all, "from-this-machine") || !strings.Contains(all, "key (secret)") {
		t.Errorf("it prints %s", all)
	}
	cloud, err := prepareWorker(t.Context(), work, want)
	if _, there := cloud[varsAsset]; err != nil || there {
		t.Errorf("at Cloudflare: %v, %v", cloud, err)
	}
}

// TestVarsAreNoAssets: a file of variables among static files is refused: everybody could read it.
func TestVarsAreNoAssets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".dev.vars", ".dev.vars.staging", ".env", ".env.local", "sub/.env"} {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"public/index.html": "a", "public/" + name: "KEY=1"})
		work := reconcile.Workspace{Dir: dir, Cache: t.TempDir()}
		_, err := prepareFiles(t.Context(), work, &Assets{Directory: "public"})
		if err == nil || !strings.Contains(err.Error(), "everybody could read these variables") {
			t.Errorf("%s: %v", name, err)
		}
		lay(t, dir, map[string]string{"public/.assetsignore": ".env*\n.dev.vars*\n"})
		if _, err := prepareFiles(t.Context(), work, &Assets{Directory: "public"}); err != nil {
			t.Errorf("%s, which is ignored: %v", name, err)
		}
	}
	if _, err := prepareFiles(t.Context(), reconcile.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}, &Assets{Directory: "none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
