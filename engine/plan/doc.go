// Package plan decides what is done to the resources of a stage: from a program, the state and what reading shows it makes
// a [Plan], the document that is shown, approved, saved and applied.
//
// A [Planner] has what planning reads through. A [Draft] is a plan in the making: its passes run in the order of makePlan and
// decide, each a type with its inputs as fields, over the [Node] of each address. Nothing is changed, neither in the store nor
// elsewhere: the readers of [observe] make every call, and refuse to write. How a plan is carried out is not known here.
package plan
