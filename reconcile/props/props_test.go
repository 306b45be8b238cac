package props

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type color string

type common struct {
	Tags map[string]string
}

type rule struct {
	Port     token.Int `prop:"required"`
	Protocol string    `prop:"enum=tcp|udp"`
	Secret   token.Secret
}

// every has a field of every type that is allowed.
type every struct {
	common
	Text     string
	Named    color  `prop:"enum=red|green"`
	Other    string `json:"renamed"`
	Hidden   string `json:"-"`
	Bool     bool
	Int      int `prop:"min=0,max=900"`
	Int32    int32
	Uint8    uint8
	Float    float64       `prop:"max=0.5"`
	Span     time.Duration `prop:"min=1s,max=12h"`
	Size     Size          `prop:"max=1GiB"`
	PText    *string
	PBool    *bool
	PInt     *int `prop:"min=-5"`
	PInt64   *int64
	PSpan    *time.Duration
	PSize    *Size
	List     []color
	Ints     []int
	Numbers  map[color]float64
	Rule     rule
	PRule    *rule
	Rules    []rule
	ByName   map[string]rule
	Deep     [][]string
	TInt     token.Int `prop:"max=10"`
	TBool    token.Bool
	TSpan    token.Duration `prop:"min=1m"`
	Secret   token.Secret
	Secrets  map[string]token.Secret
	TInts    []token.Int
	Anything any
	private  int
}

func TestEncode(t *testing.T) {
	if have, err := Encode(every{}); err != nil || len(have) != 0 {
		t.Errorf("nothing set: have %v, %v", have, err)
	}
	v := every{
		common: common{Tags: map[string]string{}}, Text: "x", Other: "o", Hidden: "h", Int: 3, Span: 90 * time.Second, Size: 256 * KiB,
		PText: new(""), PBool: new(false), PInt: new(0), PSpan: new(time.Duration(0)), PSize: new(Size(0)), List: []color{}, Ints: []int{0},
		PRule: &rule{}, Rules: []rule{{}, {Port: "⟦a.b⟧"}}, TInt: "42", TBool: token.False, TSpan: "60s", Secret: "s", Anything: map[string]int{"a": 1}, private: 1,
	}
	have, err := Encode(&v)
	want := `{"anything":{"a":1},"int":3,"ints":[0],"list":[],"pBool":false,"pInt":0,"pRule":{},"pSize":"0B","pSpan":"0s","pText":"",` +
		`"renamed":"o","rules":[{},{"port":"⟦a.b⟧"}],"secret":"s","size":"256KiB","span":"1m30s","tBool":false,"tInt":42,"tSpan":"1m","tags":{},"text":"x"}`
	if err != nil || string(tree.Canonical(have)) != want {
		t.Errorf("have %s, %v", tree.Canonical(have), err)
	}
	_, err = Encode(every{TInt: "4x", TSpan: "⟦a.b⟧0", Anything: []any{func() {}}, Float: math.NaN(), TInts: []token.Int{"1", "z"}})
	if have := pathsOf(err); have != "float tInt tSpan tInts[1] anything[0]" {
		t.Errorf("have %s: %v", have, err)
	}
	if _, err := Encode(7); err == nil {
		t.Error("a number is no struct")
	}
}

func pathsOf(err error) string {
	all, _ := errors.AsType[Errors](err)
	var list []string
	for _, e := range all {
		list = append(list, string(e.Path))
	}
	return strings.Join(list, " ")
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want every
	}{
		"nothing":          {`{}`, every{}},
		"null is unset":    {`{"text":null,"pInt":null,"list":null}`, every{}},
		"whole numbers":    {`{"int":5.0,"float":0,"text":5,"named":"red"}`, every{Int: 5, Text: "5", Named: "red"}},
		"truth as text":    {`{"text":true}`, every{Text: "true"}},
		"empty":            {`{"list":[],"tags":{},"ints":[]}`, every{List: []color{}, Ints: []int{}, common: common{Tags: map[string]string{}}}},
		"spans":            {`{"span":"90s","tSpan":"14d","pSpan":"0"}`, every{Span: 90 * time.Second, TSpan: "14d", PSpan: new(time.Duration(0))}},
		"tokens":           {`{"text":"a⟦a.b⟧","named":"⟦a.b⟧","tInt":"⟦a.b⟧","tSpan":"⟦a.b⟧","tBool":"⟦a.b⟧","secret":"⟦secret:x⟧"}`, every{Text: "a⟦a.b⟧", Named: "⟦a.b⟧", TInt: "⟦a.b⟧", TSpan: "⟦a.b⟧", TBool: "⟦a.b⟧", Secret: "⟦secret:x⟧"}},
		"list of one ref":  {`{"list":"⟦a.b⟧","tInts":["⟦a.b...⟧"]}`, every{List: []color{"⟦a.b...⟧"}, TInts: []token.Int{"⟦a.b...⟧"}}},
		"literals of refs": {`{"tInt":7,"tBool":true}`, every{TInt: "7", TBool: token.True}},
		"nested":           {`{"rules":[{"port":1}],"byName":{"a":{"port":2,"protocol":"udp"}},"pRule":{"port":3}}`, every{Rules: []rule{{Port: "1"}}, ByName: map[string]rule{"a": {Port: "2", Protocol: "udp"}}, PRule: &rule{Port: "3"}}},
		"anything":         {`{"anything":{"a":[1,null]}}`, every{Anything: map[string]any{"a": []any{int64(1), nil}}}},
	} {
		var have every
		if err := Decode(object(t, c.in), &have); err != nil || !reflect.DeepEqual(have, c.want) {
			t.Errorf("%s: have %+v, %v", name, have, err)
		}
	}
}

func object(t testing.TB, s string) map[string]any {
	t.Helper()
	v, err := tree.Decode([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestDecodeErrors(t *testing.T) {
	for in, want := range map[string]string{
		`{"txt":"a"}`:                          `txt: is not a prop (did you mean text?)`,
		`{"qqq":"a"}`:                          `qqq: is not a prop`,
		`{"text":1.5}`:                         `text: want text, have a fraction (write it in quotes)`,
		`{"text":[]}`:                          `text: want text, have a list`,
		`{"bool":"true"}`:                      `bool: want true or false, have text`,
		`{"bool":"⟦a.b⟧"}`:                     `bool: takes no reference: its Go type is bool, not athanor.Int, Bool or Duration`,
		`{"int":"5"}`:                          `int: want a whole number, have text`,
		`{"int":5.5}`:                          `int: want a whole number, have a fraction`,
		`{"int":901}`:                          `int: want at most 900`,
		`{"int":-1}`:                           `int: want at least 0`,
		`{"float":0.6}`:                        `float: want at most 0.5`,
		`{"uint8":256}`:                        `uint8: is out of range`,
		`{"uint8":-1}`:                         `uint8: is out of range`,
		`{"int32":2147483648}`:                 `int32: is out of range`,
		`{"span":90}`:                          `span: want a duration such as 90s, have a number`,
		`{"span":[]}`:                          `span: want a duration such as 90s, have a list`,
		`{"span":"90"}`:                        `span: want a duration such as 90s, have text that is none`,
		`{"span":"999999999d"}`:                `span: is out of range`,
		`{"span":"13h"}`:                       `span: want at most 12h`,
		`{"tSpan":"1s"}`:                       `tSpan: want at least 1m`,
		`{"size":"2GiB"}`:                      `size: want at most 1GiB`,
		`{"size":5}`:                           `size: want a size such as 256KiB, have a number`,
		`{"pInt":-6}`:                          `pInt: want at least -5`,
		`{"pInt":{}}`:                          `pInt: want a whole number, have a map`,
		`{"named":"gren"}`:                     `named: want one of red, green (did you mean green?)`,
		`{"tInt":11}`:                          `tInt: want at most 10`,
		`{"tInt":"5"}`:                         `tInt: want a whole number, have text`,
		`{"tInt":"1⟦a.b⟧"}`:                    `tInt: want a whole number or one reference, have text with a reference in it`,
		`{"list":["a",null]}`:                  `list[1]: want text, have nothing`,
		`{"list":{"a":1}}`:                     `list: want a list, have a map`,
		`{"ints":"⟦a.b⟧"}`:                     `ints: takes no reference as a whole (give its entries)`,
		`{"ints":["⟦a.b...⟧"]}`:                `ints[0]: takes no reference: its Go type is int, not athanor.Int, Bool or Duration`,
		`{"tags":"⟦a.b⟧"}`:                     `tags: takes no reference as a whole (give its entries)`,
		`{"tags":["x"]}`:                       `tags: want a map, have a list`,
		`{"tags":{"a b":null}}`:                `tags["a b"]: want text, have nothing`,
		`{"rule":[]}`:                          `rule: want an object, have a list`,
		`{"rules":[{}]}`:                       `rules[0].port: is required`,
		`{"byName":{"x":{"protocol":"icmp"}}}`: `byName.x.port: is required; byName.x.protocol: want one of tcp, udp`,
		`{"zz":1,"int":"x","aa":1,"bool":1}`:   `bool: want true or false, have a number; int: want a whole number, have text; aa: is not a prop; zz: is not a prop`,
	} {
		var into every
		err := Decode(object(t, in), &into)
		all, ok := errors.AsType[Errors](err)
		var lines []string
		for _, e := range all {
			line := e.Error()
			if e.Hint != "" {
				line += " (" + e.Hint + ")"
			}
			lines = append(lines, line)
		}
		if have := strings.Join(lines, "; "); !ok || have != want {
			t.Errorf("%s:\nhave %s (%v)\nwant %s", in, have, err, want)
		}
	}
	if err := Decode(nil, every{}); err == nil {
		t.Error("a struct that is no pointer was filled")
	}
	err := Decode(map[string]any{"rule": map[string]any{"secret": []any{"hunter2"}, "protocol": "hunter2"}}, new(every))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error holds a value: %v", err)
	}
	if fe, ok := errors.AsType[*FieldError](err); !ok || fe.Path != "rule.port" {
		t.Errorf("have %v", fe)
	}
}

func TestDumpLoad(t *testing.T) {
	type attrs struct {
		ARN   string
		Count token.Int
		Port  int
		IDs   []string
		Tags  map[string]string
		Rule  *rule
	}
	full := Dump(attrs{})
	if have := string(tree.Canonical(full)); have != `{"arn":"","count":null,"ids":[],"port":0,"rule":null,"tags":{}}` {
		t.Errorf("have %s", have)
	}
	var back attrs
	if err := Load(full, &back); err != nil || back.ARN != "" || back.Rule != nil {
		t.Errorf("have %+v, %v", back, err)
	}
	old := object(t, `{"arn":"a","gone":1,"count":"7x"}`)
	if err := Load(old, &back); pathsOf(err) != "count" {
		t.Errorf("have %v", err)
	}
	want := attrs{ARN: "x", Count: "3", Rule: &rule{Port: "1", Protocol: "old"}}
	back = attrs{}
	if err := Load(Dump(&want), &back); err != nil || back.Rule.Protocol != "old" || back.Count != "3" {
		t.Errorf("have %+v, %v", back, err)
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{0, `0`},
		{"", `""`},
		{new(5), `5`},
		{(*int)(nil), `null`},
		{[]color{"a"}, `["a"]`},
		{[]string(nil), `null`},
		{90 * time.Second, `"1m30s"`},
		{Size(1024), `"1KiB"`},
		{rule{Port: "1"}, `{"port":1}`},
		{rule{}, `{}`},
		{map[string]int32{"a": 1}, `{"a":1}`},
		{weight(1), `1`},
		{[2]bool{}, `[false,false]`},
	} {
		have, err := EncodeValue(c.v)
		if err != nil || string(tree.Canonical(have)) != c.want {
			t.Errorf("%#v: have %s, %v; want %s", c.v, tree.Canonical(have), err, c.want)
		}
	}
	if _, err := EncodeValue(make(chan int)); err == nil {
		t.Error("a channel became a tree")
	}
}

type weight float64

func TestCheck(t *testing.T) {
	if err := Check(reflect.TypeFor[every]()); err != nil {
		t.Error(err)
	}
	type loop struct{ Next []*struct{ Up *time.Time } }
	type self struct{ Inner []self }
	for _, typ := range []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[struct{ A chan int }](), reflect.TypeFor[struct{ A map[int]string }](),
		reflect.TypeFor[struct{ A []byte }](), reflect.TypeFor[struct{ A time.Time }](), reflect.TypeFor[struct{ A error }](), reflect.TypeFor[loop](),
		reflect.TypeFor[self](), reflect.TypeFor[struct {
			A string
			B string `json:"a"`
		}](), reflect.TypeFor[struct {
			A int `prop:"enum=a|b"`
		}](),
		reflect.TypeFor[struct {
			A int `prop:"min=x"`
		}](), reflect.TypeFor[struct {
			A string `prop:"max=5"`
		}](), reflect.TypeFor[struct {
			A string `prop:"needed"`
		}](),
	} {
		if err := Check(typ); err == nil {
			t.Errorf("%s passed", typ)
		}
		if SecretPaths(typ) != nil {
			t.Errorf("%s has secrets", typ)
		}
	}
}

func TestTokens(t *testing.T) {
	type attrs struct {
		ARN     color
		Count   token.Int
		On      token.Bool
		Age     token.Duration
		Key     token.Secret
		IDs     []color
		Where   rule
		Pointer *rule
		Maybe   *string
	}
	var a attrs
	if err := Tokens(&a, token.Plain, "net/x[a]"); err != nil {
		t.Fatal(err)
	}
	want := attrs{
		"⟦net/x[a].arn⟧", "⟦net/x[a].count⟧", "⟦net/x[a].on⟧", "⟦net/x[a].age⟧", "⟦net/x[a].key⟧",
		[]color{"⟦net/x[a].ids...⟧"},
		rule{"⟦net/x[a].where.port⟧", "⟦net/x[a].where.protocol⟧", "⟦net/x[a].where.secret⟧"},
		&rule{"⟦net/x[a].pointer.port⟧", "⟦net/x[a].pointer.protocol⟧", "⟦net/x[a].pointer.secret⟧"}, new("⟦net/x[a].maybe⟧"),
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("have %+v", a)
	}
	for _, into := range []any{new(struct{ A int }), new(struct{ A map[string]string }), new(struct{ A []rule }), new(struct{ A [][]string }), new(struct{ A time.Duration }), attrs{}} {
		err := Tokens(into, token.Plain, "x")
		if err == nil || reflect.TypeOf(into).Kind() == reflect.Pointer && !strings.Contains(err.Error(), "attribute a:") {
			t.Errorf("%T: have %v", into, err)
		}
	}
	if have := fmt.Sprint(SecretPaths(reflect.TypeFor[every]())); have != "[rule.secret pRule.secret rules.*.secret byName.*.secret secret secrets.*]" {
		t.Errorf("have %s", have)
	}
}

func TestRoundTrip(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Just("⟦a.b⟧"))
	refInt := rapid.OneOf(rapid.Custom(func(t *rapid.T) token.Int { return token.Num(rapid.Int64Max(10).Draw(t, "n")) }), rapid.SampledFrom([]token.Int{"", "⟦a.b⟧"}))
	aRule := rapid.Custom(func(t *rapid.T) rule {
		port := refInt.Draw(t, "port")
		if port == "" {
			port = "0"
		}
		return rule{port, rapid.SampledFrom([]string{"", "tcp", "udp"}).Draw(t, "protocol"), token.Secret(rapid.String().Draw(t, "secret"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		v := every{
			common: common{Tags: maybe(t, rapid.MapOf(text, text))}, Text: text.Draw(t, "text"), Named: rapid.SampledFrom([]color{"", "red", "⟦a.b⟧"}).Draw(t, "named"),
			Other: text.Draw(t, "other"), Bool: rapid.Bool().Draw(t, "bool"), Int: rapid.IntRange(0, 900).Draw(t, "int"), Int32: rapid.Int32().Draw(t, "int32"),
			Uint8: rapid.Uint8().Draw(t, "uint8"), Float: rapid.Float64Max(0.5).Draw(t, "float"), Span: time.Duration(rapid.Int64Range(int64(time.Second), int64(12*time.Hour)).Draw(t, "span")),
			Size: Size(rapid.Int64Max(int64(GiB)).Draw(t, "size")), PText: maybe(t, rapid.Ptr(text, false)), PBool: maybe(t, rapid.Ptr(rapid.Bool(), false)),
			PInt: maybe(t, rapid.Ptr(rapid.IntMin(-5), false)), PInt64: maybe(t, rapid.Ptr(rapid.Int64(), false)),
			PSpan: maybe(t, rapid.Ptr(rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "d")) }), false)),
			PSize: maybe(t, rapid.Ptr(rapid.Custom(func(t *rapid.T) Size { return Size(rapid.Int64().Draw(t, "s")) }), false)),
			List:  maybe(t, rapid.SliceOf(rapid.SampledFrom([]color{"", "red", "⟦a.b...⟧"}))), Ints: maybe(t, rapid.SliceOf(rapid.Int())),
			Numbers: maybe(t, rapid.MapOf(rapid.Custom(func(t *rapid.T) color { return color(rapid.String().Draw(t, "k")) }), rapid.Float64())),
			Rule:    maybe(t, aRule), PRule: maybe(t, rapid.Ptr(aRule, false)), Rules: maybe(t, rapid.SliceOf(aRule)), ByName: maybe(t, rapid.MapOf(rapid.String(), aRule)),
			Deep: maybe(t, rapid.SliceOf(rapid.SliceOf(text))), TInt: refInt.Draw(t, "tInt"), TBool: rapid.SampledFrom([]token.Bool{"", token.True, token.False, "⟦a.b⟧"}).Draw(t, "tBool"),
			TSpan: rapid.SampledFrom([]token.Duration{"", "1m", "14d", "⟦a.b⟧"}).Draw(t, "tSpan"), Secret: token.Secret(text.Draw(t, "secret")),
			Secrets: maybe(t, rapid.MapOf(rapid.String(), rapid.Just(token.Secret("x")))), TInts: maybe(t, rapid.SliceOf(rapid.Just(token.Int("5")))),
			Anything: rapid.SampledFrom([]any{nil, "x", int64(1), []any{true}, map[string]any{"a": nil}}).Draw(t, "any"),
		}
		encoded, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tree.Decode(tree.Canonical(encoded))
		if err != nil || !tree.Equal(encoded, again) {
			t.Fatalf("the text of the tree reads back as %v, %v", again, err)
		}
		var back every
		if err := Decode(again.(map[string]any), &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v, back) {
			t.Fatalf("have %+v\nwant %+v", back, v)
		}
	})
}

// maybe is a drawn value, or the zero value.
func maybe[V any](t *rapid.T, g *rapid.Generator[V]) V {
	var zero V
	if rapid.Bool().Draw(t, "unset") {
		return zero
	}
	return g.Draw(t, "value")
}

type five struct {
	Name              string `prop:"required"`
	VisibilityTimeout time.Duration
	FIFO              *bool
	DeadLetter        color
	Tags              map[string]string
}

func BenchmarkDecode10000(b *testing.B) {
	t := object(b, `{"name":"orders","visibilityTimeout":"30s","fifo":true,"deadLetter":"⟦dead.arn⟧","tags":{"team":"shop"}}`)
	b.ReportAllocs()
	for b.Loop() {
		for range 10000 {
			var v five
			if err := Decode(t, &v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEncode10000(b *testing.B) {
	v := five{"orders", 30 * time.Second, new(true), "⟦dead.arn⟧", map[string]string{"team": "shop"}}
	b.ReportAllocs()
	for b.Loop() {
		for range 10000 {
			if _, err := Encode(v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestTagsCanBeRead is about tags of which reflect finds a part or nothing, so that what they say is silently not so. The compiler
// takes any text for a tag.
func TestTagsCanBeRead(t *testing.T) {
	for tag, want := range map[reflect.StructTag]string{
		`prop: "required" wire:"b"`:       `want KEY:"VALUE" pairs with a space between them`,
		`prop:"required";wire:"b"`:        `want KEY:"VALUE" pairs`,
		`prop:required`:                   `want KEY:"VALUE" pairs`,
		`prop:"required" wire:"b`:         `want KEY:"VALUE" pairs`,
		`wire:"a" wire:"b"`:               `its wire tag stands there twice`,
		`props:"required"`:                `tag key "props" is not known: did you mean prop?`,
		`Wire:"a"`:                        `tag key "Wire" is not known: did you mean wire?`,
		`json:"a,omitempty" yaml:"a"`:     "",
		` prop:"required"  wire:"a\"b"  `: "",
		"":                                "",
	} {
		typ := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[string](), Tag: tag}})
		if err := Check(typ); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tag, err, want)
		}
	}
}
