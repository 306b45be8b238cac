// Package kindtest is the conformance suite for resource kinds: one call checks every rule that a kind must
// keep and that can be seen from outside it.
//
// It drives a kind as an engine would, with a record that survives crashes and a gate through which all
// calls pass, against a world that the caller makes and can look at and edit without the kind. It does not
// know any kind, any cloud or the engine.
//
//	func TestQueue(t *testing.T) {
//		kindtest.Run(t, kindtest.Suite{
//			Kind:     queueKind.Erase(),
//			World:    func(t kindtest.T) kindtest.World { … },
//			Base:     map[string]any{"visibilityTimeout": "30s"},
//			Variants: []kindtest.Variant{{Name: "long", Props: map[string]any{"visibilityTimeout": "60s"}}},
//			Hands: map[tree.Path]kindtest.Hand{
//				"visibilityTimeout": func(t kindtest.T, w kindtest.World, to kindtest.Edited) { … },
//				"":                  …, // deletes it
//			},
//			Fault:    func(c reconcile.Class) error { … },
//		})
//	}
//
// Every prop must be set by Base or by a variant. Every leaf of the props, found in their type, must be within the
// reach of a hand, which changes it in the world: the change is seen and repaired. What no hand can change is named in
// Steady with the reason.
package kindtest

import (
	"context"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// T is the part of testing.TB that checks use, so that the suite itself can be tested.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
	Context() context.Context
	TempDir() string
}

// Suite says what is to be checked. Kind, World and Base are required; Fault and World.Objects too, unless
// the kind is kept in the record alone.
type Suite struct {
	Kind reconcile.Any
	// World makes a fresh, empty world. It is called many times.
	World func(t T) World
	// Base are valid props, as a tree.
	Base map[string]any
	// Variants are props to go to and back, each whole. At best each changes several props; each prop that
	// differs from Base is also changed alone, where that is valid.
	Variants []Variant
	// Hands change the world behind the kind's back, by the path that each writes with everything below it: from them and
	// the variants the drift matrix is made. The one at "" deletes the object. Required, unless the kind is kept in
	// state alone.
	Hands map[tree.Path]Hand
	// Others are values for a leaf (with * for elements and entries) that a hand can write, where those of the
	// variants and those that its type suggests are no good.
	Others map[tree.Path][]any
	// Open are the maps in which what others add is left alone, and the props that are while nothing is declared, with the
	// reason; their documentation says so.
	Open map[tree.Path]string
	// Edits are further changes of the world, which no hand makes.
	Edits []Edit
	// Fault is an error that the provider classifies as that class, nil where it has none. Denied, Throttled
	// and Transient are asked for.
	Fault func(reconcile.Class) error
	// MayBeDenied are reads, as Service.Operation, that the kind does without where it has no permission for them, each with the reason.
	MayBeDenied map[string]string
	// Secrets are paths of text that may hold a secret, beside those that are secret by type.
	Secrets []tree.Path
	// Silent are props whose change alone is no difference, and Steady the paths that nothing in the world can
	// make differ, each with the reason. What is in Steady needs no hand.
	Silent, Steady map[tree.Path]string
	// Ordered are the lists whose order counts, each with the reason; an object or a map stands for those in it. Every other list is a
	// set: its elements in another order are no difference, whatever order the service answers in. The empty path stands for all lists
	// of a kind that is made of a schema, which says what is a set.
	Ordered map[tree.Path]string
	// Alias are the paths at which a prop's differences show, where that is not its own.
	Alias map[tree.Path]tree.Path
	// Unreadable are paths whose values a read does not return, each with the reason: nobody can write down from the
	// object how it is made there.
	Unreadable map[tree.Path]string
	// Fetched are props that name what Prepare fetches from elsewhere than this machine, each with the reason: where one is set, Prepare may tell of no
	// file that it reads.
	Fetched map[tree.Path]string
	// Own are attributes that each making has others of, such as generated names, of a kind that is kept in the record
	// alone: they are left out where two makings are compared.
	Own []string
	// Rewritten is the reason why an object that is found without its state is written to once more (a secret that
	// nobody can read), "" when nothing is.
	Rewritten string
	// Forgotten are attributes that only state holds, each with the reason: what an object was before it was ours.
	Forgotten map[string]string
	// Unfindable is the reason why an object cannot be found without its state, "" when it can.
	Unfindable string
	// Unanswered is the error with which an object that is Unfindable refuses to go on where its creation was begun and
	// nothing says whether that happened: a second one is not made in silence. Nil: it goes on.
	Unanswered error
	// Lingers is the reason why a deleted object is still seen for a while (a deletion that is only scheduled),
	// "" when it disappears at once. Objects must not list it.
	Lingers string

	shared *shared // what the checks of one run find once; nil: each finds it anew
}

// Variant is a whole set of props.
type Variant struct {
	Name  string
	Props map[string]any
}

// Edit changes one managed leaf in the world.
type Edit struct {
	// Path is where the difference is to be seen, and nowhere else.
	Path tree.Path
	// From names the variant that the object is made from; "" is Base.
	From string
	// Do makes the change; attrs are the object's attributes.
	Do func(t T, w World, attrs map[string]any)
}

// World is where one kind's objects are made.
type World struct {
	Cloud reconcile.Cloud
	// Dir is the stack's directory.
	Dir string
	// Dev is the session of a kind that lives in one alone.
	Dev *reconcile.Dev
	// Objects lists every object that exists, found without the kind, each as a tree of all its managed
	// aspects. What differs between two makings of the same object is left out: ids, times, generated names.
	Objects func() []any
	// End ends a world that takes much, such as a session with a runtime, once no check needs it. Nil: nothing does before the test ends.
	End func()
	// Sampled says that calls take long in this world. Every rule is still checked at every prop, and in fewer ways, the same ones each
	// time: of a transition a few cuts; leaves that are changed together as far as they can be, some of those that are taken away or
	// added, and each by itself when something is wrong with the rest; props of one variant that are unset together. Without it
	// everything is played.
	Sampled bool
}

// Check is one rule.
type Check struct {
	Name string
	Do   func(t T, s Suite)
}

// Run checks every rule, each as its own test.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if err := s.Kind.Validate(); err != nil { // nothing else says more
		t.Fatalf("kind %s: %v", s.Kind.Spec().Type, err)
	}
	s = s.Shared()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Helper()
			c.Do(t, s)
		})
	}
}

// The names of the checks, for those who choose some of them.
const (
	Definition    = "definition is whole and documented"
	RoundTrip     = "props survive Go and trees"
	ZeroDefaults  = "plain fields default to zero"
	ReadOnly      = "a look writes nothing"
	ThreeStarts   = "three starts end equal"
	ThereAndBack  = "there and back, and twice writes nothing"
	PropAlone     = "a prop alone is a difference, and replaces as documented"
	Deferred      = "what may come late is emptied by a call of its own"
	Unset         = "unset means the default"
	FailedReads   = "a failed read is never absent"
	Crashes       = "a crash at any call heals"
	DeletedTwice  = "deleting twice"
	Drift         = "drift is seen at its own path and repaired"
	DriftMatrix   = "every leaf that somebody changes is seen and repaired"
	Unknown       = "unknown props"
	SecretsMasked = "secrets are masked"
	Described     = "a thing can be written down as it is"
	Bulk          = "bulk reads and listings agree with single looks"
	Calls         = "calls are documented"
)

// Checks are all rules, in an order in which the first to fail tells most.
func Checks() []Check {
	return []Check{
		{Definition, checkDefinition},
		{RoundTrip, checkRoundTrip},
		{ZeroDefaults, checkZeroDefaults},
		{ReadOnly, checkLook},
		{ThreeStarts, checkStarts},
		{ThereAndBack, checkVariants},
		{PropAlone, checkAlone},
		{Deferred, checkDeferred},
		{Unset, checkDefaults},
		{FailedReads, checkReads},
		{Crashes, checkCrashes},
		{DeletedTwice, checkDelete},
		{Drift, checkDrift},
		{DriftMatrix, checkMatrix},
		{Unknown, checkUnknown},
		{SecretsMasked, checkSecrets},
		{Described, checkDescribed},
		{Bulk, checkBulk},
		{Calls, checkCalls},
	}
}

// RunOnly checks the named rules, each as its own test: for props that another suite of the kind leaves out.
func RunOnly(t *testing.T, s Suite, names ...string) {
	t.Helper()
	s = s.Shared()
	for _, name := range names {
		i := slices.IndexFunc(Checks(), func(c Check) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("no check has the name %q", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Helper()
			Checks()[i].Do(t, s)
		})
	}
}
