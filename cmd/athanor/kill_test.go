//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/tracetest"
)

type sqsAttribute = types.QueueAttributeName

var (
	killMode = flag.String("kill", "some", "some: kill at a seeded part of the points, a larger one with ATHANOR_WHOLE=1; full: at all of them")
	killSeed = flag.Uint64("kill.seed", 1, "which points are drawn")
)

// lived is a stack, a cloud and a home that belong to one life.
type lived struct {
	t      *testing.T
	cloud  *awstest.Server // nil for a stack that needs none
	binary string
	root   string // holds the stack and a home
	dir    string // of the stack
	env    []string
	facts  []string
	words  []string // values that were derived, in the order in which they were seen
}

func newLived(t *testing.T, binary string, cloud *awstest.Server) *lived {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &lived{t: t, cloud: cloud, binary: binary, root: root, dir: filepath.Join(root, "project")}
	home := filepath.Join(root, "home")
	x.env = os.Environ()
	if cloud != nil {
		x.env = cloud.Environ()
	}
	x.env = append(x.env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "TMPDIR="+t.TempDir(), "USER=tester", "ATHANOR_STAGE=test", "ATHANOR_STORE=", "NO_COLOR=1", "GOGC="+garbage)
	for _, dir := range []string{x.dir, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// program writes the stack.
func (x *lived) program(text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, "athanor.yaml"), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// ending is how a command ended.
type ending struct {
	status  syscall.WaitStatus
	out     string // both streams
	summary summaryLine
}

type summaryLine struct {
	Type                                                                                string
	Created, Adopted, Recovered, Updated, Replaced, Deleted, Unchanged, Failed, Blocked int
	Commits                                                                             int
	Calls                                                                               struct{ Reads, Mutations int }
}

// command is deploy or destroy as it is run each time: with no flag that helps.
func (x *lived) command(name string) []string {
	return []string{x.binary, name, "--yes", "--json"}
}

// start starts a command. The function that it gives waits for the end.
func (x *lived) start(name string) (*os.Process, func() ending) {
	x.t.Helper()
	args := x.command(name)
	cmd := limited(x.t, args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = x.dir, x.env, &out, &out
	bind(cmd)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	return cmd.Process, func() ending {
		err := cmd.Wait()
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			x.t.Fatal(err)
		}
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		return x.ended(status, out.String())
	}
}

func (x *lived) ended(status syscall.WaitStatus, out string) ending {
	e := ending{status: status, out: out}
	for line := range strings.Lines(out) {
		if s := (summaryLine{}); json.Unmarshal([]byte(line), &s) == nil && s.Type == "summary" {
			e.summary = s
		}
	}
	return e
}

// traced runs deploy or destroy under watch.
func (x *lived) traced(name string, watch tracetest.Watch) ending {
	x.t.Helper()
	return x.watched(x.command(name), watch)
}

// watched runs any command under watch.
func (x *lived) watched(args []string, watch tracetest.Watch) ending {
	x.t.Helper()
	out, err := os.CreateTemp(x.t.TempDir(), "out")
	if err != nil {
		x.t.Fatal(err)
	}
	defer out.Close()
	started := watch.Started
	limit := &time.Timer{}
	watch.Started = func(pid int) {
		limit = time.AfterFunc(processLimit, func() {
			x.t.Errorf("%v hangs: killed after %s", args, processLimit)
			_ = syscall.Kill(pid, syscall.SIGKILL) // which the trace sees
		})
		if started != nil {
			started(pid)
		}
	}
	status, err := tracetest.Run(args, &os.ProcAttr{Dir: x.dir, Env: x.env, Files: []*os.File{nil, out, out}}, watch)
	limit.Stop() // the test goes on, and the number may become another process's
	if errors.Is(err, tracetest.ErrUnsupported) {
		x.t.Skip(err)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	said, err := os.ReadFile(out.Name())
	if err != nil {
		x.t.Fatal(err)
	}
	return x.ended(status, string(said))
}

// must runs a command that has to end well.
func (x *lived) must(name string) summaryLine {
	x.t.Helper()
	_, wait := x.start(name)
	e := wait()
	if e.status.ExitStatus() != 0 {
		x.t.Fatalf("%s: %s\n%s", name, describe(e.status), e.out)
	}
	return e.summary
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "ended by " + s.Signal().String()
	}
	return fmt.Sprintf("exit code %d", s.ExitStatus())
}

// cut is where a command is killed: at its nth request, before it is forwarded or with the answer held back, or at its nth
// system call of whatever kind.
type cut struct {
	kind awstest.Kind
	nth  int
	lost bool // the record is deleted: afterwards, or
	anew bool // before the command, which begins another one
}

// instant is the kind of a cut at a system call.
const instant awstest.Kind = "system call"

func (c cut) String() string {
	s := fmt.Sprintf("%s %d", c.kind, c.nth)
	switch {
	case c.anew:
		s += ", record deleted before"
	case c.lost:
		s += ", record deleted"
	}
	return s
}

// kill runs a command and kills it. It reports false when the command ended before.
func (x *lived) kill(name string, c cut) bool {
	x.t.Helper()
	if c.anew {
		x.lose()
	}
	killed := false
	if c.kind == instant {
		e := x.traced(name, tracetest.Watch{Step: func(n int) tracetest.Order { return tracetest.Order{Kill: n == c.nth} }})
		killed = e.status.Signaled()
	} else {
		armed := x.cloud.Inject(awstest.Fault{Kind: c.kind, Nth: c.nth})
		process, wait := x.start(name)
		over := make(chan ending, 1)
		go func() { over <- wait() }()
		select {
		case <-armed.Reached():
			if err := process.Kill(); err != nil {
				x.t.Error(err)
			}
			killed = awaited(x.t, over, "the end of what was killed").status.Signaled()
		case e := <-over:
			if e.status.ExitStatus() != 0 {
				x.t.Errorf("%s that was not killed: %s\n%s", name, describe(e.status), e.out)
			}
		}
		armed.Disarm()
	}
	x.cloud.Quiet(x.t)
	if c.lost && !c.anew {
		x.lose()
	}
	return killed
}

// lose deletes the record.
func (x *lived) lose() {
	x.t.Helper()
	if err := os.RemoveAll(filepath.Join(x.dir, ".athanor")); err != nil {
		x.t.Fatal(err)
	}
}

// sound fails when the store is damaged: by the database's own check, and by that of what is in it.
func (x *lived) sound() {
	x.t.Helper()
	store, err := bolt.Open(filepath.Join(x.dir, ".athanor", "state.db"))
	if err != nil {
		x.t.Fatal(err)
	}
	broken, err := store.Check(x.t.Context())
	if err := errors.Join(append(broken, err)...); err != nil {
		x.t.Errorf("the store: %v", err)
	}
}

// quiet proves that nothing is left to do.
func (x *lived) quiet(name string) {
	x.t.Helper()
	if s := x.must(name); s.Calls.Mutations != 0 || s.Commits != 0 {
		x.t.Errorf("one more %s makes %d changes and %d commits", name, s.Calls.Mutations, s.Commits)
	}
}

// reference is what a story leaves when nobody interrupts it.
type reference struct {
	story
	world, effects []string
	requests       int
	mutating       []int // numbers of the requests that may change something
	steps          int
}

// refer lives through all the stories undisturbed.
func refer(t *testing.T, binary string, lost bool) []reference {
	t.Helper()
	x := newLived(t, binary, awstest.Start(t))
	var all []reference
	for _, s := range life(lost) {
		x.program(s.stack)
		x.cloud.Reset()
		r := reference{story: s}
		if e := x.traced(s.command, tracetest.Watch{Step: func(n int) tracetest.Order { r.steps = n; return tracetest.Order{} }}); e.status.ExitStatus() != 0 {
			t.Fatalf("%s: %s\n%s", s.name, describe(e.status), e.out)
		}
		for i, c := range x.cloud.Calls() {
			if r.requests = i + 1; c.Mutating {
				r.mutating = append(r.mutating, i+1)
			}
		}
		r.effects = x.effects()
		x.quiet(s.command)
		x.sound()
		r.world = x.seen()
		all = append(all, r)
		t.Logf("%-13s %3d requests, %2d of them change something, %d things made or deleted, %d facts, %d system calls",
			s.name+":", r.requests, len(r.mutating), len(r.effects), len(r.world), r.steps)
	}
	if last := all[len(all)-1]; len(last.world) != 0 {
		t.Fatalf("destroy leaves %v", last.world)
	}
	return all
}

// points counts what was done.
type points struct{ killed, early atomic.Int64 }

// live goes through all the stories and is killed once in each, where cuts say. After each it is as if nothing
// had happened.
func live(t *testing.T, binary string, refs []reference, cuts []cut, count *points) {
	t.Helper()
	x := newLived(t, binary, awstest.Start(t))
	for i, r := range refs {
		x.program(r.stack)
		x.cloud.Reset()
		if x.kill(r.command, cuts[i]) {
			count.killed.Add(1)
		} else {
			count.early.Add(1)
		}
		wrong := func(what, diff string) {
			t.Helper()
			t.Errorf("%s, killed at %s: %s (-undisturbed +killed):\n%s", r.name, cuts[i], what, diff)
		}
		_, wait := x.start(r.command)
		if e := wait(); e.status.ExitStatus() != 0 {
			t.Fatalf("%s, killed at %s: the same command once more: %s\n%s", r.name, cuts[i], describe(e.status), e.out)
		}
		if diff := cmp.Diff(r.effects, x.effects()); diff != "" {
			wrong("what was made and deleted", diff)
		}
		if diff := cmp.Diff(r.world, x.seen()); diff != "" {
			wrong("the world", diff)
		}
		x.quiet(r.command)
		x.sound()
		if t.Failed() {
			return
		}
	}
}

// TestKill kills the built binary at requests and at random instants, and runs the same command once more. In every
// life each story is cut once.
func TestKill(t *testing.T) {
	t.Parallel()
	binary := built(t, true)
	count := &points{}
	for _, lost := range []bool{false, true} {
		name := "record kept"
		if lost {
			name = "record deleted"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refs := refer(t, binary, lost)
			for n, cuts := range plan(refs, lost) {
				t.Run(fmt.Sprint(n+1), func(t *testing.T) {
					t.Parallel()
					live(t, binary, refs, cuts, count)
				})
			}
		})
	}
	if *killMode == "full" {
		t.Run("bounds of visibility as they ship", func(t *testing.T) {
			refs := refer(t, built(t, false), false)
			for _, kind := range []awstest.Kind{awstest.Hold, awstest.HoldAnswer} {
				t.Run(string(kind), func(t *testing.T) {
					t.Parallel()
					live(t, built(t, false), refs[:1], []cut{{kind: kind, nth: refs[0].mutating[0]}}, count)
				})
			}
		})
	}
	t.Cleanup(func() { // when the lives are over
		t.Logf("kills: %d, in runs that had ended before: %d, seed %d", count.killed.Load(), count.early.Load(), *killSeed)
		if count.killed.Load() == 0 {
			t.Error("nothing was killed")
		}
	})
}

// livesOf is how many lives are cut where the seed draws, each story once in each life: one, and every night three, or two with the state lost.
func livesOf(lost bool) int {
	switch {
	case !proctest.Whole():
		return 1
	case lost:
		return 2
	}
	return 3
}

// plan draws where each life is cut. All of them are: every request before it is forwarded, every request that
// may change something with its answer held back, and a third as many instants as there are requests.
func plan(refs []reference, lost bool) [][]cut {
	chance := rand.New(rand.NewPCG(*killSeed, 0))
	if lost {
		chance = rand.New(rand.NewPCG(*killSeed, 1))
	}
	each := make([][]cut, len(refs))
	lives := 0
	for i, r := range refs {
		var all []cut
		for n := range r.requests {
			if !lost || slices.Contains(r.mutating, n+1) { // a read changes nothing: what is lost is lost the same
				all = append(all, cut{awstest.Hold, n + 1, lost, false})
			}
			if n%3 == 0 {
				all = append(all, cut{instant, 1 + chance.IntN(r.steps), lost, false})
			}
		}
		for _, n := range r.mutating {
			all = append(all, cut{awstest.HoldAnswer, n, lost, false})
		}
		chance.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		each[i], lives = all, max(lives, len(all))
	}
	if *killMode != "full" {
		lives = livesOf(lost)
	}
	out := make([][]cut, lives)
	for n := range out {
		for i := range refs {
			c := each[i][n%len(each[i])]
			c.anew = lost && (n+i)%2 == 1
			out[n] = append(out[n], c)
		}
	}
	return out
}
