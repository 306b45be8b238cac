package model_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/simtest/model"
)

// TestImportsNothingOfTheModule: what the model expects is no view of the engine's.
func TestImportsNothingOfTheModule(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) < 3 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			if name, err := strconv.Unquote(imp.Path.Value); err != nil || strings.Contains(name, ".") {
				t.Errorf("%s imports %s", path, imp.Path.Value)
			}
		}
	}
}

const program = `{"resources": [
	{"address": "a", "kind": "sim.Named", "props": {"color": "red"}},
	{"address": "b", "kind": "sim.Plain", "props": {"after": "⟦a.id⟧"}},
	{"address": "n", "kind": "sim.Note", "props": {"text": "⟦a.color⟧dish"}}], "outputs": {"o": "⟦n.short⟧"}}`

// world is the cloud and the state as the program wants them.
func world() ([]model.Object, []model.Entry) {
	live := func(kind, id string) []model.Generation {
		return []model.Generation{{State: "live", Kind: kind, Identity: id}}
	}
	objects := []model.Object{
		{Kind: "sim.Named", ID: "1", Fields: map[string]string{"color": "red"}, Tags: map[string]string{"athanor:id": "a"}, Address: "a", Created: true},
		{Kind: "sim.Plain", ID: "2", Fields: map[string]string{"after": "1"}, Address: "b", Created: true},
		{Kind: "sim.Plain", ID: "3", Fields: map[string]string{"color": "theirs"}},
	}
	entries := []model.Entry{
		{Address: "a", Generations: live("sim.Named", "1"), Props: map[string]any{"color": "red"}},
		{Address: "b", Generations: live("sim.Plain", "2"), Props: map[string]any{"after": "1"}, Needs: []string{"a"}},
		{Address: "n", Generations: live("sim.Note", ""), Props: map[string]any{"text": "reddish"}, Needs: []string{"a"}},
	}
	return objects, entries
}

// TestEnd: what is as declared is right, and each way to be otherwise is said.
func TestEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		change func([]model.Object) []model.Object
		want   string
	}{
		"as declared":  {func(o []model.Object) []model.Object { return o }, ""},
		"missing":      {func(o []model.Object) []model.Object { return o[1:] }, "a has no object"},
		"a second one": {func(o []model.Object) []model.Object { s := o[0]; s.ID = "4"; return append(o, s) }, "a has 2 objects"},
		"left": {func(o []model.Object) []model.Object {
			return append(o, model.Object{Kind: "sim.Plain", ID: "4", Address: "gone", Created: true})
		}, "of gone is left"},
		"another value":   {func(o []model.Object) []model.Object { o[1].Fields["after"] = "9"; return o }, `b.after is "9", not "1"`},
		"another tag":     {func(o []model.Object) []model.Object { o[0].Tags["athanor:id"] = "z"; return o }, "owner tag"},
		"theirs, changed": {func(o []model.Object) []model.Object { o[2].Fields = nil; return o }, "is not ours and was changed"},
		"theirs, deleted": {func(o []model.Object) []model.Object { return o[:2] }, "was not ours and is missing"},
	} {
		before, _ := world()
		after, _ := world()
		c := model.Case{Program: []byte(program), Before: before[2:]}
		if got := strings.Join(c.End(tt.change(after)), "; "); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, not %q", name, got, tt.want)
		}
	}
}

// TestState: an entry is that of the object which is there.
func TestState(t *testing.T) {
	for name, tt := range map[string]struct {
		change func([]model.Entry) []model.Entry
		want   string
	}{
		"as declared": {func(e []model.Entry) []model.Entry { return e }, ""},
		"missing":     {func(e []model.Entry) []model.Entry { return e[1:] }, "a has no entry"},
		"undeclared":  {func(e []model.Entry) []model.Entry { return append(e, model.Entry{Address: "z"}) }, "an entry of z"},
		"two": {func(e []model.Entry) []model.Entry {
			e[0].Generations = append(e[0].Generations, e[0].Generations[0])
			return e
		}, "not one that is live"},
		"another one":  {func(e []model.Entry) []model.Entry { e[0].Generations[0].Identity = "9"; return e }, "and the object is"},
		"other needs":  {func(e []model.Entry) []model.Entry { e[1].Needs = nil; return e }, "b needs [a]"},
		"other values": {func(e []model.Entry) []model.Entry { e[2].Props["text"] = "x"; return e }, "n.text is x"},
	} {
		objects, entries := world()
		c := model.Case{Program: []byte(program), Before: objects[2:]}
		if wrong := c.End(objects); wrong != nil {
			t.Fatal(wrong)
		}
		got := strings.Join(c.State(tt.change(entries), map[string]any{"o": "red"}), "; ")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, not %q", name, got, tt.want)
		}
	}
}

// TestCommands: what a command has done is there where it is declared, and nowhere else.
func TestCommands(t *testing.T) {
	ran, undone := model.Act{Address: "c", Text: "go"}, model.Act{Address: "c", Text: "go", Undone: true}
	declared := `{"resources": [{"address": "c", "kind": "sim.Command", "props": {"text": "go"}}]}`
	for name, c := range map[string]struct {
		program string
		acts    []model.Act
		lost    bool
		wrong   int
	}{
		"it ran":                        {declared, []model.Act{ran}, false, 0},
		"it ran again after its undo":   {declared, []model.Act{ran, undone, ran}, false, 0},
		"it never ran":                  {declared, nil, false, 1},
		"it is undone":                  {declared, []model.Act{ran, undone}, false, 1},
		"it is undone after it ran":     {declared, []model.Act{ran, ran, undone}, false, 1},
		"it ran with another text too":  {declared, []model.Act{{Address: "c", Text: "old"}, ran}, false, 1},
		"it was cut with another text":  {declared, []model.Act{{Address: "c", Text: "old", Cut: true}, ran}, false, 0},
		"it was cut, and has to go":     {`{}`, []model.Act{{Address: "c", Text: "old", Cut: true}}, false, 1},
		"nobody declares it":            {`{}`, []model.Act{ran}, false, 1},
		"nobody declares it, and knows": {`{}`, []model.Act{ran}, true, 0},
		"nobody declares it, undone":    {`{}`, []model.Act{ran, undone}, false, 0},
		"it was renamed": {
			`{"resources": [{"address": "d", "kind": "sim.Command", "props": {"text": "go"}, "options": {"renamedFrom": ["c"]}}]}`, []model.Act{ran}, false, 0,
		},
	} {
		want := &model.Case{Program: []byte(c.program)}
		if wrong := append(want.End(nil), want.Commands(c.acts, c.lost)...); len(wrong) != c.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
