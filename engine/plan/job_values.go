package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// WithValue is a map of props with a value at a path, or without one there.
func WithValue(props map[string]any, p tree.Path, v any) map[string]any {
	changed := tree.Without(AnyMap(props), p)
	if v != nil {
		changed = tree.With(AnyMap(props), p, v)
	}
	m, _ := changed.(map[string]any)
	return m
}

// sameAt reports whether two trees hold the same at a path.
func sameAt(a, b map[string]any, p tree.Path) bool {
	x, inA := tree.Get(a, p)
	y, inB := tree.Get(b, p)
	return inA == inB && tree.Equal(x, y)
}

// IsKnown tells whether a name can be looked for: it holds no value that comes later.
func IsKnown(name string) bool { return name != "" && !token.Has(name) }

// TakeAlong gives a new object the values of ignored paths that the old one had.
func (n *Node) TakeAlong(job *reconcile.Job) {
	for p, v := range n.Carried {
		job.Props = WithValue(job.Props, p, v)
		delete(job.Unknown, p)
	}
}

// Omit leaves out what is not known of the late paths through which a cycle was opened, and the rest of a document that one of
// them is in. Anything else must be known by now.
func (n *Declaration) Omit(job *reconcile.Job) error {
	late := slices.Concat(slices.Collect(maps.Values(n.Cut))...)
	for p := range job.Unknown {
		i := slices.IndexFunc(late, p.Overlaps)
		if i < 0 {
			return fmt.Errorf("%s is not known although everything before it is done", p)
		}
		if p.Within(late[i]) && p != late[i] {
			p = late[i]
			job.Props = WithValue(job.Props, p, nil)
		}
		job.Omit = append(job.Omit, p)
	}
	slices.Sort(job.Omit)
	job.Omit = slices.Compact(job.Omit)
	return nil
}

// DeclaredProps are the props of a resource, or the query of what is only read, as the program writes them.
func (n *Declaration) DeclaredProps() map[string]any {
	var p map[string]any
	switch {
	case n.Decl != nil:
		p = n.Decl.Props
	case n.Read != nil:
		p = n.Read.Query
	}
	if p == nil {
		p = map[string]any{}
	}
	return p
}

// AnyMap is a map as a tree: an empty one for none.
func AnyMap(m map[string]any) any {
	if len(m) == 0 {
		return map[string]any{}
	}
	return m
}
