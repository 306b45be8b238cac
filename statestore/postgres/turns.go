package postgres

import (
	"context"
	"sync"
)

// turns lets the changes of a folder by one process come one after the other. A change compares and swaps: of many at once all
// but one would be made again, each against those that came meanwhile, and hundreds of clients of one service would starve each
// other.
type turns struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

// enter waits for the turn at a folder, and returns what ends it.
func (t *turns) enter(ctx context.Context, folder string) (leave func(), err error) {
	t.mu.Lock()
	turn := t.of[folder]
	if turn == nil {
		turn = make(chan struct{}, 1)
		if t.of == nil {
			t.of = map[string]chan struct{}{}
		}
		t.of[folder] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
