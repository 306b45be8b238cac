package props

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	onlyRefPattern  = `^\$\{[^{}]+\}$`
	anyRefPattern   = `\$\{[^{}]+\}`
	durationPattern = `^[-+]?(0|([0-9]*\.?[0-9]*(d|h|m|s|ms|us|µs|μs|ns))+)$`
	sizePattern     = `^ *[-+]?[0-9]*\.?[0-9]* *(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$`
)

// Schema is the JSON Schema (draft 2020-12) of a struct with these fields, as people write it: references are
// ${…}. It says less than [Decode], never more.
func Schema(fields []Field) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range fields {
		steps := f.Path.Steps()
		name := steps[len(steps)-1].Key
		one := schemaOf(f, f.Type)
		if f.Doc != "" {
			one["description"] = f.Doc
		}
		properties[name] = one
		if f.Required {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func schemaOf(f Field, typ string) map[string]any {
	if of, ok := strings.CutPrefix(typ, "list of "); ok {
		list := map[string]any{"type": "array", "items": schemaOf(withoutItems(f), of)}
		if f.MaxItems > 0 && !f.TakesRef { // a reference may stand for several
			list["maxItems"] = int64(f.MaxItems)
		}
		if f.TakesRef {
			return orReference(list, onlyRefPattern)
		}
		return list
	}
	if of, ok := strings.CutPrefix(typ, "map of "); ok {
		m := map[string]any{"type": "object", "additionalProperties": schemaOf(withoutItems(f), of)}
		if f.MaxItems > 0 {
			m["maxProperties"] = int64(f.MaxItems)
		}
		return m
	}
	var s map[string]any
	switch typ {
	case "object":
		return Schema(f.Fields)
	case "any":
		return map[string]any{}
	case "string", "secret string":
		if len(f.Enum) == 0 {
			return map[string]any{"type": []any{"string", "integer", "boolean"}}
		}
		return orReference(map[string]any{"type": "string", "enum": anyList(f.Enum)}, anyRefPattern)
	case "duration":
		s = map[string]any{"type": "string", "pattern": durationPattern}
	case "size":
		s = map[string]any{"type": "string", "pattern": sizePattern}
	case "bool":
		s = map[string]any{"type": "boolean"}
	default:
		s = bounded(f, typ)
	}
	if f.TakesRef {
		return orReference(s, onlyRefPattern)
	}
	return s
}

// withoutItems is a field for its entries, which have no such bound.
func withoutItems(f Field) Field {
	f.MaxItems = 0
	return f
}

func bounded(f Field, typ string) map[string]any {
	s := map[string]any{"type": "number"}
	if typ == "int" {
		s["type"] = "integer"
	}
	for word, text := range map[string]string{"minimum": f.Min, "maximum": f.Max} {
		if n, err := tree.Decode([]byte(text)); err == nil {
			s[word] = n
		}
	}
	return s
}

func orReference(s map[string]any, pattern string) map[string]any {
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "string", "pattern": pattern}}}
}

func anyList(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}
