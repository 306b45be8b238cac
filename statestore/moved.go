package statestore

import (
	"errors"
	"strings"
)

const movedTo = "moved to "

// MovedCommand is the command of the run that holds a stage for good at a store which the stage was moved from. Where
// names the new store.
func MovedCommand(where string) string { return movedTo + where }

// MovedBy returns the store that a stage was moved to by the run of a command which holds it, empty for any other run.
func MovedBy(command string) string {
	where, ok := strings.CutPrefix(command, movedTo)
	if !ok {
		return ""
	}
	return where
}

// MovedTo returns the store that a stage was moved to when that is why an error refuses its lease, else an empty text.
// Waiting for such a lease is in vain: nobody gives it back.
func MovedTo(err error) string {
	held, ok := errors.AsType[*HeldError](err)
	if !ok {
		return ""
	}
	return MovedBy(held.Holder.Command)
}
