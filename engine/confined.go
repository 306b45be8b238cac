package engine

import (
	"errors"

	"github.com/athanor-dev/athanor/reconcile"
)

// confined reports that an entry in state alone is what blocks, and no more than what needs it.
func confined(err error) bool {
	_, damaged := errors.AsType[*damagedRow](err)
	_, unknown := errors.AsType[*unknownKindError](err)
	return damaged || unknown
}

// unknownKindError says that an entry in state is of a kind that this program does not know.
type unknownKindError struct{ err error }

func (e *unknownKindError) Error() string { return e.err.Error() }
func (e *unknownKindError) Unwrap() error { return e.err }

// entryKind finds the kind of an entry's object. Without it the object can only be removed from state.
func (w *work) entryKind(addr, kind string) (reconcile.Any, error) {
	k, err := w.e.Catalog.Find(kind)
	if err == nil {
		return k, nil
	}
	return nil, reconcile.WithHint(&unknownKindError{err},
		"run it with a program that knows this kind; `athanor state rm %s` removes it from state and leaves the object", addr)
}
