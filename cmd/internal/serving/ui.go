package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/service"
	webpage "github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// UI is the command ui.
func UI(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "ui", Usage: "show the state store as web pages on this machine", ArgsUsage: "[DIRECTORY]",
		Description: `Serves pages on the loopback until Ctrl-C: stacks and stages, resources as a list and a graph, one resource with its
history, runs while they happen, the differences of two runs, and saved and submitted plans. They need no script to be read. The
address that it prints lets one browser in, once.

DIRECTORY is that of the project, whose state store is shown. What is sealed is opened with the keys of this machine;
secrets stay masked. The pages deploy nothing; with --allow-write they can ask a run to stop, as cancel does.`,
		UsageText: `ui                              the state store of this project
ui --store postgres://db/state
ui --plan plan.json             also show a plan that plan --out has saved
ui --source-url 'https://github.com/acme/shop/blob/main/{file}#L{line}'`,
		Flags: project.StageFlags(
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "listen on `ADDR` of the loopback; port 0 takes a free one"},
			&cli.StringSliceFlag{Name: "plan", Usage: "show the plan that `FILE` holds (may be repeated)"},
			&cli.BoolFlag{Category: cli.Safety, Name: "allow-write", Usage: "let the pages ask a run to stop; otherwise they only show"},
			&cli.StringFlag{Name: "source-url", Usage: "link to lines of the program by `URL`, with {file} and {line}"}),
		Action: func(c *cli.Context) error { return ui(o, c) },
	}
}

func ui(o *session.Opener, c *cli.Context) error {
	p, err := o.OpenStore(c)
	if err != nil {
		return err
	}
	for _, file := range c.StringSlice("plan") {
		if _, err := planIn(file); err != nil {
			return err
		}
	}
	listener, err := listen(c)
	if err != nil {
		return err
	}
	if !onLoopback(listener.Addr()) {
		_ = listener.Close() // nobody has connected yet
		return cli.Hint(fmt.Errorf("--listen %s: the pages are for this machine alone", c.String("listen")), "athanor serve shows them to a team")
	}
	door := webpage.NewDoor(listener.Addr(), project.UserName())
	local := &localPages{opener: o, project: p, dir: files.Folder(c.Args().First()), engines: map[statestore.Stage]*engine.Engine{}}
	cancel := local.cancel
	if !c.Bool("allow-write") {
		cancel = nil
	}
	pages := webpage.New(context.WithoutCancel(c.Context), webpage.Settings{
		Store: p.Store, StoreName: project.Redacted(p.Name), Version: o.Release.Text(), Admit: door.Admit, Open: local.open, HoldsData: session.HoldsData(o.Catalog),
		Declared: local.declared(c), SourceURL: c.String("source-url"), Plans: local.plans(c.StringSlice("plan")), Cancel: cancel, Drift: local.drift,
		Log: func(method, path string, err error) { o.Warn("%s %s: %v", method, path, err) }, Plainly: render.Plainly,
	})
	o.Interrupts.Lasting()
	if o.AsJSON {
		o.JSON(map[string]any{"type": "serving", "url": door.URL()})
	} else {
		fmt.Fprintln(o.Out, "open "+door.URL())
	}
	go pages.Warm(c.Context)
	return serveLocally(c.Context, listener, door.Guard(pages), pages.Stop)
}

// serveLocally serves until the context ends.
func serveLocally(ctx context.Context, listener net.Listener, handler http.Handler, stop func()) error {
	server := service.HTTPServer(handler)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop()
	err := server.Shutdown(context.WithoutCancel(ctx))
	if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
		return errors.Join(err, serving)
	}
	return err
}

// localPages opens for pages what this machine has the keys of.
type localPages struct {
	opener  *session.Opener
	project *project.Project
	dir     string

	mu      sync.Mutex // one engine is made at a time
	engines map[statestore.Stage]*engine.Engine

	proving sync.Mutex           // one snapshot is proven at a time
	proven  *statestore.Snapshot // that was proven last; nil for none
}

// engine returns the engine of a stage that has state. Nothing is made where a key is missing: it is an error.
func (l *localPages) engine(ctx context.Context, stage statestore.Stage) (*engine.Engine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.engines[stage]; e != nil {
		return e, nil
	}
	e, err := l.project.Engine(ctx, stage, l.dir, l.opener.Catalog, false)
	if err == nil {
		l.engines[stage] = e
	}
	return e, err
}

// prove returns the state of a stage as its key proves it. It is read and proven again when a snapshot has another revision.
func (l *localPages) prove(ctx context.Context, e *engine.Engine, snap *statestore.Snapshot) (*statestore.Snapshot, error) {
	l.proving.Lock()
	defer l.proving.Unlock()
	if p := l.proven; p != nil && p.Stage == snap.Stage && p.Revision == snap.Revision && p.Serial == snap.Serial && p.Revision > 0 {
		return p, nil
	}
	proven, err := e.Store.Load(ctx, snap.Stage)
	if err == nil {
		l.proven = proven
	}
	return proven, err
}

// open opens a state entry. That it cannot be opened is shown in its place.
func (l *localPages) open(ctx context.Context, snap *statestore.Snapshot, address string) (*webpage.Entry, error) {
	entry := &webpage.Entry{Mask: reconcile.Mask}
	e, err := l.engine(ctx, snap.Stage)
	if err != nil {
		entry.Problem = err.Error()
		return entry, nil
	}
	var view *engine.RowView
	proven, err := l.prove(ctx, e, snap)
	if err == nil {
		view, err = engine.ReadRow(ctx, &engine.Engine{Catalog: e.Catalog, Key: e.Key, Store: project.OneVersion(e.Store, proven)}, snap.Stage, address)
	}
	switch {
	case err != nil:
		entry.Problem = e.Redacted(err)
	case view != nil:
		entry.Props, entry.Problem = view.Props, view.Problem
		for _, g := range view.Generations {
			if g.State == statestore.Live || entry.Attributes == nil {
				entry.Attributes = g.Attrs
			}
		}
	}
	return entry, nil
}

// warm finds the key of a stage and proves its state before a page asks for an entry. That page says what is wrong.
func (l *localPages) warm(ctx context.Context, stage statestore.Stage) {
	snap, err := l.project.Store.Load(ctx, stage)
	if err != nil {
		return
	}
	if e, err := l.engine(ctx, stage); err == nil {
		_, _ = l.prove(ctx, e, snap)
	}
}

// declared reads where the stack of the directory declares its resources, once for each stage. A stack that is a program in Go
// is not built for that.
func (l *localPages) declared(c *cli.Context) func(context.Context, statestore.Stage) map[string]string {
	var mu sync.Mutex
	known := map[statestore.Stage]map[string]string{}
	return func(ctx context.Context, stage statestore.Stage) map[string]string {
		mu.Lock()
		defer mu.Unlock()
		places, read := known[stage]
		if !read {
			l.warm(ctx, stage)
			places = l.places(ctx, c, stage)
			known[stage] = places
		}
		return places
	}
}

// places evaluates the stack. Nothing is known of one that cannot be evaluated here.
func (l *localPages) places(ctx context.Context, c *cli.Context, stage statestore.Stage) map[string]string {
	src, err := l.opener.Source(ctx, c.Args().First())
	if err != nil || src.GoMain || l.opener.ReadSource(c, src) != nil {
		return nil
	}
	s := &session.Session{Opener: l.opener, Stage: stage, Config: map[string]string{}}
	if s.Config, err = cli.ConfigValues(c); err != nil {
		return nil
	}
	g, err := s.Evaluate(ctx, src)
	if err != nil || g.Stack != stage.Stack {
		return nil
	}
	places := make(map[string]string, len(g.Resources))
	for i := range g.Resources {
		if place := g.Resources[i].Source; place != "" {
			places[g.Resources[i].Address] = l.opener.Place(place)
		}
	}
	return places
}

// planIn reads the plan that a file given as --plan holds.
func planIn(file string) (*savedplan.File, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--plan %s: %w", file, files.WithoutPath(err))
	}
	saved, err := savedplan.Parse(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--plan %s: %w", file, err)
	case saved == nil:
		return nil, fmt.Errorf("--plan %s: it holds no saved plan", file)
	}
	return saved, nil
}

// plans shows the saved plans of a stage that files hold now.
func (l *localPages) plans(files []string) func(*http.Request, *webpage.Visitor, statestore.Stage) ([]webpage.Plan, error) {
	return func(r *http.Request, _ *webpage.Visitor, stage statestore.Stage) ([]webpage.Plan, error) {
		plans, err := l.submitted(r.Context(), stage)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			saved, err := planIn(file)
			if err != nil {
				return nil, err
			}
			if saved.Plan().Stack != stage.Stack || saved.Plan().Stage != stage.Name {
				continue
			}
			plan := webpage.Plan{
				ID: filepath.Base(file), Document: saved.Document, State: "saved", Submitted: saved.Plan().Made, Deploy: "athanor deploy " + file,
			}
			if e, err := l.engine(r.Context(), stage); err == nil {
				if err := saved.Authentic(e.Key, stage); err != nil {
					plan.Why = err.Error()
				}
			}
			plans = append(plans, plan)
		}
		return plans, nil
	}
}

// submitted shows the plans that were submitted to the service which keeps the stage, opened where this machine has the key.
// They are decided by approve, which plans anew, or on the page of the service.
func (l *localPages) submitted(ctx context.Context, stage statestore.Stage) ([]webpage.Plan, error) {
	store, ok := l.project.Store.(*remote.Store)
	if !ok {
		return nil, nil
	}
	plans, err := store.Plans(ctx, stage)
	var shown []webpage.Plan
	for i := range plans {
		plan := webpage.Submitted(&plans[i])
		if e, err := l.engine(ctx, stage); err == nil {
			review, err := savedplan.OpenSubmitted(e.Key, stage, plans[i])
			if err == nil {
				err = savedplan.AsClaimed(review.Plan(), plans[i])
			}
			if plan.Why = ""; err != nil {
				plan.Why = err.Error()
			} else {
				plan.Document = review.Document
			}
		}
		shown = append(shown, plan)
	}
	return shown, err
}

// drift reads the newest report of drift of a stage from the service that keeps it.
func (l *localPages) drift(r *http.Request, _ *webpage.Visitor, stage statestore.Stage) (*wire.Drift, error) {
	if store, ok := l.project.Store.(*remote.Store); ok {
		return store.Drift(r.Context(), stage)
	}
	return nil, nil //nolint:nilnil // nobody keeps reports
}

// cancel asks a run to stop.
func (l *localPages) cancel(r *http.Request, _ *webpage.Visitor, stage statestore.Stage, run string) error {
	_, err := l.project.Store.Interrupt(r.Context(), stage, statestore.Order{Run: run, Who: l.project.WhoFrom(), Why: "cancelled on the page"})
	return err
}
