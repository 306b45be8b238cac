package statestore

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
