//go:build unix

package localfile_test

import (
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// TestNoFile: what is no file is refused at once, with and without bounds; nobody writes into the pipe.
func TestNoFile(t *testing.T) {
	root, outside := lay(t)
	pipe, socket := filepath.Join(root, "pipe"), filepath.Join(root, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bounded := localfile.With(t.Context(), localfile.Bounds{Root: root, Allowed: []string{"/dev"}})
	for _, path := range []string{pipe, "/dev/zero"} {
		for _, ctx := range []struct{ bounded bool }{{true}, {false}} {
			c := t.Context()
			if ctx.bounded {
				c = bounded
			}
			if _, err := localfile.ReadFile(c, path); !errors.Is(err, localfile.ErrNotFile) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := localfile.ReadFile(bounded, socket); err == nil {
		t.Error("a socket is read")
	}
	if _, err := localfile.ReadFile(bounded, filepath.Join(root, "sub")); !errors.Is(err, localfile.ErrNotFile) {
		t.Errorf("a folder: %v", err)
	}
	// Of what lies outside, it is not even said what it is.
	hidden := filepath.Join(outside, "pipe")
	if err := syscall.Mkfifo(hidden, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{hidden, filepath.Join(root, "folder", "pipe"), "/proc/self/environ", "/dev/fd/0", "/dev/stdin"} {
		_, err := localfile.ReadFile(localfile.With(t.Context(), localfile.Bounds{Root: root}), path)
		if _, refused := errors.AsType[*localfile.OutsideError](err); !refused {
			t.Errorf("%s: %v", path, err)
		}
	}
}
