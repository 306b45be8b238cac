package ledger

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

func (s *Stage) now() time.Time { return s.World.Now().UTC().Round(0) }

// workset is the rows that a batch touches: as they are stored, and as they shall be. Everything is
// decided here first; then only the differences are written.
type workset struct {
	stage *Stage
	rows  map[string]*work
	names *decoder
}

type work struct {
	address string
	old     *statestore.Row // nil: not there, or damaged
	damaged error
	next    *statestore.Row // nil: not there
	dirty   bool
}

// applyRows moves and puts; changed says whether any row is another one afterwards.
func (s *Stage) applyRows(batch *statestore.Batch) (changed bool, err error) {
	if len(batch.Move) == 0 && len(batch.Put) == 0 {
		return false, nil
	}
	set := &workset{stage: s, rows: make(map[string]*work), names: newDecoder()}
	if err := set.move(batch.Move); err != nil {
		return false, err
	}
	for i := range batch.Put {
		if err := set.put(batch.Put[i]); err != nil {
			return false, err
		}
	}
	return set.flush()
}

// fetch reads a row into the set.
func (set *workset) fetch(address string) *work {
	if w := set.rows[address]; w != nil {
		return w
	}
	w := &work{address: address}
	set.rows[address] = w
	value := set.stage.Tx.Get(Rows, []byte(address))
	if value == nil {
		return w
	}
	row, err := set.names.row(address, value)
	if err != nil {
		w.damaged = err
		return w
	}
	w.old, w.next = &row, &row
	return w
}

func (set *workset) damage(w *work) error {
	e := &statestore.DamagedError{Stage: set.stage.Name, Address: w.address, Err: w.damaged}
	set.stage.identify(map[string]*statestore.DamagedError{w.address: e})
	return e
}

// move renames rows and lets the needs of others follow. Versions stay: nothing else of a row changes.
func (set *workset) move(move map[string]string) error {
	if len(move) == 0 {
		return nil
	}
	needing, err := set.checkMove(move)
	if err != nil {
		return err
	}
	arrived := make(map[string]*statestore.Row, len(move))
	for from, to := range move {
		row := *set.rows[from].old
		row.Address = to
		arrived[to] = &row
	}
	for from := range move {
		set.rows[from].next, set.rows[from].dirty = nil, true
	}
	for to, row := range arrived {
		set.rows[to].next, set.rows[to].dirty = row, true
	}
	for address := range needing {
		if to, moves := move[address]; moves {
			address = to
		}
		w := set.rows[address]
		row := *w.next
		row.Needs = renamed(row.Needs, move)
		if slices.Contains(row.Needs, address) {
			return &statestore.InvalidError{Address: address, Rule: "a row would need itself after the move"}
		}
		w.next, w.dirty = &row, true
	}
	return nil
}

// checkMove fetches all rows that a move touches: those that move, the places they move to, and those
// that need a moved one, which it returns.
func (set *workset) checkMove(move map[string]string) (needing map[string]bool, err error) {
	needing = make(map[string]bool)
	set.expectMoved(move)
	for _, from := range slices.Sorted(maps.Keys(move)) {
		w := set.fetch(from)
		switch target := set.fetch(move[from]); {
		case w.damaged != nil:
			return nil, set.damage(w)
		case w.old == nil:
			return nil, &statestore.InvalidError{Address: from, Rule: "a row that is not there cannot be moved"}
		case move[target.address] != "":
		case target.damaged != nil:
			return nil, set.damage(target)
		case target.old != nil:
			return nil, &statestore.ConflictError{Address: target.address, Have: target.old.Version}
		}
		for _, by := range set.stage.dependents(from) {
			dependent := set.fetch(by)
			if dependent.damaged != nil {
				return nil, set.damage(dependent)
			}
			needing[by] = dependent.old != nil
		}
	}
	maps.DeleteFunc(needing, func(_ string, there bool) bool { return !there })
	return needing, nil
}

func renamed(needs []string, move map[string]string) []string {
	next := make([]string, 0, len(needs))
	for _, need := range needs {
		if to, moves := move[need]; moves {
			need = to
		}
		next = append(next, need)
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// put sets one row, against the version that its writer read.
func (set *workset) put(row statestore.Row) error {
	w := set.fetch(row.Address)
	var have uint64
	if w.next != nil {
		have = w.next.Version
	}
	switch repair := row.Version == statestore.Repair; {
	case repair && w.damaged == nil:
		return &statestore.ConflictError{Address: row.Address, Want: row.Version, Have: have}
	case repair:
	case w.damaged != nil:
		return set.damage(w)
	case row.Version != have:
		return &statestore.ConflictError{Address: row.Address, Want: row.Version, Have: have}
	}
	w.dirty = true
	if len(row.Generations) == 0 {
		w.next = nil
		return nil
	}
	row.Version, row.Written = have+1, set.stage.now()
	w.next = &row
	return nil
}

// flush writes the differences: everything old goes first, so that an identity or a name can pass from
// one row to another within a batch.
func (set *workset) flush() (changed bool, err error) {
	addresses := slices.Sorted(maps.Keys(set.rows))
	dirty := addresses[:0]
	for _, address := range addresses {
		w := set.rows[address]
		if w.dirty && (w.old != nil || w.next != nil || w.damaged != nil) {
			dirty = append(dirty, address)
		}
	}
	set.expectFlush(dirty)
	for _, address := range dirty {
		if err := set.stage.remember(pastRow, []byte(address)); err != nil {
			return false, err
		}
	}
	for _, step := range []func(*work) error{set.stage.clearRow, set.stage.writeRow, set.stage.checkNeeded} {
		for _, address := range dirty {
			if err := step(set.rows[address]); err != nil {
				return false, err
			}
		}
	}
	return len(dirty) > 0, nil
}

// clearRow deletes what the next version of a row does not have.
func (s *Stage) clearRow(w *work) error {
	if w.damaged != nil {
		if err := s.clearDamaged(w.address); err != nil {
			return err
		}
	}
	if w.old != nil {
		keep := ownerKeys(w.next)
		for _, key := range ownerKeys(w.old) {
			if slices.Contains(keep, key) || string(s.Tx.Get(Owners, []byte(key))) != w.address {
				continue
			}
			if err := s.Tx.Delete(Owners, []byte(key)); err != nil {
				return err
			}
		}
		for _, need := range w.old.Needs {
			if w.next != nil && slices.Contains(w.next.Needs, need) {
				continue
			}
			if err := s.Tx.Delete(Needed, neededKey(need, w.address)); err != nil {
				return err
			}
		}
	}
	if w.next == nil && (w.old != nil || w.damaged != nil) {
		return s.Tx.Delete(Rows, []byte(w.address))
	}
	return nil
}

// clearDamaged removes what a row that cannot be read left in the indexes. It reads them whole, which only this
// rare case may.
func (s *Stage) clearDamaged(address string) error {
	var owned, needs [][]byte
	for key, value := range s.Tx.Ascend(Owners, nil, nil) {
		if string(value) == address {
			owned = append(owned, bytes.Clone(key))
		}
	}
	for key := range s.Tx.Ascend(Needed, nil, nil) {
		r := reader{buf: key}
		if r.bytes(); !r.bad && string(r.buf) == address {
			needs = append(needs, bytes.Clone(key))
		}
	}
	for _, key := range owned {
		if err := s.Tx.Delete(Owners, key); err != nil {
			return err
		}
	}
	for _, key := range needs {
		if err := s.Tx.Delete(Needed, key); err != nil {
			return err
		}
	}
	return nil
}

// writeRow writes the next version of a row and what the indexes need to know of it.
func (s *Stage) writeRow(w *work) error {
	if w.next == nil {
		return nil
	}
	for i := range w.next.Generations {
		if err := s.own(w.address, &w.next.Generations[i]); err != nil {
			return err
		}
	}
	for _, need := range w.next.Needs {
		key := neededKey(need, w.address)
		if s.Tx.Get(Needed, key) != nil {
			continue
		}
		if err := s.Tx.Put(Needed, key, []byte{}); err != nil {
			return err
		}
	}
	return s.Tx.Put(Rows, []byte(w.address), encodeRow(w.next))
}

// own enters a row as the owner of a physical identity.
func (s *Stage) own(address string, g *statestore.Generation) error {
	if g.Identity == "" {
		return nil
	}
	key := ownerKey(g)
	switch owner := string(s.Tx.Get(Owners, key)); {
	case owner == address:
		return nil
	case owner != "" && s.owns(owner, string(key)):
		return &statestore.OwnedError{Place: g.Place, Kind: g.Kind, Identity: g.Identity, Address: owner, Claimant: address}
	}
	return s.Tx.Put(Owners, key, []byte(address))
}

// owns asks the row itself: an index entry alone is no proof. A row that cannot be read keeps what is
// indexed as its own.
func (s *Stage) owns(address, key string) bool {
	value := s.Tx.Get(Rows, []byte(address))
	if value == nil {
		return false
	}
	row, err := newDecoder().row(address, value)
	return err != nil || slices.Contains(ownerKeys(&row), key)
}

func ownerKeys(row *statestore.Row) []string {
	if row == nil {
		return nil
	}
	var keys []string
	for i := range row.Generations {
		if g := &row.Generations[i]; g.Identity != "" {
			keys = append(keys, string(ownerKey(g)))
		}
	}
	return keys
}

// checkNeeded refuses that a row goes while another one needs it. It looks after all of the batch is
// written, so that a row may go together with those that need it.
func (s *Stage) checkNeeded(w *work) error {
	if w.next != nil || w.old == nil && w.damaged == nil {
		return nil
	}
	if by := s.dependents(w.address); len(by) > 0 {
		return &statestore.NeededError{Address: w.address, By: by}
	}
	return nil
}

// dependents lists the rows that need an address, sorted.
func (s *Stage) dependents(address string) []string {
	prefix := parts(address)
	var by []string
	for key := range s.Tx.Ascend(Needed, prefix, nil) {
		by = append(by, string(key[len(prefix):]))
	}
	return by
}
