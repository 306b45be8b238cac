package yamlstack_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
)

// FuzzYAML: whatever the text, there is a graph or an error in which each problem says where.
func FuzzYAML(f *testing.F) {
	for _, p := range pairs {
		f.Add([]byte(p.yaml))
	}
	f.Add([]byte("stack: s\noutputs: {x: &a [*a, '${', \"$${\", '${q[*].arn...}', !!int x, 0x1F, ~]}\n---\n"))
	f.Add([]byte("stack: s\ninclude: [a.yaml]\nbind: {q: 1}\nread: []\n? [a]\n: b\n"))
	place := regexp.MustCompile(`^[a-z/.]*athanor\.yaml:[1-9][0-9]*:[1-9][0-9]*$`)
	c := catalog(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := yamlstack.Load(t.Context(), c, yamlstack.Input{Path: "/nowhere/athanor.yaml", Data: data, Stage: "dev", Config: map[string]string{"given": "1"}})
		if err == nil {
			if _, err := s.Graph.Digest(); err != nil {
				t.Errorf("a graph without a digest: %v", err)
			}
			return
		}
		graph, ok := errors.AsType[*engine.GraphError](err)
		if !ok || len(graph.Problems) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, p := range graph.Problems {
			if !place.MatchString(p.Source) || p.Err == nil || p.Err.Error() == "" {
				t.Errorf("a problem without a place: %q %v", p.Source, p.Err)
			}
		}
	})
}
