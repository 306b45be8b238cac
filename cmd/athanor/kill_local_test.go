//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// here is a stack of this machine alone: each of its effects, and each commit of its record, is an operation on a file.
const here = `stack: here
resources:
  word:  {kind: random.ID, props: {bytes: 4, prefix: word-}}
  pass:  {kind: random.Password, props: {length: 24}}
  note:  {kind: local.File, props: {path: out/note.txt, content: "${word.hex} one\n"}}
  pin:   {kind: local.File, props: {path: out/pin.txt, content: "pass-${pass.value}", mode: "0600"}}
  tree:  {kind: local.Directory, props: {path: out/tree, files: {a.txt: one, b/c.txt: two}}}
  sheet: {kind: local.File, props: {path: out/sheet.txt, content: one}}
  step:  {kind: local.Command, props: {run: "cp out/note.txt out/copy.txt && wc -c < out/copy.txt", undo: rm -f out/copy.txt, triggers: ["${note.digest}"]}}
  sum:   {kind: local.Value, props: {input: "${step.stdout}"}}
`

var (
	hereUpdated  = []string{"${word.hex} one", "${word.hex} two, longer", `mode: "0600"`, `mode: "0640"`, "a.txt: one", "a.txt: uno, d.txt: three"}
	hereReplaced = append([]string{"out/sheet.txt", "out/leaf.txt", "out/tree", "out/wood", "bytes: 4, prefix: word-", "bytes: 4, prefix: word-, version: 2"}, hereUpdated...)
)

// hereLife is its life. A lost state is survived by what is still declared as it is there; commands, and
// folders that may be left empty, are left out (docs/engine.md, limits 2, 3 and 6).
func hereLife(lost bool) []story {
	if lost {
		first := strings.ReplaceAll(without(here, "step", "sum", "tree"), "out/", "")
		return []story{{"first deploy", first, "deploy"}, {"destroy", first, "destroy"}}
	}
	last := without(program(here, hereReplaced...), "pin", "tree", "sum")
	return []story{
		{"first deploy", here, "deploy"},
		{"update", program(here, hereUpdated...), "deploy"},
		{"replacement", program(here, hereReplaced...), "deploy"},
		{"removal", last, "deploy"},
		{"destroy", last, "destroy"},
	}
}

// fault is what becomes of a run on this machine before its nth operation on a file: it is killed, or the power goes, and
// with it what was not synced of the record and of the key. A record is lost after that, or before the run, which begins another one.
type fault struct {
	nth               int
	power, lost, anew bool
	chance            *rand.Rand
}

func (f fault) String() string {
	switch {
	case f.power:
		return fmt.Sprintf("power lost before operation %d", f.nth)
	case f.anew:
		return fmt.Sprintf("record deleted, killed before operation %d", f.nth)
	case f.lost:
		return fmt.Sprintf("killed before operation %d, record deleted", f.nth)
	}
	return fmt.Sprintf("killed before operation %d", f.nth)
}

// cutHere runs a command until the fault. It gives the operation that did not come to be, "" when the command ended before.
func (x *lived) cutHere(name string, f fault) string {
	x.t.Helper()
	if f.anew {
		x.lose()
	}
	disk, err := tracetest.NewDisk(x.root)
	if err != nil {
		x.t.Fatal(err)
	}
	n, at := 0, ""
	e := x.traced(name, tracetest.Watch{
		Under: []string{x.root},
		Before: func(op tracetest.Op) tracetest.Order {
			if op.Changes() {
				n++
			}
			if at != "" || n != f.nth {
				return tracetest.Order{}
			}
			at = op.String()
			return tracetest.Order{Kill: true}
		},
		After: disk.Apply,
	})
	if killed := e.status.Signaled(); killed != (at != "") || !killed && e.status.ExitStatus() != 0 {
		x.t.Fatalf("%s, %s: %s\n%s", name, f, describe(e.status), e.out)
	}
	switch {
	case f.lost && !f.anew:
		x.lose()
	case f.power:
		err = x.losePower(disk, f.chance)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return at
}

// losePower puts back of the record and of the home what a disk may hold. The stack's own files stay: they are the world,
// and a cloud does not lose what it did.
func (x *lived) losePower(disk *tracetest.Disk, chance *rand.Rand) error {
	found := x.t.TempDir()
	if err := disk.Lose(chance, found); err != nil {
		return err
	}
	for _, part := range []string{"home", "project/.athanor"} {
		if err := os.RemoveAll(filepath.Join(x.root, part)); err != nil {
			return err
		}
		from := filepath.Join(found, part)
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := os.Rename(from, filepath.Join(x.root, part)); err != nil {
			return err
		}
	}
	return nil
}

// operations lives through the stories undisturbed, and counts what each does to files.
func operations(t *testing.T, binary string, stories []story) (counts []int, worlds [][]string) {
	t.Helper()
	x := newLived(t, binary, nil)
	for _, s := range stories {
		x.program(s.stack)
		n := 0
		e := x.traced(s.command, tracetest.Watch{Under: []string{x.root}, After: func(op tracetest.Op) {
			if op.Changes() {
				n++
			}
		}})
		if e.status.ExitStatus() != 0 {
			t.Fatalf("%s: %s\n%s", s.name, describe(e.status), e.out)
		}
		x.quiet(s.command)
		counts, worlds = append(counts, n), append(worlds, x.seen())
	}
	if last := worlds[len(worlds)-1]; len(last) != 0 {
		t.Fatalf("destroy leaves %v", last)
	}
	t.Logf("operations on files, by story: %v", counts)
	return counts, worlds
}

// TestKillHere kills the built binary before operations on files, those of its record included, or cuts the power there,
// and runs the same command once more.
func TestKillHere(t *testing.T) {
	t.Parallel()
	binary := built(t, false)
	count := &points{}
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("record deleted=%t", lost), func(t *testing.T) {
			t.Parallel()
			stories := hereLife(lost)
			counts, worlds := operations(t, binary, stories)
			for n, faults := range faults(counts, lost) {
				t.Run(fmt.Sprint(n+1), func(t *testing.T) {
					t.Parallel()
					liveHere(t, binary, stories, worlds, faults, count)
				})
			}
		})
	}
	t.Cleanup(func() { // when the lives are over
		t.Logf("kills and power cuts: %d, in runs that had ended before: %d, seed %d", count.killed.Load(), count.early.Load(), *killSeed)
		if count.killed.Load() == 0 {
			t.Error("nothing was killed")
		}
	})
}

func liveHere(t *testing.T, binary string, stories []story, worlds [][]string, faults []fault, count *points) {
	t.Helper()
	x := newLived(t, binary, nil)
	for i, s := range stories {
		x.program(s.stack)
		at := x.cutHere(s.command, faults[i])
		if at == "" {
			count.early.Add(1)
		} else {
			count.killed.Add(1)
		}
		_, wait := x.start(s.command)
		if e := wait(); e.status.ExitStatus() != 0 {
			t.Fatalf("%s, %s (%s): the same command once more: %s\n%s", s.name, faults[i], at, describe(e.status), e.out)
		}
		if diff := cmp.Diff(worlds[i], x.seen()); diff != "" {
			t.Fatalf("%s, %s (%s): the world (-undisturbed +killed):\n%s", s.name, faults[i], at, diff)
		}
		x.quiet(s.command)
		x.sound()
	}
}

// faults draws where each life is cut. All of them are every operation of every story, half of them power cuts. Else the lives are few:
// what the seed draws lies in another part of a story in each life, and every other one is a power cut.
func faults(counts []int, lost bool) [][]fault {
	chance := rand.New(rand.NewPCG(*killSeed, 2))
	lives := livesOf(lost)
	if *killMode == "full" {
		lives = slices.Max(counts)
	}
	out := make([][]fault, lives)
	for i, n := range counts {
		order := chance.Perm(n)
		for life := range out {
			at, power := order[life%n], chance.IntN(2) == 0
			if *killMode != "full" {
				part := (life + i) % lives
				from, to := part*n/lives, (part+1)*n/lives
				at, power = from+chance.IntN(max(to-from, 1)), (life+i)%2 == 0
			}
			f := fault{nth: at + 1, lost: lost, anew: lost && (life+i)%2 == 1, power: power && !lost}
			f.chance = rand.New(rand.NewPCG(*killSeed, uint64(i)<<32|uint64(at)))
			out[life] = append(out[life], f)
		}
	}
	return out
}
