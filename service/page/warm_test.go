package page_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
)

// noting notes that a part of an answer was written.
type noting struct {
	http.ResponseWriter
	wrote *atomic.Bool
}

func (n noting) Write(b []byte) (int, error) {
	n.wrote.Store(true)
	return n.ResponseWriter.Write(b)
}

// TestProgramIsAskedLater asks the program of a stage where it declares resources, which evaluates it, when the first page of the stage
// was written: that page does not wait for it, and does not share the processor with it. Warm asks before any page.
func TestProgramIsAskedLater(t *testing.T) {
	asked := make(chan bool, 10)
	var wrote atomic.Bool
	p := page.New(context.WithoutCancel(t.Context()), page.Settings{
		Store: deployed(t), Admit: visitor,
		Declared: func(context.Context, statestore.Stage) map[string]string {
			asked <- wrote.Load()
			return nil
		},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.ServeHTTP(noting{w, &wrote}, r) }))
	t.Cleanup(func() { p.Stop(); server.Close() })
	for _, path := range []string{"/s/shop/prod", "/s/shop/prod/graph"} {
		get(t, server, path)
	}
	if !<-asked {
		t.Error("the program was asked before the page was written")
	}
	p.Warm(t.Context())
	if len(asked) > 0 {
		t.Error("the program was asked again")
	}

	other := page.New(context.WithoutCancel(t.Context()), page.Settings{
		Store: deployed(t), Admit: visitor,
		Declared: func(_ context.Context, stage statestore.Stage) map[string]string {
			asked <- stage == prod
			return nil
		},
	})
	t.Cleanup(other.Stop)
	other.Warm(t.Context())
	if !<-asked {
		t.Error("another stage was asked for")
	}
}
