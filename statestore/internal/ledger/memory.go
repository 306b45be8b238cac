package ledger

import (
	"errors"
	"iter"
	"slices"
	"strings"
)

// Memory is one table in memory. It keeps its keys sorted beside the values, so that walking from a key on costs
// nothing extra. The zero value is an empty table.
type Memory struct {
	keys   []string
	values map[string][]byte
}

// Get is the value of a key, nil when there is none. It must not be changed.
func (m *Memory) Get(key string) []byte { return m.values[key] }

// Set puts a value, or deletes it when it is nil. The value is kept, not copied.
func (m *Memory) Set(key string, value []byte) {
	_, there := m.values[key]
	if value == nil && !there {
		return
	}
	if there && value != nil {
		m.values[key] = value
		return
	}
	at, _ := slices.BinarySearch(m.keys, key)
	if value == nil {
		delete(m.values, key)
		m.keys = slices.Delete(m.keys, at, at+1)
		return
	}
	if m.values == nil {
		m.values = make(map[string][]byte)
	}
	m.values[key] = value
	m.keys = slices.Insert(m.keys, at, key)
}

// Ascend walks, in order, the keys that begin with prefix and do not come before from.
func (m *Memory) Ascend(prefix, from string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		at, _ := slices.BinarySearch(m.keys, max(prefix, from))
		for _, key := range m.keys[at:] {
			if !strings.HasPrefix(key, prefix) || !yield(key, m.values[key]) {
				return
			}
		}
	}
}

// readOnly are tables in memory that nobody writes.
type readOnly map[Table]*Memory

// Get implements [Tx].
func (r readOnly) Get(table Table, key []byte) []byte { return r[table].Get(string(key)) }

// Put implements [Tx].
func (r readOnly) Put(Table, []byte, []byte) error { return errors.ErrUnsupported }

// Delete implements [Tx].
func (r readOnly) Delete(Table, []byte) error { return errors.ErrUnsupported }

// Clear implements [Tx].
func (r readOnly) Clear(Table, []byte) error { return errors.ErrUnsupported }

// Ascend implements [Tx].
func (r readOnly) Ascend(table Table, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for key, value := range r[table].Ascend(string(prefix), string(from)) {
			if !yield([]byte(key), value) {
				return
			}
		}
	}
}
