package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// cost is what a process holds.
type cost struct {
	memory      int // KiB that are resident, and its own
	descriptors int
}

func (s *session) cost() cost {
	s.w.t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(s.Process.Pid))
	entries, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		s.w.t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		s.w.t.Fatal(err)
	}
	c := cost{descriptors: len(entries)}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			c.memory, err = strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				s.w.t.Fatal(err)
			}
		}
	}
	if c.memory == 0 {
		s.w.t.Fatalf("no RssAnon: %s", status)
	}
	return c
}

// settled is how many edits are measured, of which the least counts: between two collections of garbage a process holds
// what it no longer uses.
const settled = 10

func least(a, b cost) cost {
	if a.memory == 0 {
		return b
	}
	return cost{min(a.memory, b.memory), min(a.descriptors, b.descriptors)}
}

// soaked are the edits of a session: after some of them it is measured, and after all.
type soaked struct {
	first, all int
	most       float64 // of what it held first
}

// TestDevSoak saves what a session watches, over and over: the last edits leave as much memory and as many open files as the first.
// What each edit leaves adds up: every night there are 500 of them.
func TestDevSoak(t *testing.T) {
	t.Parallel()
	soak := soaked{first: 40, all: 160, most: 1.15}
	if proctest.Whole() {
		soak = soaked{first: 100, all: 500, most: 1.1}
	}
	w := newSources(t)
	w.env = append(w.env, "GOGC=") // as it ships
	w.write("athanor.yaml", w.read("athanor.yaml")+strings.TrimPrefix(pages(40, "start"), "stack: pages\nresources:\n"))
	s := w.devOf(built(t, false), "--look=50ms")
	s.deployed(map[string]float64{"created": 43})
	program := w.read("athanor.yaml")
	var first, last cost
	for i := 1; i <= soak.all; i++ {
		switch i % 5 {
		case 0:
			w.save("copy.txt", fmt.Sprint("copy ", i))
		case 1:
			w.save("site/index.html", fmt.Sprint("index ", i))
		case 2:
			w.save(fmt.Sprintf("site/new%d.html", i%3), fmt.Sprint("new ", i))
		case 3:
			w.save("key.txt", fmt.Sprint("one of two secrets: ", i%2)) // each that was ever met stays masked
		default:
			w.save("athanor.yaml", strings.ReplaceAll(program, "start", fmt.Sprint("edit ", i)))
		}
		s.until("a deploy", func(e map[string]any) bool { return e["type"] == "deployed" && e["updated"] == 1.0 })
		s.seen = nil
		if c := s.cost(); i > soak.first-settled && i <= soak.first {
			first = least(first, c)
		} else if i > soak.all-settled {
			last = least(last, c)
		}
	}
	t.Logf("after %d edits %+v, after %d %+v", soak.first, first, soak.all, last)
	if float64(last.memory) > soak.most*float64(first.memory) || float64(last.descriptors) > soak.most*float64(first.descriptors) {
		t.Errorf("after %d edits %+v, after %d %+v", soak.first, first, soak.all, last)
	}
	s.stop(0)
}
