// Package cmd turns a stack program, or the ready-made binary, into the command: flags become engine calls,
// and what the engine answers becomes lines, a live tree or JSON.
//
// It knows every room and decides nothing: what is planned, asked and done is the engine's business, how a stack
// is written that of the authoring layer. Everything that a person reads is made here.
package cmd

// Exit codes. `go run` turns every one but 0 into 1; the built binary keeps them.
const (
	ExitDone        = 0   // done, nothing to do, or only waiting for somebody
	ExitError       = 1   // an error; nothing was done
	ExitPending     = 2   // changes or drift are pending
	ExitLocked      = 3   // another run holds the stage
	ExitPartly      = 4   // some resources failed; the others are done
	ExitNotApproved = 5   // nobody approved
	ExitInterrupted = 130 // stopped by the user
)
