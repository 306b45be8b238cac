package aws

import (
	"bytes"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Statement is one statement of a policy. Props that are policies take documents: what [Policy] makes of
// statements, a map, or JSON text, in Go and in YAML alike.
type Statement struct {
	// Sid is a name, unique in the policy. Default: none.
	Sid string
	// Effect is "Allow" or "Deny". Default: none, which allows.
	Effect string `prop:"enum=Allow|Deny"`
	// Principals are who is meant, by their type: {"AWS": …}, {"Service": …}, {"Federated": …}. Nil: a policy of
	// an identity, or everybody when Everybody is set.
	Principals map[string][]string
	// Everybody means all principals, with or without an account.
	Everybody bool
	// Actions are what is meant, such as "sqs:SendMessage".
	Actions []string
	// Resources are what it is meant for; ARNs, where "*" stands for any text.
	Resources []string
	// Conditions are tests by operator and key: {"ArnEquals": {"aws:SourceArn": {…}}}.
	Conditions map[string]map[string][]string
}

// Policy is a document of the current policy language.
func Policy(statements ...Statement) map[string]any {
	list := make([]any, len(statements))
	for i, s := range statements {
		list[i] = s.document()
	}
	return map[string]any{"Version": "2012-10-17", "Statement": list}
}

func (s Statement) document() map[string]any {
	m := map[string]any{"Effect": "Allow"}
	if s.Effect != "" {
		m["Effect"] = s.Effect
	}
	if s.Sid != "" {
		m["Sid"] = s.Sid
	}
	switch {
	case s.Everybody:
		m["Principal"] = "*"
	case s.Principals != nil:
		m["Principal"] = s.Principals
	}
	if len(s.Actions) > 0 {
		m["Action"] = s.Actions
	}
	if len(s.Resources) > 0 {
		m["Resource"] = s.Resources
	}
	if len(s.Conditions) > 0 {
		m["Condition"] = s.Conditions
	}
	return m
}

// CanonicalPolicy brings a policy into one form, so that two that mean the same are equal, and what a service
// makes of one is no difference: a value alone and a list of one, the order of what is a set, an account and its
// root user, the case of actions and condition keys. It is for comparing; the service is sent what was
// declared. What is no policy stays as it is. Empty text is no policy: nil.
func CanonicalPolicy(document any) any {
	m, ok := Document(document).(map[string]any)
	if !ok {
		return Document(document)
	}
	out := map[string]any{"Version": "2008-10-17"} // of policies that do not say
	for k, v := range m {
		switch {
		case k == "Statement":
			out[k] = statements(v)
		case v != "" && v != nil:
			out[k] = v
		}
	}
	return out
}

func statements(v any) any {
	list := listOf(v)
	for i, s := range list {
		list[i] = statement(s)
	}
	slices.SortStableFunc(list, func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
	return list
}

func statement(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, v := range m {
		switch k {
		case "Sid":
			if v == "" {
				continue
			}
			out[k] = v
		case "Action", "NotAction":
			out[k] = set(v, lower)
		case "Resource", "NotResource":
			out[k] = set(v, same)
		case "Principal", "NotPrincipal":
			out[k] = principals(v)
		case "Condition":
			out[k] = conditions(v)
		default:
			out[k] = v
		}
	}
	return out
}

// principals writes everybody, and accounts, in one way.
func principals(v any) any {
	if v == "*" {
		return map[string]any{"AWS": []any{"*"}}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for kind, who := range m {
		if kind == "AWS" {
			out[kind] = set(who, account)
		} else {
			out[kind] = set(who, same)
		}
	}
	return out
}

func conditions(v any) any {
	tests, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for operator, v := range tests {
		keys, ok := v.(map[string]any)
		if !ok {
			out[operator] = v
			continue
		}
		folded := map[string]any{}
		for key, values := range keys {
			folded[lower(key)] = set(values, same)
		}
		out[operator] = folded
	}
	return out
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return slices.Clone(list)
	}
	return []any{v}
}

// set is a sorted list of texts without repeats. Numbers and truths are texts to the policy language.
func set(v any, form func(string) string) []any {
	var texts []string
	for _, x := range listOf(v) {
		switch x := x.(type) {
		case string:
			texts = append(texts, form(x))
		case bool, int64, float64:
			texts = append(texts, string(tree.Canonical(x)))
		default:
			return listOf(v) // no text at all
		}
	}
	slices.Sort(texts)
	out := make([]any, 0, len(texts))
	for _, s := range slices.Compact(texts) {
		out = append(out, s)
	}
	return out
}

func same(s string) string { return s }

func lower(s string) string {
	if token.Has(s) {
		return s
	}
	return strings.ToLower(s)
}

var rootUser = props.Pattern(`^arn:aws[a-z-]*:iam::(\d{12}):root$`)

func account(s string) string {
	if m := rootUser().FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return s
}

// Document is a document prop by its meaning: a tree, decoded where it is JSON text. Empty text is no document: nil.
// What is none stays as it is.
func Document(document any) any {
	if text, ok := document.(string); ok {
		if text == "" {
			return nil
		}
		decoded, err := tree.Decode([]byte(text))
		if err != nil {
			return document // a reference, or a mistake that the service will name
		}
		return decoded
	}
	plain, err := tree.Of(document)
	if err != nil {
		return document
	}
	return plain
}

// DocumentText writes a document prop as the service takes it: JSON text as it was written, anything else as
// canonical JSON. Nil is no document: "".
func DocumentText(document any) (string, error) {
	if text, ok := document.(string); ok || document == nil {
		return text, nil
	}
	t, err := tree.Of(document)
	if err != nil {
		return "", err
	}
	return string(tree.Canonical(t)), nil
}

// Text is [DocumentText] of a prop that was decoded, and so has one.
func Text(document any) *string {
	text, _ := DocumentText(document)
	return &text
}
