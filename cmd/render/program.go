package render

import (
	"fmt"
	"io"
)

// Program is what `plan --untrusted` shows where nothing can be observed: what is declared, and no action.
type Program struct {
	Stack     string `json:"stack"`
	Stage     string `json:"stage"`
	Digest    string `json:"digest"`
	Untrusted bool   `json:"untrusted"`
	// Missing says what there was not, so that nothing was observed.
	Missing string        `json:"missing"`
	Actions []NotObserved `json:"actions"`
}

// NotObserved is a resource, or a read, that was not observed.
type NotObserved struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Action  string `json:"action"`
	Why     string `json:"why,omitempty"`
}

// Program writes what is declared, for people.
func (s Style) Program(w io.Writer, p Program) {
	fmt.Fprintf(w, "%s/%s\n\n", p.Stack, p.Stage)
	for _, a := range p.Actions {
		fmt.Fprintf(w, "  ? %s  %s  not observed\n", a.Address, a.Kind)
	}
	fmt.Fprintf(w, "\nThe program is valid. Nothing was observed: %s. No action is claimed.\n", p.Missing)
}
