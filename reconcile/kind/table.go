package kind

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Table is the attribute table of a props struct: what the tags of its fields say. It is read once, on first use.
//
//	VisibilityTimeout *time.Duration `prop:"min=0s,max=12h,default=30s" wire:"VisibilityTimeout"`
//
// The prop tag says what the author of a program meets. Package props knows required, enum, min, max, maxlen and maxitems,
// the table the others:
//
//	default=V    the value of a prop that is left out; the field is a pointer unless V is its zero value
//	unit=V       the value is sent, and must be given, in whole units; if left out 1s for durations, 1 for sizes and numbers
//	immutable    a difference replaces the object
//	deferrable   may be left out at creation and set afterwards, so that it may close a cycle; of a map: each entry
//	needsready   what it refers to must be ready, even where the attribute is known early
//	masklive     live entries of the map that the program does not name are masked
//	whole        the map is compared as one value, and not entry by entry
//	writeonly    the service does not show it: what was last written is compared
//	each         the members of the struct, or of what it points at, are attributes of their own; its wire tag stands before
//	             theirs, with a dot between them unless it ends in *; a member may be such a struct too
//	set          the order of the list does not count
//	needs=PROP   the prop is an error where PROP is not set
//	with=PROP    the prop counts only where PROP is set
//	excludes=P   the prop counts only where P is not set, and is an error where both are
//
// The wire tag is the service's name of the attribute. A dot leads into a JSON document or a nested struct. A second word
// names a [Codec], and call=NAME the operation that sets it. With "-" the table compares the prop, and code reads and writes
// it. A prop without a wire tag code compares too: the table knows its defaults, conditions and paths. The word elements is
// for lists and maps of structs, see [CompareAt]. A creation, and a document, leave out a plain
// number or boolean with the word omitzero that is zero, as they do with empty text.
type Table[P any] struct{ table }

// table is a table without its type: code that is generic is compiled once more for each props struct.
type table struct {
	codecs []Codec
	shapes []Shape
	load   func() ([]*row, error)
}

// TableOf is the table of a props struct. What its tags say wrong, [Table.Validate] reports.
func TableOf[P any](codecs ...Codec) *Table[P] {
	t := &Table[P]{table{codecs: codecs}}
	t.load = sync.OnceValues(func() ([]*row, error) { return t.read(reflect.TypeFor[P]()) })
	return t
}

func (t *table) read(props reflect.Type) ([]*row, error) {
	rows, err := reader{codecs: t.codecs}.rows(props, "")
	if err == nil {
		err = errorOr(apartByName(t.codecs, rows), func() error { return inShapes(rows, t.shapes) })
	}
	return rows, err
}

// For says what names the service has, so that a wire name that nobody knows is an error of the definition. See [In], [Out]
// and [Both].
func (t *Table[P]) For(shapes ...Shape) *Table[P] {
	t.shapes = append(t.shapes, shapes...)
	return t
}

// Validate reports what is wrong with the tags.
func (t *Table[P]) Validate() error { _, err := t.loaded(); return err }

func (t *table) loaded() ([]*row, error) {
	if t.load == nil {
		return nil, fmt.Errorf("a table is made by TableOf")
	}
	return t.load()
}

func (t *table) rows() []*row {
	rows, err := t.loaded()
	if err != nil {
		panic("kind: " + err.Error()) // the code that registers the kind has been told
	}
	return rows
}

// Default fills in what is left out. It changes p alone, and nothing that p points at.
func (t *Table[P]) Default(p *P) { fill(t.rows(), reflect.ValueOf(p).Elem()) }

func fill(rows []*row, p reflect.Value) {
	for _, r := range rows {
		v, set := r.get(p)
		switch {
		case !set && r.standard.IsValid() && r.isThere(p):
			r.put(p, r.standard)
		case set && r.elements:
			r.put(p, r.filled(v))
		case set && v.Kind() == reflect.Struct:
			c := reflect.New(r.typ).Elem()
			c.Set(v)
			fill(r.nested, c)
			r.put(p, c)
		}
	}
}

// Check finds what the tags forbid beyond limits, in props as they were declared.
func (t *Table[P]) Check(p P) props.Errors {
	var wrong props.Errors
	check(t.rows(), reflect.ValueOf(p), &wrong)
	return wrong
}

func check(rows []*row, p reflect.Value, wrong *props.Errors) {
	for _, r := range rows {
		value, set := r.get(p)
		if !set || !r.optional && value.IsZero() {
			continue // it is not declared
		}
		switch {
		case r.needs.row != nil && !r.needs.row.isSet(p) && !r.needs.row.setByDefault(p):
			wrong.Wrong(r.path, fmt.Sprintf("it counts with %s alone, which is not set", r.needs.name))
		case r.excludes.row != nil && r.excludes.row.isSet(p) && !value.IsZero():
			wrong.Wrong(r.path, fmt.Sprintf("want either %s or %s, not both", r.name, r.excludes.name))
		case r.unit > 1 && value.CanInt() && value.Int()%r.unit != 0:
			wrong.Wrong(r.path, "want "+r.units())
		case r.elements:
			*wrong = append(*wrong, r.checkElements(value)...)
		case value.Kind() == reflect.Struct:
			check(r.nested, value, wrong)
		}
	}
}

// setByDefault reports whether a prop is left out and its default is more than its zero value.
func (r *row) setByDefault(p reflect.Value) bool {
	_, set := r.get(p)
	return !set && r.standard.IsValid() && !r.standard.IsZero()
}

// units are the whole units of a row in words.
func (r *row) units() string {
	switch {
	case r.typ != reflect.TypeFor[time.Duration]():
		return "a multiple of " + props.Size(r.unit).String()
	case r.unit == int64(time.Second):
		return "whole seconds"
	case r.unit == int64(time.Minute):
		return "whole minutes"
	case r.unit == int64(time.Hour):
		return "whole hours"
	case r.unit == int64(24*time.Hour):
		return "whole days"
	case r.unit == int64(time.Millisecond):
		return "whole milliseconds"
	}
	return "a multiple of " + time.Duration(r.unit).String()
}

// paths adds what the tags say of single paths.
func paths(rows []*row, into *reconcile.Tags) {
	for _, r := range rows {
		path := r.path
		if r.typ.Kind() == reflect.Map {
			path = path.Any() // an entry of a map is deferred by itself
		}
		if r.deferrable {
			into.Late = append(into.Late, path)
		}
		if r.needsReady {
			into.NeedsSettled = append(into.NeedsSettled, r.path)
		}
		if r.maskLive {
			into.MaskLive = append(into.MaskLive, r.path)
		}
		paths(r.nested, into)
	}
}

// Compare states every attribute of the table that counts for both objects, in the order of the struct. have is the object
// in the shape of its props. An attribute is set by the operation that its tag names, else by the first.
func Compare[P, L any](d *Diff[L], t *Table[P], want, have P, calls ...*Operation[L]) {
	compareRows(d, t, want, have, func(r *row) *Operation[L] { return operation(calls, r) })
}

// CompareEach is [Compare] for services with a call for each attribute, and another that clears it: calls are by the path of
// the attribute, or of the struct whose members are compared each. A nil call: a difference replaces this object.
func CompareEach[P, L any](d *Diff[L], t *Table[P], want, have P, calls map[tree.Path]*Operation[L]) {
	compareRows(d, t, want, have, func(r *row) *Operation[L] {
		call, given := calls[r.path]
		if !given {
			call, given = calls[r.group]
		}
		if !given {
			panic(fmt.Sprintf("kind: CompareEach was given no operation for %s", r.path))
		}
		return call
	})
}

// compareRows compares the props with a wire tag; the kind's own code compares the others. An immutable prop gets no operation, so
// that a difference in it replaces the object.
func compareRows[P, L any](d *Diff[L], t *Table[P], want, have P, callOf func(*row) *Operation[L]) {
	w, h := reflect.ValueOf(want), reflect.ValueOf(have)
	for _, r := range t.rows() {
		if r.wire == "" || !r.counts(w) || !r.writeOnly && !r.counts(h) {
			continue
		}
		var call *Operation[L]
		if !r.immutable {
			call = callOf(r)
		}
		compare(d, r, w, h, call)
	}
}

// CompareName states the name of an object that call can rename. A name that was generated is never compared.
func CompareName[L any](d *Diff[L], path tree.Path, have string, call *Operation[L]) {
	if name, given := d.Name(); given {
		reconcile.Value(d, path, name, have, call)
	}
}

func compare[L any](d *Diff[L], r *row, w, h reflect.Value, call *Operation[L]) {
	switch {
	case r.writeOnly:
		reconcile.Written(d, r.path, r.form(w), call)
	case r.typ.Kind() != reflect.Map || r.whole || call == nil:
		reconcile.Value(d, r.path, r.form(w), r.form(h), call)
	default:
		entries, _ := r.form(w).(map[string]any)
		live, _ := r.form(h).(map[string]any)
		all := maps.Clone(live)
		if all == nil {
			all = map[string]any{}
		}
		maps.Copy(all, entries)
		for _, k := range tree.AppendKeys(nil, all) {
			reconcile.Value(d, r.path.Key(k), entries[k], live[k], call)
		}
	}
}

func operation[L any](calls []*Operation[L], r *row) *Operation[L] {
	i := 0
	if r.call != "" {
		i = slices.IndexFunc(calls, func(c *Operation[L]) bool { return c.Name == r.call })
	}
	if i < 0 || len(calls) == 0 {
		panic(fmt.Sprintf("kind: %s: Compare was given no operation %q", r.path, r.call))
	}
	return calls[i]
}

// Tree is the object as code compares it that compares objects as a whole: what counts and is more than its zero value, in the
// form in which both sides are compared. Elements are as they are declared.
func (t *Table[P]) Tree(p P) map[string]any { return t.tree(reflect.ValueOf(p)) }

func (t *table) tree(v reflect.Value) map[string]any {
	out := map[string]any{}
	for _, r := range t.rows() {
		into := out
		if r.group != "" && r.isThere(v) {
			into = r.within(out)
		}
		if field, set := r.get(v); set && (r.optional || !field.IsZero()) && r.counts(v) {
			into[r.name] = r.form(v)
		}
	}
	return out
}

// Read is the object in the shape of its props. What the service does not show has its default. What it shows in a form that
// nobody could declare is an error.
func (t *Table[P]) Read(from Wire) (p P, err error) {
	err = t.readInto(&p, from)
	t.Default(&p)
	return p, err
}

func (t *table) readInto(p any, from Wire) error {
	declared := map[string]any{}
	if err := read(t.rows(), from, declared); err != nil {
		return err
	}
	return props.Load(declared, p)
}

// Created writes every attribute that counts and is set, for a creation.
func (t *Table[P]) Created(want P, into Wire) error { return t.create(reflect.ValueOf(want), into) }

func (t *table) create(p reflect.Value, into Wire) error {
	for _, r := range t.rows() {
		if r.isSent(p) {
			if err := r.write(p, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// Changed writes the attributes that are to be set, and with them those that depend on them or share their document: of
// these, one that is not to be changed keeps what the object has. What is set to nothing is cleared.
func (t *Table[P]) Changed(want, have P, changed []tree.Path, into Wire) error {
	return t.change(reflect.ValueOf(want), reflect.ValueOf(have), changed, into)
}

func (t *table) change(w, h reflect.Value, changed []tree.Path, into Wire) error {
	changes := func(r *row) bool { return r.isAmong(changed) }
	for _, r := range along(t.rows(), changes) {
		if !r.counts(w) {
			continue
		}
		from := w
		switch {
		case !changes(r) && !r.writeOnly && r.counts(h):
			from = h
		case r.hasEntries() && r.counts(h):
			from = r.mixed(w, h, changed)
		}
		if err := r.write(from, into); err != nil {
			return err
		}
	}
	return nil
}

// hasEntries reports a map that is compared entry by entry.
func (r *row) hasEntries() bool {
	return r.typ.Kind() == reflect.Map && !r.whole && !r.immutable && !r.writeOnly && r.wire != ""
}

// mixed is want with those entries of the map that are not to be changed as the object has them.
func (r *row) mixed(want, have reflect.Value, changed []tree.Path) reflect.Value {
	w, _ := r.get(want)
	h, _ := r.get(have)
	entries := reflect.MakeMap(r.typ)
	changes := func(key reflect.Value) bool {
		at := r.path.Key(key.String())
		return slices.ContainsFunc(changed, at.Overlaps)
	}
	for key, e := range w.Seq2() {
		if changes(key) {
			entries.SetMapIndex(key, e)
		}
	}
	for key, e := range h.Seq2() {
		if !changes(key) {
			entries.SetMapIndex(key, e)
		}
	}
	out := reflect.New(want.Type()).Elem()
	out.Set(want)
	r.put(out, entries)
	return out
}

// Merged is the object as it is to be: props that are to be set as wanted, all others that the table compares as the object
// has them. It is for services of which one call writes the whole object. What is write-only, or did not count for the
// object, is as wanted.
func (t *Table[P]) Merged(want, have P, changed []tree.Path) P {
	t.merge(reflect.ValueOf(&want).Elem(), reflect.ValueOf(have), changed)
	return want
}

// merge changes w.
func (t *table) merge(w, h reflect.Value, changed []tree.Path) {
	for _, r := range t.rows() {
		if r.wire == "" || r.writeOnly || !r.counts(h) {
			continue
		}
		switch changes := r.isAmong(changed); {
		case changes && r.hasEntries():
			w.Set(r.mixed(w, h, changed))
		case changes:
		case r.isThere(h):
			r.field(w).Set(h.FieldByIndex(r.index))
		case r.isThere(w):
			r.field(w).SetZero()
		}
	}
}

// isAmong reports whether one of the paths is in the row, or has the row in it.
func (r *row) isAmong(paths []tree.Path) bool {
	return slices.ContainsFunc(paths, r.path.Overlaps)
}

// along are the rows that change, and those that are written with them, in the order of the struct.
func along(rows []*row, changes func(*row) bool) []*row {
	written := map[*row]bool{}
	for grown := true; grown; {
		grown = false
		for _, r := range rows {
			if !r.sent() || written[r] {
				continue
			}
			with := func(o *row) bool {
				return r.sharesAttribute(o) && (written[o] || changes(o)) || r.dependsOn(o) && changes(o) && !r.immutable
			}
			if changes(r) && !r.immutable || slices.ContainsFunc(rows, with) {
				written[r], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !written[r] })
}

// sharesAttribute reports whether two rows are members of one attribute of the service.
func (r *row) sharesAttribute(o *row) bool {
	a, _, member := strings.Cut(r.wire, ".")
	b, _, _ := strings.Cut(o.wire, ".")
	return member && r != o && a == b
}

// Attribute is a row of a table, for documentation and tests.
type Attribute struct {
	Path tree.Path
	// Wire is the service's name: "-" and "" as in the tag. Call is the operation that sets it, "" for the first.
	Wire, Call                       string
	Immutable, Deferrable, WriteOnly bool
	// With are the props without which the attribute does not count, Without those with which it does not.
	With, Without []tree.Path
}

// Attributes are the rows, in the order of the struct.
func (t *Table[P]) Attributes() []Attribute { return t.attributes() }

func (t *table) attributes() []Attribute {
	var all []Attribute
	for _, r := range t.rows() {
		a := Attribute{
			Path: r.path, Wire: r.wire, Call: r.call, Immutable: r.immutable, Deferrable: r.deferrable, WriteOnly: r.writeOnly,
		}
		for _, c := range []condition{r.needs, r.with} {
			if c.row != nil {
				a.With = append(a.With, c.row.path)
			}
		}
		if r.excludes.row != nil {
			a.Without = append(a.Without, r.excludes.row.path)
		}
		all = append(all, a)
	}
	return all
}
