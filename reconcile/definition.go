package reconcile

import (
	"context"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Definition is a kind with its types hidden, as the runner works with it: values of the kind's own types are passed as any.
// Package kind makes one of what an author of a kind writes. Functions are nil for what a kind does not have, unless their
// comment says that they are required.
type Definition struct {
	// Spec is what the kind says of itself, without what follows from the functions here. Required, as Validate is, which
	// finds what is missing in the kind.
	Spec     func() Spec
	Validate func() error
	// Tags are the facts about single props and attributes. Required.
	Tags func() (Tags, error)
	// Schema describes props and attributes that are maps. Nil: their types do. Source is the Go source of those, from which
	// documentation is read.
	Schema *Schema
	Source fs.FS

	// Default fills what is left out of the props that p points at. Check finds what is wrong with them.
	Default func(p any)
	Check   func(p any) error
	// Given is the name that the props give, Naming how one is generated, MayDelete whether they permit deleting data. Unique
	// are what no other resource of a stack may declare in a location.
	Given     func(p any) string
	Naming    func(p any, place Place) Naming
	Unique    func(p any) []string
	MayDelete func(p any) bool
	Prepare   func(ctx context.Context, work Workspace, p any) (map[string]Asset, error)

	// Observe, Create, Compare, Attributes, Identity and Delete are those of the kind. Required. Create returns attributes.
	Observe     func(ctx context.Context, s *Site) (live any, err error)
	ObserveMany func(ctx context.Context, sites []*Site) ([]Observed[any], error)
	Create      func(ctx context.Context, s *Site, made *Creation) (attributes any, err error)
	Compare     func(d *Differences, p, live any)
	Attributes  func(live any) any
	Identity    func(attributes any) string
	Delete      func(ctx context.Context, s *Site) error

	// Owner is the owner tag of an object. Status says why it cannot be changed yet, and what somebody must do.
	Owner  func(live any) Mark
	Status func(live any) (busy, waiting string)
	// Holds reports whether an object holds users' data, and What says which. Guards: the runner refuses to delete it.
	Holds  func(live any) bool
	What   func(live any) string
	Guards bool
	// Deleted reports that an object which was asked to be deleted, and is still there, counts as deleted. Nil: the runner
	// does not observe what Delete returned from.
	Deleted func(live any) bool

	List      func(context.Context, Scope) ([]Found, error)
	ListUnder func(ctx context.Context, scope Scope, parent Found) ([]Found, error)
	Contents  func(ctx context.Context, s *Site, most int) ([]Found, error)
	Logs      func(ctx context.Context, s *Site, query LogQuery) iter.Seq2[LogLine, error]
}

// Declared is a kind whose props and attributes are of the types P and A, as programs declare resources of it.
type Declared[P, A any] interface {
	// TypeOf is the name of the kind, "" of none. Its arguments are there for their types.
	TypeOf(P, A) string
}

// Tags are the facts about single props and attributes that a kind states.
type Tags struct {
	// Moves are the attributes that an update in place may change, MovedBy the props of which one must change for that; Once
	// those that only the answer to the creation has; AtBirth those that are known before the object is ready.
	Moves, Once, AtBirth []string
	MovedBy              map[string][]tree.Path
	// Late are the props that may be set after the creation, NeedsSettled those whose references wait until what they refer to
	// is ready, MaskLive the maps whose live entries are masked where the program does not name them.
	Late, NeedsSettled, MaskLive []tree.Path
}

// Schema describes props and attributes that are maps.
type Schema struct {
	// Props and Attrs are documented fields. They are made on each call.
	Props, Attrs func() []props.Field
	// SecretProps and SecretAttrs are paths that are secret by what they are.
	SecretProps, SecretAttrs []tree.Path
	// Declare is what would be declared of an object with these attributes, the author's part alone. Nil: what its
	// comparison reports, see Describe.
	Declare func(attrs map[string]any) map[string]any
}

// DefaultTimeout bounds an operation of a kind that names no bound of its own.
const DefaultTimeout = 10 * time.Minute

// Timeouts bound the operations of a kind or of one resource; zero means the default.
type Timeouts struct {
	Create, Update, Delete time.Duration
}

// Part says that an object becomes a part of another one, which may state all of its parts: what one resource adds, the other
// one would take away again at each deploy.
type Part struct {
	// Prop refers to the other object, or holds its name. Kind is the other's kind.
	Prop tree.Path
	Kind string
	// States is the prop in which the other one states its parts. It states them also where the prop is left out if Always is
	// set, else only where it is declared.
	States tree.Path
	Always bool
}

// Facts are what a kind is told in every call: one more fact is one more field here.
type Facts struct {
	Address  string
	Cloud    Cloud
	Location Place
	// Name is the physical name. NameGiven: the author gave it.
	Name      string
	NameGiven bool
	Owner     Mark
	// Dir is the stack's directory: relative paths in props start there.
	Dir    string
	Assets map[string]Asset
	// Secret are the paths that hold secrets, beside those that are secret by their type.
	Secret map[tree.Path]bool
	// Dev is the dev session, nil in a plain deploy.
	Dev *Dev
	// Redact masks the secrets of the stage in a text. Nil: none is known.
	Redact func(string) string
	// Since is when this reconciliation began.
	Since time.Time
	// Nonce is random, and the same in each retry of one creation. It is "" when none is under way or was begun: by it Observe
	// knows an object of which the service chose the identity, and whose creation was not answered.
	Nonce string
	// Others are the identities of the other generations of the resource in state, where this one has none yet. A kind that finds its objects by
	// what is declared must not take one of them for this generation: it may be what a replacement replaces.
	Others []string
	// Earlier are the attributes of the newest generation before this one that state has, while this one has none: a kind that lives in dev sessions
	// goes on with what that had.
	Earlier map[string]any
	// Former is the object as state has it, where that is one of another kind, which Spec.MovesFrom takes. Observe reads it as one of this kind, or
	// fails with ErrNotMoved.
	Former *Former
	// Omits says that late props are left out now. They are set later in the same run.
	Omits bool
	// Begun says that a creation was begun and not answered: nobody knows whether there is an object. Where nothing finds one,
	// a kind whose objects cannot be looked for must not say that there is none.
	Begun bool
}

// Former is an object as state has it, of a kind other than the one that is declared for it now.
type Former struct {
	Kind     string
	Place    Place
	Identity string
	Attrs    map[string]any
}

// Site is one object at one moment, with types hidden. It is good until the function that it was given to returns.
type Site struct {
	Facts
	// Want points at the props, zero when there are none. Last and Had point at the attributes and the props in state, and are
	// nil without; Had is set for kinds that are kept in state alone.
	Want, Last, Had any
	ID              string
	MayDelete       bool
	// Derive gives n bytes that depend on the stage's key and on info alone.
	Derive func(info string, n int) []byte
}

// Creation is what Create alone gets.
type Creation struct {
	// Deleted is the identity in state that no longer exists.
	Deleted string
	// Store saves attributes, and so the identity, before Create returns.
	Store func(ctx context.Context, attributes any) error
}

// Update is one call on an observed object.
type Update[L any] struct {
	Facts
	Live L
	// Changed are the paths that the call is to set, in order.
	Changed []tree.Path
	// Store replaces the attributes in state of a kind that is kept there alone: a pointer to them, or a value.
	Store func(attributes any)
	// Begin makes attributes durable before the call makes more than state tells of (the names of files that it adds), so that
	// what a cut leaves behind is known.
	Begin func(ctx context.Context, attributes any) error
}

// Place is the location of objects. Provider alone for what has no accounts or regions.
type Place struct {
	Provider string `json:"provider"`
	Account  string `json:"account,omitempty"`
	Region   string `json:"region,omitempty"`
}

// String is the place in the form provider/account/region, empty parts left out.
func (p Place) String() string {
	s := p.Provider
	if p.Account != "" {
		s += "/" + p.Account
	}
	if p.Region != "" {
		s += "/" + p.Region
	}
	return s
}

// Mark is the owner tag of an object. It counts only inside our own account.
type Mark struct {
	Stack      string `json:"stack,omitempty"`
	Stage      string `json:"stage,omitempty"`
	Address    string `json:"address,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	Store      string `json:"store,omitempty"`
	// Retained says that the object was retained on purpose: it is listed, never deleted.
	Retained bool `json:"retained,omitempty"`
}

// SameResource reports whether two owner tags are of one resource, in whichever of its generations.
func (m Mark) SameResource(of Mark) bool {
	return m.Stack == of.Stack && m.Stage == of.Stage && m.Address == of.Address
}

// IsZero reports whether there is no owner tag at all.
func (m Mark) IsZero() bool { return m == Mark{} }

// GeneratedEnd is how many bytes each generated name ends with, before a Suffix: a hash with - before it.
const GeneratedEnd = len("-") + 8

// Naming shapes a generated name for one service.
type Naming struct {
	// Max is the greatest length in bytes, Suffix included.
	Max int
	// Allowed reports the characters that the service takes; others become "-". Nil: letters, digits and "-".
	Allowed func(rune) bool
	// Lower folds to lower case.
	Lower bool
	// Suffix is kept whole at the end (".fifo").
	Suffix string
}

// Asset is what Prepare made of a file, a directory or a build.
type Asset struct {
	// Digest is of the output: what Compare looks at.
	Digest string `json:"digest"`
	// Path is where the output lies, absolute.
	Path string `json:"path"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Files are what it was made of, so that a later plan can name those that changed; nil where nothing tells.
	Files *Files `json:"files,omitempty"`
}

// Files are the files that an asset was made of, as state keeps them.
type Files struct {
	// Count is how many there are, and Size how many bytes the asset has.
	Count int   `json:"count"`
	Size  int64 `json:"size"`
	// Digests are short digests of their contents by their names, with slashes. They are nil where there are too many to keep: such
	// files are counted alone.
	Digests map[string]string `json:"digests,omitempty"`
}

// FileChanges are the files in which an asset differs from the one that an object has.
type FileChanges struct {
	// Added, Modified and Deleted are names in their order; all are empty where the files of one side are counted alone.
	Added    []string `json:"added,omitempty"`
	Modified []string `json:"modified,omitempty"`
	Deleted  []string `json:"deleted,omitempty"`
	// CountedAlone says that the names of one side are not known.
	CountedAlone bool `json:"countedAlone,omitempty"`
	// Count is how many files the asset is made of now. Before and After are how many bytes both assets have.
	Count  int   `json:"count"`
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Workspace is where Prepare reads and builds.
type Workspace struct {
	// Dir is the stack's directory.
	Dir string
	// Cache is a folder for build outputs, by digest of their inputs. It may vanish between runs.
	Cache string
	// Told is called by Reads; nil where nobody wants to know.
	Told func(path string)
	// Turns has the turn of each name of [Workspace.First], for all that is prepared together; nil where nothing waits.
	Turns *sync.Map
}

// First builds something. Of builds of one name, which have work in common, the first one goes alone, and the others after it.
func (w Workspace) First(name string, build func() error) (err error) {
	if w.Turns == nil {
		return build()
	}
	turn, _ := w.Turns.LoadOrStore(name, new(sync.Once))
	first := false
	turn.(*sync.Once).Do(func() {
		first = true
		err = build()
	})
	if !first {
		err = build()
	}
	return err
}

// Reads tells of a file that Prepare is about to read, or of a folder of which everything counts, with its absolute path.
// It is told before the reading, so that who watches the sources also knows what is missing yet. Of a Prepare that tells
// nothing, the paths of its assets outside the cache are taken.
func (w Workspace) Reads(path string) {
	if w.Told != nil {
		w.Told(path)
	}
}

// Observed is one answer of ObserveMany.
type Observed[L any] struct {
	Live L
	Err  error // ErrAbsent, or what made the read fail
}

// Scope says what List looks for.
type Scope struct {
	Cloud Cloud
	Place Place
	Dir   string
	// Prefix is the beginning that generated names of the stage share; "" lists all.
	Prefix string
	// Mark has Stack and Stage set.
	Mark Mark
	// Kinds returns the kinds of the provider's family that an object with this owner tag may be of, by state and program, the most
	// certain first. Such a kind may manage what a listed kind of the provider manages too. Nil: it is not known.
	Kinds func(Mark) []string
}

// Found is an object that a listing showed.
type Found struct {
	Kind     string
	Place    Place
	Identity string
	Name     string
	// Mark is nil when the listing does not show owner tags; the object is then observed.
	Mark *Mark
}
