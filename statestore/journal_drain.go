package statestore

import (
	"errors"
	"maps"
	"runtime"
	"slices"
)

// lead commits the first group of the queue. What has arrived meanwhile is left to a goroutine of its own: the caller has
// other work.
func (j *Journal) lead() {
	defer j.done.Done()
	if j.drainOnce() {
		j.done.Go(j.drain)
	}
}

// drain commits what is queued, batch by batch, until the queue is empty.
func (j *Journal) drain() {
	more := true
	for more {
		more = j.drainOnce()
	}
}

// drainOnce commits one group, and reports whether there is another; if not, nobody drains any more.
func (j *Journal) drainOnce() bool {
	if j.pacer != nil {
		j.pacer.Pace()
	} else {
		runtime.Gosched() // what others are about to queue goes with it: a disk that is fast would make a commit of each
	}
	j.mu.Lock()
	group := j.nextGroup()
	j.mu.Unlock()
	if group != nil { // else all was withdrawn
		j.commitGroup(group)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.draining = j.due(); !j.draining {
		j.startAsking()
	}
	return j.draining
}

// nextGroup takes from the queue what can share one batch. A batch moves before it puts, so that a
// change which moves can only be the first of its batch.
func (j *Journal) nextGroup() []*waiting {
	n := 0
	for n < len(j.queue) && (n == 0 || len(j.queue[n].change.Move) == 0) {
		n++
		if j.queue[n-1].finish != "" {
			break
		}
	}
	if n == 0 {
		return nil
	}
	group := j.queue[:n:n]
	j.queue = j.queue[n:]
	return group
}

// commitGroup commits the group as one batch. When the store refuses it, the halves are tried on
// their own, down to single changes: each then gets exactly the answer that it deserves, at the cost
// of a few more commits in a case that is rare.
func (j *Journal) commitGroup(group []*waiting) {
	err := j.resend()
	if err == nil {
		err = j.send(group)
	}
	if err != nil && len(group) > 1 && Refused(err) && !errors.Is(err, ErrFenced) {
		j.commitGroup(group[:len(group)/2])
		j.commitGroup(group[len(group)/2:])
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, w := range group {
		w.done <- j.verdict(w, err)
	}
}

// resend decides a batch whose outcome is unknown: the same sequence with the same content is a
// replay when it was durable after all. A refusal proves that it never was.
func (j *Journal) resend() error {
	j.mu.Lock()
	batch := j.unknown
	j.mu.Unlock()
	if batch == nil {
		return nil
	}
	err := j.apply(*batch)
	if err != nil && Refused(err) && !errors.Is(err, ErrFenced) {
		j.mu.Lock()
		j.unknown = nil
		j.mu.Unlock()
		return nil
	}
	return err
}

// send commits one group.
func (j *Journal) send(group []*waiting) error {
	j.mu.Lock()
	batch := j.build(group)
	j.mu.Unlock()
	return j.apply(batch)
}

// apply sends one batch and takes note of what came of it.
func (j *Journal) apply(batch Batch) error {
	j.mu.Lock()
	if j.finished != "" || errors.Is(j.fate, ErrFenced) {
		defer j.mu.Unlock()
		return j.fate
	}
	lease, asked := j.lease, j.take()
	j.mu.Unlock()

	before := j.clock.read()
	next, err := j.store.Commit(j.writing, lease, batch)

	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.tell(asked)
	switch {
	case err == nil:
		j.lease, j.renewed, j.seq, j.unknown = next, before, batch.Seq, nil
		if !onlyRenews(batch) {
			j.commits++
		}
		j.events = j.events[len(batch.Events):]
		j.trackVersions(batch)
		j.noteCancel(next)
		if batch.Finish != "" {
			j.finished = batch.Finish
			j.end(ErrFinished)
		}
	case errors.Is(err, ErrFenced):
		j.end(err)
	case !Refused(err):
		j.unknown = &batch
	}
	return err
}

// build merges a group into one batch, in arrival order. A row that is put twice is written once,
// with the last content, against the version that the first one expected. The lock is held.
func (j *Journal) build(group []*waiting) Batch {
	batch := Batch{Seq: j.seq + 1, Renew: true, Events: slices.Clip(j.events)}
	versions := j.versions
	rows := 0
	for _, w := range group {
		rows += len(w.change.Put)
	}
	at := make(map[string]int, rows)
	batch.Put = slices.Grow(batch.Put, rows)
	for _, w := range group {
		if len(w.change.Move) > 0 {
			batch.Move = w.change.Move
			versions = moved(versions, batch.Move)
		}
		for _, row := range w.change.Put {
			if version, known := versions[row.Address]; known && row.Version != Repair {
				row.Version = version
			}
			if i, again := at[row.Address]; again {
				row.Version = batch.Put[i].Version
				batch.Put[i] = row
				continue
			}
			at[row.Address] = len(batch.Put)
			batch.Put = append(batch.Put, row)
		}
		if len(w.change.Meta) > 0 {
			if batch.Meta == nil {
				batch.Meta = make(map[string][]byte)
			}
			maps.Copy(batch.Meta, w.change.Meta)
		}
		if w.change.Outputs != nil {
			batch.Outputs = w.change.Outputs
		}
		if w.change.KeyID != "" {
			batch.KeyID = w.change.KeyID
		}
		if w.finish != "" {
			batch.Finish, batch.Summary = w.finish, w.summary
		}
	}
	return batch
}

// trackVersions notes what the store now has. The lock is held.
func (j *Journal) trackVersions(batch Batch) {
	j.versions = moved(j.versions, batch.Move)
	for _, row := range batch.Put {
		j.versions[row.Address] = nextVersion(row)
	}
}

// nextVersion is the version of a row after it was put.
func nextVersion(row Row) uint64 {
	switch {
	case len(row.Generations) == 0:
		return 0
	case row.Version == Repair:
		return 1
	}
	return row.Version + 1
}

// moved is what is known of versions after a move. A row keeps its version when it moves; an address
// that was left by a move and not taken by another one has no row.
func moved(versions map[string]uint64, move map[string]string) map[string]uint64 {
	if len(move) == 0 {
		return versions
	}
	next := maps.Clone(versions)
	for from := range move {
		next[from] = 0
	}
	for from, to := range move {
		if version, known := versions[from]; known {
			next[to] = version
		} else {
			delete(next, to)
		}
	}
	return next
}

func onlyRenews(b Batch) bool {
	return len(b.Put) == 0 && len(b.Move) == 0 && len(b.Meta) == 0 && b.Outputs == nil && b.KeyID == "" && b.Finish == ""
}
