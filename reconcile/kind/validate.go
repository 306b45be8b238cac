package kind

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

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
		{"Doc", strings.TrimSpace(k.Doc) != ""},
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
	if k.Dynamic == nil {
		if _, err := props.Tags(reflect.TypeFor[P]()); err != nil {
			return reconcile.Tags{}, err // there are no names that the definition could mean
		}
	}
	if err := readsFiles[P](k.Prepare != nil, k.Files); err != nil {
		return reconcile.Tags{}, err
	}
	if p := k.Parents; p != nil && (len(p.Kinds) == 0 || slices.Contains(p.Kinds, "") || p.List == nil) {
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
		switch {
		case k.Props != nil:
			return reconcile.Tags{}, fmt.Errorf("it has Props and Dynamic: give one of them")
		case k.Dynamic.Props == nil || k.Dynamic.Attrs == nil:
			return reconcile.Tags{}, fmt.Errorf("Dynamic has no Props, or no Attrs, which say what its maps hold")
		}
		return k.Dynamic.Tags, k.verified()
	}
	if err := k.partsExist(); err != nil {
		return reconcile.Tags{}, err
	}
	var byName string
	if k.Named != nil && k.Named.Given != nil {
		if err := k.Named.inTable(k.Props); err != nil {
			return reconcile.Tags{}, err
		}
		if k.Named.Live != nil {
			byName = string(k.Named.prop())
		}
	}
	tags, err := tagsOf[P, A](k.Props, k.API, byName)
	return tags, errorOr(err, k.verified)
}

func (k *Kind[P, L, A]) verified() error {
	if k.Verify == nil {
		return nil
	}
	return k.Verify()
}

// partsExist checks what the objects are said to be parts of.
func (k *Kind[P, L, A]) partsExist() error {
	for _, part := range k.PartOf {
		switch {
		case part.Kind == "" || part.States == "":
			return fmt.Errorf("PartOf has no Kind, or no States")
		case !props.Has(reflect.TypeFor[P](), part.Prop):
			return fmt.Errorf("PartOf says that %s refers to the %s, which is no prop%s", part.Prop, part.Kind, meant(string(part.Prop), namesIn[P]()))
		}
	}
	return nil
}

// inTable refuses what a table cannot do with the prop that gives the name. A name that is generated is not declared.
func (n *Named[P, L]) inTable(t *Table[P]) error {
	if t == nil {
		return nil
	}
	rows, err := t.loaded()
	if err != nil {
		return err
	}
	for _, r := range rows {
		switch {
		case r.path != n.prop():
		case r.deferrable:
			return fmt.Errorf("%s: tag \"deferrable\": means nothing for the name, which objects are found by from the beginning", r.path)
		case r.wire != "" && n.Rule != nil && !r.required:
			return fmt.Errorf("%s: its wire tag compares the name with what is declared, which is nothing where one is generated: "+
				"leave the tag out, send Site.Name, and let Named.Live compare it", r.path)
		}
	}
	return nil
}

// meansSomething refuses capabilities that can do nothing.
func (k *Kind[P, L, A]) meansSomething() error {
	switch k.Owner.(type) {
	case nil, Tagged[P, L], OwnedByContent[P, L], OwnedByParent[P, L]:
	default:
		return fmt.Errorf("its Owner is a %T: want one of kind.Tagged, kind.OwnedByContent and kind.OwnedByParent itself, without &", k.Owner)
	}
	switch later := k.Deletion.(type) {
	case nil, AtOnce[L]:
	case Later[L]:
		if later == nil {
			return fmt.Errorf("Deletion is a Later without a function")
		}
	default:
		return fmt.Errorf("Deletion is a %T: want kind.AtOnce or kind.Later itself, without &", k.Deletion)
	}
	if err := lasting(k.Timeouts, k.EventuallyVisible); err != nil {
		return err
	}
	switch n := k.Named; {
	case len(k.FilesAt) > 0 && len(k.Files) == 0:
		return fmt.Errorf("it has FilesAt without Files")
	case slices.Contains(k.FilesAt, ""):
		return fmt.Errorf("it has FilesAt that name no path")
	case n != nil && n.Prop != "" && n.Given == nil:
		return fmt.Errorf("Named.Prop says where the name is given, and Named.Given is nil")
	case n != nil && n.In != nil && n.Rule == nil:
		return fmt.Errorf("Named.In changes the Rule, which is nil")
	case n != nil && n.Rule != nil:
		rule, err := n.ruleOfNothing()
		if err != nil {
			return err
		}
		return rule.permitsSome(n.In == nil && (n.Given == nil || !isRequired[P](n.prop())))
	}
	return nil
}

// lasting refuses times that nobody means: less than nothing, and numbers without a unit, which are nanoseconds.
func lasting(limits Timeouts, visible time.Duration) error {
	for name, d := range map[string]time.Duration{
		"Timeouts.Create": limits.Create, "Timeouts.Update": limits.Update, "Timeouts.Delete": limits.Delete, "EventuallyVisible": visible,
	} {
		switch {
		case d < 0:
			return fmt.Errorf("%s is less than 0", name)
		case d > 0 && d < time.Millisecond:
			return fmt.Errorf("%s is %s: want a duration with its unit, such as %d*time.Second", name, d, d)
		}
	}
	return nil
}

// ruleOfNothing is the rule where no prop is given, as it is asked for.
func (n *Named[P, L]) ruleOfNothing() (rule NameRule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Named.Rule panics where no prop is given: %v", p)
		}
	}()
	return n.Rule(*new(P)), nil
}

// permitsSome refuses a rule that no name follows, or that the generated ones do not, where some are.
func (n NameRule) permitsSome(generates bool) error {
	switch {
	case strings.ContainsFunc(n.Marks, func(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }):
		return fmt.Errorf("Named.Rule permits %q beside letters and digits: want single characters, such as -_", n.Marks)
	case n.Max <= 0:
		return fmt.Errorf("Named.Rule permits no name: want Max above 0")
	case n.Min > n.Max:
		return fmt.Errorf("Named.Rule permits no name: its Min is %d and its Max %d", n.Min, n.Max)
	case len(n.Suffix) >= n.Max:
		return fmt.Errorf("Named.Rule permits no name: its Suffix %q leaves no room in %d", n.Suffix, n.Max)
	case !generates:
		return nil
	case !n.Allowed('-'):
		return fmt.Errorf("Named.Rule permits no -, which generated names hold: add it, or let the author give each name in a prop that is required")
	case n.Max <= reconcile.GeneratedEnd+len(n.Suffix):
		return fmt.Errorf("Named.Rule leaves no room for generated names, which end in %d characters of their own: want Max above %d", reconcile.GeneratedEnd, reconcile.GeneratedEnd+len(n.Suffix))
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
		{"Doc", strings.TrimSpace(k.Doc) != ""},
		{"Create", k.Create != nil},
		{"Props, or Compare,", k.table() != nil || k.Compare != nil},
	}); err != nil {
		return reconcile.Tags{}, err
	}
	if _, err := props.Tags(reflect.TypeFor[P]()); err != nil {
		return reconcile.Tags{}, err
	}
	if err := readsFiles[P](k.Prepare != nil, k.Files); err != nil {
		return reconcile.Tags{}, err
	}
	switch err := lasting(k.Timeouts, 0); {
	case err != nil:
		return reconcile.Tags{}, err
	case k.Lifetime < InState || k.Lifetime > InDev:
		return reconcile.Tags{}, fmt.Errorf("no Lifetime has the number %d", k.Lifetime)
	case k.CleansUp && k.Delete == nil:
		return reconcile.Tags{}, fmt.Errorf("it has CleansUp without Delete, which is to clean up")
	case k.Observe != nil && k.Read != nil:
		return reconcile.Tags{}, fmt.Errorf("it has Observe and Read, which takes its place: give one of them")
	case k.LocalVariantOf != "":
		return variantTags[P, A](k.Props)
	}
	return tagsOf[P, A](k.Props, k.API, "")
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
	err = attributeTags(reflect.TypeFor[A](), namesIn[P](), nil, &all)
	return reconcile.Tags{Late: all.Late, MaskLive: all.MaskLive, Moves: all.Moves}, err
}

// tagsOf reads the tags of props and attributes. Without a table those of props that a table reads mean nothing. byName is the prop
// that gives the name, "" where none does, or where the service renames.
func tagsOf[P, A any](t *Table[P], api API, byName string) (tags reconcile.Tags, err error) {
	p, a := reflect.TypeFor[P](), reflect.TypeFor[A]()
	for _, typ := range []reflect.Type{p, a} {
		if err := props.Check(typ); err != nil {
			return tags, err
		}
	}
	if err := errorOr(misplaced(p, a), func() error { return permits(p, api.Permissions) }); err != nil {
		return tags, err
	}
	replaces := map[string]string{byName: "names the object"}
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
		for _, r := range rows {
			if r.immutable {
				replaces[string(r.path)] = "is immutable"
			}
		}
	}
	return tags, attributeTags(a, namesIn[P](), replaces, &tags)
}

// misplaced finds attr tags that nothing reads: those of props, and those within an attribute.
func misplaced(p, a reflect.Type) error {
	if path := props.Attr(p, false); path != "" {
		return fmt.Errorf("%s: its attr tag means nothing for a prop", path)
	}
	if path := props.Attr(a, true); path != "" {
		return fmt.Errorf("attribute %s: its attr tag means nothing within another attribute: tag that one", path)
	}
	return nil
}

// permits checks the props that permissions name.
func permits(p reflect.Type, of Permissions) error {
	named := map[string][]tree.Path{}
	if of.Of != "" {
		named["Of"] = []tree.Path{of.Of}
	}
	for action, paths := range of.Only {
		named["Only of "+action] = paths
	}
	for i, d := range of.Depends {
		at := fmt.Sprintf("Depends[%d].", i)
		named[at+"Props"], named[at+"Where"] = d.Props, d.Where
		if d.Under != "" {
			named[at+"Under"] = []tree.Path{d.Under}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(named)) {
		for _, path := range named[at] {
			if !props.Has(p, path) {
				return fmt.Errorf("API.Permissions: its %s names %s, which is no prop", at, path)
			}
		}
	}
	return nil
}

// called checks that the operations which tags name are calls of the kind.
func called(rows []*row, calls []string) error {
	if slices.Contains(calls, "") {
		return fmt.Errorf("API.Calls has a call without a name")
	}
	for _, r := range rows {
		is := func(call string) bool { return call == r.call || strings.HasSuffix(call, "."+r.call) }
		if r.call != "" && !slices.ContainsFunc(calls, is) {
			return fmt.Errorf("%s: call=%s is none of API.Calls", r.path, r.call)
		}
	}
	return nil
}
