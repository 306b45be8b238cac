package kind_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	drawer struct {
		Label string        `wire:"label"`
		Open  *bool         `prop:"default=true" wire:"state.open"`
		After time.Duration `wire:"after"`
	}
	chest struct {
		Drawers []drawer          `wire:",elements"`
		Named   map[string]drawer `wire:"-,elements"`
	}
)

// TestElements: the structs in a list or map are filled and checked with the table of their prop, at their own paths.
func TestElements(t *testing.T) {
	table := kind.TableOf[chest]()
	declared := chest{Drawers: []drawer{{Label: "a"}, {Label: "b", After: 1500 * time.Millisecond}}, Named: map[string]drawer{"x y": {After: time.Nanosecond}}}
	var paths []tree.Path
	for _, e := range table.Check(declared) {
		paths = append(paths, e.Path)
	}
	if want := []tree.Path{"drawers[1].after", `named["x y"].after`}; !slices.Equal(paths, want) {
		t.Errorf("wrong at %v, want %v", paths, want)
	}
	filled := declared
	table.Default(&filled)
	if !*filled.Drawers[0].Open || !*filled.Named["x y"].Open || declared.Drawers[0].Open != nil || declared.Named["x y"].Open != nil {
		t.Errorf("filled: %+v of %+v", filled, declared)
	}
}

// TestElementLists: elements are sent and read by their own table.
func TestElementLists(t *testing.T) {
	table, all := kind.TableOf[drawer](), []drawer{{Label: "a", Open: new(false), After: time.Minute}, {Label: "b", Open: new(true)}}
	sent, err := table.CreatedList(all)
	if err != nil || !tree.Equal(sent[0]["state"], map[string]any{"open": false}) || sent[0]["after"] != int64(60) {
		t.Errorf("sent %v, %v", sent, err)
	}
	if read, err := table.ReadList([]any{map[string]any(sent[0]), map[string]any{"label": "b", "after": int64(0)}}); err != nil || !reflect.DeepEqual(read, all) {
		t.Errorf("read %+v, %v", read, err)
	}
	for _, wrong := range []any{"text", map[string]any{"after": "soon"}} {
		if _, err := table.ReadList([]any{wrong}); err == nil {
			t.Errorf("%v is read", wrong)
		}
	}
	if none, err := table.CreatedList(nil); none == nil || err != nil {
		t.Errorf("of none %v, %v", none, err)
	}
}

// TestElementsCompare: an element is compared below the path of its place.
func TestElementsCompare(t *testing.T) {
	table := kind.TableOf[drawer]()
	have := []drawer{{Label: "a", Open: new(true)}, {Label: "b", Open: new(true)}}
	k := boxKind()
	k.Compare = func(d *kind.Diff[BoxProps], _, _ BoxProps) {
		set := kind.Set[BoxProps]("SetDrawer", nil)
		for i, want := range []drawer{{Label: "a", Open: new(false)}, {Label: "c", Open: new(true)}} {
			kind.CompareAt(d, tree.Path("drawers").Index(i), table, want, have[i], set)
		}
	}
	want := "drawers[0].open: have true, want false SetDrawer\ndrawers[1].label: have \"b\", want \"c\" SetDrawer"
	if have := steps(t, k, map[string]any{}, BoxProps{}, nil); have != want {
		t.Errorf("%s\nwant %s", have, want)
	}
	if below := kind.Below("drawers[1]", []tree.Path{"drawers[0].open", "drawers[1].label", "drawers[1]"}); !slices.Equal(below, []tree.Path{"label", ""}) {
		t.Errorf("below: %q", below)
	}
}

// TestElementsMeanNothing: the word is refused where it means nothing, and what is wrong in an element is an error of the table.
func TestElementsMeanNothing(t *testing.T) {
	type sent struct {
		Drawers map[string]drawer `wire:"drawers,elements"`
	}
	type zero struct {
		A *int `wire:"a,omitzero"`
	}
	type plain struct {
		Labels []string `wire:",elements"`
	}
	type twice struct {
		A string `wire:"x"`
		B string `wire:"x"`
	}
	type wrong struct {
		All []twice `wire:",elements"`
	}
	for want, err := range map[string]error{
		"drawers: elements means nothing": kind.TableOf[sent]().Validate(), "labels: elements means nothing": kind.TableOf[plain]().Validate(),
		"are one attribute": kind.TableOf[wrong]().Validate(), "omitzero means nothing": kind.TableOf[zero]().Validate(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCompareCall: the attributes of one call, or of none, are set by the operation at hand, and others are not stated. What is immutable no
// operation sets.
func TestCompareCall(t *testing.T) {
	type split struct {
		Noon  string `wire:"noon"`
		Shape string `prop:"immutable" wire:"shape"`
		Day   string `wire:"day,call=SetDay"`
		Night string `wire:"-,call=SetNight"`
		Code  string
	}
	for call, want := range map[string]string{
		"SetNight": `night: have null, want "b" Upload`, "": "noon: have null, want \"n\" Upload\nshape: have null, want \"round\" replaces",
	} {
		k := boxKind()
		k.Compare = func(d *kind.Diff[BoxProps], _, _ BoxProps) {
			kind.CompareCall(d, kind.TableOf[split](), split{"n", "round", "a", "b", "c"}, split{}, call, kind.Set[BoxProps]("Upload", nil))
		}
		if have := steps(t, k, map[string]any{}, BoxProps{}, nil); have != want {
			t.Errorf("%q: %s, want %s", call, have, want)
		}
	}
}

// shelf is a service's struct with lists of structs in it.
type (
	move  struct{ Days, Class *string }
	board struct {
		Name  *string
		Kinds []string
		Until *struct{ Date *time.Time }
		Count *int32
		Moves []move
		Text  *string
	}
	shelf struct{ Boards []board }
)

type (
	Move struct {
		Days  string `wire:"Days"`
		Class string `prop:"required" wire:"Class"`
	}
	Board struct {
		Name  string   `wire:"Name"`
		Kinds []string `prop:"set" wire:"Kinds"`
		Until string   `prop:"excludes=count" wire:"Until.Date"`
		Count int      `wire:"Count,omitzero"`
		Moves []Move   `prop:"set" wire:"Moves,elements"`
		Text  *string  `wire:"Text"`
	}
	ShelfProps struct {
		Boards []Board `wire:"Boards,elements"`
	}
)

func shelfTable() *kind.Table[ShelfProps] {
	return kind.TableOf[ShelfProps]().For(kind.Both(shelf{}))
}

// TestElementsAreSent: a list of structs is a list of documents, each with what is set of it, in structs of a client too.
func TestElementsAreSent(t *testing.T) {
	want := ShelfProps{Boards: []Board{
		{Name: "a", Kinds: []string{"y", "x"}, Until: "2035-12-31T00:00:00Z", Moves: []Move{{Days: "3", Class: "C"}, {Class: "B"}}},
		{Count: 2, Text: new("")},
	}}
	var sent shelf
	if err := shelfTable().Created(want, kind.Struct(&sent)); err != nil {
		t.Fatal(err)
	}
	wanted := shelf{Boards: []board{
		{
			Name: new("a"), Kinds: []string{"y", "x"}, Moves: []move{{new("3"), new("C")}, {nil, new("B")}},
			Until: &struct{ Date *time.Time }{new(time.Date(2035, 12, 31, 0, 0, 0, 0, time.UTC))},
		},
		{Count: new(int32(2)), Text: new("")},
	}}
	if !reflect.DeepEqual(sent, wanted) {
		t.Errorf("sent %+v", sent)
	}
	if have, err := shelfTable().Read(kind.Struct(&sent)); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("read %+v, %v", have, err)
	}
	doc := kind.Document{}
	if err := shelfTable().Created(want, doc); err != nil {
		t.Fatal(err)
	}
	if have, err := shelfTable().Read(doc); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("read %+v of a document, %v", have, err)
	}
	if _, err := shelfTable().Read(kind.Document{"Boards": []any{"text"}}); err == nil {
		t.Error("text is read as an element")
	}
	if err := shelfTable().Changed(ShelfProps{}, want, []tree.Path{"boards"}, kind.Struct(&sent)); err != nil || sent.Boards == nil || len(sent.Boards) > 0 {
		t.Errorf("cleared: %+v, %v", sent, err)
	}
	problems := shelfTable().Check(ShelfProps{Boards: []Board{{}, {Count: 1, Until: "x"}}})
	if len(problems) != 1 || problems[0].Path != "boards[1].until" {
		t.Errorf("problems: %v", problems)
	}
	type wrong struct {
		Boards []struct {
			Moves []struct {
				Class string `wire:"Klass"`
			} `wire:"Moves,elements"`
		} `wire:"Boards,elements"`
	}
	if err := kind.TableOf[wrong]().For(kind.Both(shelf{})).Validate(); err == nil || !strings.Contains(err.Error(), `"Boards[].Moves[].Klass"`) {
		t.Errorf("a member that nobody knows: %v", err)
	}
}

// TestEqual: sets within elements have no order, and what is empty is not set.
func TestEqual(t *testing.T) {
	a := ShelfProps{Boards: []Board{{Kinds: []string{"y", "x"}, Moves: []Move{{Class: "C"}, {Class: "B"}}}}}
	b := ShelfProps{Boards: []Board{{Kinds: []string{"x", "y"}, Moves: []Move{{Class: "B"}, {Class: "C"}}, Name: ""}}}
	c := ShelfProps{Boards: []Board{{Kinds: []string{}, Moves: []Move{}}}}
	if !shelfTable().Equal(a, b) || shelfTable().Equal(a, c) || !shelfTable().Equal(c, ShelfProps{Boards: []Board{{}}}) {
		t.Error("equal shelves differ, or others do not")
	}
}

// TestTreeOfAnObject has what counts and is more than zero, in the form in which both sides are compared.
func TestTreeOfAnObject(t *testing.T) {
	type limit struct {
		Rate  int `wire:"Rate"`
		Burst int `wire:"Burst"`
	}
	type gate struct {
		To      string   `wire:"To"`
		Version *string  `prop:"default=2.0,needs=to" wire:"Version"`
		Open    bool     `wire:"-"`
		Who     []string `prop:"set" wire:"Who"`
		Limit   *limit   `prop:"each" wire:"Limit"`
	}
	table := kind.TableOf[gate]()
	for want, p := range map[string]gate{
		`{}`: {Version: new("1.0"), Who: []string{}},
		`{"limit":{"burst":2},"open":true,"to":"a","version":"","who":["a","b"]}`: {
			To: "a", Version: new(""), Open: true, Who: []string{"b", "a"}, Limit: &limit{Burst: 2},
		},
		`{"limit":{}}`: {Limit: &limit{}},
	} {
		if have := string(tree.Canonical(table.Tree(p))); have != want {
			t.Errorf("%s, want %s", have, want)
		}
	}
}

// TestChangedAsAWhole: a path above attributes changes all of them, and what is not set is cleared.
func TestChangedAsAWhole(t *testing.T) {
	type origin struct {
		Host string   `wire:"Host"`
		Tags []string `wire:"Tags"`
	}
	type site struct {
		Title  string  `wire:"Title"`
		Origin *origin `prop:"each" wire:"Origin"`
	}
	table, sent := kind.TableOf[site](), kind.Document{}
	err := table.Changed(site{Title: "a", Origin: &origin{Host: "h"}}, site{}, []tree.Path{"origin"}, sent)
	if have, want := string(tree.Canonical(map[string]any(sent))), `{"Origin":{"Host":"h","Tags":null}}`; err != nil || have != want {
		t.Errorf("%s, want %s (%v)", have, want, err)
	}
	merged := table.Merged(site{Title: "b", Origin: &origin{Host: "h"}}, site{Title: "a"}, []tree.Path{"origin"})
	if merged.Title != "a" || merged.Origin.Host != "h" {
		t.Errorf("merged: %+v", merged)
	}
}
