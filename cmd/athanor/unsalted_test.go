//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/seal"
)

// TestUnsalted: a stage whose key an older version derived from a passphrase is told how to get a random one, and then no
// more.
func TestUnsalted(t *testing.T) {
	t.Setenv(seal.EnvPassphrase, "correct horse battery staple")
	w := newWorld(t, small)
	w.env = append(w.env, seal.EnvPassphrase+"="+os.Getenv(seal.EnvPassphrase))
	place := seal.Place{Config: t.TempDir(), Beside: []string{w.dir}, Stack: "small", Stage: "prod"}
	key, err := seal.LoadOrMake(place.Config, place.Stack, place.Stage)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := place.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Set(key, "api", "hunter2"); err != nil {
		t.Fatal(err)
	}
	const told = "athanor secret rotate --stage prod"
	for _, args := range [][]string{{"secret", "list"}, {"secret", "recipients"}, {"plan"}, {"deploy", "--yes"}} {
		if _, stderr, code := w.printed("", append(args, "--stage", "prod")...); !strings.Contains(stderr, told) || code != 0 && code != 2 {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if _, stderr, code := w.printed("", "secret", "rotate", "--stage", "prod"); code != 0 || strings.Contains(stderr, told) {
		t.Fatalf("rotate: exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "small.prod.key.json")); err != nil {
		t.Error(err)
	}
	if _, stderr, code := w.printed("", "plan", "--stage", "prod"); code != 0 || strings.Contains(stderr, told) {
		t.Errorf("plan: exit code %d: %s", code, stderr)
	}
}
