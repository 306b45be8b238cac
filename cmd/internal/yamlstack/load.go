package yamlstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Input says what is read, and for which stage.
type Input struct {
	// Path of the main file; with Data it may be a name for messages.
	Path string
	// Data is what the main file holds; nil has it read.
	Data []byte
	// Dir is the stack's directory. "" is that of Path.
	Dir   string
	Stage string
	// Config are the values given with --config.
	Config map[string]string
	// Permit is asked before a provider is told settings that may start a program. Nil: nobody is.
	Permit func(Section) error
}

// Stack is what was read.
type Stack struct {
	// Graph is nil when anything is wrong.
	Graph *engine.Graph
	// Files are all that were read, the main one first; there also when something is wrong in them.
	Files []string
	// Missing are those that could not be read.
	Missing []string
	// Outside are those that lie outside of the project. Each is read only when the bounds allow it.
	Outside []Outside
	// Declared is what of the graph was read, also when something is wrong.
	Declared *engine.Graph
	// Sections are the settings of providers as they are declared, without what they take from each other.
	Sections []Section
	// Stores are the stores of other stacks, by the name of the ref.
	Stores map[string]string
}

// Outside is a file outside of the project: where it leads to, the place in the stack that names it, and whether it was read.
type Outside struct {
	Path, Place string
	Read        bool
}

// Unread reports whether a file outside was not read, so that the stack is not whole.
func (s *Stack) Unread() bool {
	return slices.ContainsFunc(s.Outside, func(o Outside) bool { return !o.Read })
}

// Section is one entry of providers: its name, the provider that it is for, and its own settings.
type Section struct {
	Name, Provider string
	Settings       map[string]any
}

// loader reads one stack.
type loader struct {
	Stack
	ctx      context.Context //nolint:containedctx // a loader lives as long as the call that it serves
	catalog  *reconcile.Catalog
	in       Input
	files    []*file
	size     int
	visits   int
	held     int // bytes of all values
	problems []problem

	graph     *engine.Graph
	config    map[string]bool
	refs      map[string]token.Stack
	providers map[string]*settings
	kinds     map[string]*kind
	entries   map[string]*entry
	instances map[string]*entry
	order     []*entry
	rows      map[string]map[string]row
	// constructs are what may be said of kinds beside their props; read when they are asked for.
	constructs map[string]athanor.Construct
	composed   []*use
	// names are all addresses, sorted; made when one is misspelt.
	names []string
}

// Load reads a stack. The error is an *engine.GraphError: everything that is wrong, each with file:line:column
// as its source. The Stack is there in any case. Files are opened within the bounds that the context has for them.
func Load(ctx context.Context, catalog *reconcile.Catalog, in Input) (*Stack, error) {
	in.Dir = cmp.Or(in.Dir, filepath.Dir(in.Path))
	l := &loader{
		ctx: ctx, catalog: catalog, in: in,
		graph: &engine.Graph{
			Format: engine.GraphFormat, Stage: in.Stage, Dir: in.Dir,
			Config: map[string]any{}, Secrets: map[string]engine.SecretSource{}, Outputs: map[string]any{},
		},
		config: map[string]bool{}, refs: map[string]token.Stack{}, providers: map[string]*settings{}, kinds: map[string]*kind{},
		entries: map[string]*entry{}, instances: map[string]*entry{}, rows: map[string]map[string]row{},
	}
	l.readAll()
	if len(l.problems) == 0 || len(l.files) > 0 && l.files[0].sections != nil {
		l.build()
	}
	l.Declared = l.graph
	l.reaches()
	if err := l.result(); err != nil {
		return &l.Stack, err
	}
	if !l.Unread() {
		l.Graph = l.graph
	}
	return &l.Stack, nil
}

// reaches notes what stands in the document and no longer in the graph.
func (l *loader) reaches() {
	for _, name := range slices.Sorted(maps.Keys(l.providers)) {
		s := l.providers[name]
		l.Sections = append(l.Sections, Section{Name: name, Provider: s.provider, Settings: s.own})
	}
	l.Stores = map[string]string{}
	for name, ref := range l.refs {
		l.Stores[name] = ref.Store
	}
}

func (l *loader) build() {
	l.readName()
	l.readConfig()
	l.readSecrets()
	l.readRefs()
	l.readProviders()
	l.declare("resources", false, fieldNames[resourceDoc]())
	l.declare("read", true, fieldNames[readDoc]())
	l.readBindings()
	l.checkReferences()
	l.graph.Resources = make([]engine.Resource, 0, len(l.instances))
	for _, e := range l.order {
		l.make(e)
	}
	l.compose()
	l.readForget()
	l.readOutputs()
	g := l.graph
	slices.SortFunc(g.Resources, func(a, b engine.Resource) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(g.Reads, func(a, b engine.Read) int { return cmp.Compare(a.Address, b.Address) })
	slices.Sort(g.Forget)
}

func (l *loader) readName() {
	f := l.files[0]
	part, ok := f.sections["stack"]
	if !ok && len(f.sections) == 0 && len(l.problems) > 0 {
		return // there is no section, which was said
	}
	if !ok {
		l.wrong(place{f, 1, 1}, "", reconcile.WithHint(errNoName, "stack: shop"))
		return
	}
	n := real(part.value)
	if err := athanor.CheckStack(n.Value); err != nil {
		l.wrong(f.of(n), "", err)
		return
	}
	l.graph.Stack = n.Value
}

func (l *loader) readForget() {
	for _, f := range l.files {
		section, ok := f.sections["forget"]
		if !ok {
			continue
		}
		s := &scope{loader: l, f: f}
		for _, n := range l.items(f, section.value, "forget") {
			address, ok := s.plain(n, "forget")
			if !ok {
				continue
			}
			other, declared := l.instances[address]
			if !declared {
				other, declared = l.entries[address]
			}
			bad := graph.CheckAddress(address)
			switch {
			case bad != nil:
				l.wrong(f.of(n), "", fmt.Errorf("forget: %w", bad))
			case declared:
				l.wrong(f.of(n), "", fmt.Errorf("forget: %s is declared: %s", address, other.at))
			case !slices.Contains(l.graph.Forget, address):
				l.graph.Forget = append(l.graph.Forget, address)
			}
		}
	}
}

func (l *loader) readOutputs() {
	seen := map[string]place{}
	l.section("outputs", func(f *file, p pair) {
		if !l.once(seen, f, p, "output") {
			return
		}
		s := &scope{loader: l, f: f, address: "output " + p.name}
		if isResource(p.value) {
			s.wrong(f.of(p.key), reconcile.WithHint(errors.New("it is a resource and no output: it has a kind"), "move it below resources"))
			return
		}
		l.graph.Outputs[p.name] = s.value(p.value)
	})
}

// isResource reports a value that holds the parts of a resource and nothing else. One that is appended to a file stands below its last
// section, which in most programs is that of the outputs.
func isResource(n *yaml.Node) bool {
	n = real(n)
	if n.Kind != yaml.MappingNode {
		return false
	}
	kind := ""
	for i := 0; i < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "kind":
			kind = real(n.Content[i+1]).Value
		case "props", "options", "provider", "for":
		default:
			return false
		}
	}
	return strings.Contains(kind, ".") || strings.Contains(kind, "::")
}

// addresses fills names.
func (l *loader) addresses() {
	if l.names == nil {
		l.names = slices.Sorted(maps.Keys(l.instances))
	}
}
