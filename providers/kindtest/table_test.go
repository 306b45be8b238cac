package kindtest_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed table_test.go
var lampText []byte

// The props of a lamp, each in a struct of its own, so that a mistake takes the place of one.
type (
	glow struct {
		// Glow is how long it glows, in whole seconds.
		Glow *time.Duration `prop:"min=1s,max=1h,default=30s" wire:"GlowSeconds"`
	}
	color struct {
		// Color of its light.
		Color *string `prop:"enum=red|blue,default=red" wire:"Color"`
	}
	socket struct {
		// Socket that it fits.
		Socket string `prop:"immutable" wire:"Socket"`
	}
	rooms struct {
		// Rooms that it lights.
		Rooms []string `prop:"set" wire:"Rooms"`
	}
	lampProps struct {
		glow
		color
		socket
		rooms
	}
)

// The mistakes.
type (
	milliGlow struct {
		// Glow is how long it glows, in whole seconds.
		Glow *time.Duration `prop:"min=1s,max=1h,default=30s,unit=1ms" wire:"GlowSeconds"`
	}
	wrongUnit struct {
		milliGlow
		color
		socket
		rooms
	}
	unsaidGlow struct {
		// Glow is how long it glows.
		Glow *time.Duration `prop:"min=1s,max=1h,default=30s" wire:"GlowSeconds"`
	}
	unsaidUnit struct {
		unsaidGlow
		color
		socket
		rooms
	}
	misnamedGlow struct {
		// Glow is how long it glows, in whole seconds.
		Glow *time.Duration `prop:"min=1s,max=1h,default=30s" wire:"GlowTime"`
	}
	wrongName struct {
		misnamedGlow
		color
		socket
		rooms
	}
	shortGlow struct {
		// Glow is how long it glows, in whole seconds.
		Glow *time.Duration `prop:"min=1s,max=1h,default=20s" wire:"GlowSeconds"`
	}
	wrongDefault struct {
		shortGlow
		color
		socket
		rooms
	}
	looseSocket struct {
		// Socket that it fits.
		Socket string `wire:"Socket"`
	}
	immutableLeftOut struct {
		glow
		color
		looseSocket
		rooms
	}
	colorsSocket struct {
		// Socket that it fits.
		Socket string `prop:"immutable" wire:"Color"`
	}
	twoOnOne struct {
		glow
		color
		colorsSocket
		rooms
	}
	listedRooms struct {
		// Rooms that it lights.
		Rooms []string `wire:"Rooms"`
	}
	setAsList struct {
		glow
		color
		socket
		listedRooms
	}
)

// lamp is what others refer to.
type lamp struct {
	// ID is its name.
	ID string `attr:"early"`
}

// lampShop keeps lamps as its documentation says: GlowSeconds from 1 to 3600, else 30; Color red or blue, else red; Socket
// stays as it was made; Rooms are shown in no order.
type lampShop struct {
	*shelf
	lamps map[string]kind.Text
}

var errRefused = errors.New("refused")

func (s *lampShop) put(id string, attributes kind.Text) error {
	made, known := kind.Text{"GlowSeconds": "30", "Color": "red", "Socket": "", "Rooms": ""}, s.lamps[id]
	for name, value := range attributes {
		was, ok := made[name]
		switch n, _ := strconv.Atoi(value); {
		case ok && value == "" && name != "Socket":
			attributes[name] = was
		case !ok, name == "GlowSeconds" && (n < 1 || n > 3600), name == "Color" && value != "red" && value != "blue":
			return fmt.Errorf("%w: %s=%s", errRefused, name, value)
		case name == "Socket" && known != nil && known[name] != value:
			return fmt.Errorf("%w: a lamp keeps its socket", errRefused)
		}
	}
	if known == nil {
		s.lamps[id] = made
	}
	maps.Copy(s.lamps[id], attributes)
	return nil
}

func (s *lampShop) get(id string) (kind.Text, error) {
	have, ok := s.lamps[id]
	if !ok {
		return nil, reconcile.ErrAbsent
	}
	shown := maps.Clone(have)
	if list, ok := document(shown["Rooms"]).([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(b.(string), a.(string)) })
		shown["Rooms"] = string(tree.Canonical(list))
	}
	return shown, nil
}

func document(text string) any {
	v, _ := tree.Decode([]byte(text))
	return v
}

type lampLive[P any] struct {
	id   string
	have P
}

func lampKind[P any](table *kind.Table[P]) kind.Kind[P, lampLive[P], lamp] {
	shop := func(c kind.Cloud) *lampShop { return c.(*lampShop) }
	call := func(ctx context.Context, operation string, mutates bool, do func() error) error {
		return reconcile.Through(ctx, reconcile.Call{Service: "lamps", Operation: operation, Mutates: mutates}, func(context.Context) error { return do() })
	}
	return kind.Kind[P, lampLive[P], lamp]{
		Type: "shop.Lamp", Doc: "A lamp.", Props: table,
		Observe: func(ctx context.Context, s kind.Site[P, lamp]) (live lampLive[P], err error) {
			err = call(ctx, "Get", false, func() error {
				shown, err := shop(s.Cloud).get(s.Name)
				if err == nil {
					live.have, err = table.Read(shown)
				}
				return err
			})
			live.id = s.Name
			return live, err
		},
		Create: func(ctx context.Context, s kind.Site[P, lamp]) (lamp, error) {
			attributes := kind.Text{}
			if err := table.Created(s.Want, attributes); err != nil {
				return lamp{}, err
			}
			return lamp{ID: s.Name}, call(ctx, "Make", true, func() error { return shop(s.Cloud).put(s.Name, attributes) })
		},
		Compare: func(d *kind.Diff[lampLive[P]], want P, live lampLive[P]) {
			kind.Compare(d, table, want, live.have, kind.Set("Set", func(ctx context.Context, u kind.Update[lampLive[P]]) error {
				attributes := kind.Text{}
				if err := table.Changed(want, u.Live.have, u.Changed, attributes); err != nil {
					return err
				}
				return call(ctx, "Set", true, func() error { return shop(u.Cloud).put(u.Live.id, attributes) })
			}))
		},
		Attributes: func(live lampLive[P]) lamp { return lamp{ID: live.id} },
		Delete: func(ctx context.Context, s kind.Site[P, lamp]) error {
			return call(ctx, "Drop", true, func() error { delete(shop(s.Cloud).lamps, s.Last.ID); return nil })
		},
		Identity: func(l lamp) string { return l.ID },
		Named:    &kind.Named[P, lampLive[P]]{Rule: func(P) kind.NameRule { return kind.NameRule{Max: 60, Marks: "-"} }},
		API: kind.API{
			Source: fstest.MapFS{"lamp.go": {Data: lampText}},
			Calls:  []string{"lamps.Get", "lamps.Make", "lamps.Set", "lamps.Drop"},
		},
	}
}

// lampHands change lamps as the documentation of the shop says, apart from any table.
func lampHands() map[tree.Path]kindtest.Hand {
	set := func(name string, text func(value any) string) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			if err := w.Cloud.(*lampShop).put(to.Attrs["id"].(string), kind.Text{name: text(to.Value)}); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	word := func(v any) string { text, _ := v.(string); return text }
	return map[tree.Path]kindtest.Hand{
		"glow": set("GlowSeconds", func(v any) string {
			if v == nil {
				return ""
			}
			d, _ := token.ParseDuration(v.(string))
			return strconv.Itoa(int(d.Seconds()))
		}),
		"color": set("Color", word),
		"rooms": set("Rooms", func(v any) string {
			if v == nil {
				return ""
			}
			return string(tree.Canonical(v))
		}),
		"": func(_ kindtest.T, w kindtest.World, to kindtest.Edited) {
			delete(w.Cloud.(*lampShop).lamps, to.Attrs["id"].(string))
		},
	}
}

func lampSuite[P any](table *kind.Table[P]) kindtest.Suite {
	return kindtest.Suite{
		Kind: lampKind(table).Erase(),
		World: func(kindtest.T) kindtest.World {
			s := &lampShop{&shelf{}, map[string]kind.Text{}}
			return kindtest.World{Cloud: s, Objects: func() (all []any) {
				for _, l := range s.lamps {
					all = append(all, maps.Clone(l))
				}
				return all
			}}
		},
		Base:     map[string]any{},
		Variants: []kindtest.Variant{{Name: "full", Props: fullLamp()}, {Name: "lit", Props: map[string]any{"rooms": []any{"kitchen", "hall"}}}},
		Hands:    lampHands(),
		Steady:   map[tree.Path]string{"socket": "a lamp keeps its socket"},
		Fault: func(c reconcile.Class) error {
			return map[reconcile.Class]error{reconcile.Denied: errDenied, reconcile.Throttled: errThrottled, reconcile.Transient: errTransient}[c]
		},
	}
}

func fullLamp() map[string]any {
	return map[string]any{"glow": "2m", "color": "blue", "socket": "E14", "rooms": []any{"attic", "hall"}}
}

// found says which checks of a table find something, golden bodies included.
func found[P any](t *testing.T) map[string][]string {
	t.Helper()
	table := kind.TableOf[P]().For(kind.Both([]string{"GlowSeconds", "Color", "Socket", "Rooms"}))
	if err := table.Validate(); err != nil {
		return map[string][]string{"Validate": {err.Error()}}
	}
	all := failures(t, lampSuite(table))
	w := &witness{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		kindtest.Golden(w, table, map[string]any{}, kind.Text{}, kind.Text{"GlowSeconds": "30", "Color": "red"})
		kindtest.Golden(w, table, fullLamp(), kind.Text{}, kind.Text{
			"GlowSeconds": "120", "Color": "blue", "Socket": "E14", "Rooms": `["attic","hall"]`,
		})
	}()
	if <-done; len(w.said) > 0 {
		all["Golden"] = w.said
	}
	return all
}

// TestMistakesInTablesAreFound seeds one mistake at a time in the tags of a struct that is otherwise right.
func TestMistakesInTablesAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		found func(*testing.T) map[string][]string
		by    string // the check that must find it, among others
		says  string
	}{
		{"none", found[lampProps], "", ""},
		{"wrong unit", found[wrongUnit], "Golden", `GlowSeconds: sent "120000", in the body "120"`},
		{"wrong unit, by the comment", found[wrongUnit], kindtest.Definition, "glow is documented in whole seconds, and half a one more is taken"},
		{"a comment without the unit", found[unsaidUnit], kindtest.Definition, "glow is not documented in whole units"},
		{"wrong name", found[wrongName], "Validate", `glow: no call takes an attribute "GlowTime"`},
		{"wrong default", found[wrongDefault], "Golden", `GlowSeconds: sent "20", in the body "30"`},
		{"immutable left out", found[immutableLeftOut], "there and back, and twice writes nothing", "a lamp keeps its socket"},
		{"two props on one attribute", found[twoOnOne], "Validate", `socket: its wire name "Color" and that of color, "Color", are one attribute`},
		{"a set compared as a list", found[setAsList], "there and back, and twice writes nothing", "rooms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := c.found(t)
				if c.by == "" && len(all) == 0 {
					return
				}
				if !strings.Contains(strings.Join(all[c.by], "\n"), c.says) || c.by == "" {
					t.Errorf("found by %v\nwant %s to say %s", all, c.by, c.says)
				}
			})
		})
	}
}

// TestOrders declares rooms as the shop shows them, so that a set which is compared as a list is like any other until its
// order is moved.
func TestOrders(t *testing.T) {
	const moved, whole = kindtest.ThereAndBack, kindtest.Definition
	rooms := func(of ...any) []kindtest.Variant {
		full := fullLamp()
		full["rooms"] = of
		return []kindtest.Variant{{Name: "full", Props: full}}
	}
	synctest.Test(t, func(t *testing.T) {
		set, list := lampSuite(kind.TableOf[lampProps]()), lampSuite(kind.TableOf[setAsList]())
		for _, c := range []struct {
			name     string
			suite    kindtest.Suite
			variants []kindtest.Variant
			ordered  map[tree.Path]string
			by, says string
		}{
			{"a set", set, rooms("hall", "attic"), nil, "", ""},
			{"a set as a list", list, rooms("hall", "attic"), nil, moved, "rooms of full in another order differs"},
			{"a list", list, rooms("hall", "attic"), map[tree.Path]string{"rooms": "the first is lit first"}, "", ""},
			{"a list as a set", set, rooms("hall", "attic"), map[tree.Path]string{"rooms": "the first is lit first"}, moved, "is no difference"},
			{"one room", set, rooms("hall"), nil, whole, "rooms has one order in all variants"},
			{"a reason for none", set, rooms("hall", "attic"), map[tree.Path]string{"color": "a reason"}, whole, "color, where the props have no list"},
		} {
			c.suite.Variants, c.suite.Ordered = c.variants, c.ordered
			all := failures(t, c.suite)
			if said := strings.Join(all[c.by], "\n"); c.by == "" && len(all) > 0 || !strings.Contains(said, c.says) {
				t.Errorf("%s: found by %v\nwant %s to say %s", c.name, all, c.by, c.says)
			}
		}
	})
}

// TestWrongTablesAreLeftToRun: what is derived from a table that is wrong is empty, so that Run says what is wrong where a panic ended the
// tests of the package.
func TestWrongTablesAreLeftToRun(t *testing.T) {
	t.Parallel()
	table := kind.TableOf[struct {
		A string `prop:"imutable" wire:"A"`
	}]()
	hands := kindtest.Mutators(table, func() kind.Document { return nil }, func(kindtest.T, kindtest.World, kindtest.Edited, kind.Document) {})
	if s := kindtest.Derive(table, kindtest.Suite{Hands: hands}); len(s.Hands)+len(s.Steady) > 0 {
		t.Errorf("%+v", s)
	}
}
