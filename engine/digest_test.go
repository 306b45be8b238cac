package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestDigestIsThatOfTheDocument holds the digest to what the document says, sources aside.
func TestDigestIsThatOfTheDocument(t *testing.T) {
	kept := func(o *engine.Options) { o.Protect, o.IgnoreChanges = true, []tree.Path{"a[0]"} }
	empty := func(o *engine.Options) { o.DependsOn = []string{} }
	tests := map[string]*engine.Graph{
		"nothing":   graph(),
		"empty":     graph([]engine.Resource{}...),
		"plain":     graph(res("a", nil), res("b/c[d]", m{}), res("e", m{"f": "<&>\u2028 ⟦a.id⟧", "g": nil})),
		"numbers":   graph(res("a", m{"int": 3, "whole": 3.0, "half": 0.5, "large": 1e300, "list": []any{int64(1), []any{}, m{}}})),
		"options":   graph(res("a", nil, kept), res("b", nil, empty)),
		"settings":  {Format: 1, Resources: []engine.Resource{{Address: "a", Kind: "k", Settings: m{"region": "x"}, Source: "a.go:1"}}},
		"the other": {Reads: []engine.Read{{Address: "z", Kind: "k", Source: "z.go:3"}}, Outputs: m{"o": "⟦z.id⟧"}, Forget: []string{"old"}},
	}
	for name, g := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := tree.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []string{"resources", "reads"} {
				items, _ := doc.(m)[list].([]any)
				for _, item := range items {
					delete(item.(m), "source")
				}
			}
			got, err := g.Digest()
			if want := tree.Digest(doc); err != nil || got != want {
				t.Errorf("%s, %v; the document's is %s", got, err, want)
			}
		})
	}
	same, other := graph(res("a", m{"x": 1})), graph(res("a", m{"x": 2}))
	x, _ := same.Digest()
	if y, _ := other.Digest(); x == y {
		t.Error("two programs have one digest")
	}
}
