//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	bounds = regexp.MustCompile(`(\n\t(?:Visibility|EventuallyVisible):\s+)\d*[ *]*time\.\w+,`)
	common = regexp.MustCompile(`(\nconst EventuallyVisible = )[^\n]+`)
)

// builds are the command as it ships, and with kinds whose bound of visibility is shorter: how long an answer "absent" is
// distrusted after a write, a minute for a queue. The emulator shows every write at once, and each kill before a
// creation would wait a minute for nothing. It is the one difference; in full TestKill also does without.
var builds = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return compile(false) }),
	true:  sync.OnceValues(func() (string, error) { return compile(true) }),
}

// isolatedVariable is set where a test runs in a network of its own; it holds the path of the command, which was built
// outside.
const isolatedVariable = "ATHANOR_TEST_ISOLATED"

// built is the path of the command, built once.
func built(t *testing.T, quick bool) string {
	t.Helper()
	if binary := os.Getenv(isolatedVariable); binary != "" && !quick {
		return binary
	}
	binary, err := builds[quick]()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// compile builds beside the test binary, in a folder that the go command removes after the tests.
func compile(quick bool) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(os.Args[0]), "built")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "athanor")
	args := []string{"build", "-ldflags=-s -w", "-o", binary} // as it ships
	if quick {
		file, err := overlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", file)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit) // of all tests that use it, hence of none
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

// overlay replaces the bounds of visibility in the sources of the kinds, in a copy.
func overlay(dir string) (string, error) {
	replace := map[string]string{}
	sources, err := filepath.Glob("../../providers/aws/*/*.go")
	if err != nil {
		return "", err
	}
	for n, source := range append(sources, "../../providers/aws/contract.go") {
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		short := bounds.ReplaceAll(text, []byte("${1}200 * time.Millisecond,"))
		short = common.ReplaceAll(short, []byte("${1}200 * time.Millisecond"))
		if bytes.Equal(short, text) || strings.HasSuffix(source, "_test.go") {
			continue
		}
		source, err = filepath.Abs(source)
		if err != nil {
			return "", err
		}
		replace[source] = filepath.Join(dir, fmt.Sprintf("%d.go", n))
		if err := os.WriteFile(replace[source], short, 0o600); err != nil {
			return "", err
		}
	}
	if len(replace) < 4 {
		return "", fmt.Errorf("only %v say how long a write may stay invisible", slices.Collect(maps.Keys(replace)))
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, data, 0o600)
}
