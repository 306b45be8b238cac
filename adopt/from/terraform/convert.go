package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// converter makes props of attributes by the fields of a kind.
type converter struct {
	line *typeLine
	// attrs are the names that the kind's attributes have: what the provider computes, and nobody sets.
	attrs []string
	// explicit: every value was given by somebody, a zero too.
	explicit bool
	// unmatched are attributes with a value that no prop has.
	unmatched []string
	// origins are the attributes that props are made of, by path. Nil: nobody asks.
	origins map[string]origin
	// silent are attributes that made nothing, by the paths of the props that they are for. Nil: nobody asks.
	silent map[string]string
}

// origin is the attribute that a prop is made of, with the value that it made.
type origin struct {
	attr  string
	value any
}

// norm is a name without case and underscores.
func norm(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// isNorm reports whether norm of a name is a text.
func isNorm(name, want string) bool {
	at := 0
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			continue
		}
		if c >= utf8.RuneSelf {
			return norm(name) == want
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if at == len(want) || want[at] != c {
			return false
		}
		at++
	}
	return at == len(want)
}

// empty reports a value that providers write for an attribute which is not set.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !empty(x) })
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// unset reports a zero value that a provider writes where nothing is set. It counts where a prop needs it, or has
// another default.
func unset(f props.Field, v any) bool {
	if f.Required {
		return false
	}
	switch v := v.(type) {
	case bool:
		return !v && !strings.HasPrefix(f.Default, "true")
	case json.Number:
		n, _ := v.Float64()
		first, _, _ := strings.Cut(f.Default, " ")
		return n == 0 && (f.Min != "" && f.Min != "0" || first == "" || first[0] < '1' || first[0] > '9')
	}
	return false
}

// zero reports a value that says nothing where no prop has it.
func zero(v any) bool {
	if n, ok := v.(json.Number); ok {
		f, _ := n.Float64()
		return f == 0
	}
	return v == false || empty(v)
}

// isDefault reports a value that is what the field has when it is left out.
func isDefault(f props.Field, v any) bool {
	first, _, _ := strings.Cut(f.Default, " ")
	return !f.Required && first != "" && fmt.Sprint(v) == strings.TrimRight(first, ",")
}

// lastName is the name of a field in its object.
func lastName(f props.Field) string {
	last := string(f.Path[strings.LastIndexByte(string(f.Path), '.')+1:])
	if !strings.ContainsAny(last, `[]"`) {
		return last
	}
	steps := f.Path.Steps()
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1].Key
}

// fieldNamed finds the field that a name means: as it is written, or singular where the field is plural.
func fieldNamed(fields []props.Field, name string) (props.Field, bool) {
	want := norm(name)
	spellings := [4]string{want, want + "s", want + "es", strings.TrimSuffix(want, "s")} // blocks are singular
	best, found := len(spellings), -1
	for n := range fields {
		last := lastName(fields[n])
		for rank, spelling := range spellings[:best] {
			if isNorm(last, spelling) {
				best, found = rank, n
				break
			}
		}
	}
	if found < 0 {
		return props.Field{}, false
	}
	return fields[found], true
}

// fieldAt finds the field at a path of names.
func fieldAt(fields []props.Field, path []string) (props.Field, bool) {
	var f props.Field
	for i, name := range path {
		n := slices.IndexFunc(fields, func(f props.Field) bool { return lastName(f) == name })
		if n < 0 {
			return f, i > 0 && len(f.Fields) == 0 && (strings.HasPrefix(f.Type, "map of") || f.Type == "any")
		}
		f, fields = fields[n], fields[n].Fields
	}
	return f, len(path) > 0
}

// object makes props of the attributes of an object, which is at a path of attributes and a path of props.
func (c *converter) object(fields []props.Field, attrs map[string]any, at string, under []string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		path := strings.TrimPrefix(at+"."+name, ".")
		v := attrs[name]
		if empty(v) || c.line.ignore[path] || c.renamed(out, fields, v, path, under) {
			continue
		}
		if c.nested(out, fields, v, path, under) {
			continue
		}
		f, ok := fieldNamed(fields, name)
		switch {
		case !ok && !zero(v):
			c.note(at, path)
			continue
		case !ok:
			continue
		}
		c.put(out, []string{lastName(f)}, f, v, path, append(slices.Clone(under), lastName(f)))
	}
	return out
}

// note notes an attribute that no prop has. What the provider computes is not told from what it was given, but for
// some names.
func (c *converter) note(at, path string) {
	want := norm(path)
	if at == "" && (slices.Contains([]string{"id", "arn", "tags_all", "region", "timeouts", "owner_id", "account_id"}, path) ||
		slices.ContainsFunc(c.attrs, func(attr string) bool { return isNorm(attr, want) })) {
		return
	}
	c.unmatched = append(c.unmatched, path)
}

// renamed maps an attribute by a rule of the table.
func (c *converter) renamed(out map[string]any, fields []props.Field, v any, path string, under []string) bool {
	target, ok := c.line.rename[path]
	if !ok {
		return false
	}
	names := strings.Split(target, ".")
	if len(names) > len(under) && slices.Equal(names[:len(under)], under) { // where the object is already
		names = names[len(under):]
	}
	f, ok := fieldAt(fields, names)
	if !ok {
		c.unmatched = append(c.unmatched, path)
		return true
	}
	c.put(out, names, f, v, path, append(slices.Clone(under), names...))
	return true
}

// nested goes into a block of which only parts have rules, to props of the object that the block is in.
func (c *converter) nested(out map[string]any, fields []props.Field, v any, path string, under []string) bool {
	if f, direct := fieldNamed(fields, path[strings.LastIndexByte(path, '.')+1:]); direct && len(f.Fields) > 0 {
		return false
	}
	within := false
	for attr := range c.line.rename {
		within = within || strings.HasPrefix(attr, path+".")
	}
	block, ok := one(v)
	if !within || !ok {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(block)) {
		inner := path + "." + name
		if empty(block[name]) || c.line.ignore[inner] || c.renamed(out, fields, block[name], inner, under) ||
			c.nested(out, fields, block[name], inner, under) {
			continue
		}
		if !zero(block[name]) {
			c.unmatched = append(c.unmatched, inner)
		}
	}
	return true
}

// one is a block: an object, or the only one of a list.
func one(v any) (map[string]any, bool) {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// put sets a prop, whose names lead to it, to a value that is converted.
func (c *converter) put(out map[string]any, names []string, f props.Field, v any, path string, under []string) {
	made, ok := c.value(f, f.Type, v, path, under)
	switch {
	case !ok, made == nil, isDefault(f, made):
		if !ok {
			c.unmatched = append(c.unmatched, path)
		}
		if c.silent != nil {
			c.silent[strings.Join(under, ".")] = path
		}
		return
	}
	if c.origins != nil {
		c.origins[strings.Join(under, ".")] = origin{path, made}
	}
	for _, name := range names[:len(names)-1] {
		inner, ok := out[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			out[name] = inner
		}
		out = inner
	}
	out[names[len(names)-1]] = made
}

// value converts a value to a type of field. Nil: it is not set.
func (c *converter) value(f props.Field, typ string, v any, path string, under []string) (any, bool) {
	if !c.explicit && unset(f, v) {
		return nil, true
	}
	switch typ = strings.TrimPrefix(typ, "secret "); typ {
	case "string":
		if list, ok := v.([]any); ok && len(list) == 1 {
			v = list[0]
		}
		text := textOf(v)
		return text, text != ""
	case "bool":
		switch v := v.(type) {
		case bool:
			return v, true
		case string:
			b, err := strconv.ParseBool(v)
			return b, err == nil
		}
		return nil, false
	case "int", "number":
		return number(v)
	case "duration", "size":
		n, ok := number(v)
		whole, isInt := n.(int64)
		if !ok || !isInt || whole < 0 {
			return nil, false
		}
		return measured(typ, c.unit(typ, path), whole)
	case "object":
		return c.objectOf(f, v, path, under)
	case "any":
		return plainOf(withoutNull(v)), true
	}
	if of, ok := strings.CutPrefix(typ, "list of "); ok {
		return c.list(f, of, v, path, under)
	}
	if of, ok := strings.CutPrefix(typ, "map of "); ok {
		return c.mapOf(f, of, v, path, under)
	}
	return nil, false
}

func (c *converter) objectOf(f props.Field, v any, path string, under []string) (any, bool) {
	if text, ok := v.(string); ok {
		if decoded := document(text); decoded != nil {
			v = decoded
		}
	}
	m, ok := one(v)
	if !ok {
		return nil, false
	}
	if len(f.Fields) == 0 {
		return plainOf(withoutNull(m)), true
	}
	made := c.object(f.Fields, m, path, under)
	if len(made) == 0 {
		return nil, true
	}
	return made, true
}

func (c *converter) list(f props.Field, of string, v any, path string, under []string) (any, bool) {
	if text, ok := v.(string); ok {
		if list, ok := document(text).([]any); ok {
			v = list
		}
	}
	items, ok := v.([]any)
	if m, isMap := v.(map[string]any); isMap {
		if _, keyed := fieldNamed(f.Fields, "key"); keyed && of == "object" {
			return entriesOf(f.Fields, m, "Key"), true
		}
		if _, named := fieldNamed(f.Fields, "name"); named && of == "object" {
			return entriesOf(f.Fields, m, "Name"), true
		}
		items, ok = []any{m}, true
	}
	if !ok {
		items = []any{v}
	}
	all := []any{}
	for _, item := range items {
		if empty(item) {
			continue
		}
		element := f
		element.Required = true // a zero in a list is meant
		made, ok := c.value(element, of, item, path, under)
		if !ok {
			return nil, false
		}
		if made != nil {
			all = append(all, made)
		}
	}
	if len(all) == 0 {
		return nil, true
	}
	return all, true
}

// entriesOf makes a list of names and values of a map, as the registry writes tags and dimensions.
func entriesOf(fields []props.Field, m map[string]any, name string) []any {
	key, value := name, "Value"
	for _, f := range fields {
		if norm(lastName(f)) == norm(name) {
			key = lastName(f)
		}
	}
	all := []any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(k, "aws:") {
			all = append(all, map[string]any{key: k, value: textOf(m[k])})
		}
	}
	return all
}

func (c *converter) mapOf(f props.Field, of string, v any, path string, under []string) (any, bool) {
	m, ok := one(v)
	if !ok {
		return nil, false
	}
	all := map[string]any{}
	for key, x := range m {
		if strings.HasPrefix(key, "aws:") {
			continue
		}
		if of != "string" {
			all[key] = plainOf(withoutNull(x))
			continue
		}
		element := f
		element.Required = true
		if made, ok := c.value(element, of, x, path, under); ok {
			all[key] = made
		} else if x == "" {
			all[key] = ""
		}
	}
	if len(all) == 0 {
		return nil, true
	}
	return all, true
}

// unit is that of a number: what the table says, else what the attribute's name ends in, else seconds and bytes.
func (c *converter) unit(typ, path string) string {
	if unit := c.line.units[path]; unit != "" {
		return unit
	}
	switch {
	case typ == "size":
		return "B"
	case strings.HasSuffix(path, "_days"):
		return "d"
	case strings.HasSuffix(path, "milliseconds"), strings.HasSuffix(path, "_ms"):
		return "ms"
	case strings.HasSuffix(path, "_minutes"):
		return "min"
	}
	return "s"
}

// measured is a duration or size as athanor writes it.
func measured(typ, unit string, n int64) (any, bool) {
	if typ == "size" {
		scale := map[string]int64{"B": 1, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
		if scale == 0 || n > math.MaxInt64/scale {
			return nil, false
		}
		return props.Size(n * scale).String(), true
	}
	switch unit {
	case "ms", "d":
		return fmt.Sprintf("%d%s", n, unit), true
	case "min":
		return fmt.Sprintf("%dm", n), true
	}
	return seconds(n), true
}

// seconds is a number of seconds in the largest unit that is whole.
func seconds(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%ds", n)
}

// number is a number, also of text that is one.
func number(v any) (any, bool) {
	if text, ok := v.(string); ok {
		v = json.Number(text)
	}
	return from.Number(v)
}

// document is the list or object that text is as JSON, nil where it is none.
func document(text string) any {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil
	}
	v, err := tree.Decode([]byte(text))
	if err != nil {
		return nil
	}
	return v
}

// plainOf is a value as it is, with numbers as numbers, and with documents of JSON as objects.
func plainOf(v any) any {
	return tree.Map(v, func(leaf any) any {
		switch leaf := leaf.(type) {
		case string:
			if decoded := document(leaf); decoded != nil {
				return decoded
			}
		case json.Number:
			return plainNumber(leaf)
		}
		return leaf
	})
}

// plainNumber is a number as the language has it, or its text where that would round it.
func plainNumber(n json.Number) any {
	if exact, ok := number(n); ok {
		return exact
	}
	return n.String()
}
