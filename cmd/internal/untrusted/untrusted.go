// Package untrusted says which commands may run where stacks are a stranger's, and whether they are.
//
// It does not know what a plan of such a stack leaves out.
package untrusted

import (
	"fmt"
	"os"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// Variable makes every plan untrusted. Providers read it too: they start no program to get credentials.
const Variable = "ATHANOR_UNTRUSTED"

// Is reports whether the stack at hand is a stranger's.
func Is(c *cli.Context) bool { return c.Bool("untrusted") || os.Getenv(Variable) != "" }

// OnlyRead refuses a command where stacks are a stranger's. It guards each command that does not say itself, by
// its Before, that it may run there.
func OnlyRead(c *cli.Context) error {
	if !Is(c) {
		return nil
	}
	return cli.Hint(fmt.Errorf("$%s is set, and %s may change something or read a secret", Variable, c.Command.Name),
		"athanor plan --untrusted")
}

// Reads is the Before of a command that changes nothing (no resource, state, key, lease or permission), reads no secret
// of a stack and starts no program, so that it may run on a stranger's stack.
func Reads(*cli.Context) error { return nil }

// ReadsWith is the Before of a command of which that is true when it is given a flag.
func ReadsWith(flag string) cli.BeforeFunc {
	return func(c *cli.Context) error {
		if c.Bool(flag) {
			return nil
		}
		return OnlyRead(c)
	}
}

// ReadsWithout is the Before of a command of which that is true unless it is given a flag.
func ReadsWithout(flag string) cli.BeforeFunc {
	return func(c *cli.Context) error {
		if c.Bool(flag) {
			return OnlyRead(c)
		}
		return nil
	}
}
