// Package kind is the contract of a resource kind: what an author of a kind writes down.
//
// A [Kind] has eight required fields and otherwise capabilities, which a kind has or has not. A kind without an object in
// the cloud is a [StateKind]. The props struct is the attribute table (see [Table]): the tags of a field say its default,
// its limits, what the service calls it, and whether a change replaces the object. From them follow the comparison, the
// checks, the bodies of the calls, the documentation, and the mutators of a test.
//
// Erase hides the types of a kind: what an engine works with.
//
// The package knows types, tags and how a service writes attributes down. It does not know any service, and of running a
// kind it knows what package reconcile does.
package kind

import (
	"context"
	"io/fs"
	"iter"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// What kinds share with the package that runs them, under the names that it has here.
type (
	// Cloud is a provider's handle for a location.
	Cloud = reconcile.Cloud
	// Location is a provider, an account and a region.
	Location = reconcile.Place
	// OwnerTag says whose an object is.
	OwnerTag = reconcile.Mark
	// Asset is a file that Prepare made.
	Asset = reconcile.Asset
	// Found is an object that a listing showed.
	Found = reconcile.Found
	// ListScope says what a listing is for.
	ListScope = reconcile.Scope
	// Permissions are what calls need.
	Permissions = reconcile.Permissions
	// Dependence is what a provider asks of its caller beyond the operation that is called.
	Dependence = reconcile.Dependence
	// Phase is when an action is needed.
	Phase = reconcile.Phase
	// Timeouts bound operations.
	Timeouts = reconcile.Timeouts
	// Workspace is where Prepare reads and builds.
	Workspace = reconcile.Workspace
	// LogLine is one line that an object wrote, LogQuery says which lines are asked for.
	LogLine = reconcile.LogLine
	// LogQuery says which lines are asked for.
	LogQuery = reconcile.LogQuery
	// Diff collects the differences that a comparison states.
	Diff[L any] = reconcile.Diff[L]
	// Operation is a call that sets one or more paths.
	Operation[L any] = reconcile.Operation[L]
	// Observed is one answer of Bulk.
	Observed[L any] = reconcile.Observed[L]
	// Facts are what a kind is told in every call.
	Facts = reconcile.Facts
	// Update is one call on an observed object.
	Update[L any] = reconcile.Update[L]
	// Schema describes props and attributes that are maps.
	Schema = reconcile.Schema
	// Part says that an object becomes a part of another one.
	Part = reconcile.Part
	// Tags are the facts about single props and attributes.
	Tags = reconcile.Tags
)

// Kind defines a kind of object that lives in the cloud. P is what an author declares, L what a read shows, A what others
// may refer to. The first eight fields are required. All others are capabilities: one that is nil is one that the kind does
// not have.
type Kind[P, L, A any] struct {
	// Type is the name in programs, such as "aws.sqs.Queue". Doc says what it is, and what it does not manage.
	Type, Doc string
	// Observe reads the object and writes nothing. It answers ErrAbsent when the service says that there is none; a read that
	// failed is any other error.
	Observe func(context.Context, Site[P, A]) (L, error)
	// Create makes the object and returns its identity at once. It is called only after Observe answered ErrAbsent.
	Create func(context.Context, Site[P, A]) (A, error)
	// Compare states every managed aspect that no capability states. It is pure: strings of want may hold tokens.
	Compare func(d *Diff[L], want P, live L)
	// Attributes are those of an observed object. It is pure.
	Attributes func(L) A
	// Delete asks for the deletion of the object that Site.Last describes; Site.Want is zero. Before it the runner refuses what
	// HoldsData protects, and after it the runner observes until the object is missing. An object that is missing is success.
	Delete func(context.Context, Site[P, A]) error
	// Identity is the identity within the location, stable for life.
	Identity func(A) string

	// Props is the attribute table: defaults, checks, and which props are deferrable. Default and Check add what is code.
	// Dynamic is for kinds that are made of data, whose props and attributes are maps. It excludes Props.
	Props   *Table[P]
	Dynamic *Dynamic
	Default func(P) P
	Check   func(P) error
	// Named: the object has a name, given by the author or generated. Nil: the service assigns the identity.
	Named *Named[P, L]
	// Key is what an object is known by that is named by its props together, such as ZONE/NAME/TYPE. It excludes Named.
	Key func(P) string
	// Unique are what at most one resource of a stack can declare in a location, in words that follow "declares": "domain
	// shop.example". A second one is refused before anything is read. Nil: nothing but the name is.
	Unique func(P) []string
	// PartOf are the objects that this one becomes a part of. Where one of them states all of its parts, the two are refused
	// beside each other.
	PartOf []Part
	// Owner says how ownership is proved. Nil: by the name alone.
	Owner Ownership[P, L]
	// HoldsData: the object can hold users' data.
	HoldsData *HoldsData[P, L]
	// Contents lists the data that the object holds, at most so many of it: what a kind can declare with Kind and Identity, all
	// else without. What is deleted with the object does not count as data. Nil: all of it counts.
	Contents func(ctx context.Context, s Site[P, A], most int) ([]Found, error)
	// Status says whether the object can be used. Nil: as soon as it exists.
	Status func(L) Status
	// List finds objects by the beginning of their names or by their owner tag. Bulk observes many at once.
	List func(context.Context, ListScope) ([]Found, error)
	// Parents lists tagged objects that the tag-wide listing of their provider does not show. Nil: it shows them.
	Parents *Parents
	Bulk    func(context.Context, []Site[P, A]) ([]Observed[L], error)
	// Prepare builds or hashes what the props point at, before anything is observed.
	Prepare func(context.Context, Workspace, P) (map[string]Asset, error)
	// Files are the props that name the files and folders which Prepare reads. They are known only later while something
	// that comes before may still write them.
	Files []tree.Path
	// FilesAt are the paths at which Compare states what differs in those files, where they are none of Files.
	FilesAt []tree.Path
	// WritesFiles says that creating or changing one may write files of this machine, which other resources are prepared of.
	WritesFiles bool
	// Logs are the lines that the object wrote.
	Logs func(context.Context, Site[P, A], LogQuery) iter.Seq2[LogLine, error]
	// EventuallyVisible bounds how long a read may not show a write. 0: reads are consistent.
	EventuallyVisible time.Duration
	// DeleteFirst: two objects cannot exist side by side, so the old one is deleted before its replacement is created.
	DeleteFirst bool
	// Deletion says when an object that Delete was asked for counts as deleted. Nil: once Observe answers ErrAbsent.
	Deletion Deletion[L]
	// CleansUp: Delete removes more than the object, and is called for a missing one too.
	CleansUp bool
	// MovesFrom reports whether Observe may make an object of another kind, as state has it in Site.Former, one of this kind. Nil: it does so with
	// none, and an object whose kind changes is replaced.
	MovesFrom func(reconcile.Former) bool
	// Global maps the location that an object is reached by to the one that it counts as being in.
	Global   func(reached Location) Location
	Timeouts Timeouts
	API      API
	// Verify finds what is wrong with the definition beyond what is looked for here, for packages that complete kinds. Nil: nothing is.
	Verify func() error
}

// Dynamic describes a kind of which no Go type says what props and attributes it has.
type Dynamic struct {
	Schema
	// Tags is what the tags of props and attributes say elsewhere.
	Tags Tags
}

// Named says how objects are named.
type Named[P, L any] struct {
	// Given is the author's name for it, "" to have one generated. Nil: names are always generated. Prop is where the author
	// gives it; "" is name.
	Given func(P) string
	Prop  tree.Path
	// Rule is what names may be: generated names are shaped by it, and given names are checked against it. Nil: the author gives
	// each name, in a prop that is required, and Check says what it may be (a path, a domain).
	Rule func(P) NameRule
	// In is the rule as generated names are shaped by it in a location, for names that the service counts or signs by where
	// they are. Nil: the rule is the same everywhere.
	In func(rule NameRule, location Location) NameRule
	// Live is the name of an observed object: a given name that differs replaces it. Nil: the kind compares the name itself,
	// since the service can rename.
	Live func(L) string
}

// Ownership is how ownership of an object is proved beside its name: [Tagged], [OwnedByContent] or [OwnedByParent].
type Ownership[P, L any] interface{ ownership(P, L) }

// Tagged is the ownership of objects that carry the owner tag.
type Tagged[P, L any] struct {
	// Tag is the owner tag of an observed object, zero when it has none. Required.
	Tag func(L) OwnerTag
	// Compare states the tags, the author's and the owner's. Check finds what authors may not set. Either may be nil.
	Compare func(d *Diff[L], want P, live L)
	Check   func(P) error
}

// OwnedByContent is the ownership of objects of which equal content proves it (files).
type OwnedByContent[P, L any] struct{}

// OwnedByParent is the ownership of objects of which there is at most one in the list of their parent.
type OwnedByParent[P, L any] struct{}

func (Tagged[P, L]) ownership(P, L)         {}
func (OwnedByContent[P, L]) ownership(P, L) {}
func (OwnedByParent[P, L]) ownership(P, L)  {}

// Deletion is when an object that was asked to be deleted counts as deleted: [AtOnce] or [Later].
type Deletion[L any] interface{ deleted(L) bool }

// AtOnce is the deletion that is done when Delete returns, and that no observation could show: the object stays as it was
// before it was declared, or cannot be told from one out of reach. The runner does not observe afterwards.
type AtOnce[L any] struct{}

// Later reports that Delete has done what can be done for an object that is still observed, and that the service deletes it by
// itself, some time later (a subscription that nobody confirms): the runner does not wait for that.
type Later[L any] func(L) bool

func (AtOnce[L]) deleted(L) bool           { return true }
func (later Later[L]) deleted(live L) bool { return later(live) }

// HoldsData says what protects users' data.
type HoldsData[P, L any] struct {
	// Now reports whether the object holds data. Required.
	Now func(L) bool
	// What the data is, for the message of a refused deletion. Nil: the message says no more than that there is some.
	What func(L) string
	// MayDelete is the prop that permits deleting it (forceDestroy). Nil: the service has none.
	MayDelete func(P) bool
	// Retain: an object that is no longer declared is kept, and removed from state, unless deleting it is permitted.
	Retain bool
}

// Parents lists objects by what they belong to.
type Parents struct {
	// Kinds are those of the parents.
	Kinds []string
	// List lists the objects of one parent.
	List func(ctx context.Context, scope ListScope, parent Found) ([]Found, error)
}

// Status is whether an object can be used. [Ready], [Busy] and [WaitingFor] make one.
type Status struct{ busy, waiting string }

// Ready is the status of an object that can be used and changed.
func Ready() Status { return Status{} }

// Busy is the status of an object that cannot be changed yet: the runner tries again.
func Busy(why string) Status { return Status{busy: why} }

// WaitingFor is the status of an object for which somebody must act first: a run ends well, and says what they must do.
func WaitingFor(what string) Status { return Status{waiting: what} }

// API is what documentation and least privilege are made of.
type API struct {
	// Source is the package's Go source, from which documentation is read.
	Source fs.FS
	// Calls are the operations used, such as "SQS.CreateQueue".
	Calls       []string
	Permissions Permissions
}

// Site is one object at one moment.
type Site[P, A any] struct {
	Facts
	// Want is what is declared, with defaults.
	Want P
	// ID is an identity to look for, "" when none is known. Last are the attributes in state, nil without.
	ID   string
	Last *A
	// Had are the props in state, nil without. It is set for a [StateKind] alone.
	Had *P
	// New is set for Create, and nil everywhere else. MayDelete permits Delete to delete users' data.
	New       *Creation[A]
	MayDelete bool
	// Derive gives n bytes that depend on the stage's key and on info alone.
	Derive func(info string, n int) []byte
}

// Creation is what Create alone gets.
type Creation[A any] struct {
	// Deleted is the identity in state that no longer exists.
	Deleted string
	// Store saves the identity before Create returns.
	Store func(context.Context, A) error
}

// Set is an operation that sets one or more paths by one call.
func Set[L any](name string, do func(context.Context, Update[L]) error) *Operation[L] {
	return &Operation[L]{Name: name, Do: do}
}
