package local

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/reconcile"
)

func birthOf(p Process) birth { return birth{PID: number(p.PID), Start: p.StartTime} }

// anyAlive reports that a process in state still runs: that one, or the one it became when it was started
// again.
func anyAlive(p Process) bool { return birthOf(p).alive() || readNotes(p.Log).Group.alive() }

// endStray ends what runs of a process in state and belongs to no session of ours: one that ended without cleaning up, or
// one of another command that still runs, which learns by the notes that it is not to start it again.
func endStray(ctx context.Context, place reconcile.Place, p Process, had ProcessProps) error {
	if !anyAlive(p) {
		return nil
	}
	processTable.Default(&had)
	return through(ctx, place, "StopProcess", true, func() error {
		left := readNotes(p.Log)
		if p.Log != "" {
			l := &logFile{path: p.Log}
			if err := l.note(notes{Port: left.Port}); err != nil && !missing(err) {
				return err
			}
		}
		var errs []error
		for _, keeper := range []birth{left.Group, birthOf(p)} {
			errs = append(errs, endGroup(ctx, keeper, left.Leader, signalOf(*had.Stop), *had.Grace))
		}
		return errors.Join(errs...)
	})
}
