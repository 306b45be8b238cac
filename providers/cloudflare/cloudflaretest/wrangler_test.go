package cloudflaretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// wrangler runs Cloudflare's own client against the server, and gives what it prints.
func wrangler(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	return wranglerIn(t, t.TempDir(), s, args...)
}

func wranglerIn(t *testing.T, home string, s *Server, args ...string) string {
	t.Helper()
	out, err := wranglerCommand(t, home, s, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("wrangler %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wranglerCommand is Cloudflare's own client, ready to run in a folder, for two minutes at most.
func wranglerCommand(t *testing.T, home string, s *Server, args ...string) *exec.Cmd {
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
	t.Cleanup(cancel)
	compiler, err := filepath.Abs(filepath.Join("testdata", "compiled.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	start := []string{"--no-warnings", "--require", compiler, program}
	compiled, err := proctest.Shared(filepath.Join("wrangler", "compiled"), func(path string) error {
		first := exec.CommandContext(ctx, "node", append(slices.Clone(start), "--version")...)
		first.Env = append(os.Environ(), "WRANGLER_COMPILED="+path, "HOME="+home, "CI=1", "WRANGLER_SEND_METRICS=false")
		if out, err := first.CombinedOutput(); err != nil {
			return fmt.Errorf("wrangler --version: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "node", append(start, args...)...)
	cmd.Dir = home
	cmd.Env = os.Environ()
	for name, value := range s.Env() {
		if value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "WRANGLER_COMPILED="+compiled, "HOME="+home, "XDG_CONFIG_HOME="+home, "CI=1", "NO_COLOR=1", "WRANGLER_SEND_METRICS=false", "WRANGLER_HIDE_BANNER=true")
	return cmd
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

// wranglers are what Cloudflare's own client does with one service each.
var wranglers = []struct {
	name string
	test func(t *testing.T)
}{
	{"d1", wranglerD1},
	{"kv", wranglerKV},
	{"queues", wranglerQueues},
	{"modules", wranglerModules},
	{"hyperdrive", wranglerHyperdrive},
	{"workflows", wranglerWorkflows},
	{"r2", wranglerR2},
	{"containers", wranglerContainers},
	{"beside", wranglerBeside},
}

// TestWrangler: Cloudflare's own client makes, lists, changes and deletes what it finds here. A start of it takes more than a second of the processor:
// every fifth of its tests is played for each push, and each every night.
func TestWrangler(t *testing.T) {
	for n, w := range wranglers {
		if proctest.Played(n, 5) {
			t.Run(w.name, w.test)
		}
	}
}

// wranglerKV: Cloudflare's own client makes, lists and deletes namespaces here, and finds what it wants in every
// answer.
func wranglerKV(t *testing.T) {
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

func wranglerQueues(t *testing.T) {
	t.Parallel()
	s := Start(t)
	for i := range 25 {
		s.AddQueue(hexID(16), "more-"+string(rune('a'+i)))
	}
	wrangler(t, s, "queues", "create", "orders", "--delivery-delay-secs", "60")
	if listed := wrangler(t, s, "queues", "list", "--page", "2"); !strings.Contains(listed, "orders") || strings.Contains(listed, "more-a") {
		t.Errorf("wrangler lists on page 2:\n%s", listed)
	}
	if delay := s.world.queues[25].settings["delivery_delay"]; delay != float64(60) {
		t.Errorf("the delay is %v", delay)
	}
	wrangler(t, s, "queues", "delete", "orders")
	if len(s.world.queues) != 25 {
		t.Errorf("%d queues are left", len(s.world.queues))
	}
}

func wranglerR2(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.AddQueue(hexID(16), "orders")
	wrangler(t, s, "r2", "bucket", "create", "assets", "--jurisdiction", "eu", "--storage-class", "InfrequentAccess")
	if listed := wrangler(t, s, "r2", "bucket", "list", "--jurisdiction", "eu"); !strings.Contains(listed, "assets") {
		t.Errorf("wrangler lists:\n%s", listed)
	}
	if rules := wrangler(t, s, "r2", "bucket", "lifecycle", "list", "assets", "--jurisdiction", "eu"); !strings.Contains(rules, "Default Multipart Abort Rule") {
		t.Errorf("wrangler lists the rules:\n%s", rules)
	}
	wrangler(t, s, "r2", "bucket", "notification", "create", "assets", "--jurisdiction", "eu", "--event-type", "object-create", "--queue", "orders")
	if n := len(s.world.buckets[0].notifications); n != 1 {
		t.Errorf("%d queues are told", n)
	}
	wrangler(t, s, "r2", "bucket", "delete", "assets", "--jurisdiction", "eu")
	if len(s.world.buckets) != 0 {
		t.Errorf("%d buckets are left", len(s.world.buckets))
	}
}

// wranglerD1 goes back and forth: what wrangler has migrated athanor does not do again, and the other way round.
func wranglerD1(t *testing.T) {
	t.Parallel()
	s, dir := Start(t), t.TempDir()
	s.WithDatabases(t)
	wrangler(t, s, "d1", "create", "orders")
	id := s.world.bases[0].id
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "migrations"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("wrangler.json", `{"name":"shop","compatibility_date":"2026-01-01","d1_databases":[{"binding":"DB","database_name":"orders","database_id":"`+id+`"}]}`)
	write("migrations/0001_orders.sql", "CREATE TABLE orders (what TEXT);")
	wranglerIn(t, dir, s, "d1", "migrations", "apply", "orders", "--remote")
	s.ImportsTake(1)
	write("seed.sql", "CREATE TABLE seen (what TEXT);\r\nCREATE TRIGGER t AFTER INSERT ON orders\r\nBEGIN\r\n  INSERT INTO seen VALUES (NEW.what);\r\nEND;\r\n")
	if said := wranglerIn(t, dir, s, "d1", "execute", "orders", "--remote", "--yes", "--file", "seed.sql"); !strings.Contains(said, "Executed 2 queries") {
		t.Errorf("a file is imported:\n%s", said)
	}

	kind := d1.Service().Kinds[0]
	settle := func() {
		t.Helper()
		job := s.Job(t, kind, map[string]any{"name": "orders", "migrations": "migrations"}, nil)
		job.Dir = dir
		if err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: dir, Cache: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Reset()
	settle()
	if wrote := s.Wrote(); len(wrote) > 0 {
		t.Errorf("done by wrangler, and %v are made", wrote)
	}
	write("migrations/0002_first.sql", "INSERT INTO orders VALUES ('one')")
	settle()
	if said := wranglerIn(t, dir, s, "d1", "migrations", "list", "orders", "--remote"); !strings.Contains(said, "No migrations to apply") {
		t.Errorf("wrangler has migrations to apply:\n%s", said)
	}
}
