package gocode

import (
	"errors"
	"fmt"
	gotoken "go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// errUnfit is matched by errors about a value that no expression of a Go type has.
var errUnfit = errors.New("the value does not fit the Go type")

// predeclared are names of the language that a variable would hide and that programs here use.
var predeclared = map[string]bool{"string": true, "int": true, "bool": true, "any": true, "new": true, "true": true, "false": true, "nil": true, "map": true, "error": true}

func isReserved(name string) bool { return gotoken.IsKeyword(name) || predeclared[name] }

// expressing writes the values of one declaration.
type expressing struct {
	*writer
	// each are the types of the values of the For around it, found where they are used; nil outside.
	each map[string]reflect.Type
}

// expression is a value outside any For. A nil type takes any value.
func (w *writer) expression(v any, t reflect.Type) (string, error) {
	return (&expressing{writer: w}).value(v, t, false)
}

func unfit(v any, t reflect.Type) error { return fmt.Errorf("%w: %T for %v", errUnfit, v, t) }

// value is a value as an expression of a type. elide leaves out the name of the type of a composite.
func (x *expressing) value(v any, t reflect.Type, elide bool) (string, error) {
	if t != nil && t.Kind() == reflect.Interface {
		t = nil
	}
	if each, ok := v.(from.Each); ok && each.Name != "" && x.each != nil {
		return x.valueOfEach(each.Name, t)
	}
	if code, of, ok, err := x.dynamic(v); ok || err != nil {
		if err != nil {
			return "", err
		}
		return x.converted(code, of, t)
	}
	switch {
	case t == nil:
		return x.free(v)
	case t.Kind() == reflect.Pointer:
		return x.pointer(v, t.Elem(), elide)
	case t.Kind() == reflect.Struct:
		return x.object(v, t, elide)
	case t.Kind() == reflect.Slice:
		return x.list(v, t, elide)
	case t.Kind() == reflect.Map:
		return x.entries(v, t, elide)
	}
	return x.scalar(v, t)
}

// valueOfEach is a value of the entry at hand. All its uses must want one type.
func (x *expressing) valueOfEach(name string, t reflect.Type) (string, error) {
	if t == nil {
		t = reflect.TypeFor[any]()
	}
	if have := x.each[name]; have != nil && have != t {
		return "", fmt.Errorf("%w: each.%s is wanted as %v and as %v", errUnfit, name, have, t)
	}
	x.each[name] = t
	return "each." + camel(name), nil
}

var textType = reflect.TypeFor[string]()

// dynamic is a value that stands for another one: its expression, and the type that this has.
func (x *expressing) dynamic(v any) (code string, of reflect.Type, ok bool, err error) {
	switch v := v.(type) {
	case from.Path:
		text, _ := from.Placed(v, x.base).(string)
		return strconv.Quote(text), textType, true, nil
	case from.Each:
		return "key", textType, true, nil
	case from.Config:
		return x.variable("config", v.Name), configType(x.stack.Config[v.Name]), true, nil
	case from.SecretRef:
		return x.variable("secret", v.Name), reflect.TypeFor[token.Secret](), true, nil
	case from.Ref:
		code, of, err = x.reference(v)
		return code, of, true, err
	case from.Text:
		code, err = x.text(v)
		return code, textType, true, err
	}
	return "", nil, false, nil
}

// variable is that of a config or a secret.
func (w *writer) variable(what, name string) string {
	key := what + " " + name
	if w.variables[key] == "" {
		w.variables[key] = w.unique(camel(name))
	}
	return w.variables[key]
}

// text joins the parts of a text.
func (x *expressing) text(v from.Text) (string, error) {
	var parts []string
	for _, part := range v.Parts {
		if part == "" {
			continue
		}
		code, err := x.value(part, textType, false)
		if err != nil {
			return "", err
		}
		parts = append(parts, code)
	}
	if len(parts) == 0 {
		return `""`, nil
	}
	return strings.Join(parts, " + "), nil
}

// reference is an attribute of what is declared before.
func (x *expressing) reference(r from.Ref) (string, reflect.Type, error) {
	to, key := x.entryOf(r.Address)
	if to == nil {
		return "", nil, fmt.Errorf("nothing is declared as %q", r.Address)
	}
	x.referred = append(x.referred, to.variable)
	code := to.variable
	if len(to.For) > 0 {
		if to.For[key] == nil {
			return "", nil, fmt.Errorf("nothing is declared as %q", r.Address)
		}
		code += "[" + strconv.Quote(key) + "]"
	}
	if to.attrs == nil {
		return code + ".Attr(" + strconv.Quote(r.Attribute) + ")", textType, nil
	}
	of := to.attrs
	for name := range strings.SplitSeq(r.Attribute, ".") {
		fields, err := fieldsOf(of)
		if err != nil {
			return "", nil, err
		}
		f, ok := fields[name]
		if !ok {
			return "", nil, fmt.Errorf("%s has no attribute %q in Go", to.Kind, r.Attribute)
		}
		code, of = code+"."+f.Name, f.Type
	}
	return code, of, nil
}

// converted is an expression of one type as one of another.
func (x *expressing) converted(code string, of, to reflect.Type) (string, error) {
	switch {
	case of == to || to == nil:
		return code, nil
	case to.Kind() == reflect.Pointer:
		inner, err := x.converted(code, of, to.Elem())
		return "new(" + inner + ")", err
	case of == nil || of.Kind() == reflect.Interface:
		if to.Kind() != reflect.String {
			return "", unfit(code, to)
		}
		return x.converted(code+".(string)", textType, to)
	case of.Kind() == reflect.String && to.Kind() == reflect.String:
		if strings.HasPrefix(code, `"`) && !strings.Contains(code, " + ") {
			return code, nil
		}
		return x.typeName(to) + "(" + code + ")", nil
	}
	return "", unfit(code, to)
}

// free is a value where any may stand.
func (x *expressing) free(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "nil", nil
	case string:
		return strconv.Quote(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case map[string]any:
		return x.entries(v, reflect.TypeFor[map[string]any](), false)
	case []any:
		return x.list(v, reflect.TypeFor[[]any](), false)
	case []string:
		return x.list(v, reflect.TypeFor[[]string](), false)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".eE") {
			text += ".0"
		}
		return text, nil
	}
	if n, ok := whole(v); ok {
		return strconv.FormatInt(n, 10), nil
	}
	return "", unfit(v, nil)
}

// whole is a whole number.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

func (x *expressing) pointer(v any, t reflect.Type, elide bool) (string, error) {
	inner, err := x.value(v, t, elide)
	if err != nil {
		return "", err
	}
	if t.Kind() == reflect.Struct {
		if elide {
			return inner, nil
		}
		return "&" + inner, nil
	}
	constant := t == textType || t.Kind() == reflect.Bool && t.Name() == "bool" || t == reflect.TypeFor[int]() ||
		t == reflect.TypeFor[time.Duration]() && strings.Contains(inner, "time.") || t.PkgPath() == reflect.TypeFor[token.Int]().PkgPath()
	if !constant && !strings.HasPrefix(inner, x.typeName(t)) {
		inner = x.typeName(t) + "(" + inner + ")"
	}
	return "new(" + inner + ")", nil
}

// scalar is a literal.
func (x *expressing) scalar(v any, t reflect.Type) (string, error) {
	text, isText := v.(string)
	n, isWhole := whole(v)
	switch {
	case t == reflect.TypeFor[time.Duration]() && isText:
		return x.span(text)
	case t == reflect.TypeFor[token.Duration]() && isText:
		span, err := x.span(text)
		return x.root() + ".Dur(" + span + ")", err
	case t == reflect.TypeFor[token.Int]() && isWhole:
		return fmt.Sprintf("%s.Num(%d)", x.root(), n), nil
	case t == reflect.TypeFor[token.Bool]():
		if on, ok := v.(bool); ok {
			return x.root() + map[bool]string{true: ".True", false: ".False"}[on], nil
		}
	case t == reflect.TypeFor[props.Size]() && isText:
		size, err := props.ParseSize(text)
		if err != nil {
			return "", unfit(v, t)
		}
		if mib := int64(1 << 20); int64(size)%mib == 0 && size > 0 {
			return fmt.Sprintf("%d << 20", int64(size)/mib), nil
		}
		return strconv.FormatInt(int64(size), 10), nil
	case t == reflect.TypeFor[token.Int]() || t == reflect.TypeFor[token.Duration]():
	case t.Kind() == reflect.String && isText:
		return strconv.Quote(text), nil
	case t.Kind() == reflect.Bool:
		if on, ok := v.(bool); ok {
			return strconv.FormatBool(on), nil
		}
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && isWhole && t.Name() != "Duration":
		return strconv.FormatInt(n, 10), nil
	case t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32:
		if f, ok := v.(float64); ok {
			return strconv.FormatFloat(f, 'g', -1, 64), nil
		}
		if isWhole {
			return strconv.FormatInt(n, 10), nil
		}
	}
	return "", unfit(v, t)
}

// span is a duration in the largest unit that divides it.
func (x *expressing) span(text string) (string, error) {
	d, err := token.ParseDuration(text)
	if err != nil {
		return "", unfit(text, reflect.TypeFor[time.Duration]())
	}
	if d == 0 {
		return "0", nil
	}
	pkg := x.nameOfPackage("time")
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second}, {"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond}} {
		if d == unit.size {
			return pkg + "." + unit.name, nil
		}
		if d%unit.size == 0 {
			return fmt.Sprintf("%d * %s.%s", d/unit.size, pkg, unit.name), nil
		}
	}
	return fmt.Sprintf("%d * %s.Nanosecond", d, pkg), nil
}

// list is a slice.
func (x *expressing) list(v any, t reflect.Type, elide bool) (string, error) {
	var all []any
	switch v := v.(type) {
	case []any:
		all = v
	case []string:
		for _, text := range v {
			all = append(all, text)
		}
	default:
		return "", unfit(v, t)
	}
	var items []string
	for _, one := range all {
		if ref, ok := one.(from.Ref); ok { // of which a list would take its place
			if _, of, err := x.reference(ref); err == nil && of != nil && of.Kind() == reflect.Slice {
				return "", unfit(v, t)
			}
		}
		text, err := x.value(one, t.Elem(), elides(t.Elem()))
		if err != nil {
			return "", err
		}
		items = append(items, text)
	}
	return composite(x.literalType(t, elide), items), nil
}

// entries is a map.
func (x *expressing) entries(v any, t reflect.Type, elide bool) (string, error) {
	all, ok := v.(map[string]any)
	if !ok || t.Key().Kind() != reflect.String {
		return "", unfit(v, t)
	}
	var items []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text, err := x.value(all[key], t.Elem(), elides(t.Elem()))
		if err != nil {
			return "", err
		}
		items = append(items, strconv.Quote(key)+": "+text)
	}
	return composite(x.literalType(t, elide), items), nil
}

// object is a struct.
func (x *expressing) object(v any, t reflect.Type, elide bool) (string, error) {
	all, ok := v.(map[string]any)
	if !ok {
		return "", unfit(v, t)
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return "", err
	}
	var items []string
	embedded := map[string][]string{}
	var owners []reflect.StructField
	for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b string) int { return slices.Compare(fields[a].Index, fields[b].Index) }) {
		f, ok := fields[name]
		if !ok {
			return "", fmt.Errorf("%w: %v has no field for %s", errUnfit, t, name)
		}
		if all[name] == nil {
			continue
		}
		text, err := x.value(all[name], f.Type, false)
		if err != nil {
			return "", err
		}
		switch len(f.Index) {
		case 1:
			items = append(items, f.Name+": "+text)
		case 2:
			owner := t.Field(f.Index[0])
			if embedded[owner.Name] == nil {
				owners = append(owners, owner)
			}
			embedded[owner.Name] = append(embedded[owner.Name], f.Name+": "+text)
		default:
			return "", fmt.Errorf("%w: %s of %v is embedded twice", errUnfit, f.Name, t)
		}
	}
	for _, owner := range owners {
		items = append(items, owner.Name+": "+composite(x.typeName(owner.Type), embedded[owner.Name]))
	}
	return composite(x.literalType(t, elide), items), nil
}

// elides reports whether the elements of a list or map leave out the name of their type.
func elides(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

func (x *expressing) literalType(t reflect.Type, elide bool) string {
	if elide {
		return ""
	}
	return x.typeName(t)
}

// fieldsOf are the fields of a struct by the names that they have in a tree.
func fieldsOf(t reflect.Type) (map[string]reflect.StructField, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%w: %v is no struct", errUnfit, t)
	}
	all, err := props.Fields(t, nil)
	if err != nil {
		return nil, err
	}
	fields := map[string]reflect.StructField{}
	for _, f := range all {
		steps := f.Path.Steps()
		if sf, ok := t.FieldByName(f.Go); ok && len(steps) > 0 {
			fields[steps[len(steps)-1].Key] = sf
		}
	}
	return fields, nil
}

// longestLine bounds the composites that stand on one line.
const longestLine = 90

// composite is a literal of several items, on one line where it is short.
func composite(typ string, items []string) string {
	line := typ + "{" + strings.Join(items, ", ") + "}"
	if len(line) <= longestLine && !strings.Contains(line, "\n") {
		return line
	}
	return typ + "{\n" + strings.Join(items, ",\n") + ",\n}"
}
