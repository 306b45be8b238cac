package statestore

import "context"

// question is one look at the store, shared by all who asked before it was sent.
type question struct {
	done   chan struct{}
	answer error
}

// Confirm asks the store itself whether the lease is still this run's: the last check before each mutation of the
// outside world, after Held. An unlock from elsewhere is seen by it at once; Held alone learns of one with the next
// commit or renewal. The answer is always younger than the call. Those who ask while a question or a commit is on its
// way share the next one, and a commit is an answer too, so that many writers cost little. A store that cannot be
// asked is no answer: then the clocks decide, which is what Held goes by. Where a question is a request that takes time,
// which a lease with a Margin says, nobody waits for the answer: an unlock is seen by the next call after it came, and
// the Margin is what Held gives up for that. The error is the one that ended the journal, or that of the context.
func (j *Journal) Confirm(ctx context.Context) error {
	j.mu.Lock()
	if j.fate != nil {
		defer j.mu.Unlock()
		return j.fate
	}
	if j.asked == nil {
		j.asked = &question{done: make(chan struct{})}
	}
	q := j.asked
	j.startAsking()
	patient := j.lease.Margin == 0
	j.mu.Unlock()
	if !patient {
		return nil
	}
	select {
	case <-q.done:
		return q.answer
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startAsking sees to it that somebody puts the question, unless a commit does. The lock is held.
func (j *Journal) startAsking() {
	if j.asked != nil && !j.asking && !j.draining {
		j.asking = true
		j.done.Go(j.ask)
	}
}

// ask puts questions to the store, one at a time.
func (j *Journal) ask() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.asked != nil && !j.draining {
		q, lease := j.take(), j.lease
		j.mu.Unlock()
		newest, err := j.store.Runs(j.stopping, lease.Stage, 1)
		ours := len(newest) == 1 && newest[0].Epoch == lease.Epoch && newest[0].ID == lease.Run && newest[0].State == Running
		if err == nil && !ours {
			// Only a commit is certain of it, and says who took the lease. One that fails leaves it to the clocks.
			_ = j.Renew(j.stopping)
		}
		j.mu.Lock()
		if err == nil && ours && newest[0].Cancelled {
			j.noteCancel(Lease{Cancelled: true})
		}
		j.tell(q)
	}
	j.asking = false
}

// take is the question that is to be answered by what is sent now; nil when there is none. The lock is held.
func (j *Journal) take() *question {
	q := j.asked
	j.asked = nil
	return q
}

// tell answers a question. The lock is held.
func (j *Journal) tell(q *question) {
	if q != nil {
		q.answer = j.fate
		close(q.done)
	}
}
