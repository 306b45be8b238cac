package terraform

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// configProp is the prop in which a resource has the configuration of its provider, where that holds references or secrets. Terraform
// keeps the name for itself: no type of a provider has an attribute of it.
const configProp = "provider"

// Forwards says that the configuration of a provider may hold references and secrets.
func (Settings) Forwards() (setting, prop string) { return "config", configProp }

var (
	errConfigLater = errors.New("the configuration of its provider is known only later, so it cannot be looked for now")
	errNoConfig    = errors.New("the configuration of its provider holds references, and neither the program nor state says what they were")
)

// forwards reports a program whose configuration comes with each object.
func (p *program) forwards() bool { return reconcile.HoldsToken(p.settings.Config) }

// configured is the program with a configuration in the place of its references. Both have one schema.
func (p *program) configured(config map[string]any) (*program, error) {
	settings := p.settings
	settings.Config = config
	of, err := p.set.programOf(settings, true)
	if err != nil {
		return nil, err
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.schema == nil {
		of.schema = p.schema
	}
	return of, nil
}

// idle starts the program without a configuration: it can tell what is valid.
func (p *program) idle(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.worker.Load(); w != nil && !w.Exited() {
		return nil
	}
	w, err := p.start(ctx)
	if err == nil {
		p.replace(w)
	}
	return err
}

// reach is the provider that serves a site, started and configured: with the settings of the site, or with the configuration that is
// declared along with the object, else with the one that state has. later says that what is declared is known only later.
func reach(ctx context.Context, s site) (p *program, later bool, err error) {
	reached, ok := s.Cloud.(*cloud)
	if !ok {
		return nil, false, fmt.Errorf("%T is no Terraform provider", s.Cloud)
	}
	p = reached.program
	p.set.redacting(s.Redact) // before it gets a configuration, which it might print
	if !p.forwards() {
		return p, false, p.running(ctx)
	}
	config, _ := s.Want[configProp].(map[string]any)
	later = reconcile.HoldsToken(config)
	if later || config == nil {
		if config, err = p.configIn(s.Last); err != nil {
			return nil, later, err
		}
	}
	switch {
	case config == nil && later:
		return p, true, p.idle(ctx)
	case config == nil:
		return nil, false, p.ofProvider(errNoConfig)
	}
	if p, err = p.configured(config); err != nil {
		return nil, later, err
	}
	return p, later, p.running(ctx)
}

// configIn is the configuration with which an object was reached last, nil where state has none.
func (p *program) configIn(last *attributes) (map[string]any, error) {
	if last == nil {
		return nil, nil
	}
	have, err := p.set.packing.keptOf(*last)
	if err != nil || have == nil || have.Config == "" {
		return nil, err
	}
	config, err := tree.Decode([]byte(have.Config))
	m, _ := config.(map[string]any)
	return m, err
}

// configKept is what state keeps of the configuration that a program has for one object, "" where all objects share one.
func (p *program) configKept() string {
	if p == nil || !p.forwarded {
		return ""
	}
	return string(tree.Canonical(p.settings.Config))
}

// own are the props of an object itself.
func own(declared attributes) attributes {
	if _, ok := declared[configProp]; !ok {
		return declared
	}
	declared = maps.Clone(declared)
	delete(declared, configProp)
	return declared
}

// checkConfig finds what is wrong with a configuration that comes with an object.
func (k *kind) checkConfig(declared attributes) error {
	config, ok := declared[configProp].(map[string]any)
	if !ok || k.provider == nil {
		return nil
	}
	if _, err := value.Config(k.provider.Block, config, later); err != nil {
		return fmt.Errorf("the configuration of %s: %w", k.of, err)
	}
	return nil
}

// laterConfig are the paths of a configuration that comes with an object and is known only later.
func laterConfig(declared attributes) (paths []tree.Path, values []any) {
	at := tree.Path("").Key(configProp)
	tree.Walk(declared[configProp], func(p tree.Path, v any) bool {
		if text, ok := v.(string); ok && token.Has(text) {
			paths, values = append(paths, at.Join(p)), append(values, v)
		}
		return true
	})
	return paths, values
}
