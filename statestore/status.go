package statestore

import (
	"fmt"
	"time"
)

// Status says in a word how a stage is, by its state and its newest run: running, interrupted, failed, damaged, empty,
// unfinished (an object is half created) or deployed.
func Status(snap *Snapshot, runs []Run) string {
	newest := RunState("")
	if len(runs) > 0 {
		newest = runs[0].State
	}
	switch {
	case snap.Holder != nil:
		return "running"
	case newest == Running, newest == Lost, newest == Cancelled:
		return "interrupted"
	case newest == Failed:
		return "failed"
	case len(snap.Damaged) > 0:
		return "damaged"
	case len(snap.Rows) == 0:
		return "empty"
	}
	for _, row := range snap.Rows {
		for _, g := range row.Generations {
			if g.Intent {
				return "unfinished"
			}
		}
	}
	return "deployed"
}

// Ago says how long something is past, in its largest unit: 59 s, 12 min, 47 h, 3 days. What is still to come is 0 s past.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	default:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	}
}
