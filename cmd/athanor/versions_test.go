//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// versionsIn are the serials that `state history` lists, newest first.
func versionsIn(w *world) (serials []float64) {
	for _, line := range w.lines("state", "history") {
		serials = append(serials, line["serial"].(float64))
	}
	return serials
}

// TestStateVersions: what runs did to state is taken back, in a file and in a database, also what removed resources from it;
// the next deploy goes on from there, and secrets in it open.
func TestStateVersions(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func() string{
		"file": func() string { return "" }, "database": func() string { return pgtest.Start(t).Schema(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "stack: shop\nconfig: {says: {type: string, default: x}}\nresources:\n"+
				"  a: {kind: local.File, props: {path: a.txt, content: \"${config.says}\"}}\n"+
				"  word: {kind: random.Password, props: {length: 12}}\noutputs: {word: \"${word.value}\"}\n")
			if url := store(); url != "" {
				w.env = append(w.env, "ATHANOR_STORE="+url)
			}
			if got := versionsIn(w); len(got) != 0 {
				t.Errorf("before the first deploy: %v", got)
			}
			if _, errs, code := w.printed("", "state", "restore", "--serial", "1", "--yes"); code != 1 || !strings.Contains(errs, "keeps no version with serial 1") {
				t.Errorf("restored before the first deploy: %d: %s", code, errs)
			}
			w.run(0, "deploy", "--yes")
			word := w.run(0, "output", "word", "--reveal")
			w.run(0, "deploy", "--yes", "-c", "says=y")
			w.run(0, "state", "rm", "word", "--yes")
			have := versionsIn(w)
			if len(have) != 3 || !slices.IsSortedFunc(have, func(a, b float64) int { return int(b - a) }) {
				t.Fatalf("versions %v", have)
			}
			lines := w.lines("state", "history")
			if l := lines[0]; l["command"] != "state" || l["newest"] != true || l["type"] != "version" || l["run"] == nil {
				t.Errorf("the newest: %v", l)
			}
			if l := lines[2]; l["command"] != "deploy" || l["newest"] != nil || l["written"] == nil {
				t.Errorf("the oldest: %v", l)
			}
			if out := w.run(0, "state", "history"); !strings.Contains(out, "SERIAL") || strings.Count(out, "\n") != 4 {
				t.Errorf("for people:\n%s", out)
			}
			at := func(i int) string { return fmt.Sprint(have[i]) }
			for _, c := range []struct {
				says string
				args []string
			}{
				{"which version?", nil},
				{"keeps no version with serial 999", []string{"--serial", "999"}},
				{"keeps no version with serial 0", []string{"--serial", "0"}},
				{"serial", []string{"--serial", "-1"}},
				{"serial", []string{"--serial", "first"}},
			} {
				if _, errs, code := w.printed("", append([]string{"state", "restore", "--yes"}, c.args...)...); code != 1 || !strings.Contains(errs, c.says) {
					t.Errorf("restore %v: %d: %s", c.args, code, errs)
				}
			}
			if _, errs, code := w.printed("", "state", "restore", "--serial", at(1)); code != 5 || !strings.Contains(errs, "--yes") {
				t.Errorf("without approval: %d: %s", code, errs)
			}
			w.run(0, "state", "restore", "--serial", at(1), "--yes")
			if got := w.run(0, "state", "list"); !strings.Contains(got, "word") {
				t.Errorf("what was removed is not there again:\n%s", got)
			}
			if got := w.run(0, "output", "word", "--reveal"); got != word {
				t.Errorf("the secret output is %q, it was %q", got, word)
			}
			wantCounts(t, w.summary(0, "deploy", "--yes", "-c", "says=y"), map[string]float64{"unchanged": 2, "commits": 0})
			w.run(0, "state", "restore", "--serial", at(2), "--yes") // the state of before the update: the file is newer, which reading finds
			wantCounts(t, w.summary(0, "deploy", "--yes", "-c", "says=y"), map[string]float64{"created": 0, "deleted": 0})
			w.run(0, "state", "check")
			if runs := w.lines("history"); runs[0]["command"] == nil {
				t.Errorf("history %v", runs[0])
			}
			w.run(0, "secret", "rotate")
			if got := versionsIn(w); len(got) != 1 {
				t.Errorf("after a rotation an older key's versions are kept: %v", got)
			}
			w.run(0, "destroy", "--yes", "-c", "says=y")
			have = versionsIn(w)
			w.run(0, "state", "restore", "--serial", at(1), "--yes") // of what was destroyed: the next deploy finds that it is missing
			wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"created": 1, "unchanged": 1})
		})
	}
}

// TestHistoryCompares: two runs are compared, by short names too, for people and for programs.
func TestHistoryCompares(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stack: shop\nconfig: {says: {type: string, default: x}}\nresources:\n"+
		"  a: {kind: local.File, props: {path: a.txt, content: \"${config.says}\"}}\n  b: {kind: local.File, props: {path: b.txt, content: b}}\n")
	w.run(0, "deploy", "--yes")
	w.run(0, "deploy", "--yes", "-c", "says=y")
	w.run(0, "deploy", "--yes", "-c", "says=z")
	runs := w.lines("history")
	name := func(i int) string { return runs[i]["run"].(string) }
	short := func(i int) string { return name(i)[strings.LastIndexByte(name(i), '-')+1:] }
	lines := w.lines("history", name(2), short(1))
	if len(lines) != 2 || lines[0]["address"] != "a" || lines[0]["differs"] != true || lines[1]["to"] != nil || lines[1]["from"] == nil {
		text, _ := json.Marshal(lines)
		t.Errorf("a create beside an update: %s", text)
	}
	if out := w.run(0, "history", short(2), short(1)); !strings.Contains(out, "updated content") || !strings.Contains(out, "created") || !strings.Contains(out, "2 resources differ") {
		t.Errorf("for people:\n%s", out)
	}
	if out := w.run(0, "history", short(1), short(0)); !strings.Contains(out, "Both did the same to 1 resource.") {
		t.Errorf("the same twice:\n%s", out)
	}
	for says, args := range map[string][]string{
		"with which other run": {short(0)},
		"has no run":           {short(0), "ZZZZZZ"},
		"--limit":              {short(0), short(1), "--limit", "3"},
		"unexpected argument":  {short(0), short(1), ".", "more"},
	} {
		if _, errs, code := w.printed("", append([]string{"history"}, args...)...); code != 1 || !strings.Contains(errs, says) {
			t.Errorf("history %v: %d: %s", args, code, errs)
		}
	}
	if err := os.Mkdir(w.dir+"/"+short(0), 0o755); err != nil { // a folder of that name is a TARGET
		t.Fatal(err)
	}
	if _, errs, code := w.printed("", "history", short(0)); code == 0 || strings.Contains(errs, "with which other run") {
		t.Errorf("a folder: %d: %s", code, errs)
	}
}
