package plan

import (
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// UnreadError says that an object could not be read, although the way to its location is open.
type UnreadError struct{ Err error }

func (e *UnreadError) Error() string { return e.Err.Error() }
func (e *UnreadError) Unwrap() error { return e.Err }

// Unread reports whether an object of a generation that cannot be read may be deleted by its identity in state, and
// whether it could be with the user's permission. What reading could show must not forbid the deletion: that it holds
// data, or that another owner has an object of the name that the author gave. An object whose content alone says
// whose it is, or of which a part may be left, is read first.
func (g Guards) Unread(n *Node, gen *state.Generation, spec *reconcile.Spec) (may, could bool) {
	if gen == nil || gen.Identity == "" || spec == nil || spec.Recorded || spec.Same || spec.Tidies {
		return false, false
	}
	return !spec.HoldsData && !(spec.Marked && gen.NameGiven) || g.MayDelete(n), true
}

// UnreadHint says how an object is deleted that cannot be read.
func UnreadHint(n *Node, err error) error {
	return reconcile.WithHint(err, "--allow-delete %s deletes it by its identity in state, whatever it holds", n.Address)
}
