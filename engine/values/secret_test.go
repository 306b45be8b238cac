package values

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// TestSecretFileIsBounded: a file without an end in the place of a secret is refused, and not read into memory.
func TestSecretFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endless")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 33 // holds nothing, and takes no space
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := new(Values).readSecret(t.Context(), "k", graph.SecretSource{File: path}); !errors.Is(err, localfile.ErrTooLarge) {
		t.Errorf("it is read: %v", err)
	}
}
