package service

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

// streamType is the media type of server-sent events.
const streamType = "text/event-stream"

const (
	pollEvery  = 250 * time.Millisecond // an event is sent that much later at most than it is in the store
	pulseEvery = 2 * time.Second        // proxies cut a connection on which nothing moves, and a token may be revoked
)

// follow sends the events of a run behind the cursor as they become durable, and ends with the event "end" when the run
// has. A stream that ends without it was cut: the client asks again with the id of the last event it has.
func (s *Service) follow(in *request) error {
	cursor := in.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = in.URL.Query().Get("after")
	}
	after, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil && cursor != "" {
		return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformed, "the cursor is not a number", "Last-Event-ID is that of an event")
	}
	end, ok := s.streams.begin(in.caller.token.ID)
	if !ok {
		return tooMany(time.Second)
	}
	defer end()
	h := in.writer.Header()
	h.Set("Content-Type", streamType)
	h.Set("X-Accel-Buffering", "no")
	in.writer.WriteHeader(http.StatusOK)
	s.stream(in, after)
	return nil
}

// stream writes events until the run or the connection has ended, the service stops, or the token is good no more.
func (s *Service) stream(in *request, after uint64) {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	out := &stream{to: in.writer, control: http.NewResponseController(in.writer)}
	if out.send(": athanor\n\n") != nil {
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
			if s.admitted(ctx, in) != nil || out.send(": \n\n") != nil {
				cancel()
			}
		}
	})
	for event, err := range statestore.Follow(ctx, s.store, in.stage, in.run, after, pollEvery) {
		if err != nil {
			return
		}
		body, err := json.Marshal(wire.Event{Seq: event.Seq, Body: event.Body})
		if err != nil || out.send(fmt.Sprintf("id: %d\ndata: %s\n\n", event.Seq, body)) != nil {
			return
		}
	}
	_ = out.send("event: end\ndata: {}\n\n") // a client that did not get it asks again
}

// admitted reports whether the caller of a stream may still read it.
func (s *Service) admitted(ctx context.Context, in *request) error {
	who, err := s.tokens.authenticate(ctx, in.secret)
	if err == nil && roleOn(who.grants, in.stage) < reader {
		return errUnauthorized()
	}
	return err
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
