package adopt

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
)

// Find finds the object of a resource among those that keys name. read reads one, which does not count where it is missing, and of
// says whose it is, with its identity. While a generation is created it alone counts, since the others are what it replaces. Else
// the newest counts, and two of it are an error. others are those of other owners, or of none.
func Find[K, L any](s reconcile.Facts, keys []K, read func(K) (L, error), of func(L) (owner reconcile.Mark, id string)) (ours *L, others []L, err error) {
	var newest uint64
	var known string
	for _, key := range keys {
		live, err := read(key)
		if errors.Is(err, reconcile.ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		switch owner, id := of(live); {
		case s.Owner.IsZero() || !owner.SameResource(s.Owner):
			others = append(others, live)
		case s.Nonce != "" && owner.Generation != s.Owner.Generation:
		case ours == nil || owner.Generation > newest:
			ours, newest, known = &live, owner.Generation, id
		case owner.Generation == newest:
			return nil, nil, fmt.Errorf("%w: %s and %s carry the same owner tag", reconcile.ErrAmbiguous, known, id)
		}
	}
	return ours, others, nil
}
