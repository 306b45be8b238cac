package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// addressPatterns are the flags that take patterns of addresses.
var addressPatterns = []string{"target", "exclude", "replace", "allow-delete", "remote"}

// checkPatterns refuses patterns that no address can match, such as those of a shell: a typing mistake in --exclude would let the
// resource be changed.
func checkPatterns(c *cli.Context) error {
	for _, name := range addressPatterns {
		for _, pattern := range c.StringSlice(name) {
			if what := notInAddresses(pattern); what != "" {
				return cli.Hint(fmt.Errorf("--%s %s: no address has %s", name, pattern, what),
					"* stands for any text within one part of an address, ** for any text; athanor graph lists the addresses")
			}
		}
	}
	return nil
}

// notInAddresses says what in a pattern no address has, "" for nothing.
func notInAddresses(pattern string) string {
	if pattern == "" {
		return "no text"
	}
	for _, r := range pattern {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./[]*", r) {
			continue
		}
		return fmt.Sprintf("%q", string(r))
	}
	if _, key, keyed := strings.Cut(pattern, "["); keyed && !strings.ContainsAny(key, "]*") {
		return "a [ without its ]"
	}
	return ""
}

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
