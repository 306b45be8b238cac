package asset

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestCompareArchives compares what two builds have left in the cache, by the digests that a plan shows.
func TestCompareArchives(t *testing.T) {
	t.Parallel()
	work := stack(t, map[string]string{"src/a.js": "a", "src/b.js": "b", "src/c.js": "c"})
	before := zipped(t, work, "src")
	write(t, filepath.Join(work.Dir, "src", "b.js"), "B, longer")
	write(t, filepath.Join(work.Dir, "src", "d.js"), "d")
	if err := os.Remove(filepath.Join(work.Dir, "src", "c.js")); err != nil {
		t.Fatal(err)
	}
	after := zipped(t, work, "src")
	have, ok := NewArchives(work.Cache).Compare(t.Context(), before.Digest, after.Digest)
	want := Difference{Added: []string{"d.js"}, Modified: []string{"b.js"}, Deleted: []string{"c.js"}, Before: before.Size, After: after.Size}
	if !ok || !reflect.DeepEqual(have, want) {
		t.Errorf("have %+v, %t, want %+v", have, ok, want)
	}
	for name, digests := range map[string][2]string{
		"made elsewhere": {"0123", after.Digest}, "no digest": {"", after.Digest}, "none of both": {"x", "y"},
	} {
		if have, ok := NewArchives(work.Cache).Compare(t.Context(), digests[0], digests[1]); ok {
			t.Errorf("%s: %+v", name, have)
		}
	}
	if _, ok := NewArchives(filepath.Join(work.Cache, "missing")).Compare(t.Context(), before.Digest, after.Digest); ok {
		t.Error("archives without a cache")
	}
}
