package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
)

// TestWarn: a warning is one line in plain words, with nothing that a terminal obeys.
func TestWarn(t *testing.T) {
	var out bytes.Buffer
	a := &Terminal{Err: &out}
	a.Warn("%s %s: %v", "GET", "/s/shop", fmt.Errorf("store: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5432}, Err: errors.New("connect: connection refused\n\x1b[2J")}))
	if want := "warning: GET /s/shop: store: cannot connect to 10.0.0.1:5432: connection refused \uFFFD[2J\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
