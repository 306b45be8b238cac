package objects

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// backend runs the ledger's transactions on one stage.
type backend struct {
	store *Store
	fresh bool // nothing is decided on a head that was not just read
}

// View implements the ledger's backend.
func (b backend) View(ctx context.Context, stage statestore.Stage, _ []ledger.Want, read func(ledger.Tx) error) error {
	s := b.store
	c, err := s.enter(ctx, stage)
	if err != nil {
		return err
	}
	defer c.leave()
	var missing uint64 // the revision that a segment was missing of
	for {
		err := s.refresh(ctx, c)
		if err == nil && c.doc == nil {
			err = s.empty(ctx, stage)
		}
		if err != nil || c.doc == nil {
			return s.meaning(ctx, err)
		}
		t, err := s.begin(ctx, c)
		if err != nil {
			return s.meaning(ctx, err)
		}
		err = read(t)
		if t.err != nil { // what was found in less than the truth is void
			err = t.err
		}
		if !errors.Is(err, errSuperseded) {
			return s.meaning(ctx, err)
		}
		if missing == c.doc.Revision {
			return &statestore.DamagedError{Stage: stage, Err: err}
		}
		missing = c.doc.Revision
		c.forget()
	}
}

// swap is one change of a head on its way. However often it is sent, it happens once.
type swap struct {
	id string
	// sent is what may still arrive: it is sent again as it is, until the head shows it or is another one. Another
	// decision, with another epoch, could be taken for the one that arrived.
	sent *sent
	// written are the entries of the segment that was written for it.
	written *segment
	events  bool // its events were written
}

// sent is a head on its way.
type sent struct {
	body []byte
	when Condition
	tx   *tx
	next *rules.Head
}

// Update implements the ledger's backend: the ledger decides on what is known, then a segment is written and the head
// swapped. A holder knows what it wrote last, and reads nothing: when somebody else changed the head, the swap fails, and
// it is decided again. No refusal is believed before the head was read.
func (b backend) Update(ctx context.Context, stage statestore.Stage, makeIt bool, _ []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	s := b.store
	c, err := s.enter(ctx, stage)
	if err != nil {
		return err
	}
	defer c.leave()
	w := &swap{id: s.set.Random()}
	p := s.patience()
	stale := b.fresh || c.doc == nil
	var missing uint64
	for {
		again, err := b.attempt(ctx, c, w, &stale, makeIt, write)
		switch {
		case errors.Is(err, errSuperseded) && missing != c.doc.Revision:
			missing, stale = c.doc.Revision, true
			c.forget()
		case errors.Is(err, errSuperseded):
			return &statestore.DamagedError{Stage: stage, Err: err}
		case err == nil && again:
		case err != nil && again && p.pause(ctx):
		default:
			if err != nil && !statestore.Refused(err) {
				c.forget()
				c.doc, c.etag = nil, "" // what became of it is found by reading
			}
			return s.meaning(ctx, err)
		}
	}
}

// attempt decides and swaps once. Again asks for another attempt, after a pause when there is an error.
func (b backend) attempt(ctx context.Context, c *cache, w *swap, stale *bool, makeIt bool, write func(ledger.Tx) (bool, error)) (again bool, err error) {
	s, read := b.store, *stale
	if read {
		if err := s.refresh(ctx, c); err != nil {
			return false, err
		}
		*stale = false
	}
	if c.doc == nil {
		if !makeIt {
			return false, nil
		}
		// Both are asked at once: what stands in the folder, and which store it is, which is then known.
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = s.identity(ctx) })
		err := s.empty(ctx, c.stage)
		asking.Wait()
		if err != nil {
			return false, err
		}
	}
	if w.sent != nil {
		if c.doc != nil && slices.Contains(c.doc.Swaps, w.id) {
			c.eventsOf = 0
			return false, nil // what was decided before the answer was lost
		}
		if w.sent.when == conditionOf(c) {
			return b.put(ctx, c, w, w.sent, stale)
		}
		w.sent = nil // it can arrive no more: its condition never holds again
	}
	t, err := s.begin(ctx, c)
	if err != nil {
		return false, err
	}
	durable, err := write(t)
	if t.err != nil {
		err, durable = t.err, false
	}
	if err != nil || !durable {
		t.undo()
		if err != nil && !read && !errors.Is(err, errSuperseded) || err == nil && !read {
			*stale = true
			return true, nil
		}
		return false, err
	}
	next, err := t.doc.tenure()
	if err != nil {
		t.undo()
		return false, err
	}
	if left := t.unseen(&next); left > 0 {
		t.undo()
		return b.watch(ctx, c, stale, left)
	}
	return b.swap(ctx, c, w, t, &next, stale)
}

// unseen is how long the head has still to be watched before its lease may be taken from a holder on another machine,
// whose end nothing proves: the server's clock says that the lease is over, and this machine's own clock has to say that
// nobody renewed it for a third of it.
func (t *tx) unseen(next *rules.Head) time.Duration {
	was := &t.was.Tenure
	took := next.Tenure.Run != was.Run || next.Epoch != t.was.Epoch
	if !was.Held() || !took || next.Tenure.Released || t.store.here(was.Process.Boot, was.Process.Space) || t.store.world.Dead(was.Process) {
		return 0
	}
	return was.TTL/3 - (t.store.set.Uptime() - t.cache.seen.at)
}

// watch waits while others may have their turn, and has the head read again.
func (b backend) watch(ctx context.Context, c *cache, stale *bool, left time.Duration) (again bool, err error) {
	c.leave()
	waited := b.store.set.Wait(ctx, left)
	if err := c.enter(context.WithoutCancel(ctx)); err != nil { // the caller leaves again
		return false, err
	}
	*stale = true
	return waited == nil, waited
}

// empty proves that a stage was never written: a head that is missing beside segments was lost, and a new one would
// begin anew what others go on with.
func (s *Store) empty(ctx context.Context, stage statestore.Stage) error {
	var found string
	err := s.list(ctx, s.folder(stage), "", func(l Listed) (bool, error) {
		if l.Key != s.headKey(stage) { // made since it was read
			found = l.Key
		}
		return found == "", nil
	})
	if err == nil && found != "" {
		// A head that was made in between is no damage: its segments come after it.
		if _, err := s.get(ctx, s.headKey(stage), ""); !errors.Is(err, ErrMissing) {
			return err
		}
		return &statestore.DamagedError{Stage: stage, Err: &HeadlessError{Key: found}}
	}
	return err
}

// HeadlessError says that a stage has segments and no head.
type HeadlessError struct{ Key string }

func (e *HeadlessError) Error() string {
	return fmt.Sprintf("there is %s, and no head that lists it", e.Key)
}

// Hint says what the user can do.
func (e *HeadlessError) Hint() string {
	return "`athanor state check --rebuild-head` makes it again from the segments"
}

// swap writes what the transaction changed, and then the head.
func (b backend) swap(ctx context.Context, c *cache, w *swap, t *tx, next *rules.Head, stale *bool) (more bool, err error) {
	s := b.store
	if t.doc.Store == "" { // it is asked again where it was not known
		if t.doc.Store, err = s.make(ctx); err != nil {
			t.undo()
			return false, err
		}
	}
	if err := b.beforeHead(ctx, c, w, t, next); err != nil {
		t.undo()
		return again(err), err
	}
	t.doc.Revision++
	t.doc.Nonce = s.set.Random()
	t.doc.Swaps = append(t.doc.Swaps, w.id)
	t.doc.Swaps = t.doc.Swaps[max(0, len(t.doc.Swaps)-keptSwaps):]
	if at, found := t.doc.run(next.Epoch); found {
		t.doc.Runs[at].Seq = next.Tenure.Seq
	}
	body, err := json.Marshal(t.doc)
	if err != nil {
		t.undo()
		return false, err
	}
	return b.put(ctx, c, w, &sent{body: body, when: conditionOf(c), tx: t, next: next}, stale)
}

// conditionOf is that of a swap of what the cache knows.
func conditionOf(c *cache) Condition {
	if c.doc == nil {
		return Condition{Absent: true}
	}
	return Condition{ETag: c.etag}
}

// put sends a head. One that is sent again changes the tables no more: they are loaded when they are needed.
func (b backend) put(ctx context.Context, c *cache, w *swap, out *sent, stale *bool) (more bool, err error) {
	s, repeated := b.store, w.sent != nil
	object, err := s.put(ctx, s.headKey(c.stage), out.body, out.when)
	if err == nil {
		if repeated {
			w.written = nil
		}
		b.swapped(c, w, out.tx, out.next, object)
		return false, nil
	}
	out.tx.undo()
	*stale = true
	switch {
	case errors.Is(err, ErrUncertain):
		w.sent = out
	case errors.Is(err, ErrPrecondition):
		s.note(time.Time{})
		return true, nil // somebody else was first: read, decide, swap again
	case errors.Is(err, ErrMissing) && c.known:
		return false, &statestore.DamagedError{Stage: c.stage, Err: errVanished}
	}
	return again(err), err
}

// swapped makes what was written what is known.
func (b backend) swapped(c *cache, w *swap, t *tx, next *rules.Head, object Object) {
	acquired := next.Epoch != t.was.Epoch && !next.Tenure.Released
	if acquired {
		c.canary, c.previous = true, c.etag
		c.begun, c.merged = t.doc.names(), false
		c.eventsOf, c.eventsTop = next.Epoch, 0
	}
	c.doc, c.etag, c.known = t.doc, object.ETag, true
	c.modified = object.Modified
	if c.modified.IsZero() {
		c.modified = t.now
	}
	b.store.sight(c)
	for _, e := range t.events {
		c.eventsTop = max(c.eventsTop, binary.BigEndian.Uint64([]byte(e.key)[8:]))
	}
	if w.written != nil {
		c.take(t.doc, w.written)
	}
}

// take notes that a segment of one's own became the newest.
func (c *cache) take(doc *document, written *segment) {
	ref := doc.Segments[len(doc.Segments)-1]
	if written.header.Base || written.header.Merged > 0 {
		c.merged = true
	}
	c.loaded = doc.names()
	c.extend(ref, len(doc.Segments) == 1, written.entries)
}

// beforeHead writes what the head is going to list, all at once: the segment, the events, and the canary.
func (b backend) beforeHead(ctx context.Context, c *cache, w *swap, t *tx, next *rules.Head) error {
	s := b.store
	if s.set.Key != nil && next.KeyID != "" {
		t.doc.Sealed = next.KeyID
	}
	seg, err := t.segment(next)
	if err != nil {
		return err
	}
	var calls []func() error
	if seg != nil {
		calls = append(calls, func() error { return s.writeSegment(ctx, c, t, w, next, seg) })
	}
	if len(t.events) > 0 && !w.events {
		calls = append(calls, func() error { return s.writeEvents(ctx, c, t, w, next) })
	}
	if c.canary && t.batch != nil && next.Epoch == t.was.Epoch {
		calls = append(calls, func() error { return s.sing(ctx, c) })
	}
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		if len(calls) == 1 {
			errs[i] = call()
			break
		}
		all.Go(func() { errs[i] = call() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil && !again(err) {
			return err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if w.written != nil {
		t.list(w.written)
	}
	return nil
}

// sing tries to swap the head with the ETag that it had before the acquisition. A server that lets it through has lost
// the acquisition of somebody else, some day. What it would write is what is there.
func (s *Store) sing(ctx context.Context, c *cache) error {
	stale := c.doc.clone()
	stale.Nonce = s.set.Random()
	body, err := json.Marshal(stale)
	if err != nil {
		return err
	}
	when := Condition{ETag: c.previous}
	if c.previous == "" {
		when = Condition{Absent: true}
	}
	_, err = s.put(ctx, s.headKey(c.stage), body, when)
	switch {
	case err == nil:
		return &UnsafeError{Place: s.set.Place, What: "it took a write whose condition was a stale ETag"}
	case errors.Is(err, ErrPrecondition):
		c.canary = false
	}
	return nil // an answer that says nothing: it is tried with the next batch
}
