package kind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Shape is the names that a service's calls take, or that its answers show. See [Table.For].
type Shape struct {
	call, answer bool
	// members: it knows the members of documents too.
	members bool
	// has reports whether a name is there; why says what is wrong with one that is.
	has func(name string) (ok bool, why string)
}

// In is the names that a call takes. of is a struct of the client, whose fields are the names; a struct within [JSON], whose
// members are; or a list of names, such as the values of an enumeration.
func In(of any) Shape { return Shape{call: true, members: isStruct(of), has: namesOf(of)} }

// Out is the names that an answer shows. See [In].
func Out(of any) Shape { return Shape{answer: true, members: isStruct(of), has: namesOf(of)} }

// Both is the names that calls take and answers show. See [In].
func Both(of any) Shape {
	return Shape{call: true, answer: true, members: isStruct(of), has: namesOf(of)}
}

// isStruct reports a struct of a client.
func isStruct(of any) bool {
	_, json := of.(members)
	return !json && of != nil && pointedType(reflect.TypeOf(of)).Kind() == reflect.Struct
}

// JSON makes the names of a struct those of its members in JSON.
func JSON(of any) any { return members{reflect.TypeOf(of)} }

type members struct{ of reflect.Type }

func namesOf(of any) func(string) (bool, string) {
	if of == nil {
		return nil
	}
	if m, ok := of.(members); ok {
		return func(name string) (bool, string) {
			ok, _ := hasField(m.of, name, jsonField) // a client may wrap its values: a document is written without them
			return ok, ""
		}
	}
	if v := reflect.ValueOf(of); v.Kind() == reflect.Slice {
		return func(name string) (bool, string) {
			base, _, _ := strings.Cut(name, ".") // of the members of a document such a list says nothing
			for _, e := range v.Seq2() {
				if e.String() == base {
					return true, ""
				}
			}
			return false, ""
		}
	}
	return func(name string) (bool, string) { return hasField(reflect.TypeOf(of), name, reflect.Type.FieldByName) }
}

func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// timeIsText is what is wrong with a prop that is no text and whose field is a time.
const timeIsText = "there it is a time.Time, which a table writes as text alone"

// hasField looks for a dotted name in a struct.
func hasField(t reflect.Type, name string, field func(reflect.Type, string) (reflect.StructField, bool)) (bool, string) {
	for part := range strings.SplitSeq(name, ".") {
		if t = pointedType(t); t.Kind() != reflect.Struct {
			return false, ""
		}
		part, ofList := strings.CutSuffix(part, "[]")
		f, ok := field(t, part)
		if !ok || ofList && f.Type.Kind() != reflect.Slice {
			return false, ""
		}
		if t = f.Type; ofList {
			t = t.Elem()
		}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Time]() {
		return true, timeIsText
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Interface, reflect.Func, reflect.Chan:
		return true, fmt.Sprintf("there it is a %s, which a table cannot write", t)
	}
	return true, ""
}

// inShapes checks the wire names of rows against what calls take and answers show.
func inShapes(rows []*row, shapes []Shape) error {
	if slices.ContainsFunc(shapes, func(s Shape) bool { return s.has == nil }) {
		return fmt.Errorf("For: nil has no names")
	}
	calls := slices.DeleteFunc(slices.Clone(shapes), func(s Shape) bool { return !s.call })
	answers := slices.DeleteFunc(slices.Clone(shapes), func(s Shape) bool { return !s.answer })
	for _, r := range rows {
		if !r.sent() {
			continue
		}
		if err := r.among(calls, "call takes"); err != nil {
			return err
		}
		if r.writeOnly {
			continue
		}
		if err := r.among(answers, "answer shows"); err != nil {
			return err
		}
		if err := r.membersAmong(calls, answers); err != nil {
			return err
		}
	}
	return nil
}

// membersAmong checks the names of the members of a document, where all shapes know them.
func (r *row) membersAmong(calls, answers []Shape) error {
	unknown := func(s Shape) bool { return !s.members }
	if r.codec != nil || r.typ.Kind() != reflect.Struct && !r.elements || slices.ContainsFunc(calls, unknown) || slices.ContainsFunc(answers, unknown) {
		return nil
	}
	for _, n := range r.nested {
		member := *n
		if member.wire = r.wire + "." + n.wire; r.elements {
			member.wire = r.wire + "[]." + n.wire
		}
		if err := member.among(calls, "call takes"); err != nil {
			return err
		}
		if err := member.among(answers, "answer shows"); err != nil {
			return err
		}
		if err := member.membersAmong(calls, answers); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) among(shapes []Shape, what string) error {
	if len(shapes) == 0 {
		return nil
	}
	for _, s := range shapes {
		ok, why := s.has(r.wire)
		if why == timeIsText && r.typ.Kind() == reflect.String {
			why = ""
		}
		if why != "" && r.codec == nil && r.typ.Kind() != reflect.Struct && !r.elements {
			return fmt.Errorf("%s: %q: %s", r.path, r.wire, why)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("%s: no %s an attribute %q", r.path, what, r.wire)
}
