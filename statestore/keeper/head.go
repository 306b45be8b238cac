package keeper

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// headFact is the name of the fact that holds the head.
const headFact = Prefix + "head"

// begunFact is the name of the fact that holds the epoch of the run that wrote the first commit of a state. The head authenticates
// it like every fact.
const begunFact = Prefix + "begun"

// head authenticates a whole state: a MAC over what the state holds, its serial, its key and the epoch that wrote it.
//
// What the state holds is a set of elements (rows by address, facts by name), each with a tag: a keyed pseudorandom
// function of the element, with its version and, in the stamp of what is sealed, its key. The digest of the set is the XOR of the tags, so that a change of one element costs two
// tags, whatever the number of elements. XOR of tags that an attacker knows is no good digest: among 257 differences
// some add up to nothing. So neither a tag nor a digest ever leaves the process: the head shows a MAC over the digest,
// and nothing else depends on the tags. To somebody without the key they are independent random values of 256 bits, a
// state has each element at most once, and the digests of two different sets agree with probability 2^-256 for each
// try (the argument of Clarke et al., "Incremental Multiset Hash Functions", 2003, for MSet-XOR-Hash).
type head struct {
	Format int    `json:"athanorHead"`
	Key    string `json:"key"` // the id of the key that authenticates
	Serial uint64 `json:"serial"`
	// Epoch is that of the run that wrote the state last.
	Epoch uint64 `json:"epoch"`
	MAC   []byte `json:"mac"`
}

const headFormat = 1

type tag = [sha256.Size]byte

// contents are the tags of a state, under one key.
type contents struct {
	key      *seal.Key
	tags     map[string]tag // by element
	sum      tag
	serial   uint64
	epoch    uint64
	revision uint64
	keyID    string // of the store
}

// The names of elements begin with what they are.
const (
	rowElement         = "r"
	factElement        = "f"
	outputsElement     = "o"
	damagedElement     = "d"
	damagedFactElement = "e"
)

// contentsOf returns the contents of a snapshot, with the tags of the newest key of a ring.
func contentsOf(key *seal.Key, snap *statestore.Snapshot) *contents {
	c := &contents{
		key: key, tags: make(map[string]tag, len(snap.Rows)+len(snap.Meta)+1),
		serial: snap.Serial, epoch: snap.Epoch, revision: snap.Revision, keyID: snap.KeyID,
	}
	t := newTagger(key)
	for name, value := range snap.Meta {
		if name != headFact {
			c.set(factElement+name, t.fact(name, value))
		}
	}
	if snap.Outputs != nil {
		c.set(outputsElement, t.outputs(snap.Outputs))
	}
	for address := range snap.Damaged {
		c.set(damagedElement+address, t.text(damagedElement+address))
	}
	for _, damaged := range snap.DamagedFacts {
		name := damagedFactElement + damaged.Err.Error()
		c.set(name, t.text(name))
	}
	addresses, tags := rowTags(key, snap.Rows)
	for i, address := range addresses {
		c.set(rowElement+address, tags[i])
	}
	return c
}

// rowTags computes the tags of many rows on all processors: one for each address.
func rowTags(key *seal.Key, rows map[string]statestore.Row) (addresses []string, tags []tag) {
	addresses = slices.AppendSeq(make([]string, 0, len(rows)), maps.Keys(rows))
	tags = make([]tag, len(addresses))
	var workers sync.WaitGroup
	n := max(1, min(runtime.GOMAXPROCS(0), len(addresses)/64))
	for w := range n {
		workers.Go(func() {
			t := newTagger(key)
			for i := w; i < len(addresses); i += n {
				row := rows[addresses[i]]
				tags[i] = t.row(addresses[i], row.Version, &row)
			}
		})
	}
	workers.Wait()
	return addresses, tags
}

// set adds or replaces an element.
func (c *contents) set(name string, t tag) {
	c.drop(name)
	c.tags[name] = t
	c.xor(t)
}

func (c *contents) drop(name string) {
	if old, there := c.tags[name]; there {
		delete(c.tags, name)
		c.xor(old)
	}
}

func (c *contents) xor(t tag) { subtle.XORBytes(c.sum[:], c.sum[:], t[:]) }

// mac authenticates contents of so many elements.
func (c *contents) mac(stage statestore.Stage, count int) tag {
	w := encoder{}
	w.text(stage.Stack, stage.Name, c.keyID)
	w.number(c.serial)
	w.number(c.epoch)
	w.number(uint64(count))
	w.buf = append(w.buf, c.sum[:]...)
	return c.key.Tagger("head of a state")(w.buf)
}

// check compares a snapshot with its head. The error is a *TamperedError, or a *seal.KeyError when the head was made with
// a key that the ring does not have.
func check(found *contents, snap *statestore.Snapshot) error {
	value, there := snap.Meta[headFact]
	if !there {
		if needsHead(snap) {
			return &TamperedError{Stage: snap.Stage, Headless: true}
		}
		return nil
	}
	var h head
	tampered := &TamperedError{Stage: snap.Stage}
	if err := json.Unmarshal(value, &h); err != nil || h.Format != headFormat || h.Epoch > snap.Epoch || h.Serial != snap.Serial {
		return tampered
	}
	under := found
	if h.Key != found.key.ID() {
		by := found.key.By(h.Key)
		if by == nil {
			return &seal.KeyError{Want: h.Key, Have: found.key.ID()}
		}
		under = contentsOf(by, snap)
	}
	proof := *under
	proof.epoch = h.Epoch
	want := proof.mac(snap.Stage, len(under.tags))
	if !hmac.Equal(h.MAC, want[:]) {
		return tampered
	}
	return nil
}

// needsHead reports whether anything of a state was written by a version that writes a head each time.
func needsHead(snap *statestore.Snapshot) bool {
	for _, row := range snap.Rows {
		if seal.NeedsHead(row.Body) {
			return true
		}
	}
	for _, fact := range snap.Meta {
		if seal.NeedsHead(fact) {
			return true
		}
	}
	return seal.NeedsHead(snap.Outputs)
}

// step is what a batch makes of a state.
type step struct {
	sets  map[string]tag // elements that are there afterwards
	drops map[string]bool
	next  contents // without tags
	count int
}

// after returns what a batch makes of a state. The snapshot is the state itself; it is needed when rows move.
func (c *contents) after(batch statestore.Batch, lease statestore.Lease, snap *statestore.Snapshot) *step {
	s := &step{sets: map[string]tag{}, drops: map[string]bool{}, next: *c}
	s.next.tags, s.next.epoch, s.next.serial = nil, lease.Epoch, lease.Serial
	if batch.KeyID != "" {
		s.next.keyID = batch.KeyID
	}
	t := newTagger(c.key)
	changed := s.move(t, batch.Move, snap)
	for i := range batch.Put {
		changed = s.put(t, c, &batch.Put[i]) || changed
	}
	if changed {
		s.next.serial++
	}
	for name, value := range batch.Meta {
		if value == nil {
			s.drop(factElement + name)
		} else {
			s.set(factElement+name, t.fact(name, value))
		}
	}
	if batch.Outputs != nil {
		s.set(outputsElement, t.outputs(batch.Outputs))
	}
	s.total(c)
	return s
}

// head returns the fact that authenticates the state after the step.
func (s *step) head(stage statestore.Stage) []byte {
	mac := s.next.mac(stage, s.count)
	fact, err := json.Marshal(head{
		Format: headFormat, Key: s.next.key.ID(), Serial: s.next.serial, Epoch: s.next.epoch, MAC: mac[:],
	})
	if err != nil {
		panic(err) // strings, numbers and bytes have a JSON form
	}
	return fact
}

func (s *step) set(name string, t tag) {
	s.sets[name] = t
	delete(s.drops, name)
}

func (s *step) drop(name string) {
	s.drops[name] = true
	delete(s.sets, name)
}

// move renames rows, and follows in those that need them, as stores do: versions stay.
func (s *step) move(t *tagger, move map[string]string, snap *statestore.Snapshot) bool {
	if len(move) == 0 {
		return false
	}
	for from := range move {
		s.drop(rowElement + from)
	}
	for address, row := range snap.Rows {
		to, moves := move[address]
		if !moves {
			to = address
		}
		refers := slices.ContainsFunc(row.Needs, func(need string) bool { return move[need] != "" })
		if !moves && !refers {
			continue
		}
		if refers {
			needs := slices.Clone(row.Needs)
			for i, need := range needs {
				if renamed, is := move[need]; is {
					needs[i] = renamed
				}
			}
			slices.Sort(needs)
			row.Needs = slices.Compact(needs)
		}
		s.set(rowElement+to, t.row(to, row.Version, &row))
	}
	return true
}

// put writes or removes one row; it reports whether the state is another one afterwards.
func (s *step) put(t *tagger, c *contents, row *statestore.Row) bool {
	name, damaged := rowElement+row.Address, damagedElement+row.Address
	_, was := c.tags[name]
	_, hurt := c.tags[damaged]
	_, arrived := s.sets[name]
	if hurt {
		s.drop(damaged)
	}
	if len(row.Generations) == 0 {
		s.drop(name)
		return was || hurt || arrived
	}
	version := row.Version + 1
	if row.Version == statestore.Repair {
		version = 1
	}
	s.set(name, t.row(row.Address, version, row))
	return true
}

// total computes the digest of the step from that of the state before.
func (s *step) total(c *contents) {
	s.count = len(c.tags)
	replace := func(name string) {
		if old, there := c.tags[name]; there {
			s.next.xor(old)
			s.count--
		}
	}
	for name := range s.drops {
		replace(name)
	}
	for name, t := range s.sets {
		replace(name)
		s.next.xor(t)
		s.count++
	}
}

// apply makes a step of the state that it was computed from.
func (s *step) apply(c *contents) {
	for name := range s.drops {
		delete(c.tags, name)
	}
	maps.Copy(c.tags, s.sets)
	tags := c.tags
	*c = s.next
	c.tags = tags
}

// tagger computes the tags of elements. It is for one goroutine.
type tagger struct {
	of func([]byte) tag
	w  encoder
}

func newTagger(key *seal.Key) *tagger { return &tagger{of: key.Tagger("element of a state")} }

func (t *tagger) text(parts ...string) tag {
	t.w.buf = t.w.buf[:0]
	t.w.text(parts...)
	return t.of(t.w.buf)
}

func (t *tagger) fact(name string, value []byte) tag {
	t.w.buf = t.w.buf[:0]
	t.w.text(factElement, name)
	t.w.stamp(value)
	return t.of(t.w.buf)
}

func (t *tagger) outputs(value []byte) tag {
	t.w.buf = t.w.buf[:0]
	t.w.text(outputsElement)
	t.w.stamp(value)
	return t.of(t.w.buf)
}

// row is the tag of a row as the store will keep it: everything but the time of the write, which is the store's own.
func (t *tagger) row(address string, version uint64, row *statestore.Row) tag {
	t.w.buf = t.w.buf[:0]
	t.w.row(address, version, row)
	return t.of(t.w.buf)
}

// encoder writes values so that different lists of values never give the same bytes.
type encoder struct{ buf []byte }

func (w *encoder) number(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *encoder) text(parts ...string) {
	for _, part := range parts {
		w.number(uint64(len(part)))
		w.buf = append(w.buf, part...)
	}
}

// stamp writes what tells bytes apart: of sealed ones, which authenticate themselves, not all is hashed again.
func (w *encoder) stamp(b []byte) {
	head, tail := seal.Stamp(b)
	w.number(uint64(len(b)))
	w.buf = append(append(w.buf, head...), tail...)
}

func (w *encoder) time(t time.Time) {
	w.buf = binary.AppendVarint(w.buf, t.Unix())
	w.number(uint64(t.Nanosecond()))
}

func (w *encoder) row(address string, version uint64, row *statestore.Row) {
	w.text(rowElement, address, row.Birth)
	w.number(version)
	w.number(uint64(len(row.Needs)))
	w.text(row.Needs...)
	w.number(uint64(len(row.Generations)))
	for i := range row.Generations {
		g := &row.Generations[i]
		w.number(g.Number)
		w.text(string(g.State), g.Kind, g.Place.Provider, g.Place.Account, g.Place.Region, g.Identity)
		w.number(uint64(g.Slot))
		intent := uint64(0)
		if g.Intent {
			intent = 1
		}
		w.number(intent)
		w.stamp(g.Body)
		w.time(g.Written)
	}
	w.stamp(row.Body)
}

// KeyOf is the id of the key that a stage was sealed with last, by what its state holds: its authenticated head, else what was
// written last and is sealed. It is "" where nothing is. Who takes it for the key proves the state with it.
func KeyOf(snap *statestore.Snapshot) string {
	var h head
	if json.Unmarshal(snap.Meta[headFact], &h) == nil && h.Key != "" {
		return h.Key
	}
	id, written := seal.SealedBy(snap.Outputs), time.Time{}
	for _, row := range snap.Rows {
		for _, g := range row.Generations {
			if by := seal.SealedBy(g.Body); by != "" && !g.Written.Before(written) {
				id, written = by, g.Written
			}
		}
	}
	return id
}
