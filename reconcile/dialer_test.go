package reconcile

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestDialerHoldsNames: a name goes on leading to where it led first, and never to where credentials are handed out.
func TestDialerHoldsNames(t *testing.T) {
	for name, c := range map[string]struct {
		host    string
		to      []string
		refused bool // the last one, and no other
	}{
		"public":                      {"api.example", []string{"203.0.113.7", "203.0.113.8", "2001:db8::1", "10.0.0.1"}, false},
		"loopback":                    {"api.example", []string{"127.0.0.1", "::1", "127.9.9.9", "0.0.0.0"}, false},
		"loopback later":              {"api.example", []string{"203.0.113.7", "127.0.0.1"}, true},
		"loopback later, as IPv6":     {"api.example", []string{"203.0.113.7", "::1"}, true},
		"loopback later, mapped":      {"api.example", []string{"203.0.113.7", "::ffff:127.0.0.1"}, true},
		"this host later":             {"api.example", []string{"203.0.113.7", "::"}, true},
		"elsewhere later":             {"api.example", []string{"127.0.0.1", "203.0.113.7"}, true},
		"link-local":                  {"api.example", []string{"169.254.169.254"}, true},
		"link-local later":            {"api.example", []string{"203.0.113.7", "169.254.170.2"}, true},
		"link-local, mapped":          {"api.example", []string{"::ffff:169.254.169.254"}, true},
		"link-local, with a zone":     {"api.example", []string{"fe80::1%eth0"}, true},
		"metadata over IPv6":          {"api.example", []string{"fd00:ec2::254"}, true},
		"an address":                  {"169.254.169.254", []string{"169.254.169.254"}, false},
		"an address of IPv6":          {"fd00:ec2::254", []string{"fd00:ec2::254"}, false},
		"localhost":                   {"localhost", []string{"::1", "127.0.0.1"}, false},
		"an address in another spell": {"0x7f.1", []string{"203.0.113.7", "127.0.0.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDialer()
			for i, to := range c.to {
				err := d.judge(c.host, netip.MustParseAddr(to))
				_, rebound := errors.AsType[*ReboundError](err)
				if want := c.refused && i == len(c.to)-1; rebound != want {
					t.Errorf("%s: %v", to, err)
				}
				if class, _ := ClassGiven(err); rebound && class != Denied {
					t.Errorf("%s: the class is %v", to, class)
				}
			}
		})
	}
}

// TestDialerJudgesLookUps: of the addresses of a name those are left that it may lead to.
func TestDialerJudgesLookUps(t *testing.T) {
	d := NewDialer()
	for _, c := range []struct {
		host        string
		found, want []string
	}{
		{"db.example", []string{"203.0.113.7", "169.254.169.254", "127.0.0.1", "2001:db8::1"}, []string{"203.0.113.7", "2001:db8::1"}},
		{"db.example", []string{"127.0.0.1", "fe80::1%eth0"}, nil},
		{"local.example", []string{"127.0.0.1", "::1", "203.0.113.7"}, []string{"127.0.0.1", "::1"}},
		{"odd.example", []string{"not an address"}, nil},
		{"169.254.169.254", []string{"169.254.169.254"}, []string{"169.254.169.254"}},
	} {
		have, err := d.judged(c.host, c.found)
		if !slices.Equal(have, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s, %v: %v, %v", c.host, c.found, have, err)
		}
	}
	if have, err := d.LookupHost(t.Context(), "127.0.0.1"); err != nil || !slices.Equal(have, []string{"127.0.0.1"}) {
		t.Errorf("an address: %v, %v", have, err)
	}
}

// TestProxyRefuses: what a proxy answers is told with the name of the proxy, without its password, and is tried again only where that may help.
func TestProxyRefuses(t *testing.T) {
	for status, want := range map[int]Class{http.StatusForbidden: Denied, http.StatusProxyAuthRequired: Invalid, http.StatusBadGateway: Transient} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		at, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		at.User = url.UserPassword("ada", "hunter2")
		transport := &http.Transport{Proxy: http.ProxyURL(at)}
		Route(transport)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://service.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
		}
		refused, ok := errors.AsType[*ProxyError](err)
		if class, _ := ClassGiven(err); !ok || refused.Proxy != at.Host || class != want || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: %v, %q", status, err, class)
		}
		proxy.Close()
	}
}
