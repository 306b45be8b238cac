// Package model_test searches the protocol of statestore/internal/objects: every order in which the requests of two
// clients can reach a bucket, with answers lost, requests lost and requests that come late. The clients are the real
// code; the bucket and all that is random or takes time is simulated, so that each run can be repeated exactly.
package model_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/objects"
)

// search walks a tree of choices depth first: each run follows the choices of the one before up to the last that has
// another way to go.
type search struct {
	taken  []int
	widths []int
	at     int
}

// choose returns one of n ways.
func (s *search) choose(n int) int {
	if s.at == len(s.taken) {
		s.taken, s.widths = append(s.taken, 0), append(s.widths, n)
	}
	s.widths[s.at] = n
	s.at++
	return s.taken[s.at-1]
}

// next prepares the next run; false when all were made.
func (s *search) next() bool {
	s.taken, s.widths = s.taken[:s.at], s.widths[:s.at]
	for len(s.taken) > 0 {
		last := len(s.taken) - 1
		if s.taken[last]++; s.taken[last] < s.widths[last] {
			s.at = 0
			return true
		}
		s.taken, s.widths = s.taken[:last], s.widths[:last]
	}
	return false
}

// request is one that waits for the scheduler.
type request struct {
	client int
	op     string
	key    string
	number int
	do     func() error // reaches the bucket
	answer chan error
}

func (r *request) String() string { return fmt.Sprintf("%d %s %s", r.client, r.op, r.key) }

// decisive reports whether the place of a request among the others matters: those on objects that are written once do not
// touch each other.
func (r *request) decisive() bool { return strings.HasSuffix(r.key, "/head") || r.op == "DELETE" }

// fallible reports whether a request may be lost: the loss of what only reads is noticed and repeated, and events are
// written like segments.
func (r *request) fallible() bool { return r.op == "PUT" && !strings.Contains(r.key, "/ev/") }

// network is between the clients and the bucket.
type network struct {
	search *search
	bucket objects.Bucket
	faults int // that may still happen
	pauses int // of all clients at once, that may still happen

	mu      sync.Mutex
	waiting []*request
	late    []*request // whose sender has given up
	number  int
	trace   []string
}

// client is the bucket as one client reaches it.
type client struct {
	net *network
	id  int
}

func (c client) send(op, key string, do func() error) error {
	r := &request{client: c.id, op: op, key: key, do: do, answer: make(chan error, 1)}
	c.net.mu.Lock()
	c.net.number++
	r.number = c.net.number
	c.net.waiting = append(c.net.waiting, r)
	c.net.mu.Unlock()
	return <-r.answer
}

func (c client) Get(ctx context.Context, key, etag string) (o objects.Object, err error) {
	err = c.send("GET", key, func() (err error) {
		o, err = c.net.bucket.Get(ctx, key, etag)
		return err
	})
	return o, err
}

func (c client) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	var mu sync.Mutex
	var o objects.Object
	err := c.send("PUT", key, func() (err error) {
		mu.Lock()
		defer mu.Unlock()
		o, err = c.net.bucket.Put(context.WithoutCancel(ctx), key, body, when)
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	return o, err
}

func (c client) List(ctx context.Context, prefix, after string) (l []objects.Listed, more bool, err error) {
	err = c.send("LIST", prefix, func() (err error) {
		l, more, err = c.net.bucket.List(ctx, prefix, after)
		return err
	})
	return l, more, err
}

func (c client) Delete(ctx context.Context, keys []string) error {
	return c.send("DELETE", keys[0], func() error { return c.net.bucket.Delete(ctx, keys) })
}

// pause is how long all clients stop at once: a client that waits to see whether a holder is silent has seen it then.
const pause = ttl/3 + time.Second

// way is one event that may come next.
type way struct {
	name string
	do   func()
}

// run lets the clients run until they are done. It must be called in a bubble.
func (n *network) run(done func() bool) {
	for {
		synctest.Wait()
		n.mu.Lock()
		slices.SortFunc(n.waiting, func(a, b *request) int {
			return cmp.Or(a.client-b.client, cmp.Compare(a.key, b.key), cmp.Compare(a.op, b.op), a.number-b.number)
		})
		ways := n.ways()
		idle := len(n.waiting) == 0
		n.mu.Unlock()
		switch {
		case idle && done():
			if len(n.late) > 0 && n.search.choose(2) == 1 { // or it never comes
				for _, r := range n.late {
					n.trace = append(n.trace, r.String()+" comes last")
					_ = r.do()
				}
			}
			return
		case idle:
			time.Sleep(time.Second) // somebody waits before another attempt
			continue
		}
		w := ways[n.search.choose(len(ways))]
		n.trace = append(n.trace, w.name)
		w.do()
	}
}

// ways lists what may happen next. A request whose place does not matter is answered before anything else, or lost.
func (n *network) ways() []way {
	var ways []way
	for _, r := range n.waiting {
		if !r.decisive() {
			return n.fates(r)
		}
	}
	for _, r := range n.waiting {
		ways = append(ways, n.fates(r)...)
	}
	if n.pauses > 0 && len(n.waiting) > 0 {
		ways = append(ways, way{"time passes", func() {
			n.pauses--
			time.Sleep(pause)
		}})
	}
	for _, r := range n.late {
		ways = append(ways, way{r.String() + " comes late", func() {
			n.late = slices.DeleteFunc(n.late, func(o *request) bool { return o == r })
			_ = r.do()
		}})
	}
	return ways
}

// fates are what may become of one request.
func (n *network) fates(r *request) []way {
	leave := func() {
		n.waiting = slices.DeleteFunc(n.waiting, func(o *request) bool { return o == r })
	}
	ways := []way{{r.String(), func() {
		leave()
		r.answer <- r.do()
	}}}
	if !r.fallible() || n.faults == 0 {
		return ways
	}
	// Given up is lost as well: what comes late may never come.
	return append(ways, way{r.String() + ", answer lost", func() {
		leave()
		n.faults--
		_ = r.do()
		r.answer <- objects.ErrUncertain
	}}, way{r.String() + ", given up", func() {
		leave()
		n.faults--
		n.late = append(n.late, r)
		r.answer <- objects.ErrUncertain
	}})
}
