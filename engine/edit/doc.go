// Package edit changes what is in state, and of the objects themselves no more than owner tags: it moves, removes, imports and
// exports entries, moves resources to other stages, and examines what a store has.
//
// What changes anything is a plan, which is shown, approved and applied like every other.
package edit
