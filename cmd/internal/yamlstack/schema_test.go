package yamlstack_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// What Load takes is valid, and what an editor can see to be wrong is not.
func TestSchema(t *testing.T) {
	schema := schemaTree(t)
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			if err := valid(schema, parse(t, p.yaml)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, wrong := range []string{
		"resorces: {}", "resources: {a: {kind: test.Queu}}", "resources: {a: {}}", "resources: {a: {kind: test.Table}}",
		"resources: {a: {kind: test.Table, props: {}}}", "resources: {a: {kind: test.Queue, props: {nmae: x}}}",
		"resources: {a: {kind: test.Queue, props: {visibilityTimeout: [1]}}}", "resources: {a: {kind: test.Queue, props: {retries: many}}}",
		"resources: {a: {kind: test.Queue, props: {rules: [{weight: 1}]}}}", "resources: {a: {kind: test.Queue, props: {mode: fats}}}",
		"resources: {a: {kind: test.Queue, options: {protekt: true}}}", "resources: {a: {kind: test.Queue, options: {protect: 3}}}",
		"config: {a: {type: number}}", "secrets: {a: {environment: X}}", "refs: {a: {stage: prod}}", "refs: {a: {stack: b, output: c}}", "read: {a: {kind: test.Queue, query: {nmae: x}}}",
	} {
		if valid(schema, parse(t, wrong)) == nil {
			t.Errorf("valid: %s", wrong)
		}
	}
}

// Every part of the language is explained.
func TestSchemaDescribes(t *testing.T) {
	schema := schemaTree(t)
	for _, at := range []tree.Path{`properties`, `["$defs"].resource.properties`, `["$defs"].read.properties`} {
		v, _ := tree.Get(schema, at)
		for name, p := range v.(map[string]any) {
			if text, _ := p.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", at, name)
			}
		}
	}
}

func schemaTree(t *testing.T) map[string]any {
	t.Helper()
	s, err := yamlstack.Schema(catalog(t))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tree.Of(s)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	doc, err := tree.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func valid(schema map[string]any, v any) error {
	return validator{schema}.check(schema, v, "")
}

// validator knows the words of JSON Schema that are used here; another word is an error.
type validator struct{ root map[string]any }

func (c validator) check(s map[string]any, v any, at string) error {
	for _, word := range slices.Sorted(maps.Keys(s)) {
		if err := c.word(s, word, s[word], v, at); err != nil {
			return err
		}
	}
	return nil
}

func (c validator) word(s map[string]any, word string, rule, v any, at string) error {
	object, isObject := v.(map[string]any)
	wrong := func() error { return fmt.Errorf("%s: %s %.80v is not met by %.80v", at, word, rule, v) }
	switch word {
	case "$schema", "title", "$defs", "description", "then", "properties", "patternProperties":
		if word == "properties" && isObject {
			for name, p := range rule.(map[string]any) {
				if x, there := object[name]; there {
					if err := c.check(p.(map[string]any), x, at+"."+name); err != nil {
						return err
					}
				}
			}
		}
	case "additionalProperties":
		return c.more(s, rule, object, at)
	case "$ref":
		var target any = c.root
		for step := range strings.SplitSeq(strings.TrimPrefix(rule.(string), "#/"), "/") {
			target = target.(map[string]any)[step]
		}
		return c.check(target.(map[string]any), v, at)
	case "type":
		words, many := rule.([]any)
		if !many {
			words = []any{rule}
		}
		if !slices.ContainsFunc(words, func(w any) bool { return isType(w.(string), v) }) {
			return wrong()
		}
	case "required":
		for _, name := range rule.([]any) {
			if _, there := object[name.(string)]; isObject && !there {
				return wrong()
			}
		}
	case "enum":
		if !slices.ContainsFunc(rule.([]any), func(x any) bool { return tree.Equal(x, v) }) {
			return wrong()
		}
	case "const":
		if !tree.Equal(rule, v) {
			return wrong()
		}
	case "pattern":
		if text, ok := v.(string); ok && !regexp.MustCompile(rule.(string)).MatchString(text) {
			return wrong()
		}
	case "minimum", "maximum":
	case "items":
		if list, ok := v.([]any); ok {
			for i, x := range list {
				if err := c.check(rule.(map[string]any), x, fmt.Sprint(at, "[", i, "]")); err != nil {
					return err
				}
			}
		}
	case "anyOf":
		var last error
		for _, r := range rule.([]any) {
			if last = c.check(r.(map[string]any), v, at); last == nil {
				return nil
			}
		}
		return fmt.Errorf("%s: none of the choices fits %.80v", at, v)
	case "allOf":
		for _, r := range rule.([]any) {
			if err := c.check(r.(map[string]any), v, at); err != nil {
				return err
			}
		}
	case "if":
		if c.check(rule.(map[string]any), v, at) == nil {
			return c.check(s["then"].(map[string]any), v, at)
		}
	default:
		return fmt.Errorf("%s: the word %q is not known", at, word)
	}
	return nil
}

func (c validator) more(s map[string]any, rule any, object map[string]any, at string) error {
	known, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	for name, x := range object {
		if _, there := known[name]; there || slices.ContainsFunc(slices.Collect(maps.Keys(patterns)), func(p string) bool { return regexp.MustCompile(p).MatchString(name) }) {
			continue
		}
		if rule == false {
			return fmt.Errorf("%s: %q is not allowed", at, name)
		}
		if err := c.check(rule.(map[string]any), x, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func isType(word string, v any) bool {
	switch v.(type) {
	case nil:
		return word == "null"
	case bool:
		return word == "boolean"
	case string:
		return word == "string"
	case int64:
		return word == "integer" || word == "number"
	case float64:
		return word == "number"
	case []any:
		return word == "array"
	}
	return word == "object"
}
