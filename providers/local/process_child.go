package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

const (
	// The pauses before a process is started again: the first, the longest, and how long it must have run for the next
	// pause to be the first again.
	firstPause, longestPause, steady = 200 * time.Millisecond, 10 * time.Second, 10 * time.Second
	// shownLines are how many lines of its output the error about a process shows, from the end.
	shownLines = 10
)

// definition is what a process is started with.
type definition struct {
	address string
	mark    reconcile.Mark
	dir     string // the stack's
	want    ProcessProps
	inputs  string
	last    Process // of what ran before, if anything did
	mask    func(string) string
	dev     *reconcile.Dev
	serves  bool // it is not ready before its port takes connections
}

// child is one process of a session, through all its runs.
type child struct {
	def  definition
	port int
	log  *logFile

	mu      sync.Mutex
	address string
	want    ProcessProps // what is not started with may change
	run     *running     // the current or last one
	births  []birth      // of all its groups: the record may know any of them
	tail    []string

	waiting  *readiness
	stop     sync.Once
	stopping chan struct{}
	haste    sync.Once
	hurry    chan struct{} // patience has ended
	done     chan struct{} // nothing of it runs any more, nor will
	err      error         // why it ended, once done is closed; nil when it was to end
}

// newChild starts a process for the first time.
func newChild(d definition) (*child, error) {
	log, err := openLog(d.dev.Dir, d.mark, d.address)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	c := &child{
		def: d, log: log, address: d.address, want: d.want, stopping: make(chan struct{}), hurry: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.begin(); err != nil {
		return nil, errors.Join(err, log.close())
	}
	go c.supervise()
	return c, nil
}

// begin finds its port and starts the first run.
func (c *child) begin() (err error) {
	if c.port, err = choosePort(c.def.want.Port, c.def.last, c.log.noted().Port); err != nil {
		return err
	}
	if c.waiting, err = newReadiness(c.def.want, c.port); err != nil {
		return err
	}
	if c.def.serves {
		c.waiting.port = c.port
	}
	return c.launch()
}

// launch starts a run in a group of its own.
func (c *child) launch() error {
	want := c.wanted()
	g, err := openGroup(signalOf(*want.Stop), *want.Grace, nil)
	if err != nil {
		return fmt.Errorf("process group: %w", err)
	}
	// From here on a later session knows what to end, whatever becomes of this one.
	if err := c.log.note(notes{Group: g.birth, Port: c.port}); err != nil {
		g.close()
		return fmt.Errorf("note: %w", err)
	}
	words := argv(want.Run)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = within(c.def.dir, want.Dir), c.environ(want)
	if err := c.enter(g, cmd); err != nil {
		g.close()
		return &CommandError{Program: words[0], Code: -1, Err: errors.Join(err, c.log.note(notes{Port: c.port}))}
	}
	return c.log.note(notes{Group: g.birth, Leader: bornAs(cmd.Process.Pid), Port: c.port})
}

// enter makes a run the current one, before anything that it prints is seen.
func (c *child) enter(g *group, cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, err := g.start(cmd, c.print)
	if err == nil {
		c.run, c.births = r, append(c.births, g.birth)
	}
	return err
}

// environ are the variables of a run.
func (c *child) environ(want ProcessProps) []string {
	env := os.Environ()
	for name, value := range want.Env {
		env = append(env, name+"="+value)
	}
	if c.port > 0 {
		env = append(env, "PORT="+strconv.Itoa(c.port))
	}
	return env
}

// supervise starts it again until it is to end, or ended as it may.
func (c *child) supervise() {
	defer close(c.done)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		r, began := c.current(), time.Now()
		select {
		case <-r.exited:
		case <-c.stopping:
			c.endRun(r)
			return
		}
		meddled := c.log.noted().Group != r.group.birth
		r.close()
		if time.Since(began) >= steady {
			pause = firstPause
		}
		how, again := r.how(), c.wanted().restarts(r.failed())
		switch {
		case c.waiting.fail():
			c.finish(c.failure(fmt.Errorf("%w: %s", ErrNotReady, how)))
			return
		case meddled:
			c.say("another command ended it; the next deploy of this session starts it again")
			return // its notes are not ours any more
		case !again:
			c.say("%s", how)
			c.finish(nil)
			<-c.stopping
			return
		}
		c.say("%s: starts again in %s", how, pause)
		if !c.relaunch(pause) {
			return
		}
	}
}

// relaunch starts it again after a pause, and again when it cannot be started. It reports whether it runs: not when it is
// to end.
func (c *child) relaunch(pause time.Duration) bool {
	for ; ; pause = min(2*pause, longestPause) {
		select {
		case <-c.stopping:
			c.finish(nil)
			return false
		case <-time.After(pause):
		}
		err := c.launch()
		if err == nil {
			return true
		}
		c.say("%s: starts again in %s", c.def.mask(err.Error()), min(2*pause, longestPause))
	}
}

// endRun ends the current run: the signal, patience, and then the whole group.
func (c *child) endRun(r *running) {
	want := c.wanted()
	r.group.signal(signalOf(*want.Stop))
	patience := time.NewTimer(*want.Grace)
	defer patience.Stop()
	select {
	case <-r.exited:
	case <-patience.C:
		c.say("did not end within %s: killed", *want.Grace)
	case <-c.hurry:
	}
	r.close()
	c.finish(nil)
}

// finish notes that nothing of it runs any more. The port is kept in mind for the next session.
func (c *child) finish(err error) {
	noted := c.log.note(notes{Port: c.port})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.err = noted
	}
}

// end ends it with its whole group and returns when nothing is left. It is patient as declared, as long as ctx lasts.
func (c *child) end(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { c.haste.Do(func() { close(c.hurry) }) })()
	c.stop.Do(func() { close(c.stopping) })
	<-c.done
	return c.log.close()
}

// isBorn reports that one of its groups has this birth.
func (c *child) isBorn(b birth) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.births, b)
}

// failure is an error that shows what it printed last.
func (c *child) failure(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &CommandError{Program: argv(c.def.want.Run)[0], Code: -1, Stderr: strings.Join(c.tail, "\n"), Err: err}
}

// over reports that nothing of it runs any more although it should.
func (c *child) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) adjust(want ProcessProps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = want
}

func (c *child) wanted() ProcessProps {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want
}

func (c *child) current() *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

func (c *child) called() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}

func (c *child) rename(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.address = address
}

// attrs are those of the current run.
func (c *child) attrs() Process {
	b := c.current().group.birth
	out := Process{PID: token.Num(int64(b.PID)), StartTime: b.Start, Port: token.Num(int64(c.port)), Log: c.log.path, Inputs: c.def.inputs}
	if c.port > 0 {
		out.URL = "http://localhost:" + strconv.Itoa(c.port)
	}
	return out
}

// print takes one line that it wrote: for the log, the screen, and code that waits for it, which then finds it in the
// log.
func (c *child) print(source, text string, cut int) {
	defer c.waiting.line(text)
	text = c.def.mask(text)
	if cut > 0 {
		kept := strings.ToValidUTF8(text[:max(0, len(text)-unsure)], "")
		text = fmt.Sprintf("%s… (%d bytes more)", kept, cut+len(text)-len(kept))
	}
	c.tell(reconcile.LogLine{Time: time.Now(), Source: source, Text: text})
}

// say tells what becomes of it.
func (c *child) say(format string, args ...any) {
	c.tell(reconcile.LogLine{Time: time.Now(), Source: reconcile.SourceAthanor, Text: fmt.Sprintf(format, args...)})
}

func (c *child) tell(line reconcile.LogLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line.Source != reconcile.SourceAthanor {
		c.tail = append(c.tail, line.Text)
		c.tail = c.tail[max(0, len(c.tail)-shownLines):]
	}
	c.log.write(line)
	c.def.dev.Print(c.address, line)
}

// restarts reports what the policy says of an end.
func (p ProcessProps) restarts(failed bool) bool {
	return *p.Restart == "always" || *p.Restart == "on-failure" && failed
}

// inputs names the asset that stands for the inputs.
const inputs = "inputs"

// logPath is where the log of an address lies.
func logPath(dir string, mark reconcile.Mark, address string) string {
	return filepath.Join(dir, mark.Stack, mark.Stage, fileName(address)+".log")
}
