// Package calls bounds and counts the calls that an engine makes to clouds, and stops a writer that lost its lease.
//
// It knows one call at a time: whether it changes anything, and which piece of work it is made for. It knows nothing of
// resources, plans or state.
package calls
