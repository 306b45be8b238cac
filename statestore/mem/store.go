// Package mem is the store in memory, for tests and for runs that leave nothing behind.
package mem

import "github.com/athanor-dev/athanor/statestore"

// Store is a store in memory.
type Store struct{ statestore.Store }

// New makes an empty store.
func New() *Store { return &Store{} }
