package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// mostSteps is how many resources of a critical path are named.
const mostSteps = 8

// Slow writes what a run took long for: one line, and nothing for a run that was over soon.
func (s Style) Slow(w io.Writer, slow *engine.Slow) {
	if slow == nil {
		return
	}
	names := make([]string, len(slow.Path))
	for i, step := range slow.Path {
		names[i] = clean(step.Address)
	}
	if left := len(names) - mostSteps; left > 0 {
		names = append(append(names[:mostSteps/2:mostSteps/2], fmt.Sprintf("… %d more …", left)), names[len(names)-mostSteps/2:]...)
	}
	text := fmt.Sprintf("longest: %s %s   critical path: %s", clean(slow.Longest.Address), Elapsed(seconds(slow.Longest.Seconds)), strings.Join(names, ", "))
	for _, line := range wrapped(s.twin(text), s.Width, len("longest: ")) {
		fmt.Fprintln(w, s.paint(dim, line))
	}
}
