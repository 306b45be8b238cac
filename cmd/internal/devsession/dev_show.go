package devsession

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// devProblemLine is an error that ends nothing.
type devProblemLine struct {
	Time  time.Time `json:"time"`
	Stack string    `json:"stack,omitempty"`
	Stage string    `json:"stage"`
	render.ErrorLine
}

const (
	// longBuild is how long a build must take to be mentioned.
	longBuild = time.Second
	// shownPaths is how many of the saved files are named.
	shownPaths = 3
)

// Line implements [devloop.View]: a line of JSON, or for people what they want to know of it.
func (d *dev) Line(l devloop.Line) {
	l.Paths = slices.Clone(l.Paths)
	for i, path := range l.Paths {
		l.Paths[i] = d.opener.Place(path)
	}
	if d.opener.AsJSON {
		l.Time, l.Stack, l.Stage = time.Now().UTC(), d.s.Stage.Stack, d.s.Stage.Name
		d.opener.JSON(l)
		return
	}
	switch l.Type {
	case devloop.LineWatching:
		d.screen.watched = l.Count
	case devloop.LineOpened:
		d.say(fmt.Sprintf("%s: watching %d files and folders; Ctrl-C ends it", d.s.Stage, d.screen.watched))
		d.standing("starting")
	case devloop.LineChanged:
		shown, more := l.Paths, ""
		if n := len(shown) - shownPaths; n > 0 {
			shown, more = shown[:shownPaths], fmt.Sprintf(" and %d more", n)
		}
		d.say("changed " + strings.Join(shown, ", ") + more)
		d.screen.broke(false)
		d.standing("planning")
	case devloop.LinePlanned:
		if l.Drift {
			d.say("changed outside athanor:")
		}
	case devloop.LineBuilt:
		if took := time.Duration(l.Elapsed * float64(time.Second)); took > longBuild {
			d.say("built in " + render.Elapsed(took))
		}
	}
}

// Problem implements [devloop.View].
func (d *dev) Problem(err error, runs bool) {
	if d.opener.AsJSON {
		line := d.opener.Errors().Line(devloop.LineProblem, err, terminal.CodeOf(err))
		d.opener.JSON(devProblemLine{time.Now().UTC(), d.s.Stage.Stack, d.s.Stage.Name, line})
		return
	}
	d.screen.apart(func() {
		d.opener.ReportAs(err, terminal.CodeOf(err))
		if runs {
			fmt.Fprintln(d.opener.Err, "what runs keeps running")
		}
	})
	d.screen.broke(true)
	d.standing("failed")
}

// standing says in the status line how the session is.
func (d *dev) standing(state string) {
	if d.status == nil {
		return
	}
	d.screen.mu.Lock()
	changed := d.screen.changed
	d.screen.mu.Unlock()
	d.status.Set(render.DevStatus(state, changed))
}

// hideStatus makes room for a run at the bottom, and with false ends that.
func (d *dev) hideStatus(hidden bool) {
	if d.status != nil {
		d.status.Hide(hidden)
	}
}

// stopping tells what a first signal does.
func (d *dev) stopping() {
	if d.screen.run() != nil {
		d.say(terminal.StoppingText)
	}
}

// say shows a line that lasts.
func (d *dev) say(text string) { d.screen.say(d, text) }

// event takes an event of a run.
func (d *dev) event(e engine.Event) {
	d.traces.event(d.c.Context, e)
	if d.opener.WroteJSON(e) {
		return
	}
	if p := d.screen.run(); p != nil {
		p.Event(e)
	}
}

// Report implements [devloop.View]: how a run ended, in a line or two.
func (d *dev) Report(kind string, res *engine.Result, p *engine.Plan) {
	a, outputs := d.opener, render.Outputs(res)
	if a.AsJSON {
		line := d.s.Summary(res, p, outputs)
		line.Type = kind
		a.JSON(line)
		return
	}
	if kind == devloop.LineLooked && res.Run == "" {
		return // nobody wants to know what is as it was
	}
	d.hideStatus(true)
	defer d.hideStatus(false)
	d.standing(d.screen.reported(kind, res))
	d.screen.apart(func() {
		style := a.Style(a.Err)
		for _, warning := range p.Warnings {
			if !d.screen.warned[warning] {
				d.screen.warn(warning)
				fmt.Fprintln(a.Err, "note: "+style.Clean(warning))
			}
		}
		style.Result(a.Err, res, render.Ending{Ended: d.screen.ended(), Errors: a.Errors()})
		if fmt.Sprint(outputs) != d.screen.outputs {
			d.screen.outputs = fmt.Sprint(outputs)
			a.Style(a.Out).Outputs(a.Out, outputs)
		}
	})
}

// devScreen is what people see of a session: lines that last and, on a terminal, what is at work below them.
type devScreen struct {
	mu       sync.Mutex
	progress *render.Progress
	last     render.Ended // of the run that was shown last
	watched  int          // files and folders
	changed  string       // when the session last changed something, a time of day; "" before
	broken   bool         // the newest program does not build or plan
	// outputs and warned are what was shown already.
	outputs string
	warned  map[string]bool
}

// broke takes in whether the newest program builds and plans.
func (s *devScreen) broke(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// reported takes in how a run ended, and says how the session is then.
func (s *devScreen) reported(kind string, res *engine.Result) (state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if res.Run != "" {
		s.changed = time.Now().Local().Format(time.TimeOnly)
	}
	s.broken = s.broken && kind == devloop.LineLooked // what is observed meanwhile mends no program
	if sum := res.Summary; s.broken || sum.Failed+sum.Blocked+sum.Interrupted > 0 {
		return "failed"
	}
	return "in sync"
}

// oneScreen is how many lines of what was done a run may leave; failures come on top.
const oneScreen = 20

// Begin implements [devloop.View].
func (d *dev) Begin(p *engine.Plan) {
	if d.opener.AsJSON {
		return
	}
	s := &d.screen
	d.hideStatus(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = render.NewProgress(d.opener.Screen(d.opener.Err), p)
	s.progress.Bound(oneScreen)
	d.lines.Above(s.progress)
}

// End implements [devloop.View].
func (d *dev) End() {
	if d.screen.end(d) {
		d.standing("failed")
	} else {
		d.standing("in sync")
	}
	d.hideStatus(false)
}

// end ends what is shown of a run, and reports whether the newest program does not build or plan.
func (s *devScreen) end(d *dev) (broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		d.lines.Above(nil)
		s.progress.Close()
		s.last, s.progress = s.progress.Ended(), nil
	}
	return s.broken
}

// ended is what went wrong in the run that is shown or was shown last.
func (s *devScreen) ended() render.Ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		return s.progress.Ended()
	}
	return s.last
}

// run is what is shown of the run that is at work; nil for none.
func (s *devScreen) run() *render.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

// say shows a line above what is at work.
func (s *devScreen) say(d *dev, text string) {
	if p := s.run(); p != nil {
		p.Say(text)
		return
	}
	d.opener.Style(d.opener.Err).Line(d.opener.Err, text)
}

// apart shows several lines, with nothing drawn in between.
func (s *devScreen) apart(show func()) {
	if p := s.run(); p != nil {
		p.Apart(show)
		return
	}
	show()
}

func (s *devScreen) warn(text string) {
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	s.warned[text] = true
}
