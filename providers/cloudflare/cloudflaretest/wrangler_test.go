package cloudflaretest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wrangler runs Cloudflare's own client against the server, and gives what it prints.
func wrangler(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	dir, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "node_modules", "wrangler", "wrangler-dist", "cli.js")
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s: run `task cloudflare`", program)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"--no-warnings", program}, args...)...)
	home := t.TempDir()
	cmd.Dir = home
	cmd.Env = os.Environ()
	for name, value := range s.Env() {
		if value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CONFIG_HOME="+home, "CI=1", "NO_COLOR=1", "WRANGLER_SEND_METRICS=false", "WRANGLER_HIDE_BANNER=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("wrangler %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// called are the names of the calls since the last Reset, each once.
func called(s *Server) []string {
	var names []string
	for _, c := range s.Calls() {
		if !slices.Contains(names, c.Name()) {
			names = append(names, c.Name())
		}
	}
	return names
}

// TestWranglerKV: Cloudflare's own client makes, lists and deletes namespaces here, and finds what it wants in every
// answer.
func TestWranglerKV(t *testing.T) {
	t.Parallel()
	s := Start(t)
	wrangler(t, s, "kv", "namespace", "create", "orders")
	for i := range 120 {
		s.Do(t, "POST", "/accounts/ACCOUNT/storage/kv/namespaces", object{"title": "more-" + hexID(4) + string(rune('a'+i%26))})
	}
	listed := wrangler(t, s, "kv", "namespace", "list")
	if n := strings.Count(listed, `"id"`); n != 121 || !strings.Contains(listed, `"title": "orders"`) {
		t.Errorf("wrangler lists %d namespaces, want 121:\n%s", n, listed)
	}
	id := s.world.kv.spaces[0].id
	wrangler(t, s, "kv", "namespace", "delete", "--namespace-id", id)
	if len(s.world.kv.spaces) != 120 {
		t.Errorf("%d namespaces are left", len(s.world.kv.spaces))
	}
	want := []string{"KV.CreateNamespace", "KV.ListNamespaces", "KV.DeleteNamespace"}
	for _, name := range want {
		if !slices.Contains(called(s), name) {
			t.Errorf("wrangler did not call %s, but %v", name, called(s))
		}
	}
}
