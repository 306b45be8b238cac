package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

const (
	pulseEvery  = 2 * time.Second // proxies cut a connection on which nothing moves, and a session may end
	mostStreams = 100             // that a server sends at once to one visitor
)

// streams counts the open event streams of each visitor.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

// begin counts a stream, unless the visitor has too many.
func (s *streams) begin(who string) (end func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	if s.open[who] >= mostStreams {
		return nil, false
	}
	s.open[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[who]--; s.open[who] == 0 {
			delete(s.open, who)
		}
	}, true
}

// follow sends the events of a run behind the cursor as they are in the store, and ends with the event "end" when the run
// has. A stream that ends without it was cut: the browser asks again with the number of the last event that it has.
func (p *Page) follow(v *visit) error {
	run, err := wire.Name(v.PathValue("run"))
	if err != nil {
		return notFound("There is no such run", "")
	}
	cursor := v.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = v.URL.Query().Get("after")
	}
	after, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil && cursor != "" {
		return &problem{http.StatusBadRequest, "The request is malformed", errCursor.Error(), ""}
	}
	end, ok := p.streams.begin(v.visitor.Secret)
	if !ok {
		return &problem{http.StatusTooManyRequests, "There are too many open pages of runs", "", "Close some."}
	}
	defer end()
	h := v.writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	v.writer.WriteHeader(http.StatusOK)
	p.stream(v, run, after)
	return nil
}

// stream writes events until the run or the connection has ended, the server stops, or the visitor may read no more.
func (p *Page) stream(v *visit, run string, after uint64) {
	ctx, cancel := context.WithCancel(v.Context())
	defer cancel()
	defer context.AfterFunc(p.stopping, cancel)()
	out := &stream{to: v.writer, control: http.NewResponseController(v.writer)}
	if out.send("retry: 500\n\n") != nil {
		return
	}
	var pulse sync.WaitGroup
	defer pulse.Wait()
	defer cancel()
	pulse.Go(func() {
		ticker := time.NewTicker(pulseEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			visitor, err := p.settings.Admit(v.Request)
			if err != nil || visitor == nil || !visitor.May(Read, v.stage) || out.send(": \n\n") != nil {
				cancel()
			}
		}
	})
	for stored, err := range statestore.Follow(ctx, p.settings.Store, v.stage, run, after, p.settings.Poll) {
		if err != nil {
			return
		}
		e := eventOf(stored)
		body, err := json.Marshal(e.line())
		if err != nil || out.send(fmt.Sprintf("id: %d\ndata: %s\n\n", stored.Seq, body)) != nil {
			return
		}
	}
	_ = out.send("event: end\ndata: {}\n\n") // a browser that did not get it asks again
}

// stream is an answer that is written piece by piece, by more than one goroutine.
type stream struct {
	mu      sync.Mutex
	to      http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) send(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(10 * pulseEvery)) // a reader that is slower than that asks again
	if _, err := s.to.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
