package cmd

import (
	"context"
	"os"
	"runtime"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/devsession"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/release"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
)

// Option changes what Main makes of a program.
type Option func(*program)

// program is a stack program that became a command.
type program struct {
	stackprogram.Program
	kinds []reconcile.Provider
	// again: it takes the place of an older one in a dev session.
	again bool
}

// Stack names the stack. The default is the name of the program's directory.
func Stack(name string) Option { return func(p *program) { p.Name = name } }

// Kinds adds the author's own kinds. Every built-in kind is linked anyway, so that what the program no longer
// mentions can still be deleted.
func Kinds(more ...reconcile.Provider) Option {
	return func(p *program) { p.kinds = append(p.kinds, more...) }
}

// Main turns a stack program into the whole command and does not return.
func Main(stack athanor.Program, options ...Option) {
	_, file, _, _ := runtime.Caller(1)
	p := &program{Program: *stackprogram.New(stack, file)}
	for _, o := range options {
		o(p)
	}
	p.OwnKinds = len(p.kinds) > 0
	// What this program starts may be a stack program too, and is another one.
	p.again = os.Getenv(devsession.AgainVariable) != ""
	if err := os.Unsetenv(devsession.AgainVariable); err != nil {
		render.Style{}.Warning(os.Stderr, err.Error())
	}
	if question := stackprogram.Asked(); question != "" {
		os.Exit(p.Answer(question))
	}
	os.Exit(execute(p, Release{}))
}

// Release is what a release binary knows of itself.
type Release = release.Release

// Ready runs the ready-made binary and does not return.
func Ready(r Release) { os.Exit(execute(nil, r)) }

// newApp is the command of a stack program, nil for the ready-made binary.
func newApp(t *terminal.Terminal, p *program, r Release) *app {
	a := &app{Opener: &session.Opener{Release: r}}
	if p == nil {
		a.Loader = loader.New(t, nil)
	} else {
		a.Loader, a.again = loader.New(t, &p.Program), p.again
	}
	return a
}

func execute(p *program, r Release) int {
	a := newApp(&terminal.Terminal{In: os.Stdin, Out: terminal.Guarded(os.Stdout), Err: terminal.Guarded(os.Stderr)}, p, r)
	return a.execute(os.Args, func() []reconcile.Provider {
		if p == nil {
			return providers.All()
		}
		return append(providers.All(), p.kinds...)
	})
}

// execute runs a command line with the kinds of some providers. They are asked for when the first line is on the terminal.
func (a *app) execute(args []string, kinds func() []reconcile.Provider) int {
	defer a.Start(args)()
	all := kinds()
	for i := range all {
		all[i].Open = a.Guarded(all[i])
	}
	var err error
	if a.Catalog, err = reconcile.NewCatalog(all...); err != nil {
		return a.Report(err)
	}
	defer a.Catalog.Close()
	defer func() {
		for _, text := range a.Catalog.Warnings() {
			a.Warn("%s", text)
		}
	}()
	return a.run(context.Background(), args)
}
