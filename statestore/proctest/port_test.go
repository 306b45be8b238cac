package proctest_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestPort: a port at which somebody listens is not given, and none that the system could give to others.
func TestPort(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for range 15 {
		port, err := proctest.Port()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 10000 || n >= 20000 || taken[port] {
			t.Errorf("port %s (%v), after %v", port, err, taken)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		taken[port] = true
	}
}
