package postgres

import (
	"bytes"
	"crypto/sha256"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// fetch reads what is wanted in one statement. Everything that one transaction reads belongs to one version of the
// stage: when a later reading finds another one, the transaction is stale.
func (t *tables) fetch(wants []ledger.Want) {
	if t.err == nil {
		t.err = t.watch.reason(t.tryFetch(wants))
	}
}

func (t *tables) tryFetch(wants []ledger.Want) error {
	rows, err := t.from.Query(t.ctx, t.store.sql.fetch, fetchArgs(t.stage, wants)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		t.watch.alive()
		if err := t.take(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	t.store.met.Store(true)
	for _, want := range wants {
		switch known := t.known[want.Table]; {
		case want.Last > 0:
			known.last = max(known.last, want.Last)
		case want.All:
			known.whole = append(known.whole, string(want.Key))
		default:
			known.known[string(want.Key)] = true
		}
	}
	return nil
}

func fetchArgs(stage statestore.Stage, wants []ledger.Want) []any {
	var kinds, rangeKinds []string
	var keys, los, his [][]byte
	var limits []*int64
	for _, want := range wants {
		if !want.All {
			stored, _ := shortened(want.Key)
			kinds, keys = append(kinds, string(want.Table)), append(keys, stored)
			continue
		}
		lo, hi := span(want.Key)
		rangeKinds, los, his = append(rangeKinds, string(want.Table)), append(los, lo), append(his, hi)
		var limit *int64
		if want.Last > 0 {
			limit = new(int64(want.Last))
		}
		limits = append(limits, limit)
	}
	return []any{digest(stage), kinds, keys, rangeKinds, los, his, limits}
}

// digest is the key of a stage.
func digest(stage statestore.Stage) []byte {
	sum := sha256.Sum256(ledger.StageKey(stage))
	return sum[:]
}

// take reads one line of an answer: a record, or the one that tells the version.
func (t *tables) take(rows pgx.Rows) error {
	var kind string
	var key, long, value []byte
	var stage, number, schema *int64
	var reading *time.Time
	if err := rows.Scan(&kind, &key, &long, &value, &stage, &number, &schema, &reading); err != nil {
		return err
	}
	if kind == "" {
		return t.takeVersion(value, stage, number, schema, reading)
	}
	if long != nil {
		key = long
	}
	known := t.known[ledger.Table(kind)]
	if known == nil || known.known[string(key)] { // written meanwhile: what is stored no longer counts
		return nil
	}
	known.known[string(key)] = true
	known.Set(string(key), value)
	return nil
}

func (t *tables) takeVersion(head []byte, stage, number, schema *int64, reading *time.Time) error {
	if schema == nil || reading == nil {
		return t.store.checkSchema(0)
	}
	if err := t.store.checkSchema(*schema); err != nil {
		return err
	}
	now := version{reading: *reading}
	if stage != nil && number != nil {
		now.stage, now.number = *stage, *number
	}
	if t.at.number == unread {
		t.at = now
		t.known[ledger.Heads].Set(ledger.HeadKey, head)
		return nil
	}
	if now.stage != t.at.stage || now.number != t.at.number {
		return errStale
	}
	return nil
}

// changeArgs is everything that was written, for the statement that changes the stage, and its size in bytes.
func (t *tables) changeArgs() (args []any, size int) {
	var clearKinds, deleteKinds, kinds []string
	var los, his, deletes, keys, longs, values [][]byte
	for _, c := range t.clear {
		lo, hi := span(c.prefix)
		clearKinds, los, his = append(clearKinds, string(c.kind)), append(los, lo), append(his, hi)
	}
	for _, name := range ledger.Tables() {
		if name == ledger.Heads {
			continue
		}
		for key := range t.known[name].dirty {
			stored, isLong := shortened([]byte(key))
			value := t.known[name].Get(key)
			size += len(stored) + len(value)
			if value == nil {
				deleteKinds, deletes = append(deleteKinds, string(name)), append(deletes, stored)
				continue
			}
			var long []byte
			if isLong {
				long = []byte(key)
			}
			kinds, keys = append(kinds, string(name)), append(keys, stored)
			longs, values = append(longs, long), append(values, value)
		}
	}
	head := bytes.Clone(t.known[ledger.Heads].Get(ledger.HeadKey))
	args = []any{head, t.store.known(), clearKinds, los, his, deleteKinds, deletes, kinds, keys, longs, values}
	return args, size
}
