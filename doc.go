// Package athanor is what the author of a stack imports: a program declares resources on a [Stack], and what
// comes out is a graph for the engine.
//
//	func Shop(s *athanor.Stack) error {
//		dead := sqs.NewQueue(s, "dead", sqs.QueueProps{})
//		sqs.NewQueue(s, "orders", sqs.QueueProps{DeadLetter: dead.ARN}, athanor.Protect())
//		return nil
//	}
//
// A constructor returns the attributes of what it declares. They are not known while the program runs, so
// each holds a token: text that stands for the value, can be joined, formatted, quoted and marshalled, and is
// replaced when the value is known. Logic on a value goes through [Then]. What would go wrong with tokens
// (measuring, cutting, hashing, encoding one) changes the graph when the program is evaluated again with
// tokens of another spelling; [Check] finds it.
//
// Mistakes are collected and returned by [Evaluate] all at once, with the line of the program: no
// constructor panics, and none returns an error.
//
// The package knows how a program says what it wants. It does not know which kinds exist, what is there
// already, or how anything is made.
package athanor
