package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// Cloud is a provider's handle on one place, opened with the settings of one scope. It must be safe for
// concurrent use and asks for credentials only when a call needs them.
type Cloud interface {
	// Place says where calls of this handle land, with the caller's account. It may make a call, once.
	Place(ctx context.Context) (Place, error)
	// Classify says what to do about an error, by its code.
	Classify(err error) Class
}

// Provider is a family of kinds that share a way in.
type Provider struct {
	// Name is the first word of the kinds' types: "aws".
	Name string
	// Settings is a pointer to a zero settings struct, for decoding and documentation; nil: none.
	Settings any
	// Open makes a handle from decoded settings (a pointer of the type of Settings). It makes no call.
	Open func(ctx context.Context, settings any) (Cloud, error)
	// Fetch brings to this machine what a set of settings needs before Declared is told it, and starts nothing. What the user has
	// approved is looked at again after it. Nil: nothing is needed.
	Fetch func(ctx context.Context, settings any) error
	// Declared is told each set of settings that a stack declares, before kinds of its family are asked for. Nil: its kinds do not
	// depend on settings.
	Declared func(ctx context.Context, settings any) error
	// Close ends what the provider keeps running. Nil: nothing.
	Close func()
	// Warnings are what the provider warns of, each once, since it was last asked. Nil: it does not warn.
	Warnings func() []string
	// Kinds are what it offers.
	Kinds []Any
	// Validated says that a test validates all of Kinds. NewCatalog takes them as they are then.
	Validated bool
	// Family are further kinds, too many to list and made when they are asked for. Nil: none.
	Family *Family
	// Discover finds the objects with a stage's owner tag in one location, in as few calls as the cloud allows. Nil: by
	// kind.
	Discover func(ctx context.Context, scope Scope) ([]Found, error)
	// Permissions are what it takes to know the place of a handle (Observe), and to discover (List).
	Permissions Permissions
}

// Family is a great number of kinds that are made of data.
type Family struct {
	// Prefix begins the names of all: "AWS::". Kinds that are listed may begin with it too, and come first.
	Prefix string
	// Doc says what they are.
	Doc string
	// Types are their names, sorted.
	Types func() ([]string, error)
	// Kind makes the kind of a name. The error says why there is none.
	Kind func(name string) (Any, error)
}

// Catalog is every kind that a program can use. It is safe for concurrent use.
type Catalog struct {
	providers []Provider
	kinds     map[string]Any
	owner     map[string]int
	variants  map[string]Any // by the kind that they stand for
	made      sync.Map       // kinds of families, by name
}

// NewCatalog collects providers. Kinds that are invalid or whose names differ only by case are errors, and so
// are two providers of one name.
func NewCatalog(providers ...Provider) (*Catalog, error) {
	c := &Catalog{kinds: map[string]Any{}, owner: map[string]int{}, variants: map[string]Any{}}
	folded := map[string]string{}
	for _, p := range providers {
		if p.Name == "" {
			return nil, fmt.Errorf("a provider of %d kinds has no Name", len(p.Kinds))
		}
		if _, taken := c.Provider(p.Name); taken {
			return nil, fmt.Errorf("provider %s: there is one of that name", p.Name)
		}
		if err := p.complete(); err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		p.Open = p.opens
		c.providers = append(c.providers, p)
		for i, k := range p.Kinds {
			if k == nil {
				return nil, fmt.Errorf("provider %s: its kind number %d is nil", p.Name, i+1)
			}
			spec := k.Outline()
			name := spec.Type
			if err := p.namesWell(name); err != nil {
				return nil, fmt.Errorf("provider %s: its kind number %d, with the props %T: %w", p.Name, i+1, spec.NewProps(), err)
			}
			if other, ok := folded[strings.ToLower(name)]; ok {
				return nil, fmt.Errorf("kind %s: its name is taken by %s", name, other)
			}
			if !p.Validated {
				if err := k.Validate(); err != nil {
					return nil, fmt.Errorf("kind %s: %w", name, err)
				}
			}
			folded[strings.ToLower(name)] = name
			c.kinds[name] = k
			c.owner[name] = len(c.providers) - 1
		}
	}
	if err := c.parts(); err != nil {
		return c, err
	}
	return c, c.pair()
}

// parts checks the props at which kinds that are listed are said to state the parts of their objects.
func (c *Catalog) parts() error {
	for _, name := range slices.Sorted(maps.Keys(c.kinds)) {
		if c.providers[c.owner[name]].Validated {
			continue
		}
		for _, part := range c.kinds[name].Outline().Parts {
			whole, listed := c.kinds[part.Kind]
			if !listed {
				continue
			}
			if p := reflect.TypeOf(whole.Outline().NewProps()).Elem(); p.Kind() == reflect.Struct && !props.Has(p, part.States) {
				return fmt.Errorf("kind %s: PartOf says that its part is stated at %s, which is no prop of %s", name, part.States, part.Kind)
			}
		}
	}
	return nil
}

// complete finds what is missing or means nothing in a provider, without its kinds.
func (p Provider) complete() error {
	if strings.ContainsFunc(p.Name, func(r rune) bool { return !inWord(r) }) {
		return fmt.Errorf("its Name is %q: want one word of letters, digits, - and _", p.Name)
	}
	if p.Open == nil {
		return fmt.Errorf("its Open is missing, which makes the handle that its kinds are given as Cloud")
	}
	if p.Settings != nil {
		t := reflect.TypeOf(p.Settings)
		if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return fmt.Errorf("its Settings are a %s: want a pointer to a struct, such as new(Settings)", t)
		}
		if err := props.Check(t.Elem()); err != nil {
			return fmt.Errorf("its Settings: %w", err)
		}
	}
	if f := p.Family; f != nil && (f.Prefix == "" || f.Types == nil || f.Kind == nil) {
		return fmt.Errorf("its Family has no Prefix, no Types, or no Kind")
	}
	return nil
}

// opens is Open, of which an answer without anything is an error.
func (p Provider) opens(ctx context.Context, settings any) (Cloud, error) {
	cloud, err := p.Open(ctx, settings)
	if cloud == nil && err == nil {
		err = fmt.Errorf("provider %s: Open returned no Cloud and no error", p.Name)
	}
	return cloud, err
}

// inWord reports a character that names of providers and kinds may hold.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }

// namesWell refuses a type that a program could not name, or that it would name as another provider's.
func (p Provider) namesWell(name string) error {
	first, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "":
		return fmt.Errorf("its Type is missing")
	case p.Family != nil && strings.HasPrefix(name, p.Family.Prefix):
		return nil
	case slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return part == "" || strings.ContainsFunc(part, func(r rune) bool { return !inWord(r) })
	}):
		return fmt.Errorf("its Type is %q: want words of letters, digits, - and _ with a dot between them, such as house.Lamp, without spaces", name)
	case first != p.Name || rest == "":
		return fmt.Errorf("its Type is %q: want the provider's name first, as in %s.Lamp", name, p.Name)
	}
	return nil
}

// Close ends what providers keep running.
func (c *Catalog) Close() {
	for _, p := range c.providers {
		if p.Close != nil {
			p.Close()
		}
	}
}

// Warnings are what providers warn of since they were last asked.
func (c *Catalog) Warnings() []string {
	var all []string
	for _, p := range c.providers {
		if p.Warnings != nil {
			all = slices.Concat(all, p.Warnings())
		}
	}
	return all
}

// pair finds the local variants, each of which must be declared as the kind that it stands for is.
func (c *Catalog) pair() error {
	for _, name := range slices.Sorted(maps.Keys(c.kinds)) {
		variant := c.kinds[name].Outline()
		if variant.Stands == "" {
			continue
		}
		var of Spec
		k, ok := c.kinds[variant.Stands]
		if ok {
			of = k.Outline()
		}
		switch {
		case !ok || of.Stands != "":
			return fmt.Errorf("kind %s: there is no %s that it could stand for", name, variant.Stands)
		case c.variants[variant.Stands] != nil:
			return fmt.Errorf("kind %s: %s stands for %s already", name, c.variants[variant.Stands].Outline().Type, variant.Stands)
		case reflect.TypeOf(of.NewProps()) != reflect.TypeOf(variant.NewProps()), reflect.TypeOf(of.NewAttrs()) != reflect.TypeOf(variant.NewAttrs()):
			return fmt.Errorf("kind %s: props and attributes are not those of %s", name, variant.Stands)
		}
		c.variants[variant.Stands] = c.kinds[name]
	}
	return nil
}

// Local finds the kind that takes the place of another in a dev session.
func (c *Catalog) Local(kind string) (Any, bool) {
	k, ok := c.variants[kind]
	return k, ok
}

// Kind finds a kind by its type.
func (c *Catalog) Kind(name string) (Any, bool) {
	k, err := c.Find(name)
	return k, err == nil
}

// ErrNoKind is matched when there is no kind of a name.
var ErrNoKind = errors.New("unknown kind")

// Find is Kind with an error that says why there is none, and what may have been meant.
func (c *Catalog) Find(name string) (Any, error) {
	if k, ok := c.kinds[name]; ok {
		return k, nil
	}
	family, ok := c.family(name)
	if !ok {
		return nil, c.unknown(name, c.Types())
	}
	if k, ok := c.made.Load(name); ok {
		return k.(Any), nil
	}
	k, err := family.Kind(name)
	if errors.Is(err, ErrNoKind) {
		types, typesErr := family.Types()
		if typesErr != nil {
			return nil, typesErr
		}
		return nil, c.unknown(name, slices.Concat(c.Types(), types))
	}
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, fmt.Errorf("kind %s: its provider made none, and says no reason", name)
	}
	if err := k.Validate(); err != nil {
		return nil, fmt.Errorf("kind %s: %w", name, err)
	}
	made, _ := c.made.LoadOrStore(name, k)
	return made.(Any), nil
}

// unknown is about a name that no kind has.
func (c *Catalog) unknown(name string, types []string) error {
	err := fmt.Errorf("%w %q", ErrNoKind, name)
	if near, ok := props.Nearest(name, types); ok {
		return WithHint(err, "did you mean %s?", near)
	}
	return WithHint(err, "`athanor kinds` lists them")
}

func (c *Catalog) family(name string) (*Family, bool) {
	for _, p := range c.providers {
		if p.Family != nil && strings.HasPrefix(name, p.Family.Prefix) {
			return p.Family, true
		}
	}
	return nil, false
}

// OfFamily reports that a kind is one of a provider's family, and not one that is listed.
func (c *Catalog) OfFamily(kind string) bool {
	_, listed := c.owner[kind]
	_, family := c.family(kind)
	return family && !listed
}

// Provider finds a provider by name.
func (c *Catalog) Provider(name string) (Provider, bool) {
	i := slices.IndexFunc(c.providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return c.providers[i], true
}

// ProviderOf is the provider that offers a kind.
func (c *Catalog) ProviderOf(kind string) (Provider, bool) {
	i, ok := c.owner[kind]
	if !ok {
		i = slices.IndexFunc(c.providers, func(p Provider) bool {
			return p.Family != nil && strings.HasPrefix(kind, p.Family.Prefix)
		})
	}
	if i < 0 {
		return Provider{}, false
	}
	return c.providers[i], true
}

// Providers are all providers, in the order given.
func (c *Catalog) Providers() []Provider { return slices.Clone(c.providers) }

// Types are the names of all kinds that are listed, sorted; those of families are not, nor are local variants, which no
// program names.
func (c *Catalog) Types() []string {
	names := make([]string, 0, len(c.kinds))
	for n, k := range c.kinds {
		if k.Outline().Stands == "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// Families are the families of all providers, in their order.
func (c *Catalog) Families() []*Family {
	var all []*Family
	for _, p := range c.providers {
		if p.Family != nil {
			all = append(all, p.Family)
		}
	}
	return all
}

// Match are the names of the kinds that a pattern fits, those of families included, sorted; * stands for any text. A
// pattern without * is a name.
func (c *Catalog) Match(pattern string) ([]string, error) {
	names := c.Types()
	for _, f := range c.Families() {
		types, err := f.Types()
		if err != nil {
			return nil, err
		}
		names = append(names, types...)
	}
	slices.Sort(names)
	var fits []string
	for _, name := range names {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		if ok {
			fits = append(fits, name)
		}
	}
	return fits, nil
}
