package yamlstack

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// use is what one resource says beside its props of the resources that it uses: whatever a Go program says by calls of its
// constructor and of grants. The same functions make the graph of both.
type use struct {
	scope    *scope
	e        *entry
	resource engine.Resource
	// typed are its props, a pointer of their type.
	typed any
	// own is what it is declared with; nil where it is declared alone.
	own      *athanor.Own
	grants   []grant
	consumes []consume
}

// grant is one line of grants.
type grant struct {
	address string
	access  []string
	at      place
}

// consume is one line of consume: props is a pointer to the props of what connects a source.
type consume struct {
	address string
	props   any
	at      place
}

// within is the scope that a Go program declares the resource in, with its settings, and its name there.
func (u *use) within(s *athanor.Stack) (in *athanor.Stack, name string) {
	in, name = s, u.resource.Address
	if outer, _, keyed := strings.Cut(name, "["); keyed || strings.Contains(outer, "/") {
		if i := strings.LastIndexByte(outer, '/'); i > 0 {
			in, name = s.Scope(name[:i]), name[i+1:]
		}
	}
	if len(u.resource.Settings) > 0 {
		in = in.With(u.e.kind.provider, u.resource.Settings)
	}
	return in, name
}

// declare declares what has resources of its own, unless that would read files which nobody has allowed.
func (u *use) declare(s *athanor.Stack) {
	construct := u.scope.construct(u.resource.Kind)
	if u.own == nil || !u.mayRead(construct.Reads) {
		return
	}
	in, name := u.within(s)
	construct.Declare(in, name, u.typed, *u.own, athanor.WithOptions(u.resource.Options))
}

// mayRead reports whether the files that these props name may be read. Those outside of the project are noted.
func (u *use) mayRead(paths []tree.Path) bool {
	may := true
	for _, path := range paths {
		value, _ := tree.Get(u.resource.Props, path)
		name, _ := value.(string)
		if name == "" || token.Has(name) {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(u.scope.in.Dir, filepath.FromSlash(name))
		}
		if outside, ok := errors.AsType[*localfile.OutsideError](localfile.Check(u.scope.ctx, name)); ok {
			at := "resources." + u.resource.Address + "." + string(path)
			u.scope.Outside = append(u.scope.Outside, Outside{Path: cmp.Or(outside.Real, name), Place: at})
			may = false
		}
	}
	return may
}

// attributes gives what the constructor of a resource returns, by its address.
func (l *loader) attributes(s *athanor.Stack) func(address string) any {
	typed := map[string]any{}
	for _, u := range l.composed {
		typed[u.resource.Address] = u.typed
	}
	declared := map[string]map[string]any{}
	for _, r := range l.graph.Resources {
		declared[r.Address] = r.Props
	}
	return func(address string) any {
		k := l.instances[address].kind
		of, ok := typed[address]
		if values, has := declared[address]; has && !ok {
			of = k.spec.NewProps()
			if err := props.Decode(values, of); err != nil {
				s.Fail(err)
			}
			typed[address] = of
		}
		return l.construct(k.name).Of(s, address, of)
	}
}

// construct is what may be said of a kind beside its props.
func (l *loader) construct(kind string) athanor.Construct {
	if l.constructs == nil {
		l.constructs = providers.Constructs()
	}
	return l.constructs[kind]
}

// ownOf says what an entry is declared with, as far as its words and its kind say it; nil for one that is declared alone.
func (l *loader) ownOf(e *entry) *athanor.Own {
	if e.kind == nil || e.read || l.construct(e.kind.name).Declare == nil {
		return nil
	}
	word := func(part string) string {
		if p, ok := e.parts[part]; ok {
			return real(p.value).Value
		}
		return ""
	}
	has := func(path ...string) bool {
		n := e.parts["props"].value
		for _, key := range path {
			if n = l.valueOf(n, key); n == nil {
				return false
			}
		}
		return true
	}
	_, grants := e.parts["grants"]
	_, consumes := e.parts["consume"]
	role := word("role")
	var own athanor.Own
	if l.runsAsRole(e) {
		own.Role = role == "own" || role == "" && (grants || consumes) && !has("role")
		own.LogGroup = word("logGroup") == "own" || word("logGroup") == "" && own.Role && !has("logging", "group")
	}
	if len(l.construct(e.kind.name).Parts(own)) == 0 {
		return nil
	}
	return &own
}

// runsAsRole reports that what an entry declares can have a role and a log group of its own.
func (l *loader) runsAsRole(e *entry) bool {
	c := l.construct(e.kind.name)
	return c.Declare != nil && c.Of != nil
}

// valueOf is the value of a key of a mapping, merged ones included; nil where there is none.
func (l *loader) valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	n = real(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k := real(n.Content[i]); {
		case k.Kind == yaml.ScalarNode && k.Tag == "!!merge":
			if v := l.valueOf(n.Content[i+1], key); v != nil {
				merged = v
			}
		case k.Value == key && !isNull(real(n.Content[i+1])):
			return n.Content[i+1]
		}
	}
	return merged
}

// enterParts takes the addresses of what an entry is declared with.
func (l *loader) enterParts(e *entry) {
	if e.own = l.ownOf(e); e.own == nil {
		return
	}
	for part, kind := range l.construct(e.kind.name).Parts(*e.own) {
		for _, a := range e.addresses() {
			k, err := l.kindOf(kind)
			if err != nil {
				l.wrong(e.at, e.address, err)
				return
			}
			inner := athanor.Inner(a, part)
			if other, twice := l.instances[inner]; twice {
				l.wrong(e.at, e.address, fmt.Errorf("%s has %s of its own: %w: %s", a, inner, athanor.ErrTwice, other.at))
				continue
			}
			l.instances[inner] = &entry{address: inner, f: e.f, at: e.at, node: e.node, kind: k, parts: map[string]pair{}}
		}
	}
}

// given puts the role that a word names into the props.
func (s *scope) given(e *entry, declared map[string]any) {
	part, ok := e.parts["role"]
	if !ok || e.kind == nil {
		return
	}
	if !s.runsAsRole(e) {
		s.wrongf(s.f.of(part.key), "role: a %s runs as no role of its own", e.kind.name)
		return
	}
	if declared["role"] != nil {
		s.wrongf(s.f.of(part.key), "role: the props have a role already")
		return
	}
	name, ok := s.plain(part.value, "role")
	if !ok || name == "own" {
		return
	}
	of, err := s.used(name)
	if err == nil && of.kind != nil && !strings.HasSuffix(of.kind.name, ".iam.Role") {
		err = fmt.Errorf("%s is a %s", of.address, of.kind.name)
	}
	if err != nil {
		s.wrong(s.f.of(part.value), reconcile.WithHint(fmt.Errorf("role: %w", err), "want own, or the address of a role"))
		return
	}
	declared["role"] = token.Plain.Ref(token.Ref{Address: s.keyed(name), Path: "arn"})
}

// keyed is an address with the key of this instance in it.
func (s *scope) keyed(address string) string {
	if s.each == nil {
		return address
	}
	return strings.ReplaceAll(address, "[each.key]", "["+s.each.key+"]")
}

// used is the declaration of what an address names.
func (s *scope) used(address string) (*entry, error) { return s.target(s.keyed(address)) }

// uses reads what an entry says of the resources that it uses; false where it says nothing.
func (s *scope) uses(e *entry) (use, bool) {
	u := use{scope: s, e: e, own: e.own}
	if e.kind == nil {
		return u, false
	}
	construct := s.construct(e.kind.name)
	if part, ok := e.parts["logGroup"]; ok {
		switch word, _ := s.plain(part.value, "logGroup"); {
		case !s.runsAsRole(e):
			s.wrongf(s.f.of(part.key), "logGroup: a %s has no log group of its own", e.kind.name)
		case word != "own" && word != "none":
			s.wrongf(s.f.of(part.value), "logGroup: want own or none")
		case word == "own" && s.valueOf(s.valueOf(e.parts["props"].value, "logging"), "group") != nil:
			s.wrongf(s.f.of(part.key), "logGroup: the props have a log group already")
		}
	}
	if part, ok := e.parts["grants"]; ok {
		if construct.Of == nil {
			s.wrong(s.f.of(part.key), reconcile.WithHint(fmt.Errorf("grants: a %s is granted nothing", e.kind.name),
				"grants stand with what uses the others: a function, or a role"))
			return u, false
		}
		for _, p := range s.pairs(s.f, part.value, "grants") {
			u.grant(s, p)
		}
	}
	if part, ok := e.parts["consume"]; ok {
		if construct.Consume == nil {
			s.wrongf(s.f.of(part.key), "consume: a %s is called with nothing", e.kind.name)
			return u, false
		}
		for _, p := range s.pairs(s.f, part.value, "consume") {
			u.consume(s, construct, p)
		}
	}
	return u, u.own != nil || len(u.grants) > 0 || len(u.consumes) > 0
}

// grant reads one line of grants.
func (u *use) grant(s *scope, p pair) {
	at := s.f.of(p.key)
	of, err := s.used(p.name)
	if err != nil {
		s.wrong(at, fmt.Errorf("grants: %w", err))
		return
	}
	if of.kind == nil {
		return
	}
	known := s.construct(of.kind.name)
	if known.Grant == nil {
		s.wrong(at, reconcile.WithHint(fmt.Errorf("grants: the use of a %s cannot be granted by a word", of.kind.name),
			"write a statement into the bindings of the role"))
		return
	}
	g := grant{address: s.keyed(p.name), at: at}
	for _, n := range s.items(s.f, p.value, "grants") {
		word, ok := s.plain(n, "grants")
		if ok && !strings.Contains(word, ":") && !slices.Contains(known.Access, word) {
			s.wrong(s.f.of(n), near(fmt.Errorf("grants: %q is no way to use a %s", word, of.kind.name), word, known.Access))
		}
		g.access = append(g.access, word)
	}
	u.grants = append(u.grants, g)
}

// consume reads one line of consume.
func (u *use) consume(s *scope, construct athanor.Construct, p pair) {
	at := s.f.of(p.key)
	of, err := s.used(p.name)
	if err != nil {
		s.wrong(at, fmt.Errorf("consume: %w", err))
		return
	}
	if of.kind != nil && s.construct(of.kind.name).Of == nil {
		s.wrongf(at, "consume: a %s is nothing to be called with", of.kind.name)
		return
	}
	typed, consumer := construct.Props()
	declared := map[string]any{}
	if n := real(p.value); !isNull(n) {
		m, ok := s.value(n).(map[string]any)
		if !ok {
			s.wrongf(s.f.of(n), "consume: want a mapping of props, have %s", kindOf(n))
			return
		}
		declared = m
	}
	if declared[consumer] != nil {
		s.wrongf(s.f.find(p.value, tree.Path(consumer)), "consume: %s is said by where this stands", consumer)
		return
	}
	declared[consumer] = token.Plain.Ref(token.Ref{Address: s.address, Path: "arn"})
	if err := props.Decode(declared, typed); err != nil {
		s.wrongProps(s.address, err, func(path tree.Path) place {
			if path == "" || isNull(real(p.value)) {
				return at
			}
			return s.f.find(p.value, path)
		})
		return
	}
	u.consumes = append(u.consumes, consume{address: s.keyed(p.name), props: typed, at: at})
}

// compose makes what is said beside props, with the functions that a Go program calls. It needs a stack without mistakes.
func (l *loader) compose() {
	if len(l.composed) == 0 || len(l.problems) > 0 || l.graph.Stack == "" {
		return
	}
	at := place{l.files[0], 1, 1}
	places := map[string]place{}
	in := athanor.Input{Stack: l.graph.Stack, Stage: l.graph.Stage, Dir: l.graph.Dir, At: func() string {
		places[at.String()] = at
		return at.String()
	}}
	made, err := athanor.Evaluate(func(s *athanor.Stack) error {
		for _, r := range l.graph.Resources {
			s.Add(r, reflect.TypeOf(l.kinds[r.Kind].spec.NewProps()).Elem())
		}
		for _, r := range l.graph.Reads {
			s.AddRead(r)
		}
		for _, u := range l.composed {
			at = u.e.at
			u.declare(s)
		}
		known := l.attributes(s)
		for _, u := range l.composed {
			for _, g := range u.grants {
				at = g.at
				if err := l.construct(l.instances[g.address].kind.name).Grant(known(g.address), known(u.resource.Address), g.access); err != nil {
					s.Fail(err)
				}
			}
			for _, c := range u.consumes {
				at = c.at
				in, _ := u.within(s)
				if err := l.construct(u.resource.Kind).Consume(in, known(u.resource.Address), known(c.address), c.props); err != nil {
					s.Fail(err)
				}
			}
		}
		return nil
	}, in)
	if graph, ok := errors.AsType[*engine.GraphError](err); ok {
		for _, p := range graph.Problems {
			where, ok := places[p.Source]
			if !ok {
				where = at
			}
			l.wrong(where, p.Address, p.Err)
		}
		return
	}
	if err != nil {
		l.wrong(at, "", err)
		return
	}
	l.graph.Resources, l.graph.Reads = made.Resources, made.Reads
}
