package awstest

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Model is a service as botocore describes it: names, types, required members, words and limits that AWS itself states.
type Model struct {
	Operations map[string]struct {
		Input         reference `json:"input"`
		Output        reference `json:"output"`
		Documentation string    `json:"documentation"`
		HTTP          struct {
			Method     string `json:"method"`
			RequestURI string `json:"requestUri"`
		} `json:"http"`
	}
	Shapes map[string]shape
}

type reference struct {
	Shape        string `json:"shape"`
	LocationName string `json:"locationName"`
	Flattened    bool   `json:"flattened"`
	// Documentation names the attributes of a map whose keys are text.
	Documentation string `json:"documentation"`
}

type shape struct {
	Type      string               `json:"type"`
	Members   map[string]reference `json:"members"`
	Required  []string             `json:"required"`
	Enum      []string             `json:"enum"`
	Min       *float64             `json:"min"`
	Max       *float64             `json:"max"`
	Pattern   string               `json:"pattern"`
	Member    reference            `json:"member"`
	Key       reference            `json:"key"`
	Value     reference            `json:"value"`
	Flattened bool                 `json:"flattened"`
	Payload   string               `json:"payload"`
}

// LoadModel reads the newest description of a service, by the name that botocore has for it, from .venv. Without it the test
// is skipped, or fails when $ATHANOR_NO_SKIP is set.
func LoadModel(t testing.TB, service string) *Model {
	t.Helper()
	root, _ := proctest.ModuleRoot()
	files, err := filepath.Glob(filepath.Join(root, ".venv", "lib", "python*", "site-packages", "botocore", "data", service, "*", "service-2.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		proctest.Missing(t, "botocore in .venv has no description of %s (task setup)", service)
	}
	file, err := os.Open(slices.Max(files))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{}
	if err := json.NewDecoder(text).Decode(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// GoldenStruct is [kindtest.GoldenStruct] for a body that the service's description is asked about first.
func GoldenStruct[P, S any](t *testing.T, table *kind.Table[P], declared map[string]any, body *S) {
	t.Helper()
	ConformStruct(t, body)
	conformBounds[P](t, table, reflect.TypeFor[S]())
	kindtest.GoldenStruct(t, table, declared, body)
}

// conformBounds holds the bounds of props to those of the members that they become. A prop of another form than the member's,
// such as a duration, is not compared.
func conformBounds[P any](t *testing.T, table *kind.Table[P], body reflect.Type) {
	t.Helper()
	service, name, ok := described(body)
	if !ok {
		for i := 0; body.Kind() == reflect.Struct && i < body.NumField(); i++ {
			if f := body.Field(i); f.Anonymous {
				conformBounds(t, table, f.Type)
			}
		}
		return
	}
	fields, err := props.Fields(reflect.TypeFor[P](), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := LoadModel(t, service)
	if operation, is := strings.CutSuffix(name, "Input"); is {
		name = cmp.Or(m.Operations[operation].Input.Shape, name)
	}
	for _, a := range table.Attributes() {
		f, at := fieldAt(fields, a.Path), m.Shapes[name]
		wire, _, _ := strings.Cut(a.Wire, ",")
		for step := range strings.SplitSeq(wire, ".") {
			_, ref := at.member(step)
			at = m.Shapes[ref.Shape]
		}
		if f == nil {
			continue
		}
		most := f.Max
		switch {
		case at.Type == "string" && f.Type == "string" && len(at.Enum)+len(f.Enum) == 0:
			most = strconv.Itoa(f.MaxLen)
		case at.Type == "list" && strings.HasPrefix(f.Type, "list of"), at.Type == "map" && strings.HasPrefix(f.Type, "map of"):
			most = strconv.Itoa(f.MaxItems)
		case at.Type != "integer" && at.Type != "long" || f.Type != "int":
			continue
		}
		if n, _ := strconv.ParseFloat(most, 64); at.Max != nil && *at.Max < 10_000 && (n == 0 || n > *at.Max) {
			t.Errorf("%s is at most %q, %s at most %v", a.Path, most, wire, *at.Max)
		}
		if n, err := strconv.ParseFloat(f.Min, 64); f.Type == "int" && at.Min != nil && (err != nil || n < *at.Min) {
			t.Errorf("%s is at least %q, %s at least %v", a.Path, f.Min, wire, *at.Min)
		}
	}
}

func fieldAt(fields []props.Field, p tree.Path) *props.Field {
	for i := range fields {
		if fields[i].Path == p {
			return &fields[i]
		}
		if f := fieldAt(fields[i].Fields, p); f != nil {
			return f
		}
	}
	return nil
}

// GoldenText is [kindtest.Golden] for attributes that are text. Each must be named in the description of one of the operations, and
// the bounds, defaults and words that it states there are those of the props.
func GoldenText[P any](t *testing.T, table *kind.Table[P], declared map[string]any, body kind.Text, service string, operations ...string) {
	t.Helper()
	m := LoadModel(t, service)
	var text strings.Builder
	for _, name := range operations {
		operation := m.Operations[name]
		for _, at := range []reference{operation.Input, operation.Output} {
			for _, ref := range m.Shapes[at.Shape].Members {
				text.WriteString(ref.Documentation)
				for _, word := range m.Shapes[m.Shapes[ref.Shape].Key.Shape].Enum {
					text.WriteString("<code>" + word + "</code>")
				}
			}
		}
	}
	says := text.String()
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !strings.Contains(says, "<code>"+name+"</code>") {
			t.Errorf("%s of %s knows no attribute %s", strings.Join(operations, ", "), service, name)
		}
	}
	conformText(t, table, says)
	kindtest.Golden(t, table, declared, kind.Text{}, body)
}

// ConformStruct checks a struct of a client, or one that embeds such, with the description of its service. A member that is
// required is only missed within others: a table need not have all of a call.
func ConformStruct(t *testing.T, body any) {
	t.Helper()
	v := reflect.ValueOf(body)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	service, name, ok := described(v.Type())
	if !ok {
		for i := range v.NumField() {
			if v.Type().Field(i).Anonymous {
				ConformStruct(t, v.Field(i).Interface())
			}
		}
		return
	}
	m := LoadModel(t, service)
	at := reference{Shape: name}
	if operation, is := strings.CutSuffix(name, "Input"); is && m.Operations[operation].Input.Shape != "" {
		at = m.Operations[operation].Input
	}
	if _, known := m.Shapes[at.Shape]; !known {
		t.Fatalf("%s has no shape %s", service, at.Shape)
	}
	for _, problem := range m.problems(at, treeOf(v), "", true) {
		t.Errorf("%s %s: %s", service, name, problem)
	}
}

// ConformTree checks the body of a call, by the names that the service has for its members.
func ConformTree(t *testing.T, service, operation string, body map[string]any) {
	t.Helper()
	m := LoadModel(t, service)
	for _, problem := range m.problems(m.Operations[operation].Input, body, "", false) {
		t.Errorf("%s %s: %s", service, operation, problem)
	}
}

// ConformXML checks the XML document that is the body of a call.
func ConformXML(t *testing.T, service, operation, body string) {
	t.Helper()
	m := LoadModel(t, service)
	input := m.Shapes[m.Operations[operation].Input.Shape]
	root := parse(t, body)
	at := input.Members[input.Payload]
	if want := at.LocationName; want != root.XMLName.Local {
		t.Errorf("%s %s: the document is called %s, want %s", service, operation, root.XMLName.Local, want)
	}
	for _, problem := range m.problems(at, m.fromXML(at, root), "", false) {
		t.Errorf("%s %s: %s", service, operation, problem)
	}
}

type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Within  []element `xml:",any"`
}

func parse(t testing.TB, body string) (root element) {
	t.Helper()
	if err := xml.Unmarshal([]byte(body), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// fromXML is a document as a tree, by the names of members; an element that no member has keeps its own.
func (m *Model) fromXML(at reference, e element) any {
	s := m.Shapes[at.Shape]
	if s.Type == "list" {
		var all []any
		for _, inner := range e.Within {
			all = append(all, m.fromXML(s.Member, inner))
		}
		return all
	}
	if s.Type != "structure" {
		return strings.TrimSpace(e.Text)
	}
	out := map[string]any{}
	for _, inner := range e.Within {
		name, member := inner.XMLName.Local, reference{}
		for n, ref := range s.Members {
			if n == name && ref.LocationName == "" || ref.LocationName == name {
				name, member = n, ref
				break
			}
		}
		if member.Shape == "" {
			name = "<" + name + ">"
		}
		if l := m.Shapes[member.Shape]; l.Type == "list" && (l.Flattened || member.Flattened) {
			all, _ := out[name].([]any)
			out[name] = append(all, m.fromXML(l.Member, inner))
			continue
		}
		out[name] = m.fromXML(member, inner)
	}
	return out
}

// described is the service and the name of a struct of a client of AWS.
func described(t reflect.Type) (service, name string, ok bool) {
	_, service, ok = strings.Cut(t.PkgPath(), "aws-sdk-go-v2/service/")
	service = strings.TrimSuffix(service, "/types")
	if other, renamed := map[string]string{"eventbridge": "events", "cloudwatchlogs": "logs"}[service]; renamed {
		service = other
	}
	return path.Base(service), t.Name(), ok
}

// treeOf is a value of a client as a tree; what is not sent is not in it.
func treeOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return treeOf(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if e := treeOf(v.Field(i)); e != nil {
				out[f.Name] = e
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		all := []any{}
		for _, e := range v.Seq2() {
			all = append(all, treeOf(e))
		}
		return all
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		out := map[string]any{}
		for k, e := range v.Seq2() {
			out[k.String()] = treeOf(e)
		}
		return out
	case reflect.String:
		if v.String() == "" && v.Type().PkgPath() != "" {
			return nil // a word that is not set
		}
		return v.String()
	}
	return v.Interface()
}

// problems is what is wrong with a value.
func (m *Model) problems(at reference, v any, where string, partial bool) (all []string) {
	s := m.Shapes[at.Shape]
	wrong := func(format string, args ...any) { all = append(all, where+": "+fmt.Sprintf(format, args...)) }
	within := func(what string, x float64) {
		if s.Min != nil && x < *s.Min || s.Max != nil && x > *s.Max {
			wrong("%s %v is out of bounds", what, x)
		}
	}
	switch s.Type {
	case "structure":
		members, ok := v.(map[string]any)
		if !ok {
			wrong("a %T, want members", v)
			return all
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			known, ref := s.member(name)
			if !known {
				wrong("%s is no member of %s", name, at.Shape)
				continue
			}
			all = append(all, m.problems(ref, members[name], where+"."+name, false)...)
		}
		for _, name := range s.Required {
			if !partial && !slices.ContainsFunc(slices.Collect(maps.Keys(members)), func(k string) bool { return strings.EqualFold(k, name) }) {
				wrong("%s is required and missing", name)
			}
		}
	case "list":
		list, ok := v.([]any)
		if !ok {
			wrong("a %T, want a list", v)
		}
		within("length", float64(len(list)))
		for i, e := range list {
			all = append(all, m.problems(s.Member, e, fmt.Sprintf("%s[%d]", where, i), false)...)
		}
	case "map":
		entries, ok := v.(map[string]any)
		if !ok {
			wrong("a %T, want a map", v)
		}
		for _, k := range slices.Sorted(maps.Keys(entries)) {
			all = append(all, m.problems(s.Key, k, where+"."+k, false)...)
			all = append(all, m.problems(s.Value, entries[k], where+"."+k, false)...)
		}
	case "string":
		text, ok := v.(string)
		if !ok {
			wrong("a %T, want text", v)
			return all
		}
		within("length", float64(len([]rune(text))))
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
			wrong("%q is none of %q", text, s.Enum)
		}
		if p, err := regexp.Compile(`^(?:` + s.Pattern + `)$`); s.Pattern != "" && err == nil && !p.MatchString(text) {
			wrong("%q does not match %s", text, s.Pattern)
		}
	case "integer", "long", "float", "double":
		x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			wrong("%v, want a number", v)
			return all
		}
		within("number", x)
	case "boolean":
		if text := fmt.Sprint(v); text != "true" && text != "false" {
			wrong("%v, want true or false", v)
		}
	}
	return all
}

// member finds a member by its name, which clients begin with a capital.
func (s shape) member(name string) (bool, reference) {
	for n, ref := range s.Members {
		if strings.EqualFold(n, name) {
			return true, ref
		}
	}
	return false, reference{}
}
