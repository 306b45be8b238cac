package kindtest_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/rest"
	"github.com/athanor-dev/athanor/reconcile/token"
)

//go:embed documents_test.go
var bellText []byte

type bellProps struct {
	// Name of the bell. Default: none, a name is generated. Changing it replaces the bell.
	Name string
	// Tone that it rings in.
	Tone *string `prop:"enum=low|high,default=low" wire:"sound.tone"`
	// Rings is how long it rings, in whole seconds.
	Rings *time.Duration `prop:"min=1s,max=1m,default=2s" wire:"rings"`
	// Doors at which it is rung.
	Doors []string `prop:"set" wire:"doors"`
	// Code that opens the doors.
	Code token.Secret `prop:"writeonly" wire:"code"`
	// Frame that it is built into.
	Frame *frame `prop:"each" wire:"frame"`
	// Wire that it hangs on.
	Wire string `prop:"required,immutable" wire:"wire"`
}

type frame struct {
	// Width in millimetres.
	Width int `prop:"immutable" wire:"width"`
	// Colour of it.
	Colour string `wire:"colour"`
}

type bell struct {
	// ID that the service gave it.
	ID string `attr:"early"`
}

type liveBell = rest.Object[bellProps]

func bellOf(where rest.Documents) *kind.Kind[bellProps, liveBell, bell] {
	k := kind.Kind[bellProps, liveBell, bell]{
		Type: "house.Bell", Doc: "A bell.",
		Attributes: func(l liveBell) bell { return bell{l.ID} },
		Identity:   func(b bell) string { return b.ID },
		API:        kind.API{Source: fstest.MapFS{"bell.go": {Data: bellText}}},
		Named: &kind.Named[bellProps, liveBell]{
			Given: func(p bellProps) string { return p.Name },
			Rule:  func(bellProps) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-"} },
			Live:  func(l liveBell) string { return l.Name },
		},
	}
	return rest.Kind(where, k)
}

func house(k *kind.Kind[bellProps, liveBell, bell]) func(url string) reconcile.Provider {
	return func(url string) reconcile.Provider {
		return (&rest.Service{Name: "house", URL: url}).Provider(k.Erase())
	}
}

var bells = kindtest.Suite{
	Base: map[string]any{"tone": "high", "rings": "5s", "doors": []any{"front"}, "code": "s3cret", "frame": map[string]any{"width": 80, "colour": "red"}, "wire": "a"},
	Variants: []kindtest.Variant{
		{Name: "plain", Props: map[string]any{"wire": "a"}},
		{Name: "doors", Props: map[string]any{"tone": "low", "doors": []any{"back", "front"}, "wire": "a"}},
		{Name: "elsewhere", Props: map[string]any{"name": "gate", "wire": "b"}},
	},
}

var bellBodies = map[string]kind.Document{
	"":      {"sound": map[string]any{"tone": "high"}, "rings": 5, "doors": []any{"front"}, "code": "s3cret", "frame": map[string]any{"width": 80, "colour": "red"}, "wire": "a"},
	"plain": {"sound": map[string]any{"tone": "low"}, "rings": 2, "wire": "a"},
}

// TestKindsOfDocuments has the whole suite of a kind for each way in which a service keeps documents.
func TestKindsOfDocuments(t *testing.T) {
	for name, where := range map[string]rest.Documents{
		"names are ids":         {Path: []string{"house", "bells"}},
		"the service gives ids": {Path: []string{"bells"}, Named: "label"},
		"documents are whole":   {Path: []string{"bells"}, Whole: true},
		"whole, and a listing":  {Path: []string{"bells"}, Named: "label", ID: "number", Listed: "bells", Whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := bellOf(where)
			kindtest.Run(t, kindtest.Documents(t, k, house(k), bells, bellBodies, where))
		})
	}
}

// TestBodiesOfDocumentsAreChecked has a body that another unit is written in, one of no variant, and none.
func TestBodiesOfDocumentsAreChecked(t *testing.T) {
	for _, c := range []struct {
		bodies map[string]kind.Document
		want   string
	}{
		{map[string]kind.Document{"plain": {"sound": map[string]any{"tone": "low"}, "rings": 2000, "wire": "a"}}, `"rings":2`},
		{map[string]kind.Document{"wild": {}}, `there is no variant "wild"`},
		{nil, "no body is given"},
	} {
		told := &telling{TB: t}
		k := bellOf(rest.Documents{Path: []string{"bells"}})
		kindtest.Documents(told, k, house(k), bells, c.bodies)
		if !strings.Contains(strings.Join(told.all, "\n"), c.want) {
			t.Errorf("%v: %q, want %q", c.bodies, told.all, c.want)
		}
	}
}

// telling is a test that keeps what would fail it.
type telling struct {
	testing.TB

	all []string
}

func (t *telling) Errorf(format string, args ...any) {
	t.all = append(t.all, fmt.Sprintf(format, args...))
}

// TestAKindOfDocumentsTakesWhatIsGiven has a kind that brings a function and a list of calls of its own.
func TestAKindOfDocumentsTakesWhatIsGiven(t *testing.T) {
	refused := errors.New("no bell is taken down")
	k := rest.Kind(rest.Documents{Path: []string{"bells"}}, kind.Kind[bellProps, liveBell, bell]{
		Type: "house.Bell", API: kind.API{Calls: []string{"house.RingBell"}},
		Delete: func(context.Context, kind.Site[bellProps, bell]) error { return refused },
	})
	if err := k.Delete(t.Context(), kind.Site[bellProps, bell]{}); !errors.Is(err, refused) || len(k.API.Calls) != 1 {
		t.Errorf("%v, calls %v", err, k.API.Calls)
	}
}
