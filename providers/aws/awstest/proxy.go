package awstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// Proxy stands between the code under test and the cloud. It records each call
// and does to it what the armed faults say. All its methods may be called at
// any time from any goroutine.
type Proxy struct {
	origin    *url.URL
	account   string
	transport *http.Transport
	rules     rules
	functions functions
	life      context.Context
	end       context.CancelFunc

	mu      sync.Mutex
	calls   []*Call
	answers map[string]answer // of reads, by request
	asked   []string          // paths of authorizers of API Gateway
}

func newProxy(origin, account string) (*Proxy, error) {
	base, err := url.Parse(origin)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	return &Proxy{
		origin:    base,
		account:   account,
		transport: &http.Transport{DisableCompression: true},
		life:      life,
		end:       end,
		answers:   map[string]answer{},
		functions: functions{kept: map[string]Fields{}},
	}, nil
}

func (p *Proxy) close() {
	p.end()
	p.transport.CloseIdleConnections()
}

// Inject arms a fault. A pattern that cannot be read or an unknown kind panics:
// a fault that can never happen would make a test pass.
func (p *Proxy) Inject(f Fault) *Armed {
	if _, err := path.Match(f.Op, ""); err != nil {
		panic(fmt.Sprintf("awstest: operation %q: %v", f.Op, err))
	}
	switch f.Kind {
	case Refuse:
		if f.Code == "" {
			panic("awstest: refuse needs a code")
		}
		return p.rules.arm(f)
	case Hold, HoldAnswer, CutBefore, DropAnswer, Throttle, ServerError, Deny, Stale:
		return p.rules.arm(f)
	}
	panic(fmt.Sprintf("awstest: unknown kind of fault %q", f.Kind))
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
	c := classify(r, body, p.account)
	if r.Header.Get(outsiderHeader) != "" {
		p.forward(r, c).write(w)
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
		p.settle(func() { entry.Status = a.status })
		a.write(w)
	}
}

// made returns the answer to a call that does not reach the cloud.
func (p *Proxy) made(c *Call, f Fault) answer {
	switch f.Kind {
	case Throttle:
		return throttled(*c)
	case Deny:
		return denied(*c)
	case Refuse:
		return refused(*c, f)
	case Stale:
		p.mu.Lock()
		defer p.mu.Unlock()
		if a, ok := p.answers[c.key()]; ok {
			return a
		}
		return absent(*c)
	}
	return broken(*c)
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
func (p *Proxy) pass(r *http.Request, entry *Call) answer {
	p.settle(func() { entry.Forwarded = true })
	a := p.forward(r, *entry)
	p.settle(func() {
		entry.Status = a.status
		if !entry.Mutating {
			p.answers[entry.key()] = a
		}
	})
	return a
}

// forward sends a call to the emulator. Once begun it is not given up when the
// caller goes away: a call has its effect or it has not.
func (p *Proxy) forward(r *http.Request, c Call) answer {
	switch c.Service {
	case "apigateway":
		return p.gateway(r, c)
	case "Lambda":
		return p.lambda(r, c)
	case "Logs":
		return p.logGroups(r, c)
	}
	return p.amend(r, c, p.send(r, c, r.Method, *r.URL, c.Body))
}

// lambda forwards a call to functions, with what the emulator lacks of them.
func (p *Proxy) lambda(r *http.Request, c Call) answer {
	asked, target := c, *r.URL
	if a, refused := p.functions.before(r, &c, &target); refused {
		return a
	}
	return p.functions.after(r, asked, p.send(r, c, r.Method, target, c.Body))
}

// send makes a request like that of a call.
func (p *Proxy) send(r *http.Request, c Call, method string, target url.URL, body []byte) answer {
	target.Scheme, target.Host = p.origin.Scheme, p.origin.Host
	req, err := http.NewRequestWithContext(p.life, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return unreachable(err)
	}
	req.Header = r.Header.Clone()
	dropHopHeaders(req.Header)
	req.Header.Del(outsiderHeader)
	req.Header.Del("Content-Length")
	if c.Account != "" {
		req.Header.Set("X-Moto-Account-Id", c.Account)
	}
	// The emulator builds the URLs that it hands out, such as those of queues,
	// from the host that it is called by.
	req.Host = r.Host
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		return unreachable(err)
	}
	defer res.Body.Close()
	answered, err := io.ReadAll(res.Body)
	if err != nil {
		return unreachable(err)
	}
	dropHopHeaders(res.Header)
	return answer{status: res.StatusCode, header: res.Header, body: answered}
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

// key is the same for two requests that ask for the same thing.
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

// answer is a whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // refused for HEAD, whose answers have none
}

// unreachable says that the emulator itself is gone, in words that no service
// would use.
func unreachable(err error) answer {
	return answer{
		status: http.StatusBadGateway,
		header: http.Header{"Content-Type": {"text/plain"}},
		body:   []byte("awstest: emulator: " + err.Error()),
	}
}

// dropHopHeaders removes what belongs to one connection only.
func dropHopHeaders(h http.Header) {
	named := strings.Split(strings.Join(h.Values("Connection"), ","), ",")
	for _, name := range slices.Concat(named, []string{
		"Connection", "Keep-Alive", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
	}) {
		h.Del(strings.TrimSpace(name))
	}
}
