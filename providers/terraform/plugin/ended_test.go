package plugin

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLastWords: a connection that is lost tells of the end of a process before its output does. What it printed last is in the error.
func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Process{ended: make(chan struct{}), printed: &printed{}}
		go func() {
			time.Sleep(time.Second)
			_, _ = p.printed.Write([]byte("panic: nil pointer\n"))
			close(p.ended)
		}()
		err := p.explain(t.Context(), "ApplyResourceChange", io.ErrUnexpectedEOF)
		if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "it printed: panic: nil pointer") {
			t.Errorf("%v", err)
		}
	})
}

// TestNoLastWords: one that lives on without its connection is not waited for without end.
func TestNoLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Process{ended: make(chan struct{}), printed: &printed{}}
		began := time.Now()
		if err := p.explain(t.Context(), "ApplyResourceChange", io.ErrUnexpectedEOF); !errors.Is(err, ErrCrashed) || time.Since(began) != endTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
