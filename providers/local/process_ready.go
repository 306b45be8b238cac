package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

const (
	// readyIn is how long a process may take to become ready, unless it says otherwise.
	readyIn = 30 * time.Second
	// probeEvery is how often its port is tried, and probeFor how long one answer may take.
	probeEvery, probeFor = 50 * time.Millisecond, 2 * time.Second
)

// ErrNotReady says that a process was not ready in time, or ended before it was.
var ErrNotReady = errors.New("not ready")

// readiness is what a process must show, once, before others go on.
type readiness struct {
	port    int    // 0: none
	http    string // "": none
	output  *regexp.Regexp
	timeout time.Duration

	fits  chan struct{} // closed when a line fits
	once  sync.Once
	state atomic.Int32
}

// What became of the wait.
const (
	awaited int32 = iota
	passed
	failed
)

func newReadiness(want ProcessProps, port int) (*readiness, error) {
	r := &readiness{timeout: readyIn, fits: make(chan struct{})}
	ready := want.Ready
	if ready == nil {
		ready = &Ready{}
	}
	if ready.Timeout != nil {
		r.timeout = *ready.Timeout
	}
	switch {
	case ready.Port != nil:
		r.port = *ready.Port
		if taken(r.port) {
			return nil, portTaken(r.port)
		}
	case ready.Output == "" && ready.HTTP == "":
		r.port = port
	}
	if r.http = ready.HTTP; strings.HasPrefix(r.http, "/") {
		r.http = "http://localhost:" + strconv.Itoa(port) + r.http
	}
	if ready.Output != "" {
		var err error
		if r.output, err = regexp.Compile(ready.Output); err != nil {
			return nil, fmt.Errorf("ready.output: %w", err)
		}
	}
	return r, nil
}

// line is told of each line.
func (r *readiness) line(text string) {
	if r.output != nil && r.output.MatchString(text) {
		r.once.Do(func() { close(r.fits) })
	}
}

// fail says that it ended; false when it was ready before.
func (r *readiness) fail() bool { return r.state.CompareAndSwap(awaited, failed) }

// awaitReady returns when the process is ready, has ended or took too long.
func (c *child) awaitReady(ctx context.Context) error {
	r := c.waiting
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("%w within %s", ErrNotReady, r.timeout))
	defer cancel()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-c.done:
		case <-reconcile.Interrupt(ctx):
		case <-watched.Done():
		}
		stop()
	}()
	if r.await(watched) && r.state.CompareAndSwap(awaited, passed) {
		return nil
	}
	if err := reconcile.Interrupted(ctx, ErrNotReady); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return c.failure(context.Cause(ctx))
	}
	<-c.done
	return cmp.Or(c.err, c.failure(ErrNotReady))
}

// await reports that all that it waits for came true before ctx ended.
func (r *readiness) await(ctx context.Context) bool {
	if r.output != nil {
		select {
		case <-r.fits:
		case <-ctx.Done():
			return false
		}
	}
	return (r.port == 0 || until(ctx, func() bool { return answers(ctx, r.port) })) &&
		(r.http == "" || until(ctx, func() bool { return serves(ctx, r.http) }))
}

// until tries now and again; false when ctx ended first.
func until(ctx context.Context, try func() bool) bool {
	for !try() {
		if reconcile.Wait(ctx, probeEvery, ErrNotReady) != nil {
			return false
		}
	}
	return true
}

// loopbacks are where a process of this machine may listen.
func loopbacks(port int) []string {
	p := strconv.Itoa(port)
	return []string{net.JoinHostPort("127.0.0.1", p), net.JoinHostPort("::1", p)}
}

// answers reports that somebody takes connections on a port.
func answers(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: probeFor}
	for _, at := range loopbacks(port) {
		if c, err := dialer.DialContext(ctx, "tcp", at); err == nil {
			c.Close() //nolint:errcheck // nothing was sent
			return true
		}
	}
	return false
}

// serves reports that an address answers well.
func serves(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode < http.StatusBadRequest
}

// taken reports that somebody listens on a port.
func taken(port int) bool {
	for _, at := range loopbacks(port) {
		l, err := net.Listen("tcp", at)
		if errors.Is(err, syscall.EADDRINUSE) {
			return true
		}
		if err == nil {
			l.Close() //nolint:errcheck // nobody came
		}
	}
	return false
}

// Free ports are chosen below those that systems give to callers that ask for any, for each connection too: such a one
// could be taken before the process listens, or in the next session.
const firstFree, freePorts = 20000, 10000

func portTaken(port int) error { return fmt.Errorf("port %d: %w", port, syscall.EADDRINUSE) }

// choosePort is the port that a process is told: the one it asks for; or a free one, the same as before if it can be. 0: none.
func choosePort(want *int, last Process, noted int) (int, error) {
	if want == nil {
		return 0, nil
	}
	if *want > 0 {
		if taken(*want) {
			return 0, portTaken(*want)
		}
		return *want, nil
	}
	for _, port := range []int{number(last.Port), noted} {
		if port > 0 && !taken(port) {
			return port, nil
		}
	}
	for range 100 {
		if port := firstFree + rand.IntN(freePorts); !taken(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no port of %d to %d is free", firstFree, firstFree+freePorts-1)
}

// number is the value of an attribute, 0 without one.
func number(i token.Int) int {
	v, _, err := i.Value()
	if err != nil {
		return 0
	}
	return int(v)
}
