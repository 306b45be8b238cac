package serving

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestNotListening: an address at which nobody can listen is an error that says why in plain words, and what to give instead.
func TestNotListening(t *testing.T) {
	listening := func(address string) error {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	denied := &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES} // the user who runs this test may be permitted
	for address, c := range map[string]struct {
		err        error
		text, hint string
	}{
		"127.0.0.1:0":         {listening("127.0.0.1:0"), "", ""},
		taken.Addr().String(): {listening(taken.Addr().String()), "another program listens there", "port 0 takes a free one"},
		"127.0.0.1:80":        {denied, "permission denied", "a port above 1023"},
		"nonsense":            {listening("nonsense"), "missing port in address", "--listen HOST:PORT"},
		"192.0.2.1:0":         {listening("192.0.2.1:0"), "cannot assign requested address", "an address of this machine"},
	} {
		err := notListening(address, c.err)
		if c.text == "" {
			if err != nil {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "--listen "+address+": ") || !strings.HasSuffix(err.Error(), c.text) {
			t.Errorf("%s: %v", address, err)
		}
		if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], c.hint) {
			t.Errorf("%s: the hints are %q", address, hints)
		}
	}
}
