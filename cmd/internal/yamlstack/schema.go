package yamlstack

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Names of what the schema's parts refer to.
const (
	expressionRef = "#/$defs/expression"
	jsonRef       = "#/$defs/json"
	urlRef        = "#/$defs/url"
	anyExpression = `\$\{[^{}]+\}`
)

// Schema is the JSON Schema (draft 2020-12) of the language with all kinds of a catalog, for editors. It says
// less than [Load], and never more: what Load takes is valid. Of families of kinds it has the names alone, and the props
// of those that are asked for; * in a name stands for any text.
func Schema(catalog *reconcile.Catalog, also ...string) (map[string]any, error) {
	whole, err := schemaOf[document]()
	if err != nil {
		return nil, err
	}
	resource, err := schemaOf[resourceDoc]()
	if err != nil {
		return nil, err
	}
	read, err := schemaOf[readDoc]()
	if err != nil {
		return nil, err
	}
	names, err := describedKinds(catalog, also)
	if err != nil {
		return nil, err
	}
	kinds, byProps, byQuery, err := kindSchemas(catalog, names)
	if err != nil {
		return nil, err
	}
	all, err := catalog.Match("*")
	if err != nil {
		return nil, err
	}
	entryFor(resource, "props", byProps)
	entryFor(read, "query", byQuery)
	properties := whole["properties"].(map[string]any)
	entriesOf(properties, "resources", map[string]any{"$ref": "#/$defs/resource"})
	entriesOf(properties, "read", map[string]any{"$ref": "#/$defs/read"})
	ref, err := schemaOf[refDoc]()
	if err != nil {
		return nil, err
	}
	ref["anyOf"] = []any{
		map[string]any{"required": []any{"stack"}}, map[string]any{"required": []any{"terraform"}}, map[string]any{"required": []any{"pulumi"}},
	}
	entriesOf(properties, "refs", ref)
	entriesOf(properties, "providers", map[string]any{"type": []any{"object", "null"}})
	entriesOf(properties, "bind", map[string]any{"type": []any{"object", "null"}})
	// Only the main file has a name, and an editor cannot tell which one it is.
	properties["stack"] = map[string]any{"type": "string", "description": described(properties["stack"])}
	whole["patternProperties"] = map[string]any{"^x-": map[string]any{"description": "Yours: a place to hold anchors."}}
	whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	whole["title"] = "athanor.yaml"
	whole["$defs"] = map[string]any{
		"resource": resource, "read": read, "kinds": kinds, "kind": map[string]any{"enum": anyOf(all)},
		"expression": map[string]any{"anyOf": []any{
			map[string]any{"type": "string", "pattern": anyExpression}, map[string]any{"type": "null"},
		}},
		"json": map[string]any{
			"type": "object", "properties": map[string]any{"$json": map[string]any{"description": "Becomes JSON text, with references in it."}},
			"required": []any{"$json"}, "additionalProperties": false,
		},
		"url": map[string]any{
			"type": "object", "required": []any{"$url"}, "additionalProperties": false,
			"properties": map[string]any{
				"$url": map[string]any{"type": "string", "description": "Becomes a URL whose parts are escaped: ${…} stand for parts, or each %s takes one of args."},
				"args": map[string]any{"type": "array", "description": "Text, numbers, truths, or {user, password} before the @."},
			},
		},
	}
	return whole, nil
}

// describedKinds are the names of the kinds whose props the schema has.
func describedKinds(catalog *reconcile.Catalog, also []string) ([]string, error) {
	names := catalog.Types()
	for _, pattern := range also {
		more, err := catalog.Match(pattern)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			_, err := catalog.Find(pattern)
			return nil, cmp.Or(err, fmt.Errorf("%w like %q", reconcile.ErrNoKind, pattern))
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// schemaOf is the schema of a struct of the language. Built-in values may stand anywhere.
func schemaOf[T any]() (map[string]any, error) {
	fields, err := props.Fields(reflect.TypeFor[T](), source)
	if err != nil {
		return nil, err
	}
	return loosenFields(props.Schema(fields)), nil
}

// kindSchemas are the props of all kinds, and for each the condition that selects them.
func kindSchemas(catalog *reconcile.Catalog, names []string) (kinds map[string]any, byProps, byQuery []any, err error) {
	kinds = map[string]any{}
	constructs := providers.Constructs()
	for _, name := range names {
		k, err := catalog.Find(name)
		if err != nil {
			return nil, nil, nil, err
		}
		spec := k.Spec()
		one := map[string]any{"type": "object"}
		fields, err := spec.Props()
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(fields) > 0 || reflect.TypeOf(spec.NewProps()).Elem().Kind() == reflect.Struct {
			one = loosenFields(props.Schema(fields))
		}
		one["description"] = spec.Doc
		// Nothing is required of what something is looked for by, nor of props that bind completes.
		required := one["required"]
		if all, ok := required.([]any); ok && constructs[name].Declare != nil {
			required = slices.DeleteFunc(all, func(word any) bool { return word == "role" })
		}
		delete(one, "required")
		kinds[name] = one
		is := map[string]any{"properties": map[string]any{"kind": map[string]any{"const": name}}, "required": []any{"kind"}}
		there := map[string]any{"$ref": "#/$defs/kinds/" + name}
		byQuery = append(byQuery, map[string]any{"if": is, "then": map[string]any{"properties": map[string]any{"query": there}}})
		with := map[string]any{"properties": map[string]any{"props": there}}
		if required != nil {
			with["properties"] = map[string]any{"props": map[string]any{"$ref": "#/$defs/kinds/" + name, "required": required}}
			with["required"] = []any{"props"}
		}
		byProps = append(byProps, map[string]any{"if": is, "then": with})
	}
	return kinds, byProps, byQuery, nil
}

// entryFor completes the schema of one declaration: its kind selects what its props may be.
func entryFor(s map[string]any, part string, conditions []any) {
	properties := s["properties"].(map[string]any)
	properties["kind"] = map[string]any{"$ref": "#/$defs/kind", "description": described(properties["kind"])}
	properties[part] = map[string]any{"type": []any{"object", "null"}, "description": described(properties[part])}
	if len(conditions) > 0 {
		s["allOf"] = conditions
	}
}

func anyOf(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

func entriesOf(properties map[string]any, name string, each map[string]any) {
	properties[name] = map[string]any{
		"type": []any{"object", "null"}, "additionalProperties": each, "description": described(properties[name]),
	}
}

func described(v any) any {
	s, _ := v.(map[string]any)
	return s["description"]
}

// loosenFields lets expressions stand for the values of an object.
func loosenFields(s map[string]any) map[string]any {
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		properties[name] = loosen(p)
	}
	return s
}

// loosen lets an expression stand for a value, and for text what makes text.
func loosen(v any) any {
	s, ok := v.(map[string]any)
	if !ok || len(s) == 0 {
		return v
	}
	description := s["description"]
	delete(s, "description")
	var choices []any
	if list, ok := s["anyOf"].([]any); ok {
		for _, c := range list {
			choices = append(choices, loosenInside(c))
		}
	} else {
		choices = []any{loosenInside(s)}
		if len(s) == 0 {
			choices = nil // anything goes
		}
	}
	out := map[string]any{}
	if choices != nil {
		out["anyOf"] = append(choices, map[string]any{"$ref": expressionRef}, map[string]any{"$ref": jsonRef}, map[string]any{"$ref": urlRef})
	}
	if description != nil {
		out["description"] = description
	}
	return out
}

func loosenInside(v any) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if items, ok := s["items"]; ok {
		s["items"] = loosen(items)
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		s["additionalProperties"] = loosen(more)
	}
	return loosenFields(s)
}
