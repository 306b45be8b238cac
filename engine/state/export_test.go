package state

import (
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// DecodeRow opens a row's body that was unsealed.
func DecodeRow(row statestore.Row, body []byte) (*Entry, error) {
	return decodeRow(row, body, new(tree.Reader), nil)
}
