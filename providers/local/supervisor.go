package local

import (
	"context"
	"errors"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// supervisor owns the processes of one dev session. See reconcile.Owned.
type supervisor struct {
	mu       sync.Mutex
	children []*child
	ended    bool
}

func newSupervisor() *supervisor { return &supervisor{} }

// find returns the process that state holds with this birth. One whose address changed since goes by the new one.
func (s *supervisor) find(address string, b birth) *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.children {
		if c.over() || !c.isBorn(b) {
			continue
		}
		c.rename(address)
		return c
	}
	return nil
}

// start starts a process and waits until it is ready. What runs at its address ends first. One that is not ready in time, or
// ends before, is ended whole.
func (s *supervisor) start(ctx context.Context, d definition) (*child, error) {
	for _, old := range s.at(d.address) {
		if d.last.Port == "" {
			d.last = old.attrs()
		}
		if err := s.stop(ctx, old); err != nil {
			return nil, err
		}
	}
	c, err := newChild(d)
	if err != nil {
		return nil, err
	}
	if err := s.add(c); err != nil {
		return nil, errors.Join(err, c.end(ctx))
	}
	if err := c.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx), c))
	}
	return c, nil
}

// stop ends one process and forgets it.
func (s *supervisor) stop(ctx context.Context, c *child) error {
	err := c.end(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.children {
		if other == c {
			s.children = append(s.children[:i:i], s.children[i+1:]...)
			break
		}
	}
	return err
}

func (s *supervisor) add(c *child) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return reconcile.ErrDevClosed
	}
	s.children = append(s.children, c)
	return nil
}

// at are the processes of an address.
func (s *supervisor) at(address string) []*child {
	s.mu.Lock()
	defer s.mu.Unlock()
	var at []*child
	for _, c := range s.children {
		if c.called() == address {
			at = append(at, c)
		}
	}
	return at
}

// End ends all processes at once, each as its declaration says, or without any patience when ctx ends.
func (s *supervisor) End(ctx context.Context) error {
	s.mu.Lock()
	children := s.children
	s.children, s.ended = nil, true
	s.mu.Unlock()
	errs := make([]error, len(children))
	var all sync.WaitGroup
	for i, c := range children {
		all.Go(func() { errs[i] = c.end(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
