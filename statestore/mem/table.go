package mem

import (
	"iter"
	"slices"

	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// tables are the tables of one stage.
type tables map[ledger.Table]*table

func newTables() *tables {
	t := make(tables)
	for _, name := range ledger.Tables() {
		t[name] = &table{values: make(map[string][]byte)}
	}
	return &t
}

// table keeps its keys sorted beside the values, so that walking from a key on costs nothing extra.
type table struct {
	keys   []string
	values map[string][]byte
}

// set puts a value, or deletes it when it is nil.
func (t *table) set(key string, value []byte) {
	_, there := t.values[key]
	at, _ := slices.BinarySearch(t.keys, key)
	switch {
	case value == nil && there:
		delete(t.values, key)
		t.keys = slices.Delete(t.keys, at, at+1)
	case value != nil && !there:
		t.keys = slices.Insert(t.keys, at, key)
		fallthrough
	case value != nil:
		t.values[key] = value
	}
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

func (x *tx) table(name ledger.Table) *table { return (*x.tables)[name] }

func (x *tx) Get(name ledger.Table, key []byte) []byte { return x.table(name).values[string(key)] }

func (x *tx) Put(name ledger.Table, key, value []byte) error {
	x.set(name, string(key), append([]byte{}, value...))
	return nil
}

func (x *tx) Delete(name ledger.Table, key []byte) error {
	x.set(name, string(key), nil)
	return nil
}

func (x *tx) set(name ledger.Table, key string, value []byte) {
	t := x.table(name)
	before := t.values[key]
	x.undos = append(x.undos, func() { t.set(key, before) })
	t.set(key, value)
}

func (x *tx) Clear(name ledger.Table) error {
	before := x.table(name)
	x.undos = append(x.undos, func() { (*x.tables)[name] = before })
	(*x.tables)[name] = &table{values: make(map[string][]byte)}
	return nil
}

func (x *tx) Ascend(name ledger.Table, from []byte) iter.Seq2[[]byte, []byte] {
	t := x.table(name)
	return func(yield func(key, value []byte) bool) {
		at, _ := slices.BinarySearch(t.keys, string(from))
		for _, key := range t.keys[at:] {
			if !yield([]byte(key), t.values[key]) {
				return
			}
		}
	}
}
