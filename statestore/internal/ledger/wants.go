package ledger

import "github.com/athanor-dev/athanor/statestore"

// wantsOf is what committing a batch reads, as far as the batch itself tells: all of it in the usual case. What
// only the stored rows tell is asked for when they are known.
func wantsOf(lease statestore.Lease, batch *statestore.Batch) []Want {
	wants := []Want{{Table: Batches, Key: number(batch.Seq)}}
	for i := range batch.Put {
		row := &batch.Put[i]
		wants = append(wants, Want{Table: Rows, Key: []byte(row.Address)}, pastWant(lease, pastRow, row.Address))
		for _, key := range ownerKeys(row) {
			wants = append(wants, Want{Table: Owners, Key: []byte(key)})
		}
		for _, need := range row.Needs {
			wants = append(wants, Want{Table: Needed, Key: neededKey(need, row.Address)})
		}
		if len(row.Generations) == 0 {
			wants = append(wants, Want{Table: Needed, Key: parts(row.Address), All: true})
		}
	}
	for from, to := range batch.Move {
		wants = append(wants, Want{Table: Rows, Key: []byte(from)}, Want{Table: Rows, Key: []byte(to)},
			pastWant(lease, pastRow, from), pastWant(lease, pastRow, to),
			Want{Table: Needed, Key: parts(from), All: true})
	}
	for name := range batch.Meta {
		wants = append(wants, Want{Table: Facts, Key: []byte(metaPrefix + name)}, pastWant(lease, pastFact, metaPrefix+name))
	}
	if batch.Outputs != nil {
		wants = append(wants, Want{Table: Facts, Key: []byte(outputsKey)}, pastWant(lease, pastFact, outputsKey))
	}
	for _, event := range batch.Events {
		wants = append(wants, Want{Table: Events, Key: eventKey(lease.Epoch, event.Seq)})
	}
	if batch.Finish != "" {
		wants = append(wants, Want{Table: Runs, Key: number(lease.Epoch)})
	}
	return wants
}

// pastWant is what says whether a run has replaced an entry before.
func pastWant(lease statestore.Lease, code byte, key string) Want {
	return Want{Table: Past, Key: pastKey(lease.Epoch, code, []byte(key))}
}

// expectMoved asks for the rows that need a moved one, and for what the indexes say of all that move.
func (set *workset) expectMoved(move map[string]string) {
	var wants []Want
	for from := range move {
		for _, by := range set.stage.dependents(from) {
			wants = append(wants, Want{Table: Rows, Key: []byte(by)})
			if past := set.stage.past; past != nil {
				wants = append(wants, Want{Table: Past, Key: pastKey(past.Until, pastRow, []byte(by))})
			}
		}
	}
	set.stage.expect(wants...)
}

// expectFlush asks for the index entries that the rows leave and take, as far as they are not read yet.
func (set *workset) expectFlush(dirty []string) {
	if _, remote := set.stage.Tx.(Remote); !remote {
		return
	}
	var wants []Want
	for _, address := range dirty {
		w := set.rows[address]
		for _, row := range []*statestore.Row{w.old, w.next} {
			for _, key := range ownerKeys(row) {
				wants = append(wants, Want{Table: Owners, Key: []byte(key)})
			}
		}
		if w.next != nil {
			for _, need := range w.next.Needs {
				wants = append(wants, Want{Table: Needed, Key: neededKey(need, address)})
			}
		}
	}
	set.stage.expect(wants...)
}
