package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// A reader that stands still while it has a lock, as one that was stopped does, keeps a writer waiting for its patience
// and no longer; other readers go on, and the writer succeeds as soon as the reader has ended.
func TestAReaderStandsStill(t *testing.T) {
	const patience = 200 * time.Millisecond
	for _, tt := range []struct{ name, file string }{
		{"in the middle of reading", "state.db"},
		{"while it asks whose turn it is", "state.db.turn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "state.db")
			s, err := Open(path, WithPatience(patience))
			if err != nil {
				t.Fatal(err)
			}
			lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			batch := statestore.Batch{Seq: 1, Put: []statestore.Row{plain(0, 0)}}
			stood := false
			still := func(op tracetest.Op) {
				if stood || op.Kind != tracetest.Shared || op.Path != filepath.Join(dir, tt.file) {
					return
				}
				stood = true
				began := time.Now()
				_, err := s.Commit(t.Context(), lease, batch)
				if took := time.Since(began); took < patience {
					t.Errorf("the writer waited %s, with a patience of %s", took, patience)
				}
				if unavailable, ok := errors.AsType[*statestore.UnavailableError](err); !ok || unavailable.Path != path {
					t.Errorf("commit: %v", err)
				}
				if _, err := s.Load(t.Context(), stage); err != nil {
					t.Errorf("another reader: %v", err)
				}
			}
			out, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			env := append(os.Environ(), childRole+"=read", childPath+"="+path)
			status, err := tracetest.Run(os.Args[:1], &os.ProcAttr{Env: env, Files: []*os.File{nil, out, os.Stderr}}, tracetest.Watch{Under: []string{dir}, After: still})
			if errors.Is(err, tracetest.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil || status.ExitStatus() != 0 || !stood {
				t.Fatalf("the reader ended with %v, %v; stood still: %t", status, err, stood)
			}
			if _, err := s.Commit(t.Context(), lease, batch); err != nil {
				t.Errorf("after it went: %v", err)
			}
		})
	}
}

// A reader that has opened the file before it is compacted reads one version of it afterwards, and then the newest.
func TestAReaderOfTheFileBeforeACompaction(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	write := func() {
		if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{plain(0, 0)}}); err != nil {
			t.Error(err)
		}
	}
	write()
	stood := false
	still := func(op tracetest.Op) tracetest.Order {
		if !stood && op.Kind == tracetest.Shared && op.Path == path {
			stood = true
			write() // version 2
			if err := s.Compact(t.Context()); err != nil {
				t.Error(err)
			}
			write() // version 3, in the new file
		}
		return tracetest.Order{}
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	env := append(os.Environ(), childRole+"=read", childPath+"="+path)
	status, err := tracetest.Run(os.Args[:1], &os.ProcAttr{Env: env, Files: []*os.File{nil, said, os.Stderr}}, tracetest.Watch{Under: []string{dir}, Before: still})
	if errors.Is(err, tracetest.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || status.ExitStatus() != 0 || !stood {
		t.Fatalf("the reader ended with %v, %v; stood still: %t", status, err, stood)
	}
	lines, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	if versions := strings.Fields(string(lines)); len(versions) != 50 || versions[0] != "2" || versions[1] != "3" || versions[49] != "3" {
		t.Errorf("the reader read %s", versions)
	}
}
