package ledger

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// MostPast is how many bytes the differences of all versions that are kept may take. Those of the newest run stay whatever
// their size is.
const MostPast = 2 << 20

// A version is kept as the entries of rows and facts that the run after it replaced, each as it was before that run. The
// versions before it follow from it in the same way. The key of a difference is the epoch of the run, the table and the
// key; its value is the entry that was there behind a byte that says so, or that byte alone.
const (
	wasAbsent  = 0
	wasPresent = 1
)

// The tables whose entries are a version, as keys name them.
const (
	pastRow  = 'r'
	pastFact = 'f'
)

// pastTable is the table that a byte of a key stands for, empty for none.
func pastTable(code byte) Table {
	switch code {
	case pastRow:
		return Rows
	case pastFact:
		return Facts
	}
	return ""
}

func pastKey(epoch uint64, code byte, key []byte) []byte {
	return append(append(number(epoch), code), key...)
}

// changesState reports whether a batch makes another version of the state.
func changesState(batch *statestore.Batch) bool {
	return len(batch.Put)+len(batch.Move)+len(batch.Meta) > 0 || batch.Outputs != nil || batch.KeyID != ""
}

// keepVersion lets what a batch changes be remembered, so that the version before the run stays.
func (s *Stage) keepVersion(h *rules.Head, batch *statestore.Batch) error {
	s.past = nil
	switch last := len(h.Past) - 1; {
	case !changesState(batch):
		return nil
	case h.Serial == 0 && h.Revision == 0:
		h.Empty = h.Epoch
		return nil
	case h.Empty == h.Epoch, !h.Complete(): // in a run that a program without versions has a part in, nothing is kept
		return nil
	case last < 0 || h.Past[last].Until != h.Epoch:
		version := h.Newest
		version.Until, version.KeyID = h.Epoch, h.KeyID
		h.Past = append(h.Past, version)
	}
	s.past = &h.Past[len(h.Past)-1]
	return nil
}

// remember keeps an entry as it was before the run, unless the run has replaced it before.
func (s *Stage) remember(code byte, key []byte) error {
	if s.past == nil {
		return nil
	}
	at := pastKey(s.past.Until, code, key)
	if s.Tx.Get(Past, at) != nil {
		return nil
	}
	value := []byte{wasAbsent}
	if old := s.Tx.Get(pastTable(code), key); old != nil {
		value = append([]byte{wasPresent}, old...)
	}
	s.past.Bytes += len(at) + len(value)
	return s.Tx.Put(Past, at, value)
}

// newVersion notes that a batch made another version, and gives up the oldest ones.
func (s *Stage) newVersion(h *rules.Head) error {
	if s.past == nil && h.Empty != h.Epoch {
		return nil
	}
	s.past = nil
	h.Newest = rules.Version{Serial: h.Serial, Revision: h.Revision, Epoch: h.Epoch, Written: s.now()}
	sum := 0
	for i := range h.Past {
		sum += h.Past[i].Bytes
	}
	for len(h.Past) > cmp.Or(s.Keep, statestore.KeptVersions) || len(h.Past) > 1 && sum > MostPast {
		sum -= h.Past[0].Bytes
		if err := s.Tx.Clear(Past, number(h.Past[0].Until)); err != nil {
			return err
		}
		h.Past = slices.Clone(h.Past[1:])
	}
	return nil
}

// completeVersions begins anew with the state as it is when a program that keeps no versions wrote it.
func (s *Stage) completeVersions(h *rules.Head) error {
	if h.Complete() {
		return nil
	}
	h.Past, h.Empty = nil, 0
	h.Newest = rules.Version{Serial: h.Serial, Revision: h.Revision, Epoch: h.LastFinal}
	return s.Tx.Clear(Past, nil)
}

// DropVersions gives up all versions but the state as it is. The run that holds the stage keeps no more.
func (s *Stage) DropVersions() (wrote bool, err error) {
	h, err := s.head()
	if err != nil || len(h.Past) == 0 {
		return false, err
	}
	h.Past, h.Newest = nil, rules.Version{}
	if err := s.Tx.Clear(Past, nil); err != nil {
		return false, err
	}
	return true, s.putHead(h)
}

// Versions lists the versions, newest first. Of those with one serial it has the newest.
func (s *Stage) Versions() ([]statestore.Version, error) {
	h, err := s.head()
	if err != nil || h.Serial == 0 {
		return nil, err
	}
	versions := []rules.Version{{Serial: h.Serial}}
	if h.Complete() {
		versions[0] = h.Newest
	}
	for _, v := range slices.Backward(h.Past) {
		if v.Serial > 0 && v.Serial < versions[len(versions)-1].Serial {
			versions = append(versions, v)
		}
	}
	out := make([]statestore.Version, len(versions))
	for i, v := range versions {
		out[i] = statestore.Version{Serial: v.Serial, Epoch: v.Epoch, Written: v.Written}
		var run statestore.Run
		if s.getJSON(Runs, number(v.Epoch), &run) == nil {
			out[i].Run, out[i].Command, out[i].User = run.ID, run.Command, run.User
		}
	}
	return out, nil
}

// LoadVersion reads the newest version with a serial.
func (s *Stage) LoadVersion(serial uint64) (*statestore.Snapshot, error) {
	h, err := s.head()
	if err != nil {
		return nil, err
	}
	if serial == h.Serial && serial > 0 {
		return s.Load()
	}
	at := len(h.Past) - 1
	for at >= 0 && h.Past[at].Serial != serial {
		at--
	}
	if at < 0 || serial == 0 {
		return nil, &statestore.NoVersionError{Stage: s.Name, Serial: serial}
	}
	v := h.Past[at]
	head, err := json.Marshal(&rules.Head{Epoch: v.Epoch, Serial: v.Serial, Revision: v.Revision, KeyID: v.KeyID})
	if err != nil {
		return nil, err
	}
	was := readOnly{}
	for _, table := range Tables() {
		was[table] = new(Memory)
	}
	was[Heads].Set(HeadKey, frame([]byte(HeadKey), head))
	for _, table := range []Table{Rows, Facts} {
		for key, value := range s.Tx.Ascend(table, nil, nil) {
			was[table].Set(string(key), slices.Clone(value))
		}
	}
	for _, run := range slices.Backward(h.Past[at:]) {
		for key, value := range s.Tx.Ascend(Past, number(run.Until), nil) {
			if table := pastTable(key[8]); table != "" && len(value) > 0 {
				var entry []byte
				if value[0] == wasPresent {
					entry = slices.Clone(value[1:])
				}
				was[table].Set(string(key[9:]), entry)
			}
		}
	}
	return (&Stage{Name: s.Name, Tx: was, World: s.World}).Load()
}
