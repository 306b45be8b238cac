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

// providerName is the family's, in places of objects.
const providerName = "terraform"

func (s *providers) family() reconcile.Provider {
	return reconcile.Provider{
		Name:     providerName,
		Settings: new(Settings),
		Open: func(ctx context.Context, settings any) (reconcile.Cloud, error) {
			of, ok := settings.(*Settings)
			if !ok || of.Terraform == "" {
				return nil, fmt.Errorf("providers: a set of settings with terraform: SOURCE is required for kinds that begin with %s", Prefix)
			}
			p, err := s.known(ctx, *of)
			if err != nil {
				return nil, err
			}
			account := of.Terraform
			if of.Account != "" {
				account += "@" + of.Account
			}
			return &cloud{p, reconcile.Place{Provider: providerName, Account: account}}, nil
		},
		Fetch: func(ctx context.Context, settings any) error {
			of, ok := settings.(*Settings)
			if !ok {
				return fmt.Errorf("%T are no settings of a Terraform provider", settings)
			}
			return s.fetch(ctx, *of)
		},
		Declared: func(ctx context.Context, settings any) error {
			of, ok := settings.(*Settings)
			if !ok {
				return fmt.Errorf("%T are no settings of a Terraform provider", settings)
			}
			s.in(ctx)
			return s.declare(ctx, *of)
		},
		Close: s.close, Warnings: s.drain,
		Family: &reconcile.Family{
			Prefix: Prefix,
			Doc:    "Every resource type and data source of the Terraform providers that a stack names in its settings.",
			Types:  s.names,
			Kind:   s.kind,
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
			return (&source{t, name, s.labelOf(strings.TrimPrefix(bare, dataPrefix)), s.isForwarded()}).whole().Erase(), nil
		}
		return nil, fmt.Errorf("%w %q: no provider that is declared has it", reconcile.ErrNoKind, name)
	}
	k := &kind{t, s.labelOf(bare), s.configOf(bare), &s.packing}
	return k.whole().Erase(), nil
}
