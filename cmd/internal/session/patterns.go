package session

import (
	"fmt"
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
