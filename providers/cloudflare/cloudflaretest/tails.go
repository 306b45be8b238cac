package cloudflaretest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// tail is somebody who wants to be told what a Worker does.
type tail struct {
	id, expires string
	filters     any
	over        context.Context
	end         context.CancelFunc

	mu    sync.Mutex
	heard []*websocket.Conn
	heeds chan struct{} // closed when somebody listens
}

var tailHandlers = map[string]handler{
	"workers.CreateScriptTail": onWorker(createTail),
	"workers.GetScriptTail":    onWorker(listTails),
	"workers.DeleteScriptTail": onWorker(deleteTail),
}

const tailPath = "/tails/"

func (w *world) shownTail(t *tail) object {
	return object{"id": t.id, "expires_at": t.expires, "url": strings.Replace(w.url, "http://", "ws://", 1) + tailPath + t.id}
}

func createTail(w *world, r request, k *worker) (any, *failure) {
	t := &tail{id: hexID(16), filters: r.body["filters"], expires: time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339), heeds: make(chan struct{})}
	t.over, t.end = context.WithCancel(context.Background())
	k.tails = append(k.tails, t)
	close(w.tailMade)
	w.tailMade = make(chan struct{})
	return w.shownTail(t), nil
}

// listTails tells one, as it is described, although there may be several.
func listTails(w *world, _ request, k *worker) (any, *failure) {
	if len(k.tails) == 0 {
		return nil, &failure{status: 404, code: 10007, message: "There is no tail of this Worker."}
	}
	return w.shownTail(k.tails[len(k.tails)-1]), nil
}

func deleteTail(_ *world, r request, k *worker) (any, *failure) {
	for _, t := range k.tails {
		if t.id == r.path["id"] {
			t.end()
			k.tails = slices.DeleteFunc(k.tails, func(o *tail) bool { return o == t })
			return whole{"success": true, "errors": []any{}, "messages": []any{}}, nil
		}
	}
	return nil, noWorker()
}

// serveTail is the websocket of a tail, in Cloudflare's protocol "trace-v1".
func (w *world) serveTail(rw http.ResponseWriter, r *http.Request) {
	t := w.tail(strings.TrimPrefix(r.URL.Path, tailPath))
	if t == nil {
		http.NotFound(rw, r)
		return
	}
	conn, err := websocket.Accept(rw, r, &websocket.AcceptOptions{Subprotocols: []string{"trace-v1"}})
	if err != nil {
		return // it has answered
	}
	if conn.Subprotocol() != "trace-v1" {
		_ = conn.Close(websocket.StatusProtocolError, "trace-v1 is spoken here")
		return
	}
	t.listen(conn)
	for {
		if _, _, err := conn.Read(t.over); err != nil { // what it says, such as whether it debugs, changes nothing
			_ = conn.CloseNow()
			return
		}
	}
}

func (t *tail) listen(conn *websocket.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heard) == 0 {
		close(t.heeds)
	}
	t.heard = append(t.heard, conn)
}

func (w *world) tail(id string) *tail {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		for _, t := range k.tails {
			if t.id == id {
				return t
			}
		}
	}
	return nil
}

// endTails ends the connections of all who listen.
func (w *world) endTails() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		for _, t := range k.tails {
			t.end()
		}
	}
}

// Tails is how many tails a Worker has.
func (s *Server) Tails(name string) int {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	k := s.world.worker(s.Account, name)
	if k == nil {
		return 0
	}
	return len(k.tails)
}

// Trace tells an event of a Worker, such as a request with its logs, to all of its tails, once there is one and each is
// listened to.
func (s *Server) Trace(ctx context.Context, t T, name string, event any) {
	t.Helper()
	tails, err := s.world.tailsOf(ctx, s.Account, name)
	if err != nil {
		t.Fatalf("%s has no tail: %v", name, err)
	}
	for _, one := range tails {
		if err := one.tell(ctx, plain(event)); err != nil {
			t.Fatalf("tail of %s: %v", name, err)
		}
	}
}

// tailsOf waits for the first tail of a Worker.
func (w *world) tailsOf(ctx context.Context, account, name string) ([]*tail, error) {
	for {
		w.mu.Lock()
		var tails []*tail
		if k := w.worker(account, name); k != nil {
			tails = slices.Clone(k.tails)
		}
		another := w.tailMade
		w.mu.Unlock()
		if len(tails) > 0 {
			return tails, nil
		}
		select {
		case <-another:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tell waits for somebody who listens.
func (t *tail) tell(ctx context.Context, event []byte) error {
	select {
	case <-t.heeds:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, conn := range t.heard {
		if err := conn.Write(ctx, websocket.MessageBinary, event); err != nil {
			return err
		}
	}
	return nil
}
