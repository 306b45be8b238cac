package terminal

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/reconcile"
)

// Style is how to draw on a stream.
func (t *Terminal) Style(w io.Writer) render.Style {
	s := render.Style{Color: t.colored(w), ASCII: asciiOnly(os.Getenv), Detailed: t.Detailed}
	if IsTerminal(w) {
		columns, _ := size(w)
		s = s.At(columns)
	}
	return s
}

// Screen is a stream on which something is shown that goes on.
func (t *Terminal) Screen(w io.Writer) render.Screen {
	s := render.Screen{Out: unlessAsking{w, &t.asking}, Style: t.Style(w)}
	if t.draws(w) {
		s.Size = func() (columns, rows int) { return size(w) }
	}
	return s
}

// draws reports whether a stream may be drawn on: a terminal, unless the user wants plain lines.
func (t *Terminal) draws(w io.Writer) bool {
	return !t.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// colored reports whether a stream wants colours: a terminal, or one of which the user says so.
func (t *Terminal) colored(w io.Writer) bool {
	forced := os.Getenv("CLICOLOR_FORCE")
	return t.draws(w) || forced != "" && forced != "0" && !t.noColor && os.Getenv("NO_COLOR") == ""
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w any) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// size returns the columns and rows of a terminal, the usual ones where it does not say them.
func size(w io.Writer) (columns, rows int) {
	if columns, rows, known := knownSize(w); known {
		return columns, rows
	}
	return 80, 24
}

// knownSize returns the columns and rows that a terminal says it has.
func knownSize(w io.Writer) (columns, rows int, known bool) {
	f := fileOf(w)
	if f == nil {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	return columns, rows, err == nil && columns > 0 && rows > 0
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

// Paged shows a text with a pager, and reports whether it did: on a terminal with somebody at it, and a text that is longer. A terminal
// without a size has nobody at it: a program made it, such as script in a job of CI, and no key would ever end the pager.
func (t *Terminal) Paged(w io.Writer, text string) bool {
	_, rows, known := knownSize(w)
	if !known || !t.draws(w) || !IsTerminal(t.In) || strings.Count(text, "\n") < rows {
		return false
	}
	err := page(w, drawn(text), t.Interrupts.Done())
	return err == nil || t.Interrupts.By() != ""
}

// page shows a text with the pager of the user, else with less, until it ends or the command is interrupted.
func page(w io.Writer, text string, interrupted <-chan struct{}) error {
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
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
		case <-interrupted:
			// It puts the terminal back as it was, which a killed pager cannot.
			if c.Process.Signal(syscall.SIGTERM) != nil {
				c.Process.Kill() //nolint:errcheck // it has ended
			}
		}
	}()
	return c.Wait()
}

// logLine is one line of an object's log as --json writes it.
type logLine struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Address string    `json:"address"`
	Source  string    `json:"source,omitempty"`
	Text    string    `json:"text"`
}

// Lines shows what objects print: with --json as JSON on standard output, else as lines behind their addresses.
type Lines struct {
	*render.Lines
	terminal *Terminal
}

// NewLines shows on w what is not JSON; times says that each line begins with when it was written.
func (t *Terminal) NewLines(w io.Writer, times bool) *Lines {
	return &Lines{render.NewLines(w, t.Style(w), times), t}
}

// Line shows one line. It may be called from many goroutines.
func (l *Lines) Line(address string, line reconcile.LogLine) {
	if l.terminal.WroteJSON(logLine{Time: line.Time.UTC(), Type: "log", Address: address, Source: line.Source, Text: line.Text}) {
		return
	}
	l.Lines.Line(address, line)
}
