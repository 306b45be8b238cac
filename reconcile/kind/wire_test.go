package kind_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// FunctionProps are like those of a service whose client has a Go struct for each call.
type FunctionProps struct {
	Description string            `wire:"Description"`
	Memory      *props.Size       `prop:"default=128MiB,unit=1MiB" wire:"MemorySize"`
	Timeout     *time.Duration    `prop:"default=3s" wire:"Timeout"`
	Storage     *props.Size       `prop:"default=512MiB,unit=1MiB" wire:"EphemeralStorage.Size"`
	Tracing     *string           `prop:"default=PassThrough" wire:"TracingConfig.Mode"`
	Env         map[string]string `wire:"Environment.Variables"`
	Layers      []string          `wire:"Layers"`
	Public      bool              `wire:"Public"`
	Extra       string            `wire:"OnlyInCreate"`
}

type mode string

// configuration is a call and an answer: pointers, enumerations, numbers of other widths, structs within.
type configuration struct {
	Description      *string
	MemorySize       *int32
	Timeout          *int64
	EphemeralStorage *struct{ Size *int32 }
	TracingConfig    *struct{ Mode mode }
	Environment      *struct{ Variables map[string]string }
	Layers           []string
	Public           bool
}

func functionTable() *kind.Table[FunctionProps] { return kind.TableOf[FunctionProps]() }

func TestStructsAreReadAndWritten(t *testing.T) {
	want := FunctionProps{
		Description: "d", Memory: new(props.GiB), Timeout: new(time.Minute), Storage: new(512 * props.MiB), Tracing: new("Active"),
		Env: map[string]string{"A": "b"}, Layers: []string{"x", "y"}, Public: true, Extra: "not in this call",
	}
	var call configuration
	if err := functionTable().Created(want, kind.Struct(&call)); err != nil {
		t.Fatal(err)
	}
	sent := must(tree.Decode(must(json.Marshal(call))))
	wanted := must(tree.Decode([]byte(`{"Description":"d","MemorySize":1024,"Timeout":60,"EphemeralStorage":{"Size":512},
		"TracingConfig":{"Mode":"Active"},"Environment":{"Variables":{"A":"b"}},"Layers":["x","y"],"Public":true}`)))
	if !tree.Equal(sent, wanted) {
		t.Errorf("sent %s\nwant %s", tree.Canonical(sent), tree.Canonical(wanted))
	}
	have, err := functionTable().Read(kind.Struct(&call))
	if want.Extra = ""; err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("read %+v, %v\nwant %+v", have, err, want)
	}
}

func TestEmptyStructsAreDefaults(t *testing.T) {
	for name, call := range map[string]configuration{
		"nothing":     {},
		"empty parts": {TracingConfig: &struct{ Mode mode }{}, Environment: &struct{ Variables map[string]string }{}, Layers: []string{}},
	} {
		have, err := functionTable().Read(kind.Struct(&call))
		if err != nil || *have.Memory != 128*props.MiB || *have.Tracing != "PassThrough" || len(have.Env)+len(have.Layers) > 0 {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
	}
}

func TestStructsAreCleared(t *testing.T) {
	have := FunctionProps{Description: "d", Env: map[string]string{"A": "b"}, Layers: []string{"x"}}
	want := FunctionProps{}
	var call configuration
	changed := []tree.Path{"description", "env.A", "layers", "extra"}
	if err := functionTable().Changed(want, have, changed, kind.Struct(&call)); err != nil {
		t.Fatal(err)
	}
	switch {
	case call.Description == nil || *call.Description != "":
		t.Error("a text is cleared by empty text")
	case call.Layers == nil || len(call.Layers) > 0 || call.Environment == nil || call.Environment.Variables == nil:
		t.Errorf("lists and maps are cleared by empty ones, which are sent: %+v", call)
	case call.MemorySize != nil || call.TracingConfig != nil:
		t.Errorf("what is not to change is not sent: %+v", call)
	}
}

func TestDocumentsWithinDocuments(t *testing.T) {
	doc := kind.Document{}
	doc.Set("a.b.c", int64(1))
	doc.Set("a.b.d", nil)
	if doc.Get("a.b.c") != int64(1) || doc.Get("a.b.d") != nil || doc.Get("a.x.y") != nil || doc.Get("z") != nil {
		t.Errorf("%v", doc)
	}
	text := kind.Text{"P": `{"x":{"y":1}}`, "Broken": "{"}
	text.Set("P.x.z", "2")
	text.Set("Broken.a", true)
	if text["P"] != `{"x":{"y":1,"z":"2"}}` || text["Broken"] != `{"a":true}` || text.Get("P.x.y") != int64(1) || text.Get("None.a") != nil {
		t.Errorf("%v", text)
	}
	text.Set("Broken.a", nil)
	if text["Broken"] != "" {
		t.Errorf("a document without members is cleared: %v", text)
	}
}

func TestNameRules(t *testing.T) {
	plain := kind.NameRule{Max: 8, Marks: "-_"}
	lower := kind.NameRule{Max: 8, Marks: "-", Lower: true, Inner: true}
	suffix := kind.NameRule{Max: 8, Suffix: ".fifo"}
	for _, c := range []struct {
		rule kind.NameRule
		name string
		want string
	}{
		{plain, "aB-_9", ""},
		{plain, "a.b", "want up to 8 letters, digits, - and _"},
		{plain, "123456789", "want up to 8 letters, digits, - and _"},
		{lower, "a-b", ""},
		{lower, "aB", "want up to 8 lower-case letters, digits and -, with a letter or digit at both ends"},
		{lower, "-a", "want up to 8 lower-case letters, digits and -, with a letter or digit at both ends"},
		{suffix, "abc.fifo", ""},
		{suffix, "abcd.fifo", "want up to 8 letters and digits, and .fifo at the end"},
		{suffix, ".fifo", "want up to 8 letters and digits, and .fifo at the end"},
		{suffix, "abc", "want up to 8 letters and digits, and .fifo at the end"},
		{kind.NameRule{Max: 3, Any: true}, "ä.", ""},
		{kind.NameRule{Max: 3, Any: true}, "a ", "want up to 3 bytes without spaces around them"},
		{kind.NameRule{Max: 3, Any: true}, "abcd", "want up to 3 bytes without spaces around them"},
		{kind.NameRule{Max: 3, Note: "as the documentation says"}, "a b", "want up to 3 letters and digits; as the documentation says"},
	} {
		if have := c.rule.Problem(c.name); have != c.want {
			t.Errorf("%q: %q, want %q", c.name, have, c.want)
		}
	}
}

// TestStructsWithinStructs writes and reads a prop that is a struct of the client's.
func TestStructsWithinStructs(t *testing.T) {
	type point struct{ North, East *string }
	type target struct {
		Zone   *string
		Check  bool
		Bias   *int32
		Point  *point
		hidden int
	}
	type input struct {
		Target *target
		Other  target
	}
	type Aim struct {
		Zone  string `wire:"Zone"`
		Check bool   `prop:"default=false" wire:"Check"`
		Bias  *int   `wire:"Bias"`
		North string `wire:"Point.North"`
	}
	type aimProps struct {
		Aim *Aim `wire:"Target"`
	}
	table := kind.TableOf[aimProps]().For(kind.Both(input{}))
	if err := table.Validate(); err != nil {
		t.Fatal(err)
	}
	want := aimProps{Aim: &Aim{Zone: "z", Check: true, Bias: new(-3), North: "49"}}
	sent := input{Other: target{hidden: 1}}
	if err := table.Created(want, kind.Struct(&sent)); err != nil {
		t.Fatal(err)
	}
	if of := sent.Target; of == nil || *of.Zone != "z" || !of.Check || *of.Bias != -3 || *of.Point.North != "49" || of.Point.East != nil {
		t.Errorf("sent %+v", sent.Target)
	}
	if have, err := table.Read(kind.Struct(&sent)); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("read %+v, %v", have.Aim, err)
	}
	if err := table.Changed(aimProps{}, want, []tree.Path{"aim"}, kind.Struct(&sent)); err != nil || sent.Target != nil {
		t.Errorf("cleared %+v, %v", sent.Target, err)
	}
	if have, err := table.Read(kind.Struct(&input{})); err != nil || have.Aim != nil {
		t.Errorf("read %+v of nothing, %v", have.Aim, err)
	}
	type wrong struct {
		Aim *struct {
			Zone string `wire:"Zones"`
		} `wire:"Target"`
	}
	if err := kind.TableOf[wrong]().For(kind.Both(input{})).Validate(); err == nil || !strings.Contains(err.Error(), `"Target.Zones"`) {
		t.Errorf("a member that nobody knows: %v", err)
	}
}
