package miniflare

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed host.mjs
var program string

// ErrMissing is that miniflare, or Node.js, is not there. Its hint says how to get it.
var ErrMissing = errors.New("miniflare is not installed")

// host is the process in which instances of miniflare live.
type host struct {
	group *group
	log   func(line string)

	ready chan answer // its first word
	gone  chan struct{}
	err   error // why it has ended, once it has

	sending sync.Mutex
	in      io.WriteCloser
	telling sync.Mutex // held through log

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	tail    []string // the last lines that it printed
}

// answer is one line of the host.
type answer struct {
	ID      int
	Error   string
	Version string
	URL     string
	Spared  bool // whether the start was that of a spare
}

// launch starts the host. A temporary folder goes with it, should we be killed; "" is none.
func launch(ctx context.Context, o Options, temporary string) (*host, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, reconcile.WithHint(fmt.Errorf("%w: there is no Node.js", ErrMissing), "install Node.js 20 or newer, and npm install --save-dev miniflare@4")
	}
	folders, err := json.Marshal(o.Packages)
	if err != nil {
		return nil, err
	}
	g, err := openGroup(temporary)
	if err != nil {
		return nil, fmt.Errorf("process group: %w", err)
	}
	cmd := exec.Command(node, "--no-warnings", "--input-type=module", "--eval", program, "--", string(folders))
	cmd.Dir = o.Data
	g.join(cmd)
	h := &host{group: g, log: o.Log, ready: make(chan answer, 1), gone: make(chan struct{}), waiting: map[int]chan answer{}}
	if err := h.run(cmd); err != nil {
		g.close()
		return nil, err
	}
	first, err := h.wait(ctx, h.ready)
	switch {
	case err == nil && first.Error == "missing":
		err = reconcile.WithHint(fmt.Errorf("%w in %s", ErrMissing, strings.Join(o.Packages, ", ")), "npm install --save-dev miniflare@4")
	case err == nil && !strings.HasPrefix(first.Version, "4."):
		err = reconcile.WithHint(fmt.Errorf("miniflare %s is installed, and 4 is understood", first.Version), "npm install --save-dev miniflare@4")
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// run starts the process and listens to it.
func (h *host) run(cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	h.in = in
	var listeners sync.WaitGroup
	listeners.Go(func() { lines(out, h.answered) })
	listeners.Go(func() { lines(said, h.printed) })
	go func() {
		listeners.Wait()
		err := cmd.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = fmt.Errorf("miniflare has ended: %w", errors.Join(err, errors.New(strings.Join(h.tail, "\n"))))
		close(h.gone)
	}()
	return nil
}

// lines calls for each line of a stream, however long.
func lines(from io.Reader, each func([]byte)) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			each(line)
		}
		if err != nil {
			return
		}
	}
}

func (h *host) answered(line []byte) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		h.printed(line) // somebody writes where only the host should
		return
	}
	if a.ID == 0 {
		h.ready <- a
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if to := h.waiting[a.ID]; to != nil {
		to <- a
		delete(h.waiting, a.ID)
	}
}

// kept is how many of the last lines are told when the host has ended.
const kept = 20

func (h *host) printed(line []byte) {
	h.mu.Lock()
	h.tail = append(h.tail, string(line))
	h.tail = h.tail[max(len(h.tail)-kept, 0):]
	h.mu.Unlock()
	if h.log != nil {
		h.telling.Lock()
		defer h.telling.Unlock()
		h.log(string(line))
	}
}

// RefusedError reports what the runtime refuses, such as code that does not start.
type RefusedError struct {
	Said string // by the runtime, in lines
}

func (e *RefusedError) Error() string { return e.Said }

// ask has the host do something. What it refuses is an error. The id is that of what was asked, always.
func (h *host) ask(ctx context.Context, do string, with map[string]any) (answer, error) {
	to := make(chan answer, 1)
	id, err := h.send(do, with, to)
	if err != nil {
		return answer{}, err
	}
	a, err := h.wait(ctx, to)
	if err == nil && a.Error != "" {
		err = &RefusedError{a.Error}
	}
	a.ID = id
	return a, err
}

// send has the host do something, whose answer goes to a channel; nil drops it.
func (h *host) send(do string, with map[string]any, to chan answer) (id int, err error) {
	h.mu.Lock()
	h.next++
	id = h.next
	if to != nil {
		h.waiting[id] = to
	}
	h.mu.Unlock()
	with["id"], with["do"] = id, do
	line, err := json.Marshal(with)
	if err != nil {
		return 0, err
	}
	h.sending.Lock()
	_, err = h.in.Write(append(line, '\n'))
	h.sending.Unlock()
	if err != nil {
		<-h.gone // nobody reads, so there is nobody
		return 0, h.err
	}
	return id, nil
}

func (h *host) wait(ctx context.Context, to <-chan answer) (answer, error) {
	select {
	case a := <-to:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-h.gone:
		select {
		case a := <-to: // its last word
			return a, nil
		default:
			return answer{}, h.err
		}
	}
}

// close ends the host and all that it has started, and waits for that.
func (h *host) close() {
	h.group.close()
	<-h.gone
}
