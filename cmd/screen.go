package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// style is how to draw on a stream.
func (a *app) style(w io.Writer) render.Style {
	s := render.Style{Color: a.colored(w), ASCII: asciiOnly(os.Getenv), Detailed: a.detailed}
	if isTerminal(w) {
		columns, _ := size(w)
		s = s.At(columns)
	}
	return s
}

// screen is a stream on which something is shown that goes on.
func (a *app) screen(w io.Writer) render.Screen {
	s := render.Screen{Out: unlessAsking{w, &a.asking}, Style: a.style(w)}
	if a.draws(w) {
		s.Size = func() (columns, rows int) { return size(w) }
	}
	return s
}

// draws reports whether a stream may be drawn on: a terminal, unless the user wants plain lines.
func (a *app) draws(w io.Writer) bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

// colored reports whether a stream wants colours: a terminal, or one of which the user says so.
func (a *app) colored(w io.Writer) bool {
	forced := os.Getenv("CLICOLOR_FORCE")
	return a.draws(w) || forced != "" && forced != "0" && !a.noColor && os.Getenv("NO_COLOR") == ""
}

func isTerminal(w any) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// size returns the columns and rows of a terminal, the usual ones where it does not say them.
func size(w io.Writer) (columns, rows int) {
	if f := fileOf(w); f != nil {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// asciiOnly reports whether the user's terminal shows ASCII alone: the console of Linux, or a locale that is set and names no
// UTF-8. Where no locale is set, as in containers and CI, what shows the text is made for UTF-8.
func asciiOnly(env func(string) string) bool {
	if wish := env("ATHANOR_ASCII"); wish != "" {
		return wish != "0"
	}
	locale := strings.ToUpper(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return env("TERM") == "linux" || locale != "" && !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
}

// planning shows how planning goes, until it has ended.
func (s *session) planning(plan func() (*engine.Plan, error)) (*engine.Plan, error) {
	a, events := s.app, s.engine.Events
	if a.asJSON {
		return plan()
	}
	reading := render.NewReading(a.screen(a.err), s.stage.String())
	s.engine.Reading = reading.Read
	s.engine.Events = func(e engine.Event) {
		if e.Type == engine.EventProgress {
			reading.Note(fmt.Sprintf("  … %s: waits: %s", e.Address, e.Note))
		}
	}
	defer func() {
		reading.Close()
		s.engine.Reading, s.engine.Events = nil, events
	}()
	return plan()
}

// showPlan writes a plan for people. What does not fit on their terminal is shown by a pager when they are there to read it.
func (s *session) showPlan(w io.Writer, p *engine.Plan, attended bool) {
	var text bytes.Buffer
	style := s.app.style(w)
	style.Plan(&text, p, s.cost(p))
	if attended && s.app.paged(w, text.String()) {
		style.PlanCounts(w, p, s.cost(p))
		return
	}
	w.Write(text.Bytes()) //nolint:errcheck // like all that is printed
}

// showDetails shows a plan in full, on the terminal where its approval is asked for.
func (s *session) showDetails(p *engine.Plan) {
	var text bytes.Buffer
	style := s.app.style(s.app.err)
	style.Detailed = true
	style.Plan(&text, p, s.cost(p))
	if !s.app.paged(s.app.err, text.String()) {
		s.app.err.Write(text.Bytes()) //nolint:errcheck // like all that is printed
	}
}

// paged shows a text with a pager, and reports whether it did: on a terminal with somebody at it, and a text that is longer.
func (a *app) paged(w io.Writer, text string) bool {
	_, rows := size(w)
	return a.draws(w) && isTerminal(a.in) && strings.Count(text, "\n") >= rows && page(w, drawn(text)) == nil
}

// cost is what planning took.
func (s *session) cost(p *engine.Plan) string {
	return costOf(engine.Reads(p), s.began, p.Made, time.Now())
}

// costOf says how many reads a plan took, and how long: until it was made, where that is known. It may be shown again a while later.
func costOf(reads int64, began, made, now time.Time) string {
	if reads == 0 {
		return ""
	}
	word := " reads, "
	if reads == 1 {
		word = " read, "
	}
	if made.Before(began) {
		made = now
	}
	return strconv.FormatInt(reads, 10) + word + render.Elapsed(made.Sub(began))
}

// page shows a text with the pager of the user, else with less.
func page(w io.Writer, text string) error {
	pager := "less -FRX"
	if own, ok := os.LookupEnv("PAGER"); ok {
		pager = own
	}
	words := strings.Fields(pager)
	if len(words) == 0 {
		words = []string{"cat"}
	}
	c := exec.Command(words[0], words[1:]...)
	if _, ok := os.LookupEnv("LESS"); !ok {
		c.Env = append(os.Environ(), "LESS=FRX")
	}
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), fileOf(w), os.Stderr
	return c.Run()
}

// longestProgram bounds a file of a program of which a line is shown.
const longestProgram = 4 << 20

// sourceLine returns a line of a file of the stack as people may see it: without secrets, and none of a file that the stack may
// not read. A document names places in files that it did not come from, of which nothing is shown.
func (a *app) sourceLine(file string, line int) (string, bool) {
	if a.dir == "" || !a.showsLines {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.dir, file)
	}
	switch filepath.Ext(file) {
	case ".go", ".yaml", ".yml":
	default:
		return "", false
	}
	data, err := localfile.ReadAtMost(a.granted.within(context.Background()), file, longestProgram)
	lines := strings.Split(string(data), "\n")
	if err != nil || line < 1 || line > len(lines) {
		return "", false
	}
	return a.masked(errors.New(strings.TrimRight(lines[line-1], "\r"))), true
}
