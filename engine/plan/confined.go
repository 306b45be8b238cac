package plan

import (
	"errors"

	"github.com/athanor-dev/athanor/engine/observe"
)

// confined reports that an entry in state alone is what blocks, and no more than what needs it.
func confined(err error) bool {
	_, damaged := errors.AsType[*damagedRow](err)
	_, unknown := errors.AsType[*observe.UnknownKindError](err)
	return damaged || unknown
}
