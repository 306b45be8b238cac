package athanor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// binding is one row for a prop named bindings.
type binding struct {
	target, key, source string
	by                  string // the call that bound it: lambda.Consume, main.go:41
	row                 any
	typ                 reflect.Type
}

// Bind adds a row to the bindings prop of another resource, which is given as for [DependsOn]. Rows are sorted
// by key; a key is used once for each target, unless the row is the same. Where the prop is a map the row goes
// under its key; where rows have a field Sid that is unset, it becomes the key.
//
// Binding is for authors of constructors: orders.Grant(fn, sqs.Send) is a Bind on fn.
func (s *Stack) Bind(target any, key string, row any) {
	at, by := s.files.calling()
	addresses, err := addressesOf(target)
	if err == nil && len(addresses) != 1 {
		err = errors.New("want one resource to bind to")
	}
	if err == nil && key == "" {
		err = errors.New("a row without a key")
	}
	if err != nil {
		s.failAt("", at, fmt.Errorf("bind %q: %w", key, err))
		return
	}
	t, err := treeOf(row)
	if err != nil {
		s.failAt(addresses[0], at, fmt.Errorf("bind %q: %w", key, err))
		return
	}
	typ := reflect.TypeOf(row)
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bindings = append(s.bindings, binding{addresses[0], key, at, by, t, typ})
}

// bind puts the collected rows into the props of their targets.
func (e *evaluation) bind() {
	if len(e.bindings) == 0 {
		return
	}
	byAddress := make(map[string]*engine.Resource, len(e.graph.Resources))
	for i := range e.graph.Resources {
		byAddress[e.graph.Resources[i].Address] = &e.graph.Resources[i]
	}
	slices.SortStableFunc(e.bindings, func(a, b binding) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.key, b.key))
	})
	for i, b := range e.bindings {
		if i > 0 && b.target == e.bindings[i-1].target && b.key == e.bindings[i-1].key {
			if other := e.bindings[i-1]; !tree.Equal(b.row, other.row) {
				e.failAt(b.target, b.source, fmt.Errorf("bind %q: another row has this key: %s and %s", b.key, other.source, b.source))
			}
			continue
		}
		r, ok := byAddress[b.target]
		if !ok {
			err := fmt.Errorf("bind %q: nothing is declared as %q", b.key, b.target)
			if slices.ContainsFunc(e.graph.Reads, func(r engine.Read) bool { return r.Address == b.target }) {
				err = reconcile.WithHint(err, "%s is only read: what it is bound to is its owner's to say", b.target)
			}
			e.failAt("", b.source, err)
			continue
		}
		if err := b.addTo(r, e.declared[b.target].props); err != nil {
			e.failAt(b.target, b.source, fmt.Errorf("bind %q: %w", b.key, err))
		}
		if r.Bound == nil {
			r.Bound = map[string]string{}
		}
		r.Bound[b.key] = b.by
	}
}

// addTo adds a row to the props of its target, whose props have type p.
func (b binding) addTo(r *engine.Resource, p reflect.Type) error {
	f, ok := p.FieldByName("Bindings")
	if !ok || f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map {
		return fmt.Errorf("a %s takes no bindings", r.Kind)
	}
	if elem := f.Type.Elem(); b.typ != elem && b.typ != nil && b.typ.Kind() == reflect.Struct {
		return fmt.Errorf("a %s takes bindings of type %s, not %s", r.Kind, elem, b.typ)
	}
	if r.Props == nil {
		r.Props = map[string]any{}
	}
	row := b.row
	if f.Type.Kind() == reflect.Map {
		rows, _ := r.Props["bindings"].(map[string]any)
		if _, taken := rows[b.key]; taken {
			return errors.New("the props have a row with this key already")
		}
		if rows = maps.Clone(rows); rows == nil {
			rows = map[string]any{}
		}
		rows[b.key] = row
		r.Props["bindings"] = rows
		return nil
	}
	if fields, isMap := row.(map[string]any); isMap && fields["sid"] == nil && hasSid(f.Type.Elem()) {
		named := maps.Clone(fields)
		named["sid"] = b.key
		row = named
	}
	rows, _ := r.Props["bindings"].([]any)
	r.Props["bindings"] = append(slices.Clone(rows), row)
	return nil
}

// hasSid reports whether rows of this type name themselves.
func hasSid(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	f, ok := t.FieldByName("Sid")
	return ok && f.Type.Kind() == reflect.String
}
