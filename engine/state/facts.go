package state

import (
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// OpenFact returns what a snapshot says of the whole stage under a name, nil when it says nothing.
func OpenFact(snap *statestore.Snapshot, key *seal.Key, name string) (any, error) {
	sealed := snap.Meta[name]
	if sealed == nil {
		return nil, nil
	}
	plain, err := key.Open(sealed, Binding(snap.Stage, "\x00"+name))
	if err != nil {
		return nil, err
	}
	return tree.Decode(plain)
}

// SealFact returns the bytes that say a value of a whole stage under a name.
func SealFact(stage statestore.Stage, key *seal.Key, name string, value any) []byte {
	return key.Seal(tree.Canonical(value), Binding(stage, "\x00"+name))
}
