//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// session is a dev session that runs beside the test, followed by its --json.
type session struct {
	*exec.Cmd
	w      *world
	out    io.ReadCloser
	events chan map[string]any
	errs   strings.Builder
	ended  chan int
	seen   []map[string]any
}

// dev starts a session in the world's folder, or what else is given as a program. It looks at nothing by itself,
// unless told.
func (w *world) dev(args ...string) *session { return w.devOf("athanor", args...) }

func (w *world) devOf(program string, args ...string) *session {
	w.t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--look") }) {
		args = append(args, "--look=0")
	}
	s := &session{
		Cmd: limited(w.t, path, append([]string{"dev", "--json"}, args...)...), w: w,
		events: make(chan map[string]any, 100_000), ended: make(chan int, 1),
	}
	s.Dir, s.Env, s.Stderr = w.dir, w.env, &s.errs
	bind(s.Cmd)
	s.SysProcAttr.Setpgid = true
	if s.out, err = s.StdoutPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(s.out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			event := map[string]any{}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				event = map[string]any{"type": "no JSON", "text": lines.Text()}
			}
			s.events <- event
		}
		_ = s.Wait()
		close(s.events)
		s.ended <- s.ProcessState.ExitCode()
	}()
	return s
}

// until waits for an event and gives it.
func (s *session) until(what string, is func(map[string]any) bool) map[string]any {
	s.w.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.w.t.Fatalf("it ended before %s: %v\n%s", what, s.last(), s.errs.String())
			}
			if s.seen = append(s.seen, e); is(e) {
				return e
			}
		case <-limit:
			s.w.t.Fatalf("%s does not come: %v\n%s", what, s.last(), s.errs.String())
		}
	}
}

// last are the newest lines, looks that found nothing left out.
func (s *session) last() []map[string]any {
	lines := slices.DeleteFunc(slices.Clone(s.seen), func(e map[string]any) bool { return e["type"] == "looked" && e["run"] == nil })
	return lines[max(0, len(lines)-12):]
}

// next waits for a line of a type.
func (s *session) next(kind string) map[string]any {
	s.w.t.Helper()
	return s.until(kind, func(e map[string]any) bool { return e["type"] == kind })
}

// deployed waits for the end of a round that changed something, and checks its counts.
func (s *session) deployed(want map[string]float64) map[string]any {
	s.w.t.Helper()
	e := s.runEnded()
	wantCounts(s.w.t, e, want)
	return e
}

// runEnded waits for the end of the next run, whatever became of it.
func (s *session) runEnded() map[string]any {
	s.w.t.Helper()
	return s.until("a deploy", func(e map[string]any) bool { return e["type"] == "deployed" && e["run"] != nil })
}

// reads are the reading calls that a line counts.
func reads(e map[string]any) float64 {
	calls, _ := e["calls"].(map[string]any)
	n, _ := calls["reads"].(float64)
	return n
}

// count is how often a type was seen.
func (s *session) count(kind string) int {
	n := 0
	for _, e := range s.seen {
		if e["type"] == kind {
			n++
		}
	}
	return n
}

// stop ends the session as Ctrl-C does and checks its exit code.
func (s *session) stop(want int) {
	s.w.t.Helper()
	if err := s.Process.Signal(os.Interrupt); err != nil {
		s.w.t.Fatal(err)
	}
	s.over(want)
}

// over waits for the end.
func (s *session) over(want int) {
	s.w.t.Helper()
	limit := time.After(patience)
	for open := true; open; {
		var e map[string]any
		select {
		case e, open = <-s.events:
			s.seen = append(s.seen, e)
		case <-limit:
			s.w.t.Fatalf("it does not end: %v\n%s", s.last(), s.errs.String())
		}
	}
	if code := <-s.ended; code != want {
		s.w.t.Errorf("exit code %d, want %d: %v\n%s", code, want, s.seen, s.errs.String())
	}
}

// save writes a file as editors do: a new one, renamed over the old one.
func (w *world) save(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path+".new~", []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(path+".new~", path); err != nil {
		w.t.Fatal(err)
	}
}

// pages is a stack of n files, the first of which says what it is told.
func pages(n int, first string) string {
	var b strings.Builder
	b.WriteString("stack: pages\nresources:\n")
	for i := range n {
		text := fmt.Sprintf("page %d", i)
		if i == 0 {
			text = first
		}
		fmt.Fprintf(&b, "  p%d: {kind: local.File, props: {path: out/p%d.txt, content: %q}}\n", i, i, text)
	}
	return b.String()
}

// sources is a stack of what comes from files and folders, in two files.
func newSources(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "stack: sources\ninclude: [more.yaml]\nsecrets: {key: {file: key.txt}}\nresources:\n"+
		"  site: {kind: local.Directory, props: {path: out/site, source: site}}\n"+
		"  key: {kind: local.File, props: {path: out/key.txt, content: \"${secret.key}\", mode: \"0600\"}}\n")
	for _, dir := range []string{"site"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("more.yaml", "resources: {copy: {kind: local.File, props: {path: out/copy.txt, source: copy.txt}}}\n")
	w.write("key.txt", "first-secret\n")
	w.write("copy.txt", "one")
	w.write("site/index.html", "one")
	return w
}
