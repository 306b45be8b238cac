// Package sse sends the events of a run to the clients that follow it, as server-sent events, and bounds how many do so
// at once.
//
// It knows the wire: ids, the pulse that keeps a connection open, and the event "end". It does not know who may read, nor
// what an event says.
package sse

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// Type is the media type of server-sent events.
const Type = "text/event-stream"

// PulseEvery is how often a stream is asked whether it may go on, and something is sent: proxies cut a connection on which
// nothing moves.
const PulseEvery = 2 * time.Second

// Cursor is the number of the last event that the reader has: what it says when it asks again, or else the query parameter
// "after"; 0 for none. The error is that it is no number.
func Cursor(r *http.Request) (uint64, error) {
	cursor := r.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = r.URL.Query().Get("after")
	}
	if cursor == "" {
		return 0, nil
	}
	return strconv.ParseUint(cursor, 10, 64)
}

// Counter counts what each key has open.
type Counter struct {
	most int

	mu   sync.Mutex
	open map[string]int
}

// NewCounter counts up to so many for each key.
func NewCounter(most int) *Counter { return &Counter{most: most, open: map[string]int{}} }

// Begin counts one more of a key, and what it returns one less; false when the key has the most already.
func (c *Counter) Begin(key string) (end func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[key] >= c.most {
		return nil, false
	}
	c.open[key]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[key]--; c.open[key] == 0 {
			delete(c.open, key)
		}
	}, true
}

// Total is how much all keys have open.
func (c *Counter) Total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, open := range c.open {
		n += open
	}
	return n
}

// Events are those of a run as they come, until the context ends.
type Events func(ctx context.Context) iter.Seq2[statestore.Event, error]

// Stream is what one reader is sent.
type Stream struct {
	// Begin is what is sent first: a comment, or how soon to ask again.
	Begin string
	// Admitted reports whether the reader may still read. It is asked at each pulse.
	Admitted func(ctx context.Context) bool
	// Body is an event as the reader gets it.
	Body func(statestore.Event) ([]byte, error)
}

// Send writes events until they end or the connection does, the server is stopping, or the reader may read no more. It ends
// with the event "end" when the events have: a stream without it was cut, and the reader asks again with the id of the last
// one.
func (s Stream) Send(stopping context.Context, w http.ResponseWriter, r *http.Request, events Events) {
	h := w.Header()
	h.Set("Content-Type", Type)
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(stopping, cancel)()
	out := &pieces{to: w, control: http.NewResponseController(w)}
	if out.send(s.Begin+"\n\n") != nil {
		return
	}
	var pulse sync.WaitGroup
	defer pulse.Wait()
	defer cancel()
	pulse.Go(func() {
		ticker := time.NewTicker(PulseEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if !s.Admitted(ctx) || out.send(": \n\n") != nil {
				cancel()
			}
		}
	})
	for event, err := range events(ctx) {
		if err != nil {
			return
		}
		body, err := s.Body(event)
		if err != nil || out.send(fmt.Sprintf("id: %d\ndata: %s\n\n", event.Seq, body)) != nil {
			return
		}
	}
	_ = out.send("event: end\ndata: {}\n\n") // a reader that did not get it asks again
}

// pieces are an answer that is written piece by piece, by more than one goroutine.
type pieces struct {
	mu      sync.Mutex
	to      http.ResponseWriter
	control *http.ResponseController
}

func (p *pieces) send(text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.control.SetWriteDeadline(time.Now().Add(10 * PulseEvery)) // a reader that is slower than that asks again
	if _, err := p.to.Write([]byte(text)); err != nil {
		return err
	}
	return p.control.Flush()
}
