package from

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Fields reads an object field by field, and notes what became of each. What nobody asked for is noted by [Fields.Done], so that
// nothing is left out in silence.
type Fields struct {
	path   string
	values map[string]any
	asked  map[string]bool
	notes  *[]Note
}

// NewFields reads an object whose notes go to a list.
func NewFields(path string, values map[string]any, notes *[]Note) *Fields {
	return &Fields{path: path, values: values, asked: map[string]bool{}, notes: notes}
}

// At is the path of a field.
func (f *Fields) At(name string) string {
	if !plain(name) {
		name = strconv.Quote(name)
	}
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

func plain(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return name != ""
}

// Note says what became of a field.
func (f *Fields) Note(name string, outcome Outcome, format string, args ...any) {
	f.asked[name] = true
	*f.notes = append(*f.notes, Note{f.At(name), outcome, fmt.Sprintf(format, args...)})
}

// Has reports whether a field is set to anything but null.
func (f *Fields) Has(name string) bool { return f.values[name] != nil }

// Skip notes a field, where it is set and nobody has asked for it, as one that is not declared.
func (f *Fields) Skip(name string, outcome Outcome, why string) {
	if f.Has(name) && !f.asked[name] {
		f.Note(name, outcome, "%s", why)
	}
	f.asked[name] = true
}

// take gives a field of a type, and notes one of another type.
func take[T any](f *Fields, name, what string) (v T, ok bool) {
	f.asked[name] = true
	if !f.Has(name) {
		return v, false
	}
	if v, ok = f.values[name].(T); !ok {
		f.Note(name, Unsupported, "want %s", what)
	}
	return v, ok
}

// Text is a field that is text, noted as what it becomes. "" where there is none.
func (f *Fields) Text(name, becomes string) string {
	v, ok := take[string](f, name, "text")
	if ok {
		f.Note(name, Mapped, "%s", becomes)
	}
	return v
}

// Truth is a field that is true or false.
func (f *Fields) Truth(name, becomes string) (value, set bool) {
	v, ok := take[bool](f, name, "true or false")
	if ok {
		f.Note(name, Mapped, "%s", becomes)
	}
	return v, ok
}

// Number is a field that is a number: an int64 where it is whole.
func (f *Fields) Number(name, becomes string) (any, bool) {
	f.asked[name] = true
	if !f.Has(name) {
		return nil, false
	}
	n, ok := Number(f.values[name])
	if !ok {
		f.Note(name, Unsupported, "want a number")
		return nil, false
	}
	f.Note(name, Mapped, "%s", becomes)
	return n, true
}

// Number is a value as an int64 where it is a whole number, else as a float64.
func Number(v any) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		n, err := v.Float64()
		return n, err == nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
		return v, true
	}
	return nil, false
}

// Texts is a field that is a list of texts.
func (f *Fields) Texts(name, becomes string) []any {
	list, ok := take[[]any](f, name, "a list")
	if !ok {
		return nil
	}
	all := []any{}
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			*f.notes = append(*f.notes, Note{fmt.Sprintf("%s[%d]", f.At(name), i), Unsupported, "want text"})
			continue
		}
		all = append(all, text)
	}
	f.Note(name, Mapped, "%s", becomes)
	return all
}

// Object reads a field that is an object, nil where there is none. Its reader calls Done.
func (f *Fields) Object(name string) *Fields {
	v, ok := take[map[string]any](f, name, "an object")
	if !ok {
		return nil
	}
	return NewFields(f.At(name), v, f.notes)
}

// Objects reads a field that is a list of objects.
func (f *Fields) Objects(name string) []*Fields {
	list, ok := take[[]any](f, name, "a list")
	if !ok {
		return nil
	}
	var all []*Fields
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", f.At(name), i)
		m, ok := v.(map[string]any)
		if !ok {
			*f.notes = append(*f.notes, Note{at, Unsupported, "want an object"})
			continue
		}
		all = append(all, NewFields(at, m, f.notes))
	}
	return all
}

// Value is a field of any type, as the tool wrote it.
func (f *Fields) Value(name string) any {
	f.asked[name] = true
	return f.values[name]
}

// Names are the fields that there are.
func (f *Fields) Names() []string { return slices.Sorted(maps.Keys(f.values)) }

// Done notes the fields that nobody asked for.
func (f *Fields) Done() {
	for _, name := range f.Names() {
		if !f.asked[name] && f.Has(name) {
			f.Note(name, Unsupported, "nothing reads it")
		}
	}
}
