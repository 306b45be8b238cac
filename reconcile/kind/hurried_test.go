package kind_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	// Common is embedded by a pointer.
	Common struct{ Owner string }
	// spot is an attribute with fields, and spotProp a prop.
	spot struct {
		City string `attr:"early"`
	}
	// foreign is a struct of a package that reads tags of its own.
	foreign struct {
		Name string `required:"true" min:"1"`
	}
	// ownTagged is an ownership that the package does not have.
	ownTagged struct {
		kind.Tagged[BoxProps, BoxProps]
	}
	boxOf   = kind.Kind[BoxProps, BoxProps, Box]
	boxSite = kind.Site[BoxProps, Box]
	stateOf = kind.StateKind[BoxProps, Box]
	given   = kind.Named[BoxProps, BoxProps]
	rules   = func(BoxProps) kind.NameRule
)

func table[P any](codecs ...kind.Codec) func() error {
	return func() error { return tagged[P](codecs...) }
}

func unchanged(v any) any { return v }

func opens(context.Context, any) (reconcile.Cloud, error) { return nil, nil }

// toldOf fails the test unless each of these is refused, without a panic, by an error that says its key.
func toldOf(t *testing.T, wrong map[string]func() error) {
	t.Helper()
	for _, want := range slices.Sorted(maps.Keys(wrong)) {
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("it panics: %v", p)
				}
			}()
			return wrong[want]()
		}()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestHurriedTables has what an author in a hurry writes into the tags of props and attributes.
func TestHurriedTables(t *testing.T) {
	lax := kind.Codec{Name: "lax", Form: unchanged}
	toldOf(t, map[string]func() error{
		`codec "lax" is named by no wire tag: name it where it is for, as in wire:"NAME,lax", or do not give it to TableOf`: table[struct {
			A string `wire:"A"`
		}](lax),
		`codec "lax" does nothing: give it Write, Read or Form`: table[struct {
			A string `wire:"A,lax"`
		}](kind.Codec{Name: "lax"}),
		`a: codec "omitempty" is not known to the table: want elements, omitzero, call=OPERATION, or the name of a codec that TableOf is given`: table[struct {
			A string `wire:"A,omitempty"`
		}](),
		`a: codec "Call=SetA" is not known to the table: did you mean call=?`: table[struct {
			A string `wire:"A,Call=SetA"`
		}](),
		`a: codec "Lax" is not known to the table: did you mean lax?`: table[struct {
			A string `wire:"A,Lax"`
		}](lax),
		`enum has "red ", with space around it: want | alone between words`: table[struct {
			A string `prop:"enum=red | blue" wire:"A"`
		}](),
		`**int: a pointer to a pointer has no form in a tree (field A`: table[struct {
			A **int `wire:"A"`
		}](),
		`a: tag "min=1500ms": the service is sent whole seconds: say what it takes, as in unit=1ms`: table[struct {
			A time.Duration `prop:"min=1500ms" wire:"A"`
		}](),
		`a: tag "excludes=b": b has a default, so that this never counts where that is left out: let b say excludes=a instead`: table[struct {
			A string `prop:"excludes=b" wire:"A"`
			B *int   `prop:"default=5" wire:"B"`
		}](),
		`tag key "default" is not known: it is a word of the prop tag, as in prop:"default=…" (field A`: table[struct {
			A *string `default:"x" wire:"A"`
		}](),
		`tag key "required" is not known: it is a word of the prop tag, as in prop:"required" (field A`: table[struct {
			A string `required:"true"`
			B string `wire:"B"`
		}](),
		`it is embedded by a pointer: embed the struct itself, or give the field a name (field Common`: table[struct {
			*Common
			A string `wire:"A"`
		}](),
		`time.Time has no field that a tree could hold: use text (field A`: table[struct {
			A time.Time `wire:"A"`
		}](),
		`a string has no bounds: want maxlen for its length, maxitems for how many, and let Check find the rest (field A`: table[struct {
			A string `prop:"min=1" wire:"A"`
		}](),
		`a string has no such length: maxlen is of text, maxitems of lists and maps (field A`: table[struct {
			A string `prop:"maxitems=4" wire:"A"`
		}](),
		`attribute spot.city: its attr tag means nothing within another attribute: tag that one`:  validated[struct{ Spot spot }],
		`attribute spots.city: its attr tag means nothing within another attribute: tag that one`: validated[struct{ Spots []spot }],
		`attribute id: tag " mutable": is not known: words have a comma between them, and no space`: validated[struct {
			ID string `attr:"early, mutable"`
		}],
		`attribute id: tag "Mutable": is not known: did you mean mutable?`: validated[struct {
			ID string `attr:"Mutable"`
		}],
		`attribute count: a int cannot hold a reference; use text, athanor.Int, Bool or Duration, or a list of them`: validated[struct {
			ID    string
			Count int
		}],
		`attribute labels: a map[string]string cannot hold a reference`:                          validated[struct{ Labels map[string]string }],
		`attribute url: tag "mutable=name": name names the object: a change replaces the object`: renamed,
		`a.city: its attr tag means nothing for a prop`: func() error {
			k := kindOf[struct{ A []spot }]()
			return k.Validate()
		},
		`attribute at: tag "mutable=a|b": b is immutable: a change replaces the object, and no update changes the attribute by it: leave it out`: func() error {
			k := kindWith[struct {
				A string `wire:"A"`
				B string `prop:"immutable" wire:"B"`
			}, struct {
				At string `attr:"mutable=a|b"`
			}]()
			return k.Validate()
		},
	})
}

// renamed is a kind of which an attribute changes with the name.
func renamed() error {
	type p struct{ Name string }
	k := kindWith[p, struct {
		URL string `attr:"mutable=name"`
	}]()
	k.Named = &kind.Named[p, int]{
		Given: func(p p) string { return p.Name }, Rule: func(p) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-"} }, Live: func(int) string { return "" },
	}
	return k.Validate()
}

// TestAWrongTagIsNamedFirst: a tag that cannot be read leaves the props without names, and is what is wrong where the definition names one.
func TestAWrongTagIsNamedFirst(t *testing.T) {
	type p struct {
		Name string
		Size *int `prop:"defualt=3" wire:"size"`
	}
	for what, change := range map[string]func(*kind.Kind[p, int, struct{ ID string }]){
		"a name": func(k *kind.Kind[p, int, struct{ ID string }]) {
			k.Named = &kind.Named[p, int]{
				Given: func(p p) string { return p.Name }, Rule: func(p) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-"} }, Live: func(int) string { return "" },
			}
		},
		"files": func(k *kind.Kind[p, int, struct{ ID string }]) {
			k.Prepare = func(context.Context, kind.Workspace, p) (map[string]kind.Asset, error) { return nil, nil }
			k.Files = []tree.Path{"name"}
		},
		"a whole": func(k *kind.Kind[p, int, struct{ ID string }]) {
			k.PartOf = []kind.Part{{Kind: "house.Box", Prop: "name", States: "lamps"}}
		},
	} {
		k := kindWith[p, struct{ ID string }]()
		change(&k)
		if err := k.Validate(); err == nil || !strings.Contains(err.Error(), `tag "defualt=3" is not known: did you mean default?`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k := kind.StateKind[p, struct{ ID string }]{
		Type: "test.Kept", Doc: "A test.", Files: []tree.Path{"name"},
		Prepare: func(context.Context, kind.Workspace, p) (map[string]kind.Asset, error) { return nil, nil },
		Create: func(context.Context, kind.Site[p, struct{ ID string }]) (a struct{ ID string }, err error) {
			return a, nil
		},
		Compare: func(*kind.Diff[kind.Kept[p, struct{ ID string }]], p, kind.Kept[p, struct{ ID string }]) {},
	}
	if err := k.Validate(); err == nil || !strings.Contains(err.Error(), "did you mean default?") {
		t.Errorf("kept in state: %v", err)
	}
}

// TestHurriedKinds has what an author in a hurry writes into a definition, and what was left from the one that was copied.
func TestHurriedKinds(t *testing.T) {
	rule := func(r kind.NameRule) rules { return func(BoxProps) kind.NameRule { return r } }
	prepare := func(context.Context, kind.Workspace, BoxProps) (map[string]kind.Asset, error) { return nil, nil }
	wrong := map[string]func() error{}
	for want, change := range map[string]func(*boxOf){
		"Owner is a *kind.Tagged[": func(k *boxOf) {
			k.Owner = &kind.Tagged[BoxProps, BoxProps]{Tag: func(BoxProps) (o kind.OwnerTag) { return o }}
		},
		"Owner is a *kind.OwnedByContent[":                 func(k *boxOf) { k.Owner = &kind.OwnedByContent[BoxProps, BoxProps]{} },
		"Owner is a kind_test.ownTagged":                   func(k *boxOf) { k.Owner = ownTagged{} },
		"Deletion is a *kind.AtOnce[":                      func(k *boxOf) { k.Deletion = &kind.AtOnce[BoxProps]{} },
		`its Type is "test.": want words`:                  func(k *boxOf) { k.Type = "test." },
		`its Type is "test..Box": want words`:              func(k *boxOf) { k.Type = "test..Box" },
		`its Type is "test.Box*": want words`:              func(k *boxOf) { k.Type = "test.Box*" },
		`its Type is "test/Box": want words`:               func(k *boxOf) { k.Type = "test/Box" },
		`its Type is "tset.Box": want the provider's name`: func(k *boxOf) { k.Type = "tset.Box" },
		`its Type is "Box": want the provider's name first, as in test.Lamp`: func(k *boxOf) {
			k.Type = "Box"
		},
		"Doc is missing":                  func(k *boxOf) { k.Doc = " " },
		"Timeouts.Create is less than 0":  func(k *boxOf) { k.Timeouts.Create = -time.Second },
		"Timeouts.Update is 30ns: want a": func(k *boxOf) { k.Timeouts.Update = 30 },
		"EventuallyVisible is 5ns: want a duration with its unit, such as 5*time.Second": func(k *boxOf) { k.EventuallyVisible = 5 },
		"API.Calls has a call without a name":                                            func(k *boxOf) { k.API.Calls = append(k.API.Calls, "") },
		"PartOf says that taget refers to the test.Other, which is no prop: did you mean target?": func(k *boxOf) {
			k.PartOf = []kind.Part{{Prop: "taget", Kind: "test.Other", States: "x"}}
		},
		"PartOf has no Kind, or no States": func(k *boxOf) { k.PartOf = []kind.Part{{Prop: "target", Kind: "test.Other"}} },
		"PartOf says that its part is stated at nope, which is no prop of test.Box": func(k *boxOf) {
			k.PartOf = []kind.Part{{Prop: "target", Kind: "test.Box", States: "nope"}}
		},
		"Parents has no Kinds, or no List": func(k *boxOf) {
			list := func(context.Context, kind.ListScope, kind.Found) ([]kind.Found, error) { return nil, nil }
			k.Parents = &kind.Parents{Kinds: []string{""}, List: list}
		},
		`Named.Rule permits "a-z0-9" beside letters and digits: want single characters`: func(k *boxOf) { k.Named = &given{Rule: rule(kind.NameRule{Max: 40, Marks: "a-z0-9"})} },
		"Named.Rule permits no -, which generated names hold":                           func(k *boxOf) { k.Named = &given{Rule: rule(kind.NameRule{Max: 40})} },
		"Named.Rule leaves no room for generated names, which end in 9 characters of their own: want Max above 14": func(k *boxOf) {
			k.Named = &given{Rule: rule(kind.NameRule{Max: 12, Marks: "-", Suffix: ".fifo"})}
		},
		"Named.Rule panics where no prop is given: runtime error": func(k *boxOf) {
			k.Named = &given{Rule: func(p BoxProps) kind.NameRule { return kind.NameRule{Max: int(*p.Wait)} }}
		},
		"key: its wire tag compares the name with what is declared, which is nothing where one is generated": func(k *boxOf) {
			key := func(p BoxProps) string { return p.Key }
			k.Named = &given{Prop: "key", Given: key, Live: key, Rule: rule(kind.NameRule{Max: 40, Marks: "-"})}
		},
		`target: tag "deferrable": means nothing for the name`: func(k *boxOf) {
			k.Named = &given{Prop: "target", Given: func(p BoxProps) string { return p.Target }, Rule: rule(kind.NameRule{Max: 40, Marks: "-"})}
		},
		"Dynamic has no Props, or no Attrs": func(k *boxOf) { k.Props, k.Dynamic = nil, &kind.Dynamic{} },
		"it has FilesAt that name no path":  func(k *boxOf) { k.Files, k.FilesAt, k.Prepare = []tree.Path{"shape"}, []tree.Path{""}, prepare },
		"API.Permissions: its Of names nope, which is no prop": func(k *boxOf) {
			k.API.Permissions.Of = "nope"
		},
		"API.Permissions: its Only of a:Tag names tags, which is no prop": func(k *boxOf) {
			k.API.Permissions.Only = map[string][]tree.Path{"a:Tag": {"labels.*", "tags"}}
		},
		"API.Permissions: its Depends[0].Props names rule.nobody, which is no prop": func(k *boxOf) {
			k.API.Permissions.Depends = []kind.Dependence{{Props: []tree.Path{"rule.nobody"}}}
		},
		"kind test.Box: Verify finds it": func(k *boxOf) { k.Verify = func() error { return fmt.Errorf("Verify finds it") } },
	} {
		wrong[want] = func() error {
			k := boxKind()
			change(&k)
			_, err := reconcile.NewCatalog(reconcile.Provider{Name: "test", Kinds: []reconcile.Any{k.Erase()}, Open: opens})
			return err
		}
	}
	toldOf(t, wrong)
}

// TestHurriedStateKinds is about kinds without an object in the cloud.
func TestHurriedStateKinds(t *testing.T) {
	wrong := map[string]func() error{
		"string is no struct":                          kind.Composite[struct{ A int }, string]{Type: "test.C", Doc: "A test."}.Validate,
		"attribute spot.city: its attr tag means":      kind.Composite[struct{ A int }, struct{ Spot spot }]{Type: "test.C", Doc: "A test."}.Validate,
		"a.city: its attr tag means nothing for a pro": kind.Composite[struct{ A spot }, struct{ B int }]{Type: "test.C", Doc: "A test."}.Validate,
	}
	for want, change := range map[string]func(*stateOf){
		"it has CleansUp without Delete": func(k *stateOf) { k.CleansUp = true },
		"it has Observe and Read, which takes its place: give one of them": func(k *stateOf) {
			k.Observe = func(context.Context, boxSite) error { return nil }
			k.Read = func(context.Context, boxSite, *kind.Kept[BoxProps, Box]) error { return nil }
		},
		"Timeouts.Create is 30ns: want a duration": func(k *stateOf) { k.Timeouts.Create = 30 },
	} {
		wrong[want] = func() error {
			k := stateOf{Type: "test.State", Doc: "A test.", Props: boxTable(), API: boxKind().API}
			k.Create = func(context.Context, boxSite) (b Box, err error) { return b, nil }
			change(&k)
			return k.Validate()
		}
	}
	toldOf(t, wrong)
}

// TestHurriedProviders has what an author in a hurry writes into a provider.
func TestHurriedProviders(t *testing.T) {
	type settings struct{ Region *string }
	type misspelt struct {
		Region string `prop:"requird"`
	}
	types := func() ([]string, error) { return nil, nil }
	none := func(string) (reconcile.Any, error) { return nil, nil }
	found := func(p reconcile.Provider, of string) func() error {
		return func() error {
			c, err := reconcile.NewCatalog(p)
			if err == nil {
				_, err = c.Find(of)
			}
			return err
		}
	}
	family := reconcile.Provider{Name: "test", Open: opens, Family: &reconcile.Family{Prefix: "T::", Types: types, Kind: none}}
	wrong := map[string]func() error{
		"kind T::Box: its provider made none": found(family, "T::Box"),
		"provider test: Open returned no Cloud and no error": func() error {
			c, err := reconcile.NewCatalog(family)
			if err == nil {
				p, _ := c.Provider("test")
				_, err = p.Open(t.Context(), nil)
			}
			return err
		},
	}
	for want, change := range map[string]func(*reconcile.Provider){
		"provider test: its Open is missing, which makes the handle":                   func(p *reconcile.Provider) { p.Open = nil },
		"provider test: its Settings are a kind_test.settings: want a pointer":         func(p *reconcile.Provider) { p.Settings = settings{} },
		"provider test: its Settings are a *string: want a pointer to a struct":        func(p *reconcile.Provider) { p.Settings = new(string) },
		`provider test: its Settings: props: tag "requird" is not known: did you mean`: func(p *reconcile.Provider) { p.Settings = new(misspelt) },
		`its Name is "te.st": want one word of letters, digits, - and _`:               func(p *reconcile.Provider) { p.Name = "te.st" },
		`its Name is "my test": want one word`:                                         func(p *reconcile.Provider) { p.Name = "my test" },
		`its Name is "te/st": want one word`:                                           func(p *reconcile.Provider) { p.Name = "te/st" },
		"provider test: its Family has no Prefix":                                      func(p *reconcile.Provider) { p.Family = &reconcile.Family{Types: types, Kind: none} },
		"provider test: its Family has no Prefix, no Types, or no Kind":                func(p *reconcile.Provider) { p.Family = &reconcile.Family{Prefix: "T::", Types: types} },
	} {
		p := reconcile.Provider{Name: "test", Kinds: []reconcile.Any{boxKind().Erase()}, Open: opens}
		change(&p)
		toldOf(t, map[string]func() error{want: found(p, "test.Box")})
	}
	toldOf(t, wrong)
}

// TestDoubtfulIsTaken is about what looks wrong, and has a meaning that somebody may want.
func TestDoubtfulIsTaken(t *testing.T) {
	named := func(rule kind.NameRule) func() error {
		type p struct {
			Title string `prop:"required"`
		}
		k := kindOf[p]()
		k.Named = &kind.Named[p, int]{Prop: "title", Given: func(p p) string { return p.Title }, Rule: func(p) kind.NameRule { return rule }}
		return k.Validate
	}
	for name, find := range map[string]func() error{
		"what is required closes a cycle later": table[struct {
			A string `prop:"required,deferrable" wire:"A"`
		}](),
		"two that come together": table[struct {
			A string `prop:"needs=b" wire:"A"`
			B string `prop:"needs=a" wire:"B"`
		}](),
		"two that exclude each other": table[struct {
			A string `prop:"excludes=b" wire:"A"`
			B string `prop:"excludes=a" wire:"B"`
		}](),
		"what has a default excludes": table[struct {
			A *bool  `prop:"default=true,excludes=b" wire:"A"`
			B string `wire:"B"`
		}](),
		"a default that is a secret": table[struct {
			A *token.Secret `prop:"default=none" wire:"A"`
		}](),
		"one word alone": table[struct {
			A *string `prop:"enum=only,default=only" wire:"A"`
		}](),
		"milliseconds": table[struct {
			A time.Duration `prop:"unit=1ms,min=1500ms" wire:"A"`
		}](),
		"a limit between two units": table[struct {
			A int `prop:"max=100,unit=64" wire:"A"`
		}](),
		"tags that another package reads":            table[struct{ A foreign }](),
		"a codec in what is below":                   table[struct{ A struct{ B map[string]string } }](),
		"a codec of a member":                        memberCodec,
		"a name of letters that is always given":     named(kind.NameRule{Min: 3, Max: 24, Lower: true}),
		"a short name that is always given":          named(kind.NameRule{Max: 5, Marks: "-"}),
		"an attribute with a struct that props have": validated[struct{ Spot struct{ Name string } }],
		"a provider without kinds": func() error {
			_, err := reconcile.NewCatalog(reconcile.Provider{Name: "test", Open: opens})
			return err
		},
	} {
		if err := find(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// memberCodec is a table whose codec a member of a document alone names.
func memberCodec() error {
	return kind.TableOf[struct {
		A []struct {
			B string `wire:"b,lax"`
		} `wire:"A,elements"`
	}](kind.Codec{Name: "lax", Form: unchanged}).Validate()
}
