package operation

import (
	"cmp"
	"errors"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ErrChanged is matched by every refusal of Permits.
var ErrChanged = errors.New("changed since the plan")

// ErrOlder is matched by a refusal that a later read may still lift: the value read may be an older one.
var ErrOlder = errors.New("an older value may be shown")

// ChangedError says which operation a plan does not announce, and why it would have been done.
type ChangedError struct {
	Verb Verb
	Path tree.Path
	// Why is what the plan and the object disagree about.
	Why string
	// Announced and Found are the values for people, masked where they are secret, "" where nobody filled them in.
	Announced, Found string
	// Older says that the value may be an older one: reading again may show what the plan saw.
	Older bool
}

func (e *ChangedError) Error() string {
	text := ErrChanged.Error() + ": " + e.Why
	if e.Announced != "" || e.Found != "" {
		text += " (announced: " + cmp.Or(e.Announced, "nothing") + "; found: " + cmp.Or(e.Found, "nothing") + ")"
	}
	if e.Path != "" {
		return string(e.Path) + " " + text
	}
	return text
}

// Is reports ErrChanged, and ErrOlder where that is so.
func (e *ChangedError) Is(target error) bool {
	return target == ErrChanged || target == ErrOlder && e.Older
}

// Seen is what an executor is about to do, with what it has just read.
type Seen struct {
	// Operation is what it is about to do, with the digests of now. Owner is the owner tag that was read, and Data says that
	// the object holds users' data.
	Operation
	// OwnCreation says that the object was created by this step, or that the step goes on with a creation of its own that
	// was interrupted: nobody else's value can be in it.
	OwnCreation bool
	// Called are the paths that this step has set by its own calls.
	Called []tree.Path
	// Absent says that the object is not there.
	Absent bool
	// Fresh says that reads may still show an older value than the plan's.
	Fresh bool
}

// Permits reports whether the step announces what is about to be done: nil, or a *ChangedError. Doing less than what is
// announced is always permitted, doing other never.
func (s *Step) Permits(x Seen) error {
	why := s.refuses(&x)
	if why == "" {
		return nil
	}
	return &ChangedError{Verb: x.Verb, Path: x.Path, Why: why, Older: x.Fresh}
}

// refuses says why an operation is not announced, "" when it is.
func (s *Step) refuses(x *Seen) string {
	switch x.Verb {
	case Create:
		return s.refusesCreate(x)
	case Take:
		return s.refusesTake(x)
	case Set, Unset:
		return s.refusesSet(x)
	case Retag:
		return s.refusesRetag(x)
	case Remove, Undo:
		return s.refusesRemove(x)
	case Release:
		return s.refusesRelease(x)
	case Run, Hook:
		return s.refusesRun(x)
	case Write, Detach:
		return s.refusesState(x)
	default:
		return "the verb " + string(x.Verb) + " is not known"
	}
}

// refusesCreate permits a creation where there is nothing, of the announced generation or a later one: the one before is
// given up when its creation cannot be finished.
func (s *Step) refusesCreate(x *Seen) string {
	create := s.first(Create, nil)
	switch {
	case create == nil:
		return "it is missing, and the plan does not announce that it is created"
	case !x.Absent:
		return "it is there already"
	case x.Generation < create.Generation:
		return "the plan announces another generation"
	}
	return ""
}

func (s *Step) refusesTake(x *Seen) string {
	take := s.first(Take, func(o *Operation) bool { return sameObject(o.Object, x.Object) })
	switch {
	case x.Absent:
		return ""
	case s.creates(x):
		return ""
	case take == nil:
		return "it is there, and the plan does not announce that it is taken over"
	case !take.May && take.Owner != x.Owner:
		return "it carries another owner tag"
	}
	return ""
}

// refusesSet permits a change of one path.
func (s *Step) refusesSet(x *Seen) string {
	if x.Absent {
		return "it is missing"
	}
	if s.creates(x) {
		return ""
	}
	announced := s.about(x.Path)
	if announced == nil {
		if s.affected(x) {
			return ""
		}
		return "the plan does not announce it"
	}
	called := slices.Contains(x.Called, x.Path)
	switch {
	case announced.Object.Identity != "" && x.Object.Identity != "" && announced.Object != x.Object && !called:
		return "it is another object"
	case differ(announced.Want, x.Want):
		return "the plan announces another value"
	case called || s.affected(x):
		return "" // what it holds now came of our own call
	case differ(announced.Have, x.Have):
		return "it holds neither what it held at the plan nor what is wanted"
	}
	return ""
}

func (s *Step) refusesRetag(x *Seen) string {
	if x.Absent {
		return "it is missing"
	}
	owns := s.Has(Retag) || s.Has(Take) || s.creates(x)
	if owns {
		return ""
	}
	return s.refusesSet(x)
}

// refusesRemove permits the deletion of an announced object. One that is not there is deleted already.
func (s *Step) refusesRemove(x *Seen) string {
	if x.Absent {
		return ""
	}
	remove := s.first(x.Verb, func(o *Operation) bool {
		if o.Object.Identity != "" && x.Object.Identity != "" {
			return o.Object == x.Object
		}
		own := x.OwnCreation && o.May && x.Generation > o.Generation
		return o.Object.Kind == x.Object.Kind && o.Object.Location == x.Object.Location && (o.Generation == x.Generation || own)
	})
	switch {
	case remove == nil:
		return "the plan does not announce that it is deleted"
	case !remove.Owner.IsZero() && remove.Owner != x.Owner:
		return "it carries another owner tag"
	case x.Data && !remove.Data:
		return "it holds data, and the plan does not announce that they go"
	}
	return ""
}

func (s *Step) refusesRelease(x *Seen) string {
	if x.Absent {
		return ""
	}
	if s.first(Release, func(o *Operation) bool { return sameObject(o.Object, x.Object) }) == nil {
		return "the plan does not announce that it is retained"
	}
	return ""
}

// refusesRun permits what acts by itself, with the inputs that were announced.
func (s *Step) refusesRun(x *Seen) string {
	run := s.first(x.Verb, func(o *Operation) bool { return o.Call == x.Call })
	switch {
	case run == nil:
		return "the plan does not announce that it runs"
	case differ(run.Want, x.Want):
		return "it would run with other inputs than the plan announces"
	}
	return ""
}

// refusesState permits what no call belongs to.
func (s *Step) refusesState(x *Seen) string {
	if s.Has(x.Verb) {
		return ""
	}
	return "the plan does not announce that its state changes"
}

// creates reports that the object is the step's own creation: any path of it is nobody else's.
func (s *Step) creates(x *Seen) bool {
	create := s.first(Create, nil)
	return create != nil && x.OwnCreation && x.Generation >= create.Generation
}

// first finds an announcement of a verb.
func (s *Step) first(v Verb, which func(*Operation) bool) *Operation {
	for i := range s.Operations {
		if o := &s.Operations[i]; o.Verb == v && (which == nil || which(o)) {
			return o
		}
	}
	return nil
}

// about finds the announcement of a change of a path: of this very path, or where the value is not known, of one that
// holds it or is a part of it.
func (s *Step) about(path tree.Path) *Operation {
	var loose *Operation
	for i := range s.Operations {
		o := &s.Operations[i]
		switch {
		case o.Verb != Set && o.Verb != Unset:
		case o.Path == path:
			return o
		case o.May && o.Want == "" && path.Overlaps(o.Path):
			loose = o
		}
	}
	return loose
}

// affected reports that a call of this step, which was announced and made, declares that it may change the path.
func (s *Step) affected(x *Seen) bool {
	return slices.ContainsFunc(s.Operations, func(o Operation) bool {
		return slices.Contains(x.Called, o.Path) && slices.ContainsFunc(o.Affects, func(p tree.Path) bool { return x.Path.Within(p) })
	})
}

// sameObject compares what is announced, where the identity may not have been known, with an object.
func sameObject(announced, seen state.Object) bool {
	if announced.Identity == "" {
		return announced.Kind == seen.Kind
	}
	return announced == seen
}

// differ compares two digests. One that is not known differs from nothing.
func differ(a, b string) bool { return a != "" && b != "" && a != b }
