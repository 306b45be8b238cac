package state_test

import (
	"testing"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// FuzzRow decodes bodies of rows: whatever they hold is an error or an entry, never a panic.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"cut":{"b":["peer"]},"gens":{"1":{"attrs":{"id":"x"},"name":"n","named":true,"written":{"p":"d"}}},"options":{"timeouts":{"create":"1m30s"}},"props":{},"secret":["a"],"was":["b"]}`))
	f.Add([]byte(`{"gens":[1],"options":{"timeouts":5},"cut":{"a":3},"secret":{"x":1}}`))
	f.Add([]byte(`[]`))
	row := statestore.Row{Address: "a", Birth: "a", Generations: []statestore.Generation{{Number: 1, State: statestore.Live, Kind: "k"}}}
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = state.DecodeRow(row, body)
	})
}
