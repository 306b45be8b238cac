package engine

import "github.com/athanor-dev/athanor/statestore"

// DecodeRow opens a row's body that was unsealed.
func DecodeRow(row statestore.Row, plain []byte) error {
	_, err := decodeRow(row, plain)
	return err
}
