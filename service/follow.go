package service

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/athanor-dev/athanor/service/internal/sse"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// pollEvery is how much later at most an event is sent than it is in the store.
const pollEvery = 250 * time.Millisecond

// follow sends the events of a run behind the cursor as they become durable, until the run or the connection has ended, the
// service stops, or the token is good no more.
func (s *Service) follow(in *request) error {
	after, err := sse.Cursor(in.Request)
	if err != nil {
		return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformed, "the cursor is not a number", "Last-Event-ID is that of an event")
	}
	end, ok := s.streams.Begin(in.caller.token.ID)
	if !ok {
		return tooMany(time.Second)
	}
	defer end()
	stream := sse.Stream{
		Begin:    ": athanor",
		Admitted: func(ctx context.Context) bool { return s.admitted(ctx, in) == nil },
		Body:     func(e statestore.Event) ([]byte, error) { return json.Marshal(wire.Event{Seq: e.Seq, Body: e.Body}) },
	}
	stream.Send(s.stopping, in.writer, in.Request, func(ctx context.Context) iter.Seq2[statestore.Event, error] {
		return statestore.Follow(ctx, s.store, in.stage, in.run, after, pollEvery)
	})
	return nil
}

// admitted reports whether the caller of a stream may still read it.
func (s *Service) admitted(ctx context.Context, in *request) error {
	who, err := s.tokens.authenticate(ctx, in.secret)
	if err == nil && roleOn(who.grants, in.stage) < reader {
		return errUnauthorized()
	}
	return err
}
