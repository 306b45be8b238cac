package engine

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// builtOf is one digest over everything that was prepared for a resource, "" for nothing.
func builtOf(assets map[string]reconcile.Asset) string {
	if len(assets) == 0 {
		return ""
	}
	all := make([]any, 0, 2*len(assets))
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		all = append(all, name, assets[name].Digest)
	}
	return tree.Digest(all)
}

// rebuilt are the paths at which a thing differs because what it is made of changed since it was settled: a
// source file was edited, code was built anew. Nobody touched the thing itself. They are the paths whose wanted
// value comes from what was prepared, found by comparing without it.
func (n *node) rebuilt() (map[tree.Path]bool, error) {
	if !n.builtAnew() || len(n.look.Steps) == 0 {
		return nil, nil
	}
	job := *n.job
	job.Assets = nil
	bare, err := n.kind.Compare(&job, n.look)
	if err != nil {
		return nil, err
	}
	paths := map[tree.Path]bool{}
	for _, s := range n.look.Steps {
		paths[s.Path] = !slices.ContainsFunc(bare.Steps, func(b reconcile.Step) bool {
			return b.Path == s.Path && tree.Equal(b.Want, s.Want)
		})
	}
	return paths, nil
}

// builtAnew reports that what a thing is made of differs from what it was settled with.
func (n *node) builtAnew() bool {
	return n.rec != nil && n.rec.Assets != "" && n.rec.Assets != builtOf(n.assets)
}
