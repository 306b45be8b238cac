package values

import (
	"fmt"
	"sync"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Budget bounds what the resolved props of a stack take together: a short program can refer to a long value very often.
type Budget struct {
	mu  sync.Mutex
	sum int
}

// Hold counts the resolved props of a resource in place of those that took so much before, and returns what these take. It is an
// error when those of all resources take more than [tree.MaxValues].
func (b *Budget) Hold(before int, props any) (size int, err error) {
	size = tree.Size(props, tree.MaxValues)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sum += size - before; b.sum > tree.MaxValues {
		return size, fmt.Errorf("with its values, those of the stack take more than %d MiB", tree.MaxValues>>20)
	}
	return size, nil
}
