package cli

import (
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Exit codes. They are part of the command's contract.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitPending     = 2
	ExitLocked      = 3
	ExitPartly      = 4
	ExitNotApproved = 5
	ExitInterrupted = 130
)

// exitCodes is how help lists them.
const exitCodes = "0 done, 1 error, 2 changes pending, 3 locked by another run, 4 partly done, 5 not approved, " +
	"130 interrupted"

// ExitCode is an error that ends the command with a code and prints nothing, since everything was printed. It is not the
// library's ExitCoder: that interface is met by exec.ExitError too, which is an error to be shown.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit ends the command with a code.
func Exit(code int) error { return ExitCode(code) }

// Hint adds to an error what its user can do: an instruction, with the command where there is one.
func Hint(err error, text string) error { return reconcile.WithHint(err, "%s", text) }

// HintNearest says which name may have been meant by one that there is not, or else another instruction.
func HintNearest(err error, name string, names []string, otherwise string) error {
	if near, ok := props.Nearest(name, names); ok {
		otherwise = "did you mean " + near + "?"
	}
	return Hint(err, otherwise)
}
