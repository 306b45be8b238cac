package adopt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// Verdict says who owns an object.
type Verdict string

// The verdicts.
const (
	Free      Verdict = "free"      // no object, and none in state
	Ours      Verdict = "ours"      // ours by state, owner tag, name or content
	Lost      Verdict = "lost"      // live in state, and deleted
	Foreign   Verdict = "foreign"   // somebody else's object, or nobody's
	Ambiguous Verdict = "ambiguous" // nothing says who owns the object
)

// Evidence is what is known about an object when the question is asked.
type Evidence struct {
	// Absent says that reading found no object.
	Absent bool
	// Identity is that of the object; InState the one in state, "" without one.
	Identity, InState string
	// Tagged is the owner tag on the object; Tag the one that it would carry. Addresses are further addresses that its
	// owner tag may hold: the birth address, former ones, renamedFrom.
	Tagged, Tag reconcile.Mark
	Addresses   []string
	// NameIntended says that the object has the generated name that went into state when its creation was begun, after
	// reading had found no object of that name. Not every service takes an owner tag in the call that creates.
	NameIntended bool
	// Taggable says that the kind can carry an owner tag. OwnedByContent says that equal content proves ownership, and
	// ContentEqual that the content is equal.
	Taggable, OwnedByContent, ContentEqual bool
	// NameGiven says that the author chose the name, so that the name proves nothing. Name is the object's.
	NameGiven bool
	Name      string
	// Holder is another address that has the object in state, "" when there is none.
	Holder string
}

// Answer is a verdict with its reasons.
type Answer struct {
	Verdict Verdict
	// Owner is the owner tag of a foreign object, zero when it has none.
	Owner reconcile.Mark
	// OtherStore says that stack, stage and address are ours, and that another state store tagged the object.
	OtherStore bool
	// Sibling says that a foreign object belongs to another address of the same stage.
	Sibling bool
	// Holder is the other address that has the object in state.
	Holder string
	// Unproven says that the object is ours by an identity which its given name makes up, and that its owner tag is missing:
	// somebody may have taken the tag away, or have created another object of that name after ours was deleted.
	Unproven bool
}

// Judge returns the verdict on an object. It is pure.
func Judge(e Evidence) Answer {
	switch {
	case e.Absent && e.InState != "":
		return Answer{Verdict: Lost}
	case e.Absent:
		return Answer{Verdict: Free}
	case e.Holder != "":
		return Answer{Verdict: Foreign, Owner: e.Tagged, Sibling: true, Holder: e.Holder}
	case e.Taggable && !e.Tagged.IsZero():
		return judgeTagged(e)
	case e.NameIntended:
		return Answer{Verdict: Ours}
	case e.InState != "" && e.InState == e.Identity:
		return Answer{Verdict: Ours, Unproven: e.Taggable && e.NameGiven && e.Name != "" && strings.Contains(e.Identity, e.Name)}
	case e.Taggable:
		return Answer{Verdict: Foreign}
	case e.OwnedByContent && e.ContentEqual:
		return Answer{Verdict: Ours}
	case e.OwnedByContent:
		return Answer{Verdict: Foreign}
	case e.NameGiven:
		return Answer{Verdict: Ambiguous}
	default:
		return Answer{Verdict: Ours}
	}
}

// judgeTagged judges an object that has an owner tag.
func judgeTagged(e Evidence) Answer {
	ours := e.Tagged.Stack == e.Tag.Stack && e.Tagged.Stage == e.Tag.Stage && (!e.Tagged.Retained || e.releaseCut())
	if !ours || e.Tagged.Address != e.Tag.Address && !slices.Contains(e.Addresses, e.Tagged.Address) {
		return Answer{Verdict: Foreign, Owner: e.Tagged, Sibling: ours}
	}
	return Answer{Verdict: Ours, OtherStore: e.Tagged.Store != "" && e.Tagged.Store != e.Tag.Store}
}

// releaseCut reports an object whose release by this store was cut: its owner tag says "retained" already, and the entry that
// goes with the end of a release is still there.
func (e *Evidence) releaseCut() bool {
	return e.InState != "" && e.InState == e.Identity && e.Tagged.Store == e.Tag.Store && e.Tagged.Generation == e.Tag.Generation
}

// ErrForeign is matched by errors that refuse what is not ours.
var ErrForeign = errors.New("not ours")

// OwnerError refuses an object that is not ours, or of which nothing says who owns it.
type OwnerError struct {
	Kind, Identity string
	Verdict        Verdict
	Owner          reconcile.Mark
	// Holder is the address that has the object in state: one of this stage, or stack/stage:address of another.
	Holder string
}

func (e *OwnerError) Error() string {
	switch {
	case e.Holder != "":
		return fmt.Sprintf("%s %s is in state as %s", e.Kind, e.Identity, e.Holder)
	case e.Verdict == Ambiguous:
		return fmt.Sprintf("%s %s exists, and nothing says who owns it", e.Kind, e.Identity)
	case e.Owner.IsZero():
		return fmt.Sprintf("%s %s exists and is not ours", e.Kind, e.Identity)
	case e.Owner.Retained:
		return fmt.Sprintf("%s %s was retained by %s of %s/%s", e.Kind, e.Identity, e.Owner.Address, e.Owner.Stack, e.Owner.Stage)
	default:
		return fmt.Sprintf("%s %s belongs to %s of %s/%s", e.Kind, e.Identity, e.Owner.Address, e.Owner.Stack, e.Owner.Stage)
	}
}

// Is matches ErrForeign, and reconcile.ErrAmbiguous when nothing says who owns the object.
func (e *OwnerError) Is(target error) bool {
	return target == ErrForeign || e.Verdict == Ambiguous && target == reconcile.ErrAmbiguous
}
