package kind_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
)

// exports are the files of compiled packages, by their import path.
func exports(t *testing.T, packages ...string) func(path string) (io.ReadCloser, error) {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// TestFieldsAreCounted holds the page about the contract to how many fields a kind has.
func TestFieldsAreCounted(t *testing.T) {
	page, err := os.ReadFile("../../docs/decisions/props-are-the-table.md")
	if err != nil {
		t.Fatal(err)
	}
	says := fmt.Sprintf("a kind has %d fields", reflect.TypeFor[kind.Kind[struct{}, struct{}, struct{}]]().NumField())
	if !strings.Contains(string(page), says) {
		t.Errorf("docs/decisions/props-are-the-table.md does not say that %s", says)
	}
}

// TestForbiddenCombinationsDoNotCompile has each combination of capabilities that makes no sense, and what the compiler says of
// it. Those that are no matter of types are in TestEveryTagMeansSomething and TestRegistrationTells.
func TestForbiddenCombinationsDoNotCompile(t *testing.T) {
	const head = `package a

import "github.com/athanor-dev/athanor/reconcile/kind"

type (
	P struct{ A string }
	L struct{}
	A struct{ ID string }
)

`
	const module = "github.com/athanor-dev/athanor/reconcile"
	files := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(files, "gc", exports(t, module, module+"/kind"))}
	for _, c := range []struct{ name, code, want string }{
		{"all of it that is allowed", `var _ = kind.Kind[P, L, A]{Owner: kind.OwnedByContent[P, L]{}, HoldsData: &kind.HoldsData[P, L]{Retain: true}}`, ""},
		{"a kind in state with a name", `var _ = kind.StateKind[P, A]{Named: nil}`, "unknown field Named"},
		{"a kind in state with an owner tag", `var _ = kind.StateKind[P, A]{Owner: nil}`, "unknown field Owner"},
		{"a kind in state with a listing", `var _ = kind.StateKind[P, A]{List: nil}`, "unknown field List"},
		{"a kind in state with data", `var _ = kind.StateKind[P, A]{HoldsData: nil}`, "unknown field HoldsData"},
		{"a kind in state that is eventually visible", `var _ = kind.StateKind[P, A]{EventuallyVisible: 1}`, "unknown field EventuallyVisible"},
		{"a kind in state that is deleted first", `var _ = kind.StateKind[P, A]{DeleteFirst: true}`, "unknown field DeleteFirst"},
		{"a kind in state that is observed in bulk", `var _ = kind.StateKind[P, A]{Bulk: nil}`, "unknown field Bulk"},
		{"a kind in state with a global location", `var _ = kind.StateKind[P, A]{Global: nil}`, "unknown field Global"},
		{"a kind in state that somebody waits for", `var _ = kind.StateKind[P, A]{Status: nil}`, "unknown field Status"},
		{"a kind in the cloud that is rerun", `var _ = kind.Kind[P, L, A]{Lifetime: kind.Rerun}`, "unknown field Lifetime"},
		{"a kind in the cloud that lives in dev", `var _ = kind.Kind[P, L, A]{Lifetime: kind.InDev}`, "unknown field Lifetime"},
		{"a kind in the cloud that is a local variant", `var _ = kind.Kind[P, L, A]{LocalVariantOf: "x"}`, "unknown field LocalVariantOf"},
		{
			"owned by its content and by its parent", `var _ = kind.Kind[P, L, A]{Owner: kind.OwnedByContent[P, L]{}, Owner: kind.OwnedByParent[P, L]{}}`,
			"duplicate field name Owner",
		},
		{"owned in a way of one's own", `type mine struct{}; var _ = kind.Kind[P, L, A]{Owner: mine{}}`, "missing method ownership"},
		{"an attribute that moves by a list of names", `var _ = kind.Kind[P, L, A]{MovedBy: nil}`, "unknown field MovedBy"},
		{"deferrable props by a list of paths", `var _ = kind.Kind[P, L, A]{Late: nil}`, "unknown field Late"},
		{"permission to delete data without data", `var _ = kind.Kind[P, L, A]{MayDelete: func(P) bool { return true }}`, "unknown field MayDelete"},
		{"retained without data", `var _ = kind.Kind[P, L, A]{Retained: true}`, "unknown field Retained"},
		{"busy and waiting at once", `var _ = kind.Status{"busy", "waiting"}`, "implicit assignment to unexported field busy"},
		{"deleted at once and later", `var _ = kind.Kind[P, L, A]{Deletion: kind.AtOnce[L]{}, Deletion: kind.Later[L](nil)}`, "duplicate field name Deletion"},
		{"a deletion of one's own", `type mine struct{}; var _ = kind.Kind[P, L, A]{Deletion: mine{}}`, "missing method deleted"},
		{"two names for the nonce of a creation", `var _ = func(s kind.Site[P, A]) string { return s.New.Nonce }`, "s.New.Nonce undefined"},
		{"always given, with a rule to generate by", `var _ = kind.Named[P, L]{AlwaysGiven: true}`, "unknown field AlwaysGiven"},
		{"a given name without a rule for it", `var _ = kind.Kind[P, L, A]{Given: func(P) string { return "" }}`, "unknown field Given"},
		{"what a creation gets, elsewhere", `var _ = func(s kind.Site[P, A]) string { return s.Deleted }`, "s.Deleted undefined"},
		{"the table of another struct", `var _ = kind.Kind[P, L, A]{Props: kind.TableOf[L]()}`, "cannot use kind.TableOf[L]()"},
	} {
		file, err := parser.ParseFile(files, c.name, head+c.code+"\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, err = config.Check("a", files, []*ast.File{file}, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
