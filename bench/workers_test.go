package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// worker is the app that both develop: a Worker of two modules with a namespace.
const worker = `import { edition } from "./edition";

export default {
	async fetch(_: Request, env: any): Promise<Response> {
		await env.CACHE.put("edition", String(edition));
		return new Response(await env.CACHE.get("edition"));
	},
};
`

// workerApp lays the app out for both.
func workerApp(b *testing.B) (dir string) {
	b.Helper()
	packages, err := filepath.Abs("../.cache/cloudflare/node_modules")
	if err == nil {
		_, err = os.Stat(filepath.Join(packages, "wrangler"))
	}
	if err != nil {
		b.Fatalf("%v: run `task cloudflare` (needs Node.js)", err)
	}
	dir = b.TempDir()
	for name, text := range map[string]string{
		"athanor.yaml": "stack: app\nresources:\n  cache: {kind: cloudflare.KVNamespace}\n  api:\n    kind: cloudflare.Worker\n" +
			"    props: {code: {bundle: src/index.ts}, compatibilityDate: \"2026-01-31\", env: {CACHE: {kv: \"${cache.id}\"}}}\n",
		"wrangler.json": `{"name": "app", "main": "src/index.ts", "compatibility_date": "2026-01-31", "kv_namespaces": [{"binding": "CACHE", "id": "cache"}]}`,
		"src/index.ts":  worker,
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		b.Fatal(err)
	}
	saveEdition(b, dir, 0)
	return dir
}

// saveEdition saves the module that the answer is made of, as editors do.
func saveEdition(b *testing.B, dir string, n int) {
	b.Helper()
	path := filepath.Join(dir, "src", "edition.ts")
	if err := os.WriteFile(path+"~", fmt.Appendf(nil, "export const edition = %d;\n", n), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		b.Fatal(err)
	}
}

// answering asks until the app answers with an edition.
func answering(b *testing.B, url string, n int, ended <-chan error) {
	b.Helper()
	want := fmt.Sprint(n)
	for {
		select {
		case err := <-ended:
			b.Fatalf("the session ended: %v", err)
		default:
		}
		if res, err := http.Get(url); err == nil {
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err == nil && string(text) == want {
				return
			}
		}
		time.Sleep(2 * time.Millisecond) // the one that is measured has the processor
	}
}

// workerSession is a dev session of one of the two on an app of its own.
type workerSession struct {
	dir, url string
	ended    chan error
	took     []time.Duration
}

// developing begins a session and waits until it answers. url reads from its lines where; "" is another line.
func developing(b *testing.B, cmd *exec.Cmd, url func(line string) string) *workerSession {
	b.Helper()
	s := &workerSession{dir: cmd.Dir, ended: make(chan error, 1)}
	cmd.Env = append(os.Environ(), "HOME="+b.TempDir(), "XDG_CONFIG_HOME="+b.TempDir(), "USER=tester", "CI=1", "NO_COLOR=1", "WRANGLER_SEND_METRICS=false",
		"ATHANOR_STAGE=local-tester", "ATHANOR_STORE=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	// The context of a benchmark ends before its cleanup: a wrangler that is killed leaves its runtimes running, which take the processor from
	// what is measured next.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { <-s.ended })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for s.url == "" && lines.Scan() {
		s.url = url(lines.Text())
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		s.ended <- cmd.Wait()
	}()
	if s.url == "" {
		b.Fatalf("%s says nowhere: %v\n%s", cmd.Args, <-s.ended, errs.String())
	}
	answering(b, s.url, 0, s.ended)
	return s
}

// rest is the time before each edit. athanor dev starts a spare runtime after an edit, which must not take the processor from wrangler dev.
const rest = time.Second

// save measures from an edit to the answer that has it.
func (s *workerSession) save(b *testing.B, n int) {
	b.Helper()
	time.Sleep(rest)
	began := time.Now()
	saveEdition(b, s.dir, n)
	answering(b, s.url, n, s.ended)
	s.took = append(s.took, time.Since(began))
}

// BenchmarkWorkers is from an edit of a Worker to the answer that has it, in athanor dev and in wrangler dev: the same app, both running,
// 20 edits of each in turn.
func BenchmarkWorkers(b *testing.B) {
	athanor := exec.CommandContext(b.Context(), built(b), "dev", "--json")
	athanor.Dir = workerApp(b)
	ours := developing(b, athanor, func(line string) string {
		var e struct{ Text string }
		_ = json.Unmarshal([]byte(line), &e)
		at, serves := strings.CutPrefix(e.Text, "serves at ")
		if !serves {
			return ""
		}
		return at
	})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		b.Fatal(err)
	}
	dir := workerApp(b)
	wrangler := exec.CommandContext(b.Context(), "node", "--no-warnings", filepath.Join(dir, "node_modules", "wrangler", "wrangler-dist", "cli.js"),
		"dev", "--ip", "127.0.0.1", "--port", fmt.Sprint(port), "--show-interactive-dev-session=false")
	wrangler.Dir = dir
	theirs := developing(b, wrangler, func(line string) string {
		if !strings.Contains(line, "Ready on") {
			return ""
		}
		return fmt.Sprintf("http://127.0.0.1:%d", port)
	})
	n := 0
	for b.Loop() {
		for range sized(20) {
			n++
			ours.save(b, n)
			theirs.save(b, n)
		}
	}
	b.ReportMetric(0, "ns/op") // the beginning of the sessions is in it
	b.ReportMetric(percentile(ours.took, 50), "p50-ms")
	b.ReportMetric(percentile(ours.took, 95), "p95-ms")
	b.ReportMetric(percentile(theirs.took, 50), "wrangler-p50-ms")
	b.ReportMetric(percentile(theirs.took, 95), "wrangler-p95-ms")
	b.ReportMetric(percentile(ours.took, 50)/percentile(theirs.took, 50), "ratio")
}
