package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote"
)

// TestFirstProtocol sends the requests of a run as texts that no code of today makes, written down when protocol 1 was the only
// one: they are taken as long as the service speaks that protocol.
func TestFirstProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t)
	api := newToken(t, s.store)
	run, epoch := "", ""
	ask := func(want int, method, path, token, body string) string {
		t.Helper()
		status, _, answer := s.send(method, stageURL+path, token, strings.ReplaceAll(body, "EPOCH", epoch), "Athanor-Protocol", "1", "Content-Type", "application/json")
		if status != want {
			t.Fatalf("%s %s: %d: %s", method, path, status, answer)
		}
		return answer
	}
	ask(201, "POST", "/runs", api, `{"run":"r1","command":"deploy","user":"ann","ttl":"30s","client":{"host":"box","pid":7,"proof":"{}"}}`)
	var lease struct{ Epoch, Token, Serial, Revision, TTL string }
	if err := json.Unmarshal([]byte(ask(200, "POST", "/runs/r1/start", api, `{"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`)), &lease); err != nil {
		t.Fatal(err)
	}
	if run, epoch = lease.Token, lease.Epoch; lease.TTL != "30s" || lease.Serial != "0" || lease.Revision != "0" {
		t.Errorf("the lease: %+v", lease)
	}
	const row = `{"address":"q","version":"0","birth":"q","needs":[],"generations":[{"number":"1","state":"live","slot":0,"kind":"aws.sqs.Queue",` +
		`"place":{"provider":"aws","account":"1","region":"eu-north-1"},"identity":"arn","body":"AAE=","written":"2026-11-20T01:02:03Z"}],"body":"Ag==","written":"2026-11-20T01:02:03Z"}`
	ask(200, "POST", "/runs/r1/commits", run, `{"epoch":"EPOCH","seq":"1","put":[`+row+`],"meta":[{"name":"athanor.ring","value":"AA=="}],"outputs":"AQ==","keyId":"k","events":[{"seq":"1","body":"e30="}]}`)
	ask(200, "POST", "/runs/r1/commits", run, `{"epoch":"EPOCH","seq":"2","move":[{"from":"q","to":"p"}],"meta":[{"name":"gone","value":null}]}`)
	ask(200, "POST", "/runs/r1/events", run, `{"epoch":"EPOCH","seq":"3","events":[{"seq":"2","body":"e30="}]}`)
	ask(200, "POST", "/runs/r1/renew", run, `{"epoch":"EPOCH","seq":"4","renew":true}`)
	ask(200, "POST", "/runs/r1/cancel", api, `{"who":"bob","why":"wrong branch"}`)
	ask(200, "POST", "/runs/r1/complete", run, `{"epoch":"EPOCH","seq":"5","finish":"cancelled","summary":"e30="}`)
	ask(200, "POST", "/runs/r1/unlock", api, `{"who":"bob","why":"it hangs","id":"u1"}`)
	snap, err := s.store.Load(t.Context(), prod)
	if err != nil || len(snap.Rows) != 1 || snap.Rows["p"].Generations[0].Identity != "arn" || snap.LastRun.State != statestore.Cancelled || string(snap.Outputs) != "\x01" {
		t.Errorf("%+v, %v", snap, err)
	}
	if status, _, body := s.send("GET", stageURL+"/state", api, "", "Athanor-Protocol", "2"); status != http.StatusUpgradeRequired || code(body) != "protocol" {
		t.Errorf("another protocol: %d: %s", status, body)
	}
}

// TestAnswersOfANewerService: a client goes on with answers that say more than it knows.
func TestAnswersOfANewerService(t *testing.T) {
	t.Parallel()
	store, err := bolt.Open(t.TempDir() + "/state.db")
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(t.Context(), store, settings(t))
	said := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		r.Header.Del("Accept-Encoding")
		s.ServeHTTP(answer, r)
		body := answer.Body.String()
		if rest, ok := strings.CutPrefix(body, "{"); ok && rest != "}" {
			body, said = `{"ofANewerVersion":{"a":[1]},`+rest, said+1
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(func() { s.Stop(); server.Close(); store.Close() })
	token := newToken(t, store)
	client, err := remote.Open(server.URL, func(string) (string, error) { return token, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	lease, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "r1", Command: "deploy"})
	if err == nil {
		lease, err = client.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{row("queue", 0)}, Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "r2", Command: "deploy"}); !errors.Is(err, statestore.ErrHeld) {
		t.Errorf("held: %v", err)
	}
	if _, err := client.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Finish: statestore.Succeeded}); err != nil {
		t.Error(err)
	}
	snap, err := client.Load(t.Context(), prod)
	events, reading := client.Events(t.Context(), prod, "r1", 0, 0)
	if err != nil || reading != nil || len(snap.Rows) != 1 || len(events) != 1 || said < 7 {
		t.Errorf("%+v, %d events, %d answers, %v, %v", snap, len(events), said, err, reading)
	}
}
