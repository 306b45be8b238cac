package kind_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// nested structs for the cases below.
type (
	withDefault struct {
		A *int `prop:"default=1"`
	}
	withWire struct {
		A string `wire:"a"`
	}
	withoutWire struct {
		A string `wire:"a"`
		B string
	}
	immutableMember struct {
		A string `prop:"immutable" wire:"a"`
	}
	writeOnlyMember struct {
		A string `prop:"writeonly" wire:"a"`
	}
	embedded struct {
		A string `wire:"A"`
	}
)

// tagged is what is wrong with the tags of props.
func tagged[P any](codecs ...kind.Codec) error {
	return kind.ValidateTags(reflect.TypeFor[P](), codecs...)
}

// TestEveryTagMeansSomething has each tag that means nothing, with what is said of it.
func TestEveryTagMeansSomething(t *testing.T) {
	for want, err := range map[string]error{
		// words of the prop tag
		`tag "deferrable=1" takes no value`: tagged[struct {
			A string `prop:"deferrable=1" wire:"A"`
		}](),
		`"defered" is not known`: tagged[struct {
			A string `prop:"defered" wire:"A"`
		}](),
		`a: tag "default=often": want a whole number`: tagged[struct {
			A *int `prop:"default=often" wire:"A"`
		}](),
		`a: tag "default=30": want a duration`: tagged[struct {
			A *time.Duration `prop:"default=30" wire:"A"`
		}](),
		`a: tag "default=2h": want at most 1h`: tagged[struct {
			A *time.Duration `prop:"default=2h,max=1h" wire:"A"`
		}](),
		`a: tag "default=red": want one of blue, green`: tagged[struct {
			A *string `prop:"default=red,enum=blue|green" wire:"A"`
		}](),
		`a: tag "default=true": it is not the zero value`: tagged[struct {
			A bool `prop:"default=true" wire:"A"`
		}](),
		`a: tag "default=x": a default of a []string is code`: tagged[struct {
			A []string `prop:"default=x" wire:"A"`
		}](),
		`a: tag "default=": want a whole number`: tagged[struct {
			A *int `prop:"default=" wire:"A"`
		}](),
		`a.*.a: tag "default=1": means nothing in the elements of a list or map`: tagged[struct {
			A []withDefault
		}](),
		`a: tag "unit=1s": does not fit a string`: tagged[struct {
			A string `prop:"unit=1s" wire:"A"`
		}](),
		`a: tag "unit=0s": want more than 0`: tagged[struct {
			A time.Duration `prop:"unit=0s" wire:"A"`
		}](),
		`a: tag "set": means nothing for what is no list`: tagged[struct {
			A string `prop:"set" wire:"A"`
		}](),
		`b: tag "set": means nothing for what is no list`: tagged[struct {
			B []string `prop:"set"`
		}](),
		`a: tag "masklive": means nothing for what is no map`: tagged[struct {
			A string `prop:"masklive" wire:"A"`
		}](),
		`a: tag "writeonly": means nothing for what the table does not compare`: tagged[struct {
			A string `prop:"writeonly"`
		}](),
		`a.a: tag "writeonly": means nothing`: tagged[struct {
			A writeOnlyMember `wire:"A"`
		}](),
		`a.a: tag "immutable": means nothing for a member`: tagged[struct {
			A immutableMember `wire:"A"`
		}](),
		`a: tag "each": means nothing for what is no struct`: tagged[struct {
			A []withWire `prop:"each" wire:"A"`
		}](),
		`a: tag "each": want the wire name of the struct`: tagged[struct {
			A withWire `prop:"each"`
		}](),
		`a: tag "each": what else there is to say, its members say`: tagged[struct {
			A withWire `prop:"each,immutable" wire:"A"`
		}](),
		// words that are written in another way
		`tag "required=true" takes no value`: tagged[struct {
			A int `prop:"required=true" wire:"A"`
		}](),
		`tag "each=1" takes no value`: tagged[struct {
			A withWire `prop:"each=1" wire:"A"`
		}](),
		`tag "default" has no value: want default=VALUE`: tagged[struct {
			A *string `prop:"default" wire:"A"`
		}](),
		`tag "min" has no value: want min=VALUE`: tagged[struct {
			A int `prop:"min" wire:"A"`
		}](),
		`tag " max=5" is not known: words have a comma between them, and no space`: tagged[struct {
			A int `prop:"required, max=5" wire:"A"`
		}](),
		`tag "blue" is not known: an enum has | between its words`: tagged[struct {
			A string `prop:"enum=red,blue" wire:"A"`
		}](),
		`tag "imutable" is not known: did you mean immutable?`: tagged[struct {
			A string `prop:"imutable" wire:"A"`
		}](),
		`enum has an empty word`: tagged[struct {
			A string `prop:"enum=red||blue" wire:"A"`
		}](),
		`bound "5s": want a whole number, as a int can hold`: tagged[struct {
			A int `prop:"min=5s" wire:"A"`
		}](),
		`bound "1.5": want a whole number, as a token.Int can hold`: tagged[struct {
			A token.Int `prop:"max=1.5"`
		}](),
		`bound "300": want a whole number, as a uint8 can hold`: tagged[struct {
			A uint8 `prop:"max=300" wire:"A"`
		}](),
		`bound "NaN": want a number`: tagged[struct {
			A float64 `prop:"max=NaN" wire:"A"`
		}](),
		// tags that nothing reads
		`its prop tag means nothing: the field is not exported (field b`: tagged[struct {
			A int    `wire:"A"`
			b string `prop:"required"`
		}](),
		`its wire tag means nothing: json:"-" leaves the field out (field B`: tagged[struct {
			A int    `wire:"A"`
			B string `json:"-" wire:"B"`
		}](),
		`its wire tag means nothing: the fields of what is embedded have tags of their own (field embedded`: tagged[struct {
			embedded `wire:"X"`
		}](),
		`tag key "props" is not known: did you mean prop? (field B`: tagged[struct {
			B string `props:"required" wire:"B"`
		}](),
		// words that contradict each other
		`a: tag "default=1": means nothing for what is required`: tagged[struct {
			A *int `prop:"required,default=1" wire:"A"`
		}](),
		`a: tag "deferrable": means nothing for what is immutable`: tagged[struct {
			A string `prop:"deferrable,immutable" wire:"A"`
		}](),
		`a: tag "masklive": means nothing for what is write-only`: tagged[struct {
			A map[string]string `prop:"masklive,writeonly" wire:"A"`
		}](),
		`a: call=SetA means nothing for what is immutable`: tagged[struct {
			A string `prop:"immutable" wire:"A,call=SetA"`
		}](),
		`a: tag "default=1500ms": want whole seconds`: tagged[struct {
			A *time.Duration `prop:"default=1500ms" wire:"A"`
		}](),
		`a: tag "default=1KiB": want a multiple of 1MiB`: tagged[struct {
			A *props.Size `prop:"default=1KiB,unit=1MiB" wire:"A"`
		}](),
		`a: it depends on "b" in two ways`: tagged[struct {
			A string `prop:"needs=b,excludes=b" wire:"A"`
			B string
		}](),
		`a: it is required, and counts with b alone`: tagged[struct {
			A string `prop:"required,needs=b" wire:"A"`
			B string
		}](),
		`tag "min=2" stands there twice`: tagged[struct {
			A int `prop:"min=1,min=2" wire:"A"`
		}](),
		`min=1h is more than max=1m`: tagged[struct {
			A time.Duration `prop:"min=1h,max=1m" wire:"A"`
		}](),
		`enum has "red" twice`: tagged[struct {
			A string `prop:"enum=red|blue|red" wire:"A"`
		}](),
		`maxlen means nothing beside an enum`: tagged[struct {
			A string `prop:"enum=red|blue,maxlen=3" wire:"A"`
		}](),
		`a: tag "deferrable": means nothing for a bool, which holds no reference`: tagged[struct {
			A bool `prop:"deferrable" wire:"A"`
		}](),
		`a: tag "needsready": means nothing for a []time.Duration, which holds no reference`: tagged[struct {
			A []time.Duration `prop:"needsready"`
		}](),
		// conditions
		`a: it counts with b alone, which excludes it`: tagged[struct {
			A string `prop:"needs=b" wire:"A"`
			B string `prop:"excludes=a" wire:"B"`
		}](),
		`a: it depends on b, which is required: it always counts`: tagged[struct {
			A string `prop:"with=b" wire:"A"`
			B string `prop:"required" wire:"B"`
		}](),
		`a: it depends on b, which is required: it never counts`: tagged[struct {
			A string `prop:"excludes=b" wire:"A"`
			B string `prop:"required" wire:"B"`
		}](),
		`a: it depends on "B", which is no other prop: did you mean b?`: tagged[struct {
			A string `prop:"needs=B" wire:"A"`
			B string `wire:"B"`
		}](),
		`a: it depends on "b", whose members count each: name a prop that does not have each, or let Check find it`: tagged[struct {
			A string    `prop:"needs=b" wire:"A"`
			B *withWire `prop:"each" wire:"B"`
		}](),
		`b: it depends on "a", which is no other prop`: tagged[struct {
			W *withWire `prop:"each" wire:"W"`
			B string    `prop:"needs=a" wire:"B"`
		}](),
		`a: it depends on "nobody", which is no other prop`: tagged[struct {
			A string `prop:"with=nobody" wire:"A"`
		}](),
		`a: it depends on "a", which is no other prop`: tagged[struct {
			A string `prop:"needs=a" wire:"A"`
		}](),
		`a: tag "excludes=": names no prop`: tagged[struct {
			A string `prop:"excludes=" wire:"A"`
		}](),
		`a: tag "with=b": means nothing for a prop that code compares`: tagged[struct {
			A string `prop:"with=b"`
			B string
		}](),
		// the wire tag
		`a: its wire tag is empty`: tagged[struct {
			A string `wire:""`
		}](),
		`a: codec "polcy" is not known`: tagged[struct {
			A any `wire:"A,polcy"`
		}](kind.Codec{Name: "policy"}),
		`a: its wire tag says call= twice`: tagged[struct {
			A int `wire:"A,call=SetA,call=SetB"`
		}](),
		`a: call= names no operation`: tagged[struct {
			A int `wire:"A,call="`
		}](),
		`a: its wire tag names the codecs "one" and "two"`: tagged[struct {
			A int `wire:"A,one,two"`
		}](kind.Codec{Name: "one"}, kind.Codec{Name: "two"}),
		`a: its wire tag says elements twice`: tagged[struct {
			A []withWire `wire:"A,elements,elements"`
		}](),
		`a: codec "one" means nothing for a prop that code compares`: tagged[struct {
			A int `wire:",one"`
		}](kind.Codec{Name: "one"}),
		`a: call=SetA means nothing for a prop that code compares`: tagged[struct {
			A int `wire:",call=SetA"`
		}](),
		`a: its wire name "A..b": want words with a dot between them`: tagged[struct {
			A int `wire:"A..b"`
		}](),
		`a: its wire name " A": want words with a dot between them`: tagged[struct {
			A int `wire:" A"`
		}](),
		`a: a []time.Duration has no unit on a wire: name a codec`: tagged[struct {
			A []time.Duration `wire:"A"`
		}](),
		`two codecs are named "one"`: tagged[struct{}](kind.Codec{Name: "one"}, kind.Codec{Name: "one"}),
		`a codec has no name`:        tagged[struct{}](kind.Codec{}),
		`a table is made by TableOf`: new(kind.Table[struct{}]).Validate(),
		`For: nil has no names`:      kind.TableOf[struct{}]().For(kind.In(nil)).Validate(),
		`b: its wire name "A" and that of a, "A", are one attribute`: tagged[struct {
			A string `wire:"A"`
			B string `wire:"A"`
		}](),
		`b: its wire name "A.b" and that of a, "A", are one attribute`: tagged[struct {
			A string `wire:"A"`
			B string `wire:"A.b"`
		}](),
		`a: a token.Int has no form of its own`: tagged[struct {
			A token.Int `wire:"A"`
		}](),
		`b: a token.Bool has no form of its own`: tagged[struct {
			B *token.Bool `wire:"B"`
		}](),
		`c: a token.Duration has no form of its own`: tagged[struct {
			C []token.Duration `wire:"C,half"`
		}](kind.Codec{Name: "half", Write: func(v any) (any, error) { return v, nil }}),
		`a: a []kind_test.withWire has no form of its own`: tagged[struct {
			A []withWire `wire:"A"`
		}](),
		`a: a map[string]interface {} has no form of its own`: tagged[struct {
			A map[string]any `wire:"A"`
		}](),
		`a.b: it has no wire name in a struct that is sent as one document`: tagged[struct {
			A withoutWire `wire:"A"`
		}](),
		`a.a: its wire tag means nothing in a struct that the table does not send`: tagged[struct {
			A withWire `wire:"-"`
		}](),
		// names that the service has not
		`a: no call takes an attribute "DelaySecond"`: kind.TableOf[struct {
			A string `wire:"DelaySecond"`
		}]().For(kind.Both([]string{"DelaySeconds"})).Validate(),
		`b: no answer shows an attribute "Mode"`: kind.TableOf[struct {
			A string `prop:"writeonly" wire:"Secret"`
			B string `wire:"Mode"`
		}]().For(kind.In(service{}), kind.Out(answer{})).Validate(),
		`a: no call takes an attribute "Nested.Odd"`: kind.TableOf[struct {
			A string `wire:"Nested.Odd"`
		}]().For(kind.In(service{})).Validate(),
		`a: "When": there it is a time.Time, which a table writes as text alone`: kind.TableOf[struct {
			A int `wire:"When"`
		}]().For(kind.Both(service{})).Validate(),
		`a: no answer shows an attribute "delaySeconds"`: kind.TableOf[struct {
			A string `wire:"delaySeconds"`
		}]().For(kind.Out(kind.JSON(body{}))).Validate(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// what a service has.
type (
	service struct {
		Mode, Secret *string
		When         *time.Time
		Nested       *struct{ Even []string }
	}
	answer struct{ Modes string }
	body   struct {
		Delay int `json:"delay_seconds"`
		Meta  struct {
			Author string `json:"author"`
		} `json:"meta"`
	}
)

func TestNamesThatAServiceHas(t *testing.T) {
	for name, err := range map[string]error{
		"a struct": kind.TableOf[struct {
			A string   `wire:"Mode"`
			B []string `wire:"Nested.Even"`
			C string   `prop:"writeonly" wire:"Secret"`
			D any      `wire:"-"`
		}]().For(kind.In(answer{}), kind.In(service{}), kind.Out(service{})).Validate(),
		"members": kind.TableOf[struct {
			A int    `wire:"delay_seconds"`
			B string `wire:"meta.author"`
		}]().For(kind.Both(kind.JSON(body{}))).Validate(),
		"a list": kind.TableOf[struct {
			A string `wire:"Policy.member"`
		}]().For(kind.Both([]string{"Policy"})).Validate(),
		"a codec takes what no table could": kind.TableOf[struct {
			A string `wire:"When,time"`
		}](kind.Codec{Name: "time", Form: unchanged}).For(kind.Both(service{})).Validate(),
		"everything": boxTable().Validate(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttrTags has each attr tag that means nothing.
func TestAttrTags(t *testing.T) {
	for want, err := range map[string]error{
		`attribute id: tag "erly": is not known`: validated[struct {
			ID string `attr:"erly"`
		}](),
		`attribute id: tag "early=1": takes no value`: validated[struct {
			ID string `attr:"early=1"`
		}](),
		`attribute id: tag "mutable=colour": "colour" is no prop`: validated[struct {
			ID string `attr:"mutable=colour"`
		}](),
		`attribute id: tag "mutable=Color": "Color" is no prop: did you mean color?`: validated[struct {
			ID string `attr:"mutable=Color"`
		}](),
		`attribute id: tag "mutable=": names no prop`: validated[struct {
			ID string `attr:"mutable="`
		}](),
		`attribute id: tag "mutable=color|color": says "color" twice`: validated[struct {
			ID string `attr:"mutable=color|color"`
		}](),
		`attribute id: tag "early" stands there twice`: validated[struct {
			ID string `attr:"early,early"`
		}](),
		`attribute id: tag "mutable": means nothing for what the creation alone answers`: validated[struct {
			ID string `attr:"createOnly,mutable"`
		}](),
		`attribute id: its prop tag means nothing for an attribute`: validated[struct {
			ID string `prop:"required"`
		}](),
		`attribute id: its wire tag means nothing for an attribute`: validated[struct {
			ID string `wire:"id"`
		}](),
		`string is no struct`: validated[string](),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func validated[A any]() error {
	return kindWith[struct{ Color string }, A]().Erase().Validate()
}

// TestRegistrationTells is about a definition that is wrong: nothing panics, and the catalog says what and of which kind.
func TestRegistrationTells(t *testing.T) {
	for want, change := range map[string]func(*kind.Kind[BoxProps, BoxProps, Box]){
		"Type is missing":                      func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Type = "" },
		"Doc is missing":                       func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Doc = "" },
		"Observe is missing":                   func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Observe = nil },
		"Create is missing":                    func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Create = nil },
		"Compare is missing":                   func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Compare = nil },
		"Attributes is missing":                func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Attributes = nil },
		"Delete is missing":                    func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Delete = nil },
		"Identity is missing":                  func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Identity = nil },
		"Named.Rule or Named.Given is missing": func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Named = &kind.Named[BoxProps, BoxProps]{} },
		"Owner's Tag is missing":               func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Owner = kind.Tagged[BoxProps, BoxProps]{} },
		"HoldsData.Now is missing": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.HoldsData = &kind.HoldsData[BoxProps, BoxProps]{Retain: true}
		},
		"Named says that the name is given by title, which is no prop": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{
				Given: func(BoxProps) string { return "" }, Rule: func(BoxProps) kind.NameRule { return kind.NameRule{} }, Prop: "title",
			}
		},
		"secret: call=SetSecret is none of API.Calls":               func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.API.Calls = []string{"Boxes.SetBox"} },
		"sealed has a tag for an attribute table, and Props is nil": func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Props = nil },
		`paper: codec "paper" is not known`: func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Props = kind.TableOf[BoxProps](kind.Codec{Name: "lax"})
		},
		"Named has no Rule to generate names by, and name is not required": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{Given: func(p BoxProps) string { return p.Name }}
		},
		"it has Props and Dynamic: give one of them":                                func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Dynamic = &kind.Dynamic{} },
		"it has one of Prepare and Files: Prepare reads the files that Files names": func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Files = []tree.Path{"name"} },
		"Parents has no Kinds, or no List":                                          func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Parents = &kind.Parents{Kinds: []string{"a"}} },
		"it has Contents without HoldsData, whose data they are": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Contents = func(context.Context, kind.Site[BoxProps, Box], int) ([]kind.Found, error) { return nil, nil }
		},
		"a table is made by TableOf":             func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Props = &kind.Table[BoxProps]{} },
		"Deletion is a Later without a function": func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.Deletion = kind.Later[BoxProps](nil) },
		"EventuallyVisible is less than 0":       func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.EventuallyVisible = -time.Second },
		"it has Files that name nope, which is no prop": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Files = []tree.Path{"nope"}
			k.Prepare = func(context.Context, kind.Workspace, BoxProps) (map[string]kind.Asset, error) { return nil, nil }
		},
		"it has FilesAt without Files": func(k *kind.Kind[BoxProps, BoxProps, Box]) { k.FilesAt = []tree.Path{"name"} },
		"Named.Rule permits no name: want Max above 0": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{Rule: func(BoxProps) kind.NameRule { return kind.NameRule{Marks: "-"} }}
		},
		"Named.Rule permits no name: its Min is 9 and its Max 3": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{Rule: func(BoxProps) kind.NameRule { return kind.NameRule{Min: 9, Max: 3} }}
		},
		`Named.Rule permits no name: its Suffix ".fifo" leaves no room in 5`: func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{Rule: func(BoxProps) kind.NameRule { return kind.NameRule{Max: 5, Suffix: ".fifo"} }}
		},
		"Named.Prop says where the name is given, and Named.Given is nil": func(k *kind.Kind[BoxProps, BoxProps, Box]) {
			k.Named = &kind.Named[BoxProps, BoxProps]{Prop: "name", Rule: func(BoxProps) kind.NameRule { return kind.NameRule{Max: 9} }}
		},
		"": func(*kind.Kind[BoxProps, BoxProps, Box]) {},
	} {
		k := boxKind()
		change(&k)
		erased := k.Erase()
		_, err := reconcile.NewCatalog(reconcile.Provider{Name: "test", Kinds: []reconcile.Any{erased}, Open: opens})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if direct := k.Validate(); (direct == nil) != (want == "") {
			t.Errorf("%v, and at registration %v", direct, err)
		}
	}
}

// kindOf is a kind with props P and nothing more than it must have.
func kindOf[P any]() kind.Kind[P, int, struct{ ID string }] {
	k := kindWith[P, struct{ ID string }]()
	k.Props = nil
	return k
}

// kindWith is a kind with a table of props P and attributes A, and nothing more than it must have.
func kindWith[P, A any]() kind.Kind[P, int, A] {
	return kind.Kind[P, int, A]{
		Type: "test.Bare", Doc: "A test.", Attributes: func(int) (a A) { return a }, Identity: func(A) string { return "" },
		Observe: func(context.Context, kind.Site[P, A]) (int, error) { return 0, nil },
		Create:  func(context.Context, kind.Site[P, A]) (a A, err error) { return a, nil },
		Delete:  func(context.Context, kind.Site[P, A]) error { return nil },
		Compare: func(*kind.Diff[int], P, int) {}, Props: kind.TableOf[P](),
	}
}

// TestTagsWithoutATable is about a kind that has no table.
func TestTagsWithoutATable(t *testing.T) {
	type tagged struct {
		A *int `prop:"default=3"`
	}
	first := kindOf[tagged]()
	if err := first.Erase().Validate(); err == nil || !strings.Contains(err.Error(), "a has a tag for an attribute table, and Props is nil") {
		t.Error(err)
	}
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[struct{ A int }](): "",
		reflect.TypeFor[struct {
			A int `prop:"min=1,maxlen=3"`
		}](): "",
		reflect.TypeFor[struct{ A []withWire }](): "a.a",
	} {
		if have := props.ForTable(typ); have != want {
			t.Errorf("%s: %q, want %q", typ, have, want)
		}
	}
}

// TestTagsOfAttributesOnProps is about a tag that only attributes have.
func TestTagsOfAttributesOnProps(t *testing.T) {
	k := kindOf[struct {
		A string `attr:"early" wire:"a"`
	}]()
	k.Props = kind.TableOf[struct {
		A string `attr:"early" wire:"a"`
	}]()
	if err := k.Validate(); err == nil || err.Error() != "a: its attr tag means nothing for a prop" {
		t.Error(err)
	}
}

// TestRegistrationTellsWhere is about kinds that have no name by which an error could name them.
func TestRegistrationTellsWhere(t *testing.T) {
	nameless, spaced := boxKind(), boxKind()
	nameless.Type, spaced.Type = "", "test.My Box"
	for want, p := range map[string]reconcile.Provider{
		"a provider of 1 kinds has no Name":       {Kinds: []reconcile.Any{boxKind().Erase()}},
		"provider test: its kind number 1 is nil": {Name: "test", Kinds: []reconcile.Any{nil}, Open: opens},
		"provider test: its kind number 2, with the props *kind_test.BoxProps: its Type is missing": {
			Name: "test", Kinds: []reconcile.Any{boxKind().Erase(), nameless.Erase()}, Open: opens,
		},
		`Type is "test.My Box": want words of letters, digits, - and _ with a dot between them, such as house.Lamp, without spaces`: {Name: "test", Kinds: []reconcile.Any{spaced.Erase()}, Open: opens},
	} {
		if _, err := reconcile.NewCatalog(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
