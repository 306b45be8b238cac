package miniflare

import (
	"context"
	"sync"
	"time"
)

// gate lets requests through to where they are answered. While that changes they wait.
type gate struct {
	mu      sync.Mutex
	to      place
	closed  chan struct{} // nil while it is open; closed when it opens
	inside  int
	emptied chan struct{} // closed when the last one leaves a closed gate
}

// enter waits until the gate is open, and tells where to go. Leave must be called after it.
func (g *gate) enter(ctx context.Context) (place, error) {
	for {
		g.mu.Lock()
		if g.closed == nil {
			g.inside++
			defer g.mu.Unlock()
			return g.to, nil
		}
		opens := g.closed
		g.mu.Unlock()
		select {
		case <-opens:
		case <-ctx.Done():
			return place{}, ctx.Err()
		}
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.emptied != nil {
		close(g.emptied)
		g.emptied = nil
	}
}

// swap closes the gate, waits for those inside as long as patience lasts, calls change, and opens it on another place.
func (g *gate) swap(to place, patience time.Duration, change func()) {
	g.mu.Lock()
	g.closed = make(chan struct{})
	var emptied chan struct{}
	if g.inside > 0 {
		g.emptied = make(chan struct{})
		emptied = g.emptied
	}
	g.mu.Unlock()
	if emptied != nil {
		limit := time.NewTimer(patience)
		select {
		case <-emptied:
		case <-limit.C:
		}
		limit.Stop()
	}
	change()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to, g.emptied = to, nil
	close(g.closed)
	g.closed = nil
}
