// Package terraform makes every resource type of a Terraform provider a kind: tf.postgresql_role is postgresql_role of the provider
// cyrilgdn/postgresql, with its own names.
//
// Providers run as they are, by their plugin protocol (packages plugin, schema and value). The package knows how a declaration
// becomes a call of a provider and an answer an observation, and what state must keep for the next call. It does not know what any
// type means, nor anything of Terraform's core: order, state, replacement and recovery are the engine's.
package terraform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/install"
	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/plugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Settings say which provider runs, and with what configuration.
type Settings struct {
	// Terraform is the provider's source, such as cyrilgdn/postgresql. Required.
	Terraform string
	// Version says which versions may run, such as "~> 1.26". Default: the one that is locked, else the newest.
	Version string
	// Path is its program on this machine, relative to the folder of the stack. Default: it is installed from its registry.
	Path string
	// Config is the configuration of the provider, by its own names. It may hold references and secrets: its objects are observed when
	// these are known.
	Config map[string]any
	// Env names environment variables that the provider gets, beside PATH, HOME and proxies. Default: none.
	Env []string
	// Account tells two accounts or servers apart that the same provider reaches, as places of objects. Default: none.
	Account string
}

// cloud is a provider with its configuration.
type cloud struct {
	*program
	place reconcile.Place
}

// Place is the provider's source, with the account where one is named.
func (c *cloud) Place(context.Context) (reconcile.Place, error) { return c.place, nil }

// Classify judges what became of a call: of what a provider says is wrong it tells no code.
func (c *cloud) Classify(err error) reconcile.Class {
	var said *DiagnosticsError
	switch {
	case errors.Is(err, plugin.ErrCrashed):
		return reconcile.Transient
	case errors.As(err, &said):
		return reconcile.Invalid
	}
	return reconcile.Unknown
}

// program is a provider that is started when it is first needed, and again when it ended by itself.
type program struct {
	set      *providers
	settings Settings
	// label is its source with its version, where that is known, for people.
	label  string
	from   provenance
	schema *schema.Provider

	mu      sync.Mutex
	worker  atomic.Pointer[worker]
	retired []*worker // those whose place others took
	// valid are the configurations that the provider called valid, offers what it planned of creations, and current the kept states that it left
	// as they were.
	valid, offers, current sync.Map
	// latest is what the last answer of a provider told of objects of which state is older: by key.
	latest sync.Map
	// made are objects that were created and not read since, by key.
	made sync.Map
	// observed are objects that were observed to be deleted, by key, until they are.
	observed sync.Map
	// lost are the errors of creations that were not answered, by address.
	lost sync.Map
	// forwarded says that the configuration came with an object, whose state keeps it.
	forwarded bool
}

// running is the program, started and configured. One that has answered many calls is replaced.
func (p *program) running(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.worker.Load()
	alive := w != nil && !w.Exited()
	if alive && w.configured && !w.spent() {
		return nil
	}
	if !alive || w.configured {
		var err error
		if w, err = p.start(ctx); err != nil {
			return err
		}
	}
	config, err := value.Config(p.schema.Config.Block, p.settings.Config, known)
	if err == nil {
		err = p.configure(ctx, w, config)
	} else {
		err = reconcile.WithClass(fmt.Errorf("the configuration of %s: %w", p.label, err), reconcile.Invalid)
	}
	if w != p.worker.Load() {
		if err != nil {
			w.end()
			return err
		}
		p.replace(w) // calls that are under way are answered by the one that has them
	}
	w.configured = err == nil
	return err
}

// start starts the program and reads its schema. It takes no calls yet.
func (p *program) start(ctx context.Context) (*worker, error) {
	if err := refusesStrangers(p.settings); err != nil {
		return nil, err
	}
	path, err := p.from.path()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, p.ofProvider(err)
	}
	works := p.set.pace(info.Size())
	options := plugin.Options{Path: path, Env: slices.Concat(works.env, p.set.printed.environment()), Output: p.set.printed.by(p.label)}
	for _, name := range p.settings.Env {
		if v, ok := os.LookupEnv(name); ok {
			options.Env = append(options.Env, name+"="+v)
		}
	}
	process, err := p.set.starter().Start(ctx, options)
	if err != nil {
		return nil, p.ofProvider(err)
	}
	w := newWorker(process, works.calls)
	if err := p.learn(ctx, w); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

// learn reads the schema, unless it is known.
func (p *program) learn(ctx context.Context, w *worker) error {
	if p.schema != nil {
		return nil
	}
	var schemas tfplugin.GetProviderSchema_Response
	if err := p.callOf(ctx, w, "GetProviderSchema", &tfplugin.GetProviderSchema_Request{}, &schemas); err != nil {
		return err
	}
	if err := p.failed("GetProviderSchema", "", schemas.Diagnostics); err != nil {
		return err
	}
	var identities tfplugin.GetResourceIdentitySchemas_Response
	err := p.callOf(ctx, w, "GetResourceIdentitySchemas", &tfplugin.GetResourceIdentitySchemas_Request{}, &identities)
	if err != nil && !errors.Is(err, plugin.ErrUnsupported) {
		return err
	}
	p.schema, err = schema.Read(w.Protocol, &schemas, &identities)
	return err
}

// refusesStrangers is the error where nothing may be started, nor be fetched to be started.
func refusesStrangers(s Settings) error {
	if os.Getenv("ATHANOR_UNTRUSTED") == "" {
		return nil
	}
	return reconcile.WithHint(fmt.Errorf("%s: no provider is started for a stranger's stack", s.Terraform),
		"plan it where it may run programs of this machine, or without its %s resources", Prefix)
}

// close ends the program, if it runs.
func (p *program) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replace(nil)
	for _, w := range p.retired {
		w.end()
	}
	p.retired = nil
}

// providers are those of one command.
type providers struct {
	starter func() *plugin.Starter
	end     context.CancelFunc

	mu       sync.Mutex
	programs map[string]*program
	types    map[string]*program // by the name of a resource type
	sources  map[string]*program // by the name of a data source
	warnings []string            // each once, in the order in which they came
	// blind are the addresses of resources that are created without a search, by provider and type.
	blind   map[string]map[string][]string
	redact  func(string) string // masks the secrets of the stage; nil: none is known
	folder  string              // of the stack, "" the working directory
	printed printed
	// pace says how a program of a size works.
	pace    func(size int64) pace
	packing packing
	// installer is that of the folder, made when it is first needed.
	installer *install.Installer
	// forwarded says that the configuration of one of them holds references or secrets.
	forwarded bool
}

func (s *providers) isForwarded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forwarded
}

// warn keeps what a provider says without failing.
func (s *providers) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

// unseen keeps that a resource is created without a search.
func (s *providers) unseen(provider, typ, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blind == nil {
		s.blind = map[string]map[string][]string{}
	}
	if s.blind[provider] == nil {
		s.blind[provider] = map[string][]string{}
	}
	if !slices.Contains(s.blind[provider][typ], address) {
		s.blind[provider][typ] = append(s.blind[provider][typ], address)
	}
}

// createdUnseen is one warning for each provider of which objects are created without a search.
func createdUnseen(blind map[string]map[string][]string) []string {
	var all []string
	for _, provider := range slices.Sorted(maps.Keys(blind)) {
		var types []string
		for _, name := range slices.Sorted(maps.Keys(blind[provider])) {
			addresses := slices.Sorted(slices.Values(blind[provider][name]))
			text := fmt.Sprintf("%s (%s", name, addresses[0])
			if more := len(addresses) - 1; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			types = append(types, text+")")
		}
		all = append(all, fmt.Sprintf("%s: athanor cannot search for objects of these types, and state has none, so it creates them without a search: %s. "+
			"If one exists already, take it with `options: {adopt: ID}` first", provider, strings.Join(types, ", ")))
	}
	return all
}

// drain are the warnings that came since it was called last, without secrets.
func (s *providers) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(s.warnings, createdUnseen(s.blind), s.printed.warnings())
	s.warnings, s.blind = nil, nil
	for i := range all {
		if s.redact != nil {
			all[i] = s.redact(all[i])
		}
	}
	return all
}

func (s *providers) redacting(redact func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if redact != nil {
		s.redact = redact
		s.printed.redacting(redact)
	}
}

func newProviders() *providers {
	ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // programs live as long as the command
	return &providers{
		starter: sync.OnceValue(func() *plugin.Starter { return plugin.NewStarter(ctx) }), end: end,
		printed: printed{path: os.Getenv(LogVariable)}, pace: paceOf, programs: map[string]*program{}, types: map[string]*program{}, sources: map[string]*program{},
	}
}

// program is that of settings, one for all that have the same.
func (s *providers) program(settings Settings) (*program, error) { return s.programOf(settings, false) }

// programOf is that of settings whose configuration is their own, or came with an object.
func (s *providers) programOf(settings Settings, forwarded bool) (*program, error) {
	from, err := s.provenance(settings)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%q %s %q %t", from.key(), tree.Digest(settings.Config), settings.Env, forwarded)
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.programs[key]
	if !ok {
		p = &program{set: s, settings: settings, forwarded: forwarded, from: from, label: strings.TrimSpace(settings.Terraform + " " + from.version())}
		s.programs[key] = p
	}
	return p, nil
}

// known is the program of settings. That of settings which nobody declared, since they are in state alone, is installed, and its types are learned
// where no other program has them.
func (s *providers) known(ctx context.Context, settings Settings) (*program, error) {
	s.in(ctx)
	p, err := s.program(settings)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	known := p.schema != nil
	p.mu.Unlock()
	if known {
		return p, nil
	}
	if err := s.fetch(ctx, settings); err != nil {
		return nil, err
	}
	if p, err = s.learned(ctx, settings); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range p.schema.Resources {
		if s.types[name] == nil {
			s.types[name] = p
		}
	}
	return p, nil
}

// learned is the program of settings, whose schema is known.
func (s *providers) learned(ctx context.Context, settings Settings) (*program, error) {
	p, err := s.program(settings)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schema != nil {
		return p, nil
	}
	w, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.replace(w)
	return p, nil
}

// declare learns the types of a provider.
func (s *providers) declare(ctx context.Context, settings Settings) error {
	p, err := s.learned(ctx, settings)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forwarded = s.forwarded || p.forwards()
	for name := range p.schema.Resources {
		if other := s.types[name]; other != nil && other.from.key() != p.from.key() {
			return fmt.Errorf("%s is a type of two programs: %s and %s", name, other.from.key(), p.from.key())
		}
		s.types[name] = p
	}
	for name := range p.schema.Data {
		s.sources[name] = p
	}
	return nil
}

// typeOf is the resource type of a name, nil where no provider that was declared has it.
func (s *providers) typeOf(name string) *schema.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.types[name]; p != nil {
		return p.schema.Resources[name]
	}
	return nil
}

// labelOf is the provider of a type or a data source, with its version.
func (s *providers) labelOf(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range []*program{s.types[name], s.sources[name]} {
		if p != nil {
			return p.label
		}
	}
	return ""
}

// configOf is what the provider of a type is configured with.
func (s *providers) configOf(name string) *schema.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.types[name]; p != nil {
		return p.schema.Config
	}
	return nil
}

// sourceOf is the data source of a name, nil where no provider that was declared has it.
func (s *providers) sourceOf(name string) *schema.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.sources[name]; p != nil {
		return p.schema.Data[name]
	}
	return nil
}

func (s *providers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.programs {
		p.close()
	}
	s.printed.close()
	s.end()
}

// none is the value of a type that is not there.
func none(t *schema.Type) seen { return seen{state: cty.NullVal(t.Value)} }
