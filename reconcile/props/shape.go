package props

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// form is how a type looks in a tree.
type form int

const (
	formText form = iota
	formSecret
	formBool
	formInt
	formUint
	formFloat
	formDuration
	formSize
	formTokenInt
	formTokenBool
	formTokenDuration
	formAny
	formPointer
	formList
	formMap
	formObject
)

// shape is what is known of a type. It is not changed once it is made.
type shape struct {
	form form
	typ  reflect.Type
	// elem is of pointers, lists and maps.
	elem *shape
	// fields are of objects, in the order of the struct; names are theirs, byName their places.
	fields []*field
	byName map[string]int
	names  []string
}

// field is one prop of an object.
type field struct {
	name, goName string
	index        []int
	owner        reflect.Type // the struct that declares it
	shape        *shape
	required     bool
	enum         []string
	min, max     *bound
	// maxItems bounds a list or map, maxLen the characters of text; 0 is no bound.
	maxItems, maxLen int
	// standard is the default as its tag writes it; hasDefault tells an empty one from none. immutable is its tag.
	standard   string
	hasDefault bool
	immutable  bool
	// forTable: it has a tag that means nothing without an attribute table. attr: it has an attr tag.
	forTable, attr bool
}

// shapes caches by reflect.Type: a shape or the error why there is none. Entries never change.
var shapes sync.Map

func shapeOf(t reflect.Type) (*shape, error) {
	if known, ok := shapes.Load(t); ok {
		s, _ := known.(*shape)
		err, _ := known.(error)
		return s, err
	}
	s, err := makeShape(t, nil)
	if err != nil {
		shapes.Store(t, err)
		return nil, err
	}
	shapes.Store(t, s)
	return s, nil
}

// Check reports whether t, a struct type, can hold props or attributes: every field has a type that a tree has
// a form for, and its tag makes sense.
func Check(t reflect.Type) error {
	s, err := shapeOf(t)
	if err == nil && s.form != formObject {
		err = fmt.Errorf("props: %s is no struct", t)
	}
	return err
}

// special are the types whose form does not follow from their kind.
var special = map[reflect.Type]form{
	reflect.TypeFor[time.Duration]():  formDuration,
	reflect.TypeFor[Size]():           formSize,
	reflect.TypeFor[token.Int]():      formTokenInt,
	reflect.TypeFor[token.Bool]():     formTokenBool,
	reflect.TypeFor[token.Duration](): formTokenDuration,
	reflect.TypeFor[token.Secret]():   formSecret,
	reflect.TypeFor[any]():            formAny,
}

// makeShape looks at a type; inside are the structs around it.
func makeShape(t reflect.Type, inside []reflect.Type) (*shape, error) {
	s := &shape{typ: t}
	var ok bool
	if s.form, ok = special[t]; ok {
		return s, nil
	}
	var err error
	switch t.Kind() {
	case reflect.String:
		s.form = formText
	case reflect.Bool:
		s.form = formBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.form = formInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.form = formUint
	case reflect.Float32, reflect.Float64:
		s.form = formFloat
	case reflect.Pointer:
		if s.form = formPointer; t.Elem().Kind() == reflect.Pointer {
			return nil, fmt.Errorf("props: %s: a pointer to a pointer has no form in a tree", t)
		}
		s.elem, err = makeShape(t.Elem(), inside)
	case reflect.Slice:
		s.form = formList
		if t.Elem().Kind() == reflect.Uint8 {
			return nil, fmt.Errorf("props: %s: bytes have no form of their own; use text", t)
		}
		s.elem, err = makeShape(t.Elem(), inside)
	case reflect.Map:
		s.form = formMap
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("props: %s has keys that are not text", t)
		}
		s.elem, err = makeShape(t.Elem(), inside)
	case reflect.Struct:
		s.form = formObject
		err = s.addFields(t, nil, inside)
	default:
		return nil, fmt.Errorf("props: a %s has no form in a tree", t)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// addFields takes over the fields of a struct, and of those that it embeds.
func (s *shape) addFields(t reflect.Type, index []int, inside []reflect.Type) error {
	if slices.Contains(inside, t) {
		return fmt.Errorf("props: %s holds itself", t)
	}
	inside = append(slices.Clone(inside), t)
	if s.byName == nil {
		s.byName = map[string]int{}
	}
	before, ours := len(s.fields), tagged(t)
	for i := range t.NumField() {
		sf := t.Field(i)
		if err := readable(sf, ours); err != nil {
			return fmt.Errorf("%w (field %s of %s)", err, sf.Name, t)
		}
		tag, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		at := append(slices.Clone(index), i)
		if sf.Anonymous && tag == "" && sf.Type.Kind() == reflect.Struct {
			if err := s.addFields(sf.Type, at, inside); err != nil {
				return err
			}
			continue
		}
		if !sf.IsExported() || tag == "-" {
			continue
		}
		if sf.Anonymous && tag == "" && sf.Type.Kind() == reflect.Pointer && sf.Type.Elem().Kind() == reflect.Struct {
			return fmt.Errorf("props: it is embedded by a pointer: embed the struct itself, or give the field a name (field %s of %s)", sf.Name, t)
		}
		f := &field{name: tag, goName: sf.Name, index: at, owner: t}
		if f.name == "" {
			f.name = Name(sf.Name)
		}
		if err := f.describe(sf, inside); err != nil {
			return fmt.Errorf("%w (field %s of %s)", err, sf.Name, t)
		}
		if _, twice := s.byName[f.name]; twice {
			return fmt.Errorf("props: %s has two fields named %s", t, f.name)
		}
		s.byName[f.name] = len(s.fields)
		s.names = append(s.names, f.name)
		s.fields = append(s.fields, f)
	}
	if len(s.fields) == before && t.NumField() > 0 {
		hint := ""
		if t == reflect.TypeFor[time.Time]() {
			hint = ": use text"
		}
		return fmt.Errorf("props: %s has no field that a tree could hold%s", t, hint)
	}
	return nil
}

func (f *field) describe(sf reflect.StructField, inside []reflect.Type) error {
	var err error
	if f.shape, err = makeShape(sf.Type, inside); err != nil {
		return err
	}
	_, f.forTable = sf.Tag.Lookup("wire")
	_, f.attr = sf.Tag.Lookup("attr")
	tag := sf.Tag.Get("prop")
	if tag == "" {
		return nil
	}
	leaf, seen := f.shape.leaf(), map[string]bool{}
	for word := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(word, "=")
		if seen[key] {
			return fmt.Errorf("props: tag %q stands there twice", word)
		}
		if err := wellFormed(word, seen["enum"]); err != nil {
			return err
		}
		seen[key] = true
		switch key {
		case "required":
			f.required = true
		case "enum":
			if f.enum = strings.Split(value, "|"); leaf.form != formText {
				return fmt.Errorf("props: an enum of a %s", leaf.typ)
			}
		case "min":
			f.min, err = parseBound(leaf, value)
		case "max":
			f.max, err = parseBound(leaf, value)
		case "maxitems":
			f.maxItems, err = parseCount(value, f.shape.counts(), f.shape.typ)
		case "maxlen":
			f.maxLen, err = parseCount(value, leaf.form == formText || leaf.form == formSecret, leaf.typ)
		case "default":
			f.standard, f.hasDefault, f.forTable = value, true, true
		case "immutable":
			f.immutable, f.forTable = true, true
		default:
			f.forTable = true // the attribute table of a kind reads and checks it
		}
		if err != nil {
			return err
		}
	}
	return f.contradiction()
}

// contradiction finds limits that nothing keeps, or that say nothing.
func (f *field) contradiction() error {
	for i, word := range f.enum {
		switch {
		case word == "":
			return fmt.Errorf("props: enum has an empty word")
		case strings.TrimSpace(word) != word:
			return fmt.Errorf("props: enum has %q, with space around it: want | alone between words", word)
		}
		if slices.Contains(f.enum[:i], word) {
			return fmt.Errorf("props: enum has %q twice", word)
		}
	}
	switch {
	case f.min != nil && f.max != nil && f.min.value > f.max.value:
		return fmt.Errorf("props: min=%s is more than max=%s", f.min.text, f.max.text)
	case f.maxLen > 0 && len(f.enum) > 0:
		return fmt.Errorf("props: maxlen means nothing beside an enum")
	}
	return nil
}

// parseCount reads the bound of a length. fits says that the type has one.
func parseCount(text string, fits bool, typ reflect.Type) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case !fits:
		return 0, fmt.Errorf("props: a %s has no such length: maxlen is of text, maxitems of lists and maps", typ)
	case err != nil || n < 1:
		return 0, fmt.Errorf("props: bound %q: want a whole number above 0", text)
	}
	return n, nil
}

// counts reports whether a shape is a list or a map, or a pointer to one.
func (s *shape) counts() bool {
	for s.form == formPointer {
		s = s.elem
	}
	return s.form == formList || s.form == formMap
}

// leaf is the shape below pointers, lists and maps.
func (s *shape) leaf() *shape {
	for s.elem != nil {
		s = s.elem
	}
	return s
}

// takesRef reports whether text with references may stand where the shape is wanted.
func (s *shape) takesRef() bool {
	switch s.leaf().form {
	case formText, formSecret, formTokenInt, formTokenBool, formTokenDuration, formAny:
		return true
	}
	return false
}

// bound is a smallest or greatest value, as its tag writes it.
type bound struct {
	text  string
	value float64
}

func parseBound(s *shape, text string) (*bound, error) {
	b := &bound{text: text}
	var err error
	switch s.form {
	case formInt, formTokenInt:
		bits := 64
		if s.form == formInt {
			bits = s.typ.Bits()
		}
		var n int64
		if n, err = strconv.ParseInt(text, 10, bits); err != nil {
			err = fmt.Errorf("want a whole number, as a %s can hold", s.typ)
		}
		b.value = float64(n)
	case formUint:
		var n uint64
		if n, err = strconv.ParseUint(text, 10, s.typ.Bits()); err != nil {
			err = fmt.Errorf("want a whole number, as a %s can hold", s.typ)
		}
		b.value = float64(n)
	case formFloat:
		if b.value, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(b.value) || math.IsInf(b.value, 0) {
			err = fmt.Errorf("want a number")
		}
	case formDuration, formTokenDuration:
		var d time.Duration
		d, err = token.ParseDuration(text)
		b.value = float64(d)
	case formSize:
		var n Size
		n, err = ParseSize(text)
		b.value = float64(n)
	case formText, formSecret:
		err = fmt.Errorf("a %s has no bounds: want maxlen for its length, maxitems for how many, and let Check find the rest", s.typ)
	default:
		err = fmt.Errorf("a %s has no bounds", s.typ)
	}
	if err != nil {
		return nil, fmt.Errorf("props: bound %q: %w", text, err)
	}
	return b, nil
}
