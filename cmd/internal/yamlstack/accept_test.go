package yamlstack_test

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// A value is changed where it stands, in any form that YAML has for it; all other text stays.
func TestWithProp(t *testing.T) {
	const head = "# A stack.\nstack: s\nresources:\n"
	for name, tt := range map[string]struct {
		text  string
		path  tree.Path
		value any // nil: absent
		want  string
	}{
		"plain":            {"  a:\n    props:\n      name: old # why\n      other: 1\n", "name", "new", "  a:\n    props:\n      name: new # why\n      other: 1\n"},
		"number":           {"  a:\n    props:\n      n: 1\n", "n", int64(2), "  a:\n    props:\n      n: 2\n"},
		"double quotes":    {"  a: {props: {name: \"o\\\"ld, }\", b: 1}}\n", "name", "new one", "  a: {props: {name: \"new one\", b: 1}}\n"},
		"single quotes":    {"  a: {props: {name: 'o''ld', b: 1}}\n", "name", "new", "  a: {props: {name: new, b: 1}}\n"},
		"wide letters":     {"  a: {props: {ü: 'ä', name: 'é', b: 1}}\n", "name", "è", "  a: {props: {ü: 'ä', name: \"è\", b: 1}}\n"},
		"flow list":        {"  a:\n    props: {l: [a, 'b]'], c: d}\n", "l", []any{"x", int64(1)}, "  a:\n    props: {l: [x, 1], c: d}\n"},
		"an entry":         {"  a:\n    props:\n      l:\n        - a\n        - b\n", "l[1]", "c", "  a:\n    props:\n      l:\n        - a\n        - c\n"},
		"block list":       {"  a:\n    props:\n      l:\n      - a\n      - b\n      m: 1\n", "l", []any{"c"}, "  a:\n    props:\n      l: [c]\n      m: 1\n"},
		"block text":       {"  a:\n    props:\n      t: |\n        one\n\n        two\n      m: 1\n", "t", "x\ny\n", "  a:\n    props:\n      t: \"x\\ny\\n\"\n      m: 1\n"},
		"deep":             {"  a:\n    props:\n      m:\n        k:\n          x: 1\n", "m.k.x", true, "  a:\n    props:\n      m:\n        k:\n          x: true\n"},
		"added":            {"  a:\n    props:\n      n: 1\n\n  b: {}\n", "m", "x", "  a:\n    props:\n      n: 1\n      m: x\n\n  b: {}\n"},
		"added to flow":    {"  a: {kind: k, props: {n: 1}}\n", "m.x", "z", "  a: {kind: k, props: {n: 1, m: {x: z}}}\n"},
		"added to empty":   {"  a: {kind: k, props: {}}\n", "m", "z", "  a: {kind: k, props: {m: z}}\n"},
		"first of all":     {"  a:\n    kind: k\n", "m", "z", "  a:\n    kind: k\n    props: {m: z}\n"},
		"first, flow":      {"  a: {kind: k}\n", "m", "z", "  a: {kind: k, props: {m: z}}\n"},
		"removed":          {"  a:\n    props:\n      n: 1\n      m:\n        - x\n        - y\n      o: 2\n", "m", nil, "  a:\n    props:\n      n: 1\n      o: 2\n"},
		"removed, last":    {"  a:\n    props:\n      n: 1\n      m: 2\n  b: {}\n", "m", nil, "  a:\n    props:\n      n: 1\n  b: {}\n"},
		"no line end":      {"  a:\n    props:\n      n: 1", "m", int64(2), "  a:\n    props:\n      n: 1\n      m: 2\n"},
		"looks like truth": {"  a: {props: {n: x}}\n", "n", "yes", "  a: {props: {n: \"yes\"}}\n"},
		"looks like null":  {"  a: {props: {n: x}}\n", "n", "", "  a: {props: {n: \"\"}}\n"},
		"looks like a ref": {"  a: {props: {n: x}}\n", "n", "${b.arn}", "  a: {props: {n: \"$${b.arn}\"}}\n"},
		"looks like a key": {"  a: {props: {n: x}}\n", "n", "a: b # c", "  a: {props: {n: \"a: b # c\"}}\n"},
		"duration":         {"  a: {props: {n: 30s}}\n", "n", "60s", "  a: {props: {n: 60s}}\n"},
		"number in text":   {"  a: {props: {n: x}}\n", "n", "1e3", "  a: {props: {n: \"1e3\"}}\n"},
		"odd key":          {"  a: {props: {n: {a: 1}}}\n", `n["s3:x"]`, "z", "  a: {props: {n: {a: 1, \"s3:x\": z}}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := yamlstack.WithProp(head+tt.text, "a", tt.path, tt.value, tt.value == nil)
			if err != nil || have != head+tt.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, have, head+tt.want)
			}
			var doc struct {
				Resources map[string]struct{ Props map[string]any }
			}
			if err := yaml.Unmarshal([]byte(have), &doc); err != nil {
				t.Errorf("the result is no YAML: %v", err)
			}
		})
	}
	for name, tt := range map[string]struct {
		text string
		path tree.Path
		want string
	}{
		"a reference":     {"  a: {props: {n: '${config.n}'}}\n", "n", "line 4: it is ${config.n}"},
		"below one":       {"  a: {props: {n: '${config.n}'}}\n", "n.m", "line 4 holds a value of another form"},
		"another address": {"  b: {props: {n: 1}}\n", "n", "does not declare a by that name"},
		"an alias":        {"  b: {props: &p {n: 1}}\n  a: {props: *p}\n", "n", "line 5 is an alias"},
		"several lines":   {"  a:\n    props: {n: 1,\n      m: 2}\n", "x", "line 5: the mapping is written over several lines"},
		"no such entry":   {"  a: {props: {l: [1]}}\n", "l[3]", "entries of lists come and go as a whole"},
		"quoted lines":    {"  a: {props: {n: \"x\n  y\"}}\n", "n", "line 4: the value is written over several lines"},
	} {
		have, err := yamlstack.WithProp(head+tt.text, "a", tt.path, "new", false)
		if !errors.Is(err, yamlstack.ErrNotChanged) || !strings.Contains(err.Error(), tt.want) || have != "" && have != head+tt.text {
			t.Errorf("%s: %v, want %s\n%s", name, err, tt.want, have)
		}
	}
}
