package wiretest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Cloud is what stands behind a proxy.
type Cloud interface {
	// Read tells what a request asks for.
	Read(r *http.Request, body []byte) Call
	// Answer lets a call have its effect. The context outlives the caller: a call has its effect or it has not.
	Answer(ctx context.Context, r *http.Request, c Call) Answer
	// Refuse is the answer to a call that does not reach the cloud: to [Throttle], [ServerError], [Deny] and [Refuse],
	// and to [Stale] that nothing exists yet.
	Refuse(c Call, f Fault) Answer
}

// Proxy stands between the code under test and the cloud. It records each call
// and does to it what the armed faults say. All its methods may be called at
// any time from any goroutine.
type Proxy struct {
	cloud Cloud
	rules rules
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	calls   []*Call
	answers map[string]Answer // of reads, by request
}

// New is a proxy before a cloud, until it is closed.
func New(cloud Cloud) *Proxy {
	life, end := context.WithCancel(context.Background())
	life.Done() // its channel belongs to no bubble of testing/synctest, in whichever goroutine first waits for it
	return &Proxy{cloud: cloud, life: life, end: end, answers: map[string]Answer{}}
}

// Close releases the calls that faults hold.
func (p *Proxy) Close() { p.end() }

// Inject arms a fault. A pattern that cannot be read or an unknown kind panics:
// a fault that can never happen would make a test pass.
func (p *Proxy) Inject(f Fault) *Armed {
	if _, err := path.Match(f.Op, ""); err != nil {
		panic(fmt.Sprintf("wiretest: operation %q: %v", f.Op, err))
	}
	switch f.Kind {
	case Refuse:
		if f.Code == "" {
			panic("wiretest: refuse needs a code")
		}
		return p.rules.arm(f)
	case Hold, HoldAnswer, CutBefore, DropAnswer, Throttle, ServerError, Deny, Stale:
		return p.rules.arm(f)
	}
	panic(fmt.Sprintf("wiretest: unknown kind of fault %q", f.Kind))
}

// Calls returns all recorded calls in the order of their arrival, those that
// are still running included.
func (p *Proxy) Calls() []Call { return p.pick(func(Call) bool { return true }) }

// Mutations returns the recorded calls that may change something, whether or
// not they reached the cloud ([Call.Forwarded]).
func (p *Proxy) Mutations() []Call { return p.pick(Mutating) }

// Count returns how many recorded calls op matches, as in [Fault.Op].
func (p *Proxy) Count(op string) int {
	return len(p.pick(func(c Call) bool {
		ok, err := path.Match(op, c.Name())
		return ok && err == nil
	}))
}

// Reset forgets the recorded calls. Armed faults and the answers that [Stale]
// replays stay.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

func (p *Proxy) pick(want func(Call) bool) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Call
	for _, c := range p.calls {
		if want(*c) {
			out = append(out, *c)
		}
	}
	return out
}

// ServeHTTP takes one call.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away while sending; there is nobody to answer
	}
	c := p.cloud.Read(r, body)
	if FromOutside(r) {
		r.Header.Del(outsiderHeader)
		p.cloud.Answer(p.life, r, c).write(w)
		return
	}
	armed := p.rules.take(c)
	if armed != nil {
		c.Fault = armed.fault.Kind
	}
	entry := p.record(c)
	if armed == nil {
		p.pass(r, entry).write(w)
		return
	}
	p.hit(w, r, entry, armed)
}

// hit does to a call what the fault says.
func (p *Proxy) hit(w http.ResponseWriter, r *http.Request, entry *Call, armed *Armed) {
	switch armed.fault.Kind {
	case CutBefore:
		cut(w)
	case DropAnswer:
		p.pass(r, entry)
		cut(w)
	case Hold:
		if !p.held(r, armed) {
			cut(w)
			return
		}
		p.pass(r, entry).write(w)
	case HoldAnswer:
		a := p.pass(r, entry)
		if !p.held(r, armed) {
			cut(w)
			return
		}
		a.write(w)
	default:
		a := p.made(entry, armed.fault)
		p.settle(func() { entry.Status = a.Status })
		a.write(w)
	}
}

// made returns the answer to a call that does not reach the cloud.
func (p *Proxy) made(c *Call, f Fault) Answer {
	if f.Kind == Stale {
		p.mu.Lock()
		defer p.mu.Unlock()
		if a, ok := p.answers[c.key()]; ok {
			return a
		}
	}
	return p.cloud.Refuse(*c, f)
}

// held waits for the release. It reports false when the caller or the test
// ended first.
func (p *Proxy) held(r *http.Request, armed *Armed) bool {
	select {
	case <-armed.released:
		return true
	case <-r.Context().Done():
	case <-p.life.Done():
	}
	return false
}

// pass forwards a call and notes what came of it.
func (p *Proxy) pass(r *http.Request, entry *Call) Answer {
	p.settle(func() { entry.Forwarded = true })
	a := p.cloud.Answer(p.life, r, *entry)
	p.settle(func() {
		entry.Status = a.Status
		if !entry.Mutating {
			p.answers[entry.key()] = a
		}
	})
	return a
}

func (p *Proxy) record(c Call) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, &c)
	return &c
}

// settle changes a recorded call.
func (p *Proxy) settle(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// key is the same for two requests that ask for the same object.
func (c Call) key() string {
	return strings.Join([]string{c.Account, c.Region, c.Name(), c.Method, c.URI, string(c.Body)}, "\x00")
}

// cut breaks the connection under a call. It leaves the beginning of an answer
// behind, since Go's HTTP client silently repeats a GET on a kept connection
// that ends without a byte, and the fault would never be seen.
func cut(w http.ResponseWriter) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = buf.WriteString("HTTP/1.1 ")
	_ = buf.Flush()
	_ = conn.Close()
}
