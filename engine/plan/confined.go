package plan

import (
	"errors"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/reconcile"
)

// confined reports that an entry in state alone is what blocks, and no more than what needs it.
func confined(err error) bool {
	_, damaged := errors.AsType[*damagedRow](err)
	_, unknown := errors.AsType[*observe.UnknownKindError](err)
	return damaged || unknown
}

// Unreadable is the error about an address whose record is damaged.
func Unreadable(addr string, err error) error {
	return reconcile.WithHint(&damagedRow{err}, "`athanor state rm %s` forgets it; the next deploy finds what is there by reading", addr)
}

// damagedRow says that a record cannot be read.
type damagedRow struct{ err error }

func (e *damagedRow) Error() string { return "its state entry cannot be read: " + e.err.Error() }

func (e *damagedRow) Unwrap() error { return e.err }
