package kindtest

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Quick is a kind that believes what a look says after a time that a test can wait for: a creation whose answer was lost, and
// which did not happen, is tried again after its bound of visibility.
func Quick[P, L, A any](of *kind.Kind[P, L, A], visibility time.Duration) reconcile.Any {
	k := *of
	k.EventuallyVisible = visibility
	return k.Erase()
}
