package cloudflaretest

import "github.com/athanor-dev/athanor/providers/wiretest"

// What the proxy knows, under the names that tests use.
type (
	// Fault is a rule: which calls, and what happens to them.
	Fault = wiretest.Fault
	// Call is one request as it was read from the wire.
	Call = wiretest.Call
)

// The kinds of faults.
const (
	Hold        = wiretest.Hold
	HoldAnswer  = wiretest.HoldAnswer
	CutBefore   = wiretest.CutBefore
	DropAnswer  = wiretest.DropAnswer
	Throttle    = wiretest.Throttle
	ServerError = wiretest.ServerError
	Deny        = wiretest.Deny
	Refuse      = wiretest.Refuse
	Stale       = wiretest.Stale
)

// Mutating reports whether the call may change something. It is made for [Fault.When]: the Nth change, whichever it is.
func Mutating(c Call) bool { return wiretest.Mutating(c) }
