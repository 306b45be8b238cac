package controltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// invalid says what a handler would not take of a model, "" when it takes it.
func (s *Schemas) invalid(t *schema, model map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(model)) {
		p := t.Properties[name]
		if p == nil {
			if t.readOnly(name) {
				return fmt.Sprintf("#: extraneous key [%s] is read-only", name)
			}
			return fmt.Sprintf("#: extraneous key [%s] is not permitted", name)
		}
		if problem := s.wrong(p.Type, model[name], "#/"+name); problem != "" {
			return problem
		}
	}
	return missing(t, model, "#")
}

func missing(t *schema, model map[string]any, at string) string {
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		if _, ok := model[name]; t.Properties[name].Required && !ok {
			return fmt.Sprintf("%s: required key [%s] not found", at, name)
		}
	}
	return ""
}

// wrong says what is wrong with one value.
func (s *Schemas) wrong(t shape, v any, at string) string {
	bad := func() string { return fmt.Sprintf("%s: expected type: %s, found: %T", at, t.Type, v) }
	switch t.Type {
	case "string", "date-time":
		text, ok := v.(string)
		if !ok {
			return bad()
		}
		if len(t.AllowedValues) > 0 && !slices.ContainsFunc(t.AllowedValues, func(w any) bool { return fmt.Sprint(w) == text }) {
			return fmt.Sprintf("%s: %q is not a valid enum value", at, text)
		}
	case "integer", "number":
		if _, ok := v.(float64); !ok {
			return bad()
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return bad()
		}
	case "array":
		return s.wrongList(t, v, at, bad)
	case "map":
		m, ok := v.(map[string]any)
		if !ok {
			return bad()
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if problem := s.wrong(*t.Element, m[k], at+"/"+k); problem != "" {
				return problem
			}
		}
	case "ref":
		m, ok := v.(map[string]any)
		if !ok {
			return bad()
		}
		return s.wrongObject(s.definitions[t.Reference.Ref], m, at)
	case "tag":
		m, ok := v.(map[string]any)
		if !ok || m["Key"] == nil || m["Value"] == nil || len(m) != 2 {
			return at + ": want Key and Value"
		}
		if key, _ := m["Key"].(string); strings.HasPrefix(key, "aws:") {
			return at + ": tags that begin with aws: are reserved"
		}
	}
	return ""
}

func (s *Schemas) wrongList(t shape, v any, at string, bad func() string) string {
	list, ok := v.([]any)
	if !ok {
		return bad()
	}
	for i, e := range list {
		if problem := s.wrong(*t.Element, e, fmt.Sprintf("%s/%d", at, i)); problem != "" {
			return problem
		}
	}
	return ""
}

func (s *Schemas) wrongObject(t *schema, m map[string]any, at string) string {
	if t == nil || len(t.Properties) == 0 {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p := t.Properties[k]
		if p == nil {
			return fmt.Sprintf("%s: extraneous key [%s] is not permitted", at, k)
		}
		if problem := s.wrong(p.Type, m[k], at+"/"+k); problem != "" {
			return problem
		}
	}
	return missing(t, m, at)
}
