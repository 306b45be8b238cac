package props

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Decode fills into, a pointer to a struct or to a map[string]any, from a tree. Tokens stay in place as text, so a tree can be
// decoded before its values are known. It is strict, and the error is all that is wrong: an [Errors] in the
// order of the fields. Null is the same as left out. Where text is wanted, whole numbers and truths are
// taken too, since a reference keeps the type of its value; fractions are not, since 1.10 would be 1.1. A
// list that takes references may be one reference. Of a map nothing is known here, so nothing is wrong with it.
func Decode(t map[string]any, into any) error { return decode(t, into, true) }

// Load fills into, a pointer to a struct, from a tree that [Dump] made, maybe of an older struct: what is not
// known is passed over, and nothing is required. The error is an [Errors].
func Load(t map[string]any, into any) error { return decode(t, into, false) }

func decode(t map[string]any, into any, strict bool) error {
	if free, ok := into.(*map[string]any); ok && free != nil {
		*free, _ = given(t).(map[string]any)
		return nil
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("props: want a pointer to a struct, have %T", into)
	}
	s, err := shapeOf(v.Type().Elem())
	if err != nil {
		return err
	}
	d := decoding{strict: strict}
	d.object(s, t, v.Elem())
	if len(d.errs) > 0 {
		return d.errs
	}
	return nil
}

type decoding struct {
	strict bool
	at     tree.Trail
	errs   Errors
}

func (d *decoding) fail(problem, hint string) {
	d.errs = append(d.errs, &FieldError{Path: d.at.Path(), Problem: problem, Hint: hint})
}

// entry says what is wrong with an entry of the map at hand.
func (d *decoding) entry(key, problem, hint string) {
	d.at.Enter(key)
	d.fail(problem, hint)
	d.at.Leave()
}

// fewNames are so few that a hint can list all of them.
const fewNames = 8

func (d *decoding) object(s *shape, t map[string]any, v reflect.Value) {
	known := 0
	for _, f := range s.fields {
		x, given := t[f.name]
		if given {
			known++
		}
		if x == nil || x == "" && f.required {
			if f.required && d.strict {
				d.entry(f.name, "is required", "")
			}
			continue
		}
		d.at.Enter(f.name)
		d.value(f.shape, f, x, v.FieldByIndex(f.index))
		d.items(f, x)
		d.at.Leave()
	}
	if known == len(t) || !d.strict {
		return
	}
	for _, k := range tree.AppendKeys(nil, t) {
		if _, ok := s.byName[k]; ok {
			continue
		}
		hint := ""
		if near, ok := Nearest(k, s.names); ok {
			hint = "did you mean " + near + "?"
		} else if len(s.names) <= fewNames {
			hint = "there is " + strings.Join(s.names, ", ")
		}
		d.entry(k, "is not a prop", hint)
	}
}

// value decodes x, which is not nil, into v. What the tag of f says is checked on the way.
func (d *decoding) value(s *shape, f *field, x any, v reflect.Value) {
	switch s.form {
	case formPointer:
		p := reflect.New(s.elem.typ)
		d.value(s.elem, f, x, p.Elem())
		v.Set(p)
	case formAny:
		v.Set(reflect.ValueOf(x))
	case formList:
		d.list(s, f, x, v)
	case formMap:
		d.entries(s, f, x, v)
	case formObject:
		if m, ok := x.(map[string]any); ok {
			d.object(s, m, v)
			return
		}
		d.wrong(s, x)
	default:
		d.scalar(s, f, x, v)
	}
}

func (d *decoding) list(s *shape, f *field, x any, v reflect.Value) {
	if text, ok := x.(string); ok && s.takesRef() {
		if spread, ok := asSpread(text); ok {
			x = []any{spread}
		}
	}
	list, ok := x.([]any)
	if !ok {
		d.wrong(s, x)
		return
	}
	v.Set(reflect.MakeSlice(s.typ, len(list), len(list)))
	for i, e := range list {
		d.at.Element(i)
		if e == nil && s.elem.form != formAny && s.elem.form != formPointer {
			d.wrong(s.elem, e)
		} else if e != nil {
			d.value(s.elem, f, e, v.Index(i))
		}
		d.at.Leave()
	}
}

// asSpread makes the element that a whole list stands for of a text that is one token.
func asSpread(text string) (string, bool) {
	e := onlyToken(text)
	if e == nil {
		return "", false
	}
	if e.Op == token.OpRef {
		e.Ref.Spread = true
		return token.Plain.Ref(e.Ref), true
	}
	return text, true
}

// onlyToken is the token that text is, or nil.
func onlyToken(text string) *token.Expr {
	if !token.Has(text) {
		return nil
	}
	parts, err := token.Scan(text)
	if err != nil || len(parts) != 1 {
		return nil
	}
	return parts[0].Expr
}

func (d *decoding) entries(s *shape, f *field, x any, v reflect.Value) {
	m, ok := x.(map[string]any)
	if !ok {
		d.wrong(s, x)
		return
	}
	v.Set(reflect.MakeMapWithSize(s.typ, len(m)))
	for _, k := range tree.AppendKeys(nil, m) {
		e := reflect.New(s.elem.typ).Elem()
		d.at.Enter(k)
		if m[k] != nil {
			d.value(s.elem, f, m[k], e)
		} else if s.elem.form != formAny && s.elem.form != formPointer {
			d.wrong(s.elem, nil)
		}
		d.at.Leave()
		v.SetMapIndex(reflect.ValueOf(k).Convert(s.typ.Key()), e)
	}
}

func (d *decoding) scalar(s *shape, f *field, x any, v reflect.Value) {
	text, isText := x.(string)
	if isText && token.Has(text) && s.form != formText && s.form != formSecret {
		d.reference(s, text, v)
		return
	}
	var n float64
	var ok bool
	switch s.form {
	case formText, formSecret:
		if text, ok = printed(x); ok {
			v.SetString(text)
			d.enum(f, text)
			d.length(f, text)
			return
		}
	case formBool:
		var b bool
		if b, ok = x.(bool); ok {
			v.SetBool(b)
		}
	case formTokenBool:
		var b bool
		if b, ok = x.(bool); ok {
			v.SetString(string(token.Of(b)))
		}
	case formDuration, formTokenDuration:
		span, err := token.ParseDuration(text)
		if ok = isText && err == nil; ok {
			n = float64(span)
			setDuration(s, v, span)
		} else if errors.Is(err, token.ErrTooLong) {
			d.fail("is out of range", "")
			return
		}
	case formSize:
		size, err := ParseSize(text)
		if ok = isText && err == nil; ok {
			n = float64(size)
			v.SetInt(int64(size))
		}
	default:
		if n, ok = setNumber(s, x, v); ok && math.IsNaN(n) {
			d.fail("is out of range", "")
			return
		}
	}
	if !ok {
		d.wrong(s, x)
		return
	}
	d.bounds(f, n)
}

func setDuration(s *shape, v reflect.Value, span time.Duration) {
	if s.form == formTokenDuration {
		v.SetString(string(token.Dur(span)))
	} else {
		v.SetInt(int64(span))
	}
}

// setNumber sets a number and returns its size; it is not a number when the type cannot hold it.
func setNumber(s *shape, x any, v reflect.Value) (float64, bool) {
	if f, ok := x.(float64); ok {
		if s.form == formFloat {
			v.SetFloat(f)
			return f, true
		}
		if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return 0, false
		}
		x = int64(f)
	}
	i, ok := x.(int64)
	if !ok {
		return 0, false
	}
	switch s.form {
	case formFloat:
		v.SetFloat(float64(i))
	case formTokenInt:
		v.SetString(string(token.Num(i)))
	case formUint:
		if i < 0 || v.OverflowUint(uint64(i)) {
			return math.NaN(), true
		}
		v.SetUint(uint64(i))
	default:
		if v.OverflowInt(i) {
			return math.NaN(), true
		}
		v.SetInt(i)
	}
	return float64(i), true
}

// reference takes a text with tokens where no text is wanted.
func (d *decoding) reference(s *shape, text string, v reflect.Value) {
	switch {
	case !s.takesRef():
		d.fail(fmt.Sprintf("takes no reference: its Go type is %s, not athanor.Int, Bool or Duration", s.typ), "")
	case onlyToken(text) == nil:
		d.fail("want "+s.wants()+" or one reference, have text with a reference in it", "")
	default:
		v.SetString(text)
	}
}

// printed is what text may be: text itself, or a whole number or truth as it is written.
func printed(x any) (string, bool) {
	switch x := x.(type) {
	case string:
		return x, true
	case int64:
		return strconv.FormatInt(x, 10), true
	case bool:
		return strconv.FormatBool(x), true
	}
	return "", false
}

// wrong tells what is wanted and what kind of value is there, never the value.
func (d *decoding) wrong(s *shape, x any) {
	have, hint := haveKind(x), ""
	switch _, isText := x.(string); {
	case isText && token.Has(x.(string)):
		d.fail("takes no reference as a whole", "give its entries")
		return
	case isText && (s.form == formDuration || s.form == formTokenDuration || s.form == formSize):
		have = "text that is none"
	case s.form == formText || s.form == formSecret:
		if _, ok := x.(float64); ok {
			hint = "write it in quotes"
		}
	}
	d.fail("want "+s.wants()+", have "+have, hint)
}

// wants names the shape for people.
func (s *shape) wants() string {
	switch s.form {
	case formText, formSecret:
		return "text"
	case formBool, formTokenBool:
		return "true or false"
	case formInt, formUint, formTokenInt:
		return "a whole number"
	case formFloat:
		return "a number"
	case formDuration, formTokenDuration:
		return "a duration such as 90s"
	case formSize:
		return "a size such as 256KiB"
	case formList:
		return "a list"
	case formPointer:
		return s.elem.wants()
	case formMap:
		return "a map"
	}
	return "an object"
}

func haveKind(x any) string {
	switch x.(type) {
	case nil:
		return "nothing"
	case bool:
		return "true or false"
	case int64:
		return "a number"
	case float64:
		return "a fraction"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", x)
}
