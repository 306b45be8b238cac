package aws

import (
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Policy brings an IAM policy document into one form, so that two that mean the same compare as equal: one value and
// a list of one, the order of lists that are sets, an account and its root ARN. A text that is no JSON stays as it is.
func Policy(document any) any {
	if text, ok := document.(string); ok {
		if text == "" {
			return nil
		}
		decoded, err := tree.Decode([]byte(text))
		if err != nil {
			return document
		}
		document = decoded
	}
	m, ok := tree.Clone(document).(map[string]any)
	if !ok {
		return document
	}
	if id, ok := m["Id"].(string); ok && id == "" {
		delete(m, "Id")
	}
	if statement, ok := m["Statement"]; ok {
		list := listOf(statement)
		for i, s := range list {
			list[i] = policyStatement(s)
		}
		m["Statement"] = list
	}
	return m
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func policyStatement(v any) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if sid, ok := s["Sid"].(string); ok && sid == "" {
		delete(s, "Sid")
	}
	for _, key := range []string{"Action", "NotAction", "Resource", "NotResource"} {
		if v, ok := s[key]; ok {
			s[key] = sortedSet(v, nil)
		}
	}
	for _, key := range []string{"Principal", "NotPrincipal"} {
		if v, ok := s[key]; ok {
			s[key] = principals(v)
		}
	}
	if condition, ok := s["Condition"].(map[string]any); ok {
		for _, test := range condition {
			if keys, ok := test.(map[string]any); ok {
				for k, v := range keys {
					keys[k] = sortedSet(v, nil)
				}
			}
		}
	}
	return s
}

// principals writes accounts as their root ARN, and "everybody" in one way.
func principals(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if v == "*" {
			return map[string]any{"AWS": []any{"*"}}
		}
		return v
	}
	for kind, who := range m {
		shape := func(s string) string { return s }
		if kind == "AWS" {
			shape = rootARN
		}
		m[kind] = sortedSet(who, shape)
	}
	return m
}

var (
	rootOf    = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):root$`)
)

func rootARN(s string) string {
	if m := rootOf.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return s
}

// sortedSet is a list that is a set: sorted, without repeats, values as text.
func sortedSet(v any, shape func(string) string) any {
	list := listOf(v)
	texts := make([]string, 0, len(list))
	for _, x := range list {
		text, ok := x.(string)
		if !ok {
			text = strings.Trim(string(tree.Canonical(x)), `"`)
		}
		if shape != nil {
			text = shape(text)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}
