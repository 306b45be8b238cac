// Package cmd turns a stack program, or the ready-made binary, into the command: flags become engine calls,
// and what the engine answers becomes lines, a live tree or JSON.
//
// It knows every room and decides nothing: what is planned, asked and done is the engine's business, how a stack
// is written that of the authoring layer. Everything that a person reads is made here.
package cmd
