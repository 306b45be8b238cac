// Package statestore remembers between runs: rows, runs, leases, events.
//
// It knows how a row is written durably by exactly one writer at a time. It does not know what a
// resource is, what a plan is, or what the sealed bytes it carries mean; those belong to the engine.
//
// There is one narrow contract, [Store], and one conformance suite, statestore/storetest, that every
// implementation passes with the same cases. Exclusion comes from a lease row, never from a file lock,
// so that readers, cancel and unlock work while a deploy runs.
package statestore

import (
	"context"
	"time"
)

// Stage names one instance of one stack: what rows, runs and the lease belong to.
type Stage struct {
	Stack string `json:"stack"`
	Name  string `json:"stage"`
}

func (s Stage) String() string { return s.Stack + "/" + s.Name }

// Store holds the record of every stage of a project. All methods may be called from any number of
// goroutines and processes at once.
//
// Errors that callers branch on: [ErrHeld], [ErrFenced], [ErrConflict], [ErrOwned], [ErrNeeded],
// [ErrReplay], [ErrDamaged], [ErrNewer], [ErrUnavailable].
type Store interface {
	// Load reads one consistent version of a stage without a lease. A stage that was never written
	// loads as an empty snapshot with Serial 0 and no error. A row that cannot be decoded is listed in
	// Snapshot.Damaged and never left out silently; it does not stop the others.
	Load(ctx context.Context, stage Stage) (*Snapshot, error)

	// Acquire takes the lease by one compare-and-swap, raises the epoch and registers the run as
	// running, in one commit. When another live run holds it, the error is a *HeldError naming it. A holder on
	// this machine whose process has ended, which its lock proves, is taken over at once, any other when its lease
	// ends; its run becomes lost. The oldest runs beyond KeptRuns are forgotten
	// in the same commit, with their events.
	Acquire(ctx context.Context, stage Stage, claim Claim) (Lease, error)

	// Commit applies one batch in one durable transaction, after checking (epoch, run) in that same
	// transaction. It is idempotent by (epoch, Batch.Seq): the same content again is a replay and
	// succeeds, other content is ErrReplay. Cost is O(batch), whatever the number of rows. It returns
	// the new state of the lease; a batch with Finish releases it.
	Commit(ctx context.Context, lease Lease, batch Batch) (Lease, error)

	// Interrupt writes the lease row only, without holding the lease: ask the holder to stop
	// gracefully, or take the lease away. It is idempotent. With nothing held it reports false.
	Interrupt(ctx context.Context, stage Stage, order Order) (bool, error)

	// Runs lists the runs of a stage, newest first, at most limit (0: all kept ones).
	Runs(ctx context.Context, stage Stage, limit int) ([]Run, error)

	// Events reads a run's events with a sequence greater than after, in order, at most limit (0: all).
	Events(ctx context.Context, stage Stage, run string, after uint64, limit int) ([]Event, error)

	// Stages lists the stages that have rows, runs or a lease.
	Stages(ctx context.Context) ([]Stage, error)

	// ID is the store's own identity, part of every owner tag. It is made with the store.
	ID(ctx context.Context) (string, error)

	// Close releases what the store holds open. It does not release leases.
	Close() error
}

// Snapshot is one consistent version of a stage.
type Snapshot struct {
	Stage Stage
	// Serial rises with row changes only; runs, leases, events and statistics leave it alone.
	Serial uint64
	// Revision rises with each commit that changes rows, outputs, stage-wide facts or the key: equal revisions of one
	// stage show the same, runs and leases apart.
	Revision uint64
	// Epoch is the newest that was given out.
	Epoch uint64
	// KeyID names the stage key that sealed the bodies, empty when nothing was sealed yet.
	KeyID string
	// Rows by address.
	Rows map[string]Row
	// Damaged lists rows that cannot be decoded, by address.
	Damaged map[string]*DamagedError
	// DamagedFacts are outputs and meta entries that cannot be decoded; Err says which.
	DamagedFacts []*DamagedError
	// Outputs are the sealed outputs of the last run that wrote them, nil when none did.
	Outputs []byte
	// Meta is a small set of sealed stage-wide facts of the engine, by name.
	Meta map[string][]byte
	// Holder is the run that holds the lease, nil when it is free or expired.
	Holder *Holder
	// LastRun is the newest run that reached a final state, nil when there was none.
	LastRun *Run
}

// Row is what is remembered of one address. The store checks its structure and keeps Body unread.
type Row struct {
	Address string
	// Version is the version that the writer read; 0 means that it must not exist. The store raises it by one on each
	// write and refuses (ErrConflict) when it is not the stored one.
	Version uint64
	// Birth is the address that the live object was created with; its generated name stays that one's.
	Birth string
	// Needs are the addresses of other rows that this one's objects depend on, sorted. A row that
	// another row needs cannot be removed (ErrNeeded).
	Needs []string
	// Generations are the objects of this address, at most one live and at most one candidate, numbers
	// distinct. An empty list removes the row.
	Generations []Generation
	// Body is sealed by the engine: options, inputs, bookkeeping.
	Body []byte
	// Written is the time of the last write, set by the store's clock.
	Written time.Time
}

// State says what a generation is to its row.
type State string

// The states of a generation.
const (
	Candidate State = "candidate" // being made; nothing depends on it yet
	Live      State = "live"      // the one that is compared and referred to
	Condemned State = "condemned" // to be deleted
)

// Place is the location of a physical object.
type Place struct {
	Provider string `json:"provider"`
	Account  string `json:"account,omitempty"`
	Region   string `json:"region,omitempty"`
}

// Generation is one physical object, or the intent to create one.
type Generation struct {
	Number uint64
	State  State
	// Slot is the name slot (0 to 3) that it occupies.
	Slot  int
	Kind  string
	Place Place
	// Identity is the physical identity, in clear so that an object can be named when the body cannot
	// be read. Empty while nothing is known to exist. Within (Place, Kind) one identity belongs to one
	// row (ErrOwned).
	Identity string
	// Intent is set from before the create call until its result is stored.
	Intent bool
	// Body is sealed by the engine: attributes, written digests, nonce.
	Body []byte
	// Written is when this generation was last written, set by the writer.
	Written time.Time
}

// Claim asks for a lease.
type Claim struct {
	Run     string // unique id of the run; also the holder's proof
	Command string // "deploy", "destroy", ...
	User    string
	TTL     time.Duration // 0 means 30 s

	// For is the process that a service claims for; nil: this process claims for itself.
	For *Client
	// TokenHash is the SHA-256 of the token that every write of the run must carry; empty: none is asked for.
	TokenHash []byte
	// Ended is a run whose process has ended, which the process that claims has proven itself. It counts where a service
	// claimed for that run, since the store cannot look at the machine of a client.
	Ended string
}

// Client is a process that a service claims for.
type Client struct {
	Host string
	PID  int
	// Proof lets other processes of the client's machine prove that it has ended. Stores do not read it.
	Proof string
}

// Lease is the right to write to one stage, until it expires or is taken away.
type Lease struct {
	Stage Stage
	Run   string
	Epoch uint64
	// Token is what the store compares with Claim.TokenHash in the transaction of each write.
	Token Token
	// Serial is the snapshot's, after what the lease was last told of: a holder needs not load again to know whether
	// somebody wrote before it came. So is Revision, for facts and outputs too.
	Serial, Revision uint64

	TTL     time.Duration
	Expires time.Time // by the store's clock, for people; writers use Journal.Held
	// Margin is how long before the end the holder starts nothing more; 0 is a fifth of the TTL.
	Margin time.Duration
	// Cancelled says that somebody asked the holder to stop gracefully.
	Cancelled bool
}

// Token is a secret that formatting does not show.
type Token string

// String says only whether there is a token.
func (t Token) String() string {
	if t == "" {
		return ""
	}
	return "[token]"
}

// GoString is String.
func (t Token) GoString() string { return t.String() }

// Holder describes who holds a lease.
type Holder struct {
	Run     string    `json:"run"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	User    string    `json:"user,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	// Proof is that of the claim, see [Client].
	Proof string `json:"-"`
}

// Batch is what one Commit does. All of it happens, or none.
type Batch struct {
	// Seq rises by one with each batch of an epoch, starting at 1.
	Seq uint64
	// Put writes rows, each against its Version; a row without generations is removed.
	Put []Row
	// Move renames rows, before Put: keys are old addresses, values new ones. Needs of other rows follow.
	Move map[string]string
	// Meta sets stage-wide facts; a nil value removes one.
	Meta map[string][]byte
	// Outputs replaces the outputs when not nil.
	Outputs []byte
	// KeyID sets Snapshot.KeyID when not empty.
	KeyID string
	// Events are appended to the run. They never cause a commit of their own (see Journal).
	Events []Event
	// Renew extends the lease by its TTL. Every batch may; an otherwise empty one must.
	Renew bool
	// Finish ends the run in this state and releases the lease.
	Finish RunState
	// Summary is stored with the finished run.
	Summary []byte
}

// RunState says how far a run is. Final states never change.
type RunState string

// The states of a run.
const (
	Running   RunState = "running"
	Succeeded RunState = "succeeded"
	Failed    RunState = "failed"
	Cancelled RunState = "cancelled"
	Lost      RunState = "lost" // its holder died or was unlocked
)

// Run is one deploy, destroy, drift repair, adoption or state command.
type Run struct {
	ID      string    `json:"run"`
	Command string    `json:"command"`
	State   RunState  `json:"state"`
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Epoch   uint64    `json:"epoch"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Note    string    `json:"note,omitempty"` // who unlocked it and why
	// Cancelled says that somebody asked the run to stop gracefully.
	Cancelled bool   `json:"cancelled,omitzero"`
	Summary   []byte `json:"summary,omitempty"`
}

// Event is one step of a run. Body is the engine's own JSON, already redacted.
type Event struct {
	Seq  uint64
	Body []byte
}

// Order is what Interrupt asks for.
type Order struct {
	Unlock bool   // false: stop gracefully; true: raise the epoch and free the lease
	Run    string // when set, only this run is meant
	Who    string
	Why    string
	// ID names the order, so that an unlock which is repeated because its answer was lost still reports true.
	ID string
	// Expired, with Unlock, takes the lease away only when it ended so long ago: a run that was orphaned is ended, and one
	// that renewed a moment before is left alone.
	Expired time.Duration
}
