package page

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/athanor-dev/athanor/service/internal/sse"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// mostStreams is how many event streams a server sends at once to one visitor.
const mostStreams = 100

// follow sends the events of a run behind the cursor as they are in the store, until the run or the connection has ended, the
// server stops, or the visitor may read no more.
func (p *Page) follow(v *visit) error {
	run, err := wire.Name(v.PathValue("run"))
	if err != nil {
		return notFound("There is no such run", "")
	}
	after, err := sse.Cursor(v.Request)
	if err != nil {
		return &problem{http.StatusBadRequest, "The request is malformed", errCursor.Error(), ""}
	}
	end, ok := p.streams.Begin(v.visitor.Secret)
	if !ok {
		return &problem{http.StatusTooManyRequests, "There are too many open pages of runs", "", "Close some."}
	}
	defer end()
	stream := sse.Stream{
		Begin: "retry: 500",
		Admitted: func(context.Context) bool {
			visitor, err := p.settings.Admit(v.Request)
			return err == nil && visitor != nil && visitor.May(Read, v.stage) && p.asPrivate(v)
		},
		Body: func(stored statestore.Event) ([]byte, error) {
			e := eventOf(stored, p.settings.Plainly)
			return json.Marshal(e.line())
		},
	}
	stream.Send(p.stopping, v.writer, v.Request, func(ctx context.Context) iter.Seq2[statestore.Event, error] {
		return statestore.Follow(ctx, p.settings.Store, v.stage, run, after, p.settings.Poll)
	})
	return nil
}
