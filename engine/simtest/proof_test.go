package simtest_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine/simtest"
)

var (
	proofFlag = flag.String("proof", "", "full: every point, pair and triple of every scenario; a number: that line of the full proof again; sure: every point, to the first violation")
	outFlag   = flag.String("proof.out", "", "the file to write a line of JSON to for each point")
)

// inBubble plays a point in time of its own.
func (sc *scenario) inBubble(t *testing.T, p point, want *outcome) (out *outcome) {
	synctest.Test(t, func(t *testing.T) {
		out = sc.play(t.Context(), p, want)
	})
	return out
}

// line is one line of the proof.
type line struct {
	Scenario string `json:"scenario"`
	Cut      string `json:"cut"`
	Seed     uint64 `json:"seed"`
	Calls    int    `json:"calls"`
	Digest   string `json:"digest"`

	wrong []string
}

// counts of a proof.
type counts struct{ points, pairs, scenarios, violations int }

// How deep a proof goes.
type depth int

const (
	sample depth = iota // a part of all points, for every day
	single              // every point
	whole               // and every pair, or triples
)

// smallest is how many writes and commits a scenario may have for all its pairs to be played.
const (
	smallest = 12
	triples  = 300 // of a large scenario
	sampled  = 12  // one point in so many is played every day
)

// prove plays a scenario and everything that can happen to it, and hands each line on in an order that never changes.
func (sc *scenario) prove(t *testing.T, d depth, each func(pairs bool, l line) bool) {
	ref := sc.inBubble(t, point{}, nil)
	play := func(pairs bool, p point, seed uint64) bool {
		out := sc.inBubble(t, p, ref)
		return each(pairs, line{sc.name, p.String(), seed, out.calls, out.digest(), out.wrong})
	}
	if !each(false, line{sc.name, "", 0, ref.calls, ref.digest(), ref.wrong}) || len(ref.wrong) > 0 {
		return
	}
	if !sc.endsAlike(t, ref, each) || sc.do.PlanOnly {
		return
	}
	if !sc.cell && !sc.inEveryOrder(t, ref, d, each) {
		return
	}
	all := sc.points(ref)
	for i, p := range all {
		if d == sample && (i+len(sc.name))%sampled != 0 {
			continue
		}
		if !play(false, p, 0) {
			return
		}
	}
	switch {
	case d != whole || sc.cell:
	case !sc.large && writes(ref.first.Events) <= smallest:
		sc.pairs(t, all, ref, func(p point) bool { return play(true, p, 0) })
	default:
		sc.triples(t, all, ref, func(p point, seed uint64) bool { return play(false, p, seed) })
	}
}

// endsAlike reports that a scenario ends as an empty world does, where that is known.
func (sc *scenario) endsAlike(t *testing.T, ref *outcome, each func(bool, line) bool) bool {
	if sc.ends == nil {
		return true
	}
	fresh := scenario{name: sc.name, setup: []move{sc.ends}, do: simtest.Command{Graph: graph(), PlanOnly: true}}
	end := fresh.inBubble(t, point{}, nil)
	l := line{sc.name, "from an empty world", 0, end.calls, end.digest(), end.wrong}
	if end.shape != ref.shape {
		l.wrong = append(l.wrong, fmt.Sprintf("it ends as\n%s\nand from an empty world as\n%s", ref.shape, end.shape))
	}
	return each(false, l)
}

func writes(events []simtest.Event) int {
	n := 0
	for _, e := range events {
		if e.Sort != simtest.Reading {
			n++
		}
	}
	return n
}

// points are all ways to disturb a scenario once, in the order of its events.
func (sc *scenario) points(ref *outcome) []point {
	var all []point
	for _, e := range ref.first.Events {
		for _, o := range simtest.Cuts(e) {
			for _, lost := range []bool{false, true} {
				if sc.inScope(e.Name, o, lost) {
					all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, o)}, lost: lost})
				}
			}
		}
		for _, o := range simtest.Faults(e) {
			if sc.inScope(e.Name, o, false) {
				all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, o)}})
			}
		}
	}
	return all
}

// inScope reports that no stated limit of recovery stands against a cut.
func (sc *scenario) inScope(event string, o simtest.Outcome, lost bool) bool {
	return (!lost || sc.notLost == "") && (sc.limit == nil || sc.limit(event, o, lost) == "")
}

// cutsAfter are the cuts of the run that follows a disturbed one.
func (sc *scenario) cutsAfter(t *testing.T, p point, ref *outcome) []map[string]simtest.Outcome {
	next := sc.inBubble(t, p, ref)
	if next.next == nil {
		return nil
	}
	var cuts []map[string]simtest.Outcome
	for _, e := range next.next.Events {
		if e.Sort == simtest.Reading {
			continue // it changes nothing: the cut before the next event is the same
		}
		for _, o := range simtest.Cuts(e) {
			if sc.inScope(e.Name, o, p.lost) {
				cuts = append(cuts, once(e.Name, o))
			}
		}
	}
	return cuts
}

// ends reports that a point ends the process in a write or a commit: where pairs begin.
func (p point) ends() bool {
	for name, o := range p.runs[0] {
		switch o {
		case simtest.NotApplied, simtest.AnswerLost, simtest.NotStored, simtest.AfterStore:
			return true
		case simtest.BeforeSend:
			return !strings.HasPrefix(name, "read ")
		default:
		}
	}
	return false
}

// pairs are all cuts of a run together with all cuts of the run that follows.
func (sc *scenario) pairs(t *testing.T, all []point, ref *outcome, play func(point) bool) {
	for _, p := range all {
		if !p.ends() {
			continue
		}
		for _, second := range sc.cutsAfter(t, p, ref) {
			if !play(point{runs: []map[string]simtest.Outcome{p.runs[0], second}, lost: p.lost}) {
				return
			}
		}
	}
}

// triples are three cuts in a row, by chance: each seed is one.
func (sc *scenario) triples(t *testing.T, all []point, ref *outcome, play func(point, uint64) bool) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(sc.name))
	for seed := range uint64(triples) {
		r := rand.New(rand.NewPCG(h.Sum64(), seed))
		p := all[r.IntN(len(all))]
		for len(p.runs) < 3 {
			cuts := sc.cutsAfter(t, p, ref)
			if len(cuts) == 0 {
				break
			}
			p.runs = append(slices.Clip(p.runs), cuts[r.IntN(len(cuts))])
		}
		if !play(p, seed) {
			return
		}
	}
}

// TestProof is the proof: every day a part of it, whole with -proof=full.
func TestProof(t *testing.T) {
	switch {
	case *defectFlag != "":
		proveDefect(t, *defectFlag)
	case *proofFlag == "":
		proveAll(t, sample, nil)
	case *proofFlag == "sure":
		if c := proveAll(t, sample, nil); c.violations == 0 {
			proveAll(t, single, nil)
		}
	case *proofFlag == "full":
		proveFull(t)
	default:
		n, err := strconv.Atoi(*proofFlag)
		if err != nil || n < 1 {
			t.Fatalf("-proof=%s: full, or the number of a line", *proofFlag)
		}
		proveLine(t, n)
	}
}

// proveAll proves all scenarios, as many at once as there are processors, and hands on their lines in order.
func proveAll(t *testing.T, d depth, each func(pairs bool, l line)) counts {
	all := append(scenarios(), matrix()...)
	type entry struct {
		pairs bool
		line
	}
	lines := make([][]entry, len(all))
	var stop atomic.Bool
	t.Run("scenarios", func(t *testing.T) {
		for i, sc := range all {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				sc.prove(t, d, func(pairs bool, l line) bool {
					lines[i] = append(lines[i], entry{pairs, l})
					if len(l.wrong) > 0 && *proofFlag == "sure" {
						stop.Store(true)
					}
					return !stop.Load()
				})
			})
		}
	})
	c := counts{scenarios: len(all)}
	for i := range all {
		for _, e := range lines[i] {
			if e.pairs {
				c.pairs++
			} else {
				c.points++
			}
			if len(e.wrong) > 0 {
				if c.violations++; c.violations <= 20 {
					t.Errorf("%s: %s\n%s", e.Scenario, e.Cut, strings.Join(e.wrong, "\n"))
				}
			}
			if each != nil {
				each(e.pairs, e.line)
			}
		}
		lines[i] = nil
	}
	t.Logf("points: %d, pairs: %d, scenarios: %d, violations: %d", c.points, c.pairs, c.scenarios, c.violations)
	return c
}

// proveFull proves everything, the seeded defects as well, and writes the file.
func proveFull(t *testing.T) {
	w := bufio.NewWriter(os.Stderr)
	if *outFlag != "" {
		f, err := os.Create(*outFlag)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w = bufio.NewWriter(f)
		defer w.Flush()
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	c := proveAll(t, whole, func(_ bool, l line) {
		if *outFlag != "" {
			if err := enc.Encode(l); err != nil {
				t.Fatal(err)
			}
		}
	})
	found, unseen := proveDefects(t, "")
	for _, name := range unseen {
		c.violations++
		t.Errorf("the defect %s is not seen", name)
	}
	fmt.Printf("points: %d, pairs: %d, scenarios: %d, defects: %d, violations: %d\n", c.points, c.pairs, c.scenarios, found, c.violations)
}

// proveDefect runs the proof with one defect built in, which it must find.
func proveDefect(t *testing.T, name string) {
	found, unseen := proveDefects(t, name)
	switch {
	case found == 1:
		fmt.Println("violations: 1")
	case len(unseen) == 1:
		fmt.Println("violations: 0")
		t.Errorf("the defect %s is not seen", name)
	default:
		t.Errorf("there is no defect %s", name)
	}
}

// proveLine plays one line of the full proof again and prints it.
func proveLine(t *testing.T, n int) {
	at := 0
	for _, sc := range append(scenarios(), matrix()...) {
		found := false
		sc.prove(t, whole, func(_ bool, l line) bool {
			if at++; at < n {
				return true
			}
			found = true
			data, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(string(data))
			for _, w := range l.wrong {
				t.Error(w)
			}
			return false
		})
		if found {
			return
		}
	}
	t.Fatalf("the full proof has %d lines", at)
}
