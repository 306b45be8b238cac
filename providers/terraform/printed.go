package terraform

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
)

// LogVariable names a file to which each line is appended that a provider prints, with its own log at the level of $TF_LOG, DEBUG without one. Secrets of
// the stage are masked in it; what else a provider logs, its author knows alone. Without it providers do not log, which makes their calls faster.
const LogVariable = "ATHANOR_PROVIDER_LOG"

// printed is the file for what providers print, opened when one prints something. Its lock is its own: a provider prints while it is closed.
type printed struct {
	path string // "": what they print is kept for errors alone

	mu     sync.Mutex
	file   io.WriteCloser
	redact func(string) string // nil: no secret is known
	err    error               // why it cannot be written
}

// environment is what makes a provider log, nil where it is not to.
func (l *printed) environment() []string {
	if l.path == "" {
		return nil
	}
	return []string{"TF_LOG=" + cmp.Or(os.Getenv("TF_LOG"), "DEBUG")}
}

// by takes the lines of one provider, nil where nobody wants them.
func (l *printed) by(label string) func(string) {
	if l.path == "" {
		return nil
	}
	return func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.file == nil && l.err == nil {
			l.file, l.err = os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		}
		if l.err != nil {
			return
		}
		if l.redact != nil {
			line = l.redact(line)
		}
		_, l.err = fmt.Fprintf(l.file, "%s: %s\n", label, line)
	}
}

func (l *printed) redacting(redact func(string) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redact = redact
}

// warnings say why there is no log.
func (l *printed) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return []string{LogVariable + ": " + l.err.Error()}
}

func (l *printed) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // each line was written when it came
		l.file = nil
	}
}
