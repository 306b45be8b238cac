package kindtest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// all are Base and the variants.
func (s Suite) all() []Variant {
	return append([]Variant{{Name: "base", Props: s.Base}}, s.Variants...)
}

// fields are the documented props.
func (s Suite) fields(t T) []props.Field {
	t.Helper()
	fields, err := s.Kind.Spec().Props()
	if err != nil {
		t.Fatalf("documentation of props: %v", err)
	}
	return fields
}

func checkDefinition(t T, s Suite) {
	t.Helper()
	if err := s.Kind.Validate(); err != nil {
		t.Fatalf("kind: %v", err)
	}
	spec := s.Kind.Spec()
	if spec.Doc == "" {
		t.Errorf("the kind has no Doc")
	}
	documented(t, "prop", s.fields(t))
	attrs, err := spec.Attrs()
	if err != nil {
		t.Fatalf("documentation of attributes: %v", err)
	}
	documented(t, "attribute", attrs)
	for _, f := range s.fields(t) {
		set := func(v Variant) bool { _, ok := v.Props[string(f.Path)]; return ok }
		if !slices.ContainsFunc(s.all(), set) {
			t.Errorf("prop %s is set neither in Base nor in a variant", f.Path)
		}
	}
	if err := props.Tokens(spec.NewAttrs(), token.Plain, address); err != nil {
		t.Errorf("attributes cannot be referred to: %v", err)
	}
	checkOrders(t, s)
	checkUnits(t, s)
	named(t, "Moves", spec.Moves, attrs)
	named(t, "Once", spec.Once, attrs)
	named(t, "AtBirth", spec.AtBirth, attrs)
}

func documented(t T, what string, fields []props.Field) {
	t.Helper()
	for _, f := range fields {
		if strings.TrimSpace(f.Doc) == "" {
			t.Errorf("%s %s has no documentation: give its field a comment, and API.Source the file that it is in", what, f.Path)
		}
		documented(t, what, f.Fields)
	}
}

// named checks that a list of attributes names those that exist.
func named(t T, list string, names []string, attrs []props.Field) {
	t.Helper()
	for _, name := range names {
		if !slices.ContainsFunc(attrs, func(f props.Field) bool { return string(f.Path) == name }) {
			t.Errorf("%s names %q, which is no attribute", list, name)
		}
	}
}

// checkRoundTrip goes from tree to Go and back, twice: what the second trip gives is what the first gave,
// and no prop is lost on the way.
func checkRoundTrip(t T, s Suite) {
	t.Helper()
	for _, v := range s.all() {
		first := s.Kind.Spec().NewProps()
		if err := props.Decode(v.Props, first); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		encoded, err := props.Encode(first)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		second := s.Kind.Spec().NewProps()
		if err := props.Decode(encoded, second); err != nil {
			t.Errorf("%s: reading back what was written: %v", v.Name, err)
		}
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: %+v became %+v", v.Name, first, second)
		}
		text, err := tree.Decode(tree.Canonical(encoded))
		if err != nil || !tree.Equal(text, encoded) {
			t.Errorf("%s: JSON loses something: %s (%v)", v.Name, tree.Canonical(encoded), err)
		}
		lost(t, v, encoded)
	}
}

// lost reports props that were set to something and are missing. A plain field that is set to its zero is unset.
func lost(t T, v Variant, encoded map[string]any) {
	t.Helper()
	for name, value := range v.Props {
		if _, ok := encoded[name]; !ok && !zeroValue(value) {
			t.Errorf("%s: prop %s is lost between tree and Go", v.Name, name)
		}
	}
}

func zeroValue(v any) bool {
	switch v {
	case nil, "", false, int64(0), float64(0), "0s":
		return true
	}
	return tree.Equal(v, int64(0))
}

// checkZeroDefaults finds plain fields that are documented to default to something: unset and zero would
// be the same, so that zero could never be asked for.
func checkZeroDefaults(t T, s Suite) {
	t.Helper()
	zeroDefaults(t, reflect.TypeOf(s.Kind.Spec().NewProps()), s.fields(t))
}

func zeroDefaults(t T, of reflect.Type, fields []props.Field) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for _, f := range fields {
		field, ok := of.FieldByName(f.Go)
		if !ok {
			continue
		}
		if plain(field.Type) && !saysZero(f.Default) {
			t.Errorf("prop %s: its default is documented as %q, but it is a plain %s whose zero value means unset; make it a pointer",
				f.Path, f.Default, field.Type)
		}
		zeroDefaults(t, field.Type, f.Fields)
	}
}

// plain reports fields whose unset value is also a value. References of reconcile/token have an unset form.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Struct:
		return false
	}
	switch t.String() {
	case "token.Int", "token.Bool", "token.Duration":
		return false
	}
	return true
}

// saysZero reports whether a documented default begins with a word for nothing.
func saysZero(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(strings.TrimRight(word, ".,;:")) {
	case "", `""`, "0", "0s", "false", "none", "empty", "null", "unset", "no", "off", "nothing":
		return true
	}
	return false
}
