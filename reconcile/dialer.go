package reconcile

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// Dialer opens connections to services by name, and holds each name to the kind of network that it led to first. The
// owner of a name can answer each look-up with another address, so that the calls and credentials that were meant for a
// server somewhere else go to one on this machine, or to the service that hands out its role's credentials. A name
// never leads to a link-local address. An address in place of a name is taken as it is, and so is localhost.
type Dialer struct {
	dialer net.Dialer
	mu     sync.Mutex
	local  map[string]bool
}

// NewDialer returns a dialer that knows no name yet.
func NewDialer() *Dialer {
	d := &Dialer{local: map[string]bool{}}
	d.dialer = net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: d.control}
	return d
}

// NewHTTPClient returns a client for the API of a service, with connections of its own. It follows no redirection, which would
// carry a write elsewhere as a read; it ends attempts in which nothing moves, and holds names to the network that they led to first.
func NewHTTPClient() *http.Client {
	transport := http.DefaultTransport
	if own, ok := transport.(*http.Transport); ok { // a test may have another
		own = own.Clone()
		Route(own)
		transport = own
	}
	return &http.Client{
		Transport:     LimitAttempts(transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Route gives a transport connections of its own, that hold names to the network that they led to first, and lets it tell what a
// proxy answers that does not let a request through.
func Route(t *http.Transport) {
	t.DialContext = NewDialer().DialContext
	t.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode == http.StatusOK {
			return nil
		}
		return WithClass(&ProxyError{Proxy: proxy.Host, Status: res.Status}, ClassOfStatus(res.StatusCode))
	}
}

// ProxyError says that a proxy did not let a request through: nothing was sent to the service.
type ProxyError struct{ Proxy, Status string }

func (e *ProxyError) Error() string {
	return fmt.Sprintf("the proxy %s does not lead there: %s", e.Proxy, e.Status)
}

// Hint says what the user can do.
func (e *ProxyError) Hint() string {
	return "HTTPS_PROXY names the proxy, with user and password where it asks for them; hosts in NO_PROXY are called without it"
}

type dialedKey struct{}

// DialContext connects to an address, as [net.Dialer.DialContext] does.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return d.dialer.DialContext(context.WithValue(ctx, dialedKey{}, host), network, address)
}

// LookupHost returns the addresses of a name that a connection may be made to, for clients that resolve names themselves.
// It fails when the name leads to none.
func (d *Dialer) LookupHost(ctx context.Context, host string) ([]string, error) {
	found, err := d.dialer.Resolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	return d.judged(host, found)
}

// judged returns those of a name's addresses that it may lead to, or why there is none.
func (d *Dialer) judged(host string, found []string) (addresses []string, err error) {
	for _, text := range found {
		to, bad := netip.ParseAddr(text)
		if bad == nil {
			bad = d.judge(host, to)
		}
		if bad != nil {
			err = bad
			continue
		}
		addresses = append(addresses, text)
	}
	if len(addresses) > 0 {
		return addresses, nil
	}
	return nil, err
}

// control judges each address that a name was resolved to, right before the connection is made to it.
func (d *Dialer) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, _ := ctx.Value(dialedKey{}).(string)
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil //nolint:nilerr // a socket of the file system
	}
	return d.judge(host, to.Addr())
}

// judge refuses an address that a name must not lead to.
func (d *Dialer) judge(host string, to netip.Addr) error {
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return nil
	}
	to = to.Unmap().WithZone("")
	if to.IsLinkLocalUnicast() || to == netip.AddrFrom16([16]byte{0: 0xfd, 1: 0, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}) {
		return WithClass(&ReboundError{Name: host, To: to}, Denied)
	}
	local := to.IsLoopback() || to.IsUnspecified()
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, known := d.local[host]; known && first != local {
		return WithClass(&ReboundError{Name: host, To: to, Moved: true}, Denied)
	}
	d.local[host] = local
	return nil
}

// ReboundError says that a name led to an address that it must not lead to: nothing was sent there.
type ReboundError struct {
	Name string
	To   netip.Addr
	// Moved says that an earlier look-up led elsewhere; otherwise no name may lead there.
	Moved bool
}

func (e *ReboundError) Error() string {
	if e.Moved {
		return fmt.Sprintf("the name %s led to another network before, and leads to %s now", e.Name, e.To)
	}
	return fmt.Sprintf("the name %s leads to %s, where a machine's own credentials are handed out", e.Name, e.To)
}

// Hint says what the user can do.
func (e *ReboundError) Hint() string {
	return "who answers for the name may want your credentials; an endpoint on this machine is named by its address"
}
