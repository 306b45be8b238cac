package kind

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// elements reads the structs in a list or map as a table of their own reads them.
func (in reader) elements(r *row, t reflect.Type, at tree.Path) (err error) {
	list := r.typ.Kind() == reflect.Slice || r.typ.Kind() == reflect.Map && !r.sent()
	if in.inside && !in.inWire || !list || t != r.typ.Elem() || t.Kind() != reflect.Struct {
		return fmt.Errorf("elements means nothing for a map that the table sends, or what is no list or map of structs at the top")
	}
	r.nested, err = reader{codecs: in.codecs, inWire: r.sent(), inside: r.sent()}.rows(t, at)
	return err
}

// readElements are the elements of a list of documents, as a tree.
func (r *row) readElements(wire any) (any, error) {
	list, ok := document(wire).([]any)
	if !ok {
		return nil, fmt.Errorf("a %T, which is no list", wire)
	}
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = r.readMembers(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writeElements is a list of documents.
func (r *row) writeElements(v reflect.Value) (any, error) {
	out := make([]any, v.Len())
	for i := range out {
		var err error
		if out[i], err = r.writeMembers(v.Index(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachElement goes through the elements of a list or map, with their paths.
func (r *row) eachElement(v reflect.Value) iter.Seq2[tree.Path, reflect.Value] {
	return func(yield func(tree.Path, reflect.Value) bool) {
		for key, e := range v.Seq2() {
			at := r.path
			if key.CanInt() {
				at = at.Index(int(key.Int()))
			} else {
				at = at.Key(key.String())
			}
			if !yield(at, e) {
				return
			}
		}
	}
}

// filled is a list or map whose elements have their defaults.
func (r *row) filled(v reflect.Value) reflect.Value {
	list := reflect.MakeSlice(reflect.SliceOf(r.typ.Elem()), 0, v.Len())
	m := reflect.MakeMapWithSize(reflect.MapOf(reflect.TypeFor[string](), r.typ.Elem()), v.Len())
	for key, e := range v.Seq2() {
		c := reflect.New(e.Type()).Elem()
		c.Set(e)
		if fill(r.nested, c); r.typ.Kind() == reflect.Map {
			m.SetMapIndex(reflect.ValueOf(key.String()), c)
			continue
		}
		list = reflect.Append(list, c)
	}
	if r.typ.Kind() == reflect.Map {
		return m.Convert(r.typ)
	}
	return list.Convert(r.typ)
}

// checkElements finds what the tags forbid in elements.
func (r *row) checkElements(v reflect.Value) (wrong props.Errors) {
	for at, e := range r.eachElement(v) {
		var problems props.Errors
		check(r.nested, e, &problems)
		for _, p := range problems { // the rows know the path of any element
			p.Path = at + tree.Path(strings.TrimPrefix(string(p.Path), string(r.path.Any())))
		}
		wrong = append(wrong, problems...)
	}
	return wrong
}

// CompareAt is [Compare] for an element of a list or map of which code knows which of both sides belong together. Its prop is
// tagged wire:",elements", or wire:"-,elements" where the table compares the prop as a whole: the elements have a table of
// their own, of which the table of the prop takes defaults and checks. A list that is tagged wire:"NAME,elements" is sent and
// read as a list of documents.
func CompareAt[P, L any](d *Diff[L], at tree.Path, t *Table[P], want, have P, calls ...*Operation[L]) {
	w, h := reflect.ValueOf(want), reflect.ValueOf(have)
	for _, r := range t.rows() {
		if r.wire == "" || !r.counts(w) || !r.writeOnly && !r.counts(h) {
			continue
		}
		var call *Operation[L]
		if !r.immutable {
			call = operation(calls, r)
		}
		there := *r
		there.path = at.Join(r.path)
		compare(d, &there, w, h, call)
	}
}

// CompareCall states the attributes whose tags name a call, all of which set is to set; "" is for those that name none. It is
// for services that set the same attributes by one call or by another, as further differences decide, and for kinds that
// compare more between the attributes of one call and those of the next.
func CompareCall[P, L any](d *Diff[L], t *Table[P], want, have P, call string, set *Operation[L]) {
	w, h := reflect.ValueOf(want), reflect.ValueOf(have)
	for _, r := range t.rows() {
		if r.wire == "" || r.call != call || !r.counts(w) || !r.counts(h) {
			continue
		}
		by := set
		if r.immutable {
			by = nil // a difference replaces the object
		}
		compare(d, r, w, h, by)
	}
}

// Equal reports whether no attribute of the table differs.
func (t *Table[P]) Equal(a, b P) bool { return t.equal(reflect.ValueOf(a), reflect.ValueOf(b)) }

func (t *table) equal(a, b reflect.Value) bool {
	return !slices.ContainsFunc(t.rows(), func(r *row) bool { return r.wire != "" && !tree.Equal(r.form(a), r.form(b)) })
}

// ReadList is [Table.Read] for a list of documents.
func (t *Table[P]) ReadList(wire any) ([]P, error) {
	var all []P
	err := eachDocument(wire, func(doc Document) error {
		p, err := t.Read(doc)
		all = append(all, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachDocument calls a function for each document of a list, until one fails.
func eachDocument(wire any, do func(Document) error) error {
	list, _ := wire.([]any)
	for i, e := range list {
		doc, ok := e.(map[string]any)
		if !ok {
			return fmt.Errorf("%d: a %T, which is no document", i, e)
		}
		if err := do(doc); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

// CreatedList is [Table.Created] for a list of documents, which is never nil.
func (t *Table[P]) CreatedList(all []P) ([]Document, error) {
	list := make([]Document, len(all))
	for i, p := range all {
		list[i] = Document{}
		if err := t.Created(p, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Below are paths relative to the one that they are below.
func Below(at tree.Path, paths []tree.Path) []tree.Path {
	var all []tree.Path
	for _, p := range paths {
		if p.Within(at) {
			all = append(all, tree.Path(strings.TrimPrefix(strings.TrimPrefix(string(p), string(at)), ".")))
		}
	}
	return all
}
