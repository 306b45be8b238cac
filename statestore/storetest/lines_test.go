package storetest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tableLine = regexp.MustCompile(`(?m)^\| (\d+)\. .*$`)
	named     = regexp.MustCompile("`([^`]+)`")
)

// Each line of the contract is proven by cases and tests that exist.
func TestLinesOfTheContract(t *testing.T) {
	doc, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := tableLine.FindAllString(string(doc), -1)
	if len(lines) != 16 {
		t.Fatalf("%d lines, want 16", len(lines))
	}
	for _, line := range lines {
		proofs := named.FindAllStringSubmatch(line, -1)
		if len(proofs) == 0 {
			t.Errorf("nothing proves %s", line)
		}
		for _, proof := range proofs {
			if dir, test, ok := strings.Cut(proof[1], " Test"); ok {
				if !hasTest(t, dir, "Test"+test) {
					t.Errorf("there is no test %s in %s", "Test"+test, dir)
				}
				continue
			}
			group, name, _ := strings.Cut(proof[1], "/")
			if cases()[group][name] == nil {
				t.Errorf("there is no case %s", proof[1])
			}
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
