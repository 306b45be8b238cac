package cmd

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
)

// A clock is judged by the time of the answer, whatever the answer took.
func TestClockVerdict(t *testing.T) {
	sent := time.Date(2026, 3, 1, 12, 0, 0, 900_000_000, time.UTC)
	for _, tt := range []struct {
		offset, took time.Duration
		status       render.CheckStatus
		text         string
	}{
		{0, 0, checkOK, "agrees with aws"},
		{-900 * time.Millisecond, 0, checkOK, "agrees with aws"},
		{10 * time.Second, 10 * time.Second, checkOK, "agrees with aws"},
		{-20 * time.Second, 0, checkOK, "differs from that of aws by 20s"},
		{2 * time.Minute, time.Second, checkWarning, "differs from that of aws by 1m59s"},
		{-2 * time.Minute, 0, checkWarning, "differs from that of aws by 2m0s"},
		{6 * time.Minute, 0, checkMissing, "differs from that of aws by 6m0s"},
		{-time.Hour, 30 * time.Second, checkMissing, "differs from that of aws by 1h0m0s"},
	} {
		k := clockVerdict("aws", sent.Add(tt.offset), sent, sent.Add(tt.took))
		if k.Status != tt.status || k.Text != tt.text || (k.Status == checkOK) != (len(k.Fix) == 0) {
			t.Errorf("%s in %s: %+v, want %s %q", tt.offset, tt.took, k, tt.status, tt.text)
		}
	}
}

// The clock of a server that refuses the request counts too.
func TestClockCheck(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("credentials were sent")
		}
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	if k := clockCheck(t.Context(), "aws", server.URL); k.Status != checkMissing {
		t.Errorf("%+v", k)
	}
}
