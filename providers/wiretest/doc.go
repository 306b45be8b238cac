// Package wiretest stands between the code under test and a cloud: a proxy that
// records every call and can break any of them.
//
// It knows HTTP, the kinds of faults and when each is due. It does not know any
// cloud: who is called, what for, and how an error is spelt are told by a
// [Cloud], of which each provider's own test room has one.
package wiretest
