package state

import (
	"fmt"

	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// OpenOutputs returns the outputs that the last run wrote, and the names of those that are secret.
func OpenOutputs(snap *statestore.Snapshot, key *seal.Key) (map[string]any, map[string]bool, error) {
	if len(snap.Outputs) == 0 {
		return nil, map[string]bool{}, nil
	}
	plain, err := key.Open(snap.Outputs, Binding(snap.Stage, "\x00outputs"))
	if err != nil {
		return nil, nil, err
	}
	decoded, err := tree.Decode(plain)
	if err != nil {
		return nil, nil, fmt.Errorf("outputs: %w", err)
	}
	body, _ := decoded.(map[string]any)
	values, _ := body["values"].(map[string]any)
	names, _ := body["secret"].([]any)
	secret := map[string]bool{}
	for _, n := range names {
		if s, ok := n.(string); ok {
			secret[s] = true
		}
	}
	return values, secret, nil
}
