// Package bench measures athanor: the built binary as whole processes on a store on disk, and planning in process. Where an
// OpenTofu is at hand, each phase is also told as a ratio to it, on the same work in the same run.
//
// It knows how both are called and what their last lines say. It does not know how they work, and asserts nothing about
// time: what it proves of the numbers is that the work behind them was done.
package bench
