package terminal

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// ErrInterrupted ends a command that was interrupted before it changed anything.
var ErrInterrupted = errors.New("interrupted; nothing was changed")

// CodeOf is the exit code that an error calls for.
func CodeOf(err error) int {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, ErrInterrupted), errors.Is(err, reconcile.ErrInterrupted):
		return cli.ExitInterrupted
	case errors.Is(err, statestore.ErrHeld), errors.Is(err, devloop.ErrRuns):
		return cli.ExitLocked
	case errors.Is(err, engine.ErrNotApproved):
		return cli.ExitNotApproved
	}
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == wire.CodeNotApproved {
		return cli.ExitNotApproved
	}
	return cli.ExitError
}

// Report shows an error, as a person or a program wants it, and gives its exit code.
func (t *Terminal) Report(err error) int { return t.ReportAs(err, CodeOf(err)) }

// ReportAs shows an error, and gives the exit code that it is given.
func (t *Terminal) ReportAs(err error, code int) int {
	if t.AsJSON {
		line := t.Errors().Line("error", err, code)
		if code == cli.ExitInterrupted && t.Interrupts != nil {
			line.InterruptedBy = t.Interrupts.By()
		}
		t.JSON(line)
	}
	if !t.AsJSON || unwritten(t.Out) != nil {
		t.Errors().Print(t.Err, t.Style(t.Err), err)
	}
	return code
}

// Errors shows errors as the command at hand shows them: without secrets, places as seen from the working directory.
func (t *Terminal) Errors() render.Errors {
	return render.Errors{Mask: t.Masked, Place: t.Place, Source: t.Excerpt}
}

// Masked is the text of an error without the secrets that this run has met.
func (t *Terminal) Masked(err error) string {
	if t.Redacted == nil {
		return err.Error()
	}
	return t.Redacted(err)
}

// Place is a place in the program as seen from the working directory.
func (t *Terminal) Place(source string) string {
	if source == "" || t.Dir == "" {
		return source
	}
	path := source
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.Dir, path)
	}
	if rel, err := filepath.Rel(files.Absolute("."), path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Refused ends with what a plan refuses. With --json it is in the document already.
func (t *Terminal) Refused(err error) error {
	if len(render.Problems(err)) == 0 {
		return err
	}
	if !t.AsJSON {
		t.Errors().Print(t.Err, t.Style(t.Err), err)
	}
	return cli.Exit(cli.ExitError)
}

// ExitCode ends the command: what was not shown yet is.
func (t *Terminal) ExitCode(err error) int {
	if lost := unwritten(t.Out); lost != nil && errors.Is(err, lost) {
		err = nil // endOutput says it
	}
	if err == nil {
		return endOutput(t, cli.ExitDone)
	}
	if coded, ok := errors.AsType[cli.ExitCode](err); ok {
		return endOutput(t, int(coded))
	}
	return endOutput(t, t.Report(err))
}
