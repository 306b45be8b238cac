package tree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

func decode(t *testing.T, s string) any {
	t.Helper()
	v, err := tree.Decode([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const sample = `{"a":{"b":[1,{"c":"x"}],"d e":null},"z":true}`

func TestGetWithWithout(t *testing.T) {
	v := decode(t, sample)
	for p, want := range map[tree.Path]any{"a.b[0]": int64(1), "a.b[1].c": "x", `a["d e"]`: nil, "z": true} {
		if have, ok := tree.Get(v, p); !ok || have != want {
			t.Errorf("%s: have %v, %v", p, have, ok)
		}
	}
	for _, p := range []tree.Path{"x", "a.b[2]", "a.b.c", "a[0]", "z.q", "a.*", "z[0]"} {
		if have, ok := tree.Get(v, p); ok {
			t.Errorf("%s: have %v, want nothing", p, have)
		}
	}
	for _, c := range []struct {
		have any
		want string
	}{
		{tree.With(v, "a.b[1].c", "y"), `{"a":{"b":[1,{"c":"y"}],"d e":null},"z":true}`},
		{tree.With(v, "a.b[2]", "y"), `{"a":{"b":[1,{"c":"x"},"y"],"d e":null},"z":true}`},
		{tree.With(v, "a.b[3]", "y"), sample},
		{tree.With(v, "n.m", int64(1)), `{"a":{"b":[1,{"c":"x"}],"d e":null},"n":{"m":1},"z":true}`},
		{tree.With(v, "z.m[0]", int64(1)), `{"a":{"b":[1,{"c":"x"}],"d e":null},"z":{"m":[1]}}`},
		{tree.With(v, "*", "q"), `{"a":"q","z":"q"}`},
		{tree.With(v, "", "q"), `"q"`},
		{tree.With(nil, "a", "q"), `{"a":"q"}`},
		{tree.Without(v, "a.b[0]"), `{"a":{"b":[{"c":"x"}],"d e":null},"z":true}`},
		{tree.Without(v, "a.b.*.c"), `{"a":{"b":[1,{}],"d e":null},"z":true}`},
		{tree.Without(v, "a.*"), `{"a":{},"z":true}`},
		{tree.Without(v, "a"), `{"z":true}`},
		{tree.Without(v, "x.y"), sample},
		{tree.Without(v, "a.b[9]"), sample},
		{tree.Without(v, ""), `null`},
	} {
		if have := string(tree.Canonical(c.have)); have != c.want {
			t.Errorf("have %s, want %s", have, c.want)
		}
		if have := string(tree.Canonical(v)); have != sample {
			t.Fatalf("the tree itself changed: %s", have)
		}
	}
}

func TestEqualAgreesWithCanonical(t *testing.T) {
	values := []any{
		nil, true, false, "", "a", "1", int64(0), int64(1), 1.0, 0.0, math.Copysign(0, -1), 1.5, int64(-1),
		int64(math.MaxInt64), float64(math.MaxInt64), float64(1 << 53), int64(1<<53 + 1), 1e300, 1e-9, 1e19,
		int64(math.MinInt64), float64(math.MinInt64),
		[]any{},
		[]any(nil),
		[]any{nil},
		[]any{int64(1)},
		[]any{1.0},
		map[string]any{},
		map[string]any(nil),
		map[string]any{"a": nil},
		map[string]any{"a": int64(1)},
		map[string]any{"a": 1.0},
		map[string]any{"b": 1.0},
		"\xff", "\xfe", "\ufffd",
	}
	for _, a := range values {
		for _, b := range values {
			same := bytes.Equal(tree.Canonical(a), tree.Canonical(b))
			if tree.Equal(a, b) != same || (tree.Digest(a) == tree.Digest(b)) != same {
				t.Errorf("%#v and %#v: equal %v, canonical %s and %s", a, b, tree.Equal(a, b), tree.Canonical(a), tree.Canonical(b))
			}
		}
		if back := decode(t, string(tree.Canonical(a))); !tree.Equal(a, back) {
			t.Errorf("%#v reads back as %#v", a, back)
		}
		if c := tree.Clone(a); !tree.Equal(a, c) {
			t.Errorf("clone of %#v is %#v", a, c)
		}
	}
}

func TestCanonicalText(t *testing.T) {
	v := map[string]any{"b": []any{1.0, 1.25, 1e21}, "a": "<&>\u2028\x01\t\"", "": nil}
	want := `{"":null,"a":"<&>` + "\u2028" + `\u0001\t\"","b":[1,1.25,1e+21]}`
	if have := string(tree.Canonical(v)); have != want {
		t.Errorf("have %s, want %s", have, want)
	}
	if have := tree.Digest("a"); have != "ac8d8342bbb2362d13f0a559a3621bb407011368895164b628a54f7fc33fc43c" {
		t.Errorf("digest: have %s", have)
	}
	defer func() {
		if recover() == nil {
			t.Error("an int passed as a tree")
		}
	}()
	tree.Canonical([]any{1})
}

func TestDecodeErrors(t *testing.T) {
	for s, offset := range map[string]int{
		``: 0, `{`: 1, `{"a":1,"a":2}`: 7, `1 2`: 2, `01`: 2, `1.`: 2, `1e`: 2, `-`: 1, `99999999999999999999`: 0,
		`1e999`: 0, `"a`: 2, "\"\x01\"": 1, `"\x"`: 1, `"\ud800"`: 1, `"\ud800\u0041"`: 1, "\"\xff\"": 1, `nul`: 0,
		`[1,]`: 3, `[1 2]`: 3, `{"a" 1}`: 5, `{a:1}`: 1, `{"a":1,}`: 7, "\x00": 0, `"\u12"`: 1, `"\`: 1,
	} {
		_, err := tree.Decode([]byte(s))
		se, ok := errors.AsType[*tree.SyntaxError](err)
		if !ok || se.Offset != offset {
			t.Errorf("Decode(%q): have %v, want an error at %d", s, err, offset)
		}
	}
	deep := func(n int) []byte { return append(bytes.Repeat([]byte("["), n), bytes.Repeat([]byte("]"), n)...) }
	if _, err := tree.Decode(deep(500)); err != nil {
		t.Error(err)
	}
	if _, err := tree.Decode(deep(5000)); err == nil {
		t.Error("no bound on depth")
	}
	if v := decode(t, ` {"a" : [ -0 , 1.0, "\ud83d\ude00\/\n" ] } `); !tree.Equal(v, map[string]any{"a": []any{int64(0), int64(1), "😀/\n"}}) {
		t.Errorf("have %#v", v)
	}
}

func TestOf(t *testing.T) {
	type word string
	type on bool
	p, none := new(7), (*int)(nil)
	have, err := tree.Of(map[word]any{
		"a": []word{"x"}, "b": on(true), "c": uint8(3), "d": float32(0.1), "e": json.Number("12"), "f": p, "g": none,
		"h": json.RawMessage(`{"q":[1]}`), "i": [2]int{1, 2}, "j": []string(nil), "k": map[string]int{"z": 1}, "l": json.Number("1.5"),
	})
	want := `{"a":["x"],"b":true,"c":3,"d":0.1,"e":12,"f":7,"g":null,"h":{"q":[1]},"i":[1,2],"j":[],"k":{"z":1},"l":1.5}`
	if err != nil || string(tree.Canonical(have)) != want {
		t.Errorf("have %s, %v", tree.Canonical(have), err)
	}
	loop := map[string]any{}
	loop["x"] = loop
	for path, v := range map[tree.Path]any{
		"":      struct{}{},
		"a":     map[string]any{"a": func() {}},
		"a[1]":  map[string]any{"a": []any{1, []byte("x")}},
		"b":     map[string]any{"b": math.NaN()},
		"c":     map[string]any{"c": uint64(math.MaxUint64)},
		"d":     map[string]any{"d": map[int]int{1: 1}},
		"e":     map[string]any{"e": json.Number("true")},
		"f":     map[string]any{"f": json.RawMessage("{")},
		"g":     map[string]any{"g": json.Number("99999999999999999999")},
		"i":     map[string]any{"i": json.Number("9007199254740993.0")},
		"k":     map[string]any{"k": json.RawMessage("[1e-400]")},
		`["h"]`: nil,
	} {
		if v == nil {
			continue
		}
		te, ok := errors.AsType[*tree.TypeError](second(tree.Of(v)))
		if !ok || te.Path != path {
			t.Errorf("%s: have %v", path, te)
		}
	}
	if _, err := tree.Of(loop); err == nil {
		t.Error("a map that holds itself became a tree")
	}
}

// TestExact: a decimal is exact when it is what would be written for the float that it becomes.
func TestExact(t *testing.T) {
	for text, want := range map[string]bool{
		"0.1": true, "1.10": true, "-0.0": true, "0e999999999999": true, "1e20": true, "1e23": true, "1.7976931348623157e308": true, "5e-324": true,
		"+12.500e-1": true, ".5": true, "5.": true, "9007199254740991.0": true, "9007199254740992.0": true, "123456789012345680000.0": true, "100E-2": true,
		"9007199254740993.0": false, "0.1234567890123456789": false, "0.10000000000000000001": false, "100000000000000000000000.5": false,
		"1e-400": false, "4e-324": false, "18446744073709551615.0": false, "3.141592653589793238": false,
	} {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || tree.Exact(text, f) != want {
			t.Errorf("%s: exact %t, %v", text, tree.Exact(text, f), err)
		}
	}
}

func second(_ any, err error) error { return err }

func TestWalk(t *testing.T) {
	var seen []tree.Path
	tree.Walk(decode(t, sample), func(p tree.Path, _ any) bool {
		seen = append(seen, p)
		return p != "a.b[1]"
	})
	if have := fmt.Sprintf("%q", seen); have != `["" "a" "a.b" "a.b[0]" "a.b[1]" "a[\"d e\"]" "z"]` {
		t.Errorf("have %s", have)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{sample, `[1e3,-0.5,"\u00e9\udc80"]`, `{"a":{"b":{}}}`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := tree.Decode(data)
		if err != nil {
			if se, ok := errors.AsType[*tree.SyntaxError](err); !ok || se.Offset < 0 || se.Offset > len(data) {
				t.Fatalf("odd error %v", err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was read and is no JSON", data)
		}
		text := tree.Canonical(v)
		back, err := tree.Decode(text)
		if err != nil || !tree.Equal(v, back) || !bytes.Equal(text, tree.Canonical(back)) {
			t.Fatalf("%q reads back as %v, %v", text, back, err)
		}
	})
}

func resource(i int) any {
	return map[string]any{
		"name": fmt.Sprintf("queue-%d", i), "visibilityTimeout": "30s", "fifo": true, "retention": int64(i),
		"deadLetter": "⟦dead.arn⟧", "tags": map[string]any{"team": "shop", "stage": "prod"},
		"ports": []any{int64(80), int64(443)},
	}
}

func BenchmarkDigest(b *testing.B) {
	v := resource(1)
	b.ReportAllocs()
	for b.Loop() {
		tree.Digest(v)
	}
}

func BenchmarkEqual(b *testing.B) {
	x, y := resource(1), resource(1)
	b.ReportAllocs()
	for b.Loop() {
		tree.Equal(x, y)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := tree.Canonical(resource(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tree.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	v := resource(1)
	b.ReportAllocs()
	for b.Loop() {
		tree.Walk(v, func(tree.Path, any) bool { return true })
	}
}

func TestMembers(t *testing.T) {
	const doc = `{"a":{"b":[1,{"c":"x"}],"d":{"e":true}},"m":{"x":1},"t":"text","z":true}`
	var have []string
	note := func(format string, args ...any) { have = append(have, fmt.Sprintf(format, args...)) }
	err := tree.Members([]byte(doc), func(name string, m tree.Member) {
		switch name {
		case "a":
			m.Members(func(name string, m tree.Member) { note("a.%s=%s", name, tree.Canonical(m.Value())) })
		case "m":
			note("m=%s", tree.Canonical(m.Map()))
			if again := m.Value(); again != nil {
				t.Errorf("the second reading gives %v", again)
			}
			m.Members(func(string, tree.Member) { t.Error("read twice") })
		case "t": // passed over
		case "z":
			note("z=%v", m.True())
		}
	})
	if want := `[a.b=[1,{"c":"x"}] a.d={"e":true} m={"x":1} z=true]`; err != nil || fmt.Sprint(have) != want {
		t.Errorf("have %v, %v, want %s", have, err, want)
	}
	ignore := func(string, tree.Member) {}
	inside := func(_ string, m tree.Member) { m.Members(ignore) }
	for _, c := range []struct {
		doc, want string
		visit     func(string, tree.Member)
	}{
		{`[]`, "at 0: want an object", ignore},
		{``, "at 0: want an object", ignore},
		{`{"a":1,"a":2}`, `at 7: key "a" is out of order`, ignore},
		{`{"b":1,"a":2}`, `at 7: key "a" is out of order`, ignore},
		{`{"":1,"":2}`, `at 6: key "" is out of order`, ignore},
		{`{"a":1}x`, "at 7: more follows", ignore},
		{`{"a":[}`, "at 6: want a value", ignore},
		{`{"a":1}`, "at 5: want an object", inside},
		{`{"a":{"c":1,"b":1}}`, `at 12: key "b" is out of order`, inside},
	} {
		if err := tree.Members([]byte(c.doc), c.visit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want %s", c.doc, err, c.want)
		}
	}
}

func TestMap(t *testing.T) {
	v := map[string]any{"a": []any{"x", int64(1), map[string]any{"b": nil}}, "c": true}
	want := map[string]any{"A": []any{"X", int64(1), map[string]any{"B": nil}}, "C": true}
	if got := tree.MapText(v, strings.ToUpper); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	count := func(leaf any) any {
		if s, ok := leaf.(string); ok {
			return len(s)
		}
		return leaf
	}
	want = map[string]any{"a": []any{1, int64(1), map[string]any{"b": nil}}, "c": true}
	if got := tree.Map(v, count); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if v["a"].([]any)[0] != "x" {
		t.Error("the value itself is changed")
	}
}
