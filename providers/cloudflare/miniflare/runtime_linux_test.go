package miniflare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// runtimes are the processes of workerd that a server has.
func runtimes(t *testing.T, s *Server) []int {
	t.Helper()
	var all []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "(workerd)") {
			continue // others come and go
		}
		var pid, parent, group int
		var name, state string
		if _, err := fmt.Sscan(string(text), &pid, &name, &state, &parent, &group); err != nil {
			t.Fatal(err)
		}
		if group == s.host.group.keeper.Process.Pid && state != "Z" {
			all = append(all, pid)
		}
	}
	return all
}

// TestRuntimeDies: when workerd dies by itself the server has ended, and says so.
func TestRuntimeDies(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	set(t, s, esm("shop", saying("here")))
	set(t, s, esm("shop", saying("again"))) // ending the first one is no death
	there := runtimes(t, s)
	if err := s.Err(); err != nil || len(there) != 1 {
		t.Fatalf("after a change: runtimes %v, %v", there, err)
	}
	if err := syscall.Kill(there[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "workerd has ended by itself") {
		t.Errorf("it ended with %v", err)
	}
}

// TestGivenUp: a change that is given up changes nothing, and leaves no second runtime behind.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := set(t, s, esm("shop", saying("one")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Set(ctx, esm("shop", saying("two"))); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if there := runtimes(t, s); len(there) != 1 {
		t.Errorf("runtimes: %v", there)
	}
	if said := get(t, url); said != "200 one" {
		t.Errorf("it says %s", said)
	}
	if said := get(t, set(t, s, esm("shop", saying("three")))); said != "200 three" {
		t.Errorf("then it says %s", said)
	}
}
