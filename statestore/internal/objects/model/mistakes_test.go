package model_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

var full = flag.String("model", "", "full: find every mistake that is made on purpose")

// mistake is a change of the protocol that loses or invents something.
type mistake struct {
	name, file, old, new string
	scenario             string // that finds it
}

func mistakes() []mistake {
	return []mistake{
		{
			"the head is written without a condition", "swap.go",
			`object, err := s.put(ctx, s.headKey(c.stage), out.body, out.when)`,
			`object, err := s.put(ctx, s.headKey(c.stage), out.body, Condition{})`,
			"two_begin_a_stage",
		}, {
			"another decision is sent in the place of one that may still arrive", "swap.go",
			`if w.sent.when == conditionOf(c) {
			return b.put(ctx, c, w, w.sent, stale)
		}
		w.sent = nil // it can arrive no more: its condition never holds again`, ``,
			"two_begin_a_stage",
		}, {
			"the swap ids of a head are not looked for", "swap.go",
			`if c.doc != nil && slices.Contains(c.doc.Swaps, w.id) {`, `if slices.Contains([]string{}, w.id) {`,
			"a_commit_and_an_unlock",
		}, {
			"whoever is not first takes it for the end of the lease", "swap.go",
			`return true, nil // somebody else was first: read, decide, swap again`,
			`return false, &statestore.FencedError{Stage: c.stage}`,
			"a_commit_and_a_cancel",
		}, {
			"what a swap that failed wrote stays in the tables", "swap.go",
			"	out.tx.undo()\n	*stale = true", "	*stale = true",
			"a_commit_and_a_cancel",
		}, {
			"a segment that is there is not read", "compact.go",
			`if errors.Is(err, ErrPrecondition) {
		object, err := s.get(ctx, key, "")`, `if errors.Is(err, ErrPrecondition) {
		return err
	}
	if false {
		object, err := s.get(ctx, key, "")`,
			"a_commit_and_a_cancel",
		}, {
			"a segment is written after the head", "swap.go",
			`if err := b.beforeHead(ctx, c, w, t, next); err != nil {`,
			`if seg, _ := t.segment(next); seg != nil {
		defer func() { _ = s.writeSegment(ctx, c, t, w, seg) }()
		t.list(seg)
	} else if err := b.beforeHead(ctx, c, w, t, next); err != nil {`,
			"a_merge_and_a_reader",
		}, {
			"the events of a batch that was never committed are shown", "swap.go",
			`t.doc.Runs[at].Seq = next.Tenure.Seq`, `t.doc.Runs[at].Seq = next.Tenure.Seq + 1`,
			"a_commit_and_an_unlock",
		}, {
			"a machine goes by its own wall clock", "store.go",
			`return s.date.Add(now.Sub(s.dated))`, `return now`,
			"a_commit_and_a_takeover",
		}, {
			"the age of the head is not asked for", "tx.go",
			`t.was.Tenure.Renewed = c.modified.UTC()`, `t.was.Tenure.Renewed = time.Time{}`,
			"a_commit_and_a_takeover",
		}, {
			"a sweep deletes what the head lists", "compact.go",
			`if ok && epoch < before && !listed[name] && l.Modified.Before(old) {`,
			`if ok && epoch < before && l.Modified.Before(old) {`,
			"a_sweep_and_a_reader",
		}, {
			"a merged segment leaves out the newest batch", "compact.go",
			`return merged(append(slices.Clone(t.cache.tail[len(t.cache.tail)-seg.header.Merged:]), seg.entries)...)`,
			`return merged(t.cache.tail[len(t.cache.tail)-seg.header.Merged:]...)`,
			"a_merge_and_a_reader",
		},
	}
}

// patched is the source of a file with a mistake.
func patched(t *testing.T, m mistake) (path string, text []byte) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s: its text stands %d times in %s", m.name, n, m.file)
	}
	return path, []byte(strings.Replace(string(source), m.old, m.new, 1))
}

// TestMistakesFit: each mistake is one of the protocol as it stands.
func TestMistakesFit(t *testing.T) {
	for _, m := range mistakes() {
		patched(t, m)
	}
}

// TestMistakesAreFound holds the search to mistakes that are made on purpose: one of them, three every night, all with -model=full.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	all := mistakes()
	switch { // each is compiled
	case *full == "full":
	case proctest.Whole():
		all = all[:3]
	default:
		all = all[:1]
	}
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			path, text := patched(t, m)
			dir := t.TempDir()
			changed, overlay, binary := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "model.test")
			list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{changed: text, overlay: list} {
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := exec.CommandContext(t.Context(), binary, "-test.run", "^TestEveryOrder$/^"+m.scenario+"$")
			out, err := run.CombinedOutput()
			if err == nil || strings.Contains(string(out), "no tests to run") {
				t.Errorf("it is not found\n%s", out)
			}
		})
	}
}
