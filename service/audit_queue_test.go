package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// gatedAudit is a store that counts the changes of one audit log and holds the first one until the gate opens or its context ends.
type gatedAudit struct {
	statestore.Folders

	gate    chan struct{}
	changes atomic.Int64
}

func (s *gatedAudit) ChangeFolder(
	ctx context.Context, name string, change func(statestore.Folder) (bool, error), keys ...string,
) error {
	if name == auditFolder && s.changes.Add(1) == 1 {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Folders.ChangeFolder(ctx, name, change, keys...)
}

// TestStartsShareTheAuditLog: the stages of one stack have one audit log, which is changed by one at a time. Starts that wait for it
// are written together: with a change for each, hundreds of stages would wait for seconds, and for longer than a replica may live.
// The first one is given up by its client while the others wait for it; it is in the log as well once it is asked again.
func TestStartsShareTheAuditLog(t *testing.T) {
	t.Parallel()
	for name, givenUp := range map[string]bool{"": false, "the first is given up": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { startTogether(t, givenUp) })
		})
	}
}

// settle returns when nobody goes on by itself: who waits for a moment, such as for the turn at a file, had a minute of the bubble's clock.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func startTogether(t *testing.T, givenUp bool) {
	const stages = 30
	file, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	token := newToken(t, file)
	store := &gatedAudit{Folders: file, gate: make(chan struct{})}
	s := service.New(t.Context(), store, settings(t))
	defer s.Stop()
	send := func(ctx context.Context, method, path string, body any) (int, []byte) {
		data, _ := json.Marshal(body)
		r := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(data))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code, w.Body.Bytes()
	}
	start := func(ctx context.Context, stage int) int {
		path := fmt.Sprintf("/v1/stacks/shop/stages/s%d/runs", stage)
		if code, body := send(ctx, http.MethodPost, path, wire.NewRun{Run: "r", Client: wire.Client{Host: "h", PID: 1}}); code != http.StatusCreated {
			t.Errorf("register: %d: %s", code, body)
		}
		code, body := send(ctx, http.MethodPost, path+"/r/start", wire.Start{Nonce: []byte(strings.Repeat("n", 32))})
		if len(body) == 0 {
			return 0 // it was not answered
		}
		return code
	}
	first, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	var all sync.WaitGroup
	all.Go(func() {
		if code := start(first, 0); (code == http.StatusOK) == givenUp {
			t.Errorf("the first one: %d", code)
		}
	})
	settle()
	for stage := 1; stage < stages; stage++ {
		all.Go(func() {
			if code := start(t.Context(), stage); code != http.StatusOK {
				t.Errorf("stage %d: %d", stage, code)
			}
		})
	}
	settle() // the first one is held, the others wait
	want := int64(2)
	if givenUp {
		giveUp()
	} else {
		close(store.gate)
	}
	all.Wait()
	if n := store.changes.Load(); n != want {
		t.Errorf("%d starts changed the audit log %d times, want %d", stages, n, want)
	}
	if code := start(t.Context(), 0); code != http.StatusOK {
		t.Errorf("the first one again: %d", code)
	}
	var log wire.Audit
	_, body := send(t.Context(), http.MethodGet, "/v1/stacks/shop/audit", nil)
	if err := json.Unmarshal(body, &log); err != nil {
		t.Fatal(err)
	}
	var chain wire.Chain
	started := map[wire.Text]int{}
	for _, entry := range log.Entries {
		if err := chain.Next(&entry); err != nil {
			t.Fatal(err)
		}
		started[entry.Stage]++
	}
	if len(log.Entries) != stages || len(started) != stages {
		t.Errorf("%d entries of %d stages, want %d", len(log.Entries), len(started), stages)
	}
}
