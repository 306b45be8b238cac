package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// Store is a store in a bucket. It remembers what it has read: segments never change.
type Store struct {
	bucket Bucket
	prefix string // of all keys, with a slash at its end, or empty
	set    Settings
	world  host.World
	ops    ledger.Operations
	taking ledger.Operations // for an acquisition

	compacting atomic.Bool // see Compact

	mu     sync.Mutex
	caches map[statestore.Stage]*cache
	id     string
	probed bool
	met    bool // the server answered once
	date   time.Time
	dated  time.Time // by the clock outside, when date was read
}

var _ statestore.Store = (*Store)(nil)

// Settings say how a store behaves.
type Settings struct {
	// Place names the store for people.
	Place string
	// Prefix begins all keys, without a slash at its end.
	Prefix string
	// ID says which identity the store gets when it is made; empty for a random one.
	ID func() string
	// Keep is how many versions of a stage are kept before the newest one; 0 is the default.
	Keep int
	// Patience is how long a call waits for a server that went away.
	Patience time.Duration
	// Key finds the key of a stage by its id, where names are sealed: nil when they are not. Ring is the wrapped ring of
	// keys that stands in the store, nil when there is none.
	Key func(stage statestore.Stage, id string, ring []byte) (Sealer, error)
	// Clear is the stage-wide fact that is such a ring. It stands in the head, where names are sealed.
	Clear string
	// Probed reports whether the server was probed not long ago, and Remember remembers that it was. Nil: it is probed by
	// every store that is opened.
	Probed   func() bool
	Remember func()
	// MergeAfter is how many segments of single batches a list may have, and Grace how long an object stays that no head
	// lists any more. Zero: the defaults.
	MergeAfter int
	Grace      time.Duration
	// Uptime is this machine's own clock, which is counted while it sleeps, and Wait waits. Nil: the real ones.
	Uptime func() time.Duration
	Wait   func(ctx context.Context, d time.Duration) error
	// Random returns an unpredictable text; nil for the real one.
	Random func() string
}

// New returns the store in a bucket, for processes of a world.
func New(bucket Bucket, world host.World, set Settings) *Store {
	s := &Store{bucket: bucket, set: set, world: world, prefix: set.Prefix, caches: map[statestore.Stage]*cache{}}
	if s.prefix != "" {
		s.prefix += "/"
	}
	if s.set.ID == nil {
		s.set.ID = func() string { return "" }
	}
	s.set.MergeAfter, s.set.Grace = cmp.Or(s.set.MergeAfter, mergeAfter), cmp.Or(s.set.Grace, grace)
	if s.set.Uptime == nil {
		began := time.Now()
		s.set.Uptime = func() time.Duration {
			if d, known := host.Uptime(); known {
				return d
			}
			return time.Since(began)
		}
	}
	if s.set.Wait == nil {
		s.set.Wait = waitFor
	}
	if s.set.Random == nil {
		s.set.Random = rand.Text
	}
	s.ops = ledger.Operations{Backend: backend{store: s}, World: world, Keep: set.Keep}
	s.taking = ledger.Operations{Backend: backend{store: s, fresh: true}, World: world, Keep: set.Keep}
	return s
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Load implements [statestore.Store].
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	return s.ops.Load(ctx, stage)
}

// Acquire implements [statestore.Store]. It makes the store when there is none, and probes the server.
func (s *Store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	if err := s.probe(ctx); err != nil {
		return statestore.Lease{}, s.meaning(ctx, err)
	}
	lease, err := s.taking.Acquire(ctx, stage, claim)
	return withMargin(lease), err
}

// Commit implements [statestore.Store].
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	next, err := s.ops.Commit(ctx, lease, batch)
	if err == nil && batch.Finish != "" {
		s.sweep(ctx, lease.Stage)
	}
	return withMargin(next), err
}

// longestMargin is how long before the end of a lease its holder starts nothing more: the clocks of a taker and of the
// server may differ by that much from the holder's.
const longestMargin = 10 * time.Second

func withMargin(lease statestore.Lease) statestore.Lease {
	lease.Margin = min(longestMargin, lease.TTL/3)
	return lease
}

// Versions implements [statestore.Versions].
func (s *Store) Versions(ctx context.Context, stage statestore.Stage) ([]statestore.Version, error) {
	return s.ops.Versions(ctx, stage)
}

// LoadVersion implements [statestore.Versions].
func (s *Store) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (*statestore.Snapshot, error) {
	return s.ops.LoadVersion(ctx, stage, serial)
}

// Interrupt implements [statestore.Store].
func (s *Store) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (bool, error) {
	return s.taking.Interrupt(ctx, stage, order)
}

// Runs implements [statestore.Store].
func (s *Store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	return s.ops.Runs(ctx, stage, limit)
}

// Events implements [statestore.Store].
func (s *Store) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	return s.ops.Events(ctx, stage, run, after, limit)
}

// Stages implements [statestore.Store]: sorted by their keys. It is one listing.
func (s *Store) Stages(ctx context.Context) ([]statestore.Stage, error) {
	var stages []statestore.Stage
	err := s.list(ctx, s.prefix, "", func(l Listed) (bool, error) {
		key := strings.TrimPrefix(l.Key, s.prefix)
		parts := strings.Split(key, "/")
		if len(parts) != 3 || parts[2] != "head" {
			return true, nil
		}
		stack, ok := unpart(parts[0])
		name, ok2 := unpart(parts[1])
		stage := statestore.Stage{Stack: stack, Name: name}
		if !ok || !ok2 { // a name that is too long for a key stands in the head
			object, err := s.get(ctx, l.Key, "")
			if errors.Is(err, ErrMissing) {
				return true, nil
			}
			var d document
			if err == nil {
				err = json.Unmarshal(object.Body, &d)
			}
			if stage = d.Stage; err != nil {
				return false, err
			}
		}
		stages = append(stages, stage)
		return true, nil
	})
	return stages, s.meaning(ctx, err)
}

// list walks all keys with a prefix.
func (s *Store) list(ctx context.Context, prefix, after string, each func(Listed) (bool, error)) error {
	for {
		var page []Listed
		var more bool
		err := s.patiently(ctx, func() (err error) {
			page, more, err = s.bucket.List(ctx, prefix, after)
			return err
		})
		if err != nil {
			return err
		}
		for _, l := range page {
			if goOn, err := each(l); err != nil || !goOn {
				return err
			}
		}
		if !more || len(page) == 0 {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// about is what stands in the object of the store itself.
type about struct {
	Format int    `json:"athanorStore"`
	ID     string `json:"id"`
}

// ID implements [statestore.Store]. Before the store is made it is the identity that this handle would give it, empty
// when that is not known yet; who makes it first decides.
func (s *Store) ID(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id, err := s.identity(ctx)
	if errors.Is(err, ErrMissing) {
		return s.set.ID(), nil
	}
	return id, s.meaning(ctx, err)
}

func (s *Store) identity(ctx context.Context) (string, error) {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	if id != "" {
		return id, nil
	}
	object, err := s.get(ctx, s.prefix+aboutName, "")
	if err != nil {
		return "", err
	}
	var a about
	switch err := json.Unmarshal(object.Body, &a); {
	case err == nil && a.Format > docFormat:
		return "", &statestore.NewerError{Path: s.set.Place, Have: uint64(a.Format), Known: docFormat}
	case err != nil || a.Format != docFormat || a.ID == "":
		return "", &statestore.DamagedError{Path: s.set.Place, Err: fmt.Errorf("the object %s: %w", s.prefix+aboutName, errShape)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = a.ID
	return a.ID, nil
}

// make returns the identity of the store and gives it one when it has none.
func (s *Store) make(ctx context.Context) (string, error) {
	id, err := s.identity(ctx)
	if !errors.Is(err, ErrMissing) {
		return id, err
	}
	a := about{Format: docFormat, ID: s.set.ID()}
	if a.ID == "" {
		a.ID = strings.ToLower(s.set.Random())
	}
	body, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	err = s.patiently(ctx, func() error {
		_, err := s.put(ctx, s.prefix+aboutName, body, Condition{Absent: true})
		return err
	})
	if errors.Is(err, ErrPrecondition) {
		return s.identity(ctx) // somebody else was first, or our own answer was lost
	}
	if err == nil {
		s.mu.Lock()
		s.id = a.ID
		s.mu.Unlock()
	}
	return a.ID, err
}

// Close implements [statestore.Store].
func (s *Store) Close() error { return nil }

// Check proves the structure of each stage's rows, and that the indexes agree with them. The second result says what
// kept it from looking.
func (s *Store) Check(ctx context.Context) (broken []error, err error) {
	stages, err := s.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, stage := range stages {
		snap, err := s.Load(ctx, stage)
		if err != nil {
			return broken, err
		}
		indexes, err := s.ops.Check(ctx, stage)
		if err != nil {
			return broken, err
		}
		broken = append(append(broken, snap.Check()...), indexes...)
	}
	return broken, nil
}

// get reads an object, patiently.
func (s *Store) get(ctx context.Context, key, etag string) (object Object, err error) {
	err = s.patiently(ctx, func() (err error) {
		object, err = s.bucket.Get(ctx, key, etag)
		if err == nil || errors.Is(err, ErrMissing) || errors.Is(err, ErrUnchanged) {
			s.note(object.Date)
		}
		return err
	})
	return object, err
}

func (s *Store) put(ctx context.Context, key string, body []byte, when Condition) (Object, error) {
	object, err := s.bucket.Put(ctx, key, body, when)
	if err == nil {
		s.note(object.Date)
	}
	return object, err
}

// note remembers the server's clock.
func (s *Store) note(date time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met = true
	if date.IsZero() {
		return
	}
	// A date has whole seconds: what was counted since the last one is finer, as long as it agrees.
	now := s.world.Now()
	if counted := s.date.Add(now.Sub(s.dated)); !s.date.IsZero() && !counted.Before(date) && counted.Before(date.Add(time.Second)) {
		return
	}
	s.date, s.dated = date, now
}

// now is the time by the server's clock.
func (s *Store) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.world.Now()
	if s.date.IsZero() {
		return now
	}
	return s.date.Add(now.Sub(s.dated))
}

// patiently makes a request, again while the server asks for that or gives no answer, as long as the patience of the
// store lasts. A server that never answered is not waited for.
func (s *Store) patiently(ctx context.Context, call func() error) error {
	p := s.patience()
	for {
		err := call()
		if !again(err) {
			if err == nil || errors.Is(err, ErrMissing) || errors.Is(err, ErrPrecondition) || errors.Is(err, ErrUnchanged) {
				s.note(time.Time{})
			}
			return err
		}
		if !p.pause(ctx) {
			return err
		}
	}
}

// again reports whether a request that ended like this is to be sent again.
func again(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, ErrUncertain) }

// patience waits longer and longer, until the patience of the store ends.
type patience struct {
	s    *Store
	ends time.Time
	wait time.Duration
}

func (s *Store) patience() *patience {
	return &patience{s: s, ends: time.Now().Add(s.set.Patience), wait: 20 * time.Millisecond}
}

// pause waits before the next attempt; false when there is none.
func (p *patience) pause(ctx context.Context) bool {
	p.s.mu.Lock()
	met := p.s.met
	p.s.mu.Unlock()
	if !met || !time.Now().Before(p.ends) || ctx.Err() != nil {
		return false
	}
	// Half of it is random: clients that met once shall not meet again.
	text, spread := p.s.set.Random(), 0
	for _, r := range []byte(text) {
		spread = (spread*31 + int(r)) % 64
	}
	d := p.wait/2 + p.wait/2*time.Duration(spread)/64
	p.wait = min(2*p.wait, time.Second)
	return p.s.set.Wait(ctx, d) == nil
}

// meaning gives the errors of a call their meaning: what is none of ours comes from the server or the way to it.
func (s *Store) meaning(ctx context.Context, err error) error {
	switch {
	case err == nil, statestore.Refused(err), errors.Is(err, statestore.ErrUnavailable), errors.Is(err, ErrUnsafe):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &statestore.UnavailableError{Path: s.set.Place, Err: err}
}

// cache is what a store knows of a stage. Who works with it has its turn.
type cache struct {
	stage statestore.Stage
	turn  chan struct{}

	doc      *document // nil: none was read yet, or there was none
	etag     string
	modified time.Time // of doc, by the server's clock
	known    bool      // a head was read or written once
	seen     sighting

	tables map[ledger.Table]*ledger.Memory // nil: not loaded
	loaded []string                        // the segments that the tables hold
	tail   [][]entry                       // the newest of them that are changes of one batch
	begun  []string                        // the segments at the newest acquisition

	eventsOf  uint64 // the epoch that eventsTop is of, 0 for none
	eventsTop uint64 // its newest event
	listed    map[uint64]listing

	canary   bool   // the swap with the ETag before is still to be tried
	previous string // ETag before the acquisition; empty: there was no head
	merged   bool   // this run superseded segments
}

// sighting is when a revision of a head was first seen, by this machine's own clock.
type sighting struct {
	revision uint64
	at       time.Duration
}

// listing is how far the events of an epoch were listed, as of a revision.
type listing struct{ revision, after uint64 }

// enter waits for the turn at a stage.
func (s *Store) enter(ctx context.Context, stage statestore.Stage) (*cache, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	c := s.caches[stage]
	if c == nil {
		c = &cache{stage: stage, turn: make(chan struct{}, 1), listed: map[uint64]listing{}}
		s.caches[stage] = c
	}
	s.mu.Unlock()
	return c, c.enter(ctx)
}

func (c *cache) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cache) leave() { <-c.turn }

// forget drops the tables: they may hold what was never written.
func (c *cache) forget() { c.tables, c.loaded, c.tail = nil, nil, nil }

// errVanished says that a head is missing which was there.
var errVanished = errors.New("the head of the stage vanished from the bucket")

// refresh reads the head of a stage.
func (s *Store) refresh(ctx context.Context, c *cache) error {
	object, err := s.get(ctx, s.headKey(c.stage), c.etag)
	switch {
	case errors.Is(err, ErrUnchanged):
		s.sight(c)
		return nil
	case errors.Is(err, ErrMissing) && c.known:
		return &statestore.DamagedError{Stage: c.stage, Err: errVanished}
	case errors.Is(err, ErrMissing):
		return nil
	case err != nil:
		return err
	}
	doc, err := parse(c.stage, s.set.Place, object.Body)
	if err != nil {
		return err
	}
	c.doc, c.etag, c.modified, c.known = doc, object.ETag, object.Modified, true
	s.sight(c)
	return nil
}

func (s *Store) sight(c *cache) {
	if c.doc != nil && c.seen.revision != c.doc.Revision {
		c.seen = sighting{revision: c.doc.Revision, at: s.set.Uptime()}
	}
}
