package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// mostSteps is how many resources of a critical path are named.
const mostSteps = 8

// leastLimited is from how many seconds on it is said that a service made a resource wait.
const leastLimited = 1

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
	longest := slow.Longest
	text := fmt.Sprintf("longest: %s %s", clean(longest.Address), Elapsed(seconds(longest.Seconds+longest.Limited)))
	if longest.Limited >= leastLimited {
		text += fmt.Sprintf(", %s of it waiting for the rate limit of a service", Elapsed(seconds(longest.Limited)))
	}
	text += "   critical path: " + strings.Join(names, ", ")
	for _, line := range wrapped(s.twin(text), s.Width, len("longest: ")) {
		fmt.Fprintln(w, s.paint(dim, line))
	}
}
