package values

import (
	"fmt"
	"sync"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Budget bounds what the resolved props of a stack take together: a short program can refer to a long value very often.
type Budget struct {
	mu   sync.Mutex
	took map[string]int // by address
	sum  int
}

// Hold counts the resolved props of an address in place of those that were counted before. It is an error when all
// addresses together take more than [tree.MaxValues].
func (b *Budget) Hold(address string, props any) error {
	size := tree.Size(props, tree.MaxValues)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.took == nil {
		b.took = map[string]int{}
	}
	b.sum += size - b.took[address]
	b.took[address] = size
	if b.sum > tree.MaxValues {
		return fmt.Errorf("with its values, those of the stack take more than %d MiB", tree.MaxValues>>20)
	}
	return nil
}
