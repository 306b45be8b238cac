// Package plan decides what is done to the resources of a stage, why and in what order, and holds the documents that say so: a
// [Plan] is what is shown, approved, saved and applied.
//
// Each pass is a type with its inputs as fields, over the [Node] of each address: what the program declares, what state has, and
// what reading showed. All of it is values. Nothing here takes a context, so that no pass can read, wait or write; what reads is
// in package planner, which calls the passes. How a plan is carried out is not known here.
package plan
