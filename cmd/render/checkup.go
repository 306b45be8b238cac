package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// Checkup is what `state check --json` prints.
type Checkup struct {
	Stack    string    `json:"stack"`
	Stage    string    `json:"stage"`
	Serial   uint64    `json:"serial"`
	Rows     int       `json:"rows"`
	Things   int       `json:"things"`
	Problems []Finding `json:"problems"`
	Notes    []string  `json:"notes,omitempty"`
}

// Finding is one defect of a state.
type Finding struct {
	Address    string                `json:"address,omitempty"`
	Error      string                `json:"error"`
	Hints      []string              `json:"hints,omitempty"`
	Identities []statestore.Identity `json:"identities,omitempty"`
}

// Print writes the verdict to out, and what is wrong to errs.
func (c Checkup) Print(out, errs io.Writer, style Style) {
	c = cleaned(c)
	for _, p := range c.Problems {
		lines := []string{p.Error}
		for _, id := range p.Identities {
			lines = append(lines, "  "+id.Kind+" "+id.Identity)
		}
		style.Error(errs, strings.Join(lines, "\n"), p.Hints)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(errs, "note:", note)
	}
	verdict := "nothing is wrong"
	if n := len(c.Problems); n > 0 {
		verdict = fmt.Sprintf("%d wrong", n)
	}
	fmt.Fprintf(out, "%s/%s: serial %d, %d entries of %d objects: %s\n", c.Stack, c.Stage, c.Serial, c.Rows, c.Things, verdict)
}
