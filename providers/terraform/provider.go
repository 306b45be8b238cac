package terraform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// Provider is the family of all types of all Terraform providers that a stack names in its settings.
func Provider() reconcile.Provider { return newProviders().family() }

func (set *providers) family() reconcile.Provider {
	return reconcile.Provider{
		Name:     "terraform",
		Settings: new(Settings),
		Open: func(_ context.Context, settings any) (reconcile.Cloud, error) {
			s, ok := settings.(*Settings)
			if !ok || s.Terraform == "" {
				return nil, fmt.Errorf("providers: a set of settings with terraform: SOURCE is required for kinds that begin with %s", Prefix)
			}
			p, err := set.program(*s)
			if err != nil {
				return nil, err
			}
			account := s.Terraform
			if s.Account != "" {
				account += "@" + s.Account
			}
			return &cloud{p, reconcile.Place{Provider: "terraform", Account: account}}, nil
		},
		Fetch: func(ctx context.Context, settings any) error {
			s, ok := settings.(*Settings)
			if !ok {
				return fmt.Errorf("%T are no settings of a Terraform provider", settings)
			}
			return set.fetch(ctx, *s)
		},
		Declared: func(ctx context.Context, settings any) error {
			s, ok := settings.(*Settings)
			if !ok {
				return fmt.Errorf("%T are no settings of a Terraform provider", settings)
			}
			set.in(ctx)
			return set.declare(ctx, *s)
		},
		Close: set.close, Warnings: set.drain,
		Family: &reconcile.Family{
			Prefix: Prefix,
			Doc:    "Every resource type and data source of the Terraform providers that a stack names in its settings.",
			Types:  set.names,
			Kind:   set.kind,
		},
	}
}

// names are the kinds of the providers that were declared.
func (s *providers) names() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for name := range s.types {
		all = append(all, Prefix+name)
	}
	for name := range s.sources {
		all = append(all, Prefix+dataPrefix+name)
	}
	slices.Sort(all)
	return all, nil
}

func (s *providers) kind(name string) (reconcile.Any, error) {
	bare := strings.TrimPrefix(name, Prefix)
	t := s.typeOf(bare)
	if t == nil {
		if t := s.sourceOf(strings.TrimPrefix(bare, dataPrefix)); t != nil {
			return (&source{t, name}).whole().Erase(), nil
		}
		return nil, fmt.Errorf("%w %q: no provider that is declared has it", reconcile.ErrNoKind, name)
	}
	k := &kind{t}
	return k.whole().Erase(), nil
}
