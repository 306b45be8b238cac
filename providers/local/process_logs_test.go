//go:build unix

package local

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// What a process prints is kept without secrets, for its user alone.
func TestProcessLog(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.secret = map[tree.Path]bool{"env.PW": true}
	y.must(map[string]any{
		"run": "echo the $PW; echo more >&2; yes x | head -c 140000 | tr -d '\\n'; echo; echo end; sleep 1000",
		"env": map[string]any{"PW": "hunter22"}, "ready": map[string]any{"output": "end"},
	})
	y.wait("stderr: more") // the other stream is read by itself
	all := y.readLog(reconcile.LogQuery{})
	slices.Sort(all)
	if len(all) != 4 || all[0] != "stderr: more" || all[1] != "stdout: end" || all[2] != "stdout: the "+mask || !strings.HasSuffix(all[3], "… (8561 bytes more)") {
		t.Errorf("log %.80q", all)
	}
	if some := y.readLog(reconcile.LogQuery{Filter: "mor"}); len(some) != 2 {
		t.Errorf("filtered: %.80q", some)
	}
	if none := y.readLog(reconcile.LogQuery{Since: time.Now().Add(time.Hour)}); len(none) != 0 {
		t.Errorf("of later: %q", none)
	}
	info, err := os.Stat(y.logFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	data, err := os.ReadFile(y.logFile())
	if err != nil || strings.Contains(string(data)+strings.Join(y.all(), "\n"), "hunter22") {
		t.Errorf("a secret is in clear (%v)", err)
	}
	y.last = nil
	if none := y.readLog(reconcile.LogQuery{}); len(none) != 0 {
		t.Errorf("without a record: %q", none)
	}
}

// A process is ready only when the line that says so is in the log and on the screen: who reads after a deploy finds it.
func TestProcessLogComesBeforeReadiness(t *testing.T) {
	t.Parallel()
	l, err := openLog(t.TempDir(), reconcile.Mark{Stack: "shop", Stage: "test"}, "web")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	r := &readiness{fits: make(chan struct{}), output: regexp.MustCompile("^end$")}
	shown := 0
	output := func(string, reconcile.LogLine) {
		shown++
		select {
		case <-r.fits:
			t.Error("ready before the line was written")
		default:
		}
	}
	c := &child{waiting: r, log: l, def: definition{dev: &reconcile.Dev{Output: output}, mask: func(text string) string { return text }}}
	c.print("stdout", "end", 0)
	select {
	case <-r.fits:
	default:
		t.Error("never ready")
	}
	if shown != 1 {
		t.Errorf("shown %d times", shown)
	}
}

// A follower sees every line once, over the turn of the log too.
func TestProcessLogIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLog(dir, reconcile.Mark{Stack: "shop", Stage: "test"}, "web")
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		l.write(reconcile.LogLine{Time: time.Now(), Text: fmt.Sprintf("%06d %s", n, strings.Repeat("x", 50_000))})
	}
	const turned = fullLog/50_000 + 20 // more than one log holds, fewer than two
	for n := range 10 {
		write(n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	site := processSite{Last: &Process{Log: l.path}}
	next := 0
	for line, err := range processLogs(ctx, site, reconcile.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(line.Text, fmt.Sprintf("%06d ", next)) {
			t.Fatalf("line %d is %.10s", next, line.Text)
		}
		if next++; next == 10 { // all that was there: the rest comes while it is followed
			go func() {
				for n := 10; n < turned; n++ {
					write(n)
				}
			}()
		}
		if next == turned {
			cancel()
		}
	}
	if next != turned {
		t.Errorf("%d lines, want %d", next, turned)
	}
	if _, err := os.Stat(l.path + olderLog); err != nil {
		t.Errorf("the log was never turned: %v", err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	write(0) // is lost, and harms nobody

	// Without following both files are read, the older one first.
	first := ""
	count := 0
	for line, err := range processLogs(t.Context(), site, reconcile.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if count++; first == "" {
			first = line.Text[:6]
		}
	}
	if count != turned || first != "000000" {
		t.Errorf("%d lines from %s on, want %d", count, first, turned)
	}
}

// A log may be followed before there is one.
func TestProcessLogToCome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark := reconcile.Mark{Stack: "shop", Stage: "test"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &logReader{path: logPath(dir, mark, "web"), query: reconcile.LogQuery{Follow: true}}
	var seen []string
	r.yield = func(line reconcile.LogLine, err error) bool {
		seen = append(seen, line.Text)
		return line.Text != "last"
	}
	if err := r.open(); err != nil { // it watches from here on
		t.Fatal(err)
	}
	l, err := openLog(dir, mark, "web")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, text := range []string{"first", "last", "after"} {
		l.write(reconcile.LogLine{Time: time.Now(), Text: text})
	}
	if err := r.read(ctx); err != nil || strings.Join(seen, " ") != "first last" {
		t.Errorf("%q %v", seen, err)
	}
}
