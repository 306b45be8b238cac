package props

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const documented = `package props

type (
	fieldsProps struct {
		// Name is what the queue is called.
		// Replaces. Default: made from the address.
		Name string
		// Timeout hides a message. Default: 0.5s.
		Timeout time.Duration
		Key token.Secret // Key opens it. Changing it replaces the queue.
		Rules map[string][]documentedRule
		Mode, Other string
	}
)

type documentedRule struct {
	// Port to open. Replaces nothing of note. Default: 80
	Port token.Int
}
`

type documentedRule struct {
	Port token.Int `prop:"min=1,max=65535"`
}

type fieldsProps struct {
	Name    string        `prop:"required"`
	Timeout time.Duration `prop:"min=0s,max=12h"`
	Key     token.Secret
	Rules   map[string][]documentedRule
	Mode    string `prop:"enum=a|b"`
	IDs     []string
	Size    *Size
	Count   *int `prop:"min=1"`
	Weight  float64
	On      token.Bool
	Any     any
}

func TestFields(t *testing.T) {
	src := fstest.MapFS{
		"queue.go":      {Data: []byte(documented)},
		"queue_test.go": {Data: []byte("not go at all")},
	}
	all, err := Fields(reflect.TypeFor[fieldsProps](), src)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[tree.Path]Field{}
	for _, f := range all {
		byName[f.Path] = f
	}
	port := Field{Path: "rules.*.*.port", Go: "Port", Type: "int", TakesRef: true, Min: "1", Max: "65535", Doc: "Port to open. Replaces nothing of note. Default: 80"}
	for _, want := range []Field{
		{Path: "name", Go: "Name", Type: "string", Required: true, TakesRef: true, Doc: "Name is what the queue is called.\nReplaces. Default: made from the address.", Default: "made from the address", Replaces: true},
		{Path: "timeout", Go: "Timeout", Type: "duration", Min: "0s", Max: "12h", Doc: "Timeout hides a message. Default: 0.5s.", Default: "0.5s"},
		{Path: "key", Go: "Key", Type: "secret string", Secret: true, TakesRef: true, Doc: "Key opens it. Changing it replaces the queue.", Replaces: true},
		{Path: "rules", Go: "Rules", Type: "map of list of object", Fields: []Field{port}},
		{Path: "mode", Go: "Mode", Type: "string", TakesRef: true, Enum: []string{"a", "b"}},
		{Path: "ids", Go: "IDs", Type: "list of string", TakesRef: true},
		{Path: "size", Go: "Size", Type: "size"},
		{Path: "count", Go: "Count", Type: "int", Min: "1"},
		{Path: "weight", Go: "Weight", Type: "number"},
		{Path: "on", Go: "On", Type: "bool", TakesRef: true},
		{Path: "any", Go: "Any", Type: "any", TakesRef: true},
	} {
		if have := byName[want.Path]; !reflect.DeepEqual(have, want) {
			t.Errorf("have %+v\nwant %+v", have, want)
		}
	}
	bare, err := Fields(reflect.TypeFor[*fieldsProps](), nil)
	if err != nil || len(bare) != len(all) || bare[0].Doc != "" {
		t.Errorf("without source: have %v, %v", bare, err)
	}
	if _, err := Fields(reflect.TypeFor[fieldsProps](), fstest.MapFS{"x.go": {Data: []byte("broken")}}); err == nil {
		t.Error("source that does not parse passed")
	}
}

func TestSchema(t *testing.T) {
	fields, err := Fields(reflect.TypeFor[fieldsProps](), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Schema(fields)
	if _, err := tree.Of(s); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[tree.Path]string{
		"type": `"object"`, "additionalProperties": `false`, "required": `["name"]`,
		"properties.name":    `{"type":["string","integer","boolean"]}`,
		"properties.mode":    `{"anyOf":[{"enum":["a","b"],"type":"string"},{"pattern":"\\$\\{[^{}]+\\}","type":"string"}]}`,
		"properties.count":   `{"minimum":1,"type":"integer"}`,
		"properties.weight":  `{"type":"number"}`,
		"properties.any":     `{}`,
		"properties.on":      `{"anyOf":[{"type":"boolean"},{"pattern":"^\\$\\{[^{}]+\\}$","type":"string"}]}`,
		"properties.ids":     `{"anyOf":[{"items":{"type":["string","integer","boolean"]},"type":"array"},{"pattern":"^\\$\\{[^{}]+\\}$","type":"string"}]}`,
		"properties.timeout": `{"pattern":"` + strings.ReplaceAll(durationPattern, `\`, `\\`) + `","type":"string"}`,
		"properties.rules.additionalProperties.items.properties.port.anyOf[0]": `{"maximum":65535,"minimum":1,"type":"integer"}`,
	} {
		have, _ := tree.Get(s, path)
		if string(tree.Canonical(have)) != want {
			t.Errorf("%s: have %s, want %s", path, tree.Canonical(have), want)
		}
	}
}

// TestSchemaSaysLess checks that the patterns take what Decode takes.
func TestSchemaSaysLess(t *testing.T) {
	spans, sizes := regexp.MustCompile(durationPattern), regexp.MustCompile(sizePattern)
	for _, text := range []string{"0", "90s", "14d", "1d12h", "1.5h", ".5s", "1.s", "-1h30m", "+2us", "3µs", "250ms", "0s", "7", "x", "", "1 d", "1h2d"} {
		if _, err := token.ParseDuration(text); err == nil && !spans.MatchString(text) {
			t.Errorf("the schema refuses the duration %s", text)
		}
	}
	for _, text := range []string{"0B", "256KiB", "1.5GB", " 5 MB", "-1TiB", "+3KB", ".5KiB", "5", "KB"} {
		if _, err := ParseSize(text); err == nil && !sizes.MatchString(text) {
			t.Errorf("the schema refuses the size %s", text)
		}
	}
	for _, text := range []string{"90", "x", "1 d", "1h 2m"} {
		if spans.MatchString(text) {
			t.Errorf("the schema takes %q as a duration", text)
		}
	}
}
