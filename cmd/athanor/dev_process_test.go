//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// served is a stack with a process that knows a file and is started again when its input changes.
const served = `stack: served
resources:
  conf: {kind: local.File, props: {path: out/conf.txt, content: "one\n"}}
  server:
    kind: local.Process
    props: {run: "echo $$$$ > pid; echo serving $CONF $(cat input.txt); while :; do read x < gate; exit 7; done", env: {CONF: "${conf.digest}"}, inputs: [input.txt], ready: {output: serving}}
`

// What a session runs is shown, started again when it dies or its inputs change, and ends with the session, however that
// ends.
func TestDevRunsProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, served)
	w.fifo("gate")
	w.write("input.txt", "first")
	s := w.dev()
	serving := func(with string) {
		t.Helper()
		s.until(with, func(e map[string]any) bool {
			return e["type"] == "log" && e["address"] == "server" && strings.HasSuffix(fmt.Sprint(e["text"]), with)
		})
	}
	serving(" first")
	s.deployed(map[string]float64{"created": 2})
	w.save("input.txt", "second")
	serving(" second")
	s.deployed(map[string]float64{"updated": 1, "unchanged": 1})
	w.save("athanor.yaml", strings.Replace(served, "one", "two", 1))
	serving(" second")
	s.deployed(map[string]float64{"updated": 2})
	before := w.read("pid")
	w.open() // it dies
	serving(" second")
	if after := w.read("pid"); after == before {
		t.Errorf("it is still %s", after)
	}
	last := strings.TrimSpace(w.read("pid"))
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.over(-1)
	w.run(0, "plan", "--stage", "local-tester") // it is neither missed nor started
	s = w.dev()
	serving(" second")
	s.deployed(map[string]float64{"failed": 0})
	if alive(last) {
		t.Errorf("%s survived the kill of its session", last)
	}
	last = strings.TrimSpace(w.read("pid"))
	s.stop(0)
	if alive(last) {
		t.Errorf("%s survives its session", last)
	}
}

func alive(pid string) bool {
	_, err := os.Stat(filepath.Join("/proc", pid))
	return err == nil
}
