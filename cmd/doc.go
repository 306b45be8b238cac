// Package cmd turns a stack program, or the ready-made binary, into the command: flags become engine calls,
// and what the engine answers becomes lines, a live tree or JSON.
//
// Each command is a function of what opens sessions, or of less; app assembles them. What they share is below internal. The package
// decides nothing: what is planned, asked and done is the engine's business, how a stack is written that of the authoring layer.
package cmd
