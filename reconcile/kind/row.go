package kind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

	required, immutable, deferrable, needsReady, maskLive, writeOnly, set, whole bool
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
	var each []string
	for _, tag := range tags {
		if slices.Contains(strings.Split(tag.Field.Tag.Get("prop"), ","), "each") {
			more, err := in.each(tag, at)
			if err != nil {
				return nil, err
			}
			members, each = append(members, more...), append(each, tag.Name)
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
	own := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return slices.Contains(members, r) })
	for _, r := range own { // conditions of members are about their own struct
		for _, c := range []*condition{&r.needs, &r.with, &r.excludes} {
			if err := c.find(r, own, each); err != nil {
				return nil, fmt.Errorf("%s: %w", r.path, err)
			}
		}
	}
	for _, r := range own {
		if err := r.canCount(at == ""); err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
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

// find finds the prop of a condition among those of the same struct. each are those whose members are rows.
func (c *condition) find(r *row, rows []*row, each []string) error {
	if c.name == "" {
		return nil
	}
	if slices.Contains(each, c.name) {
		return fmt.Errorf("it depends on %q, whose members count each: name a prop that does not have each, or let Check find it", c.name)
	}
	var names []string
	for _, o := range rows {
		if o != r {
			names = append(names, o.name)
		}
		if o != r && o.name == c.name {
			c.row = o
			return nil
		}
	}
	return fmt.Errorf("it depends on %q, which is no other prop%s", c.name, meant(c.name, names))
}

// meant is the name that somebody may have meant, as the end of an error.
func meant(name string, names []string) string {
	if near, ok := props.Nearest(name, names); ok {
		return ": did you mean " + near + "?"
	}
	return ""
}

// canCount refuses conditions under which a prop always counts, or never. atTop: no struct that it is in can be left out.
func (r *row) canCount(atTop bool) error {
	for _, c := range []condition{r.needs, r.with, r.excludes} {
		switch {
		case c.row == nil:
		case atTop && c.row.required && (c.row.typ.Kind() == reflect.String || c.row.typ.Kind() == reflect.Interface):
			if c.row == r.excludes.row {
				return fmt.Errorf("it depends on %s, which is required: it never counts", c.name)
			}
			return fmt.Errorf("it depends on %s, which is required: it always counts", c.name)
		case c.row != r.excludes.row && c.row.excludes.row == r:
			return fmt.Errorf("it counts with %s alone, which excludes it", c.name)
		case c.row == r.excludes.row && c.row.standard.IsValid() && !c.row.standard.IsZero():
			return fmt.Errorf("tag %q: %s has a default, so that this never counts where that is left out: let %[2]s say excludes=%s instead", "excludes="+c.name, c.name, r.name)
		}
	}
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
	ofSeconds := r.typ == reflect.TypeFor[time.Duration]() && r.wire != ""
	if ofSeconds {
		r.unit = int64(time.Second)
	}
	r.required = slices.Contains(strings.Split(tag.Get("prop"), ","), "required")
	for word := range strings.SplitSeq(tag.Get("prop"), ",") {
		if err := in.word(r, word, owner); err != nil {
			return fmt.Errorf("tag %q: %w", word, err)
		}
	}
	if err := errorOr(contradiction(r, tag.Get("prop")), r.checkForm); err != nil {
		return err
	}
	if ofSeconds && !strings.Contains(tag.Get("prop"), "unit=") {
		if err := inSeconds(tag.Get("prop")); err != nil {
			return err
		}
	}
	return in.members(r)
}

// inSeconds refuses limits of a duration that no value in whole seconds reaches, since its unit must be another one.
func inSeconds(prop string) error {
	for word := range strings.SplitSeq(prop, ",") {
		key, value, _ := strings.Cut(word, "=")
		if d, err := token.ParseDuration(value); (key == "min" || key == "max") && err == nil && d%time.Second != 0 {
			return fmt.Errorf("tag %q: the service is sent whole seconds: say what it takes, as in unit=1ms", word)
		}
	}
	return nil
}

// contradiction finds words of which one makes the other mean nothing.
func contradiction(r *row, prop string) error {
	words := strings.Split(prop, ",")
	said := func(key string) string {
		return words[slices.IndexFunc(words, func(w string) bool { k, _, _ := strings.Cut(w, "="); return k == key })]
	}
	names := slices.DeleteFunc([]string{r.needs.name, r.with.name, r.excludes.name}, func(name string) bool { return name == "" })
	switch {
	case r.required && r.standard.IsValid():
		return fmt.Errorf("tag %q: means nothing for what is required", said("default"))
	case r.standard.IsValid() && r.unit > 1 && r.standard.CanInt() && r.standard.Int()%r.unit != 0:
		return fmt.Errorf("tag %q: want %s", said("default"), r.units())
	case r.deferrable && r.immutable:
		return fmt.Errorf("tag \"deferrable\": means nothing for what is immutable: nothing can set it afterwards")
	case r.maskLive && r.writeOnly:
		return fmt.Errorf("tag \"masklive\": means nothing for what is write-only: nothing shows live entries")
	case r.immutable && r.call != "":
		return fmt.Errorf("call=%s means nothing for what is immutable: nothing sets it", r.call)
	case r.required && (r.needs.name != "" || r.excludes.name != ""):
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
	name, rest, more := strings.Cut(tag, ",")
	if r.wire = name; name != "" && slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return part == "" || strings.ContainsAny(part, " \t\n") }) {
		return fmt.Errorf("its wire name %q: want words with a dot between them", name)
	}
	flags := map[string]*bool{"elements": &r.elements, "omitzero": &r.omitZero}
	for more {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		if err := r.wireWord(word, flags, codecs); err != nil {
			return err
		}
	}
	switch {
	case r.wire == "" && r.codec != nil:
		return fmt.Errorf("codec %q means nothing for a prop that code compares", r.codec.Name)
	case r.wire == "" && r.call != "":
		return fmt.Errorf("call=%s means nothing for a prop that code compares", r.call)
	}
	return nil
}

// wireWord reads one word after the name.
func (r *row) wireWord(word string, flags map[string]*bool, codecs []Codec) error {
	call, isCall := strings.CutPrefix(word, "call=")
	codec := slices.IndexFunc(codecs, func(c Codec) bool { return c.Name == word })
	switch flag := flags[word]; {
	case isCall && r.call != "":
		return fmt.Errorf("its wire tag says call= twice")
	case isCall && call == "":
		return fmt.Errorf("call= names no operation")
	case isCall:
		r.call = call
	case flag != nil && *flag:
		return fmt.Errorf("its wire tag says %s twice", word)
	case flag != nil:
		*flag = true
	case codec < 0:
		return unknownCodec(word, flags, codecs)
	case r.codec != nil:
		return fmt.Errorf("its wire tag names the codecs %q and %q", r.codec.Name, word)
	default:
		r.codec = &codecs[codec]
	}
	return nil
}

// unknownCodec is about a word of a wire tag that means nothing.
func unknownCodec(word string, flags map[string]*bool, codecs []Codec) error {
	names := slices.Sorted(maps.Keys(flags))
	for _, c := range codecs {
		names = append(names, c.Name)
	}
	hint := meant(word, names)
	switch key, _, given := strings.Cut(word, "="); {
	case given && strings.EqualFold(strings.TrimSpace(key), "call"):
		hint = ": did you mean call=?"
	case hint == "":
		hint = ": want elements, omitzero, call=OPERATION, or the name of a codec that TableOf is given"
	}
	return fmt.Errorf("codec %q is not known to the table%s", word, hint)
}

// apartByName refuses codecs that no wire tag names or could name, and those that do nothing.
func apartByName(codecs []Codec, rows []*row) error {
	for i, c := range codecs {
		switch {
		case c.Name == "":
			return fmt.Errorf("a codec has no name")
		case slices.ContainsFunc(codecs[i+1:], func(o Codec) bool { return o.Name == c.Name }):
			return fmt.Errorf("two codecs are named %q", c.Name)
		case c.Write == nil && c.Read == nil && c.Form == nil:
			return fmt.Errorf("codec %q does nothing: give it Write, Read or Form", c.Name)
		case !named(rows, c.Name):
			return fmt.Errorf("codec %q is named by no wire tag: name it where it is for, as in wire:\"NAME,%s\", or do not give it to TableOf", c.Name, c.Name)
		}
	}
	return nil
}

// named reports whether the wire tag of a row, or of a member, names a codec.
func named(rows []*row, codec string) bool {
	return slices.ContainsFunc(rows, func(r *row) bool { return r.codec != nil && r.codec.Name == codec || named(r.nested, codec) })
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
	key, value, _ := strings.Cut(word, "=")
	flags := map[string]*bool{
		"immutable": &r.immutable, "deferrable": &r.deferrable, "needsready": &r.needsReady, "masklive": &r.maskLive,
		"writeonly": &r.writeOnly, "set": &r.set, "whole": &r.whole,
	}
	conditions := map[string]*string{"needs": &r.needs.name, "with": &r.with.name, "excludes": &r.excludes.name}
	switch {
	case flags[key] != nil:
		*flags[key] = true
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
	case (key == "deferrable" || key == "needsready") && !mayRefer(r.typ):
		return fmt.Errorf("means nothing for a %s, which holds no reference", r.typ)
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

// mayRefer reports whether a value of a type may hold references.
func mayRefer(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Struct || t.Kind() == reflect.Interface
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
