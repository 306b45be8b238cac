package mem

import (
	"iter"
	"slices"

	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// tables are the tables of one stage.
type tables map[ledger.Table]*ledger.Memory

func newTables() *tables {
	t := make(tables)
	for _, name := range ledger.Tables() {
		t[name] = new(ledger.Memory)
	}
	return &t
}

// tx is one transaction. It writes in place and remembers how to take everything back.
type tx struct {
	tables *tables
	undos  []func()
}

func (x *tx) undo() {
	for _, undo := range slices.Backward(x.undos) {
		undo()
	}
}

func (x *tx) Get(name ledger.Table, key []byte) []byte { return (*x.tables)[name].Get(string(key)) }

func (x *tx) Put(name ledger.Table, key, value []byte) error {
	x.set(name, string(key), append([]byte{}, value...))
	return nil
}

func (x *tx) Delete(name ledger.Table, key []byte) error {
	x.set(name, string(key), nil)
	return nil
}

func (x *tx) set(name ledger.Table, key string, value []byte) {
	t := (*x.tables)[name]
	before := t.Get(key)
	x.undos = append(x.undos, func() { t.Set(key, before) })
	t.Set(key, value)
}

func (x *tx) Clear(name ledger.Table, prefix []byte) error {
	var keys []string
	for key := range (*x.tables)[name].Ascend(string(prefix), "") {
		keys = append(keys, key)
	}
	for _, key := range slices.Backward(keys) { // from the end, so that nothing is shifted
		x.set(name, key, nil)
	}
	return nil
}

func (x *tx) Ascend(name ledger.Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for key, value := range (*x.tables)[name].Ascend(string(prefix), string(from)) {
			if !yield([]byte(key), value) {
				return
			}
		}
	}
}
