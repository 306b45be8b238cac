package terminal

import (
	"fmt"
	"io"
	"sync"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
)

// output is standard output. It keeps the first error of a write, which no caller has to look at: at the end the command says it.
type output struct {
	under io.Writer
	lost  *loss
}

// loss is why a part of standard output was not written, nil while all was.
type loss struct {
	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.under.Write(p)
	if err == nil {
		return n, nil
	}
	o.lost.mu.Lock()
	defer o.lost.mu.Unlock()
	if o.lost.err == nil {
		o.lost.err = fmt.Errorf("standard output: %w", files.WithoutPath(err))
	}
	return n, o.lost.err
}

// unwritten is why a part of a stream was not written, nil when all was.
func unwritten(out io.Writer) error {
	o, ok := out.(*output)
	if !ok {
		return nil
	}
	o.lost.mu.Lock()
	defer o.lost.mu.Unlock()
	return o.lost.err
}

// endOutput returns the exit code of a command that ends with one. What a command was to print is what it was asked for: where it could not
// be written, the command has failed. A command that has changed something keeps the code of what it did, and warns.
func endOutput(t *Terminal, code int) int {
	err := unwritten(t.Out)
	switch {
	case err == nil:
	case t.Interrupts != nil && t.Interrupts.changes():
		t.Warn("%v; the exit code says what was done", err)
	default:
		t.Errors().Print(t.Err, t.Style(t.Err), err)
		if code == cli.ExitDone || code == cli.ExitPending {
			code = cli.ExitError
		}
	}
	return code
}
