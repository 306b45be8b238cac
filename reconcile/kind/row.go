package kind

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// row is one prop of a table.
type row struct {
	name  string
	path  tree.Path
	index []int
	// group is the path of the struct of which it is a member that counts by itself, "" for others.
	group tree.Path
	typ   reflect.Type // of the field, without its pointer
	// optional: the field is a pointer.
	optional bool
	// wire is the service's name, "-" for a prop that the table compares only, "" for one that is left to code.
	wire, call string
	codec      *Codec
	// unit is what one of the service's units is of the field's.
	unit     int64
	standard reflect.Value // the default, invalid without one

	immutable, deferrable, needsReady, maskLive, writeOnly, set, whole bool
	// elements: the structs in the list or map have a table of their own. omitZero: zero is not sent.
	elements, omitZero bool

	needs, with, excludes condition
	// nested are the members of a struct, or of the structs in a list or map.
	nested []*row
}

// condition is another prop of the same struct.
type condition struct {
	name string
	row  *row
}

// reader makes the rows of a struct type.
type reader struct {
	codecs []Codec
	// inList: the struct is an element of a list or map. inWire: it is sent as one document. inside: it is in another struct.
	inList, inWire, inside bool
}

// rows are those of a struct type below a path.
func (in reader) rows(t reflect.Type, at tree.Path) ([]*row, error) {
	tags, err := props.Tags(t)
	if err != nil {
		return nil, err
	}
	var rows, members []*row
	for _, tag := range tags {
		if slices.Contains(strings.Split(tag.Field.Tag.Get("prop"), ","), "each") {
			more, err := in.each(tag, at)
			if err != nil {
				return nil, err
			}
			members = append(members, more...)
			rows = append(rows, more...)
			continue
		}
		r := &row{name: tag.Name, path: at.Key(tag.Name), index: tag.Field.Index, typ: tag.Field.Type, unit: 1}
		if r.optional = r.typ.Kind() == reflect.Pointer; r.optional {
			r.typ = r.typ.Elem()
		}
		if err := in.row(r, tag.Field.Tag, t); err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
		}
		rows = append(rows, r)
	}
	for _, r := range rows {
		if slices.Contains(members, r) {
			continue // its conditions are about its own struct
		}
		for _, c := range []*condition{&r.needs, &r.with, &r.excludes} {
			if err := c.find(r, rows); err != nil {
				return nil, fmt.Errorf("%s: %w", r.path, err)
			}
		}
	}
	return rows, apart(rows)
}

// each are the rows of a struct whose members are compared by themselves, at their own paths. Its wire tag stands before
// those of its members: with a dot between them, or without one where it ends in *.
func (in reader) each(tag props.Tagged, at tree.Path) ([]*row, error) {
	path, wire := at.Key(tag.Name), tag.Field.Tag.Get("wire")
	t := pointedType(tag.Field.Type)
	switch words := strings.Split(tag.Field.Tag.Get("prop"), ","); {
	case t.Kind() != reflect.Struct || in.inside:
		return nil, fmt.Errorf("%s: tag \"each\": means nothing for what is no struct at the top", path)
	case wire == "" || strings.ContainsAny(wire, ",-"):
		return nil, fmt.Errorf("%s: tag \"each\": want the wire name of the struct", path)
	case len(words) > 2 || len(words) == 2 && !slices.Contains(words, "required"):
		return nil, fmt.Errorf("%s: tag \"each\": what else there is to say, its members say", path)
	}
	before, joined := strings.CutSuffix(wire, "*")
	if !joined {
		before += "."
	}
	rows, err := in.rows(t, path)
	for _, r := range rows {
		r.index, r.group = slices.Concat(tag.Field.Index, r.index), tree.Path(tag.Name).Join(r.group)
		if r.sent() {
			r.wire = before + r.wire
		}
	}
	return rows, err
}

func (c *condition) find(r *row, rows []*row) error {
	if c.name == "" {
		return nil
	}
	i := slices.IndexFunc(rows, func(o *row) bool { return o.name == c.name && o != r })
	if i < 0 {
		return fmt.Errorf("it depends on %q, which is no other prop", c.name)
	}
	c.row = rows[i]
	return nil
}

// apart finds two props that would write the same attribute.
func apart(rows []*row) error {
	for i, r := range rows {
		for _, o := range rows[:i] {
			if r.sent() && o.sent() && (r.wire == o.wire || strings.HasPrefix(r.wire, o.wire+".") || strings.HasPrefix(o.wire, r.wire+".")) {
				return fmt.Errorf("%s: its wire name %q and that of %s, %q, are one attribute", r.path, r.wire, o.name, o.wire)
			}
		}
	}
	return nil
}

// sent reports whether the table reads and writes the prop.
func (r *row) sent() bool { return r.wire != "" && r.wire != "-" }

func (in reader) row(r *row, tag reflect.StructTag, owner reflect.Type) error {
	wire, tagged := tag.Lookup("wire")
	switch {
	case tagged && wire == "":
		return fmt.Errorf("its wire tag is empty: give a name, or - for a prop that the table compares only")
	case tagged && in.inside && !in.inWire:
		return fmt.Errorf("its wire tag means nothing in a struct that the table does not send")
	case !tagged && in.inWire:
		return fmt.Errorf("it has no wire name in a struct that is sent as one document")
	}
	if err := r.parseWire(wire, in.codecs); err != nil {
		return err
	}
	if number := reflect.Zero(r.typ); r.omitZero && (r.optional || !r.sent() || !number.CanInt() && !number.CanFloat() && r.typ.Kind() != reflect.Bool) {
		return fmt.Errorf("omitzero means nothing for what the table does not send, or what is no plain number or boolean")
	}
	if in.inWire && (!r.sent() || r.call != "") {
		return fmt.Errorf("want a wire name alone in a struct that is sent as one document")
	}
	if r.typ == reflect.TypeFor[time.Duration]() && r.wire != "" {
		r.unit = int64(time.Second)
	}
	for word := range strings.SplitSeq(tag.Get("prop"), ",") {
		if err := in.word(r, word, owner); err != nil {
			return fmt.Errorf("tag %q: %w", word, err)
		}
	}
	if err := errorOr(contradiction(r, tag.Get("prop")), r.checkForm); err != nil {
		return err
	}
	return in.members(r)
}

// contradiction finds words of which one makes the other mean nothing.
func contradiction(r *row, prop string) error {
	words := strings.Split(prop, ",")
	required := slices.Contains(words, "required")
	said := func(key string) string {
		return words[slices.IndexFunc(words, func(w string) bool { k, _, _ := strings.Cut(w, "="); return k == key })]
	}
	names := slices.DeleteFunc([]string{r.needs.name, r.with.name, r.excludes.name}, func(name string) bool { return name == "" })
	switch {
	case required && r.standard.IsValid():
		return fmt.Errorf("tag %q: means nothing for what is required", said("default"))
	case r.standard.IsValid() && r.unit > 1 && r.standard.CanInt() && r.standard.Int()%r.unit != 0:
		return fmt.Errorf("tag %q: want %s", said("default"), r.units())
	case r.deferrable && r.immutable:
		return fmt.Errorf("tag \"deferrable\": means nothing for what is immutable: nothing can set it afterwards")
	case r.maskLive && r.writeOnly:
		return fmt.Errorf("tag \"masklive\": means nothing for what is write-only: nothing shows live entries")
	case r.immutable && r.call != "":
		return fmt.Errorf("call=%s means nothing for what is immutable: nothing sets it", r.call)
	case required && (r.needs.name != "" || r.excludes.name != ""):
		return fmt.Errorf("it is required, and counts with %s alone or without it", cmp.Or(r.needs.name, r.excludes.name))
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("it depends on %q in two ways", name)
		}
	}
	return nil
}

// parseWire reads the wire tag: NAME[,CODEC][,call=OPERATION][,elements][,omitzero].
func (r *row) parseWire(tag string, codecs []Codec) error {
	r.wire, tag, _ = strings.Cut(tag, ",")
	for word := range strings.FieldsFuncSeq(tag, func(c rune) bool { return c == ',' }) {
		if call, ok := strings.CutPrefix(word, "call="); ok {
			r.call = call
			continue
		}
		if flag := map[string]*bool{"elements": &r.elements, "omitzero": &r.omitZero}[word]; flag != nil {
			*flag = true
			continue
		}
		i := slices.IndexFunc(codecs, func(c Codec) bool { return c.Name == word })
		if i < 0 {
			return fmt.Errorf("codec %q is not known to the table", word)
		}
		r.codec = &codecs[i]
	}
	return nil
}

// members reads the structs within a prop.
func (in reader) members(r *row) (err error) {
	t, at, list := r.typ, r.path, in.inList
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if t.Kind() != reflect.Pointer {
			at, list = at.Any(), true
		}
		t = t.Elem()
	}
	if r.elements {
		return in.elements(r, t, at)
	}
	if t.Kind() == reflect.Struct {
		below := reader{codecs: in.codecs, inList: list, inWire: r.sent() && (r.codec == nil || r.codec.Write == nil), inside: true}
		r.nested, err = below.rows(t, at)
	}
	return err
}

// word reads one word of a prop tag. Those that are not of the table package props has read.
func (in reader) word(r *row, word string, owner reflect.Type) error {
	key, value, hasValue := strings.Cut(word, "=")
	flags := map[string]*bool{
		"immutable": &r.immutable, "deferrable": &r.deferrable, "needsready": &r.needsReady, "masklive": &r.maskLive,
		"writeonly": &r.writeOnly, "set": &r.set, "whole": &r.whole,
	}
	conditions := map[string]*string{"needs": &r.needs.name, "with": &r.with.name, "excludes": &r.excludes.name}
	switch {
	case flags[key] != nil:
		if *flags[key] = true; hasValue {
			return fmt.Errorf("takes no value")
		}
		return in.flag(r, key)
	case conditions[key] != nil:
		if *conditions[key] = value; value == "" {
			return fmt.Errorf("names no prop")
		}
		if key == "with" && r.wire == "" && !in.inWire {
			return fmt.Errorf("means nothing for a prop that code compares: it has no wire tag")
		}
		return in.outsideLists()
	case key == "unit":
		return errorOr(in.outsideLists(), func() error { return r.parseUnit(value) })
	case key == "default":
		return errorOr(in.outsideLists(), func() error { return r.parseDefault(value, owner) })
	}
	return nil
}

func errorOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// outsideLists refuses what the table does not look for in the elements of lists and maps.
func (in reader) outsideLists() error {
	if in.inList {
		return fmt.Errorf("means nothing in the elements of a list or map")
	}
	return nil
}

// flag checks that a word without a value means something for a prop.
func (in reader) flag(r *row, key string) error {
	compared := r.wire != "" && !in.inside
	switch {
	case key == "immutable" && in.inWire:
		return fmt.Errorf("means nothing for a member: the prop that it is in is compared as a whole")
	case key == "writeonly" && !compared:
		return fmt.Errorf("means nothing for what the table does not compare by itself")
	case key == "set" && (r.typ.Kind() != reflect.Slice || !compared && !in.inWire):
		return fmt.Errorf("means nothing for what is no list, or what the table does not compare")
	case key == "whole" && (r.typ.Kind() != reflect.Map || !compared):
		return fmt.Errorf("means nothing for what is no map, or what the table does not compare")
	case key == "masklive" && r.typ.Kind() != reflect.Map:
		return fmt.Errorf("means nothing for what is no map")
	}
	return nil
}

func (r *row) parseUnit(text string) error {
	var unit int64
	switch r.typ {
	case reflect.TypeFor[time.Duration]():
		d, err := token.ParseDuration(text)
		if err != nil {
			return err
		}
		unit = int64(d)
	case reflect.TypeFor[props.Size]():
		n, err := props.ParseSize(text)
		if err != nil {
			return err
		}
		unit = int64(n)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !reflect.Zero(r.typ).CanInt() {
			return fmt.Errorf("does not fit a %s", r.typ)
		}
		unit = n
	}
	if unit <= 0 {
		return fmt.Errorf("want more than 0")
	}
	r.unit = unit
	return nil
}

// parseDefault reads a default as a program would give it: it has the type of the prop, and is within its limits.
func (r *row) parseDefault(text string, owner reflect.Type) error {
	var value any = text
	if r.typ.Kind() != reflect.String {
		if v, err := tree.Decode([]byte(text)); err == nil {
			value = v
		}
	}
	switch r.typ.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct, reflect.Interface:
		return fmt.Errorf("a default of a %s is code", r.typ)
	}
	into := reflect.New(owner)
	errs, _ := errors.AsType[props.Errors](props.Decode(map[string]any{r.name: value}, into.Interface()))
	for _, e := range errs {
		if e.Path == tree.Path(r.name) {
			return fmt.Errorf("%s", e.Problem)
		}
	}
	field := into.Elem().FieldByIndex(r.index)
	if r.optional {
		field = field.Elem()
	}
	if !r.optional && !field.IsZero() {
		return fmt.Errorf("it is not the zero value, so that zero could never be declared: make the field a pointer")
	}
	r.standard = field
	return nil
}
