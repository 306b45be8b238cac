package token

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"math"
	"net/url"
	"path"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

var spellings = []Spelling{Plain, Shifted}

// samples are one token of every form, in both spellings.
func samples(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, s := range spellings {
		must := func(text string, err error) string {
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		for name, text := range map[string]string{
			"ref":      s.Ref(Ref{Address: "orders", Path: "arn"}),
			"deep":     s.Ref(Ref{Address: "net/subnet[a.b]", Path: "tags.x[0]"}),
			"odd":      s.Ref(Ref{Address: "orders", Path: tree.Path("tags").Key("odd <&'\"\\ key")}),
			"whole":    s.Ref(Ref{Address: "orders"}),
			"spread":   s.Ref(Ref{Address: "orders", Path: "items", Spread: true}),
			"secret":   s.Secret("apiKey"),
			"secret64": s.Secret("api key"),
			"stack":    s.Output(Stack{Name: "network", Stage: "prod"}, "vpcId", false),
			"stacks":   s.Output(Stack{Name: "network", Stage: "prod", Store: "bolt:../net.db"}, "zones.eu", true),
			"json":     must(s.JSON(map[string]any{"a": s.Ref(Ref{Address: "orders", Path: "arn"}), "n": 1})),
			"url":      must(s.URL("https://%s@%s/x?q=%s", []any{User{"app", s.Secret("pw")}, "h", true})),
			"then":     must(s.Then("f.1", []string{s.Ref(Ref{Address: "orders", Path: "arn"})})),
		} {
			all[fmt.Sprint(name, s)] = text
		}
	}
	return all
}

func TestSpellings(t *testing.T) {
	for want, r := range map[string]Ref{
		"⟦orders.arn⟧":             {Address: "orders", Path: "arn"},
		"⟦net/subnet[a].subnetId⟧": {Address: "net/subnet[a]", Path: "subnetId"},
		"⟦a-b/c_d9.x-y.z[3].q⟧":    {Address: "a-b/c_d9", Path: "x-y.z[3].q"},
		"⟦orders.items...⟧":        {Address: "orders", Path: "items", Spread: true},
		"⟦orders⟧":                 {Address: "orders"},
	} {
		if have := Plain.Ref(r); have != want {
			t.Errorf("have %s, want %s", have, want)
		}
		for _, s := range spellings {
			parts, err := Scan(s.Ref(r))
			if err != nil || len(parts) != 1 || parts[0].Expr.Ref != r {
				t.Errorf("%s: have %v, %v", want, parts, err)
			}
		}
	}
	if have := Plain.Secret("apiKey"); have != "⟦secret:apiKey⟧" {
		t.Errorf("have %s", have)
	}
	all := samples(t)
	for name, text := range all {
		if strings.ContainsAny(text, "\"'\\<>& \t\n") {
			t.Errorf("%s holds a character that encoders change: %s", name, text)
		}
		plain, ok := strings.CutSuffix(name, "1")
		if !ok {
			continue
		}
		back, err := Canonical(text)
		if err != nil || back != all[plain+"0"] {
			t.Errorf("%s: canonical is %v, %v; want %s", name, back, err, all[plain+"0"])
		}
		if len(text) == len(back.(string)) || text[0] == back.(string)[0] {
			t.Errorf("%s: spellings look alike", name)
		}
	}
}

// TestSurvives passes every token through everything that may touch one.
func TestSurvives(t *testing.T) {
	text := func(parse func(string) (interface {
		Execute(w *bytes.Buffer, v any) error
	}, error), body, v string,
	) string {
		tm, err := parse(body)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := tm.Execute(&b, v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	ways := map[string]func(string) string{
		"plus":    func(s string) string { return "a" + s + "b" },
		"%s":      func(s string) string { return fmt.Sprintf("a %s b", s) },
		"%q":      func(s string) string { return fmt.Sprintf("%q", s) },
		"quote":   strconv.Quote,
		"join":    func(s string) string { return strings.Join([]string{s, s}, ",") },
		"path":    func(s string) string { return path.Join("/a/../b/", s, ".", s) },
		"clean":   func(s string) string { return path.Clean("/x//" + s + "/./y") },
		"json":    func(s string) string { b, _ := json.Marshal(map[string]string{s: s}); return string(b) },
		"replace": func(s string) string { return strings.ReplaceAll(s, " ", "_") },
		"text": func(s string) string {
			return text(func(b string) (interface {
				Execute(w *bytes.Buffer, v any) error
			}, error,
			) {
				tm, err := template.New("").Parse(b)
				return textTemplate{tm}, err
			}, `x {{.}} {{printf "%q" .}}`, s)
		},
		"html": func(s string) string {
			return text(func(b string) (interface {
				Execute(w *bytes.Buffer, v any) error
			}, error,
			) {
				tm, err := htmltemplate.New("").Parse(b)
				return htmlTemplate{tm}, err
			}, `<a title="{{.}}">{{.}}</a><script>x = {{.}}</script>`, s)
		},
	}
	for name, s := range samples(t) {
		want, _ := Scan(s)
		for way, f := range ways {
			parts, err := Scan(f(s))
			found := 0
			for _, p := range parts {
				if p.Expr != nil && reflect.DeepEqual(p.Expr, want[0].Expr) {
					found++
				}
			}
			if err != nil || found != strings.Count(f(s), s) || found == 0 {
				t.Errorf("%s through %s: %s: found %d, %v", name, way, f(s), found, err)
			}
		}
	}
}

type textTemplate struct{ *template.Template }

func (t textTemplate) Execute(w *bytes.Buffer, v any) error { return t.Template.Execute(w, v) }

type htmlTemplate struct{ *htmltemplate.Template }

func (t htmlTemplate) Execute(w *bytes.Buffer, v any) error { return t.Template.Execute(w, v) }

func TestDamage(t *testing.T) {
	both := func(f func(string) string) func(string) []string {
		return func(s string) []string { return []string{f(s), "see " + f("x"+s+"y") + "!", f("ab" + s)} }
	}
	ways := map[string]func(string) []string{
		"query escape": both(url.QueryEscape),
		"path escape":  both(url.PathEscape),
		"ascii":        both(strconv.QuoteToASCII),
		"base64":       both(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"base64 url":   both(func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }),
		"hex":          both(func(s string) string { return hex.EncodeToString([]byte(s)) }),
		"hex upper":    both(func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }),
	}
	for name, s := range samples(t) {
		for way, f := range ways {
			for _, text := range f(s) {
				damaged(t, name+" through "+way, text)
			}
		}
		for n := 1; n < len(s); n++ {
			damaged(t, fmt.Sprint(name, " cut after ", n), s[:n])
			damaged(t, fmt.Sprint(name, " cut before ", n), "x"[:n%2]+s[n:])
		}
	}
	for _, s := range []string{
		strings.ToLower(Shifted.Ref(Ref{Address: "orders", Path: "arn"})), strings.ToUpper(Plain.Secret("x")),
		"⟦⟧", "⟦ orders.arn⟧", "⟦orders..arn⟧", "⟦orders.⟧", "⟦9.x⟧", "⟦a.*⟧", "⟦a/.x⟧", "⟦a[].x⟧", "⟦a[b.x⟧", "⟦a⟦b.c⟧⟧", "⟦a.b﹞",
		"⟦json:e30=⟧", "⟦json:eyJiIjoxLCJhIjoxfQ⟧", "⟦then:e30⟧", "⟦what:e30⟧", "⟦url:e30⟧", "⟦ref:e30⟧", "⟦secret:⟧", "⟦secret64:YQ⟧",
		"⟧", "a⟧⟦b.c⟧", "﹝X61Z", "﹝61﹞", "﹝X6fZ﹞",
	} {
		damaged(t, s, s)
	}
	for _, s := range []string{
		"", "plain", "100% sure", `C:\users\x`, "4p-m", "in6Y", "Kfp", "e29fa6", "e29fa6e29fa7", "% e2", "[[a.b]]", "é⟨x⟩",
		base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xe2, 0x9f, 0xa6, 0x00}, 50)), "d41d8cd98f00b204e9800998ecf8427e",
	} {
		if parts, err := Scan(s); err != nil || s != "" && (len(parts) != 1 || parts[0].Text != s) {
			t.Errorf("%q: have %v, %v", s, parts, err)
		}
	}
}

func damaged(t *testing.T, name, text string) {
	t.Helper()
	_, err := Scan(text)
	de, ok := errors.AsType[*DamagedError](err)
	if !ok {
		t.Errorf("%s: %q was not found to be damaged: %v", name, text, err)
	} else if de.At < 0 || de.At >= len(text) {
		t.Errorf("%s: an error at %d of %d", name, de.At, len(text))
	}
}

// TestHasOnlyRefs proves that no token but a reference passes as one, in any spelling or text.
func TestHasOnlyRefs(t *testing.T) {
	passed := 0
	for name, sample := range samples(t) {
		for _, text := range []string{sample, "before " + sample + " after", Plain.Ref(Ref{Address: "orders"}) + sample} {
			parts, err := Scan(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !HasOnlyRefs(text) {
				continue
			}
			passed++
			for _, p := range parts {
				if p.Expr != nil && p.Expr.Op != OpRef {
					t.Errorf("%s: %s passes as a reference", name, text)
				}
			}
		}
	}
	if passed == 0 {
		t.Error("nothing passes")
	}
}

func TestCanonicalRefsSecrets(t *testing.T) {
	r := func(a, p string) string { return Shifted.Ref(Ref{Address: a, Path: tree.Path(p)}) }
	doc, err := Shifted.JSON(map[string]any{"x": r("c", "z"), "s": Shifted.Secret("one")})
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{"b": []any{"x" + r("a", "y"), int64(1)}, "a": doc, r("d", "k"): Shifted.Secret("two") + Shifted.Secret("one")}
	plain, err := Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := plain.(map[string]any)["⟦d.k⟧"]; !ok || !tree.Equal(plain.(map[string]any)["b"], []any{"x⟦a.y⟧", int64(1)}) {
		t.Errorf("have %v", plain)
	}
	uses, err := Refs(plain)
	want := []Use{{&Ref{Address: "c", Path: "z"}, "a"}, {&Ref{Address: "a", Path: "y"}, "b[0]"}, {&Ref{Address: "d", Path: "k"}, ""}}
	if err != nil || !reflect.DeepEqual(uses, want) {
		t.Errorf("have %v, %v", uses, err)
	}
	read, err := Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	if have := read.Secrets(); !reflect.DeepEqual(have, []string{"one", "two"}) {
		t.Errorf("have %v", have)
	}
	for _, f := range []func(any) error{
		func(v any) error { _, err := Canonical(v); return err },
		func(v any) error { _, err := Refs(v); return err },
	} {
		te, ok := errors.AsType[*Error](f(map[string]any{"a": []any{"", "⟦cut"}}))
		if !ok || te.Path != "a[1]" {
			t.Errorf("have %v", te)
		}
	}
	if _, err := Canonical(map[string]any{r("a", "b"): 1, "⟦a.b⟧": 2}); err == nil {
		t.Error("two keys became one")
	}
}

func TestShow(t *testing.T) {
	doc, _ := Plain.JSON(map[string]any{"Resource": "⟦orders.arn⟧", "N": 1})
	link, err := Plain.URL("postgres://%s@%s/shop%%20x?a=%s", []any{User{"app", "⟦secret:pw⟧"}, "⟦db.host⟧", "b c"})
	if err != nil {
		t.Fatal(err)
	}
	then, _ := Shifted.Then("f", nil)
	for s, want := range map[string]string{
		"": "", "x": "x", "a ⟦orders.arn⟧ b": "a ${orders.arn} b", "⟦n/s[a].items...⟧": "${n/s[a].items...}",
		"⟦secret:k⟧": "${secret.k}", doc: `{"N":1,"Resource":"${orders.arn}"}`, then: "${then.f}",
		link: "postgres://app:${secret.pw}@${db.host}/shop%2520x?a=b c", "⟦cut": "⟦cut",
	} {
		if have := Show(s); have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
}

func TestLiterals(t *testing.T) {
	if v, ok, err := Num(-5).Value(); v != -5 || !ok || err != nil {
		t.Error(v, ok, err)
	}
	if v, ok, err := Of(true).Value(); !v || !ok || err != nil {
		t.Error(v, ok, err)
	}
	if v, ok, err := Dur(90 * time.Second).Value(); v != 90*time.Second || !ok || err != nil {
		t.Error(v, ok, err)
	}
	if _, ok, err := Int("").Value(); ok || err != nil {
		t.Error("an unset number is set")
	}
	for _, err := range []error{third(Int("⟦a.b⟧").Value()), third(Bool("⟦a.b⟧").Value()), third(Duration("⟦a.b⟧").Value())} {
		if !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
	for _, err := range []error{third(Int("x").Value()), third(Bool("x").Value()), third(Duration("5").Value())} {
		if err == nil || errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
}

func third[V any](_ V, _ bool, err error) error { return err }

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "14d": 14 * day, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
		"-1d1h": -25 * time.Hour, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond, "106751d": 106751 * day,
	} {
		have, err := ParseDuration(text)
		if err != nil || have != want {
			t.Errorf("%s: have %v, %v", text, have, err)
		}
		if back, err := ParseDuration(FormatDuration(have)); err != nil || back != have {
			t.Errorf("%s: written %s, read back %v, %v", text, FormatDuration(have), back, err)
		}
	}
	for d, want := range map[time.Duration]string{
		time.Minute: "1m", 90 * time.Second: "1m30s", 0: "0s", -36 * time.Hour: "-1d12h", 1001 * time.Microsecond: "1ms1us", 1<<63 - 1: "106751d23h47m16s854ms775us807ns",
		-1 << 63: "-106751d23h47m16s854ms775us808ns",
	} {
		if have := FormatDuration(d); have != want {
			t.Errorf("have %s, want %s", have, want)
		}
		if back, err := ParseDuration(FormatDuration(d)); err != nil || back != d {
			t.Errorf("%v: written %s, read back %v, %v", d, want, back, err)
		}
	}
	for _, text := range []string{"", "5", "d", "1", "1h2d", "1d-1h", "1d2", "9999999d", "106751d24h", "1dd", "x", "1 d", "-", "1e3d"} {
		if have, err := ParseDuration(text); err == nil {
			t.Errorf("%q: read as %v", text, have)
		}
	}
	for text, want := range map[string]time.Duration{"9999999d": math.MaxInt64, "106751d24h": math.MaxInt64, "9999999h": math.MaxInt64, "-106752d1s": math.MinInt64} {
		if have, err := ParseDuration(text); !errors.Is(err, ErrTooLong) || have != want {
			t.Errorf("%s: %v, %v", text, have, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s)
		f.Add("a" + s + s)
	}
	f.Add("⟦json:eyJhIjoi4p-mYS5i4p-nIn0⟧ %E2 \\u27e6")
	f.Fuzz(func(t *testing.T, s string) {
		Show(s)
		_, refs := Refs(s)
		parts, err := Scan(s)
		if (err == nil) != (refs == nil) {
			t.Fatalf("%q: scanned with %v, read with %v", s, err, refs)
		}
		if err != nil {
			return
		}
		for _, p := range parts {
			if _, mark := nextBracket(p.Text, 0); mark != "" {
				t.Fatalf("half a token in %q of %q", p.Text, s)
			}
		}
		plain, err := Canonical(s)
		if err != nil {
			t.Fatalf("%q scans, but: %v", s, err)
		}
		again, err := Scan(plain.(string))
		if err != nil || len(again) != len(parts) || len(parts) > 0 && !reflect.DeepEqual(again, parts) {
			t.Fatalf("%q: canonical %q scans as %v, %v", s, plain, again, err)
		}
		if twice, err := Canonical(plain); err != nil || twice != plain {
			t.Fatalf("%q: canonical of canonical %q is %q, %v", s, plain, twice, err)
		}
		if Has(s) != strings.Contains(plain.(string), plainOpen) {
			t.Fatalf("%q: Has is wrong", s)
		}
	})
}
