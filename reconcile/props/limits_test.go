package props

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/athanor-dev/athanor/reconcile/token"
)

type limited struct {
	// Name of it.
	Name string `prop:"maxlen=5,default="`
	// Words are short.
	Words []string `prop:"maxitems=2,maxlen=3"`
	// Labels of it. Default: none.
	Labels map[string]string `prop:"maxitems=1"`
	// Size of it.
	Size *Size `prop:"default=1MiB,immutable"`
}

func TestLengthsAreChecked(t *testing.T) {
	spread := token.Plain.Ref(token.Ref{Address: "a", Path: "list", Spread: true})
	later := token.Plain.Ref(token.Ref{Address: "a", Path: "name"})
	for _, c := range []struct {
		name  string
		props map[string]any
		want  string
	}{
		{"as long as may be", map[string]any{"name": "äöüßé", "words": []any{"abc", "d"}, "labels": map[string]any{"a": "b"}}, ""},
		{"text too long", map[string]any{"name": "abcdef"}, "name: want at most 5 characters"},
		{"an element too long", map[string]any{"words": []any{"abcd"}}, "words[0]: want at most 3 characters"},
		{"too many elements", map[string]any{"words": []any{"a", "b", "c"}}, "words: want at most 2, have 3"},
		{"too many entries", map[string]any{"labels": map[string]any{"a": "b", "c": "d"}}, "labels: want at most 1, have 2"},
		{"text that is known later", map[string]any{"name": later + "-and-more"}, ""},
		{"an element that stands for several", map[string]any{"words": []any{"a", "b", spread}}, ""},
		{"elements that are known later", map[string]any{"words": []any{later, later, later}}, "words: want at most 2, have 3"},
	} {
		var into limited
		err := Decode(c.props, &into)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err := Load(c.props, &into); err != nil {
			t.Errorf("%s: what is stored already has no limits: %v", c.name, err)
		}
	}
}

func TestLengthsThatMeanNothing(t *testing.T) {
	for want, err := range map[string]error{
		"no such length": Decode(nil, &struct {
			A int `prop:"maxlen=3"`
		}{}),
		"has no such length": Decode(nil, &struct {
			A string `prop:"maxitems=3"`
		}{}),
		"whole number above 0": Decode(nil, &struct {
			A string `prop:"maxlen=0"`
		}{}),
		`"many"`: Decode(nil, &struct {
			A []string `prop:"maxitems=many"`
		}{}),
		`"largest=3" is not known`: Decode(nil, &struct {
			A int `prop:"largest=3"`
		}{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestTagsAreDocumentation(t *testing.T) {
	type twice struct {
		// A is one. Default: 3.
		A *int `prop:"default=4"`
	}
	fields, err := Fields(reflect.TypeFor[limited](), nil)
	if err != nil || len(fields) != 4 {
		t.Fatal(fields, err)
	}
	if f := fields[3]; f.Default != "1MiB" || !f.Replaces {
		t.Errorf("size: %+v", f)
	}
	if f := fields[1]; f.MaxItems != 2 || f.MaxLen != 3 || f.Replaces {
		t.Errorf("words: %+v", f)
	}
	labels := Schema(fields)["properties"].(map[string]any)["labels"].(map[string]any)
	if labels["maxProperties"] != int64(1) || labels["additionalProperties"].(map[string]any)["maxProperties"] != nil {
		t.Errorf("schema: %v", labels)
	}
	src := fstest.MapFS{"a.go": {Data: []byte("package props\n\ntype twice struct {\n\t// A is one. Default: 3.\n\tA *int\n}\n")}}
	if _, err := Fields(reflect.TypeFor[twice](), src); err == nil || !strings.Contains(err.Error(), "both say its default") {
		t.Errorf("a default that is said twice: %v", err)
	}
}

func TestTagsOfEmbeddedStructs(t *testing.T) {
	type inner struct {
		KMSKeyARN string `wire:"Key"`
	}
	type outer struct {
		A string `wire:"A"`
		inner
		B string `json:"b2" wire:"B"`
	}
	tags, err := Tags(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tag := range tags {
		got = append(got, tag.Name+"="+tag.Field.Tag.Get("wire"))
	}
	if have := strings.Join(got, " "); have != "a=A kmsKeyArn=Key b2=B" || len(tags[1].Field.Index) != 2 {
		t.Errorf("%s %v", have, tags[1].Field.Index)
	}
}
