package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// Rebuild says how a lost head is made again.
type Rebuild struct {
	// Run is the id of the run that the history gets for it, and User who asks.
	Run, User string
	// KeyOf finds the id of the stage's key in what the segments hold: it stands in the head alone.
	KeyOf func(snap *statestore.Snapshot) string
	// Waits is told, once, how long nobody may write a head before one is made. Nil: nobody is told.
	Waits func(d time.Duration)
}

// Rebuilt is what a new head was made of.
type Rebuilt struct {
	// Done is false where the head can be read: nothing was changed.
	Done bool
	// Newest is the segment that says which ones there are, and Segments how many that is.
	Newest   string
	Segments int
	Serial   uint64
	// Unlisted are segments that were left out: superseded ones, and those of runs that had lost the stage.
	Unlisted int
}

// RebuildHead makes the head of a stage again from its segments, where it is missing or cannot be read. Each segment names
// those that it follows, so that the newest one knows the whole list. A holder that still works has lost the stage: its epoch
// is over. So a head is made only after the time of a lease in which nobody wrote one.
//
// What stood in the head alone is lost: the newest runs, and a lease that was longer than [statestore.DefaultTTL].
func (s *Store) RebuildHead(ctx context.Context, stage statestore.Stage, how Rebuild) (Rebuilt, error) {
	if err := s.probe(ctx); err != nil {
		return Rebuilt{}, s.meaning(ctx, err)
	}
	c, err := s.enter(ctx, stage)
	if err != nil {
		return Rebuilt{}, err
	}
	defer c.leave()
	done, err := s.rebuild(ctx, c, how)
	c.forget()
	c.doc, c.etag = nil, ""
	return done, s.meaning(ctx, err)
}

func (s *Store) rebuild(ctx context.Context, c *cache, how Rebuild) (Rebuilt, error) {
	when, readable, err := s.abandoned(ctx, c.stage, how.Waits)
	if err != nil || readable {
		return Rebuilt{}, err
	}
	doc, done, err := s.document(ctx, c)
	if err != nil {
		return Rebuilt{}, err
	}
	if doc.Store, err = s.identity(ctx); err != nil {
		return Rebuilt{}, err
	}
	snap, err := s.revived(ctx, c, doc, done)
	if err != nil {
		return Rebuilt{}, err
	}
	if err := s.freed(doc, done, snap, how); err != nil {
		return Rebuilt{}, err
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return Rebuilt{}, err
	}
	err = s.patiently(ctx, func() error {
		_, err := s.put(ctx, s.headKey(c.stage), body, when)
		return err
	})
	if errors.Is(err, ErrPrecondition) { // somebody was faster, or the first answer was lost
		now, _, reading := s.readHead(ctx, c.stage)
		if reading != nil {
			return Rebuilt{}, reading
		}
		if now == nil || !slices.Contains(now.Swaps, doc.Swaps[0]) {
			return Rebuilt{}, &statestore.DamagedError{Stage: c.stage, Err: errors.New("somebody else wrote its head meanwhile")}
		}
		err = nil
	}
	done.Done = err == nil
	return done, err
}

// readHead reads a head: nil, and on which condition it may be replaced, where it is missing or damaged.
func (s *Store) readHead(ctx context.Context, stage statestore.Stage) (*document, Object, error) {
	object, err := s.get(ctx, s.headKey(stage), "")
	if errors.Is(err, ErrMissing) {
		return nil, Object{Date: object.Date}, nil
	}
	if err != nil {
		return nil, object, err
	}
	doc, err := parse(stage, s.set.Place, object.Body)
	if errors.Is(err, statestore.ErrDamaged) {
		return nil, object, nil
	}
	return doc, object, err
}

// abandoned waits until a lease that the lost head may have held is over: who renews it in that time finds that the head is
// lost, and stops. It gives the condition on which a new one is written.
func (s *Store) abandoned(ctx context.Context, stage statestore.Stage, told func(time.Duration)) (when Condition, readable bool, err error) {
	const life = statestore.DefaultTTL
	began, last := s.set.Uptime(), ""
	for first := true; ; first = false {
		doc, object, err := s.readHead(ctx, stage)
		if err != nil || doc != nil {
			return Condition{}, doc != nil, err
		}
		if !first && object.ETag != last { // somebody writes there
			began = s.set.Uptime()
		}
		last = object.ETag
		left := life - (s.set.Uptime() - began)
		if object.ETag != "" && !object.Modified.IsZero() && !object.Date.IsZero() {
			left = min(left, life+longestMargin-object.Date.Sub(object.Modified))
		}
		if left <= 0 {
			return Condition{Absent: object.ETag == "", ETag: object.ETag}, false, nil
		}
		if first && told != nil {
			told(left)
		}
		if err := s.set.Wait(ctx, min(left, life/3)); err != nil {
			return Condition{}, false, err
		}
	}
}

// document is a head that lists what the newest segment says.
func (s *Store) document(ctx context.Context, c *cache) (*document, Rebuilt, error) {
	damaged := func(err error) error { return &statestore.DamagedError{Stage: c.stage, Err: err} }
	folder := s.folder(c.stage) + "seg/"
	written, headers, sizes := map[string]time.Time{}, map[string]segmentHeader{}, map[string]int{}
	err := s.list(ctx, folder, "", func(l Listed) (bool, error) {
		if name := strings.TrimPrefix(l.Key, folder); len(name) == len(segmentName(0, 0)) {
			if _, ok := parseEpoch(name); ok {
				written[name] = l.Modified
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, Rebuilt{}, err
	}
	newest, unread := "", map[string]error{}
	for name := range written {
		newest = max(newest, name)
		object, err := s.get(ctx, folder+name, "")
		if err == nil {
			headers[name], _, err = decodeHeader(object.Body)
			sizes[name] = len(object.Body)
		}
		if again(err) || ctx.Err() != nil {
			return nil, Rebuilt{}, err
		}
		if err != nil {
			unread[name] = err
		}
	}
	if newest == "" {
		return nil, Rebuilt{}, damaged(errors.New("there is no segment that a head could be made of"))
	}
	if err := unread[newest]; err != nil {
		return nil, Rebuilt{}, damaged(fmt.Errorf("segment %s, the newest: %w", newest, err))
	}
	top := headers[newest]
	names := []string{newest}
	if top.Merged > len(top.Before) {
		return nil, Rebuilt{}, damaged(fmt.Errorf("segment %s, the newest: %w", newest, errShape))
	}
	if !top.Base {
		names = append(slices.Clone(top.Before[:len(top.Before)-top.Merged]), newest)
	}
	doc := &document{Format: headFormat, Stage: c.stage, Sealed: top.Sealed}
	for _, name := range names {
		h, read := headers[name]
		if _, there := written[name]; !there || !read {
			return nil, Rebuilt{}, damaged(fmt.Errorf("segment %s, which the newest one follows: %w", name, cmp.Or(unread[name], ErrMissing)))
		}
		doc.Segments = append(doc.Segments, segmentRef{Name: name, Bytes: sizes[name], Merged: h.Merged})
	}
	return doc, Rebuilt{Newest: newest, Segments: len(names), Serial: top.Serial, Unlisted: len(written) - len(names)}, nil
}

// revived reads what the segments of a head hold, to the end. The ring of keys of a stage whose names are sealed stands among it.
func (s *Store) revived(ctx context.Context, c *cache, doc *document, done Rebuilt) (*statestore.Snapshot, error) {
	c.forget()
	c.doc = doc
	if err := s.load(ctx, c); errors.Is(err, errSuperseded) {
		return nil, &statestore.DamagedError{Stage: c.stage, Err: err}
	} else if err != nil {
		return nil, err
	}
	if s.set.Clear != "" {
		key := "m" + s.set.Clear
		if value := c.tables[ledger.Facts].Get(key); value != nil {
			ring, err := payloadOf([]byte(key), value)
			if err != nil {
				return nil, &statestore.DamagedError{Stage: c.stage, Err: fmt.Errorf("the ring of its keys: %w", err)}
			}
			doc.Ring = ring
		}
	}
	lease, err := json.Marshal(rules.Head{Serial: done.Serial})
	if err != nil {
		return nil, err
	}
	doc.Lease = lease
	return ledger.Operations{Backend: drawn{s, c}, World: s.world}.Load(ctx, c.stage)
}

// freed is a head of an epoch of its own that nobody holds, with a run that says where it comes from.
func (s *Store) freed(doc *document, done Rebuilt, snap *statestore.Snapshot, how Rebuild) error {
	epoch, _ := parseEpoch(done.Newest)
	now := s.now().UTC().Round(0)
	self := s.world.Self
	h := rules.Head{
		Epoch: rules.NextEpoch(epoch, now), Serial: done.Serial, Revision: uint64(max(now.UnixMilli(), 1)), // more than any count of batches
		KeyID: doc.Sealed,
	}
	if h.KeyID == "" && how.KeyOf != nil {
		h.KeyID = how.KeyOf(snap)
	}
	h.LastFinal = h.Epoch
	h.Tenure = rules.Tenure{Run: how.Run, Command: "state", User: how.User, Process: self, Since: now, TTL: statestore.DefaultTTL, Renewed: now, Released: true}
	lease, err := json.Marshal(h)
	if err != nil {
		return err
	}
	run, err := json.Marshal(statestore.Run{
		ID: how.Run, Command: "state", State: statestore.Succeeded, User: how.User, Host: self.Host, PID: self.PID, Epoch: h.Epoch,
		Started: now, Ended: now, Note: "the head was rebuilt from segment " + done.Newest + "; the runs that it alone named are lost",
	})
	if err != nil {
		return err
	}
	doc.Lease, doc.Runs = lease, []runRef{{Epoch: h.Epoch, Run: run}}
	doc.Revision, doc.Nonce, doc.Swaps = h.Revision, s.set.Random(), []string{s.set.Random()}
	return nil
}

// drawn reads a head that was not written yet.
type drawn struct {
	store *Store
	cache *cache
}

// View implements the ledger's backend.
func (d drawn) View(ctx context.Context, _ statestore.Stage, _ []ledger.Want, read func(ledger.Tx) error) error {
	t, err := d.store.begin(ctx, d.cache)
	if err != nil {
		return err
	}
	return errors.Join(read(t), t.err)
}

// Update implements the ledger's backend: nothing is written in what is only drawn.
func (d drawn) Update(context.Context, statestore.Stage, bool, []ledger.Want, func(ledger.Tx) (bool, error)) error {
	return errors.ErrUnsupported
}
