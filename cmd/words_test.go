package cmd

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestNotListening: an address at which nobody can listen is an error that says why in plain words, and what to give instead.
func TestNotListening(t *testing.T) {
	listening := func(address string) error {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	denied := &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES} // the user who runs this test may be permitted
	for address, c := range map[string]struct {
		err        error
		text, hint string
	}{
		"127.0.0.1:0":         {listening("127.0.0.1:0"), "", ""},
		taken.Addr().String(): {listening(taken.Addr().String()), "another program listens there", "port 0 takes a free one"},
		"127.0.0.1:80":        {denied, "permission denied", "a port above 1023"},
		"nonsense":            {listening("nonsense"), "missing port in address", "--listen HOST:PORT"},
		"192.0.2.1:0":         {listening("192.0.2.1:0"), "cannot assign requested address", "an address of this machine"},
	} {
		err := notListening(address, c.err)
		if c.text == "" {
			if err != nil {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "--listen "+address+": ") || !strings.HasSuffix(err.Error(), c.text) {
			t.Errorf("%s: %v", address, err)
		}
		if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], c.hint) {
			t.Errorf("%s: the hints are %q", address, hints)
		}
	}
}

// TestAuditErrors: a log that was changed and one that cannot be read are told apart.
func TestAuditErrors(t *testing.T) {
	if err := auditError(fmt.Errorf("page 2: %w", changedError{errors.New("entry 3 is another one")})); err.Error() != "the audit log was changed: page 2: entry 3 is another one" {
		t.Error(err)
	}
	if err := auditError(context.Canceled); err.Error() != "the audit log cannot be read: context canceled" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWarningsArePlain: every warning of the command goes through the one function that says errors plainly and escapes what a terminal
// obeys. No other text begins with the word.
func TestWarningsArePlain(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "internal/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	warns := 0
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "Warn" || n.Sel.Name == "Warning" {
					warns++
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.HasPrefix(text, "warning:") {
					t.Errorf("%s: %q is to be written by Terminal.Warn", file, text)
				}
			}
			return true
		})
	}
	if warns < 10 {
		t.Errorf("%d warnings were found", warns)
	}
}
