//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// narrow is one resource, so that it is known what comes after what: of two, one that was begun durably may be made
// while the result of the other finds no room.
const narrow = `stack: life
resources:
  orders: {kind: aws.sqs.Queue, props: {visibilityTimeout: 60s}}
`

// fillDisk runs a command on a disk that is full from the nth write to the record on. It gives how many calls that make
// something had reached the cloud by then, and how many operations there were; full is whether it came so far.
func (x *lived) fillDisk(name string, nth int) (before, n int, full bool, e ending) {
	record := filepath.Join(x.dir, ".athanor")
	e = x.traced(name, tracetest.Watch{Under: []string{record}, Before: func(op tracetest.Op) tracetest.Order {
		switch op.Kind {
		case tracetest.Create, tracetest.Write, tracetest.Truncate, tracetest.Link, tracetest.MakeDir:
		default:
			return tracetest.Order{}
		}
		if n++; n < nth {
			return tracetest.Order{}
		}
		if n == nth {
			before, full = x.creates(), true
		}
		return tracetest.Order{Fail: syscall.ENOSPC}
	}})
	x.cloud.Quiet(x.t)
	return before, n, full, e
}

// creates counts the calls that made something, or may still.
func (x *lived) creates() int {
	return len(slices.DeleteFunc(x.cloud.Mutations(), func(c awstest.Call) bool {
		return !strings.HasPrefix(c.Operation, "Create") || c.Status != 0 && c.Status/100 != 2
	}))
}

// TestDiskFull: a disk that is full while an intent is written keeps the cloud untouched; one that is full while
// a result is written leaves something that the next run takes. Either way the run says so, and the same command once more
// ends well when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	binary := built(t, true)
	x := newLived(t, binary, awstest.Start(t))
	x.program(narrow)
	_, writes, _, e := x.fillDisk("deploy", 1<<30)
	if e.status.ExitStatus() != 0 {
		t.Fatalf("with room: %s\n%s", describe(e.status), e.out)
	}
	want, effects := x.seen(), x.effects()
	points := make([]int, writes)
	for i := range points {
		points[i] = i + 1
	}
	if *killMode != "full" {
		chance := rand.New(rand.NewPCG(*killSeed, 3))
		chance.Shuffle(len(points), func(a, b int) { points[a], points[b] = points[b], points[a] })
		drawn := 2
		if proctest.Whole() {
			drawn = 6
		}
		points = points[:drawn]
	}
	t.Logf("full disks: %d, of %d writes", len(points), writes)
	for _, nth := range points {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			t.Parallel()
			x := newLived(t, binary, awstest.Start(t))
			x.program(narrow)
			before, _, full, e := x.fillDisk("deploy", nth)
			switch code := e.status.ExitStatus(); {
			case !full && code == 0:
				return // its commits were grouped in another way
			case code != 1 && code != 4 || !strings.Contains(e.out, "no space left on device"):
				t.Fatalf("%s\n%s", describe(e.status), e.out)
			}
			if after := x.creates(); after > before {
				t.Errorf("%d things were made after the disk was full\n%s", after-before, e.out)
			}
			_, wait := x.start("deploy")
			if e := wait(); e.status.ExitStatus() != 0 {
				t.Fatalf("with room again: %s\n%s", describe(e.status), e.out)
			}
			if diff := cmp.Diff(effects, x.effects()); diff != "" {
				t.Errorf("what was made (-undisturbed +full):\n%s", diff)
			}
			if diff := cmp.Diff(want, x.seen()); diff != "" {
				t.Errorf("the world (-undisturbed +full):\n%s", diff)
			}
			x.quiet("deploy")
			x.sound()
		})
	}
}

// TestFileTooLarge is the same with a limit that the kernel itself enforces: no file may grow beyond it.
func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	binary := built(t, false)
	for _, blocks := range []int{0, 8, 32, 64} {
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			x := newLived(t, binary, nil)
			x.program(here)
			x.binary = filepath.Join(x.root, "limited")
			// Of 512 bytes, as POSIX says.
			script := fmt.Sprintf("#!/bin/sh\nulimit -f %d\nexec %q \"$@\"\n", blocks, binary)
			if err := os.WriteFile(x.binary, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			_, wait := x.start("deploy")
			e := wait()
			if code := e.status.ExitStatus(); code != 1 && code != 4 || !strings.Contains(e.out, "file too large") {
				t.Fatalf("%s\n%s", describe(e.status), e.out)
			}
			x.binary = binary
			x.must("deploy")
			x.quiet("deploy")
			x.sound()
			x.must("destroy")
			if left := x.seen(); len(left) > 0 {
				t.Errorf("destroy leaves %v", left)
			}
		})
	}
}
