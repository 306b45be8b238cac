package awstest

import (
	"slices"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Ways are the ways in which one call fails and the next one works.
func Ways() []Kind { return []Kind{DropAnswer, CutBefore, Throttle, ServerError} }

// Played reports whether a test that breaks one call after the other breaks the nth, from 1, in this way. Each call is broken in one
// way, and the ways take turns; with [proctest.Whole] each is broken in every way.
func Played(way Kind, nth int) bool {
	all := Ways()
	return proctest.Whole() || nth%len(all) == slices.Index(all, way)
}
