// Package rotate gives a stage a new key and seals everything of it again.
//
// It knows the order in which that survives being killed anywhere, and the lease under which it happens. It does not
// know what the sealed bytes mean: [Contents] says what they are bound to and what must change in them.
package rotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// unfinished names the stage-wide fact that a rotation has begun and not ended; it holds the id of the new key.
const unfinished = keeper.Prefix + "rotating"

// group is how many rows are sealed again in one commit.
const group = 100

// Contents says what sealed bytes are.
type Contents struct {
	// Binding returns what the bytes of a row (by its birth address) or of a stage-wide fact ("\x00" and its name, or
	// "\x00outputs") are bound to.
	Binding func(what string) []byte
	// Rekey returns the opened body of a row as it stands under the newest key of the ring, and the ids of the keys that
	// values in it were derived from.
	Rekey func(row statestore.Row, plain []byte, ring *seal.Key) (next []byte, derived []string, err error)
	// Secrets are the secret values in the opened body of a row, by where they are; nil when nobody asks for them.
	Secrets func(row statestore.Row, plain []byte) (map[string][]byte, error)
}

// Rotation is one stage whose key is to be changed.
type Rotation struct {
	Store    statestore.Store
	Stage    statestore.Stage
	Claim    statestore.Claim
	Place    seal.Place
	Contents Contents
	// Wrapping says for whom the ring is wrapped; see [seal.Place.Again].
	Wrapping func(seal.Place) (seal.Wrapping, error)
	// Copies are saved copies of the state that are sealed again too.
	Copies []Copy
	// Accept goes on from a state that was put back to something older; see [keeper.Whole].
	Accept bool
}

// Copy is a saved copy of the state of a stage.
type Copy struct {
	Name string // for errors
	// Snapshot holds its rows, outputs and facts.
	Snapshot *statestore.Snapshot
	// Save replaces the copy in one step.
	Save func(*statestore.Snapshot) error
}

// Result says what a rotation did.
type Result struct {
	// Key is the id of the newest key, Number its number.
	Key    string
	Number uint64
	// Resumed says that a rotation that was interrupted was finished, and no key was added.
	Resumed bool
	Rows    int // that were sealed again
	Secrets int
	Copies  int
	// Scraps names the parts of the store, read by nobody, that may still hold what the old key sealed.
	Scraps []string
	// Left are the keys that left the ring, Kept the older ones that values still derive from.
	Left, Kept []string
}

// ErrUnreadable says that something of the stage cannot be opened with any key of the ring: nothing was changed.
var ErrUnreadable = errors.New("it cannot be read with any key at hand")

// Run adds a key to the ring of a stage and seals all that was sealed with an older one again: rows, outputs,
// stage-wide facts, and the sealed secrets beside the program. It is a run of its own under the lease. The new key is
// durable beside the program and in the store before anything is sealed with it, and an older one leaves in the last
// commit, after everything was read again. Interrupted anywhere, the next Run goes on.
func Run(ctx context.Context, r Rotation) (*Result, error) {
	whole := keeper.NewWhole(r.Store, r.Stage, nil) // the key is known when the state was read
	whole.Accept = r.Accept
	j, err := statestore.Begin(ctx, whole, r.Stage, r.Claim)
	if err != nil {
		return nil, err
	}
	defer j.Close() //nolint:errcheck // it ends the renewals, and cannot fail
	w := &work{Rotation: r, journal: j, whole: whole}
	end, err := w.run(ctx)
	if err != nil {
		state := statestore.Failed
		if errors.Is(err, context.Canceled) {
			state = statestore.Cancelled
		}
		if ending := j.Finish(context.WithoutCancel(ctx), state, nil); ending != nil && !errors.Is(err, ending) {
			err = errors.Join(err, ending)
		}
		return nil, err
	}
	if err := j.FinishWith(ctx, end, statestore.Succeeded, nil); err != nil {
		return nil, err
	}
	return &w.result, nil
}

// work is a rotation in progress.
type work struct {
	Rotation
	journal *statestore.Journal
	whole   *keeper.Whole
	ring    *seal.Key
	result  Result
}

// run does everything but the last commit, which it returns.
func (w *work) run(ctx context.Context) (statestore.Change, error) {
	snap, err := w.Store.Load(ctx, w.Stage)
	if err != nil {
		return statestore.Change{}, err
	}
	wrapping, err := w.begin(snap)
	if err != nil {
		return statestore.Change{}, err
	}
	if err := w.announce(ctx, wrapping); err != nil {
		return statestore.Change{}, err
	}
	if err := w.reseal(ctx, snap); err != nil {
		return statestore.Change{}, err
	}
	if err := w.compact(ctx); err != nil {
		return statestore.Change{}, err
	}
	return w.end(ctx, wrapping)
}

// begin finds the ring, proves that all can be read with it, and adds a key unless a rotation was interrupted.
func (w *work) begin(snap *statestore.Snapshot) (wrapping seal.Wrapping, err error) {
	w.Place.Stored = snap.Meta[keeper.RingFact]
	if w.ring, err = seal.Load(w.Place, snap.KeyID); err != nil {
		return wrapping, err
	}
	w.whole.Rekey(w.ring)
	if err = w.whole.Prove(snap); err != nil {
		return wrapping, err
	}
	if wrapping, err = w.Wrapping(w.Place); err != nil {
		return wrapping, err
	}
	if _, err = w.readAll(snap, ""); err != nil {
		return wrapping, err
	}
	if _, err = w.readCopies(""); err != nil {
		return wrapping, err
	}
	w.result.Resumed = snap.Meta[unfinished] != nil || snap.KeyID != "" && snap.KeyID != w.ring.ID() || w.isMixed(snap)
	if !w.result.Resumed {
		if w.ring, err = w.ring.Next(); err != nil {
			return wrapping, err
		}
		w.whole.Rekey(w.ring)
	}
	w.result.Key, w.result.Number = w.ring.ID(), w.ring.Number()
	return wrapping, err
}

// isMixed reports whether an older key than the newest sealed anything: a rotation was interrupted before its first
// commit, and a run that found the new key wrote since.
func (w *work) isMixed(snap *statestore.Snapshot) bool {
	old := func(sealed []byte) bool { return len(sealed) > 0 && seal.SealedBy(sealed) != w.ring.ID() }
	for _, row := range snap.Rows {
		if old(row.Body) {
			return true
		}
	}
	for name, sealed := range snap.Meta {
		if !keeper.Own(name) && old(sealed) {
			return true
		}
	}
	return old(snap.Outputs)
}

// announce makes the ring durable beside the program and in the store.
func (w *work) announce(ctx context.Context, wrapping seal.Wrapping) error {
	wrapped, err := w.write(wrapping)
	if err != nil {
		return err
	}
	return w.journal.Commit(ctx, statestore.Change{KeyID: w.ring.ID(), Meta: map[string][]byte{
		keeper.RingFact: wrapped, unfinished: []byte(w.ring.ID()),
	}})
}

// write writes the ring beside the program, as long as the lease is certainly ours.
func (w *work) write(wrapping seal.Wrapping) ([]byte, error) {
	if err := w.journal.Held(); err != nil {
		return nil, err
	}
	if _, err := w.ring.Wrap(w.Place, wrapping); err != nil {
		return nil, err
	}
	return w.Place.Wrapped()
}

// compacter is a store that holds on to what was replaced for a while: in parts of a file that are empty, or as older
// versions. Compact removes that, at the latest with the end of the run. A [statestore.RemnantsError] names what may stay.
type compacter interface {
	Compact(ctx context.Context) error
}

// compact removes what the old key sealed from the store. It comes before the last commit: a rotation that is killed here
// is not finished, and the next one compacts again.
func (w *work) compact(ctx context.Context) error {
	store, ok := w.Store.(compacter)
	if !ok {
		w.result.Scraps = []string{"the store"}
		return nil
	}
	if err := w.stopped(ctx); err != nil {
		return err
	}
	err := store.Compact(ctx)
	if rest, ok := errors.AsType[*statestore.RemnantsError](err); ok {
		w.result.Scraps = rest.Where
		return nil
	}
	if errors.Is(err, errors.ErrUnsupported) {
		w.result.Scraps, err = []string{"the store's file, until its space is used again"}, nil
	}
	return err
}

// reseal seals all that an older key sealed.
func (w *work) reseal(ctx context.Context, snap *statestore.Snapshot) error {
	if err := w.resealSecrets(); err != nil {
		return err
	}
	if err := w.resealCopies(); err != nil {
		return err
	}
	facts, err := w.facts(snap)
	if err != nil {
		return err
	}
	if facts.Outputs != nil || len(facts.Meta) > 0 {
		if err := w.journal.Commit(ctx, facts); err != nil {
			return err
		}
	}
	var rows []statestore.Row
	for _, address := range slices.Sorted(maps.Keys(snap.Rows)) {
		row := snap.Rows[address]
		if len(row.Body) == 0 || seal.SealedBy(row.Body) == w.ring.ID() {
			continue
		}
		if row, err = w.resealed(row); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	for part := range slices.Chunk(rows, group) {
		if err := w.stopped(ctx); err != nil {
			return err
		}
		if err := w.journal.Commit(ctx, statestore.Change{Put: part}); err != nil {
			return err
		}
		w.result.Rows += len(part)
	}
	return nil
}

// resealed is a row that the newest key sealed.
func (w *work) resealed(row statestore.Row) (statestore.Row, error) {
	plain, err := w.ring.Open(row.Body, w.Contents.Binding(row.Birth))
	if err != nil {
		return row, fmt.Errorf("%s: %w", row.Address, err)
	}
	next, _, err := w.Contents.Rekey(row, plain, w.ring)
	if err != nil {
		return row, fmt.Errorf("%s: %w", row.Address, err)
	}
	row.Body = w.ring.Seal(next, w.Contents.Binding(row.Birth))
	return row, nil
}

// resealCopies seals the saved copies again, one file after the other.
func (w *work) resealCopies() error {
	for i := range w.Copies {
		one := &w.Copies[i]
		facts, err := w.facts(one.Snapshot)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		next := *one.Snapshot
		next.KeyID, next.Rows, next.Meta = w.ring.ID(), maps.Clone(next.Rows), maps.Clone(next.Meta)
		changed := facts.Outputs != nil || len(facts.Meta) > 0
		if facts.Outputs != nil {
			next.Outputs = facts.Outputs
		}
		maps.Copy(next.Meta, facts.Meta)
		for address, row := range next.Rows {
			if len(row.Body) == 0 || seal.SealedBy(row.Body) == w.ring.ID() {
				continue
			}
			if next.Rows[address], err = w.resealed(row); err != nil {
				return fmt.Errorf("%s: %w", one.Name, err)
			}
			changed = true
		}
		if !changed {
			continue
		}
		if err := w.journal.Held(); err != nil {
			return err
		}
		if err := one.Save(&next); err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		one.Snapshot = &next
		w.result.Copies++
	}
	return nil
}

// readCopies opens the saved copies as [work.readAll] does, and returns the ids of the keys that values in them derive
// from.
func (w *work) readCopies(only string) (map[string]bool, error) {
	derived := map[string]bool{}
	for _, one := range w.Copies {
		from, err := w.readState(one.Snapshot, only)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		maps.Copy(derived, from)
	}
	return derived, nil
}

// stopped is the reason to end before the next commit: somebody asked for it.
func (w *work) stopped(ctx context.Context) error {
	select {
	case <-w.journal.Cancelled():
		return context.Canceled
	default:
		return ctx.Err()
	}
}

func (w *work) resealSecrets() error {
	secrets, err := w.Place.Secrets()
	if err != nil {
		return err
	}
	if secrets.Key != w.ring.ID() {
		w.result.Secrets = len(secrets.Sealed)
	}
	return secrets.Reseal(w.ring)
}

// facts are the outputs and stage-wide facts, sealed again.
func (w *work) facts(snap *statestore.Snapshot) (statestore.Change, error) {
	var change statestore.Change
	again := func(what string, sealed []byte) ([]byte, error) {
		plain, err := w.ring.Open(sealed, w.Contents.Binding("\x00"+what))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return w.ring.Seal(plain, w.Contents.Binding("\x00"+what)), nil
	}
	var err error
	if len(snap.Outputs) > 0 && seal.SealedBy(snap.Outputs) != w.ring.ID() {
		if change.Outputs, err = again("outputs", snap.Outputs); err != nil {
			return change, err
		}
	}
	for name, sealed := range snap.Meta {
		if keeper.Own(name) || seal.SealedBy(sealed) == w.ring.ID() {
			continue
		}
		next, err := again(name, sealed)
		if err != nil {
			return change, err
		}
		if change.Meta == nil {
			change.Meta = map[string][]byte{}
		}
		change.Meta[name] = next
	}
	return change, nil
}

// readAll opens everything with the ring, and with nothing but the key whose id is given when one is. It returns the
// ids of the keys that values derive from.
func (w *work) readAll(snap *statestore.Snapshot, only string) (map[string]bool, error) {
	derived, unread := w.readState(snap, only)
	bad := []error{unread}
	secrets, err := w.Place.Secrets()
	if err != nil {
		return nil, err
	}
	for _, name := range secrets.Names() {
		if _, err := secrets.Get(w.ring, name); err != nil {
			bad = append(bad, fmt.Errorf("secret %s: %w: %w", name, ErrUnreadable, err))
		} else if only != "" && secrets.Key != only {
			bad = append(bad, fmt.Errorf("the secrets are still sealed with key %s", secrets.Key))
		}
	}
	return derived, errors.Join(bad...)
}

// readState does so with rows, outputs and facts.
func (w *work) readState(snap *statestore.Snapshot, only string) (map[string]bool, error) {
	derived := map[string]bool{}
	var bad []error
	open := func(what string, sealed, binding []byte) []byte {
		plain, err := w.ring.Open(sealed, binding)
		if err == nil && only != "" && seal.SealedBy(sealed) != only {
			err = fmt.Errorf("it is still sealed with key %s", seal.SealedBy(sealed))
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w: %w", what, ErrUnreadable, err))
		}
		return plain
	}
	for _, address := range slices.Sorted(maps.Keys(snap.Rows)) {
		row := snap.Rows[address]
		if len(row.Body) == 0 {
			continue
		}
		if plain := open(address, row.Body, w.Contents.Binding(row.Birth)); plain != nil {
			_, from, err := w.Contents.Rekey(row, plain, w.ring)
			if err != nil {
				bad = append(bad, fmt.Errorf("%s: %w", address, err))
			}
			for _, id := range from {
				derived[id] = true
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(snap.Damaged)) {
		bad = append(bad, snap.Damaged[address])
	}
	for _, damaged := range snap.DamagedFacts {
		bad = append(bad, damaged)
	}
	if len(snap.Outputs) > 0 {
		open("outputs", snap.Outputs, w.Contents.Binding("\x00outputs"))
	}
	for _, name := range slices.Sorted(maps.Keys(snap.Meta)) {
		if !keeper.Own(name) {
			open(name, snap.Meta[name], w.Contents.Binding("\x00"+name))
		}
	}
	return derived, errors.Join(bad...)
}

// end reads everything again and returns the last commit, in which the keys leave that nothing needs any more.
func (w *work) end(ctx context.Context, wrapping seal.Wrapping) (statestore.Change, error) {
	snap, err := w.whole.Load(ctx, w.Stage)
	if err != nil {
		return statestore.Change{}, err
	}
	derived, err := w.readAll(snap, w.ring.ID())
	if err != nil {
		return statestore.Change{}, err
	}
	copies, err := w.readCopies(w.ring.ID())
	if err != nil {
		return statestore.Change{}, err
	}
	maps.Copy(derived, copies)
	exposed, err := w.exposed(snap)
	if err != nil {
		return statestore.Change{}, err
	}
	for _, one := range w.ring.Ring()[1:] {
		if derived[one.ID()] {
			w.result.Kept = append(w.result.Kept, one.ID())
		} else {
			w.result.Left = append(w.result.Left, one.ID())
		}
	}
	change := statestore.Change{Meta: map[string][]byte{unfinished: nil, exposedFact: exposed}}
	if len(w.result.Left) == 0 {
		return change, nil
	}
	w.ring = w.ring.Keeping(func(id string) bool { return derived[id] })
	wrapped, err := w.write(wrapping)
	if err == nil && !bytes.Equal(wrapped, snap.Meta[keeper.RingFact]) {
		change.Meta[keeper.RingFact] = wrapped
	}
	return change, err
}
