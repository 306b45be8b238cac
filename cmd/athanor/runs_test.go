//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// process is a command that runs beside the test.
type process struct {
	*exec.Cmd
	w         *world
	out, errs transcript
	ended     chan int // its exit code
}

// transcript is what a process prints, as it comes.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	more  chan struct{} // closed when there is more; nil while nobody waits
	ended bool
}

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	o.wake()
	return len(p), nil
}

// end says that nothing more will come.
func (o *transcript) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.wake()
}

func (o *transcript) wake() {
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// until waits for a text.
func (o *transcript) until(t *testing.T, text string) {
	t.Helper()
	for limit := time.After(patience); ; {
		o.mu.Lock()
		said, ended := o.text.String(), o.ended
		if o.more == nil {
			o.more = make(chan struct{})
		}
		more := o.more
		o.mu.Unlock()
		switch {
		case strings.Contains(said, text):
			return
		case ended:
			t.Fatalf("it ended without saying %q: %s", text, said)
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("it does not say %q: %s", text, said)
		}
	}
}

// start starts a program in the world's folder: the command itself, or another one on the path.
func (w *world) start(program string, args ...string) *process {
	w.t.Helper()
	if program == "athanor" && w.binary != "" {
		program = w.binary
	}
	path, err := exec.LookPath(program)
	if err != nil {
		w.t.Fatal(err)
	}
	line := slices.Concat(w.within, []string{path}, args)
	p := &process{Cmd: limited(w.t, line[0], line[1:]...), w: w, ended: make(chan int, 1)}
	p.Dir, p.Env, p.Stdout, p.Stderr = w.dir, w.env, &p.out, &p.errs
	bind(p.Cmd)
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = p.Cmd.Wait()
		p.out.end()
		p.errs.end()
		p.ended <- p.ProcessState.ExitCode()
	}()
	return p
}

// end waits for the end and checks the exit code.
func (p *process) end(want int) {
	p.w.t.Helper()
	if code := <-p.ended; code != want {
		p.w.t.Errorf("%v: exit code %d, want %d:\n%s%s", p.Args, code, want, p.out.String(), p.errs.String())
	}
	if flag := blames(p.errs.String(), p.Args); flag != "" {
		p.w.t.Errorf("%q names %s, which was not given: %s", p.Args, flag, p.errs.String())
	}
}

func (p *process) signal(s os.Signal) {
	p.w.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.w.t.Fatal(err)
	}
}

// run runs the command to its end and gives what it printed on standard output.
func (w *world) run(want int, args ...string) string {
	w.t.Helper()
	p := w.start("athanor", args...)
	p.end(want)
	return p.out.String()
}

func (w *world) lines(args ...string) []map[string]any {
	w.t.Helper()
	var all []map[string]any
	for line := range strings.Lines(w.run(0, append(args, "--json")...)) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		all = append(all, object)
	}
	return all
}

// history is how the runs stand, newest first: "state: note".
func (w *world) history() []string {
	w.t.Helper()
	var runs []string
	for _, r := range w.lines("history") {
		text := fmt.Sprint(r["state"])
		if r["note"] != nil {
			text += ": " + fmt.Sprint(r["note"])
		}
		runs = append(runs, text)
	}
	return runs
}

func (w *world) fifo(name string) {
	w.t.Helper()
	if err := syscall.Mkfifo(filepath.Join(w.dir, name), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.dir, name))
	return string(data)
}

// held is a stack with a change that is held before its call, and a call that is held, with one behind it.
const held = `stack: held
resources:
  a: {kind: local.File, props: {path: a.txt, content: "2\n"}, options: {before: ["touch hooked; read x < hook"], timeout: 10m}}
  slow: {kind: local.Command, props: {run: "touch started; read x < gate; touch done", timeout: 10m}}
  last: {kind: local.File, props: {path: last.txt, content: "${slow.stdout}"}}
`

// newHeld has deployed the first version of a and waits for nothing.
func newHeld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "stack: held\nresources:\n  a: {kind: local.File, props: {path: a.txt, content: \"1\\n\"}}\n")
	w.fifo("gate")
	w.fifo("hook")
	w.run(0, "deploy", "--yes")
	w.write("athanor.yaml", held)
	return w
}

func (w *world) pass(gate string) {
	w.t.Helper()
	f := onPipe(w.t, gate, func() (*os.File, error) { return os.OpenFile(filepath.Join(w.dir, gate), os.O_WRONLY, 0) })
	defer f.Close()
	if _, err := f.WriteString("go\n"); err != nil {
		w.t.Fatal(err)
	}
}

// passing leaves gates open from now on.
func (w *world) passing(gates ...string) {
	for _, gate := range gates {
		path := filepath.Join(w.dir, gate)
		if err := os.Remove(path); err != nil {
			w.t.Fatal(err)
		}
		w.write(gate, "go\n") // a file is read by anybody, at once
	}
}

// Of two deploys at once exactly one changes anything; the other one names it, and does so within a second.
func TestTwoDeploysAtOnce(t *testing.T) {
	w := newGated(t)
	began := time.Now()
	both := []*process{w.start("athanor", "deploy", "--yes", "--json"), w.start("athanor", "deploy", "--yes", "--json")}
	winner, loser := both[0], both[1]
	select {
	case code := <-winner.ended:
		winner, loser = both[1], both[0]
		loser.ended <- code
	case code := <-loser.ended:
		loser.ended <- code
	}
	loser.end(3)
	w.await("started")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var line struct{ Holder statestore.Holder }
	said := strings.TrimSpace(loser.out.String())
	if err := json.Unmarshal([]byte(said[strings.LastIndexByte(said, '\n')+1:]), &line); err != nil {
		t.Fatal(err)
	}
	if h := line.Holder; h.PID != winner.Process.Pid || h.Host != host || h.Command != "deploy" || h.Since.Before(began) || h.Since.After(time.Now()) || h.Run == "" {
		t.Errorf("the loser names %+v; the winner is process %d on %s", h, winner.Process.Pid, host)
	}
	w.run(3, "deploy", "--yes") // while the winner waits at the gate
	w.pass("gate")
	winner.end(0)
	if starts := w.read("starts"); starts != ".\n" {
		t.Errorf("the command ran %d times", strings.Count(starts, "."))
	}
	if runs := w.history(); !slices.Equal(runs, []string{"succeeded"}) {
		t.Errorf("history %q", runs)
	}
}

// Each run leaves the right history, and the next deploy needs no command in between.
func TestHistoryOfAllEnds(t *testing.T) {
	w := newGated(t)
	cancelled := w.start("athanor", "deploy", "--yes")
	w.await("started")
	for range 2 { // asking twice is asking once
		if lines := w.lines("cancel", "--why", "wrong branch"); lines[0]["done"] != true || lines[0]["pid"] != float64(cancelled.Process.Pid) {
			t.Errorf("cancel said %v", lines)
		}
	}
	w.pass("gate")
	cancelled.end(130)
	if !w.has("done") || w.has("last.txt") || !strings.Contains(cancelled.errs.String(), "this run was asked to stop") {
		t.Errorf("done %t, last %t: %s", w.has("done"), w.has("last.txt"), cancelled.errs.String())
	}
	if line := w.lines("cancel")[0]; line["done"] != false {
		t.Errorf("nothing is held, and cancel said %v", line)
	}
	w.write("athanor.yaml", strings.Replace(gated, "triggers", "env: {AGAIN: yes}, triggers", 1))
	for _, name := range []string{"started", "done"} {
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	killed := w.start("athanor", "deploy", "--yes")
	w.await("started")
	followed := w.start("athanor", "events", "--follow")
	killed.signal(os.Kill)
	<-killed.ended
	followed.end(0)
	if !strings.Contains(followed.errs.String(), "no longer heard of") {
		t.Errorf("who followed a killed run was told: %s%s", followed.out.String(), followed.errs.String())
	}
	if line := w.lines("history")[0]; line["state"] != "running" || line["dead"] != true {
		t.Errorf("a killed run is %v", line)
	}
	w.passing("gate")
	w.run(0, "deploy", "--yes")
	runs, who := w.history(), "tester@"
	if len(runs) != 3 || runs[0] != "succeeded" || !strings.HasPrefix(runs[1], "lost: its process ended; taken over by run ") ||
		!strings.HasPrefix(runs[2], "cancelled: asked to stop by "+who) || !strings.HasSuffix(runs[2], ": wrong branch") {
		t.Errorf("history %q", runs)
	}
	w.run(0, "plan")
}

// A run that is unlocked starts nothing more: neither the call that waited for a hook, nor what waited for a call.
// What its call did does not reach state, and the next deploy is none the worse for it.
func TestUnlockedRunStartsNothing(t *testing.T) {
	w := newHeld(t)
	victim := w.start("athanor", "deploy", "--yes")
	w.await("hooked")
	w.await("started")
	w.run(1, "unlock", "--yes")                  // why?
	w.run(5, "unlock", "--why", "nobody to ask") // not approved
	if line := w.lines("unlock", "--yes", "--why", "it hangs")[0]; line["done"] != true || line["pid"] != float64(victim.Process.Pid) {
		t.Errorf("unlock said %v", line)
	}
	if line := w.lines("unlock", "--yes", "--why", "it hangs")[0]; line["done"] != false {
		t.Errorf("unlock said %v the second time", line)
	}
	w.pass("hook")
	w.pass("gate")
	victim.end(4)
	if w.read("a.txt") != "1\n" || w.has("last.txt") || !w.has("done") {
		t.Errorf("a is %q, last was made: %t, the running call ended: %t", w.read("a.txt"), w.has("last.txt"), w.has("done"))
	}
	if !strings.Contains(victim.errs.String(), "unlocked by tester@") {
		t.Errorf("it does not say who unlocked it: %s", victim.errs.String())
	}
	if runs := w.history(); len(runs) != 2 || !strings.HasPrefix(runs[0], "lost: unlocked by tester@") || !strings.HasSuffix(runs[0], ": it hangs") {
		t.Errorf("history %q", runs)
	}
	w.passing("gate", "hook")
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"updated": 1, "created": 2})
	w.run(0, "plan")
}

// A run that was stopped past the end of its lease finds the stage taken over when it goes on, and changes nothing.
func TestStoppedPastItsLease(t *testing.T) {
	w := newHeld(t)
	sleeper := w.start("athanor-short")
	w.await("hooked")
	w.await("started")
	sleeper.signal(syscall.SIGSTOP)
	w.write("athanor.yaml", "stack: held\nresources:\n  a: {kind: local.File, props: {path: a.txt, content: \"3\\n\"}}\n")
	w.run(0, "deploy", "--yes", "--wait", "60s")
	w.pass("hook")
	w.pass("gate")
	sleeper.signal(syscall.SIGCONT)
	sleeper.end(1)
	if w.read("a.txt") != "3\n" || w.has("last.txt") {
		t.Errorf("a is %q, last was made: %t", w.read("a.txt"), w.has("last.txt"))
	}
	if !strings.Contains(sleeper.errs.String(), "its lease expired; taken over by run") {
		t.Errorf("it says %s", sleeper.errs.String())
	}
	if runs := w.history(); len(runs) != 3 || runs[0] != "succeeded" || !strings.HasPrefix(runs[1], "lost: its lease expired; taken over by run ") {
		t.Errorf("history %q", runs)
	}
	w.run(0, "plan")
}

// shortLived deploys the stack in the working directory with a lease of a second.
func shortLived() {
	if err := deployShort(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shortStore hands out leases of a second.
type shortStore struct{ statestore.Store }

func (s shortStore) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	claim.TTL = time.Second
	return s.Store.Acquire(ctx, stage, claim)
}

func deployShort(ctx context.Context) error {
	e, g, err := stackHere()
	if err != nil {
		return err
	}
	e.Store = shortStore{e.Store}
	_, err = deployHere(ctx, e, g)
	return err
}

// stackHere is the stack of the working directory, and an engine for it.
func stackHere() (*engine.Engine, *engine.Graph, error) {
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "athanor.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	const name = "dev-tester"
	s, err := yamlstack.Load(context.Background(), catalog, yamlstack.Input{Path: file, Data: data, Dir: dir, Stage: name})
	if err != nil {
		return nil, nil, err
	}
	store, err := bolt.Open(filepath.Join(dir, ".athanor", "state.db"))
	if err != nil {
		return nil, nil, err
	}
	key, err := seal.LoadOrMake("", s.Graph.Stack, name)
	if err != nil {
		return nil, nil, err
	}
	whole := keeper.New(store, statestore.Stage{Stack: s.Graph.Stack, Name: name}, key, nil)
	return &engine.Engine{Catalog: catalog, Store: whole, Key: key, User: "tester"}, s.Graph, nil
}

func deployHere(ctx context.Context, e *engine.Engine, g *engine.Graph) (*engine.Result, error) {
	p, err := e.Plan(ctx, g, engine.PlanOptions{})
	if err != nil {
		return nil, err
	}
	return e.Apply(ctx, p, engine.ApplyOptions{Command: "deploy"})
}

// Two containers share a machine and may share its name. A process of another pid namespace is never taken for dead,
// whatever its number means here, and is taken over when it has ended.
func TestPidNamespaces(t *testing.T) {
	apart := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		apart = append(apart, "--user", "--map-root-user")
	}
	if out, err := limited(t, "unshare", append(apart, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no pid namespaces here: %v: %s", err, out)
	}
	binary, err := exec.LookPath("athanor")
	if err != nil {
		t.Fatal(err)
	}
	w := newGated(t)
	inside := func(args ...string) *process { return w.start("unshare", append(append(apart, binary), args...)...) }
	holder := inside("deploy", "--yes")
	w.await("started")
	w.run(3, "deploy", "--yes")
	inside("deploy", "--yes").end(3) // a third namespace
	holder.signal(os.Kill)
	<-holder.ended
	w.passing("gate")
	w.run(0, "deploy", "--yes", "--wait", "25s") // less than its lease lasts
	if starts := w.read("starts"); starts != ".\n.\n" {
		t.Errorf("the command ran %d times, want once in each run", strings.Count(starts, "."))
	}
}

// A follower of a run gets each of its events once, in order, and returns at its end.
func TestFollow(t *testing.T) {
	w := newGated(t)
	deploy := w.start("athanor", "deploy", "--yes", "--json")
	w.await("started")
	follower := w.start("athanor", "events", "--follow", "--json")
	w.pass("gate")
	deploy.end(0)
	follower.end(0)
	said := strings.SplitAfter(deploy.out.String(), "\n")
	if events := strings.Join(said[:len(said)-2], ""); follower.out.String() != events {
		t.Errorf("the run said\n%s\nits follower\n%s", events, follower.out.String())
	}
	run := w.lines("history")[0]["run"].(string)
	if again := w.run(0, "events", run, "--json"); again != follower.out.String() {
		t.Errorf("read afterwards:\n%s", again)
	}
	if rest := w.lines("events", "--after", "3"); rest[0]["seq"] != 4.0 {
		t.Errorf("behind event 3 comes %v", rest[0])
	}
	if short := run[strings.LastIndexByte(run, '-')+1:]; w.run(0, "events", short, "--json") != follower.out.String() || !strings.Contains(w.run(0, "history"), "\n"+short+"  ") {
		t.Errorf("run %s is not found as %s", run, short)
	}
	w.run(1, "events", "20200101-000000-AAAAAA")
	w.run(1, "events", "AAAAAA")
}

// The reader of what a deploy prints may go away: the deploy goes on, and all of it is in state.
func TestALostSinkEndsNoRun(t *testing.T) {
	w := newGated(t)
	deploy := w.command("deploy", "--yes", "--json")
	deploy.Stderr = new(bytes.Buffer)
	out, err := deploy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := deploy.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("started")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	w.pass("gate")
	if err := deploy.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, deploy.Stderr)
	}
	if runs := w.history(); !slices.Equal(runs, []string{"succeeded"}) || !w.has("last.txt") {
		t.Errorf("history %q", runs)
	}
	events := w.lines("events")
	if last := events[len(events)-1]; last["type"] != "run" || last["status"] != "succeeded" || last["seq"] != float64(len(events)) {
		t.Errorf("the last of %d events is %v", len(events), last)
	}
}
