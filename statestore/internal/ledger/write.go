package ledger

import (
	"fmt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// Acquire takes the lease and registers the run. Ended is the holder before, when it ended without giving the lease back.
func (s *Stage) Acquire(claim statestore.Claim) (lease statestore.Lease, ended host.Process, err error) {
	h, err := s.head()
	if err != nil {
		return lease, ended, err
	}
	take, err := rules.Acquire(h, s.Name, claim, s.World)
	if err != nil {
		return lease, ended, err
	}
	if !take.Again {
		if err := s.register(h, take, claim); err != nil {
			return lease, ended, err
		}
	}
	return h.Lease(s.Name), take.Ended, s.putHead(h)
}

// register writes the new run, and the end of one that did not finish. Here alone a run is added, so here the oldest
// ones are forgotten: runs that never finish are bounded too.
func (s *Stage) register(h *rules.Head, take rules.Takeover, claim statestore.Claim) error {
	s.expect(Want{Table: Runs, All: true}) // only now: a claim that is refused costs one reading
	if _, used := s.findRun(claim.Run); used {
		return &statestore.InvalidError{Rule: "the run id " + claim.Run + " was used before"}
	}
	if take.Lost > 0 {
		if err := s.lose(take.Lost, take.Note); err != nil {
			return err
		}
	}
	if err := s.Tx.Clear(Batches, nil); err != nil {
		return err
	}
	if err := s.completeVersions(h); err != nil {
		return err
	}
	t := &h.Tenure
	err := s.putRun(statestore.Run{
		ID: t.Run, Command: t.Command, State: statestore.Running, User: t.User,
		Host: t.Process.Host, PID: t.Process.PID, Epoch: h.Epoch, Started: t.Since,
	})
	if err != nil {
		return err
	}
	return s.forget()
}

func (s *Stage) putRun(run statestore.Run) error { return s.putJSON(Runs, number(run.Epoch), run) }

// lose ends a run that did not end itself. A final state stays what it is.
func (s *Stage) lose(epoch uint64, note string) error {
	run := s.run(epoch)
	if run.State != statestore.Running {
		return nil
	}
	run.State, run.Ended, run.Note = statestore.Lost, s.now(), note
	return s.putRun(run)
}

// Interrupt asks the holder to stop, or takes the lease away. Wrote says whether anything is to be
// made durable.
func (s *Stage) Interrupt(order statestore.Order) (done, wrote bool, err error) {
	h, err := s.head()
	if err != nil {
		return false, false, err
	}
	epoch := h.Epoch
	if order.Unlock {
		done, fresh := rules.Unlock(h, order, s.World)
		if !fresh {
			return done, false, nil
		}
		what := "unlocked"
		if order.Expired > 0 {
			what = "its lease expired; ended"
		}
		if err := s.lose(epoch, note(what, order)); err != nil {
			return false, false, err
		}
		return true, true, s.putHead(h)
	}
	asked, fresh := rules.Cancel(h, order, s.World)
	if !fresh {
		return asked, false, nil
	}
	run := s.run(epoch)
	run.Note, run.Cancelled = note("asked to stop", order), true
	if err := s.putRun(run); err != nil {
		return false, false, err
	}
	return true, true, s.putHead(h)
}

func note(what string, order statestore.Order) string {
	text := what
	if order.Who != "" {
		text += " by " + order.Who
	}
	if order.Why != "" {
		text += ": " + order.Why
	}
	return text
}

// Commit applies one batch. Wrote is false for a replay.
func (s *Stage) Commit(lease statestore.Lease, batch *statestore.Batch) (next statestore.Lease, wrote bool, err error) {
	h, err := s.head()
	if err != nil {
		return lease, false, err
	}
	if rules.Fenced(h, lease) {
		return lease, false, s.fenced(lease)
	}
	digest := rules.Digest(batch)
	seq := number(batch.Seq)
	replay, err := rules.Sequence(&h.Tenure, batch.Seq, digest, s.Tx.Get(Batches, seq))
	if replay && err == nil {
		return h.Lease(s.Name), false, nil
	}
	if h.Tenure.Released {
		return lease, false, s.fenced(lease)
	}
	if err == nil {
		err = rules.CheckBatch(batch)
	}
	if err != nil {
		return lease, false, err
	}
	if err := s.apply(h, batch); err != nil {
		return lease, false, err
	}
	h.Tenure.Seq = batch.Seq
	if err := s.Tx.Put(Batches, seq, digest); err != nil {
		return lease, false, err
	}
	return h.Lease(s.Name), true, s.putHead(h)
}

// apply writes everything of a batch but the head.
func (s *Stage) apply(h *rules.Head, batch *statestore.Batch) error {
	if err := s.keepVersion(h, batch); err != nil {
		return err
	}
	changed, err := s.applyRows(batch)
	if err != nil {
		return err
	}
	if changed {
		h.Serial++
	}
	if changed || len(batch.Meta) > 0 || batch.Outputs != nil || batch.KeyID != "" {
		h.Revision++
	}
	if batch.KeyID != "" {
		h.KeyID = batch.KeyID
	}
	if err := s.applyFacts(batch); err != nil {
		return err
	}
	if changesState(batch) {
		if err := s.newVersion(h); err != nil {
			return err
		}
	}
	for _, event := range batch.Events {
		key := eventKey(h.Epoch, event.Seq)
		if s.Tx.Get(Events, key) != nil {
			continue // the first one stays: what was read behind a cursor never changes
		}
		if err := s.Tx.Put(Events, key, frame(key, event.Body)); err != nil {
			return err
		}
	}
	if batch.Renew {
		h.Tenure.Renew(s.World)
	}
	if batch.Finish != "" {
		return s.finish(h, batch)
	}
	return nil
}

func (s *Stage) applyFacts(batch *statestore.Batch) error {
	if batch.Outputs != nil {
		key := []byte(outputsKey)
		if err := s.remember(pastFact, key); err != nil {
			return err
		}
		if err := s.Tx.Put(Facts, key, frame(key, batch.Outputs)); err != nil {
			return err
		}
	}
	for name, value := range batch.Meta {
		key := []byte(metaPrefix + name)
		err := s.remember(pastFact, key)
		switch {
		case err != nil:
		case value == nil:
			err = s.Tx.Delete(Facts, key)
		default:
			err = s.Tx.Put(Facts, key, frame(key, value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish ends the run and gives the lease back.
func (s *Stage) finish(h *rules.Head, batch *statestore.Batch) error {
	run := s.run(h.Epoch)
	if run.ID == "" { // damaged: what the head knows is enough to write it anew
		t := &h.Tenure
		run = statestore.Run{
			ID: t.Run, Command: t.Command, User: t.User, Host: t.Process.Host, PID: t.Process.PID,
			Epoch: h.Epoch, Started: t.Since,
		}
	}
	run.State, run.Ended, run.Summary = batch.Finish, s.now(), batch.Summary
	if err := s.putRun(run); err != nil {
		return err
	}
	h.Tenure.Released, h.LastFinal = true, h.Epoch
	return nil
}

// forget keeps the newest runs with their events.
func (s *Stage) forget() error {
	epochs := s.epochs()
	for len(epochs) > statestore.KeptRuns {
		if err := s.Tx.Clear(Events, number(epochs[0])); err != nil {
			return fmt.Errorf("forget old events: %w", err)
		}
		if err := s.Tx.Delete(Runs, number(epochs[0])); err != nil {
			return fmt.Errorf("forget an old run: %w", err)
		}
		epochs = epochs[1:]
	}
	return nil
}
