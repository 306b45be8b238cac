package localfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// TestReplaceNamesTheFile: whatever keeps a file from being written, the error names that file, the file holds what it held, and nothing
// lies beside it.
func TestReplaceNamesTheFile(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"a folder":        {"folder", "folder: is a directory"},
		"no folder":       {"none/plan.json", "none/plan.json: no such file or directory"},
		"below a file":    {"old/plan.json", "old/plan.json: not a directory"},
		"a name too long": {strings.Repeat("x", 300), strings.Repeat("x", 300) + ": file name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o700), os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o600)); err != nil {
				t.Fatal(err)
			}
			err := localfile.Replace(filepath.Join(dir, tt.file), []byte("new"), 0o600)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), ".athanor-") {
				t.Errorf("have %v, want %s", err, tt.want)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 2 {
				t.Errorf("beside it lie %v (%v)", left, err)
			}
			if old, err := os.ReadFile(filepath.Join(dir, "old")); err != nil || string(old) != "old" {
				t.Errorf("the file holds %q (%v)", old, err)
			}
		})
	}
}
