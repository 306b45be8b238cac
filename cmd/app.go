package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/athanor-dev/athanor/cmd/internal/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// app is one call of the command.
type app struct {
	catalog *reconcile.Catalog
	// program is the stack program that this binary is; nil for the ready-made binary.
	program *program
	in      io.Reader
	out     io.Writer
	err     io.Writer
	version string

	// unknown is a command that there is none of.
	unknown string

	mu sync.Mutex // one JSON line at a time
}

// exitError ends the command with a code. Its text was shown already when quiet.
type exitError struct {
	code  int
	err   error
	quiet bool
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

func exit(code int) error { return &exitError{code: code, quiet: true} }

// run runs the command and gives its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	app := a.cli()
	err := app.RunContext(ctx, reorder(args, app.Commands))
	if err == nil {
		return ExitDone
	}
	code := ExitError
	var coded *exitError
	if errors.As(err, &coded) {
		code = coded.code
		if coded.quiet {
			return code
		}
	}
	return a.report(err, code, hasJSON(args))
}

// report shows an error, as a person or a program wants it.
func (a *app) report(err error, code int, asJSON bool) int {
	if errors.Is(err, context.Canceled) {
		code = ExitInterrupted
	}
	var held *statestore.HeldError
	if errors.As(err, &held) {
		code = ExitLocked
		err = reconcile.WithHint(err, "--wait 5m queues for it; `athanor cancel` asks it to stop")
	}
	if errors.Is(err, engine.ErrNotApproved) {
		code = ExitNotApproved
	}
	if asJSON {
		line := map[string]any{"type": "error", "error": err.Error(), "hints": reconcile.Hints(err), "exit": code}
		if held != nil {
			line["holder"] = held.Holder
		}
		a.json(line)
		return code
	}
	a.style(nil).Error(a.err, err.Error(), reconcile.Hints(err))
	return code
}

func hasJSON(args []string) bool {
	for _, s := range args {
		switch s {
		case "--json", "-json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

func (a *app) json(v any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(a.err, "error:", err)
	}
}

// style is how to draw on the error stream, where progress goes.
func (a *app) style(c *cli.Context) render.Style {
	return render.Style{Color: a.colored(c, a.err), Detailed: flag(c, "detailed")}
}

// colored reports whether a stream wants colours: a terminal, unless told otherwise.
func (a *app) colored(c *cli.Context, w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || flag(c, "no-color") {
		return false
	}
	_, ok := terminal(w)
	return ok
}

func flag(c *cli.Context, name string) bool { return c != nil && c.Bool(name) }

// terminal gives the width of a stream that is a terminal.
func terminal(w any) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// interrupts turns the first Ctrl-C into "start nothing new" and the second into "cancel what runs".
func interrupts(ctx context.Context, first func()) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-signals:
			first()
			close(stop)
		case <-done:
			return
		}
		select {
		case <-signals:
			cancel()
		case <-done:
		}
	}()
	return ctx, stop, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
