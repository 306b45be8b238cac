package statestore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/host"
)

// DefaultTTL is how long a lease lasts without renewal when the claim does not say.
const DefaultTTL = 30 * time.Second

// MaxWaitingEvents bounds the events that wait for a commit. Beyond it new ones are dropped, which a
// reader sees as a gap in the sequence: a run never stops because its events have nowhere to go.
const MaxWaitingEvents = 1 << 16

// Change is what one caller wants written, all of it or nothing. The journal keeps what it is given:
// slices and maps must not be modified afterwards.
//
// The Version of a row matters only until this journal has written or moved that row once: from then on the
// journal knows the stored version itself, and writers need not thread it.
type Change struct {
	// Put writes rows, each address at most once; a row without generations is removed.
	Put []Row
	// Move renames rows, before Put. Keys are old addresses, values new ones.
	Move map[string]string
	// Meta sets stage-wide facts; a nil value removes one.
	Meta map[string][]byte
	// Outputs replaces the outputs when not nil.
	Outputs []byte
	// KeyID sets the name of the stage key when not empty.
	KeyID string
}

// Journal is the one writer of a stage during one run, above any [Store]. It holds and renews the
// lease, merges what many goroutines want written into as few commits as possible, and knows the
// versions of the rows that it wrote. All methods may be called from any number of goroutines.
//
// A commit starts at once when none is running; what arrives meanwhile shares the next one. No timer
// is involved, so that a lone writer never waits for company.
type Journal struct {
	store Store
	pacer Pacer // nil in production
	clock clock
	ttl   time.Duration

	writing   context.Context    // of every commit; never cancelled
	stopping  context.Context    // of the renewing goroutine
	stop      context.CancelFunc // ends it
	done      sync.WaitGroup     // the renewing goroutine, and callers that commit
	cancelled chan struct{}
	hurry     chan struct{} // asks for a renewal before its time

	mu       sync.Mutex
	lease    Lease
	renewed  reading // taken before the last successful commit was sent
	queue    []*waiting
	draining bool
	seq      uint64
	versions map[string]uint64
	unknown  *Batch // sent, outcome unknown; it goes again before anything else
	events   []Event
	eventSeq uint64
	commits  int
	fate     error     // set once: why nothing more is taken
	finished RunState  // set with the durable last commit
	told     bool      // cancelled is closed
	asked    *question // the one that is put to the store next
	asking   bool      // somebody puts questions
}

// Pacer is a store that decides when a journal collects the changes of its next commit. Which changes share a commit
// then depends on the Pacer alone and not on how goroutines are scheduled. No store of a product is one: a simulation is,
// so that a run can be repeated exactly.
type Pacer interface {
	// Pace returns when the changes of the next commit are to be collected.
	Pace()
}

// waiting is one caller's change on its way into a batch.
type waiting struct {
	change  Change
	finish  RunState
	summary []byte
	renewal bool
	patient bool // it starts no commit
	invite  func() (alone <-chan struct{})
	done    chan error
}

// Begin takes the lease of a stage and starts renewing it, at a third of its time to live, until
// Finish or Close, or until it is lost. The acquisition is the first commit of the run. Errors are those of [Store.Acquire].
func Begin(ctx context.Context, store Store, stage Stage, claim Claim) (*Journal, error) {
	return begin(ctx, store, stage, claim, clock{mono: time.Now, wall: time.Now, boot: host.Uptime})
}

func begin(ctx context.Context, store Store, stage Stage, claim Claim, c clock) (*Journal, error) {
	before := c.read()
	lease, err := store.Acquire(ctx, stage, claim)
	if err != nil {
		return nil, err
	}
	j := &Journal{
		store: store, pacer: pacerOf(store), clock: c, ttl: lease.TTL, lease: lease, renewed: before, commits: 1,
		versions:  make(map[string]uint64),
		cancelled: make(chan struct{}),
		hurry:     make(chan struct{}, 1),
	}
	// Writes of the run outlive the caller's context: what a cloud call did must reach the store even
	// when the run was told to stop.
	j.writing = context.WithoutCancel(ctx)
	j.stopping, j.stop = context.WithCancel(j.writing)
	j.noteCancel(lease)
	j.done.Go(j.renew)
	return j, nil
}

func pacerOf(store Store) Pacer {
	p, _ := store.(Pacer)
	return p
}

// Commit writes one change and returns when it is durable. A change that the store refuses
// (ErrConflict, ErrOwned, ErrNeeded, ErrInvalid) is refused alone; those that shared its batch are
// committed without it. The context counts until the change is on its way; from then on Commit
// returns what became of it. ErrUnavailable means that it is not known to be durable; the journal
// sends it again before anything else. ErrFenced is final.
func (j *Journal) Commit(ctx context.Context, change Change) error {
	return j.submit(ctx, &waiting{change: change, done: make(chan error, 1)})
}

// CommitWith is Commit for a change that others are about to follow. It starts no commit but goes with the first that is
// made, until the channel is closed that invite returns: then nobody follows. Invite is called when the change is queued,
// so that a caller that learns of it there comes after it.
func (j *Journal) CommitWith(ctx context.Context, change Change, invite func() (alone <-chan struct{})) error {
	return j.submit(ctx, &waiting{change: change, patient: true, invite: invite, done: make(chan error, 1)})
}

// Finish ends the run in the given final state: the last commit, which carries all waiting events and
// releases the lease. After an ErrUnavailable it may be called again; after success the journal takes
// no more changes, and finishing again in the same state does nothing.
func (j *Journal) Finish(ctx context.Context, state RunState, summary []byte) error {
	return j.FinishWith(ctx, Change{}, state, summary)
}

// FinishWith ends the run like Finish, with one more change in the same commit.
func (j *Journal) FinishWith(ctx context.Context, change Change, state RunState, summary []byte) error {
	if state == Running || state == "" {
		return &InvalidError{Rule: "a run cannot finish in a state that is not final"}
	}
	return j.submit(ctx, &waiting{change: change, finish: state, summary: summary, done: make(chan error, 1)})
}

// Renew extends the lease now. It is for a writer whose Held said [ErrExpired], after a sleep of the
// machine for example: as long as nobody took the lease over, it is still ours.
func (j *Journal) Renew(ctx context.Context) error {
	return j.submit(ctx, &waiting{renewal: true, done: make(chan error, 1)})
}

// Emit appends an event to the run and returns its sequence number, which starts at 1. It rides along with the next
// commit or renewal and never causes one. The body is kept, not copied.
func (j *Journal) Emit(body []byte) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.eventSeq++
	if len(j.events) < MaxWaitingEvents {
		j.events = append(j.events, Event{Seq: j.eventSeq, Body: body})
	}
	return j.eventSeq
}

// Held is the cheap local check before each mutation of the outside world: nil while the lease is
// certainly ours. It goes by the largest of the monotonic, boot-time and wall-clock difference since
// the last renewal, since each of them alone can stand still or be set back, and gives up a fifth of the
// time to live before the end, or what the lease says. ErrExpired may pass with the next renewal, which it asks for;
// ErrFenced and ErrFinished do not.
func (j *Journal) Held() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fate != nil {
		return j.fate
	}
	margin := j.lease.Margin
	if margin == 0 {
		margin = j.ttl / 5
	}
	if j.clock.read().since(j.renewed) <= j.ttl-margin {
		return nil
	}
	select {
	case j.hurry <- struct{}{}:
	default:
	}
	return ErrExpired
}

// Cancelled is closed when somebody asked the run to stop gracefully. It is noticed with commits, with each Confirm, and with
// renewals, a third of the lease's time to live later at most.
func (j *Journal) Cancelled() <-chan struct{} { return j.cancelled }

// Lease is the newest state of the lease.
func (j *Journal) Lease() Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lease
}

// Commits counts the durable commits of the run: acquiring, changes, finishing. Renewals are left
// out, because their number depends on time alone.
func (j *Journal) Commits() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.commits
}

// Close ends the renewals and waits for a commit that is running. Without Finish the lease stays
// until it expires or its process ends, and the run then counts as lost. Closing twice is harmless.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.end(ErrFinished)
	j.mu.Unlock()
	j.done.Wait()
	return nil
}

// end sets the fate of the journal, the first one to stay. The lock is held.
func (j *Journal) end(fate error) {
	if j.fate == nil {
		j.fate = fate
	}
	j.stop()
}

func (j *Journal) noteCancel(lease Lease) {
	if lease.Cancelled && !j.told {
		j.told = true
		close(j.cancelled)
	}
}

// submit queues one change and waits for the outcome. When no commit is running it commits the change itself, which
// spares a lone writer the way to another goroutine and back.
func (j *Journal) submit(ctx context.Context, w *waiting) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	if j.fate != nil {
		defer j.mu.Unlock()
		return j.verdict(w, j.fate)
	}
	j.queue = append(j.queue, w)
	lead := j.claim()
	j.mu.Unlock()
	if lead {
		j.lead()
	}
	var alone <-chan struct{}
	if w.patient {
		alone = w.invite()
	}
	select {
	case err := <-w.done:
		return err
	case <-alone:
	case <-ctx.Done():
		if j.withdraw(w) {
			return ctx.Err()
		}
		return <-w.done
	}
	j.mu.Lock()
	w.patient = false
	lead = j.claim()
	j.mu.Unlock()
	if lead {
		j.lead()
	}
	return <-w.done
}

// claim makes the caller the one who commits, when something is due and nobody is at it. The lock is held.
func (j *Journal) claim() bool {
	if j.draining || !j.due() {
		return false
	}
	j.draining = true
	j.done.Add(1)
	return true
}

// due reports that a change is queued which starts a commit. The lock is held.
func (j *Journal) due() bool {
	return slices.ContainsFunc(j.queue, func(w *waiting) bool { return !w.patient })
}

// verdict is what one caller is told. Finishing again in the same state is no error: the first time
// may have ended with an unknown outcome that a renewal decided since. The lock is held.
func (j *Journal) verdict(w *waiting, err error) error {
	if errors.Is(err, ErrFinished) && w.finish != "" && w.finish == j.finished {
		return nil
	}
	return err
}

// withdraw takes a change out of the queue; false when it is already on its way.
func (j *Journal) withdraw(w *waiting) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, queued := range j.queue {
		if queued == w {
			j.queue = append(j.queue[:i:i], j.queue[i+1:]...)
			return true
		}
	}
	return false
}

// renew keeps the lease alive. Every commit renews, so that a busy run sends no renewals of its own.
func (j *Journal) renew() {
	third := j.ttl / 3
	timer := time.NewTimer(third)
	defer timer.Stop()
	for {
		select {
		case <-j.stopping.Done():
			return
		case <-timer.C:
		case <-j.hurry:
		}
		j.mu.Lock()
		left := third - j.clock.read().since(j.renewed)
		j.mu.Unlock()
		if left > 0 {
			timer.Reset(left)
			continue
		}
		err := j.Renew(j.stopping)
		switch {
		case errors.Is(err, ErrFenced), errors.Is(err, ErrFinished):
			return
		case err != nil:
			timer.Reset(third / 10) // the store may be back before the lease is over
		default:
			timer.Reset(third)
		}
	}
}
