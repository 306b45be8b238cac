package reconcile

import (
	"context"
	"io/fs"
	"iter"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Kind defines a kind of resource with props P (what the author declares), live L (what the world
// shows) and attributes A (what others may refer to). It is a value, made once and never changed.
//
// Type, Observe, Create, Compare, Attrs, Delete and Identity are required; see [Any.Validate] of its erased form.
type Kind[P, L, A any] struct {
	// Type is the name in stacks, such as "aws.sqs.Queue".
	Type string
	// Doc says what the kind is, in a sentence or two, and what it does not manage.
	Doc string

	// Observe reads the thing and writes nothing (its calls are refused by the gate if they would). It
	// finds by Site.ID, else Site.Last, else Site.Name, else Site.Mark. ErrAbsent means that the world
	// answered that there is none; a read that failed is any other error, never ErrAbsent.
	Observe func(context.Context, Site[P, A]) (L, error)
	// Create makes the thing and returns its identity at once, without waiting for readiness. It is called
	// only after Observe said ErrAbsent, and creates only if absent where the API can. The mark is written
	// in the same call wherever the API allows it.
	Create func(context.Context, Site[P, A]) (A, error)
	// Compare states every managed aspect. It is pure: strings of want may hold tokens.
	Compare func(d *Diff[L], want P, live L)
	// Attrs gives the attributes of what was seen. It is pure.
	Attrs func(L) A
	// Delete removes the thing that Site.Last describes; Site.Want is zero. Missing is success. It returns when the
	// thing is gone, or scheduled for deletion where the service offers nothing sooner.
	Delete func(context.Context, Site[P, A]) error
	// Identity is the physical identity within the place, stable for life, such as an ARN or a path. A Recorded
	// kind may answer "": its address then stands for it.
	Identity func(A) string

	// Home is the place that things of a kind count as being in, whichever place they are reached by: for services that
	// are one for several places. Nil: where they are reached.
	Home func(reached Place) Place

	// Naming shapes generated names; nil when the cloud assigns the identity.
	Naming func(want P, place Place) Naming
	// Given is the name that the author gave, "" to have one generated. Nil: never given.
	Given func(want P) string
	// Defaults fills unset props with the cloud's defaults, before anything is compared.
	Defaults func(want P) P
	// Check finds what is wrong with props beyond their types. Values may be tokens.
	Check func(want P) error
	// Prepare builds or hashes what the props point at (files, directories, bundles), before looking.
	// What it returns is at hand as Site.Assets and Diff.Asset. Builds are reproducible.
	Prepare func(ctx context.Context, work Workspace, want P) (map[string]Asset, error)

	// Files are the props that name files and folders which Prepare reads. They are known only later while something that
	// comes before may still write them.
	Files []tree.Path
	// FilesAt are the paths at which Compare states what differs in those files, where they are none of Files.
	FilesAt []tree.Path
	// WritesFiles says that creating or changing one may write files of this machine, which other resources are prepared of.
	WritesFiles bool

	// Moves are the attributes that an in-place update may change; all others never do.
	Moves []string
	// MovedBy are the props whose change may move an attribute of Moves, by its name: an update that changes none of them
	// leaves it as it is. One that is not named may move with every update.
	MovedBy map[string][]tree.Path
	// Late are the props that may be left out at creation and settled afterwards; they may close cycles.
	Late []tree.Path
	// Once are the attributes readable only in the create answer.
	Once []string
	// AtBirth are the attributes that Create returns and that consumers may use before the thing is settled.
	AtBirth []string
	// NeedsSettled are props whose references wait until the upstream is settled, even where the
	// attribute is known at birth.
	NeedsSettled []tree.Path
	// MaskLive are maps that can hold secrets (env, headers): live values that the program does not name are masked.
	MaskLive []tree.Path

	// Owner is the mark found on the thing, zero when it has none. Nil: the kind cannot carry a mark.
	Owner func(L) Mark
	// Same says that equal content proves ownership where no mark can be carried (files and trees).
	Same bool
	// ByParent says that the thing is found by an exact match in the list of what it belongs to, where there can be but
	// one such: that proves ownership where no mark can be carried.
	ByParent bool
	// Recorded says that the thing is kept in the record alone: no intent, no name, recomputable.
	Recorded bool
	// Rerun says that a Recorded kind acts on the world when it is created (a command), so that a lost record
	// makes it act again.
	Rerun bool
	// InDev says that the thing lives in a dev session alone (a process that is watched): see Site.Dev. A plain deploy
	// neither makes nor misses it, and a destroy deletes what is left of it. Such a kind is Recorded.
	InDev bool
	// Stands names the kind that this one takes the place of in a dev session: its local variant, with the props and
	// attributes of that kind, which programs go on to declare. Its rows are its own, so that whatever made a thing
	// deletes it. "" for all others.
	Stands string
	// Tidies says that Delete removes more than the thing itself, such as folders that it leaves empty: it is called
	// for a thing that is gone as well, since a run may have been cut in between.
	Tidies bool
	// Holds says that the thing holds users' data now, so that deleting or replacing it needs leave.
	Holds func(L) bool
	// Held lists what the object of a site holds, at most so many of it: what a kind can declare with Kind and Identity, all else
	// without. Guards do not count what is deleted with the object. Nil: all that it holds counts.
	Held func(ctx context.Context, s Site[P, A], most int) ([]Found, error)
	// Retained says that a thing which is no longer declared is let go instead of deleted, unless there is that leave: for
	// what is worth more than the stack that made it (a domain).
	Retained bool
	// MayDelete says that a prop gives that leave (the service's own name for it, such as forceDestroy).
	MayDelete func(want P) bool
	// Busy says why the thing must not be touched yet, "" when it may.
	Busy func(L) string
	// Waiting says what somebody else must do before the thing is ready, "" when nothing.
	Waiting func(L) string

	// ObserveMany observes many at once where the API has a bulk read, answers in the order of sites.
	ObserveMany func(context.Context, []Site[P, A]) ([]Observed[L], error)
	// List finds things of this kind in a place by name prefix or mark, in as few calls as the API allows.
	List func(context.Context, Scope) ([]Found, error)
	// Under are the kinds of what an object belongs to, and ListUnder lists the objects of one such parent. They are for objects
	// that the tag-wide listing of their provider does not show although they carry tags.
	Under     []string
	ListUnder func(ctx context.Context, scope Scope, parent Found) ([]Found, error)
	// Logs are the lines that the thing wrote, oldest first; with query.Follow until the context ends. It works from
	// Site.Last, and makes reads alone.
	Logs func(ctx context.Context, site Site[P, A], query LogQuery) iter.Seq2[LogLine, error]

	// Visibility bounds how long after a write a read may still show the world without it. 0: never.
	Visibility time.Duration
	// Timeouts bound each operation; zero fields mean DefaultTimeout.
	Timeouts Timeouts

	// Tags is what the tags of the props and attributes say, in place of Moves, MovedBy, Late, Once, AtBirth, NeedsSettled and
	// MaskLive. Its error is what is wrong with the definition. Nil: those fields say it. See package kind.
	Tags func() (Tags, error)
	// Schema tells of props and attributes that no Go type names: P and A are map[string]any then, and Check finds
	// what is wrong with the props. Nil: P and A are structs, which tell of themselves.
	Schema *Schema
	// DeleteFirst says that two cannot stand side by side, so that the old one goes before its replacement comes.
	DeleteFirst bool
	// Source is the embedded Go source of the package, from which documentation is read.
	Source fs.FS
	// Calls are the API operations used, for the documentation.
	Calls []string
	// Permissions are what the calls need.
	Permissions Permissions
}

// Schema describes props and attributes that are maps.
type Schema struct {
	// Props and Attrs are documented fields. They are made on each call.
	Props, Attrs func() []props.Field
	// SecretProps and SecretAttrs are paths that are secret by what they are.
	SecretProps, SecretAttrs []tree.Path
	// Declare is what would be declared of a thing with these attributes, the author's part alone. Nil: what its
	// comparison tells, see Describe.
	Declare func(attrs map[string]any) map[string]any
}

// DefaultTimeout bounds an operation of a kind that names no bound of its own.
const DefaultTimeout = 10 * time.Minute

// Timeouts bound the operations of a kind or of one resource; zero means the default.
type Timeouts struct {
	Create, Update, Delete time.Duration
}

// Site is one resource as a kind sees it, at one moment.
type Site[P, A any] struct {
	Address string
	// Want is what is declared, resolved and with defaults. While planning its strings may hold tokens.
	Want P
	// Name is the physical name, given or generated; "" when the kind has none or it is not known yet.
	Name string
	// Named says that the author gave the name.
	Named bool
	// ID is an identity to take over or, with a record, the recorded one. "" when neither.
	ID string
	// Last are the attributes as recorded, nil without a record.
	Last *A
	// Had are the props as last settled, nil without a record. Set for Recorded kinds alone.
	Had *P
	// Mark is what the thing carries, or is to carry.
	Mark Mark
	// Place is where it lives, with the account that was checked.
	Place Place
	// Cloud is the provider's handle for the place.
	Cloud Cloud
	// Nonce is random, kept with the intent, and the same in each retry of that one creation.
	Nonce string
	// Gone is the identity on record that the world no longer shows, for longer than it may hide a write. Set for Create
	// alone.
	Gone string
	// Since is when this settling began: what the world may not know yet of other things, it has not known for longer than
	// that. Set for Create alone.
	Since time.Time
	// Born stores the identity before Create returns, where the API tells it long before it is done. Set for Create
	// alone; what it answers ends the creation.
	Born func(context.Context, A) error
	// MayDelete is the leave to delete users' data with the thing. Delete refuses without it.
	MayDelete bool
	// Dir is the stack's directory; relative paths in props start there.
	Dir string
	// Assets are what Prepare made.
	Assets map[string]Asset
	// Secret are the paths of Want that hold secrets, beside those that are secret by their type.
	Secret map[tree.Path]bool
	// Derive gives n bytes that depend on the stage's key and on info alone. For recomputable secrets.
	Derive func(info string, n int) []byte
	// Dev is the dev session at work, nil in a plain deploy.
	Dev *Dev
	// Redact masks the secrets of the stage in a text, those that become known later included. Nil: nothing is known.
	Redact func(text string) string
}

// Place is where things live. Provider alone for what has no accounts or regions.
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

// Mark says whose a thing is. It counts only inside our own account.
type Mark struct {
	Stack      string `json:"stack,omitempty"`
	Stage      string `json:"stage,omitempty"`
	Address    string `json:"address,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	Store      string `json:"store,omitempty"`
	// Retained says that the thing was let go on purpose: it is listed, never deleted.
	Retained bool `json:"retained,omitempty"`
}

// IsZero reports whether there is no mark at all.
func (m Mark) IsZero() bool { return m == Mark{} }

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
}

// Workspace is where Prepare reads and builds.
type Workspace struct {
	// Dir is the stack's directory.
	Dir string
	// Cache is a folder for build outputs, by digest of their inputs. It may vanish between runs.
	Cache string
	// Told is called by Reads; nil where nobody wants to know.
	Told func(path string)
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
}

// Found is a thing that a listing showed.
type Found struct {
	Kind     string
	Place    Place
	Identity string
	Name     string
	// Mark is nil when the listing does not show marks; the thing is then observed.
	Mark *Mark
}
