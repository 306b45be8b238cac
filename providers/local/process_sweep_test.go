package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSweepLogs: logs of addresses that state does not have go, with their older parts; those of others stay, and those of what may run.
func TestSweepLogs(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "shop", "dev")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		fileName("api") + ".log", fileName("api") + ".log.1", fileName("old") + ".log", fileName("old") + ".log.1", fileName("runs") + ".log", fileName("runs") + ".json", "other.txt",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := SweepLogs(dir, "shop", "dev", slices.Values([]string{"api"})); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{fileName("api") + ".log", fileName("api") + ".log.1", "other.txt", fileName("runs") + ".json", fileName("runs") + ".log"}
	if !slices.Equal(left, want) || err != nil {
		t.Errorf("left are %q (%v)", left, err)
	}
	if err := SweepLogs(dir, "none", "dev", slices.Values([]string{})); err != nil {
		t.Error(err)
	}
}
