//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// TestRecordInABucket takes the example through its life with its state in a bucket, readable and with sealed names, and
// finds no secret in what the server keeps; of a sealed one no address and no kind either.
func TestRecordInABucket(t *testing.T) {
	t.Parallel()
	stack, err := os.ReadFile("../../examples/site/athanor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := s3test.Start(t, s3test.Versitygw)
	for _, names := range []string{"", "&names=sealed"} {
		w := newWorld(t, string(stack))
		if err := os.CopyFS(filepath.Join(w.dir, "assets"), os.DirFS("../../examples/site/assets")); err != nil {
			t.Fatal(err)
		}
		url := server.URL(t, "infra")
		w.env = append(w.env, "ATHANOR_STORE="+url+names)
		w.env = append(w.env, server.Environment()...)
		w.run(2, "plan", "--out", "plan.json")
		wantCounts(t, w.summary(0, "deploy", "plan.json", "--yes"), map[string]float64{"created": 7, "failed": 0})
		wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"unchanged": 7, "commits": 0})
		if list := w.run(0, "state", "list"); !strings.Contains(list, "manifest") {
			t.Errorf("state list: %s", list)
		}
		if history := w.run(0, "history"); !strings.Contains(history, "succeeded") {
			t.Errorf("history: %s", history)
		}
		w.run(0, "events")
		w.run(0, "state", "check")
		password := strings.TrimSpace(w.run(0, "output", "password", "--reveal"))
		kept := everythingIn(t, server.Dir())
		tells(t, password, map[string]string{"the bucket": kept})
		bucket, _, _ := strings.Cut(strings.TrimPrefix(url, "s3://"), "/")
		kept = everythingIn(t, filepath.Join(server.Dir(), bucket))
		for _, word := range []string{"manifest", "local.File", "public/index.html"} {
			if strings.Contains(kept, word) == (names != "") {
				t.Errorf("%q: the bucket shows %q: %v", names, word, names != "")
			}
		}
		rebuildHead(t, w, filepath.Join(server.Dir(), bucket))
		if names != "" {
			w.env = append(w.env, "ATHANOR_STORE="+url)
			if _, said, code := w.printed("", "state", "list"); code != 1 || !strings.Contains(said, "names=sealed") {
				t.Errorf("opened without names=sealed: exit code %d, %s", code, said)
			}
			w.env = append(w.env, "ATHANOR_STORE="+url+names)
		}
		if w.has(".athanor/state.db") {
			t.Error("there is a state on disk too")
		}
		wantCounts(t, w.summary(0, "destroy", "--yes"), map[string]float64{"deleted": 7})
	}
}

// rebuildHead spoils the head of the stage in the folder of a bucket, and has it made again: the state proves itself, and a deploy
// finds nothing to do. Nobody wrote the head for longer than a lease lasts, so that nothing is waited for.
func rebuildHead(t *testing.T, w *world, folder string) {
	t.Helper()
	heads := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "head" || d.IsDir() {
			return err
		}
		heads++
		long := time.Now().Add(-time.Hour)
		return errors.Join(os.WriteFile(path, []byte("{"), 0o600), os.Chtimes(path, long, long))
	})
	if err != nil || heads != 1 {
		t.Fatalf("%d heads, %v", heads, err)
	}
	w.run(1, "state", "check")
	if _, said, code := w.printed("", "state", "check", "--rebuild-head"); code != 0 || !strings.Contains(said, "the head was rebuilt from segment") {
		t.Errorf("exit code %d: %s", code, said)
	}
	w.run(0, "state", "check")
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"unchanged": 7, "commits": 0})
	if _, said, code := w.printed("", "state", "check", "--rebuild-head"); code != 0 || !strings.Contains(said, "it was left alone") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// everythingIn is all that the files of a folder hold, and their names.
func everythingIn(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n")
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all.Len() < 1000 {
		t.Fatalf("the bucket holds %d bytes", all.Len())
	}
	return all.String()
}
