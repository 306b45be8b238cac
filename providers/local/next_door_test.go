package local

import (
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestFoldersNextDoor makes files and folders while the deletion of others, next door, removes the folders that it leaves
// empty.
func TestFoldersNextDoor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	beside := newBench(t, fileKind.Erase())
	beside.dir = dir
	done := make(chan error)
	for name, made := range map[string]*bench{
		"out/a.txt": newBench(t, fileKind.Erase()), "out/tree": newBench(t, directoryKind.Erase()),
	} {
		props := map[string]any{"path": name, "content": "a"}
		if made.kind.Spec().Type == "local.Directory" {
			props = map[string]any{"path": name, "files": map[string]any{"a": "1", "b": "2"}}
		}
		made.dir = dir
		go func() {
			var err error
			for i := 0; i < 300 && err == nil; i++ {
				made.last, made.had = nil, nil
				if _, err = made.settle(maps.Clone(props)); err == nil {
					err = made.delete()
				}
			}
			done <- err
		}()
	}
	for range 300 {
		beside.last, beside.had = nil, nil
		beside.must(map[string]any{"path": "out/b.txt", "content": "b"})
		if err := beside.delete(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if beside.exists("out") {
		t.Error("the empty folder is there still")
	}
}

// TestUnfinishedBeside writes a file again beside which a cut run left what it had written, whatever the file holds.
func TestUnfinishedBeside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  reconcile.Any
		props map[string]any
		left  string
		path  string
	}{
		{fileKind.Erase(), map[string]any{"path": "a.txt", "content": "one"}, aside("a.txt"), "content"},
		{directoryKind.Erase(), map[string]any{"path": "d", "files": map[string]any{"a.txt": "one", "b.txt": "two"}}, "d/" + aside("a.txt"), `files["a.txt"]`},
	} {
		b := newBench(t, c.kind)
		b.must(c.props)
		b.write(c.left, "two")
		out := b.must(c.props)
		if len(out.Changed) != 1 || string(out.Changed[0]) != c.path {
			t.Errorf("%v: changed %v, want %s", c.kind.Spec().Type, out.Changed, c.path)
		}
		if b.exists(c.left) {
			t.Errorf("%v: %s is there still", c.kind.Spec().Type, c.left)
		}
		if out := b.must(c.props); len(out.Changed) > 0 {
			t.Errorf("%v: changed again: %v", c.kind.Spec().Type, out.Changed)
		}
	}
}
