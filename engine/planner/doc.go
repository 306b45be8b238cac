// Package planner makes plans: it indexes a program, opens the state, finds and reads the objects of a stage, and has the passes of
// package plan decide.
//
// A [Planner] has what planning reads through. A [Draft] is a plan in the making, its steps in the order of makePlan and decide.
// What is known only once upstreams are decided is read then: the walk reads what is left to read of a resource, and
// hands it to the classifier. Nothing is changed, neither in the store nor elsewhere: the readers of [observe] make every call, and
// refuse to write. How a plan is carried out is not known here.
package planner
