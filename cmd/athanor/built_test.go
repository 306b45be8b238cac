package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// builds are the command as it ships, and with kinds whose bound of visibility is shorter: how long an answer "absent" is
// distrusted after a write, a minute for a queue. The emulator shows every write at once, and each kill before a
// creation would wait a minute for nothing. It is the one difference; in full TestKill also does without.
var builds = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return bounded(shipped) }),
	true:  sync.OnceValues(func() (string, error) { return bounded(quick) }),
}

// isolatedVariable is set where a test runs in a network of its own; it holds the path of the command, which was built
// outside.
const isolatedVariable = "ATHANOR_TEST_ISOLATED"

// built is the path of the command, built once.
func built(t *testing.T, quick bool) string {
	t.Helper()
	binary, err := builds[quick]()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// bounded bounds the time of a build, which is that of all tests that use it, hence of none.
func bounded(build func(context.Context) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	return build(ctx)
}

// shipped is the command that ships, which the packages of a test run share.
func shipped(ctx context.Context) (string, error) {
	if binary := os.Getenv(isolatedVariable); binary != "" {
		return binary, nil
	}
	return proctest.Program(ctx, ".")
}

// quick builds beside the test binary, in a folder that the go command removes after the tests.
func quick(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(os.Args[0]), "built")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "athanor")
	file, err := overlay(dir)
	if err != nil {
		return "", err
	}
	args := []string{"build", "-ldflags=-s -w", "-overlay", file, "-o", binary, "."}
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// hastened are the providers with another bound of visibility for what AWS offers.
const hastened = `func All() []reconcile.Provider {
	all := shipped()
	for _, provider := range all {
		for _, kind := range provider.Kinds {
			if spec := kind.Spec(); provider.Name == "aws" && spec.Visibility > 0 {
				spec.Visibility = 200_000_000 // ns
			}
		}
	}
	return all
}

func shipped() []reconcile.Provider {`

// overlay replaces the list of the providers by a copy that shortens the bounds of visibility: what the kinds themselves are made of
// need not be compiled once more.
func overlay(dir string) (string, error) {
	source, err := filepath.Abs("../../providers/all.go")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	before, after, found := strings.Cut(string(text), "func All() []reconcile.Provider {")
	if !found {
		return "", fmt.Errorf("%s has no list of providers", source)
	}
	short := filepath.Join(dir, "all.go")
	if err := os.WriteFile(short, []byte(before+hastened+after), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{source: short}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, data, 0o600)
}
