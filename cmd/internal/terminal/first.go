package terminal

import (
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// firstLine is what a terminal shows while a command that plans gets ready: before the kinds are listed, files are read and a store is
// opened. What is written next takes its place.
type firstLine struct {
	under io.Writer
	once  sync.Once
}

// planningCommands show what planning does, and begin with a first line.
var planningCommands = []string{"plan", "deploy", "destroy", "drift"}

// Start reads of a command line how errors are shown, and shows the first line of it, until what it returns is called.
func (t *Terminal) Start(args []string) (end func()) {
	t.AsJSON, t.noColor = cli.HasSwitch(args, "json"), cli.HasSwitch(args, "no-color")
	t.first = t.newFirstLine(args)
	for _, stream := range []io.Writer{t.Out, t.Err} {
		if g, ok := stream.(*guard); ok {
			g.first = t.first
		}
	}
	return t.first.end
}

// EndFirstLine makes room for what writes to the terminal by itself.
func (t *Terminal) EndFirstLine() { t.first.end() }

// newFirstLine writes the first line of a command line; nil for one that shows none.
func (t *Terminal) newFirstLine(args []string) *firstLine {
	guard, ok := t.Err.(*guard)
	if !ok || !t.draws(guard) || t.AsJSON || !slices.Contains(planningCommands, commandName(args)) ||
		slices.ContainsFunc([]string{"help", "h", "v", "version"}, func(name string) bool { return cli.HasSwitch(args, name) }) {
		return nil
	}
	f := &firstLine{under: guard.file}
	io.WriteString(f.under, "planning") //nolint:errcheck // a lost terminal must not fail a plan
	return f
}

// commandName is the first word of a command line that is no flag.
func commandName(args []string) string {
	for _, word := range args[min(1, len(args)):] {
		if !strings.HasPrefix(word, "-") {
			return word
		}
	}
	return ""
}

// end removes the line.
func (f *firstLine) end() {
	if f == nil {
		return
	}
	f.once.Do(func() { io.WriteString(f.under, "\r\x1b[K") }) //nolint:errcheck // as above
}
