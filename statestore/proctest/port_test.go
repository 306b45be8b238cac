package proctest_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
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

// TestPortWhileProcessesStart: a process that is started meanwhile has what this one has open until it executes its program. The port
// is free all the same.
func TestPortWhileProcessesStart(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	stop := make(chan struct{})
	defer done.Wait()
	defer close(stop)
	for range 2 {
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := exec.CommandContext(t.Context(), program, "-test.run=^$").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 500 {
		port, err := proctest.Port()
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
	}
}
