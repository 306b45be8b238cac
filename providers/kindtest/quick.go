package kindtest

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Quick is a kind that believes what a look says after a time that a test can wait for: a creation whose answer was lost, and
// which did not happen, is tried again after its bound of visibility.
func Quick[P, L, A any](kind *reconcile.Kind[P, L, A], visibility time.Duration) reconcile.Any {
	k := *kind
	k.Visibility = visibility
	return reconcile.Erase(&k)
}
