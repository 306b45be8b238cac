package awstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// What the proxy knows, under the names that tests use.
type (
	// Proxy records calls and breaks them.
	Proxy = wiretest.Proxy
	// Call is one request as it was read from the wire.
	Call = wiretest.Call
	// Fault is a rule: which calls, and what happens to them.
	Fault = wiretest.Fault
	// Kind says what happens to a call.
	Kind = wiretest.Kind
	// Armed is a fault that waits for its calls.
	Armed = wiretest.Armed
	// Answer is a whole HTTP answer.
	Answer = wiretest.Answer
)

// The kinds of faults.
const (
	Hold        = wiretest.Hold
	HoldAnswer  = wiretest.HoldAnswer
	CutBefore   = wiretest.CutBefore
	DropAnswer  = wiretest.DropAnswer
	Throttle    = wiretest.Throttle
	ServerError = wiretest.ServerError
	Deny        = wiretest.Deny
	Refuse      = wiretest.Refuse
	Stale       = wiretest.Stale
)

// Mutating reports whether the call may change something. It is made for
// [Fault.When]: the Nth change, whichever it is.
func Mutating(c Call) bool { return wiretest.Mutating(c) }

// moto is the emulator as it stands behind a proxy, with what it is helped to remember.
type moto struct {
	origin    *url.URL
	account   string
	transport *http.Transport
	functions functions
	layers    http.Handler           // the registry of the account's repositories
	player    atomic.Pointer[player] // nil: the emulator answers as it is
	plain     bool                   // it is not moto, and nothing is mended
	told      io.Writer              // what the emulator itself fails at

	mu    sync.Mutex
	asked []string // paths of authorizers of API Gateway
}

func newMoto(origin, account string) (*moto, error) {
	base, err := url.Parse(origin)
	return &moto{
		origin: base, account: account, transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
		functions: functions{kept: map[string]Fields{}}, layers: newRegistry(), told: os.Stderr,
	}, err
}

// settle changes what is remembered.
func (m *moto) settle(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// Read tells what a request asks for.
func (m *moto) Read(r *http.Request, body []byte) Call { return classify(r, body, m.account) }

// Refuse is the answer to a call that does not reach the emulator.
func (m *moto) Refuse(c Call, f Fault) Answer {
	switch f.Kind {
	case Throttle:
		return throttled(c)
	case Deny:
		return denied(c)
	case Refuse:
		return refused(c, f)
	case Stale:
		return absent(c)
	}
	return broken(c)
}

// Answer sends a call to the emulator. Once begun it is not given up when the
// caller goes away: a call has its effect or it has not.
func (m *moto) Answer(ctx context.Context, r *http.Request, c Call) Answer {
	if p := m.player.Load(); p != nil {
		return p.Answer(ctx, r, c)
	}
	return m.forward(ctx, r, c)
}

// forward sends a call to the emulator, and mends what that lacks.
func (m *moto) forward(ctx context.Context, r *http.Request, c Call) Answer {
	p := passing{m, ctx}
	if m.plain {
		return p.send(r, c, r.Method, *r.URL, c.Body)
	}
	if on(c).protocol == registryHTTP {
		return m.registry(ctx, r, c)
	}
	switch c.Service {
	case "apigateway":
		return p.gateway(r, c)
	case "Lambda":
		return p.lambda(r, c)
	case "Logs":
		return p.logGroups(r, c)
	case "ECR":
		a := p.send(r, c, r.Method, *r.URL, c.Body)
		if c.Operation == "GetAuthorizationToken" {
			a = ownRegistry(r, a)
		}
		return a
	}
	return p.amend(r, c, p.send(r, c, r.Method, *r.URL, c.Body))
}

// emulatorFailed is the header in which the emulator says which exception of its own an answer of 500 stands for.
const emulatorFailed = "X-Emulator-Failed"

// passing is a call on its way.
type passing struct {
	*moto
	life context.Context
}

// lambda forwards a call to functions, with what the emulator lacks of them.
func (p passing) lambda(r *http.Request, c Call) Answer {
	asked, target := c, *r.URL
	if a, refused := p.functions.before(r, &c, &target); refused {
		return a
	}
	return p.functions.after(r, asked, p.send(r, c, r.Method, target, c.Body))
}

// send makes a request like that of a call.
func (p passing) send(r *http.Request, c Call, method string, target url.URL, body []byte) Answer {
	target.Scheme, target.Host = p.origin.Scheme, p.origin.Host
	req, err := http.NewRequestWithContext(p.life, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return unreachable(err)
	}
	req.Header = r.Header.Clone()
	dropHopHeaders(req.Header)
	req.Header.Del("Content-Length")
	switch {
	case p.plain:
		inAccount(req.Header, c.Account)
	case c.Account != "":
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
	if why, err := url.PathUnescape(res.Header.Get(emulatorFailed)); err == nil && why != "" {
		fmt.Fprintf(p.told, "awstest: %s.%s: the emulator itself failed, not the service:\n%s\n", c.Service, c.Operation, why)
	}
	res.Header.Del(emulatorFailed)
	dropHopHeaders(res.Header)
	return Answer{Status: res.StatusCode, Header: res.Header, Body: answered}
}

// unreachable says that the emulator itself does not answer, in words that no service
// would use.
func unreachable(err error) Answer {
	return Answer{
		Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/plain"}},
		Body:   []byte("awstest: emulator: " + err.Error()),
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
