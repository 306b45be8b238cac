package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

const leak = "le\"ak"

var fixed = map[string]any{
	"a.s": "text", "a.n": int64(5432), "a.b": true, "a.f": 1.5, "a.null": nil, "a.list": []any{"x", int64(2)},
	"a.empty": []any{}, "a.map": map[string]any{"k": "v"}, "a.quote": `say "hi" \ `, "a.at": "p@ss/w?r#d:%41", "a.open": "⟦not.one⟧ %E2%9F%A6",
	"a.plain": "db.example.com", "a.url": "https://x.example:8443/q", "a.int": 7, "a.inject": `x","admin":"y`, "a.two": "x&admin=1",
}

// known answers from fixed values; later.* is unknown, and what else is not there is an error.
func known(e Expr) (Value, error) {
	switch e.Op {
	case OpSecret:
		return Value{Any: leak, Secret: true, Unknown: e.Name == "later"}, nil
	case OpStack:
		v, ok := fixed[e.Stack.Name+"."+string(e.Ref.Path)]
		if !ok {
			return Value{}, errors.New("no such output")
		}
		return Value{Any: v, Secret: e.Stack.Stage == "prod"}, nil
	case OpThen:
		return Value{Any: fmt.Sprintf("%s(%s)", e.Name, tree.Canonical(e.Input))}, nil
	}
	if e.Ref.Address == "later" {
		return Value{Unknown: true, Any: "ignored"}, nil
	}
	v, ok := fixed[e.Ref.String()]
	if e.Ref.Spread {
		v, ok = fixed[strings.TrimSuffix(e.Ref.String(), "...")]
	}
	if !ok {
		return Value{}, errors.New("nothing there")
	}
	return Value{Any: v}, nil
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	s, err := Shifted.JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func urlOf(t testing.TB, format string, args ...any) string {
	t.Helper()
	s, err := Shifted.URL(format, args)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func thenOf(t testing.TB, id string, in any) string {
	t.Helper()
	s, err := Shifted.Then(id, in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type m = map[string]any

func TestResolve(t *testing.T) {
	for name, c := range map[string]struct {
		in, want        any
		unknown, secret string
	}{
		"text":                {in: "no token", want: "no token"},
		"whole keeps type":    {in: m{"n": "⟦a.n⟧", "b": "⟦a.b⟧", "l": "⟦a.list⟧", "m": "⟦a.map⟧", "z": "⟦a.null⟧", "i": "⟦a.int⟧"}, want: m{"n": int64(5432), "b": true, "l": []any{"x", int64(2)}, "m": m{"k": "v"}, "z": nil, "i": int64(7)}},
		"in text":             {in: []any{"<⟦a.n⟧|⟦a.b⟧|⟦a.f⟧|⟦a.s⟧>"}, want: []any{"<5432|true|1.5|text>"}},
		"unknown stays":       {in: m{"x": Shifted.Ref(Ref{Address: "later", Path: "z"})}, want: m{"x": "⟦later.z⟧"}, unknown: "x"},
		"partly unknown":      {in: m{"x": "⟦a.s⟧-⟦later.z⟧"}, want: m{"x": "text-⟦later.z⟧"}, unknown: "x"},
		"secret":              {in: m{"x": []any{"", "⟦secret:k⟧"}}, want: m{"x": []any{"", leak}}, secret: "x[1]"},
		"secret part":         {in: m{"x": "a⟦secret:k⟧", "y": "b"}, want: m{"x": "a" + leak, "y": "b"}, secret: "x"},
		"unknown secret":      {in: m{"x": "⟦secret:later⟧"}, want: m{"x": "⟦secret:later⟧"}, secret: "x", unknown: "x"},
		"spread":              {in: m{"x": []any{"⟦a.list...⟧"}}, want: m{"x": []any{"x", int64(2)}}},
		"output":              {in: m{"x": Plain.Output(Stack{Name: "a", Stage: "dev"}, "n", false)}, want: m{"x": int64(5432)}},
		"secret output":       {in: m{"x": "-" + Shifted.Output(Stack{Name: "a", Stage: "prod"}, "s", false)}, want: m{"x": "-text"}, secret: "x"},
		"spread of an output": {in: m{"x": []any{Plain.Output(Stack{Name: "a", Stage: "dev"}, "list", true), "y"}}, want: m{"x": []any{"x", int64(2), "y"}}},
		"spread of none":      {in: []any{"⟦a.empty...⟧"}, want: []any{}},
		"spread among others": {in: []any{"0", "⟦a.list...⟧", "⟦later.z⟧"}, want: []any{"0", "x", int64(2), "⟦later.z⟧"}, unknown: "[3]"},
		"spread later":        {in: m{"x": []any{"⟦later.z...⟧"}}, want: m{"x": []any{"⟦later.z...⟧"}}, unknown: "x"},
		"key":                 {in: m{"⟦a.s⟧": "1", "p⟦a.n⟧": "⟦later.z⟧"}, want: m{"text": "1", "p5432": "⟦later.z⟧"}, unknown: "p5432"},
		"key later":           {in: m{"t": m{"⟦later.z⟧": "1"}}, want: m{"t": m{"⟦later.z⟧": "1"}}, unknown: "t"},
		"key secret":          {in: m{"t": m{"⟦secret:k⟧": "1"}}, want: m{"t": m{leak: "1"}}, secret: "t"},
		"brackets in values":  {in: []any{"⟦a.open⟧", "x⟦a.open⟧"}, want: []any{"⟦not.one⟧ %E2%9F%A6", "x⟦not.one⟧ %E2%9F%A6"}},
		"json":                {in: jsonOf(t, m{"q": "⟦a.quote⟧", "n": "⟦a.n⟧", "l": []any{"⟦a.list...⟧"}}), want: `{"l":["x",2],"n":5432,"q":"say \"hi\" \\ "}`},
		"json later":          {in: m{"x": jsonOf(t, m{"q": "⟦a.s⟧", "z": "⟦later.z⟧"})}, want: m{"x": `{"q":"text","z":"⟦later.z⟧"}`}, unknown: "x"},
		"json secret":         {in: m{"x": "v=" + jsonOf(t, []any{"⟦secret:k⟧"})}, want: m{"x": `v=["le\"ak"]`}, secret: "x"},
		"then":                {in: thenOf(t, "f", m{"x": "⟦a.n⟧"}), want: `f({"x":5432})`},
		"then later":          {in: m{"x": thenOf(t, "f", "⟦later.z⟧")}, want: m{"x": mustCanonical(t, thenOf(t, "f", "⟦later.z⟧"))}, unknown: "x"},
		"then secret":         {in: m{"x": thenOf(t, "f", "⟦secret:k⟧")}, want: m{"x": `f("le\"ak")`}, secret: "x"},
		"json in json":        {in: jsonOf(t, m{"doc": jsonOf(t, []any{"⟦a.quote⟧"})}), want: `{"doc":"[\"say \\\"hi\\\" \\\\ \"]"}`},
		"url":                 {in: urlOf(t, "postgres://%s@%s:%s/shop/%s?x=%s&%s=1#%s", User{"app", "⟦a.at⟧"}, "⟦a.plain⟧", "⟦a.n⟧", "a/b", "c d&e", "⟦a.s⟧", true), want: "postgres://app:p%40ss%2Fw%3Fr%23d%3A%2541@db.example.com:5432/shop/a%2Fb?x=c%20d%26e&text=1#true"},
		"url base":            {in: urlOf(t, "%s/v1/%s", "⟦a.url⟧", "⟦a.quote⟧"), want: "https://x.example:8443/q/v1/say%20%22hi%22%20%5C%20"},
		"url later":           {in: m{"x": urlOf(t, "https://%s:%s@%s/", "u", "⟦secret:k⟧", "⟦later.z⟧")}, want: m{"x": "https://u:le%22ak@⟦later.z⟧/"}, unknown: "x", secret: "x"},
		"json text":           {in: `{"a":"⟦a.s⟧","b":["x⟦a.n⟧"],"c":⟦a.n⟧,"d":` + jsonOf(t, []any{"⟦a.quote⟧"}) + `}`, want: `{"a":"text","b":["x5432"],"c":5432,"d":["say \"hi\" \\ "]}`},
		"json text later":     {in: m{"x": `{"a":"⟦later.s⟧"}`}, want: m{"x": `{"a":"⟦later.s⟧"}`}, unknown: "x"},
		"not json":            {in: `{{ x }} ⟦a.quote⟧`, want: `{{ x }} say "hi" \ `},
		"word in brackets":    {in: "[⟦a.s⟧]", want: "[text]"},
		"url text":            {in: "postgres://u:⟦a.s⟧@⟦a.plain⟧:⟦a.n⟧/d?q=⟦a.s⟧", want: "postgres://u:text@db.example.com:5432/d?q=text"},
		"not a url":           {in: "see //⟦a.at⟧", want: "see //p@ss/w?r#d:%41"},
		"after a url":         {in: "⟦a.url⟧/x?y", want: "https://x.example:8443/q/x?y"},
	} {
		before := tree.Digest(c.in)
		got, err := Resolve(c.in, known)
		if err != nil || !tree.Equal(got.Tree, c.want) {
			t.Errorf("%s: have %v, %v\nwant %v", name, got.Tree, err, c.want)
		}
		if have := paths(got.Unknown); have != c.unknown {
			t.Errorf("%s: unknown %q, want %q", name, have, c.unknown)
		}
		if have := paths(got.Secret); have != c.secret {
			t.Errorf("%s: secret %q, want %q", name, have, c.secret)
		}
		if tree.Digest(c.in) != before {
			t.Errorf("%s: the tree itself changed", name)
		}
	}
}

func mustCanonical(t *testing.T, v any) any {
	t.Helper()
	c, err := Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func paths(set map[tree.Path]bool) string {
	var all []string
	for p := range maps.Keys(set) {
		all = append(all, string(p))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestResolveErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		path tree.Path
		says string
	}{
		"nothing there":    {m{"x": []any{"⟦a.none⟧"}}, "x[0]", "${a.none}: nothing there"},
		"no output":        {m{"x": Plain.Output(Stack{Name: "a", Stage: "dev"}, "none", false)}, "x", "${a/dev.none}: no such output"},
		"list in text":     {m{"x": "a⟦a.list⟧"}, "x", "a list"},
		"null in text":     {m{"x": "a⟦a.null⟧"}, "x", "nothing"},
		"map in text":      {m{"x": "a⟦a.map⟧"}, "x", "a map"},
		"spread alone":     {m{"x": "⟦a.list...⟧"}, "x", "pass it whole"},
		"spread in text":   {m{"x": "-⟦a.list...⟧"}, "x", "a list"},
		"spread no list":   {m{"x": []any{"⟦a.s...⟧"}}, "x[0]", "want a list, have text"},
		"keys meet":        {m{"x": m{"⟦a.s⟧": 1, "text": 2}}, "x", "two keys"},
		"list as key":      {m{"x": m{"⟦a.list⟧": "1"}}, "x", "a list"},
		"damage":           {m{"x": "⟦a.s"}, "x", "damaged"},
		"damage in key":    {m{"x": m{"a⟧": "1"}}, "x", "damaged"},
		"json breaks":      {m{"x": `{"a":"⟦a.quote⟧"}`}, "x", "s.JSON"},
		"json injection":   {m{"x": `{"a":"⟦a.inject⟧"}`}, "x", "s.JSON"},
		"url injection":    {m{"x": "http://h/?q=⟦a.two⟧"}, "x", "s.URL"},
		"json secret":      {m{"x": `{"a":"⟦secret:k⟧"}`}, "x", "s.JSON"},
		"json word":        {m{"x": `{"a":⟦a.s⟧}`}, "x", "s.JSON"},
		"json in quotes":   {m{"x": `{"a":"` + jsonOf(t, []any{"b"}) + `"}`}, "x", "s.JSON"},
		"json key twice":   {m{"x": `{"⟦a.s⟧":1,"text":2}`}, "x", "s.JSON"},
		"json digit":       {m{"x": `{"a":1⟦a.b⟧}`}, "x", "s.JSON"},
		"url password":     {m{"x": "postgres://u:⟦a.at⟧@h/d"}, "x", "s.URL"},
		"url host":         {m{"x": "http://⟦a.at⟧/d"}, "x", "s.URL"},
		"url path":         {m{"x": "http://h/⟦a.at⟧"}, "x", "s.URL"},
		"url query":        {m{"x": "http://h/?q=⟦a.at⟧"}, "x", "s.URL"},
		"url port":         {m{"x": "http://h:⟦a.s⟧/"}, "x", "s.URL"},
		"url host arg":     {m{"x": urlOf(t, "http://%s/", "⟦a.at⟧")}, "x", "want a host"},
		"url port arg":     {m{"x": urlOf(t, "http://h:%s/", "⟦a.s⟧")}, "x", "want a port"},
		"url base arg":     {m{"x": urlOf(t, "%s/x", "⟦a.s⟧")}, "x", "absolute URL"},
		"url list arg":     {m{"x": urlOf(t, "http://h/%s", "⟦a.list⟧")}, "x", "a list"},
		"inside json":      {m{"x": jsonOf(t, m{"y": "⟦a.none⟧"})}, "x", "y: ${a.none}: nothing there"},
		"inside then":      {m{"x": thenOf(t, "f", m{"y": "⟦a.none⟧"})}, "x", "nothing there"},
		"secret in a text": {m{"x": "http://h/?q=⟦secret:k⟧&⟦a.at⟧"}, "x", "s.URL"},
	} {
		_, err := Resolve(c.in, known)
		te, ok := errors.AsType[*Error](err)
		if !ok || te.Path != c.path || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want %s: ...%s...", name, err, c.path, c.says)
		}
		if err != nil && (strings.Contains(err.Error(), "ak") && strings.Contains(err.Error(), "le\"") || strings.Contains(err.Error(), "p@ss")) {
			t.Errorf("%s: the error holds a value: %v", name, err)
		}
	}
}

func TestURLFormats(t *testing.T) {
	for format, n := range map[string]int{
		"no url %s": 1, "/path/%s": 1, "http://%d/": 1, "http://h/%s": 2, "http://h/%": 0, "mailto:%s": 1, "http://h/⟦a.b⟧": 0,
	} {
		if s, err := Plain.URL(format, slices.Repeat([]any{"x"}, n)); err == nil {
			t.Errorf("%s: made %s", format, Show(s))
		}
	}
	for _, args := range [][]any{{[]any{}}, {map[string]any{"user": "x"}}, {User{"a", "b"}}, {nil}, {struct{}{}}} {
		if _, err := Plain.URL("http://h/%s", args); err == nil {
			t.Errorf("took %v", args)
		}
	}
	if _, err := Plain.Then("a b", nil); err == nil {
		t.Error("an odd function id was taken")
	}
}

// FuzzResolve checks that no value can change the shape around it: neither in JSON nor in a URL, whether it is
// escaped or joined by hand.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"x", ";", `"`, `\`, "a/b", "p@ss:w#r?d%41", "⟦a.b⟧", "\n", "\xff", "700001", "+", "é", `","x":"`, "%zz", "h:80", "0"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		values := func(e Expr) (Value, error) {
			if e.Ref.Address == "a" {
				return Value{Any: a}, nil
			}
			return Value{Any: b, Secret: true}, nil
		}
		escaped, err := Resolve(m{
			"json": jsonOf(t, m{"a": "⟦a.x⟧", "l": []any{"-⟦b.x⟧"}}),
			"url":  urlOf(t, "https://%s@h/p/%s?k=%s&%s=v#%s", User{"⟦a.x⟧", "⟦b.x⟧"}, "⟦a.x⟧", "⟦b.x⟧", "⟦a.x⟧", "⟦b.x⟧"),
			"raw":  "⟦a.x⟧",
		}, values)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := tree.Decode([]byte(escaped.Tree.(m)["json"].(string)))
		if err != nil || !tree.Equal(doc, m{"a": a, "l": []any{"-" + b}}) || escaped.Tree.(m)["raw"] != a {
			t.Fatalf("%q, %q: have %v, %v", a, b, escaped.Tree, err)
		}
		u, err := url.Parse(escaped.Tree.(m)["url"].(string))
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		if u.User.Username() != a || password != b || u.Host != "h" || u.Path != "/p/"+a || u.Query().Get("k") != b || u.Fragment != b {
			t.Fatalf("%q, %q: have %v", a, b, u)
		}
		joined, err := Resolve(`{"k":"⟦a.x⟧","⟦b.x⟧!":[1]}`, values)
		if err == nil {
			var back m
			if err := json.Unmarshal([]byte(joined.Tree.(string)), &back); err != nil || len(back) != 2 {
				t.Fatalf("%q, %q: %v: %v", a, b, joined.Tree, err)
			}
		}
		byHand, err := Resolve("https://u:⟦a.x⟧@h/⟦b.x⟧?q=⟦a.x⟧&r=1", values)
		if err != nil {
			return
		}
		u, err = url.Parse(byHand.Tree.(string))
		if err != nil {
			t.Fatal(err)
		}
		password, _ = u.User.Password()
		if password != a || u.Host != "h" || u.Path != "/"+b || u.Query().Get("q") != a || u.Query().Get("r") != "1" {
			t.Fatalf("%q, %q: have %v", a, b, u)
		}
	})
}

// stack is a tree of n resources that refer to each other.
func stack(n int) any {
	all := m{}
	for i := range n {
		all[fmt.Sprintf("r%05d", i)] = m{
			"name": fmt.Sprintf("queue-%d", i), "deadLetter": "⟦a.s⟧", "policy": `{"Action":"send","Resource":"⟦a.s⟧"}`,
			"tags": m{"team": "shop", "stage": "prod"}, "ports": []any{int64(80), "⟦a.n⟧"},
		}
	}
	return all
}

func BenchmarkResolve10000(b *testing.B) {
	v := stack(10000)
	for b.Loop() {
		if _, err := Resolve(v, known); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonical10000(b *testing.B) {
	v := stack(10000)
	for b.Loop() {
		if _, err := Canonical(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefs10000(b *testing.B) {
	v := stack(10000)
	for b.Loop() {
		if _, err := Refs(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScanText(b *testing.B) {
	s := strings.Repeat("a plain text without any token, ", 30)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		if _, err := Scan(s); err != nil {
			b.Fatal(err)
		}
	}
}
