package yamlstack

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// decode reads a node into a struct of the language and reports what is wrong with it.
func decode[T any](s *scope, n *yaml.Node, what string) (T, bool) {
	var into T
	before := len(s.problems)
	m, ok := s.value(n).(map[string]any)
	if !ok && len(s.problems) == before {
		s.wrongf(s.f.of(n), "%s: want a mapping, have %s", what, kindOf(real(n)))
	}
	if !ok {
		return into, false
	}
	if err := props.Decode(m, &into); err != nil {
		s.wrongProps(s.address, err, func(p tree.Path) place { return s.f.find(n, p) })
		return into, false
	}
	return into, len(s.problems) == before
}

// once refuses a name that is declared a second time, and names both places.
func (l *loader) once(seen map[string]place, f *file, p pair, what string) bool {
	at := f.of(p.key)
	if other, twice := seen[p.name]; twice {
		l.wrong(at, "", fmt.Errorf("%s %s: %w: %s and %s", what, p.name, athanor.ErrTwice, other, at))
		return false
	}
	if err := athanor.CheckName(p.name); err != nil {
		l.wrong(at, "", fmt.Errorf("%s %q: %w", what, p.name, err))
	}
	seen[p.name] = at
	return true
}

func (l *loader) readConfig() {
	seen := map[string]place{}
	l.section("config", func(f *file, p pair) {
		if !l.once(seen, f, p, "config") {
			return
		}
		l.config[p.name] = true
		s := &scope{loader: l, f: f, bare: true, known: true, why: "config must be known before anything is looked at"}
		doc, ok := decode[configDoc](s, p.value, "config "+p.name)
		if !ok {
			return
		}
		v, err := l.configured(p.name, doc)
		if err != nil {
			l.wrong(f.of(p.key), "", fmt.Errorf("config %s: %w", p.name, err))
			return
		}
		l.graph.Config[p.name] = v
	})
	for _, err := range athanor.CheckConfig(l.in.Config, slices.Collect(maps.Keys(l.config))) {
		l.wrong(place{l.files[0], 1, 1}, "", err)
	}
}

// configured finds the value of a config and checks all that it may have.
func (l *loader) configured(name string, doc configDoc) (any, error) {
	typ := doc.Type
	if typ == "" {
		typ = configType(doc.Default)
	}
	if doc.Required && doc.Default != nil {
		return nil, errors.New("required, but it has a default")
	}
	value := doc.Default
	if value != nil {
		var err error
		if value, err = typedConfig(value, typ); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(doc.Stages)) {
		v, err := typedConfig(doc.Stages[stage], typ)
		if err != nil {
			return nil, fmt.Errorf("stages.%s: %w", stage, err)
		}
		if stage == l.in.Stage {
			value = v
		}
	}
	if text, given := athanor.GivenConfig(l.in.Config, name); given {
		return athanor.ParseConfig(text, typ)
	}
	if value == nil {
		return nil, reconcile.WithHint(athanor.ErrNoConfig, "--config %s=…", name)
	}
	return value, nil
}

func configType(v any) string {
	switch v.(type) {
	case int64:
		return "int"
	case bool:
		return "bool"
	case []any:
		return "list"
	}
	return "string"
}

// typedConfig is a value as it stands in YAML, of a type.
func typedConfig(v any, typ string) (any, error) {
	switch x := v.(type) {
	case string:
		if typ == "string" || typ == "duration" {
			return athanor.ParseConfig(x, typ)
		}
	case int64:
		if typ == "int" {
			return x, nil
		}
	case bool:
		if typ == "bool" {
			return x, nil
		}
	case []any:
		if typ == "list" {
			for i, item := range x {
				text, ok := joined(item)
				if !ok {
					return nil, fmt.Errorf("[%d]: want text", i)
				}
				x[i] = text
			}
			return x, nil
		}
	}
	return nil, fmt.Errorf("want a %s", typ)
}

func (l *loader) readSecrets() {
	seen := map[string]place{}
	l.section("secrets", func(f *file, p pair) {
		if !l.once(seen, f, p, "secret") {
			return
		}
		l.graph.Secrets[p.name] = engine.SecretSource{}
		s := &scope{loader: l, f: f, known: true, why: "where a secret comes from must be known"}
		doc, ok := decode[secretDoc](s, p.value, "secret "+p.name)
		if !ok {
			return
		}
		set := 0
		for _, given := range []bool{doc.Env != "", doc.File != "", doc.Sealed} {
			if given {
				set++
			}
		}
		if set != 1 {
			l.wrong(f.of(p.key), "", reconcile.WithHint(fmt.Errorf("secret %s: want one source", p.name), "env: VARIABLE, file: PATH or sealed: true"))
		}
		l.graph.Secrets[p.name] = engine.SecretSource{Env: doc.Env, File: doc.File, Sealed: doc.Sealed, AllowEmpty: doc.AllowEmpty}
	})
}

// terraformName is the provider whose settings are told by a key of that name, which says what runs.
const terraformName = "terraform"

// settings are those of a provider, under its own name or another.
type settings struct {
	at       place
	find     func(tree.Path) place
	use      string
	own      map[string]any
	provider string
	merged   map[string]any
	// check evaluates again what may hold references, when all that is declared is known. Nil: nothing does.
	check func()
	state int // 0 not resolved, 1 being resolved, 2 resolved, 3 wrong
}

func (l *loader) readProviders() {
	seen := map[string]place{}
	l.section("providers", func(f *file, p pair) {
		if !l.once(seen, f, p, "provider") {
			return
		}
		s := &scope{loader: l, f: f, address: "", known: true, why: "places must be known before anything is looked at"}
		set := &settings{at: f.of(p.key), find: func(path tree.Path) place { return f.find(p.value, path) }}
		var ok bool
		if set.own, ok = s.settings(p.value, set); !ok {
			l.wrongf(f.of(p.value), "provider %s: want its settings, have %s", p.name, kindOf(real(p.value)))
			return
		}
		if use, has := set.own["use"]; has {
			if set.use, ok = use.(string); !ok {
				l.wrongf(set.find("use"), "use: want the name of a provider or of a set of settings")
			}
			delete(set.own, "use")
		} else if _, foreign := set.own[terraformName]; foreign {
			set.use = terraformName
		}
		l.providers[p.name] = set
	})
	for _, name := range slices.Sorted(maps.Keys(l.providers)) {
		l.resolveSettings(name)
	}
}

// settings are those of a provider as they are written. A setting that is forwarded to resources may hold references, which are checked later.
func (s *scope) settings(n *yaml.Node, set *settings) (own map[string]any, ok bool) {
	n = real(n)
	forwarded := s.forwardedIn(n)
	if forwarded == "" {
		v := s.value(n)
		own, ok = v.(map[string]any)
		return maps.Clone(own), ok || v == nil
	}
	own = map[string]any{}
	for _, p := range s.pairs(s.f, n, "setting") {
		if p.name != forwarded {
			own[p.name] = s.value(p.value)
			continue
		}
		early := &scope{loader: s.loader, f: s.f, ahead: true}
		own[p.name] = early.value(p.value)
		set.check = func() {
			late := &scope{loader: s.loader, f: s.f}
			if now := late.value(p.value); reconcile.HoldsToken(own[p.name]) && !tree.Equal(now, own[p.name]) {
				s.wrongf(s.f.of(p.value), "%s: takes references to single values, and none to a list", p.name)
			}
		}
	}
	return own, true
}

// forwardedIn is the name of the setting that is forwarded to resources, "" without one.
func (s *scope) forwardedIn(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode || !slices.ContainsFunc(s.pairs(s.f, n, "setting"), func(p pair) bool { return p.name == terraformName }) {
		return ""
	}
	p, ok := s.catalog.Provider(terraformName)
	by, forwards := p.Settings.(reconcile.Forwarding)
	if !ok || !forwards {
		return ""
	}
	setting, _ := by.Forwards()
	return setting
}

// checkReferences checks the references in settings.
func (l *loader) checkReferences() {
	for _, name := range slices.Sorted(maps.Keys(l.providers)) {
		if check := l.providers[name].check; check != nil {
			check()
		}
	}
}

// forwarded are props with what the settings of their provider forward.
func (l *loader) forwarded(e *entry, settings, declared map[string]any) map[string]any {
	if len(settings) == 0 {
		return declared
	}
	p, _ := l.catalog.Provider(e.kind.provider)
	by, _ := p.Settings.(reconcile.Forwarding)
	return reconcile.Forwarded(by, settings, declared)
}

// resolveSettings gives a set of settings those that it starts from, and checks them.
func (l *loader) resolveSettings(name string) *settings {
	s, ok := l.providers[name]
	if !ok || s.state >= 2 {
		return s
	}
	if s.state == 1 {
		l.wrongf(s.at, "provider %s uses itself", name)
		s.state = 3
		return s
	}
	s.state, s.provider, s.merged = 1, name, map[string]any{}
	if s.use != "" {
		base := l.resolveSettings(s.use)
		s.provider = s.use
		if base != nil {
			s.provider = base.provider
			maps.Copy(s.merged, base.merged)
		}
	}
	maps.Copy(s.merged, s.own)
	if s.state == 3 {
		return s
	}
	s.state = 2
	l.checkSettings(name, s)
	return s
}

func (l *loader) checkSettings(name string, s *settings) {
	p, ok := l.catalog.Provider(s.provider)
	if !ok {
		var names []string
		for _, p := range l.catalog.Providers() {
			names = append(names, p.Name)
		}
		at := s.at
		if s.use != "" {
			at = s.find("use")
		}
		s.state = 3
		l.wrong(at, "", near(fmt.Errorf("provider %s: there is no provider %q", name, s.provider), s.provider, names))
		return
	}
	if p.Settings == nil {
		if len(s.merged) > 0 {
			l.wrongf(s.at, "provider %s has no settings", p.Name)
		}
		return
	}
	typed := reflect.New(reflect.TypeOf(p.Settings).Elem()).Interface()
	if err := props.Decode(s.merged, typed); err != nil {
		l.wrongProps("", err, s.find)
		return
	}
	if merged, err := props.Encode(typed); err == nil {
		s.merged = merged
	}
	if p.Declared == nil {
		return
	}
	if err := l.tell(p, Section{name, s.provider, s.merged}, typed); err != nil {
		l.wrong(s.at, "", err)
	}
}

// tell tells a provider its settings, if that is permitted: what they need is fetched first, of which more may be known then.
func (l *loader) tell(p reconcile.Provider, section Section, typed any) error {
	permit := func() error {
		if l.in.Permit == nil {
			return nil
		}
		return l.in.Permit(section)
	}
	if err := permit(); err != nil {
		return err
	}
	ctx := reconcile.WithFolder(l.ctx, l.graph.Dir)
	if p.Fetch != nil {
		if err := p.Fetch(ctx, typed); err != nil {
			return fmt.Errorf("provider %s: %w", section.Name, err)
		}
		if err := permit(); err != nil {
			return err
		}
	}
	if err := p.Declared(ctx, typed); err != nil {
		return fmt.Errorf("provider %s: %w", section.Name, err)
	}
	return nil
}

// settingsFor are the settings of a kind's provider under the name that a declaration gives, or its own.
func (s *scope) settingsFor(n *yaml.Node, provider string) map[string]any {
	name := provider
	if n != nil {
		var ok bool
		if name, ok = s.plain(n, "provider"); !ok {
			return nil
		}
	}
	set, ok := s.providers[name]
	switch {
	case !ok && name == provider:
		return nil
	case !ok:
		s.wrong(s.f.of(n), near(fmt.Errorf("no provider %q is declared", name), name, slices.Sorted(maps.Keys(s.providers))))
		return nil
	case set.provider != provider && set.state == 2:
		s.wrongf(s.f.of(n), "%s are settings of %s, but the kind is one of %s", name, set.provider, provider)
		return nil
	}
	if len(set.merged) == 0 {
		return nil
	}
	return set.merged
}
