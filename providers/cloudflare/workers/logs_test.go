package workers

import (
	"context"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestLogs reads what a Worker writes while it is listened to, and gives the tail back.
func TestLogs(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(plain())
	ctx, cancel := context.WithCancel(t.Context())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for line, err := range l.kind.Logs(ctx, l.job(nil), reconcile.LogQuery{Follow: true, Filter: "order"}) {
			if err != nil {
				lines <- err.Error()
				return
			}
			lines <- line.Source + " " + line.Text
		}
	}()
	l.Trace(ctx, t, l.out.Identity, obj{
		"outcome": "exception", "eventTimestamp": 1700000000000, "event": obj{"request": obj{"method": "GET", "url": "https://shop.example/orders"}},
		"logs": list{
			obj{"level": "log", "message": list{"order", 7, obj{"a": 1}}, "timestamp": 1700000000001},
			obj{"level": "log", "message": list{"nothing"}},
			obj{"level": "error", "message": list{"no order\nat all"}},
		},
		"exceptions": list{obj{"name": "Error", "message": "bad order", "timestamp": 1700000000002}},
	})
	for _, want := range []string{`stdout order 7 {"a":1}`, "stderr no order", "stderr Error: bad order", "athanor GET https://shop.example/orders exception"} {
		if have := <-lines; have != want {
			t.Errorf("%q, want %q", have, want)
		}
	}
	cancel()
	for line := range lines {
		t.Errorf("after the end: %s", line)
	}
	if n := l.Tails(l.out.Identity); n != 0 {
		t.Errorf("%d tails are left", n)
	}
}
