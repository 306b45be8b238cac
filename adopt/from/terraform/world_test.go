package terraform

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// described is a kind of which there is nothing but what `athanor kinds KIND --json` says of it.
type described struct {
	reconcile.Any
	name  string
	Props []props.Field `json:"props"`
	Attrs []props.Field `json:"attrs"`
}

func (k *described) Spec() *reconcile.Spec {
	return &reconcile.Spec{
		Type: k.name, SecretProps: secretPaths(k.Props),
		Props: func() ([]props.Field, error) { return k.Props, nil }, Attrs: func() ([]props.Field, error) { return k.Attrs, nil },
	}
}

// secretPaths are the paths of secret fields.
func secretPaths(fields []props.Field) []tree.Path {
	var all []tree.Path
	for _, f := range fields {
		if strings.Contains(f.Type, "secret ") {
			all = append(all, f.Path)
		}
		all = append(all, secretPaths(f.Fields)...)
	}
	return all
}

// Decode refuses props that are missing, unknown or of another type.
func (k *described) Decode(job *reconcile.Job) error {
	wrong := check(k.Props, job.Props, "")
	if len(wrong) == 0 {
		return nil
	}
	return wrong
}

func check(fields []props.Field, have map[string]any, at tree.Path) props.Errors {
	var wrong props.Errors
	known := map[string]props.Field{}
	for _, f := range fields {
		known[lastName(f)] = f
		if _, set := have[lastName(f)]; f.Required && !set {
			wrong = append(wrong, &props.FieldError{Path: at.Key(lastName(f)), Problem: "required"})
		}
	}
	for name, v := range have {
		f, ok := known[name]
		if !ok {
			wrong = append(wrong, &props.FieldError{Path: at.Key(name), Problem: "unknown"})
			continue
		}
		wrong = append(wrong, checkValue(f, strings.TrimPrefix(f.Type, "secret "), v, at.Key(name))...)
	}
	return wrong
}

func checkValue(f props.Field, typ string, v any, at tree.Path) props.Errors {
	bad := props.Errors{{Path: at, Problem: fmt.Sprintf("want %s, have %T", typ, v)}}
	switch v := v.(type) {
	case string:
		if typ != "string" && typ != "any" && typ != "duration" && typ != "size" {
			return bad
		}
	case bool:
		if typ != "bool" && typ != "any" {
			return bad
		}
	case int64, float64:
		if typ != "int" && typ != "number" && typ != "any" {
			return bad
		}
	case []any:
		of, ok := strings.CutPrefix(typ, "list of ")
		if !ok && typ != "any" {
			return bad
		}
		var wrong props.Errors
		for i, x := range v {
			if ok {
				wrong = append(wrong, checkValue(f, of, x, at.Index(i))...)
			}
		}
		return wrong
	case map[string]any:
		of, isMap := strings.CutPrefix(typ, "map of ")
		switch {
		case isMap:
			var wrong props.Errors
			for key, x := range v {
				wrong = append(wrong, checkValue(f, of, x, at.Key(key))...)
			}
			return wrong
		case typ == "object" && len(f.Fields) > 0:
			return check(f.Fields, v, at)
		case typ != "any" && typ != "object":
			return bad
		}
	default:
		return bad
	}
	return nil
}

// kindsOf are the kinds of testdata/kinds.json.
func kindsOf(t testing.TB) func(string) (reconcile.Any, error) {
	t.Helper()
	data, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*described
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return func(name string) (reconcile.Any, error) {
		k, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("%w: %s", reconcile.ErrNoKind, name)
		}
		k.name = name
		return k, nil
	}
}

// stackOf is the stack of a state, and its YAML.
func stackOf(t testing.TB, name string, content []byte, o from.Options) (from.Stack, string) {
	t.Helper()
	d, err := Source{Find: kindsOf(t)}.Draft(from.File{Name: name, Content: content}, o)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}
