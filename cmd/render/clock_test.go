package render_test

import (
	"slices"
	"sync"
	"time"
)

// clock is a clock that a test moves.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	runs []*recurring
}

type recurring struct {
	every time.Duration
	next  time.Time
	do    func()
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 22, 10, 31, 4, 0, time.Local)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Every(d time.Duration, do func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &recurring{d, c.now.Add(d), do}
	c.runs = append(c.runs, r)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.runs = slices.DeleteFunc(c.runs, func(x *recurring) bool { return x == r })
	}
}

// advance moves the clock, and does what is due, each at its time.
func (c *clock) advance(d time.Duration) {
	for until := c.Now().Add(d); ; {
		c.mu.Lock()
		var due *recurring
		for _, r := range c.runs {
			if !r.next.After(until) && (due == nil || r.next.Before(due.next)) {
				due = r
			}
		}
		if due == nil {
			c.now = until
			c.mu.Unlock()
			return
		}
		c.now, due.next = due.next, due.next.Add(due.every)
		c.mu.Unlock()
		due.do()
	}
}
