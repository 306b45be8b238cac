//go:build unix

package main

import (
	"testing"

	"github.com/creack/pty"
)

// Nobody reads any more what a session tells: it ends, and so does what it runs. So a session ends with the test, the
// editor or the shell that began it, however that ends.
func TestDevEndsWithItsReader(t *testing.T) {
	t.Parallel()
	w, gone := newPaired(t)
	s := w.dev()
	s.deployed(map[string]float64{"created": 3})
	if err := s.out.Close(); err != nil {
		t.Fatal(err)
	}
	s.over(0)
	gone()
}

// The terminal goes away in the middle of a deploy. A session that it is the terminal of is sent a signal; one that merely
// prints there is not. What runs is finished, although the end may be noticed in two ways.
func TestDevEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		t.Run(map[bool]string{true: "its own", false: "another's"}[own], func(t *testing.T) {
			w := newGated(t)
			cmd := w.command("dev", "--look=0")
			cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, own
			near, far, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = far, far, far
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := far.Close(); err != nil {
				t.Fatal(err)
			}
			w.await("started")
			if err := near.Close(); err != nil {
				t.Fatal(err)
			}
			w.open()
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() < 0 || !w.has("done") {
				t.Errorf("it ended as %v; what ran is finished: %t", err, w.has("done"))
			}
		})
	}
}
