//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paired is a stack with one process of two, which hold a pipe as long as one of them lives, and a file made of it.
const paired = `stack: paired
resources:
  greeting: {kind: local.Value, props: {input: hello}}
  web:
    kind: local.Process
    props:
      run: exec 3>alive; sleep 1000 & echo $GREETING; read -r how < go; exit $how
      env: {GREETING: "${greeting.output}"}
      ready: {output: hello}
  page: {kind: local.File, props: {path: out/page.txt, content: "${web.pid}"}}
`

// newPaired is a world with that stack. What it gives is read to its end as soon as nothing of the process lives.
func newPaired(t *testing.T) (*world, func()) {
	w := newWorld(t, paired)
	w.fifo("alive")
	w.fifo("go")
	return w, w.mourn()
}

// mourn waits, when it is called, until nothing holds the pipe any more that somebody held since now.
func (w *world) mourn() func() {
	gone := make(chan error, 1)
	go func() {
		pipe, err := os.Open(filepath.Join(w.dir, "alive"))
		if err == nil {
			_, err = io.Copy(io.Discard, pipe)
			pipe.Close()
		}
		gone <- err
	}()
	return func() {
		w.t.Helper()
		if err := awaited(w.t, gone, "the end of what holds the pipe"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// said waits for a line that something printed.
func (s *session) said(text string) map[string]any {
	s.w.t.Helper()
	return s.until(text, func(e map[string]any) bool {
		line, _ := e["text"].(string)
		return e["type"] == "log" && strings.Contains(line, text)
	})
}

// A child that dies is started again, and nobody plans anything for it; the end of the session is its own.
func TestDevChildDies(t *testing.T) {
	t.Parallel()
	w, gone := newPaired(t)
	s := w.dev()
	s.said("hello")
	s.deployed(map[string]float64{"created": 3})
	w.write("go", "3\n") // a pipe, which the process reads
	gone()               // the other one of its group went with it
	gone = w.mourn()
	if e := s.said("exit code 3"); e["source"] != "athanor" || e["address"] != "web" {
		t.Errorf("%v", e)
	}
	s.said("hello")
	if n := s.count("deployed"); n != 1 {
		t.Errorf("%d deploys", n)
	}
	s.stop(0)
	gone()
	w.run(0, "plan", "--stage", "local-tester", "--exclude", "page")
}

// A killed session leaves no process behind, and the next one starts it anew.
func TestDevKilledWithAProcess(t *testing.T) {
	t.Parallel()
	w, gone := newPaired(t)
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.over(-1)
	gone()
	gone = w.mourn()
	s = w.dev()
	s.said("hello")
	s.deployed(map[string]float64{"failed": 0, "unchanged": 1}) // it is created, or updated as long as its keeper has not ended yet
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.over(-1)
	gone()
	w.run(0, "destroy", "--yes", "--stage", "local-tester")
}

// A process that does not become ready is a problem of that save; a better one starts it.
func TestDevChildIsNotReady(t *testing.T) {
	t.Parallel()
	w, gone := newPaired(t)
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	w.save("athanor.yaml", strings.Replace(paired, "exec 3>alive;", "echo broken; exit 4;", 1))
	gone()
	e := s.deployed(map[string]float64{"failed": 1, "unchanged": 1})
	if failures, _ := e["failures"].([]any); len(failures) != 1 || !strings.Contains(failures[0].(map[string]any)["error"].(string), "exit code 4: broken") {
		t.Errorf("it says %v", e["failures"])
	}
	gone = w.mourn()
	w.save("athanor.yaml", strings.Replace(paired, "input: hello", "input: hello again", 1))
	s.said("hello again")
	s.deployed(nil)
	s.stop(0)
	gone()
}
