package cloudflaretest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// At is a part of the body of an operation: the method and the path of the operation as the description has them, and where in
// the body the part is. Names are joined by dots, [] is an element of a list; "" is all of the body.
type At struct{ Method, Path, In string }

// GoldenDocument is [kindtest.Golden] for a body that Cloudflare's description of an operation is asked about first.
func GoldenDocument[P any](t testing.TB, table *kind.Table[P], declared map[string]any, body kind.Document, in ...At) {
	t.Helper()
	Conform(t, map[string]any(body), in...)
	kindtest.Golden(t, table, declared, kind.Document{}, body)
}

// Conform checks a body that a person wrote down, or a part of one, with Cloudflare's descriptions of the operations that take
// it: names, types and words. A member that is required is only missed within others, since a part need not have all of a body.
func Conform(t testing.TB, body any, in ...At) {
	t.Helper()
	if len(in) == 0 {
		t.Errorf("no operation is named that takes the body")
	}
	for _, at := range in {
		op, _ := load(t).find(at.Method, at.Path)
		if op == nil {
			t.Errorf("%s %s is no operation", at.Method, at.Path)
			continue
		}
		root, err := parsed(op.Request)
		if err != nil {
			t.Fatal(err)
		}
		amended(op.String(), root)
		part := within(root, at.In)
		if part == nil {
			t.Errorf("%s: its body has no %s", op, at.In)
			continue
		}
		strict(part)
		partial(part)
		if defs, ok := root["$defs"]; ok {
			strict(defs)
			part["$defs"] = defs
		}
		schema, err := compiled(op.String()+"/golden/"+at.In, part)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain(body)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s %s: %v", op, at.In, err)
		}
	}
}

// within is the schema of a part of what a schema describes, nil where there is no such part.
func within(schema map[string]any, path string) map[string]any {
	if path == "" {
		return schema
	}
	name, rest, _ := strings.Cut(path, ".")
	name, element := strings.CutSuffix(name, "[]")
	member := func(s map[string]any) map[string]any {
		properties, _ := s["properties"].(map[string]any)
		found, _ := properties[name].(map[string]any)
		return found
	}
	found := first(schema, member)
	if element && found != nil {
		found = first(found, func(s map[string]any) map[string]any { items, _ := s["items"].(map[string]any); return items })
	}
	if found == nil {
		return nil
	}
	return within(maps.Clone(found), rest)
}

// first is what a schema has, or the first of its alternatives that has it.
func first(schema map[string]any, has func(map[string]any) map[string]any) map[string]any {
	if found := has(schema); found != nil {
		return found
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, a := range alternatives {
		if s, ok := a.(map[string]any); ok {
			if found := first(s, has); found != nil {
				return found
			}
		}
	}
	return nil
}

// strict takes the text beside words away: the description takes any text where it knows some words, so that a client need not
// know those that come later.
func strict(schema any) {
	switch at := schema.(type) {
	case []any:
		for _, v := range at {
			strict(v)
		}
	case map[string]any:
		if alternatives, ok := at["anyOf"].([]any); ok && slices.ContainsFunc(alternatives, hasWords) {
			at["anyOf"] = slices.DeleteFunc(alternatives, func(a any) bool {
				s, _ := a.(map[string]any)
				return len(s) == 1 && s["type"] == "string"
			})
		}
		for _, v := range at {
			strict(v)
		}
	}
}

func hasWords(schema any) bool {
	s, _ := schema.(map[string]any)
	return s["enum"] != nil && s["type"] == "string"
}

// partial lets a part leave out what the whole needs.
func partial(schema map[string]any) {
	delete(schema, "required")
	alternatives, _ := schema["anyOf"].([]any)
	for _, a := range alternatives {
		if s, ok := a.(map[string]any); ok {
			partial(s)
		}
	}
}
