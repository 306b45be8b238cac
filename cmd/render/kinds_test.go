package render

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestKindShowsBounds(t *testing.T) {
	type bounded struct {
		Name    string         `prop:"required,maxlen=80"`
		Timeout *time.Duration `prop:"min=0s,max=12h,default=30s"`
		Retries *int           `prop:"min=1"`
		Size    *int           `prop:"max=2048,immutable"`
		Labels  []string       `prop:"maxitems=5,maxlen=20"`
	}
	fields, err := props.Fields(reflect.TypeFor[bounded](), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	Kind(&out, "house.Lamp", &reconcile.Spec{Doc: "A lamp."}, fields, nil)
	for _, line := range []string{
		"  name  string  (required, at most 80 characters)",
		"  timeout  duration  (default 30s, 0s to 12h)",
		"  retries  int  (at least 1)",
		"  size  int  (replaces, at most 2048)",
		"  labels  list of string  (at most 5 entries, at most 20 characters)",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("want %q in\n%s", line, out.String())
		}
	}
}

// TestKindRepeatsNoShape documents types of AWS whose objects contain themselves: each shape is written out once in each section,
// and a place where it stands again names that one.
func TestKindRepeatsNoShape(t *testing.T) {
	for _, test := range []struct {
		typ   string
		most  int
		lines []string
	}{
		{"AWS::WAFv2::WebACL", 1500, []string{
			"      AndStatement  object\n          A map.\n        Statements  list of object  (required)\n            A list.\n            Its fields are those of Rules.*.Statement.\n",
			"      ByteMatchStatement  object\n          A map.\n        FieldToMatch  object  (required)\n            A map.\n          AllQueryArguments  any\n",
			"      RegexMatchStatement  object\n          A map.\n        FieldToMatch  object  (required)\n            A map.\n            Its fields are those of Rules.*.Statement.ByteMatchStatement.FieldToMatch.\n",
		}},
		{"AWS::EC2::VPC", 200, []string{"  Tags  list of object\n      A list, in any order.\n    Key  string  (required)\n"}},
	} {
		k, err := cloudcontrol.Kind(test.typ)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := k.Spec().Props()
		if err != nil {
			t.Fatal(err)
		}
		attrs, err := k.Spec().Attrs()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		Kind(&out, test.typ, k.Spec(), fields, attrs)
		if n := strings.Count(out.String(), "\n"); n > test.most {
			t.Errorf("%s: %d lines", test.typ, n)
		}
		for _, line := range test.lines {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%s: want %q in\n%.3000s", test.typ, line, out.String())
			}
		}
		var look func([]props.Field)
		look = func(fields []props.Field) {
			for _, f := range fields {
				if !strings.HasSuffix(f.Type, "any") && !strings.Contains(out.String(), " "+f.Go+"  "+f.Type) { // any is also what is cut
					t.Errorf("%s: %s is nowhere", test.typ, f.Path)
				}
				look(f.Fields)
			}
		}
		look(fields)
		look(attrs)
	}
}

// TestKindShowsOtherFields documents two objects of one shape that differ, as where one has what can only be read: both are written out.
func TestKindShowsOtherFields(t *testing.T) {
	field := func(path tree.Path, shape string, below ...string) props.Field {
		f := props.Field{Path: path, Type: "object", Shape: shape}
		for _, name := range below {
			f.Fields = append(f.Fields, props.Field{Path: path.Key(name), Type: "string"})
		}
		return f
	}
	var out strings.Builder
	Kind(&out, "house.Lamp", &reconcile.Spec{Doc: "A lamp."}, []props.Field{
		field("left", "Bulb", "watt", "colour", "socket", "maker"), field("right", "Bulb", "watt", "colour", "socket", "hours"),
		field("top", "Bulb", "watt", "colour", "socket", "maker"), field("small", "Wire", "a", "b"), field("thin", "Wire", "a", "b"),
	}, nil)
	if text := out.String(); !strings.Contains(text, "    hours  string\n") || strings.Count(text, "maker") != 1 ||
		!strings.Contains(text, "  top  object\n      Its fields are those of left.\n") || strings.Count(text, "    b  string\n") != 2 {
		t.Error(text)
	}
}
