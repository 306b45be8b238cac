package kind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// need is a field that a definition cannot be without.
type need struct {
	name  string
	given bool
}

func missing(needs []need) error {
	for _, n := range needs {
		if !n.given {
			return fmt.Errorf("%s is missing", n.name)
		}
	}
	return nil
}

// Validate finds what is missing or means nothing in the definition.
func (k *Kind[P, L, A]) Validate() error { _, err := k.tags(); return err }

// tags validates the definition, and is what its tags say.
func (k *Kind[P, L, A]) tags() (reconcile.Tags, error) {
	tagged, isTagged := k.Owner.(Tagged[P, L])
	if err := missing([]need{
		{"Type", k.Type != ""},
		{"Doc", k.Doc != ""},
		{"Observe", k.Observe != nil},
		{"Create", k.Create != nil},
		{"Compare", k.Compare != nil},
		{"Attributes", k.Attributes != nil},
		{"Delete", k.Delete != nil},
		{"Identity", k.Identity != nil},
		{"Named.Rule or Named.Given", k.Named == nil || k.Named.Rule != nil || k.Named.Given != nil},
		{"Owner's Tag", !isTagged || tagged.Tag != nil},
		{"HoldsData.Now", k.HoldsData == nil || k.HoldsData.Now != nil},
	}); err != nil {
		return reconcile.Tags{}, err
	}
	if err := readsFiles[P](k.Prepare != nil, k.Files); err != nil {
		return reconcile.Tags{}, err
	}
	if p := k.Parents; p != nil && (len(p.Kinds) == 0 || p.List == nil) {
		return reconcile.Tags{}, fmt.Errorf("Parents has no Kinds, or no List")
	}
	if k.Contents != nil && k.HoldsData == nil {
		return reconcile.Tags{}, fmt.Errorf("it has Contents without HoldsData, whose data they are")
	}
	if k.Named != nil && k.Key != nil {
		return reconcile.Tags{}, fmt.Errorf("it has Named and Key: give one of them")
	}
	if k.Named != nil && k.Dynamic == nil && k.Named.Given != nil && !slices.Contains(namesIn[P](), string(k.Named.prop())) {
		return reconcile.Tags{}, fmt.Errorf("Named says that the name is given by %s, which is no prop", k.Named.prop())
	}
	if n := k.Named; n != nil && k.Dynamic == nil && n.Rule == nil && !isRequired[P](n.prop()) {
		return reconcile.Tags{}, fmt.Errorf("Named has no Rule to generate names by, and %s is not required", n.prop())
	}
	if err := k.meansSomething(); err != nil {
		return reconcile.Tags{}, err
	}
	if k.Dynamic != nil {
		if k.Props != nil {
			return reconcile.Tags{}, fmt.Errorf("it has Props and Dynamic: give one of them")
		}
		return k.Dynamic.Tags, nil
	}
	return tagsOf[P, A](k.Props, k.API)
}

// meansSomething refuses capabilities that can do nothing.
func (k *Kind[P, L, A]) meansSomething() error {
	later, isLater := k.Deletion.(Later[L])
	switch n := k.Named; {
	case isLater && later == nil:
		return fmt.Errorf("Deletion is a Later without a function")
	case k.EventuallyVisible < 0:
		return fmt.Errorf("EventuallyVisible is less than 0")
	case len(k.FilesAt) > 0 && len(k.Files) == 0:
		return fmt.Errorf("it has FilesAt without Files")
	case n != nil && n.Prop != "" && n.Given == nil:
		return fmt.Errorf("Named.Prop says where the name is given, and Named.Given is nil")
	case n != nil && n.In != nil && n.Rule == nil:
		return fmt.Errorf("Named.In changes the Rule, which is nil")
	case n != nil && n.Rule != nil:
		return n.Rule(*new(P)).permitsSome()
	}
	return nil
}

// permitsSome refuses a rule that no name follows.
func (n NameRule) permitsSome() error {
	switch {
	case n.Max <= 0:
		return fmt.Errorf("Named.Rule permits no name: want Max above 0")
	case n.Min > n.Max:
		return fmt.Errorf("Named.Rule permits no name: its Min is %d and its Max %d", n.Min, n.Max)
	case len(n.Suffix) >= n.Max:
		return fmt.Errorf("Named.Rule permits no name: its Suffix %q leaves no room in %d", n.Suffix, n.Max)
	}
	return nil
}

// isRequired reports whether the author must give a prop.
func isRequired[P any](prop tree.Path) bool {
	fields, _ := props.Tags(reflect.TypeFor[P]())
	return slices.ContainsFunc(fields, func(f props.Tagged) bool {
		return tree.Path(f.Name) == prop && slices.Contains(strings.Split(f.Field.Tag.Get("prop"), ","), "required")
	})
}

// readsFiles refuses a Prepare without the files that it reads, and files that nothing reads.
func readsFiles[P any](prepares bool, files []tree.Path) error {
	if prepares != (len(files) > 0) {
		return fmt.Errorf("it has one of Prepare and Files: Prepare reads the files that Files names")
	}
	for _, file := range files {
		if steps := file.Steps(); len(steps) == 0 || !slices.Contains(namesIn[P](), steps[0].Key) {
			return fmt.Errorf("it has Files that name %s, which is no prop", file)
		}
	}
	return nil
}

// namesIn are the props of a struct. Of a type that can hold none there are none.
func namesIn[P any]() []string {
	fields, _ := props.Tags(reflect.TypeFor[P]())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Validate finds what is missing or means nothing in the definition.
func (k *StateKind[P, A]) Validate() error { _, err := k.tags(); return err }

func (k *StateKind[P, A]) tags() (reconcile.Tags, error) {
	if err := missing([]need{
		{"Type", k.Type != ""},
		{"Doc", k.Doc != ""},
		{"Create", k.Create != nil},
		{"Props, or Compare,", k.table() != nil || k.Compare != nil},
	}); err != nil {
		return reconcile.Tags{}, err
	}
	if err := readsFiles[P](k.Prepare != nil, k.Files); err != nil {
		return reconcile.Tags{}, err
	}
	if k.Lifetime < InState || k.Lifetime > InDev {
		return reconcile.Tags{}, fmt.Errorf("no Lifetime has the number %d", k.Lifetime)
	}
	if k.LocalVariantOf != "" {
		return variantTags[P, A](k.Props)
	}
	return tagsOf[P, A](k.Props, k.API)
}

// variantTags are what the tags of a kind say of its local variant: which props are deferrable, which live values are masked,
// and which attributes an update may change, of which here any may be the cause.
func variantTags[P, A any](t *Table[P]) (tags reconcile.Tags, err error) {
	var all reconcile.Tags
	if t != nil {
		rows, err := t.loaded()
		if err != nil {
			return tags, err
		}
		paths(rows, &all)
	}
	err = attributeTags(reflect.TypeFor[A](), namesIn[P](), &all)
	return reconcile.Tags{Late: all.Late, MaskLive: all.MaskLive, Moves: all.Moves}, err
}

// tagsOf reads the tags of props and attributes. Without a table those of props that a table reads mean nothing.
func tagsOf[P, A any](t *Table[P], api API) (tags reconcile.Tags, err error) {
	p := reflect.TypeFor[P]()
	for _, typ := range []reflect.Type{p, reflect.TypeFor[A]()} {
		if err := props.Check(typ); err != nil {
			return tags, err
		}
	}
	fields, _ := props.Tags(p)
	for _, f := range fields {
		if _, tagged := f.Field.Tag.Lookup("attr"); tagged {
			return tags, fmt.Errorf("%s: its attr tag means nothing for a prop", f.Name)
		}
	}
	if t == nil {
		if f := props.ForTable(p); f != "" {
			return tags, fmt.Errorf("%s has a tag for an attribute table, and Props is nil", f)
		}
	} else {
		rows, err := t.loaded()
		if err != nil {
			return tags, err
		}
		paths(rows, &tags)
		if err := called(rows, api.Calls); err != nil {
			return tags, err
		}
	}
	return tags, attributeTags(reflect.TypeFor[A](), namesIn[P](), &tags)
}

// called checks that the operations which tags name are calls of the kind.
func called(rows []*row, calls []string) error {
	for _, r := range rows {
		is := func(call string) bool { return call == r.call || strings.HasSuffix(call, "."+r.call) }
		if r.call != "" && !slices.ContainsFunc(calls, is) {
			return fmt.Errorf("%s: call=%s is none of API.Calls", r.path, r.call)
		}
	}
	return nil
}
