package kind

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Wire is an object's attributes as a service writes them, by the service's own names: [Text], [Document] or [Struct].
type Wire interface {
	// Get is text, a boolean, a number, a list or a map; nil when it is not there.
	Get(name string) any
	// Set sets an attribute; nil clears it.
	Set(name string, v any)
}

// Text is for services that keep attributes as text (SQS, SNS). A dotted name is a member of an attribute that is a JSON
// document. An empty text clears.
type Text map[string]string

// Get is the text of an attribute, or a member of its document.
func (t Text) Get(name string) any {
	base, member, nested := strings.Cut(name, ".")
	text, ok := t[base]
	switch {
	case !ok:
		return nil
	case nested:
		return Document(t.members(base)).Get(member)
	}
	return text
}

// Set writes text, or a member of a document. A document without members is cleared.
func (t Text) Set(name string, v any) {
	base, member, nested := strings.Cut(name, ".")
	if nested {
		doc := t.members(base)
		if Document(doc).Set(member, v); v == nil {
			delete(doc, member)
		}
		if v = doc; len(doc) == 0 {
			v = nil
		}
	}
	switch x := v.(type) {
	case nil:
		t[base] = ""
	case string:
		t[base] = x
	case bool:
		t[base] = strconv.FormatBool(x)
	case int64:
		t[base] = strconv.FormatInt(x, 10)
	default:
		t[base] = string(tree.Canonical(v))
	}
}

// members is the document that an attribute holds, empty when it holds none.
func (t Text) members(base string) map[string]any {
	if doc, ok := document(t[base]).(map[string]any); ok {
		return doc
	}
	return map[string]any{}
}

// Document is for services whose bodies are JSON. A null clears.
type Document map[string]any

// Get is a member; a dot leads into one that is an object.
func (d Document) Get(name string) any {
	base, below, nested := strings.Cut(name, ".")
	if !nested {
		return d[name]
	}
	inner, _ := d[base].(map[string]any)
	return Document(inner).Get(below)
}

// Set sets a member; nil is written, as null.
func (d Document) Set(name string, v any) {
	base, below, nested := strings.Cut(name, ".")
	if !nested {
		d[name] = v
		return
	}
	inner, _ := d[base].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
		d[base] = inner
	}
	Document(inner).Set(below, v)
}

// Struct is for clients with one Go struct for each call and answer, such as those of AWS: names are those of fields, dots
// lead into structs, and a document is a struct. in is a pointer. A name that the struct does not have is left out, since an answer has more than an
// update takes; [Table.For] finds those that none has. A pointer to a zero value clears.
func Struct(in any) Wire { return structWire{reflect.ValueOf(in).Elem()} }

type structWire struct{ v reflect.Value }

// Get is the value of a field, nil for nil pointers on the way to it and for enumerations that are empty.
func (s structWire) Get(name string) any {
	v := s.v
	for part := range strings.SplitSeq(name, ".") {
		if v = target(v); !v.IsValid() || v.Kind() != reflect.Struct {
			return nil
		}
		v = v.FieldByName(part)
	}
	return fieldTree(v)
}

// fieldTree is the value of a field as a tree. A time is text.
func fieldTree(v reflect.Value) any {
	enum := v.IsValid() && v.Kind() == reflect.String
	switch v = target(v); {
	case !v.IsValid(), enum && v.Len() == 0, (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil():
		return nil
	case v.Type() == reflect.TypeFor[time.Time]():
		return v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)
	case v.Kind() == reflect.Struct:
		return fieldsOf(v)
	case v.Kind() == reflect.Slice && pointedType(v.Type().Elem()).Kind() == reflect.Struct:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = fieldTree(v.Index(i))
		}
		return list
	}
	x, err := plain(v, 1)
	if err != nil {
		return nil // For has refused such a field
	}
	return x
}

// fieldsOf is a struct as a document, without what is not there.
func fieldsOf(v reflect.Value) map[string]any {
	doc := map[string]any{}
	in := structWire{v}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.IsExported() && !f.Anonymous {
			if x := in.Get(f.Name); x != nil {
				doc[f.Name] = x
			}
		}
	}
	return doc
}

// target is what a pointer points at, invalid for nil.
func target(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// Set sets a field, and makes the structs that it is in.
func (s structWire) Set(name string, x any) {
	parts := strings.Split(name, ".")
	t := s.v.Type()
	for _, part := range parts { // nothing is made on the way to what is not there
		if t = pointedType(t); t.Kind() != reflect.Struct {
			return
		}
		f, ok := t.FieldByName(part)
		if !ok {
			return
		}
		t = f.Type
	}
	v := s.v
	for _, part := range parts {
		v = made(v).FieldByName(part)
	}
	if v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct {
		v = made(v)
	}
	assign(v, x)
}

func pointedType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// made is what a pointer points at, made where it is nil.
func made(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// assign makes a field what a tree says. Nil is the zero value, an empty list or an empty map, since clients leave nil out.
func assign(v reflect.Value, x any) {
	switch v.Kind() {
	case reflect.Slice:
		list, _ := x.([]any)
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, e := range list {
			assign(v.Index(i), e)
		}
	case reflect.Map:
		m, _ := x.(map[string]any)
		v.Set(reflect.MakeMapWithSize(v.Type(), len(m)))
		for k, e := range m {
			entry := reflect.New(v.Type().Elem()).Elem()
			assign(entry, e)
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), entry)
		}
	case reflect.Pointer:
		if x == nil && v.Type().Elem().Kind() == reflect.Struct {
			v.SetZero() // an empty struct is no way to say that there is none
			return
		}
		assign(made(v), x)
	case reflect.Struct:
		v.SetZero()
		if text, ok := x.(string); ok && v.Type() == reflect.TypeFor[time.Time]() {
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				v.Set(reflect.ValueOf(at))
			}
			return
		}
		doc, _ := x.(map[string]any)
		for name, e := range doc {
			structWire{v}.Set(name, e)
		}
	case reflect.String:
		v.SetZero()
		switch x := x.(type) {
		case nil:
		case string:
			v.SetString(x)
		default:
			v.SetString(string(tree.Canonical(x)))
		}
	default:
		if v.SetZero(); x != nil {
			v.Set(reflect.ValueOf(x).Convert(v.Type()))
		}
	}
}
