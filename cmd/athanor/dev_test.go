//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Each save is deployed, whatever it touches, and nothing else is looked at.
func TestDevDeploysEachSave(t *testing.T) {
	t.Parallel()
	w := newSources(t)
	s := w.dev()
	if e := s.deployed(map[string]float64{"created": 3}); e["stage"] != "local-tester" {
		t.Errorf("it works on %v", e["stage"])
	}
	for _, tt := range []struct {
		name, file, text, made, want string
	}{
		{"an included file", "more.yaml", "resources: {copy: {kind: local.File, props: {path: out/copy.txt, content: other}}}\n", "out/copy.txt", "other"},
		{"and back", "more.yaml", "resources: {copy: {kind: local.File, props: {path: out/copy.txt, source: copy.txt}}}\n", "out/copy.txt", "one"},
		{"a source file", "copy.txt", "two", "out/copy.txt", "two"},
		{"a file in a source folder", "site/index.html", "two", "out/site/index.html", "two"},
		{"a new file in it", "site/about.html", "new", "out/site/about.html", "new"},
		{"a secret", "key.txt", "second-secret\n", "out/key.txt", "second-secret"},
	} {
		w.save(tt.file, tt.text)
		changed := s.next("changed")
		if paths := fmt.Sprint(changed["paths"]); !strings.Contains(paths, tt.file) {
			t.Errorf("%s: changed %s", tt.name, paths)
		}
		e := s.deployed(map[string]float64{"updated": 1, "unchanged": 2})
		if w.read(tt.made) != tt.want {
			t.Errorf("%s: %s is %q, want %q", tt.name, tt.made, w.read(tt.made), tt.want)
		}
		if reads(e) > 4 {
			t.Errorf("%s: %v reads for one resource", tt.name, reads(e))
		}
	}
	w.save("site/.gitignore", "*.log\n")
	s.deployed(map[string]float64{"updated": 1})
	w.write("site/made.log", "x")
	w.save("copy.txt", "three")
	s.deployed(map[string]float64{"updated": 1, "unchanged": 2})
	if w.has("out/site/made.log") {
		t.Error("an ignored file was deployed")
	}
	s.stop(0)
	if strings.Contains(s.errs.String()+fmt.Sprint(s.seen), "second-secret") {
		t.Error("it shows a secret")
	}
}

// Saves in a burst become one run, and the last one counts. The session stands still meanwhile, so that it is a burst however slow
// the writing is.
func TestDevTakesBurstsTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(50, "0"))
	s := w.dev()
	s.deployed(map[string]float64{"created": 50})
	signal := func(of syscall.Signal) {
		if err := s.Process.Signal(of); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	for i := range 20 {
		w.write("athanor.yaml", pages(50, fmt.Sprint("burst ", i)))
	}
	signal(syscall.SIGCONT)
	for w.read("out/p0.txt") != "burst 19" {
		ended := s.runEnded()
		if ended["state"] != "cancelled" { // as a run is that a later save overtakes before it changes anything
			wantCounts(t, ended, map[string]float64{"updated": 1, "unchanged": 49})
		}
	}
	if n := s.count("deployed"); n > 4 {
		t.Errorf("%d runs for a burst of 20 saves", n-1)
	}
	s.stop(0)
}

// What does not load is printed with its place, and what runs keeps running.
func TestDevSurvivesABrokenProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(3, "one"))
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	for _, tt := range []struct{ text, place, why string }{
		{pages(3, "two") + "  bad: [\n", "athanor.yaml:", "not YAML"},
		{pages(3, "two") + "  bad: {kind: local.Fiel, props: {}}\n", "athanor.yaml:6:15", "local.File"},
		{pages(3, "two") + "  bad: {kind: local.File, props: {path: x, source: missing.txt}}\n", "athanor.yaml:6:3", "missing.txt"},
		{strings.Replace(pages(3, "two"), "stack: pages", "stack: other", 1), "", "was pages"},
	} {
		w.save("athanor.yaml", tt.text)
		text := fmt.Sprint(s.next("problem"))
		if !strings.Contains(text, tt.place) || !strings.Contains(text, tt.why) {
			t.Errorf("it says %s, and neither %s nor %s", text, tt.place, tt.why)
		}
		if w.read("out/p0.txt") != "one" {
			t.Fatalf("it deployed %q", w.read("out/p0.txt"))
		}
	}
	// A source that was missing is waited for.
	w.save("athanor.yaml", pages(3, "two")+"  bad: {kind: local.File, props: {path: out/x, source: missing.txt}}\n")
	s.next("problem")
	w.write("missing.txt", "found")
	s.deployed(map[string]float64{"created": 1, "updated": 1})
	s.stop(0)
}

// One that is broken from the start is waited for as well.
func TestDevWaitsForAProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stack: pages\nresources: [\n")
	s := w.dev()
	s.next("problem")
	w.save("athanor.yaml", pages(2, "one"))
	s.deployed(map[string]float64{"created": 2})
	s.stop(0)
}

// A save in the middle of a deploy lets running calls finish and reach state; then the newest program is taken.
func TestDevTakesTheNewestProgram(t *testing.T) {
	t.Parallel()
	w := newGated(t)
	s := w.dev()
	w.await("started")
	w.write("athanor.yaml", "stack: broken [")
	s.next("problem") // which stops nothing
	changed := strings.Replace(gated, "${slow.stdout}", "newest ${slow.stdout}", 1)
	w.save("athanor.yaml", changed)
	s.next("built")
	w.open()
	first := s.deployed(map[string]float64{"created": 2, "notStarted": 1})
	if first["state"] != "cancelled" {
		t.Errorf("the first run ended as %v", first["state"])
	}
	s.deployed(map[string]float64{"created": 1, "unchanged": 2})
	if w.read("last.txt") != "newest " || w.read("starts") != ".\n" {
		t.Errorf("last.txt is %q, the command ran %q", w.read("last.txt"), w.read("starts"))
	}
	s.stop(0)
}

// A session that is killed leaves nothing stuck: the next one, or a deploy, goes on.
func TestDevKilled(t *testing.T) {
	t.Parallel()
	w := newGated(t)
	s := w.dev()
	w.await("started")
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.over(-1)
	w.openNext()
	s = w.dev()
	e := s.deployed(map[string]float64{"failed": 0})
	if e["state"] != "succeeded" || !w.has("last.txt") {
		t.Errorf("ended as %v", e)
	}
	s.stop(0)
	for _, run := range w.lines("history", "--stage", "local-tester") {
		if run["state"] == "running" {
			t.Errorf("a run is left: %v", run)
		}
	}
}

// While dev deploys, another deploy is told who holds the stage; between saves the stage is free.
func TestDevHoldsTheStageWhileItDeploys(t *testing.T) {
	t.Parallel()
	w := newGated(t)
	s := w.dev()
	w.await("started")
	p := w.start("athanor", "deploy", "--yes", "--json", "--stage", "local-tester")
	p.end(3)
	if holder := p.out.String(); !strings.Contains(holder, `"command":"dev"`) || !strings.Contains(holder, fmt.Sprintf(`"pid":%d`, s.Process.Pid)) {
		t.Errorf("it does not say who holds it: %s", holder)
	}
	w.open()
	s.deployed(map[string]float64{"created": 3})
	w.run(0, "deploy", "--yes", "--stage", "local-tester")
	second := w.dev()
	second.over(3)
	if text := fmt.Sprint(second.seen); !strings.Contains(text, "another dev session") || !strings.Contains(text, fmt.Sprintf("pid %d", s.Process.Pid)) {
		t.Errorf("the second session is told %s", text)
	}
	s.stop(0)
	w.dev().stopSoon(0)
}

// While another run holds the stage, dev says who does, and waits for it.
func TestDevWaitsForTheStage(t *testing.T) {
	t.Parallel()
	w := newGated(t)
	s := w.dev()
	w.await("started")
	w.open()
	s.deployed(map[string]float64{"created": 3})
	if err := os.Remove(filepath.Join(w.dir, "started")); err != nil {
		t.Fatal(err)
	}
	p := w.start("athanor", "deploy", "--yes", "--force", "--stage", "local-tester")
	w.await("started")
	w.save("athanor.yaml", strings.Replace(gated, "1\\n", "2\\n", 1))
	if text := fmt.Sprint(s.next("problem")["holder"]); !strings.Contains(text, "command:deploy") || !strings.Contains(text, fmt.Sprint("pid:", p.Process.Pid)) {
		t.Errorf("it does not say who holds the stage: %s", text)
	}
	w.open()
	p.end(0)
	w.openSoon() // the command is triggered by what changed
	s.deployed(map[string]float64{"failed": 0})
	if w.read("first.txt") != "2\n" || s.count("problem") != 1 {
		t.Errorf("first.txt is %q, %d problems", w.read("first.txt"), s.count("problem"))
	}
	s.stop(0)
}

// stopSoon ends a session after its first deploy.
func (s *session) stopSoon(want int) {
	s.w.t.Helper()
	s.next("deployed")
	s.stop(want)
}

// Ctrl-C in the middle of a deploy finishes what runs; what was not begun is left, and the next one goes on.
func TestDevInterrupted(t *testing.T) {
	t.Parallel()
	w := newGated(t)
	s := w.dev()
	w.await("started")
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.next("stopping")
	w.open()
	s.over(130)
	if !w.has("done") || w.has("last.txt") {
		t.Errorf("what ran is finished: %t; something new was started: %t", w.has("done"), w.has("last.txt"))
	}
	s = w.dev()
	s.deployed(map[string]float64{"created": 1, "unchanged": 2})
	s.stop(0)
}

// A stage that deploy made is refused.
func TestDevOnALiveStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(3, "one"))
	w.run(0, "deploy", "--yes", "--stage", "prod")
	for _, args := range [][]string{{"--stage", "prod"}, nil} {
		if args == nil {
			w.env = append(w.env, "ATHANOR_STAGE=prod")
		}
		s := w.dev(args...)
		s.over(1)
		if text := fmt.Sprint(s.seen); !strings.Contains(text, "deployed, and not made by dev: p0 and 2 more") || !strings.Contains(text, "--here") {
			t.Errorf("it says %s", text)
		}
	}
	if w.read("out/p0.txt") != "one" {
		t.Error("it changed something")
	}
}

// With --here it works there, and deletes nothing that deploy made; what it made itself goes.
func TestDevHereDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(3, "one"))
	w.run(0, "deploy", "--yes", "--stage", "prod")
	w.write("athanor.yaml", pages(1, "two")+"  mine: {kind: local.File, props: {path: out/mine.txt, content: x}}\n")
	s := w.dev("--here", "--stage", "prod", "--destroy-on-exit")
	s.deployed(map[string]float64{"created": 1, "updated": 1, "deleted": 0})
	w.save("athanor.yaml", strings.Replace(pages(1, "two"), "out/p0.txt", "out/moved.txt", 1)) // a path replaces
	if text := fmt.Sprint(s.next("problem")); !strings.Contains(text, "would be replaced") {
		t.Errorf("a replacement: %s", text)
	}
	w.save("athanor.yaml", pages(1, "three"))
	s.deployed(map[string]float64{"updated": 1, "deleted": 1})
	s.stop(0)
	for _, name := range []string{"out/p0.txt", "out/p1.txt", "out/p2.txt"} {
		if !w.has(name) {
			t.Errorf("%s is gone", name)
		}
	}
	if w.has("out/mine.txt") {
		t.Error("what dev made is left")
	}
	w.run(0, "deploy", "--yes", "--stage", "prod")
	if w.has("out/p1.txt") {
		t.Error("deploy does not delete what is not declared")
	}
}

// --destroy-on-exit leaves nothing behind.
func TestDevDestroyOnExit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(3, "one"))
	s := w.dev("--destroy-on-exit")
	s.deployed(map[string]float64{"created": 3})
	s.stop(0)
	if s.count("destroyed") != 1 || w.has("out/p0.txt") || w.has("out") {
		t.Errorf("something is left: %v", s.seen)
	}
	if rows := w.run(0, "state", "list", "--stage", "local-tester"); rows != "" {
		t.Errorf("rows are left: %s", rows)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, ".athanor")); err != nil {
		t.Fatal(err)
	}
	if plan := w.run(2, "plan", "--stage", "local-tester"); strings.Contains(plan, "State was lost") {
		t.Errorf("what was destroyed is remembered:\n%s", plan)
	}
}

// dev reads the cloud by and by, and reverts what changed outside athanor.
func TestDevLooksAround(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(60, "one"))
	s := w.dev("--look=20ms")
	s.deployed(map[string]float64{"created": 60})
	for _, name := range []string{"out/p3.txt", "out/p59.txt"} {
		w.write(name, "by hand")
	}
	for range 2 {
		e := s.until("a repair", func(e map[string]any) bool { return e["type"] == "looked" && e["run"] != nil })
		wantCounts(t, e, map[string]float64{"updated": 1, "unchanged": 59})
	}
	if w.read("out/p3.txt") != "page 3" || w.read("out/p59.txt") != "page 59" {
		t.Errorf("left: %q %q", w.read("out/p3.txt"), w.read("out/p59.txt"))
	}
	s.stop(0)
}

// On a terminal it says in a few lines what happened, and Ctrl-C ends it.
func TestDevOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(60, "one"))
	x := w.terminal(80, "dev", "--look=0")
	x.await("watching 1 files and folders")
	x.await("and 40 more")
	x.await("60 created")
	x.awaitBottom("[in sync]  last change ")
	w.save("athanor.yaml", pages(60, "two"))
	x.await("changed athanor.yaml")
	x.await("updated")
	x.await("59 unchanged")
	x.awaitBottom("[in sync]  last change ")
	w.save("athanor.yaml", pages(60, "two")+"# nothing else\n")
	x.await("[planning]")
	x.awaitBottom("[in sync]  last change ")
	w.save("athanor.yaml", "stack: [")
	x.await("what runs keeps running")
	x.awaitBottom("[failed]  what was deployed at ")
	x.write("\x03")
	if code := x.end(); code != 0 {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
	left := screen(x.seen())
	if lines := len(left); lines > 40 {
		t.Errorf("%d lines are left:\n%s", lines, strings.Join(left, "\n"))
	}
	for _, line := range left {
		if strings.HasPrefix(line, "[") {
			t.Errorf("the status line stays behind: %q", line)
		}
	}
}

// The terminal goes away: the session ends, and so does what it runs.
func TestDevHangUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(3, "one"))
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.over(0)
}

// What cannot be watched is refused.
func TestDevTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pages(1, "one"))
	w.run(2, "plan", "--out", "plan.json")
	for _, target := range []string{"-", "plan.json", filepath.Join(w.dir, "nothing")} {
		cmd := w.command("dev", "--json", target)
		cmd.Stdin = strings.NewReader("stack: x\n")
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: %v %s", target, err, out)
		}
	}
	graph := w.run(0, "graph", "--json")
	w.write("graph.json", strings.ReplaceAll(graph, "dev-tester", "local-tester"))
	s := w.dev("graph.json")
	s.deployed(map[string]float64{"created": 1})
	w.save("graph.json", strings.ReplaceAll(w.read("graph.json"), `"one"`, `"two"`))
	s.deployed(map[string]float64{"updated": 1})
	s.stop(0)
}

// Each run of a session is sent as a trace, also the last one before it ends, and a collector that is away stops nothing.
func TestDevSendsTraces(t *testing.T) {
	t.Parallel()
	got := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			body = []byte(fmt.Sprint(r.URL.Path, err))
		}
		got <- string(body)
	}))
	defer collector.Close()
	w := newWorld(t, pages(2, "one"))
	w.env = append(w.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	s := w.dev("--destroy-on-exit")
	s.deployed(map[string]float64{"created": 2})
	w.save("athanor.yaml", pages(2, "two"))
	s.deployed(map[string]float64{"updated": 1})
	s.stop(0)
	for _, action := range []string{"create p0", "update p0", "delete p1"} {
		body := <-got // sent before the session ended
		for _, part := range []string{`"athanor dev"`, `"` + action + `"`, `"local-tester"`, `"succeeded"`} {
			if !strings.Contains(body, part) {
				t.Errorf("the trace of %s has no %s: %s", action, part, body)
			}
		}
	}
	if len(got) > 0 {
		t.Errorf("one more trace: %s", <-got)
	}
	collector.Close()
	away := w.dev()
	away.deployed(map[string]float64{"created": 2})
	w.save("athanor.yaml", pages(2, "three"))
	away.deployed(map[string]float64{"updated": 1})
	away.stop(0)
	if n := strings.Count(away.errs.String(), "warning: a trace was not sent"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, away.errs.String())
	}
}
