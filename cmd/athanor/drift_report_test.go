//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestDriftReport tells a service what changed outside athanor, by names alone.
func TestDriftReport(t *testing.T) {
	t.Parallel()
	s := newServing(t, "bolt:state.db")
	w := newWorld(t, "stack: shop\nresources:\n  note: {kind: local.File, props: {path: note.txt, content: one}}\n  other: {kind: local.File, props: {path: other.txt, content: two}}\n")
	token := s.token("--name", "ci", "--role", "deployer")
	w.joins(s, token)
	w.run(0, "deploy", "--yes", "--stage", "prod")
	w.run(0, "drift", "--report", "--stage", "prod")
	w.write("note.txt", "swordfish")
	if _, errs, code := w.printed("", "drift", "--report", "--stage", "prod"); code != 2 || !strings.Contains(errs, "1 drifted") {
		t.Errorf("drift --report: %d: %s", code, errs)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/stacks/shop/stages/prod/drift", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var report struct {
		Drifted int
		Lines   []struct {
			Address, Kind, Action string
			Paths                 []string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&report); err != nil || report.Drifted != 1 || len(report.Lines) != 1 {
		t.Fatalf("%+v: %v", report, err)
	}
	if l := report.Lines[0]; l.Address != "note" || l.Kind != "local.File" || l.Action != "update" || len(l.Paths) != 1 || strings.Contains(l.Paths[0], "swordfish") {
		t.Errorf("%+v", l)
	}
	w.run(1, "drift", "--report", "--repair", "--yes", "--stage", "prod")
	w.run(1, "drift", "--report", "--target", "note", "--stage", "prod")
	w.run(1, "drift", "--report", "--stage", "prod", "--store", "bolt:local.db")
}
