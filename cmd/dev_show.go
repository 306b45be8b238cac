package cmd

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// The types of the lines that a session writes with --json, beside the events of its runs. They are documented in
// docs/dev.md.
const (
	devWatching  = "watching"  // what is watched: once at the start, and again when it is more or less
	devOpened    = "opened"    // the stage is this session's
	devChanged   = "changed"   // these files were saved
	devBuilt     = "built"     // the program was evaluated anew
	devPlanned   = "planned"   // what is to be done is known
	devDeployed  = "deployed"  // a plan was applied, or nothing was to be done: a summary
	devLooked    = "looked"    // the same for a look at a few unchanged resources
	devProblem   = "problem"   // what does not build or plan, or holds the stage: an error that ends nothing
	devStopping  = "stopping"  // the session is to end: what is at work is finished, and nothing new begins
	devEnding    = "ending"    // the session ends
	devDestroyed = "destroyed" // what dev made is deleted: a summary
)

// devProblemLine is an error that ends nothing.
type devProblemLine struct {
	Time  time.Time `json:"time"`
	Stack string    `json:"stack,omitempty"`
	Stage string    `json:"stage"`
	render.ErrorLine
}

// devLine is one line of --json.
type devLine struct {
	Time  time.Time `json:"time"`
	Type  string    `json:"type"`
	Stack string    `json:"stack,omitempty"`
	Stage string    `json:"stage"`
	// Paths were saved, as seen from the working directory.
	Paths []string `json:"paths,omitempty"`
	// Count is how many files and folders the stack is made of; Folders how many are watched for it.
	Count   int `json:"count,omitempty"`
	Folders int `json:"folders,omitempty"`
	// Elapsed is in seconds, and of it Compiled is what the compiler took.
	Elapsed  float64         `json:"elapsed,omitempty"`
	Compiled float64         `json:"compiled,omitempty"`
	Summary  *engine.Summary `json:"summary,omitempty"`
	// Drift: the world changed it, not the program.
	Drift bool `json:"drift,omitempty"`
}

// longBuild is how long a build must take to be mentioned.
const longBuild = time.Second

// emit writes a line of JSON, or for people what they want to know of it.
func (d *dev) emit(l devLine) {
	if d.app.asJSON {
		l.Time, l.Stack, l.Stage = time.Now().UTC(), d.s.stage.Stack, d.s.stage.Name
		d.app.json(l)
		return
	}
	switch l.Type {
	case devOpened:
		d.say(fmt.Sprintf("%s: watching %d files and folders; Ctrl-C ends it", d.s.stage, d.watched))
	case devPlanned:
		if l.Drift {
			d.say("changed outside athanor:")
		}
	case devBuilt:
		if took := time.Duration(l.Elapsed * float64(time.Second)); took > longBuild {
			d.say("built in " + render.Elapsed(took))
		}
	}
}

// shownPaths is how many of the saved files are named.
const shownPaths = 3

func (d *dev) tellChanged(paths []string) {
	shown := make([]string, len(paths))
	for i, path := range paths {
		shown[i] = d.app.place(path)
	}
	d.emit(devLine{Type: devChanged, Paths: shown})
	if d.app.asJSON {
		return
	}
	more := ""
	if n := len(shown) - shownPaths; n > 0 {
		shown, more = shown[:shownPaths], fmt.Sprintf(" and %d more", n)
	}
	d.say("changed " + strings.Join(shown, ", ") + more)
}

// say shows a line that lasts.
func (d *dev) say(text string) { d.screen.say(d, text) }

// event takes an event of a run.
func (d *dev) event(e engine.Event) {
	if d.app.asJSON {
		d.app.json(e)
		return
	}
	d.screen.event(e)
}

// report shows how a run ended, in a line or two.
func (d *dev) report(kind string, res *engine.Result, p *engine.Plan) {
	a, outputs := d.app, render.Outputs(res)
	if a.asJSON {
		line := d.s.summary(res, p, outputs)
		line.Type = kind
		a.json(line)
		return
	}
	if kind == devLooked && res.Run == "" {
		return // nobody wants to know what is as it was
	}
	d.screen.apart(func() {
		style := a.style(a.err)
		for _, warning := range p.Warnings {
			if !d.screen.warned[warning] {
				d.screen.warn(warning)
				fmt.Fprintln(a.err, "note: "+style.Clean(warning))
			}
		}
		style.Result(a.err, res)
		if fmt.Sprint(outputs) != d.screen.outputs {
			d.screen.outputs = fmt.Sprint(outputs)
			a.style(a.out).Outputs(a.out, outputs)
		}
	})
}

// devScreen is what people see of a session: lines that last and, on a terminal, what is at work below them.
type devScreen struct {
	mu       sync.Mutex
	progress *render.Progress
	// outputs and warned are what was shown already.
	outputs string
	warned  map[string]bool
}

// oneScreen is how many lines of what was done a run may leave; failures come on top.
const oneScreen = 20

// begin shows the progress of a plan.
func (s *devScreen) begin(d *dev, p *engine.Plan) {
	if d.app.asJSON {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = render.NewProgress(d.app.err, d.app.style(d.app.err), d.app.width(d.app.err), p)
	s.progress.Bound(oneScreen)
	d.lines.Above(s.progress)
}

// end ends it.
func (s *devScreen) end(d *dev) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		d.lines.Above(nil)
		s.progress.Close()
		s.progress = nil
	}
}

// atWork reports that a run is shown.
func (s *devScreen) atWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress != nil
}

func (s *devScreen) event(e engine.Event) {
	s.mu.Lock()
	p := s.progress
	s.mu.Unlock()
	if p != nil {
		p.Event(e)
	}
}

// say shows a line above what is at work.
func (s *devScreen) say(d *dev, text string) {
	s.mu.Lock()
	p := s.progress
	s.mu.Unlock()
	switch {
	case p != nil:
		p.Say(text)
	default:
		fmt.Fprintln(d.app.err, text)
	}
}

// apart shows several lines, with nothing drawn in between.
func (s *devScreen) apart(show func()) {
	s.mu.Lock()
	p := s.progress
	s.mu.Unlock()
	if p == nil {
		show()
		return
	}
	p.Apart(show)
}

func (s *devScreen) warn(text string) {
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	s.warned[text] = true
}
