package opentofu_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/bench/opentofu"
)

func TestWrite(t *testing.T) {
	tests := []struct {
		shape opentofu.Shape
		want  string
	}{
		{opentofu.Flat, `"value-1"`},
		{opentofu.Chain, `join(" ", [terraform_data.r0.id, ])`},
		{opentofu.Fan, `join(" ", [terraform_data.r0.id, ])`},
		{opentofu.DAG, `"value-1"`},
	}
	for _, tt := range tests {
		t.Run(string(tt.shape), func(t *testing.T) {
			var out strings.Builder
			if err := opentofu.Write(&out, tt.shape, 2, `a "b"`); err != nil {
				t.Fatal(err)
			}
			want := "resource \"terraform_data\" \"r0\" {\n  input = \"a \\\"b\\\"\"\n}\n" +
				"resource \"terraform_data\" \"r1\" {\n  input = " + tt.want + "\n}\n"
			if out.String() != want {
				t.Errorf("wrote\n%swant\n%s", out.String(), want)
			}
		})
	}
}

// TestFind proves that a binary that is not there is told apart, and that the named one goes first.
func TestFind(t *testing.T) {
	root, named := t.TempDir(), filepath.Join(t.TempDir(), "named")
	t.Setenv(opentofu.Env, "")
	if _, err := opentofu.Find(root); !errors.Is(err, opentofu.ErrNone) {
		t.Errorf("found one in an empty folder: %v", err)
	}
	cached := filepath.Join(root, ".cache", "tofu")
	if err := os.Mkdir(filepath.Dir(cached), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{cached, named} {
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if bin, err := opentofu.Find(root); err != nil || bin != cached {
		t.Errorf("found %q, %v", bin, err)
	}
	t.Setenv(opentofu.Env, named)
	if bin, err := opentofu.Find(root); err != nil || bin != named {
		t.Errorf("found %q, %v", bin, err)
	}
}
