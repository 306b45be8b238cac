//go:build unix

package main

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// cutStack has every local kind. Contents refer to other resources, so that no plan knows them before its run.
const cutStack = `stack: cuts
resources:
  word: {kind: random.ID, props: {bytes: 4, prefix: word-}}
  note: {kind: local.File, props: {path: out/note.txt, content: "${word.hex} one\n"}}
  tree: {kind: local.Directory, props: {path: out/tree, files: {a.txt: "${word.hex}", b/c.txt: two, d.txt: three}}}
  step: {kind: local.Command, props: {run: "cp out/note.txt copy.txt && wc -c < copy.txt", undo: rm -f copy.txt, triggers: ["${note.digest}"]}}
  sum:  {kind: local.Value, props: {input: "${step.stdout}"}}
`

var (
	cutEdited  = program(cutStack, "${word.hex} one", "${word.hex} two, longer", `a.txt: "${word.hex}"`, "a.txt: uno", "d.txt: three", "e.txt: four", "wc -c", "wc -l")
	cutMoved   = program(cutStack, "out/note.txt", "out/page.txt", "out/tree", "wood")
	cutRenamed = program(cutStack, "  note:", "  page:", "content: \"${word.hex} one\\n\"}", "content: \"${word.hex} one\\n\"}, options: {renamedFrom: [note]}",
		"  tree:", "  wood:", "d.txt: three}}", "d.txt: three}}, options: {renamedFrom: [tree]}",
		"  step:", "  task:", "${note.digest}\"]}", "${page.digest}\"]}, options: {renamedFrom: [step]}", "${step.stdout}", "${task.stdout}")
)

// sequel is a command that follows a run which was cut, and what was there before that run.
type sequel struct {
	before string // the program that was deployed undisturbed, "" for none
	cut    string // the program whose deploy is cut
	next   string // the program of the command after the cut
	verb   string
	state  string
}

// What becomes of the state.
const (
	kept       = ""
	lostAfter  = "it is deleted after the run that is cut"
	lostBefore = "it is deleted before the run that is cut, which begins another one"
)

func sequels() map[string]sequel {
	return map[string]sequel{
		"same":             {"", cutStack, cutStack, "deploy", kept},
		"destroy":          {"", cutStack, cutStack, "destroy", kept},
		"edited":           {"", cutStack, cutEdited, "deploy", kept},
		"moved":            {"", cutStack, cutMoved, "deploy", kept},
		"renamed":          {"", cutStack, cutRenamed, "deploy", kept},
		"removed":          {"", cutStack, without(cutStack, "note", "tree", "step", "sum"), "deploy", kept},
		"state lost":       {"", cutStack, cutStack, "deploy", lostAfter},
		"lost, cut":        {cutStack, cutStack, cutStack, "deploy", lostBefore},
		"lost, destroy":    {cutStack, cutStack, cutStack, "destroy", lostBefore},
		"update, destroy":  {cutStack, cutEdited, cutEdited, "destroy", kept},
		"update, reverted": {cutStack, cutEdited, cutStack, "deploy", kept},
		"update, moved":    {cutStack, cutEdited, cutMoved, "deploy", kept},
		"move, reverted":   {cutStack, cutMoved, cutStack, "deploy", kept},
		"move, destroy":    {cutStack, cutMoved, cutMoved, "destroy", kept},
		"update, removed":  {cutStack, cutEdited, without(cutStack, "note", "tree", "step", "sum"), "deploy", kept},
	}
}

// TestKillHereNext kills a deploy before an operation on a file, and runs another command: the program was edited, reverted,
// renamed or thinned out meanwhile, or the state is lost, after the cut or before. The end is what that command leaves without the cut run, and a
// destroy leaves nothing. Every fifth sequel is played, and each every night.
func TestKillHereNext(t *testing.T) {
	t.Parallel()
	binary := built(t, false)
	all := sequels()
	counts := map[string]*atomic.Int64{}
	for row, name := range slices.Sorted(maps.Keys(all)) {
		if *killMode != "full" && !proctest.Played(row, 5) {
			continue
		}
		s, count := all[name], &atomic.Int64{}
		counts[name] = count
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, operations := s.undisturbed(t, binary)
			for _, nth := range drawn(operations, row, len(all)) {
				s.live(t, binary, nth, want, count)
			}
		})
	}
	t.Cleanup(func() {
		sum := int64(0)
		for _, name := range slices.Sorted(maps.Keys(counts)) { // those that were played
			t.Logf("cut, then %-20s %4d", name+":", counts[name].Load())
			sum += counts[name].Load()
		}
		t.Logf("cut × next command: %d cases, seed %d", sum, *killSeed)
		if sum == 0 {
			t.Error("nothing was cut")
		}
	})
}

// drawn are the operations before which a run is cut: all of them, or one for each next command. Those lie in turn in each part of
// a run, from the first operation to the last, in an order that the seed changes.
func drawn(operations, row, rows int) []int {
	if *killMode == "full" {
		all := make([]int, operations)
		for i := range all {
			all[i] = i
		}
		return all
	}
	part := (row + int(*killSeed%uint64(rows))) % rows
	return []int{part * (operations - 1) / (rows - 1)}
}

// undisturbed is what the command after the cut leaves without the run that is cut, and how many operations on files that has.
func (s sequel) undisturbed(t *testing.T, binary string) (facts []string, operations int) {
	t.Helper()
	x := newLived(t, binary, nil)
	s.begin(x)
	x.program(s.next)
	x.must(s.verb)
	facts = x.seen()
	y := newLived(t, binary, nil)
	s.begin(y)
	y.program(s.cut)
	e := y.traced("deploy", tracetest.Watch{Under: []string{y.root}, After: func(op tracetest.Op) {
		if op.Changes() {
			operations++
		}
	}})
	if e.status.ExitStatus() != 0 {
		t.Fatalf("%s\n%s", describe(e.status), e.out)
	}
	return facts, operations
}

func (s sequel) begin(x *lived) {
	x.t.Helper()
	if s.before != "" {
		x.program(s.before)
		x.must("deploy")
	}
	if s.state == lostBefore {
		x.lose()
	}
}

// live goes through one case.
func (s sequel) live(t *testing.T, binary string, nth int, want []string, count *atomic.Int64) {
	t.Helper()
	x := newLived(t, binary, nil)
	s.begin(x)
	x.program(s.cut)
	at := x.cutHere("deploy", fault{nth: nth + 1})
	if at == "" {
		return // it had ended before
	}
	count.Add(1)
	if s.state == lostAfter {
		x.lose()
	}
	x.program(s.next)
	where := fmt.Sprintf("killed before operation %d (%s)", nth+1, at)
	_, wait := x.start(s.verb)
	e := wait()
	if e.status.ExitStatus() != 0 {
		t.Errorf("%s: %s: %s\n%s", where, s.verb, describe(e.status), e.out)
		return
	}
	if diff := cmp.Diff(want, x.seen()); diff != "" {
		t.Errorf("%s: %s leaves (-undisturbed +killed):\n%s\n%s", where, s.verb, diff, e.out)
	}
	if s.verb == "deploy" {
		x.quiet("deploy")
		_, wait := x.start("destroy")
		if e := wait(); e.status.ExitStatus() != 0 {
			t.Errorf("%s: the last destroy: %s\n%s", where, describe(e.status), e.out)
		} else if left := x.seen(); len(left) > 0 {
			t.Errorf("%s: the last destroy leaves %v", where, left)
		}
	}
	x.sound()
}
