package reconcile

import (
	"context"
	"iter"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Any is a Kind with its types hidden: what an engine works with. See Erase.
type Any interface {
	// Spec is what the kind says of itself.
	Spec() *Spec
	// Outline is what of that needs no look at the types of props and attributes: a process describes only the kinds that it uses.
	Outline() Spec
	// Validate finds what is missing in the definition.
	Validate() error
	// Decode checks the props of a job: types, required ones, the kind's own Check. The error is a props.Errors where it
	// concerns props.
	Decode(job *Job) error
	// Names fills Job.Given and Job.Naming from the props.
	Names(job *Job)
	// Prepare builds or hashes what the props point at and fills Job.Assets.
	Prepare(ctx context.Context, job *Job, work Workspace) error
	// Look observes and compares, and writes nothing. Absent is an answer, not an error.
	Look(ctx context.Context, job *Job) (Look, error)
	// LookMany looks at many jobs of one place at once, where the kind can; else one by one.
	LookMany(ctx context.Context, jobs []*Job) ([]Look, []error)
	// Compare compares what an earlier Look saw with the job's props of now. It makes no call.
	Compare(job *Job, seen Look) (Look, error)
	// Settle reconciles the object: it makes it match the declaration.
	Settle(ctx context.Context, job *Job, hooks Hooks) (Outcome, error)
	// Delete deletes what Job.Last describes and returns when it is deleted.
	Delete(ctx context.Context, job *Job) error
	// List finds objects of this kind.
	List(ctx context.Context, scope Scope) ([]Found, error)
	// ListUnder finds the objects of this kind that belong to an object of one of Spec.Under.
	ListUnder(ctx context.Context, scope Scope, parent Found) ([]Found, error)
	// Held lists what the object of a job holds, at most so many of it. See Spec.ListsHeld.
	Held(ctx context.Context, job *Job, most int) ([]Found, error)
	// Logs returns the lines that the object of a job wrote. See Spec.Logs.
	Logs(ctx context.Context, job *Job, query LogQuery) iter.Seq2[LogLine, error]
}

// Spec is what a kind says of itself, without its types.
type Spec struct {
	Type, Doc             string
	Moves, Once, AtBirth  []string
	MovedBy               map[string][]tree.Path
	Late, NeedsSettled    []tree.Path
	Files                 []tree.Path
	FilesAt               []tree.Path
	WritesFiles           bool
	Recorded, Rerun, Same bool
	// InStateAlone says that looking at an object asks nobody: what state has of it is all that there is.
	InStateAlone        bool
	ByParent, Tidies    bool
	Retained            bool
	Marked, Lists, Bulk bool
	// Under are the kinds of the parents by which objects are listed that no tag-wide listing shows. ListsHeld says that the
	// kind lists what an object holds, HoldsData that an object may hold users' data.
	Under                    []string
	ListsHeld, HoldsData     bool
	Logs                     bool
	Named, Prepares          bool
	Visibility               time.Duration
	Timeouts                 Timeouts
	Calls                    []string
	Permissions              Permissions
	SecretProps, SecretAttrs []tree.Path
	// Props and Attrs document the two structs; they are read from source on each call.
	Props, Attrs func() ([]props.Field, error)
	// NewProps and NewAttrs return pointers to new zero values of the kind's types.
	NewProps, NewAttrs func() any
	// Shape is the props and attributes without their documentation. Fails on a type that cannot hold any.
	Shape func() (props, attrs []props.Field, err error)
	// Declare is that of the kind's schema, nil without one.
	Declare func(attrs map[string]any) map[string]any
	// MovesFrom reports whether the kind may make an object of another kind, as state has it, one of its own. Nil: it does so with none.
	MovesFrom func(Former) bool
	// Unique says that the kind names what no other resource may declare. Parts are the objects that it becomes a part of.
	Unique bool
	Parts  []Part
	// DeleteFirst deletes the old object before its replacement is created.
	DeleteFirst bool
	// Home is that of the kind, nil where objects are in the location that they are reached by.
	Home func(reached Place) Place
	// InDev: it lives in a dev session alone.
	InDev bool
	// Stands is the kind whose local variant this is, "" for all others.
	Stands string
}

// Job is one resource at one moment, with types hidden. Make a new one when the props change.
type Job struct {
	Address string
	// Props is the declaration as a tree; strings may hold tokens for what is in Unknown.
	Props map[string]any
	// Unknown and Secret are the paths that are known only later, and those that must be masked.
	Unknown, Secret map[tree.Path]bool
	// Omit are late paths left out now; Ignore those not compared; ReplaceOn those whose change replaces.
	Omit, Ignore, ReplaceOn []tree.Path
	// From, if set, are props that the object was made of: only what Props want otherwise is compared and set. Whatever
	// else differs stays as it is, and nothing needs to be prepared for it.
	From map[string]any
	// Query says that the props are what an object is looked for by, not a whole declaration; required ones may be
	// missing.
	Query bool
	// Name is the physical name. Names fills Given and Naming; the engine decides Name and Named.
	Name   string
	Named  bool
	Given  string
	Naming *Naming
	// Leave says that a prop permits to delete users' data with the object. Names fills it too, and Unique, which are
	// what no other resource of a stack may declare in a location.
	Leave  bool
	Unique []string
	// ID is an identity to look for. Last are the attributes in state, nil without any.
	ID   string
	Last map[string]any
	// Had are the resolved props as last reconciled, nil without state.
	Had map[string]any
	// Written are the keyed digests of write-only paths in state; Digest makes them.
	Written map[tree.Path]string
	Digest  func(domain string, data []byte) string
	Derive  func(info string, n int) []byte

	Mark      Mark
	Place     Place
	Cloud     Cloud
	Nonce     string
	MayDelete bool
	Dir       string
	Assets    map[string]Asset
	// OldAssets are the assets in state of which it tells the files, by name, without paths.
	OldAssets map[string]Asset
	// Dev and Redact are those of the site.
	Dev    *Dev
	Redact func(text string) string
	// LastWrite is when the row or intent was last written: absent within the kind's visibility bound of it is "not yet".
	LastWrite time.Time
	// OlderUntil is until when a look that finds the object by its name may show an older generation of it, which was deleted.
	// Addresses are further addresses that the owner tag of an older generation may hold.
	OlderUntil time.Time
	Addresses  []string
	// Intent says that its creation was begun and that its identity is not in state: within the bound a read may still
	// show what was there before.
	Intent bool
	// Others are the identities of the other generations of the resource in state.
	Others []string
	// Earlier are the attributes of the newest generation before this one, while this one has none.
	Earlier map[string]any
	// Former is the object as one of another kind, nil for any other look. See Facts.
	Former *Former
	// Begun says that its creation was begun, in an earlier run or in this one, and was not answered.
	Begun bool
	// Timeouts of the resource; zero fields mean the kind's.
	Timeouts Timeouts
	// Force runs every call of the steps again also where nothing differs: commands run again. See Hooks.
	Force bool

	typed                any // a pointer to the declaration in the kind's own type, once it is decoded
	maskLive, secretType []tree.Path
	written              map[tree.Path]string
	fresh                bool               // Create has just been called: write-only paths hold what it wrote
	made                 map[tree.Path]bool // paths whose call has succeeded in this settling
}

// Look is what one look showed.
type Look struct {
	// Absent: there is none. NotYet: there is none to be seen, within the visibility bound of the last write. HiddenUntil is
	// when that bound has passed, and an absence is certain.
	Absent, NotYet bool
	HiddenUntil    time.Time
	Identity       string
	Attrs          map[string]any
	// Steps are the differences, in the order of the kind's Compare; empty when the object is as declared.
	Steps []Step
	// Owner is the owner tag on the object; Marked reports whether the kind can carry one.
	Owner Mark
	// Busy and Waiting say why it must not be touched yet, and what somebody else must do.
	Busy, Waiting string
	// Holds: it holds users' data now.
	Holds bool
	// MayDelete: a prop gives leave to delete that data.
	MayDelete bool

	live any
}

// DropLive drops what the look keeps to be compared again.
func (l *Look) DropLive() {
	if l.live != nil {
		l.live = nil
	}
}

// Replaces reports the steps that have no in-place way, unknown ones included.
func (l Look) Replaces() []Step {
	var steps []Step
	for _, s := range l.Steps {
		if s.Replaces {
			steps = append(steps, s)
		}
	}
	return steps
}

// Hooks are the engine's part in Settle. All are optional.
type Hooks struct {
	// Intend makes the intent to create durable, before Create is called. For a kind whose objects are in state alone
	// it does so before each operation that is not StateOnly too, since state alone tells what was begun.
	Intend func(ctx context.Context) error
	// Born is told the identity that Create returned, before anything else is done.
	Born func(ctx context.Context, identity string, attrs map[string]any) error
	// Keep makes durable what Born was given. It is called before anything is waited for and before the object is
	// changed further, but not when the first read after Create shows it as declared: then the outcome says it all.
	Keep func(ctx context.Context) error
	// Begin makes attributes durable that hold more than what is there yet, before an operation adds it.
	Begin func(ctx context.Context, attrs map[string]any) error
	// Permit decides, on each read that shows an object, whether it may be taken and changed as the steps say. An error
	// that matches ErrReadAgain is waited out: the object is read again.
	Permit func(look Look) error
	// Calling is told the paths that a call is about to set.
	Calling func(paths []tree.Path)
	// Note tells what is waited for.
	Note func(text string)
}

// Outcome is the result of a Settle that succeeded.
type Outcome struct {
	Identity string
	Attrs    map[string]any
	// Created says that this Settle called Create. Changed are the paths that were set.
	Created bool
	Changed []tree.Path
	// Waiting says what somebody else must do, "" when the object is as declared.
	Waiting string
	// Written are the keyed digests of write-only paths as they are now.
	Written map[tree.Path]string
	Holds   bool
}
