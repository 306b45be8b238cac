package rotate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// exposedFact names the stage-wide fact that holds keyed digests of the secrets that an older key could open, sealed.
const exposedFact = keeper.Prefix + "exposed"

// exposed are the digests of all secrets of a stage as they are now, sealed under the newest key: a holder of an older
// key could read each of them, as long as it is not changed.
func (w *work) exposed(snap *statestore.Snapshot) ([]byte, error) {
	digests := map[string]string{}
	for where, value := range w.values(snap, w.ring) {
		digests[where] = w.ring.Digest("exposed "+where, value)
	}
	plain, err := json.Marshal(digests)
	return w.ring.Seal(plain, w.Contents.Binding("\x00"+exposedFact)), err
}

// values are the secret values of a stage by where they are. What cannot be read has none; [Run] has read everything.
func (r Rotation) values(snap *statestore.Snapshot, ring *seal.Key) map[string][]byte {
	values := map[string][]byte{}
	for address, row := range snap.Rows {
		plain, err := ring.Open(row.Body, r.Contents.Binding(row.Birth))
		if err != nil || r.Contents.Secrets == nil {
			continue
		}
		found, err := r.Contents.Secrets(row, plain)
		if err != nil {
			continue
		}
		for path, value := range found {
			values[address+" "+path] = value
		}
	}
	secrets, err := r.Place.Secrets()
	if err != nil {
		return values
	}
	for _, name := range secrets.Names() {
		if value, err := secrets.Get(ring, name); err == nil {
			values["secret "+name] = []byte(value)
		}
	}
	return values
}

// Exposed lists the secrets that a holder of a key from before the last rotation could read or compute, and that have
// not changed since: "ADDRESS PATH" of a resource's, "secret NAME" of a sealed one. It takes no lease.
func Exposed(ctx context.Context, r Rotation) ([]string, error) {
	snap, err := r.Store.Load(ctx, r.Stage)
	if err != nil {
		return nil, err
	}
	r.Place.Stored = snap.Meta[keeper.RingFact]
	ring, err := seal.Load(r.Place, snap.KeyID)
	if err != nil {
		return nil, err
	}
	whole := keeper.NewWhole(r.Store, r.Stage, ring)
	whole.Accept = r.Accept
	if err := whole.Prove(snap); err != nil {
		return nil, err
	}
	sealed := snap.Meta[exposedFact]
	if sealed == nil {
		return nil, nil
	}
	plain, err := ring.Open(sealed, r.Contents.Binding("\x00"+exposedFact))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", exposedFact, err)
	}
	var digests map[string]string
	if err := json.Unmarshal(plain, &digests); err != nil {
		return nil, fmt.Errorf("%s: %w", exposedFact, err)
	}
	by := ring.By(seal.SealedBy(sealed))
	values := r.values(snap, ring)
	return slices.Sorted(func(yield func(string) bool) {
		for where := range maps.Keys(values) {
			if digest, known := digests[where]; known && digest == by.Digest("exposed "+where, values[where]) && !yield(where) {
				return
			}
		}
	}), nil
}
