package stackprogram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Child is a stack program at work beside this process, which runs its functions.
type Child struct {
	cmd *exec.Cmd

	writing sync.Mutex // one frame at a time
	calls   io.WriteCloser

	mu      sync.Mutex // and what follows
	last    uint64
	waiting map[uint64]chan reply

	ready chan reply
	ended chan struct{}
	err   error // how it ended, once it has
}

// Ask asks a program, which a command that was not started yet starts. It ends with this process, however that ends. With
// pipes in the question the child stays, when the program has functions; else it is nil. What the program says on its standard error is in the error unless the command
// has a place for it.
func Ask(ctx context.Context, cmd *exec.Cmd, q Question) (*Answer, *Child, error) {
	file, err := os.CreateTemp("", "athanor-graph-*.json")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	stays := q.Pipes
	q.Protocol, q.File, q.Pipes = Protocol, giveFile(cmd, file), HasPipes // one that does not stay ends with this process all the same
	question, err := json.Marshal(q)
	if err != nil {
		return nil, nil, err
	}
	cmd.Env = append(append(os.Environ(), cmd.Env...), QuestionVariable+"="+string(question), DirVariable+"="+q.Dir)
	var said bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	panics := &crash{dir: q.Dir, to: cmd.Stderr}
	cmd.Stderr = panics
	c, err := start(cmd, q.Pipes, panics)
	if err != nil {
		return nil, nil, err
	}
	if err := c.answered(ctx); err != nil {
		return nil, nil, withOutput(err, said.String())
	}
	_, err = file.Seek(0, io.SeekStart) // the program may have written by the same descriptor
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	a, err := readAnswer(file)
	if err == nil && a.HasFunctions() && stays && HasPipes {
		return a, c, nil
	}
	return a, nil, errors.Join(err, c.Close())
}

// withOutput adds the first lines of what a program said.
func withOutput(err error, said string) error {
	if said = strings.TrimSpace(said); said == "" {
		return err
	}
	lines := strings.Split(said, "\n")
	return fmt.Errorf("%w: %s", err, strings.Join(lines[:min(len(lines), 10)], "\n"))
}

// start starts a program.
func start(cmd *exec.Cmd, piped bool, panics *crash) (*Child, error) {
	c := &Child{cmd: cmd, ready: make(chan reply, 1), ended: make(chan struct{})}
	c.waiting = map[uint64]chan reply{0: c.ready}
	var answers *os.File
	if piped {
		callsEnd, calls, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer callsEnd.Close()
		read, answersEnd, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, calls.Close())
		}
		defer answersEnd.Close()
		c.calls, answers = calls, read
		givePipes(cmd, callsEnd, answersEnd)
	}
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		if piped {
			err = errors.Join(err, c.calls.Close(), answers.Close())
		}
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if answers != nil {
			c.listen(answers)
		}
	}()
	go func() {
		c.err = cmd.Wait()
		if panicked := panics.end(c.err); panicked != nil {
			c.err = panicked
		}
		if answers != nil { // a reply that was written before the end counts, and other holders of the pipe do not
			_ = answers.SetReadDeadline(time.Now().Add(patience))
		}
		<-read
		close(c.ended)
	}()
	return c, nil
}

// listen hands replies on until there are no more.
func (c *Child) listen(answers io.ReadCloser) {
	defer answers.Close()
	for {
		var r reply
		if err := readFrame(answers, &r); err != nil {
			if !errors.Is(err, io.EOF) {
				_ = c.cmd.Process.Kill() // nothing that it says can be understood any more
			}
			return
		}
		c.mu.Lock()
		to := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if to != nil {
			to <- r
		}
	}
}

// answered waits until the answer is written.
func (c *Child) answered(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.ended:
		if c.err == nil {
			return nil // it has answered, or reading the answer says that it has not
		}
		if panicked, ok := errors.AsType[*engine.GraphError](c.err); ok {
			return panicked
		}
		return fmt.Errorf("the program ended before it had declared its stack: %w", c.err)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), c.kill())
	}
}

// Runs reports that the program has not ended. A nil child has.
func (c *Child) Runs() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

func (c *Child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.ended
	return nil
}

// patience is how long a program may take to end when its caller goes away, and what it has written to come.
const patience = 5 * time.Second

// Close ends the program. A nil child has ended.
func (c *Child) Close() error {
	if c == nil {
		return nil
	}
	if c.calls != nil {
		_ = c.calls.Close() // closing twice changes nothing
	}
	select {
	case <-c.ended:
		return nil
	case <-time.After(patience):
		return c.kill()
	}
}

// errEnded is matched when a function cannot be called since its program has ended.
var errEnded = errors.New("the program, which was to run a function of its own, has ended")

// call calls a function. When the context ends the function is told, and its end awaited.
func (c *Child) call(ctx context.Context, ask call) (reply, error) {
	to := make(chan reply, 1)
	c.mu.Lock()
	c.last++
	ask.ID = c.last
	c.waiting[ask.ID] = to
	c.mu.Unlock()
	if err := c.write(ask); err != nil {
		c.mu.Lock()
		delete(c.waiting, ask.ID)
		c.mu.Unlock()
		return reply{}, err
	}
	done := ctx.Done()
	for {
		select {
		case r := <-to:
			return r, r.err(ctx)
		case <-c.ended:
			select {
			case r := <-to:
				return r, r.err(ctx)
			default:
				return reply{}, c.why()
			}
		case <-done:
			done = nil
			if err := c.write(call{ID: ask.ID, Cancel: true}); err != nil {
				return reply{}, err
			}
		}
	}
}

// write writes a frame. A program that cannot be asked any more is of no use.
func (c *Child) write(ask call) error {
	c.writing.Lock()
	err := writeFrame(c.calls, ask)
	c.writing.Unlock()
	if _, broken := errors.AsType[*fs.PathError](err); broken {
		return errors.Join(c.kill(), c.why())
	}
	return err
}

// why tells how the program ended.
func (c *Child) why() error {
	if c.Runs() || c.err == nil {
		return errEnded
	}
	if panicked, ok := errors.AsType[*engine.GraphError](c.err); ok {
		p := panicked.Problems[0]
		return fmt.Errorf("%w: %s: %w", errEnded, p.Source, p.Err)
	}
	return fmt.Errorf("%w: %w", errEnded, c.err)
}

// canceledError is the error of a function that was told to end.
type canceledError struct {
	text  error
	cause error
}

func (e *canceledError) Error() string   { return e.text.Error() }
func (e *canceledError) Unwrap() []error { return []error{e.text, e.cause} }

func (r reply) err(ctx context.Context) error {
	switch {
	case r.Problem == nil:
		return nil
	case r.Canceled && ctx.Err() != nil:
		return &canceledError{r.Problem.Err(), ctx.Err()}
	}
	return r.Problem.Err()
}

// functions are those of a program that runs as a child.
type functions struct{ child *Child }

// Functions are those of an answer, which the child runs. It ends some time after nobody holds them any more.
func (c *Child) Functions(a *Answer) engine.Funcs {
	f := &functions{c}
	runtime.AddCleanup(f, func(c *Child) { go c.Close() }, c) //nolint:errcheck // there is nobody to tell
	funcs := engine.Funcs{Then: map[string]func(any) (any, error){}, Hooks: map[string]func(context.Context, engine.HookInfo) error{}}
	for _, id := range a.Then {
		funcs.Then[id] = func(input any) (any, error) { return f.then(id, input) }
	}
	for _, id := range a.Hooks {
		funcs.Hooks[id] = func(ctx context.Context, info engine.HookInfo) error { return f.hook(ctx, id, info) }
	}
	for i := range a.Policies {
		funcs.Policies = append(funcs.Policies, func(p *engine.Plan) []engine.Violation { return f.policy(i+1, p) })
	}
	return funcs
}

// call calls a function, and holds the child until that has ended.
func (f *functions) call(ctx context.Context, ask call) (reply, error) {
	defer runtime.KeepAlive(f)
	return f.child.call(ctx, ask)
}

func (f *functions) then(id string, input any) (any, error) {
	value, err := plain(input)
	if err != nil {
		return nil, err
	}
	r, err := f.call(context.Background(), call{Then: id, Input: value})
	if err != nil {
		return nil, err
	}
	return tree.Of(r.Value)
}

func (f *functions) hook(ctx context.Context, id string, info engine.HookInfo) error {
	if info.Attrs != nil {
		attrs, err := plain(info.Attrs)
		if err != nil {
			return err
		}
		info.Attrs, _ = attrs.(map[string]any)
	}
	_, err := f.call(ctx, call{Hook: id, Info: &info})
	return err
}

// policy asks a rule. One that cannot be asked refuses.
func (f *functions) policy(n int, p *engine.Plan) []engine.Violation {
	data, err := json.Marshal(p)
	var r reply
	if err == nil {
		r, err = f.call(context.Background(), call{Policy: n, Plan: data})
	}
	if err != nil {
		return []engine.Violation{{Policy: "the program's", Message: "cannot be asked: " + err.Error()}}
	}
	return r.Violations
}
