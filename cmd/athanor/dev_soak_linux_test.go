package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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

// An hour's work in miniature: of 500 edits the last costs what the hundredth did.
func TestDevSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("500 edits")
	}
	w := newSources(t)
	w.write("athanor.yaml", w.read("athanor.yaml")+strings.TrimPrefix(pages(40, "start"), "stack: pages\nresources:\n"))
	s := w.devOf(built(t, false), "--look=50ms")
	s.deployed(map[string]float64{"created": 43})
	program := w.read("athanor.yaml")
	var hundredth, last cost
	for i := 1; i <= 500; i++ {
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
		if c := s.cost(); i > 100-settled && i <= 100 {
			hundredth = least(hundredth, c)
		} else if i > 500-settled {
			last = least(last, c)
		}
	}
	t.Logf("after 100 edits %d KiB and %d descriptors, after 500 %d KiB and %d", hundredth.memory, hundredth.descriptors, last.memory, last.descriptors)
	if 10*last.memory > 11*hundredth.memory || 10*last.descriptors > 11*hundredth.descriptors {
		t.Errorf("after 100 edits %+v, after 500 %+v", hundredth, last)
	}
	s.stop(0)
}
