package tree_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestPathText(t *testing.T) {
	for _, c := range []struct {
		made tree.Path
		want string
	}{
		{"", ""},
		{tree.Path("").Key("a"), "a"},
		{tree.Path("").Key("a").Key("b").Index(0).Key("c"), "a.b[0].c"},
		{tree.Path("a").Key("odd key").Key("b"), `a["odd key"].b`},
		{tree.Path("").Key("9"), `["9"]`},
		{tree.Path("").Key(""), `[""]`},
		{tree.Path("").Key("*"), `["*"]`},
		{tree.Path("").Key(`q"\` + "\n"), `["q\"\\\n"]`},
		{tree.Path("").Key("a.b").Key("é").Key("\xff"), `["a.b"]["é"]["\udcff"]`},
		{tree.Path("a").Index(3).Index(4), "a[3][4]"},
		{tree.Path("").Any().Key("x").Any(), "*.x.*"},
		{tree.Path("a").Join("b.c"), "a.b.c"},
		{tree.Path("a").Join("[0]"), "a[0]"},
		{tree.Path("").Join("b"), "b"},
		{tree.Path("a").Join(""), "a"},
	} {
		if string(c.made) != c.want {
			t.Errorf("have %s, want %s", c.made, c.want)
		}
		if again, err := tree.ParsePath(c.want); err != nil || again != c.made {
			t.Errorf("ParsePath(%s) = %s, %v", c.want, again, err)
		}
	}
	for spelt, want := range map[string]tree.Path{`["a"]`: "a", "a[*].b": "a.*.b", `a["b"]["c d"]`: `a.b["c d"]`} {
		if have, err := tree.ParsePath(spelt); err != nil || have != want {
			t.Errorf("ParsePath(%s) = %s, %v; want %s", spelt, have, err, want)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	for s, at := range map[string]int{
		".": 0, ".a": 0, "a.": 1, "a..b": 2, "9": 0, "a b": 0, "a[": 1, "a[]": 1, "a[01]": 1, "a[-1]": 1,
		"a[9999999999]": 1, `a["b]`: 1, `a["b"`: 1, "a]": 0, "a.[0]": 0, "a[0]b": 1, "a*": 0,
	} {
		_, err := tree.ParsePath(s)
		pe, ok := errors.AsType[*tree.PathError](err)
		if !ok || pe.At != at || pe.Text != s {
			t.Errorf("ParsePath(%q): have %v, want an error at %d", s, err, at)
		}
	}
}

func TestSteps(t *testing.T) {
	have := tree.Path(`a.b[7]["x.y"].*`).Steps()
	want := []tree.Step{{Key: "a", Index: -1}, {Key: "b", Index: -1}, {Index: 7}, {Key: "x.y", Index: -1}, {Index: -1, Any: true}}
	if !slices.Equal(have, want) {
		t.Errorf("have %v", have)
	}
	if len(tree.Path("").Steps()) != 0 {
		t.Error("the root has steps")
	}
	if have := tree.Path("no path!").Steps(); len(have) != 1 || have[0].Key != "no path!" {
		t.Errorf("have %v", have)
	}
}

func TestWithinAndParent(t *testing.T) {
	for _, c := range []struct {
		p, q tree.Path
		want bool
	}{
		{"a.b", "a", true},
		{"a", "a", true},
		{"a[0]", "a", true},
		{"ab", "a", false},
		{"a", "a.b", false},
		{"a", "", true},
		{"", "", true},
		{"", "a", false},
		{"a-b", "a", false},
		{"env.X", "env.*", true},
		{"env", "env.*", false},
		{"env.X.y", "env.*", true},
		{"a[3].b", "a.*.b", true},
		{"a[3].c", "a.*.b", false},
		{`["*"]`, `["*"]`, true},
		{"a", `["*"]`, false},
		{"a", "*", true},
	} {
		if have := c.p.Within(c.q); have != c.want {
			t.Errorf("%q within %q: have %v", c.p, c.q, have)
		}
	}
	for p, want := range map[tree.Path]tree.Path{"": "", "a": "", "a.b": "a", "a[0]": "a", "a[0].b": "a[0]", `a["x.y"]`: "a", `["x"]`: "", "a.*": "a"} {
		if have := p.Parent(); have != want {
			t.Errorf("parent of %q: have %q, want %q", p, have, want)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0]", `["odd \" key"]`, "*.x", "a[", "\xff", `["\udc80"].a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tree.Path(s).Steps()
		tree.Path(s).Parent()
		back := tree.Path("").Key(s).Index(1).Key(s)
		if steps := back.Steps(); len(steps) != 3 || steps[0].Key != s || steps[1].Index != 1 || steps[2].Key != s {
			t.Fatalf("key %q became %v", s, steps)
		}
		if p, err := tree.ParsePath(string(back)); err != nil || p != back {
			t.Fatalf("ParsePath(%s) = %s, %v", back, p, err)
		}
		p, err := tree.ParsePath(s)
		if err != nil {
			return
		}
		if again, err := tree.ParsePath(string(p)); err != nil || again != p {
			t.Fatalf("%q: canonical %q reads back as %q, %v", s, p, again, err)
		}
		if !p.Within(p.Parent()) || !p.Within(p) {
			t.Fatalf("%q is not within its parent %q", p, p.Parent())
		}
	})
}
