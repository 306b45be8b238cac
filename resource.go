package athanor

import (
	"fmt"
	"reflect"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Resource stands for a resource whose kind is known by its name alone, so that no Go type names its attributes.
type Resource struct {
	stack   *Stack
	address string
}

// Resource declares a resource of the kind of this name. p is a struct or a map that holds its props by the kind's own
// names; references may stand where the kind takes them. Providers offer typed forms on top of it, see [As].
func (s *Stack) Resource(kind, name string, p any, opts ...Option) Resource {
	r := engine.Resource{Address: s.Address(name), Source: s.files.caller(), Kind: kind, Settings: s.settingsOf(kind)}
	t, err := treeOf(p)
	if err != nil {
		s.failAt(r.Address, r.Source, err)
	}
	var ok bool
	if r.Props, ok = t.(map[string]any); !ok && t != nil {
		s.failAt(r.Address, r.Source, fmt.Errorf("want a struct or a map of props, have %T", p))
	}
	r.Props = s.forwarded(kind, r.Props)
	s.add(&r, nil, opts)
	return Resource{s, r.Address}
}

// Read looks at something of the kind of this name that the stack uses and does not own, as [Read] does: by is its identity, or
// the props that find it.
func (s *Stack) Read(kind, name string, by any) Resource {
	r := engine.Read{Address: s.Address(name), Source: s.files.caller(), Kind: kind, Settings: s.settingsOf(kind)}
	if id, ok := by.(string); ok {
		by = &id
	} else if query, err := treeOf(by); err != nil {
		s.failAt(r.Address, r.Source, err)
	} else {
		by = query
	}
	if err := nameBy(&r, by, reflect.TypeFor[map[string]any]()); err != nil {
		s.failAt(r.Address, r.Source, err)
	}
	s.forwardTo(&r)
	if s.enter(r.Address, entry{source: r.Source}) {
		s.mu.Lock()
		s.graph.Reads = append(s.graph.Reads, r)
		s.mu.Unlock()
	}
	return Resource{s, r.Address}
}

// Attr is an attribute, as a reference: a name, or a path into one such as "Endpoint.Address".
func (r Resource) Attr(path string) string {
	p, err := tree.ParsePath(path)
	if err != nil {
		r.stack.fail(r.address, fmt.Errorf("attribute: %w", err))
		return ""
	}
	return r.stack.in.Spelling.Ref(token.Ref{Address: r.address, Path: p})
}

// As is the attributes of a resource by the names of a struct, each as a reference.
func As[A any](r Resource) A {
	var a A
	if err := props.Tokens(&a, r.stack.in.Spelling, r.address); err != nil {
		r.stack.fail(r.address, err)
	}
	return a
}
