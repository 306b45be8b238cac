package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// A server that takes no list of objects to delete, as MinIO before 2025, and one that says that a body did not arrive whole,
// as R2: objects are deleted one by one, and the write is sent again.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, s3test.Versitygw)
	target, err := url.Parse(server.Origin)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	var lists, deleted, heads atomic.Int64
	refuse := func(w http.ResponseWriter, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", code)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
			lists.Add(1)
			refuse(w, "InvalidRequest")
			return
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/head") && heads.Add(1) == 2:
			refuse(w, "IncompleteBody")
			return
		case r.Method == http.MethodDelete:
			deleted.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	place := strings.ReplaceAll(server.URL(t, "infra"), server.Origin, front.URL)
	s, err := s3.Open(place, server.Config, s3.WithProbes(func(string) bool { return false }, func(string) {}))
	if err != nil {
		t.Fatal(err)
	}
	stage := statestore.Stage{Stack: "shop", Name: "prod"}
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{rowOf("a", 0)}, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 1 || heads.Load() < 3 {
		t.Errorf("%+v after %d writes of the head, %v", snap, heads.Load(), err)
	}
	address, err := s3.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	left, _, err := s3.Bucket(address, server.Config).List(t.Context(), "infra/_probe/", "")
	if err != nil || len(left) > 0 || lists.Load() != 1 || deleted.Load() != 2 {
		t.Errorf("%d objects are left after %d lists and %d deletions, %v", len(left), lists.Load(), deleted.Load(), err)
	}
}
