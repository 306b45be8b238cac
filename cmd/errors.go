package cmd

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// errInterrupted ends a command that was interrupted before it changed anything.
var errInterrupted = errors.New("interrupted; nothing was changed")

// codeOf is the exit code that an error calls for.
func codeOf(err error) int {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted), errors.Is(err, reconcile.ErrInterrupted):
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

// report shows an error, as a person or a program wants it, and gives its exit code.
func (a *app) report(err error) int { return a.reportAs(err, codeOf(err)) }

func (a *app) reportAs(err error, code int) int {
	if a.asJSON {
		line := a.errors().Line("error", err, code)
		if code == cli.ExitInterrupted && a.interrupts != nil {
			line.InterruptedBy = a.interrupts.by()
		}
		a.json(line)
	} else {
		a.errors().Print(a.err, a.style(a.err), err)
	}
	return code
}

// errors shows errors as the command at hand shows them: without secrets, places as seen from the working directory.
func (a *app) errors() render.Errors {
	return render.Errors{Mask: a.masked, Place: a.place, Source: a.sourceLine}
}

// masked is the text of an error without the secrets that this run has met.
func (a *app) masked(err error) string {
	if a.redacted == nil {
		return err.Error()
	}
	return a.redacted(err)
}
