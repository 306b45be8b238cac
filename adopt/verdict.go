package adopt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
)

// Verdict says whose a thing is.
type Verdict string

// The verdicts.
const (
	Free      Verdict = "free"      // nothing there and nothing on record
	Ours      Verdict = "ours"      // there, and ours by record, mark, name or content
	Lost      Verdict = "lost"      // on record as live, and gone
	Foreign   Verdict = "foreign"   // there, and somebody else's or nobody's
	Ambiguous Verdict = "ambiguous" // there, and nothing tells whose
)

// Evidence is what is known when the question is asked.
type Evidence struct {
	// Absent: the look showed nothing.
	Absent bool
	// Identity is what was seen; Recorded the identity on record, "" without one.
	Identity, Recorded string
	// Seen is the mark on the thing; Want the mark that it would carry. Births are further addresses
	// that it may have been marked with (its birth address, renamedFrom).
	Seen, Want reconcile.Mark
	Births     []string
	// Intended: it bears the generated name that was put on record when its creation was begun, after a look
	// that showed nothing by that name. Not every service takes the mark in the call that creates.
	Intended bool
	// Marked: the kind can carry a mark. Same: equal content proves ownership, and Equal says that it is.
	Marked, Same, Equal bool
	// Given: the author chose the name, so that it proves nothing.
	Given bool
	// Holder is another address that the thing is on record for, "" when there is none.
	Holder string
}

// Answer is a verdict with its reasons.
type Answer struct {
	Verdict Verdict
	// Owner is the other owner that a foreign thing names, zero when it names none.
	Owner reconcile.Mark
	// OtherStore: ours by stack, stage and address, but marked by another store.
	OtherStore bool
	// Sibling: foreign, and of another address of this very stage.
	Sibling bool
	// Holder is the other address that has the thing on record.
	Holder string
}

// Judge gives the verdict. It is pure.
func Judge(e Evidence) Answer {
	switch {
	case e.Absent && e.Recorded != "":
		return Answer{Verdict: Lost}
	case e.Absent:
		return Answer{Verdict: Free}
	case e.Holder != "":
		return Answer{Verdict: Foreign, Owner: e.Seen, Sibling: true, Holder: e.Holder}
	case e.Marked && !e.Seen.IsZero():
		return marked(e)
	case e.Intended, e.Recorded != "" && e.Recorded == e.Identity:
		return Answer{Verdict: Ours}
	case e.Marked:
		return Answer{Verdict: Foreign}
	case e.Same && e.Equal:
		return Answer{Verdict: Ours}
	case e.Same:
		return Answer{Verdict: Foreign}
	case e.Given:
		return Answer{Verdict: Ambiguous}
	default:
		return Answer{Verdict: Ours}
	}
}

// marked judges a thing that names an owner.
func marked(e Evidence) Answer {
	ours := e.Seen.Stack == e.Want.Stack && e.Seen.Stage == e.Want.Stage && !e.Seen.Retained
	if !ours || e.Seen.Address != e.Want.Address && !slices.Contains(e.Births, e.Seen.Address) {
		return Answer{Verdict: Foreign, Owner: e.Seen, Sibling: ours}
	}
	return Answer{Verdict: Ours, OtherStore: e.Seen.Store != "" && e.Seen.Store != e.Want.Store}
}

// ErrForeign is matched by errors that refuse what is not ours.
var ErrForeign = errors.New("not ours")

// OwnerError refuses a thing that is not ours, or of which nothing tells whose it is.
type OwnerError struct {
	Kind, Identity string
	Verdict        Verdict
	Owner          reconcile.Mark
	// Holder is the address, of this stage or as stack/stage:address of another, that has the thing on record.
	Holder string
}

func (e *OwnerError) Error() string {
	switch {
	case e.Holder != "":
		return fmt.Sprintf("%s %s is on record as %s", e.Kind, e.Identity, e.Holder)
	case e.Verdict == Ambiguous:
		return fmt.Sprintf("%s %s exists and nothing tells whose it is", e.Kind, e.Identity)
	case e.Owner.IsZero():
		return fmt.Sprintf("%s %s exists and is not ours", e.Kind, e.Identity)
	case e.Owner.Retained:
		return fmt.Sprintf("%s %s was retained by %s of %s/%s", e.Kind, e.Identity, e.Owner.Address, e.Owner.Stack, e.Owner.Stage)
	default:
		return fmt.Sprintf("%s %s belongs to %s of %s/%s", e.Kind, e.Identity, e.Owner.Address, e.Owner.Stack, e.Owner.Stage)
	}
}

// Is reports ErrForeign, and reconcile.ErrAmbiguous for an ambiguous thing.
func (e *OwnerError) Is(target error) bool {
	return target == ErrForeign || e.Verdict == Ambiguous && target == reconcile.ErrAmbiguous
}
