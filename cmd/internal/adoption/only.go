package adoption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// choice is what --only chooses by addresses of the source: * stands for any text.
type choice struct {
	patterns []string
	matched  map[string]bool
}

func choiceOf(c *cli.Context) *choice {
	return &choice{c.StringSlice("only"), map[string]bool{}}
}

// takes reports of an address whether it is chosen. Nil: everything is.
func (o *choice) takes() func(address string) bool {
	if len(o.patterns) == 0 {
		return nil
	}
	return func(address string) bool {
		chosen := false
		for _, pattern := range o.patterns {
			if fits(pattern, address) {
				chosen, o.matched[pattern] = true, true
			}
		}
		return chosen
	}
}

// unmatched is an error about the first pattern that chose nothing.
func (o *choice) unmatched() error {
	at := slices.IndexFunc(o.patterns, func(pattern string) bool { return !o.matched[pattern] })
	if at < 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("--only %s: no resource matches", o.patterns[at]), "an address as the file has it; * stands for any text")
}

// fits reports whether a text fits a pattern, in which * stands for any text, brackets and dots included.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
