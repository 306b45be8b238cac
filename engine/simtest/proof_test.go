package simtest_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

var (
	proofFlag  = flag.String("proof", "", "full: every point, pair, triple and next command of every scenario; all: the same with next commands after every cut; next: next commands alone; keys: the digest of all their keys; a key, or its place among all keys: that line of the full proof again; sure: every point, to the first violation")
	modelFlag  = flag.Bool("model", false, "play cut × next command alone, and judge by the model, the cloud and the bytes of the state, not by what the engine says of itself")
	columnFlag = flag.String("column", "", "play the cases of this next command alone")
	outFlag    = flag.String("proof.out", "", "the file to write a line of JSON to for each point")
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
	Key      string `json:"key"`
	Scenario string `json:"scenario"`
	Cut      string `json:"cut"`
	Seed     uint64 `json:"seed"`
	Calls    int    `json:"calls"`
	Digest   string `json:"digest"`

	wrong []string
}

// class is what a line of the proof counts as.
type class int

const (
	points class = iota
	pairs
	cases     // cut × next command
	documents // a plan that was written as JSON and read back
)

// item is a line of the proof before it is played. Its key names it and no other line, whatever is enumerated beside it:
// scenario|event|outcome|event|outcome…
type item struct {
	key, cut string
	class    class
	seed     uint64
	column   string // of a case
	state    bool   // it is the first case of a distinct state
	play     func() *outcome
}

func (sc *scenario) key(parts ...string) string {
	return strings.Join(append([]string{sc.name}, parts...), "|")
}

// line plays an item.
func (sc *scenario) line(it item) line {
	out := it.play()
	return line{it.key, sc.name, it.cut, it.seed, out.calls, out.digest(), out.wrong}
}

// counts of a proof. keys are those of all lines, unsorted.
type counts struct {
	of                    [4]int
	states                int // distinct ones that cases begin in
	scenarios, violations int
	known                 int // cases that fail for a reason that is listed
	keys                  []string
	failing               *knownFailures
}

func (c *counts) String() string {
	return fmt.Sprintf("points: %d, pairs: %d, plans read back: %d, cut × next: %d cases, %d distinct states, scenarios: %d, known failures: %d, keys: %s",
		c.of[points], c.of[pairs], c.of[documents], c.of[cases], c.states, c.scenarios, c.known, digestOf(c.keys))
}

// digestOf is one short digest of all keys: two enumerations that agree have the same.
func digestOf(keys []string) string {
	return simtest.Digest(strings.Join(slices.Sorted(slices.Values(keys)), "\n"))
}

// How deep a proof goes.
type depth int

const (
	sample    depth = iota // a part of all points, for every day
	single                 // every point
	whole                  // and every pair, or triples
	everyCut               // cases after every cut, not one for each distinct state
	nextsOnly              // cut × next command and nothing else
)

// smallest is how many writes and commits a scenario may have for all its pairs to be played.
const (
	smallest = 12
	triples  = 300 // of a large scenario
)

// How much is played every night, and of each every second one every day.
var (
	cellsRead = nightly(4)  // of the plans of cells one in so many is read back
	sampled   = nightly(48) // one point in so many is played
	turns     = nightly(16) // and of the scenarios that have a stratum, one in so many plays it
	columned  = nightly(8)  // and of those that a next command can follow, one in so many plays that
)

// nightly returns n every night, and twice as much every day.
func nightly(n int) int {
	if proctest.Whole() {
		return n
	}
	return 2 * n
}

// hashed is a number that goes by nothing but the text.
func hashed(text string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return int(h.Sum32() >> 1)
}

// stratum is the class of a point: the sort of call or commit that it disturbs, how, and whether the record is lost.
func (p point) stratum() string {
	for name, o := range p.runs[0] {
		operation, _, _ := strings.Cut(name, " ")
		return fmt.Sprint(operation, " ", o, " ", p.lost)
	}
	return ""
}

// chooseDaily chooses what is played every day, the same each day: of every stratum one point in the first of the scenarios that have
// it, and in one in [turns] after it; of every next command one case in the same way, with [columned]; a point of each scenario that has
// none yet; and one point in [sampled] of all. So no scenario, no stratum and no next command is left out, and most pairs of them are.
// The scenarios have been played in peace.
func chooseDaily(all []*scenario) {
	met := map[string]int{}
	turn := func(what string, every int) bool {
		met[what]++
		return (met[what]-1)%every == 0
	}
	for _, sc := range all {
		sc.daily = map[string]bool{}
		if len(sc.ref.wrong) > 0 || sc.do.PlanOnly {
			continue
		}
		strata := map[string][]string{}
		var order []string
		for _, p := range sc.points(sc.ref) {
			s, key := p.stratum(), sc.key(p.parts()...)
			if strata[s] == nil {
				order = append(order, s)
			}
			strata[s] = append(strata[s], key)
			if hashed(key)%sampled == 0 {
				sc.daily[key] = true
			}
		}
		choose := func(what string, keys []string) { sc.daily[keys[hashed(sc.key(what))%len(keys)]] = true }
		for _, s := range order {
			if turn(s, turns) {
				choose(s, strata[s])
			}
		}
		if len(sc.daily) == 0 && len(order) > 0 {
			s := order[hashed(sc.name)%len(order)]
			choose(s, strata[s])
		}
		cuts := sc.cuts(sc.ref)
		for _, c := range columns() {
			var keys []string
			for _, cut := range cuts {
				if sc.at(sc.ref, cut).apply(c) != nil {
					keys = append(keys, sc.key(append(cut.parts(), "next", c.name)...))
				}
			}
			if len(keys) > 0 && turn("next "+c.name, columned) {
				choose(c.name, keys)
			}
		}
	}
}

// prove plays a scenario and everything that can happen to it, and hands each line on in an order that never changes.
func (sc *scenario) prove(t *testing.T, d depth, each func(item, line) bool) {
	sc.enumerate(t, d, func(it item) bool { return each(it, sc.line(it)) })
}

// enumerate hands on every line of a scenario. The reference is played in any case, and of the others what tells where a
// second cut can be made.
func (sc *scenario) enumerate(t *testing.T, d depth, yield func(item) bool) {
	ref := sc.ref
	if ref == nil {
		ref = sc.inBubble(t, point{}, nil)
	}
	alone := d == nextsOnly || *modelFlag || *columnFlag != ""
	if !alone && !sc.lines(t, d, ref, yield) || len(ref.wrong) > 0 || sc.do.PlanOnly {
		return
	}
	sc.nexts(t, ref, d, yield)
}

// lines hands on every line of a scenario but those of cut × next command.
func (sc *scenario) lines(t *testing.T, d depth, ref *outcome, yield func(item) bool) bool {
	if !yield(item{key: sc.key("in peace"), play: func() *outcome { return ref }}) || len(ref.wrong) > 0 {
		return false
	}
	if sc.ends != nil && !yield(item{key: sc.key("from an empty world"), cut: "from an empty world", play: func() *outcome { return sc.endsAlike(t, ref) }}) {
		return false
	}
	read := d != sample || !sc.cell || hashed(sc.name)%cellsRead == 0
	if !sc.do.PlanOnly && read && !yield(item{key: sc.key("plan as JSON"), class: documents, cut: "plan as JSON", play: func() *outcome { return sc.readBack(t) }}) {
		return false
	}
	if sc.do.PlanOnly || !sc.cell && !sc.inEveryOrder(t, ref, d, yield) {
		return sc.do.PlanOnly
	}
	lives := map[string]*outcome{}
	all := sc.points(ref)
	for _, p := range all {
		if it := sc.item(t, p, ref, lives); (d != sample || sc.daily[it.key]) && !yield(it) {
			return false
		}
	}
	switch {
	case d != whole && d != everyCut || sc.cell:
		return true
	case !sc.large && writes(ref.first.Events) <= smallest:
		return sc.pairs(t, all, ref, lives, yield)
	default:
		return sc.triples(t, all, ref, lives, yield)
	}
}

// item is a point as a line. What came of it is kept: where the next run can be cut is seen there.
func (sc *scenario) item(t *testing.T, p point, ref *outcome, lives map[string]*outcome) item {
	it := item{key: sc.key(p.parts()...), cut: p.String()}
	it.play = func() *outcome {
		out := sc.inBubble(t, p, ref)
		if !sc.cell {
			lives[it.key] = &outcome{next: out.next}
		}
		return out
	}
	return it
}

// parts name a point.
func (p point) parts() []string {
	var parts []string
	for _, faults := range p.runs {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			parts = append(parts, name, string(faults[name]))
		}
	}
	if p.lost {
		parts = append(parts, "store lost")
	}
	return parts
}

// endsAlike plays the way from an empty world to the same end, where one is known.
func (sc *scenario) endsAlike(t *testing.T, ref *outcome) *outcome {
	fresh := scenario{name: sc.name, setup: []move{sc.ends}, do: simtest.Command{Graph: graph(), PlanOnly: true}}
	end := fresh.inBubble(t, point{}, nil)
	if end.shape != ref.shape {
		end.violate("it ends as\n%s\nand from an empty world as\n%s", ref.shape, end.shape)
	}
	return end
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
func (sc *scenario) cutsAfter(t *testing.T, p point, ref *outcome, lives map[string]*outcome) []map[string]simtest.Outcome {
	life, played := lives[sc.key(p.parts()...)]
	if !played {
		life = sc.item(t, p, ref, lives).play()
	}
	if life.next == nil {
		return nil
	}
	var cuts []map[string]simtest.Outcome
	for _, e := range life.next.Events {
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
func (sc *scenario) pairs(t *testing.T, all []point, ref *outcome, lives map[string]*outcome, yield func(item) bool) bool {
	for _, p := range all {
		if !p.ends() {
			continue
		}
		for _, second := range sc.cutsAfter(t, p, ref, lives) {
			it := sc.item(t, point{runs: []map[string]simtest.Outcome{p.runs[0], second}, lost: p.lost}, ref, map[string]*outcome{})
			if it.class = pairs; !yield(it) {
				return false
			}
		}
	}
	return true
}

// triples are three cuts in a row, by chance: each seed is one. A seed that draws what another has drawn is passed over.
func (sc *scenario) triples(t *testing.T, all []point, ref *outcome, lives map[string]*outcome, yield func(item) bool) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(sc.name))
	drawn := map[string]bool{}
	for seed := uint64(0); len(drawn) < triples && seed < 2*triples; seed++ {
		r := rand.New(rand.NewPCG(h.Sum64(), seed))
		p := all[r.IntN(len(all))]
		for len(p.runs) < 3 {
			cuts := sc.cutsAfter(t, p, ref, lives)
			if len(cuts) == 0 {
				break
			}
			p.runs = append(slices.Clip(p.runs), cuts[r.IntN(len(cuts))])
		}
		it := sc.item(t, p, ref, lives)
		if drawn[it.key] || len(p.runs) == 1 { // a single cut is a point already
			continue
		}
		drawn[it.key], it.seed = true, seed
		if !yield(it) {
			return false
		}
	}
	return true
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
		proveFull(t, whole)
	case *proofFlag == "all":
		proveFull(t, everyCut)
	case *proofFlag == "next":
		c := proveAll(t, nextsOnly, nil)
		fmt.Printf("%s, violations: %d\n%s", &c, c.violations, c.failing.table())
	case *proofFlag == "keys":
		keys := enumerateAll(t)
		fmt.Printf("lines: %d, keys: %s\n", len(keys), digestOf(keys))
	default:
		proveKey(t, *proofFlag)
	}
}

// proveAll proves all scenarios, as many at once as there are processors, and hands on their lines in order.
func proveAll(t *testing.T, d depth, each func(line)) counts {
	all := append(scenarios(), matrix()...)
	type entry struct {
		class  class
		column string
		state  bool
		line
	}
	failing := newKnownFailures(d)
	lines := make([][]entry, len(all))
	var stop atomic.Bool
	if d == sample {
		t.Run("in peace", func(t *testing.T) {
			for _, sc := range all {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					sc.ref = sc.inBubble(t, point{}, nil)
				})
			}
		})
		chooseDaily(all)
	}
	t.Run("scenarios", func(t *testing.T) {
		for i, sc := range all {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				sc.prove(t, d, func(it item, l line) bool {
					lines[i] = append(lines[i], entry{it.class, it.column, it.state, l})
					if len(failing.unknown(it.column, l.Key, l.wrong)) > 0 && *proofFlag == "sure" {
						stop.Store(true)
					}
					return !stop.Load()
				})
			})
		}
	})
	c := counts{scenarios: len(all), failing: failing}
	for i := range all {
		for _, e := range lines[i] {
			c.of[e.class]++
			c.keys = append(c.keys, e.Key)
			if e.state {
				c.states++
			}
			if failing.note(e.column, e.Key, e.wrong) {
				c.known++
				t.Logf("known: %s\n%s", e.Key, strings.Join(e.wrong, "\n"))
			} else if len(e.wrong) > 0 {
				if c.violations++; c.violations <= 20 || *proofFlag == "next" {
					t.Errorf("%s\n%s", e.Key, strings.Join(e.wrong, "\n"))
				}
			}
			if each != nil {
				each(e.line)
			}
		}
		lines[i] = nil
	}
	for _, wrong := range failing.passed() {
		c.violations++
		t.Error(wrong)
	}
	t.Logf("%s, violations: %d", &c, c.violations)
	return c
}

// proveFull proves everything, the seeded defects as well, and writes the file.
func proveFull(t *testing.T, d depth) {
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
	c := proveAll(t, d, func(l line) {
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
	fmt.Printf("%s, defects: %d, violations: %d\n", &c, found, c.violations)
}

// proveDefect runs the proof with one defect built in, which it must find, or with each of them in turn.
func proveDefect(t *testing.T, name string) {
	if name == "all" {
		name = ""
	}
	found, unseen := proveDefects(t, name)
	switch {
	case name == "":
		fmt.Printf("defects: %d\n", found)
		for _, name := range unseen {
			t.Errorf("the defect %s is not seen", name)
		}
	case found == 1:
		fmt.Println("violations: 1")
	case len(unseen) == 1:
		fmt.Println("violations: 0")
		t.Errorf("the defect %s is not seen", name)
	default:
		t.Errorf("there is no defect %s", name)
	}
}

// proveKey plays one line of the full proof again and prints it. The line is given by its key, or by its place among all
// keys in their order.
func proveKey(t *testing.T, which string) {
	if n, err := strconv.Atoi(which); err == nil {
		keys := slices.Sorted(slices.Values(enumerateAll(t)))
		if n < 1 || n > len(keys) {
			t.Fatalf("the full proof has %d lines", len(keys))
		}
		which = keys[n-1]
	}
	for _, sc := range append(scenarios(), matrix()...) {
		if !strings.HasPrefix(which, sc.key("")) {
			continue
		}
		found := false
		enumerate := func(yield func(item) bool) { sc.enumerate(t, whole, yield) }
		if strings.Contains(which, "|next|") {
			enumerate = func(yield func(item) bool) { // those of every day begin with any cut
				sc.nexts(t, sc.inBubble(t, point{}, nil), everyCut, yield)
			}
		}
		enumerate(func(it item) bool {
			if it.key != which {
				return true
			}
			found = true
			l := sc.line(it)
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
	t.Fatalf("-proof=%s: no line of the full proof has this key, and no scenario that begins with it has one like it", which)
}

// enumerateAll gives the keys of the full proof. It plays only what tells where a second cut can be made.
func enumerateAll(t *testing.T) []string {
	all := append(scenarios(), matrix()...)
	keys := make([][]string, len(all))
	t.Run("keys", func(t *testing.T) {
		for i, sc := range all {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				sc.enumerate(t, whole, func(it item) bool {
					keys[i] = append(keys[i], it.key)
					return true
				})
			})
		}
	})
	return slices.Concat(keys...)
}
