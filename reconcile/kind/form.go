package kind

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Codec is the form of an attribute that does not follow from the type of its prop.
type Codec struct {
	// Name is what wire tags call it.
	Name string
	// Write is the service's form of a prop. Nil: that of its type.
	Write func(prop any) (wire any, err error)
	// Read is the prop, as a tree, of what the service shows. Nil: that of its type.
	Read func(wire any) (tree any, err error)
	// Form is what the trees of both sides are compared by. Nil: as they are.
	Form func(tree any) any
}

// get is the value of the row's field, without its pointer. set says that it is there: plain numbers and booleans always are,
// text, lists and maps are when they are not empty. What is in a struct that is nil is not there.
func (r *row) get(p reflect.Value) (v reflect.Value, set bool) {
	v, err := p.FieldByIndexErr(r.index)
	if err != nil {
		return reflect.Zero(r.typ), false
	}
	switch v.Kind() {
	case reflect.Pointer:
		return v.Elem(), !v.IsNil()
	case reflect.Slice, reflect.Map:
		return v, v.Len() > 0
	case reflect.String, reflect.Interface:
		return v, !v.IsZero()
	}
	return v, true
}

// put sets the row's field.
func (r *row) put(p, v reflect.Value) {
	if r.optional {
		n := reflect.New(r.typ)
		n.Elem().Set(v)
		v = n
	}
	r.field(p).Set(v)
}

// field is the row's field. A pointer on the way to it leads to a struct of its own from then on.
func (r *row) field(p reflect.Value) reflect.Value {
	for _, i := range r.index {
		if p.Kind() == reflect.Pointer {
			own := reflect.New(p.Type().Elem())
			if !p.IsNil() {
				own.Elem().Set(p.Elem())
			}
			p.Set(own)
			p = own.Elem()
		}
		p = p.Field(i)
	}
	return p
}

// isThere reports whether the struct that the row's field is in is there.
func (r *row) isThere(p reflect.Value) bool {
	_, err := p.FieldByIndexErr(r.index)
	return err == nil
}

// isSet reports whether a prop that others depend on is set to more than its zero value.
func (r *row) isSet(p reflect.Value) bool {
	v, set := r.get(p)
	return set && !v.IsZero()
}

// counts reports whether the attribute counts for an object with these props.
func (r *row) counts(p reflect.Value) bool {
	holds := func(c condition) bool { return c.row == nil || c.row.isSet(p) }
	return holds(r.needs) && holds(r.with) && (r.excludes.row == nil || !r.excludes.row.isSet(p))
}

// isSent reports whether a new object, or a document, is sent with the attribute.
func (r *row) isSent(p reflect.Value) bool {
	v, set := r.get(p)
	return set && r.sent() && r.counts(p) && !(r.omitZero && v.IsZero())
}

func (r *row) dependsOn(o *row) bool {
	return r.needs.row == o || r.with.row == o || r.excludes.row == o
}

// checkForm refuses a prop that has no form of its own on a wire.
func (r *row) checkForm() error {
	if !r.sent() || r.elements || r.codec != nil && r.codec.Write != nil && r.codec.Read != nil {
		return nil
	}
	for t := r.typ; ; t = t.Elem() {
		switch t {
		case reflect.TypeFor[token.Int](), reflect.TypeFor[token.Bool](), reflect.TypeFor[token.Duration]():
			return fmt.Errorf("a %s has no form of its own on a wire: name a codec that writes and reads it, or leave it to code", t)
		case reflect.TypeFor[time.Duration]():
			if t != r.typ {
				return fmt.Errorf("a %s has no unit on a wire: name a codec that writes and reads it, or leave it to code", r.typ)
			}
		}
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
			if k := t.Kind(); t != r.typ && (k == reflect.Struct || k == reflect.Pointer || k == reflect.Interface) {
				return fmt.Errorf("a %s has no form of its own on a wire: name a codec that writes and reads it, or leave it to code", r.typ)
			}
			return nil
		}
	}
}

// form is what an attribute is compared by: a tree, nil for none.
func (r *row) form(p reflect.Value) any {
	v, set := r.get(p)
	if !set && !r.omitZero { // where its struct is not there, that is zero
		return nil
	}
	out, err := props.EncodeValue(v.Interface())
	if err != nil {
		panic("kind: " + err.Error()) // rows has seen that the type has a form
	}
	return r.canonical(out)
}

// canonical puts what does not count into one form: the order of sets, and what a codec takes for equal.
func (r *row) canonical(v any) any {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if m, ok := e.(map[string]any); ok && r.elements {
				r.canonicalMembers(m)
			}
		}
		if r.set {
			x = slices.Clone(x)
			slices.SortFunc(x, func(a, b any) int { return slices.Compare(tree.Canonical(a), tree.Canonical(b)) })
			v = x
		}
	case map[string]any:
		if r.typ.Kind() == reflect.Struct {
			r.canonicalMembers(x)
		}
	}
	if r.codec != nil && r.codec.Form != nil {
		return r.codec.Form(v)
	}
	return v
}

// canonicalMembers puts the members of a struct into one form. A list or map that is empty is not set.
func (r *row) canonicalMembers(x map[string]any) {
	for _, n := range r.nested {
		below, ok := x[n.name]
		if v := reflect.ValueOf(below); ok && (v.Kind() == reflect.Slice || n.typ.Kind() == reflect.Map) && v.Len() == 0 {
			delete(x, n.name)
		} else if ok {
			x[n.name] = n.canonical(below)
		}
	}
}

// read adds the rows to the tree of an author's props.
func read(rows []*row, from Wire, into map[string]any) error {
	for _, r := range rows {
		if !r.sent() || r.writeOnly {
			continue
		}
		wire := from.Get(r.wire)
		emptyCounts := r.optional && r.typ.Kind() == reflect.String && !r.standard.IsValid()
		if wire == nil || wire == "" && !emptyCounts || r.group != "" && r.saysNothing(wire) {
			continue
		}
		v, err := r.author(wire)
		if err != nil {
			return fmt.Errorf("%s: the service shows %s as %w", r.path, r.wire, err)
		}
		r.within(into)[r.name] = v
	}
	return nil
}

// within is the tree of the struct that the row is in, of all props.
func (r *row) within(all map[string]any) map[string]any {
	for _, part := range r.group.Steps() {
		members, ok := all[part.Key].(map[string]any)
		if !ok {
			members = map[string]any{}
			all[part.Key] = members
		}
		all = members
	}
	return all
}

// saysNothing reports what services show of a struct that is not there: an empty list or map, or the zero of what is unset
// when it is zero.
func (r *row) saysNothing(wire any) bool {
	switch v := reflect.ValueOf(wire); v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return r.omitZero && v.IsZero()
	}
}

// author is the prop, as a tree, of the service's form.
func (r *row) author(wire any) (any, error) {
	if r.codec != nil && r.codec.Read != nil {
		return r.codec.Read(wire)
	}
	if r.elements {
		return r.readElements(wire)
	}
	if r.typ.Kind() != reflect.Struct {
		return authorOf(r.typ, r.unit, wire)
	}
	return r.readMembers(wire)
}

// readMembers are the members of a document, as a tree.
func (r *row) readMembers(wire any) (any, error) {
	m, ok := document(wire).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a %T, which is no document", wire)
	}
	members := map[string]any{}
	return members, read(r.nested, Document(m), members)
}

// document is a document that may have been written as text.
func document(wire any) any {
	if text, ok := wire.(string); ok {
		if v, err := tree.Decode([]byte(text)); err == nil {
			return v
		}
	}
	return wire
}

// authorOf reads the service's form of a type: numbers and booleans may be text.
func authorOf(t reflect.Type, unit int64, wire any) (any, error) {
	switch t.Kind() {
	case reflect.Interface:
		return wire, nil
	case reflect.String:
		switch x := wire.(type) {
		case string:
			return x, nil
		case int64:
			return strconv.FormatInt(x, 10), nil
		case bool:
			return strconv.FormatBool(x), nil
		}
	case reflect.Slice:
		if list, ok := document(wire).([]any); ok {
			out := make([]any, len(list))
			for i, e := range list {
				var err error
				if out[i], err = authorOf(t.Elem(), 1, e); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	case reflect.Map:
		if m, ok := document(wire).(map[string]any); ok {
			out := make(map[string]any, len(m))
			for name, e := range m {
				var err error
				if out[name], err = authorOf(t.Elem(), 1, e); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	case reflect.Bool:
		if b, ok := document(wire).(bool); ok {
			return b, nil
		}
	default:
		return number(t, unit, document(wire))
	}
	return nil, fmt.Errorf("a %T, which is no %s", wire, t)
}

// number is a count of the service's units as an author writes it.
func number(t reflect.Type, unit int64, wire any) (any, error) {
	if f, ok := wire.(float64); ok {
		if t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 {
			return f, nil
		}
		if n := int64(f); float64(n) == f {
			wire = n
		}
	}
	if i, ok := wire.(int); ok { // a body that was written in Go
		wire = int64(i)
	}
	n, ok := wire.(int64)
	if !ok {
		return nil, fmt.Errorf("a %T, which is no whole number", wire)
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return time.Duration(n * unit).String(), nil
	case reflect.TypeFor[props.Size]():
		return props.Size(n * unit).String(), nil
	}
	return n * unit, nil
}

// write writes an attribute; one that is not set is cleared.
func (r *row) write(p reflect.Value, into Wire) error {
	v, set := r.get(p)
	if !set {
		into.Set(r.wire, nil)
		return nil
	}
	out, err := r.service(v)
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	into.Set(r.wire, out)
	return nil
}

// service is the service's form of a prop.
func (r *row) service(v reflect.Value) (any, error) {
	switch {
	case r.codec != nil && r.codec.Write != nil:
		return r.codec.Write(v.Interface())
	case r.elements:
		return r.writeElements(v)
	case v.Kind() == reflect.Struct:
		return r.writeMembers(v)
	case v.Kind() == reflect.Interface:
		return props.EncodeValue(v.Interface())
	}
	return plain(v, r.unit)
}

// writeMembers is a document of the members of a struct that count and are set.
func (r *row) writeMembers(v reflect.Value) (any, error) {
	doc := Document{}
	for _, n := range r.nested {
		if !n.isSent(v) {
			continue
		}
		if err := n.write(v, doc); err != nil {
			return nil, err
		}
	}
	return map[string]any(doc), nil
}

// plain is a value of a simple type, a list or a map of such as a tree, numbers in units.
func plain(v reflect.Value, unit int64) (any, error) {
	switch k := v.Kind(); {
	case k == reflect.String:
		return v.String(), nil
	case k == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return v.Int() / unit, nil
	case v.CanUint():
		return int64(v.Uint()), nil
	case v.CanFloat():
		return v.Float(), nil
	case k == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = plain(v.Index(i), 1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case k == reflect.Map:
		m := make(map[string]any, v.Len())
		for key, e := range v.Seq2() {
			var err error
			if m[key.String()], err = plain(e, 1); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, fmt.Errorf("a %s has no form on a wire", v.Type())
}
