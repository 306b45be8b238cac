package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wakeups is how often the system has let the threads of a session run.
func (s *session) wakeups() int {
	s.w.t.Helper()
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(s.Process.Pid), "task", "*", "status"))
	if err != nil || len(threads) == 0 {
		s.w.t.Fatalf("no threads: %v", err)
	}
	n := 0
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if err != nil {
			s.w.t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") {
				more, err := strconv.Atoi(strings.TrimSpace(value))
				if err != nil {
					s.w.t.Fatal(err)
				}
				n += more
			}
		}
	}
	return n
}

// A session without changes does nothing at all, and neither does what guards its processes: it is measured while another
// stack is deployed and destroyed five times.
func TestDevIdle(t *testing.T) {
	w, gone := newPaired(t)
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	other := newWorld(t, pages(100, "one"))
	last := s.wakeups()
	var spans []int
	for range 5 {
		other.run(0, "deploy", "--yes")
		other.run(0, "destroy", "--yes")
		now := s.wakeups()
		spans, last = append(spans, now-last), now
	}
	// A ticker, or an answer to what the other one writes, wakes it in every span. While the session comes to rest, and when
	// the Go runtime gives memory back, it is woken in one or two of them.
	slices.Sort(spans)
	if t.Logf("woken %v times", spans); spans[len(spans)/2] > 5 {
		t.Errorf("an idle session is woken %v times", spans)
	}
	s.stop(0)
	gone()
}
