// Package engine works on all resources of a stage in the right order: graph → plan → deploy → converge →
// collect; destroy and drift are the same machine with other input.
//
// Each stage hands the next a document: a [Graph] is what the program declares; a [Plan] is what will be
// done, in which order and why; a run leaves rows and [Event]s. Deploying follows the plan and decides
// nothing that the plan did not announce.
//
// The engine knows kinds only by their erased form and stores only by their contract. It knows no provider
// and no command-line flag, prints nothing and asks nobody.
package engine
