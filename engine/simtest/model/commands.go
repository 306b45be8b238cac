package model

import (
	"maps"
	"slices"
)

// Act is what a command did: it ran with a text, or what it had done with that text was undone.
type Act struct {
	Address, Text string
	Undone        bool
	// Cut: nobody heard how the run ended. The next run of the address runs over it, and undoes nothing.
	Cut bool
}

// Commands compares what commands have done with what is declared, once End has read the program: each declared one has run with its
// text since that was undone last, and of every other one all is undone. Where the state was lost nobody can undo anything.
func (c *Case) Commands(acts []Act, stateLost bool) []string {
	type done struct{ address, text string }
	left, begun, wrong := map[done]bool{}, map[done]bool{}, []string(nil)
	for _, a := range acts {
		what := done{c.renamed(a.Address), a.Text}
		if !a.Undone {
			maps.DeleteFunc(left, func(d done, _ bool) bool { return begun[d] && d.address == what.address })
		}
		left[what], begun[what] = !a.Undone, a.Cut
	}
	for _, r := range c.program.Resources {
		if r.Kind != "sim.Command" {
			continue
		}
		want := done{c.renamed(r.Address), c.text(r.Props["text"])}
		if !left[want] {
			wrong = append(wrong, r.Address+" is declared, and what it does with "+want.text+" is undone or was never done")
		}
		delete(left, want)
	}
	for d := range left {
		if left[d] && !stateLost {
			wrong = append(wrong, d.address+" is not undone: "+d.text)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// renamed is the address that an address has become by the programs.
func (c *Case) renamed(address string) string {
	for range c.renames {
		to, moved := c.renames[address]
		if !moved {
			return address
		}
		address = to
	}
	return address
}
