package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// later is a reference to what is known only later.
const later = "⟦up.value⟧"

// comparing returns the kind of an object whose comparison the test gives.
func comparing(compare func(d *reconcile.Diff[any])) reconcile.Any {
	return reconciletest.Erase(&reconciletest.Kind[noProps, any, noAttrs]{
		Type:     "test.Compared",
		Observe:  func(context.Context, reconciletest.Site[noProps, noAttrs]) (any, error) { return 1, nil },
		Create:   func(context.Context, reconciletest.Site[noProps, noAttrs]) (noAttrs, error) { return noAttrs{}, nil },
		Compare:  func(d *reconcile.Diff[any], _ noProps, _ any) { compare(d) },
		Attrs:    func(any) noAttrs { return noAttrs{} },
		Delete:   func(context.Context, reconciletest.Site[noProps, noAttrs]) error { return nil },
		Identity: func(noAttrs) string { return "it" },
		MaskLive: []tree.Path{"env"},
	})
}

type (
	noProps struct{ Hidden token.Secret }
	noAttrs struct{}
)

// steps are the differences that a comparison states, each as one line.
func steps(t *testing.T, job *reconcile.Job, compare func(d *reconcile.Diff[any])) []string {
	t.Helper()
	if job == nil {
		job = &reconcile.Job{}
	}
	job.Props = map[string]any{}
	if job.Digest == nil {
		job.Digest = func(domain string, data []byte) string { return "digest of " + domain + string(data) }
	}
	look, err := comparing(compare).Look(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range look.Steps {
		line := s.String()
		for _, flag := range []struct {
			on   bool
			name string
		}{{s.Replaces, "replaces"}, {s.Unknown, "unknown"}, {s.Secret, "secret"}} {
			if flag.on {
				line += " " + flag.name
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func call(name string) *reconcile.Operation[any] {
	return &reconcile.Operation[any]{Name: name, Do: func(context.Context, reconcile.Update[any]) error { return nil }}
}

func noSync[V any](context.Context, reconcile.Update[any], V, []string) error { return nil }

func TestCompare(t *testing.T) {
	t.Parallel()
	type pair struct{ A, B string }
	secretAt := func(p tree.Path) *reconcile.Job { return &reconcile.Job{Secret: map[tree.Path]bool{p: true}} }
	unknownAt := func(p tree.Path) *reconcile.Job { return &reconcile.Job{Unknown: map[tree.Path]bool{p: true}} }
	value := func(want, have any) func(*reconcile.Diff[any]) {
		return func(d *reconcile.Diff[any]) { reconcile.Value(d, "p", want, have, call("Set")) }
	}
	tags := func(want, have map[string]string) func(*reconcile.Diff[any]) {
		return func(d *reconcile.Diff[any]) { reconcile.Map(d, "tags", want, have, "Tag", noSync[map[string]string]) }
	}
	document := func(want, have string) func(*reconcile.Diff[any]) {
		return func(d *reconcile.Diff[any]) { reconcile.JSON(d, "doc", want, have, call("Put")) }
	}
	for _, c := range []struct {
		name    string
		job     *reconcile.Job
		compare func(d *reconcile.Diff[any])
		want    []string
	}{
		{"equal values", nil, value("a", "a"), nil},
		{"different values", nil, value("a", "b"), []string{`p: have "b", want "a"`}},
		{"numbers by value", nil, value(int64(1), 1.0), nil},
		{"a pointer by what it points at", nil, value(new(3), 3), nil},
		{"nil pointer and nothing", nil, value((*int)(nil), nil), nil},
		{"nil pointer and zero", nil, value((*int)(nil), 0), []string{`p: have 0, want null`}},
		{"structs by their props", nil, value(pair{A: "x"}, map[string]any{"a": "x"}), nil},
		{"an unknown value", unknownAt("p"), value(later, "b"), []string{`p: have "b", want "` + later + `" unknown`}},
		{"an unknown below", unknownAt("p.x[0]"), value("same", "same"), []string{`p: have "same", want "same" unknown`}},
		{"an unknown above", unknownAt(""), value("same", "same"), []string{`p: have "same", want "same" unknown`}},
		{"an unknown elsewhere", unknownAt("q"), value("a", "b"), []string{`p: have "b", want "a"`}},
		{"text like a token, all known", nil, value(later, later), nil},
		{"a secret", secretAt("p"), value("a", "b"), []string{`p: have "(secret)", want "(secret)" secret`}},
		{"a secret that appears", secretAt("p.deep"), value("a", nil), []string{`p: have null, want "(secret)" secret`}},
		{"a secret by its type", nil, func(d *reconcile.Diff[any]) { reconcile.Value(d, "hidden", "a", "b", call("Set")) }, []string{`hidden: have "(secret)", want "(secret)" secret`}},
		{"fixed", nil, func(d *reconcile.Diff[any]) { reconcile.Fixed(d, "p", "a", "b") }, []string{`p: have "b", want "a" replaces`}},
		{"fixed and unknown", unknownAt("p"), func(d *reconcile.Diff[any]) { reconcile.Fixed(d, "p", later, "b") }, []string{`p: have "b", want "` + later + `" replaces unknown`}},
		{"ignored", &reconcile.Job{Ignore: []tree.Path{"p"}}, value("a", "b"), nil},
		{"ignored below", &reconcile.Job{Ignore: []tree.Path{"tags.*"}}, tags(map[string]string{"a": "1"}, nil), nil},
		{"ignored elsewhere", &reconcile.Job{Ignore: []tree.Path{"pp"}}, value("a", "b"), []string{`p: have "b", want "a"`}},
		{"left out", &reconcile.Job{Omit: []tree.Path{"p"}}, value("a", "b"), nil},
		{"replaced on", &reconcile.Job{ReplaceOn: []tree.Path{"p"}}, value("a", "b"), []string{`p: have "b", want "a" replaces`}},
		{"lists in order", nil, func(d *reconcile.Diff[any]) {
			reconcile.List(d, "p", []string{"a", "b"}, []string{"b", "a"}, call("Set"))
			reconcile.List(d, "q", nil, []string{}, call("Set"))
		}, []string{`p: have ["b","a"], want ["a","b"]`}},
		{"sets without order", nil, func(d *reconcile.Diff[any]) {
			nothing := func(context.Context, reconcile.Update[any], []string, []string) error { return nil }
			reconcile.Set(d, "p", []string{"a", "b", "a"}, []string{"b", "a"}, "Set", nothing)
			reconcile.Set(d, "q", []string{"a"}, []string{"b"}, "Set", nothing)
		}, []string{`q: have ["b"], want ["a"]`}},
		{
			"a map entry by entry", nil, tags(map[string]string{"same": "1", "new": "2", "odd key": "3"}, map[string]string{"same": "1", "old": "4", "odd key": "5"}),
			[]string{`tags.new: have null, want "2"`, `tags["odd key"]: have "5", want "3"`, `tags.old: have "4", want null`},
		},
		{
			"one unknown entry", unknownAt("tags.a"), tags(map[string]string{"a": later, "b": "1"}, map[string]string{"a": "x", "b": "1"}),
			[]string{`tags.a: have "x", want "` + later + `" unknown`},
		},
		{"an unknown map", unknownAt("tags"), tags(nil, map[string]string{"a": "x"}), []string{`tags.a: have "x", want null unknown`}},
		{"live values that are not named", nil, func(d *reconcile.Diff[any]) {
			reconcile.Map(d, "env", map[string]string{"A": "1"}, map[string]string{"A": "0", "B": "2"}, "Set", noSync[map[string]string])
		}, []string{`env.A: have "0", want "1"`, `env.B: have "(secret)", want null secret`}},
		{"documents by meaning", nil, document(`{"a": 1, "b": [true]}`, "{ \"b\":[true],\"a\":1.0 }"), nil},
		{"documents that differ", nil, document(`{"a":1}`, `{"a":2}`), []string{`doc: have {"a":2}, want {"a":1}`}},
		{"no document", nil, document("", ""), nil},
		{"text that is no document", nil, document("plain", "plain"), nil},
		{"an unknown in a document", unknownAt("doc"), document(`{"a":"`+later+`"}`, `{}`), []string{`doc: have {}, want {"a":"` + later + `"} unknown`}},
	} {
		if got := steps(t, c.job, c.compare); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n have %q\n want %q", c.name, got, c.want)
		}
	}
}

// TestDiffTells: a comparison knows what it has stated so far, and what is secret.
func TestDiffTells(t *testing.T) {
	t.Parallel()
	steps(t, &reconcile.Job{Secret: map[tree.Path]bool{"env.KEY": true}}, func(d *reconcile.Diff[any]) {
		reconcile.Value(d, "a.b", any("new"), any("old"), call("Set"))
		reconcile.Value(d, "c", any("same"), any("same"), call("Set"))
		for path, want := range map[tree.Path]bool{"a": true, "a.b": true, "a.b.c": false, "c": false} {
			if d.Differs(path) != want {
				t.Errorf("%s differs: %t", path, !want)
			}
		}
		for path, want := range map[tree.Path]bool{"env": true, "env.KEY": true, "env.KEY.json": true, "env.STAGE": false, "hidden": true} {
			if d.Secret(path) != want {
				t.Errorf("%s is secret: %t", path, !want)
			}
		}
	})
}

func TestWritten(t *testing.T) {
	t.Parallel()
	write := func(want any) func(*reconcile.Diff[any]) {
		return func(d *reconcile.Diff[any]) { reconcile.Written(d, "p", want, call("Write")) }
	}
	recorded := func(v string) *reconcile.Job {
		return &reconcile.Job{Written: map[tree.Path]string{"p": "digest of written  p" + v}}
	}
	for _, c := range []struct {
		name string
		job  *reconcile.Job
		want any
		step []string
	}{
		{"never written", nil, "x", []string{`p: have null, want "(secret)" secret`}},
		{"nothing to write", nil, nil, nil},
		{"written before", recorded(`"x"`), "x", nil},
		{"changed", recorded(`"y"`), "x", []string{`p: have "(secret)", want "(secret)" secret`}},
		{"taken back", recorded(`"y"`), nil, []string{`p: have "(secret)", want "(secret)" secret`}},
		{"unknown", &reconcile.Job{Unknown: map[tree.Path]bool{"p": true}}, later, []string{`p: have null, want "(secret)" unknown secret`}},
		{"ignored", &reconcile.Job{Ignore: []tree.Path{"p"}}, "x", nil},
	} {
		if got := steps(t, c.job, write(c.want)); !slices.Equal(got, c.step) {
			t.Errorf("%s:\n have %q\n want %q", c.name, got, c.step)
		}
	}
}

// A comparison that no tree can hold is a mistake in the kind, and is told as one.
func TestCompareOfNoTree(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "compare") {
			t.Errorf("panic %v", p)
		}
	}()
	steps(t, nil, func(d *reconcile.Diff[any]) { reconcile.Value(d, "p", make(chan int), nil, call("Set")) })
}

// Calls that apply maps and sets learn exactly what changed, and a shared call runs once.
func TestCallsLearnWhatChanged(t *testing.T) {
	t.Parallel()
	var said []string
	settled := false
	kind := comparing(func(d *reconcile.Diff[any]) {
		if settled {
			return
		}
		d.Mark()
		reconcile.Map(d, "tags", map[string]string{"a": "1", "b": "2", "c": "3"}, map[string]string{"b": "2", "c": "0", "y": "8", "x": "9"}, "Tag",
			func(_ context.Context, _ reconcile.Update[any], put map[string]string, drop []string) error {
				said = append(said, fmt.Sprint("tag ", slices.Sorted(maps.Keys(put)), drop))
				return nil
			})
		reconcile.Set(d, "ids", []int{3, 1}, []int{1, 2}, "Set",
			func(_ context.Context, _ reconcile.Update[any], add, drop []int) error {
				said = append(said, fmt.Sprint("set ", add, drop))
				return nil
			})
		shared := &reconcile.Operation[any]{Name: "Both", Do: func(_ context.Context, on reconcile.Update[any]) error {
			said = append(said, fmt.Sprint("both ", on.Changed))
			settled = true
			return nil
		}}
		reconcile.Value(d, "one", 1, 2, shared)
		reconcile.Value(d, "same", 1, 1, shared)
		reconcile.Value(d, "two", 1, 2, shared)
	})
	out, err := kind.Settle(t.Context(), &reconcile.Job{Props: map[string]any{}, Ignore: []tree.Path{"tags.y"}}, reconcile.Hooks{})
	want := []string{"tag [a c] [x]", "set [3] [2]", "both [one two]"}
	if err != nil || !slices.Equal(said, want) {
		t.Errorf("calls %q, want %q (%v)", said, want, err)
	}
	if fmt.Sprint(out.Changed) != "[tags.a tags.c tags.x ids one two]" {
		t.Errorf("changed %v", out.Changed)
	}
}

func TestErrorsTell(t *testing.T) {
	t.Parallel()
	root := errors.New("root")
	err := fmt.Errorf("outer: %w", errors.Join(
		reconcile.WithHint(&reconcile.StepError{Verb: "set", Paths: []tree.Path{"a", "b"}, Err: root}, "do %s", "this"),
		reconcile.WithHint(reconcile.WithHint(reconcile.ErrHoldsData, "inner"), "outer"),
	))
	if hints := reconcile.Hints(err); !slices.Equal(hints, []string{"do this", "outer", "inner"}) {
		t.Errorf("hints %q", hints)
	}
	if !errors.Is(err, root) || !errors.Is(err, reconcile.ErrHoldsData) || !strings.Contains(err.Error(), "set a, b: root") {
		t.Errorf("error %v", err)
	}
	if reconcile.Hints(nil) != nil {
		t.Error("no error has hints")
	}
	replace := error(&reconcile.ReplaceError{Steps: []reconcile.Step{{Path: "a"}, {Path: "b"}}})
	if !errors.Is(replace, reconcile.ErrReplace) || replace.Error() != "needs replacing: a, b" {
		t.Errorf("error %v", replace)
	}
}
