package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
)

// Empty is the snapshot of a stage that was never written.
func Empty(stage statestore.Stage) *statestore.Snapshot {
	return &statestore.Snapshot{
		Stage:   stage,
		Rows:    make(map[string]statestore.Row),
		Damaged: make(map[string]*statestore.DamagedError),
		Meta:    make(map[string][]byte),
	}
}

// Load reads the whole stage.
func (s *Stage) Load() (*statestore.Snapshot, error) {
	h, err := s.head()
	if err != nil {
		return nil, err
	}
	snap := Empty(s.Name)
	snap.Serial, snap.Revision, snap.Epoch, snap.KeyID = h.Serial, h.Revision, h.Epoch, h.KeyID
	if h.Tenure.Live(s.World) {
		snap.Holder = new(h.Tenure.Holder())
	}
	if h.LastFinal > 0 {
		snap.LastRun = new(s.run(h.LastFinal))
	}
	d := newDecoder()
	for key, value := range s.Tx.Ascend(Rows, nil, nil) {
		address := string(key)
		row, err := d.row(address, value)
		if err != nil {
			snap.Damaged[address] = &statestore.DamagedError{Stage: s.Name, Address: address, Err: err}
			continue
		}
		snap.Rows[address] = row
	}
	if len(snap.Damaged) > 0 {
		s.identify(snap.Damaged)
	}
	s.loadFacts(snap)
	return snap, nil
}

// identify finds the physical identities of rows that cannot be read: they are kept a second time,
// in the table of owners.
func (s *Stage) identify(damaged map[string]*statestore.DamagedError) {
	for key, value := range s.Tx.Ascend(Owners, nil, nil) {
		row := damaged[string(value)]
		if row == nil {
			continue
		}
		if id, ok := parseOwnerKey(key); ok {
			row.Identities = append(row.Identities, id)
		}
	}
}

const (
	outputsKey = "o"
	metaPrefix = "m"
)

func (s *Stage) loadFacts(snap *statestore.Snapshot) {
	for key, value := range s.Tx.Ascend(Facts, nil, nil) {
		payload, err := unframe(key, value)
		if err != nil {
			err = fmt.Errorf("stage-wide fact %q: %w", key, err)
			snap.DamagedFacts = append(snap.DamagedFacts, &statestore.DamagedError{Stage: s.Name, Err: err})
			continue
		}
		payload = append([]byte{}, payload...)
		if name, ok := bytes.CutPrefix(key, []byte(metaPrefix)); ok {
			snap.Meta[string(name)] = payload
		} else if string(key) == outputsKey {
			snap.Outputs = payload
		}
	}
}

// run reads one run. One that cannot be decoded is still listed, with what is certain of it.
func (s *Stage) run(epoch uint64) statestore.Run {
	var run statestore.Run
	err := s.getJSON(Runs, number(epoch), &run)
	if err != nil {
		return statestore.Run{Epoch: epoch, State: statestore.Lost, Note: "the entry of this run: " + err.Error()}
	}
	return run
}

// Runs lists the runs, newest first, at most limit (0: all).
func (s *Stage) Runs(limit int) ([]statestore.Run, error) {
	var runs []statestore.Run
	for _, epoch := range slices.Backward(s.lastEpochs(limit)) {
		runs = append(runs, s.run(epoch))
	}
	return runs, nil
}

// epochs lists the kept runs, oldest first.
func (s *Stage) epochs() []uint64 {
	var epochs []uint64
	for key := range s.Tx.Ascend(Runs, nil, nil) {
		if len(key) == 8 {
			epochs = append(epochs, binary.BigEndian.Uint64(key))
		}
	}
	return epochs
}

// lastEpochs lists the newest runs, oldest first, at most limit (0: all).
func (s *Stage) lastEpochs(limit int) []uint64 {
	remote, ok := s.Tx.(Remote)
	if !ok || limit <= 0 {
		epochs := s.epochs()
		if limit > 0 {
			epochs = epochs[max(0, len(epochs)-limit):]
		}
		return epochs
	}
	var epochs []uint64
	for _, key := range remote.Last(Runs, limit) {
		if len(key) == 8 {
			epochs = append(epochs, binary.BigEndian.Uint64(key))
		}
	}
	return epochs
}

// findRun looks a run up by its id, newest first; there are never many.
func (s *Stage) findRun(id string) (uint64, bool) {
	for _, epoch := range slices.Backward(s.epochs()) {
		if s.run(epoch).ID == id {
			return epoch, true
		}
	}
	return 0, false
}

// Events reads the events of a run behind a cursor. One that cannot be decoded has no body.
func (s *Stage) Events(run string, after uint64, limit int) ([]statestore.Event, error) {
	epoch, ok := s.findRun(run)
	if !ok || after+1 == 0 {
		return nil, nil
	}
	var events []statestore.Event
	for key, value := range s.Tx.Ascend(Events, number(epoch), eventKey(epoch, after+1)) {
		if len(key) != 16 || limit > 0 && len(events) == limit {
			break
		}
		event := statestore.Event{Seq: binary.BigEndian.Uint64(key[8:])}
		if body, err := unframe(key, value); err == nil {
			event.Body = append([]byte{}, body...)
		}
		events = append(events, event)
	}
	return events, nil
}

// fenced says why a lease is not the newest one, as well as the store remembers.
func (s *Stage) fenced(lease statestore.Lease) error {
	e := &statestore.FencedError{Stage: s.Name, Run: lease.Run}
	var run statestore.Run
	if s.getJSON(Runs, number(lease.Epoch), &run) == nil && run.ID == lease.Run {
		e.Note = run.Note
		if e.Note == "" && run.State != statestore.Running {
			e.Note = "it ended as " + string(run.State)
		}
	}
	return e
}

// Check proves that the indexes agree with the rows: each identity and each need of a readable row is
// indexed, and nothing else is. With what Snapshot.Check proves, that is every invariant of a stage.
func (s *Stage) Check() []error {
	var broken []error
	add := func(address, rule string) {
		broken = append(broken, &statestore.InvalidError{Address: address, Rule: rule})
	}
	owners, needed := make(map[string]string), make(map[string]bool)
	damaged := make(map[string]bool)
	d := newDecoder()
	for key, value := range s.Tx.Ascend(Rows, nil, nil) {
		row, err := d.row(string(key), value)
		if err != nil {
			damaged[string(key)] = true
			continue
		}
		for _, k := range ownerKeys(&row) {
			owners[k] = row.Address
		}
		for _, need := range row.Needs {
			needed[string(neededKey(need, row.Address))] = true
		}
	}
	for key, value := range s.Tx.Ascend(Owners, nil, nil) {
		if !damaged[string(value)] && owners[string(key)] != string(value) {
			add(string(value), "is indexed as the owner of an identity that it does not have")
		}
		delete(owners, string(key))
	}
	for key := range s.Tx.Ascend(Needed, nil, nil) {
		r := reader{buf: key}
		if need := r.text(); !damaged[string(r.buf)] && !needed[string(key)] {
			add(string(r.buf), "is indexed as needing "+need+", which it does not")
		}
		delete(needed, string(key))
	}
	for _, address := range owners {
		add(address, "has an identity that is not indexed")
	}
	for key := range needed {
		add(key, "is a need that is not indexed")
	}
	return broken
}
