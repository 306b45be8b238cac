package structs_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry/structs"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry/structs/internal/wafv2"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

func lookup(t *testing.T, name string) *registry.Type {
	t.Helper()
	typ, err := registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// athanorIs stands for the package that generated source imports, with what it uses of it.
const athanorIs = `package athanor
type (
	Stack struct{}
	Option func()
	Resource struct{}
	Int string
	Bool string
)
func (s *Stack) Resource(typ, name string, p any, opts ...Option) Resource { return Resource{} }
func As[A any](r Resource) (a A) { return }
`

type imports map[string]*types.Package

func (i imports) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("it imports " + path)
}

func checked(path, text string, from types.Importer) (*types.Package, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path+".go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return (&types.Config{Importer: from}).Check(path, files, []*ast.File{f}, nil)
}

// holds reports whether a type holds one of those that it is in.
func holds(of types.Type, in []types.Type) bool {
	switch at := of.(type) {
	case *types.Pointer:
		return holds(at.Elem(), in)
	case *types.Slice:
		return holds(at.Elem(), in)
	case *types.Map:
		return holds(at.Elem(), in)
	case *types.Named:
		of, ok := at.Underlying().(*types.Struct)
		if !ok || slices.Contains(in, types.Type(at)) {
			return ok
		}
		for field := range of.Fields() {
			if holds(field.Type(), append(slices.Clone(in), at)) {
				return true
			}
		}
	}
	return false
}

// TestEveryType makes the source of each type of the registry, which the compiler's checks take.
func TestEveryType(t *testing.T) {
	t.Parallel()
	base, err := checked("github.com/athanor-dev/athanor", athanorIs, importer.Default())
	if err != nil {
		t.Fatal(err)
	}
	names, err := registry.Names()
	if err != nil || len(names) < 1700 {
		t.Fatalf("%d types, %v", len(names), err)
	}
	for _, name := range names {
		text, err := structs.Source(structs.Package(name), "a test", lookup(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made, err := checked("made", string(text), imports{"github.com/athanor-dev/athanor": base})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, of := range made.Scope().Names() {
			if named, ok := made.Scope().Lookup(of).(*types.TypeName); ok && holds(named.Type(), nil) {
				t.Errorf("%s: %s holds itself, which props cannot", name, of)
			}
		}
		short := name[strings.LastIndex(name, "::")+2:]
		for _, want := range []string{"New" + short, short + "Props", short} {
			if made.Scope().Lookup(want) == nil {
				t.Errorf("%s declares no %s", name, want)
			}
		}
	}
}

// TestKept: the packages that are part of athanor are what is generated today.
func TestKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../typed/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	declared := regexp.MustCompile(`s\.Resource\("([^"]+)"`)
	for _, file := range files {
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []*registry.Type
		for _, m := range declared.FindAllStringSubmatch(string(have), -1) {
			all = append(all, lookup(t, m[1]))
		}
		want, err := structs.Source(filepath.Base(filepath.Dir(file)), "registry/internal/generate", all...)
		if err != nil || string(have) != string(want) {
			t.Errorf("%s is not what is generated: `task registry:table` writes it (%v)", file, err)
		}
	}
	have, err := os.ReadFile("internal/wafv2/wafv2.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := structs.Source("wafv2", "athanor generate AWS::WAFv2::WebACL", lookup(t, "AWS::WAFv2::WebACL"))
	if err != nil || string(have) != string(want) {
		t.Errorf("internal/wafv2 is not what is generated (%v): athanor generate AWS::WAFv2::WebACL > internal/wafv2/wafv2.go", err)
	}
}

// TestRecursive declares a resource whose structs hold themselves, and the kind takes it.
func TestRecursive(t *testing.T) {
	t.Parallel()
	if err := props.Check(reflect.TypeFor[wafv2.WebACLProps]()); err != nil {
		t.Fatal(err)
	}
	in := func(country string) cloudcontrol.Props {
		return cloudcontrol.Props{"GeoMatchStatement": cloudcontrol.Props{"CountryCodes": []string{country}}}
	}
	seen := &wafv2.WebACLVisibilityConfig{CloudWatchMetricsEnabled: athanor.True, SampledRequestsEnabled: athanor.False, MetricName: "acl"}
	graph, err := athanor.Evaluate(func(s *athanor.Stack) error {
		acl := wafv2.NewWebACL(s, "acl", wafv2.WebACLProps{
			Scope: "REGIONAL", DefaultAction: &wafv2.WebACLDefaultAction{Allow: &wafv2.WebACLAllowAction{}}, VisibilityConfig: seen,
			Rules: []wafv2.WebACLRule{{
				Name: "far", Priority: athanor.Num(1), VisibilityConfig: seen, Action: &wafv2.WebACLRuleAction{Block: &wafv2.WebACLBlockAction{}},
				Statement: &wafv2.WebACLStatement{OrStatement: &wafv2.WebACLOrStatement{Statements: []any{
					in("SE"), cloudcontrol.Props{"NotStatement": cloudcontrol.Props{"Statement": in("NO")}},
				}}},
			}},
		})
		s.Output("arn", acl.Arn)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	k, err := cloudcontrol.Kind("AWS::WAFv2::WebACL")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Decode(&reconcile.Job{Address: "acl", Props: graph.Resources[0].Props}); err != nil {
		t.Error(err)
	}
}

func TestNamesThatMeet(t *testing.T) {
	t.Parallel()
	if _, err := structs.Source("both", "a test", lookup(t, "AWS::ECS::Cluster"), lookup(t, "AWS::EC2::VPC")); err != nil {
		t.Errorf("two types: %v", err)
	}
	if _, err := structs.Source("both", "a test", lookup(t, "AWS::ECS::Cluster"), lookup(t, "AWS::EKS::Cluster")); err == nil ||
		!strings.Contains(err.Error(), "write them into two packages") {
		t.Errorf("two types of one name: %v", err)
	}
	if _, err := structs.Source("no-name", "a test"); err == nil {
		t.Error("a package of any name")
	}
}
