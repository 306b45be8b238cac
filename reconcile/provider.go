package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	// Kinds are what it offers.
	Kinds []Any
	// Discover finds the marked things of a stage in one place, in as few calls as the cloud allows. Nil: by kind.
	Discover func(ctx context.Context, scope Scope) ([]Found, error)
}

// Catalog is every kind that a program can use.
type Catalog struct {
	providers []Provider
	kinds     map[string]Any
	owner     map[string]int
}

// NewCatalog collects providers. Kinds that are invalid or whose names differ only by case are errors, and so
// are two providers of one name.
func NewCatalog(providers ...Provider) (*Catalog, error) {
	c := &Catalog{kinds: map[string]Any{}, owner: map[string]int{}}
	folded := map[string]string{}
	for _, p := range providers {
		if _, taken := c.Provider(p.Name); taken {
			return nil, fmt.Errorf("provider %s: there is one of that name", p.Name)
		}
		c.providers = append(c.providers, p)
		for _, k := range p.Kinds {
			name := k.Spec().Type
			if other, ok := folded[strings.ToLower(name)]; ok {
				return nil, fmt.Errorf("kind %s: its name is taken by %s", name, other)
			}
			if err := k.Validate(); err != nil {
				return nil, fmt.Errorf("kind %s: %w", name, err)
			}
			folded[strings.ToLower(name)] = name
			c.kinds[name] = k
			c.owner[name] = len(c.providers) - 1
		}
	}
	return c, nil
}

// Kind finds a kind by its type.
func (c *Catalog) Kind(name string) (Any, bool) {
	k, ok := c.kinds[name]
	return k, ok
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
		return Provider{}, false
	}
	return c.providers[i], true
}

// Providers are all providers, in the order given.
func (c *Catalog) Providers() []Provider { return slices.Clone(c.providers) }

// Types are the names of all kinds, sorted.
func (c *Catalog) Types() []string {
	names := make([]string, 0, len(c.kinds))
	for n := range c.kinds {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
