package yamlstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// entry is one key of resources or read.
type entry struct {
	address string
	f       *file
	at      place
	node    *yaml.Node
	read    bool
	kind    *kind // nil when it is not known
	parts   map[string]pair
	// own is what it is declared with; nil where it is declared alone.
	own *athanor.Own
	// keys are those of its for, with their values; nil without one.
	keys map[string]any
}

func (e *entry) sorted() []string { return slices.Sorted(maps.Keys(e.keys)) }

// declare enters what a section declares: addresses, kinds and keys, and nothing of props yet, since these may
// refer to what is declared further down.
func (l *loader) declare(section string, read bool, known []string) {
	l.section(section, func(f *file, p pair) {
		e := &entry{address: p.name, f: f, at: f.of(p.key), node: p.value, read: read, parts: map[string]pair{}}
		if !l.spend(f, p.value) {
			return
		}
		var others []pair
		for _, part := range l.pairs(f, p.value, p.name) {
			if slices.Contains(known, part.name) {
				e.parts[part.name] = part
			} else {
				others = append(others, part)
			}
		}
		l.findKind(e)
		for _, part := range others {
			l.wrong(f.of(part.key), p.name, e.misplaced(part.name, known))
		}
		if each, ok := e.parts["for"]; ok {
			e.keys = l.forKeys(e, each.value)
		}
		l.enter(e)
	})
}

// misplaced is the error for a word that is no part of a declaration. Its hint says where an option or a prop of the kind stands.
func (e *entry) misplaced(word string, known []string) error {
	err := fmt.Errorf("%q is not part of a declaration", word)
	switch {
	case !e.read && slices.Contains(fieldNames[optionsDoc](), word):
		return reconcile.WithHint(err, "it is an option: options: {%s: …}", word)
	case e.kind != nil && slices.Contains(e.kind.words, word):
		return reconcile.WithHint(err, "it is a prop of %s: props: {%s: …}", e.kind.name, word)
	}
	return near(err, word, known)
}

// enter takes the addresses of an entry.
func (l *loader) enter(e *entry) {
	bad := graph.CheckAddress(e.address)
	switch {
	case bad != nil:
		l.wrong(e.at, "", bad)
		return
	case slices.Contains(reserved(), e.address):
		l.wrong(e.at, "", fmt.Errorf("%q is a word of the language, as in ${%s.…}, and cannot be an address", e.address, e.address))
		return
	case e.keys != nil && strings.Contains(e.address, "["):
		l.wrong(e.at, e.address, errors.New("an address with a key has no for"))
		return
	}
	if other, twice := l.entries[e.address]; twice {
		l.wrong(e.at, e.address, fmt.Errorf("%w: %s and %s", athanor.ErrTwice, other.at, e.at))
		return
	}
	l.entries[e.address] = e
	l.order = append(l.order, e)
	for _, a := range e.addresses() {
		if other, twice := l.instances[a]; twice {
			l.wrong(e.at, a, fmt.Errorf("%w: %s and %s", athanor.ErrTwice, other.at, e.at))
			continue
		}
		l.instances[a] = e
	}
	l.enterParts(e)
}

// addresses are those of all that an entry makes.
func (e *entry) addresses() []string {
	if e.keys == nil {
		return []string{e.address}
	}
	list := e.sorted()
	for i, k := range list {
		list[i] = e.address + "[" + k + "]"
	}
	return list
}

func (l *loader) findKind(e *entry) {
	part, ok := e.parts["kind"]
	if !ok {
		l.wrong(e.at, e.address, reconcile.WithHint(errors.New("it has no kind"), "`athanor kinds` lists them"))
		return
	}
	n := real(part.value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		l.wrong(e.f.of(n), e.address, fmt.Errorf("kind: want the name of a kind, have %s", kindOf(n)))
		return
	}
	var err error
	if e.kind, err = l.kindOf(n.Value); err != nil {
		l.wrong(e.f.of(n), e.address, err)
	}
}

// forKeys are the keys and values of a for. Keys are text of letters, digits and _ - . in any order.
func (l *loader) forKeys(e *entry, n *yaml.Node) map[string]any {
	s := &scope{loader: l, f: e.f, address: e.address}
	keys := map[string]any{}
	if r := real(n); r.Kind != yaml.MappingNode {
		s.known, s.why = true, "the keys of a for must be known before anything is looked at"
	} else {
		l.eachOf(s, r, keys)
		return keys
	}
	switch v := s.value(n).(type) {
	case []any:
		for i, item := range v {
			k, ok := joined(item)
			if _, twice := keys[k]; twice || !ok || !goodKey(k) {
				s.wrongf(s.f.find(n, tree.Path("").Index(i)), "for: %w", errKey)
				continue
			}
			keys[k] = item
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if keys[k] = v[k]; !goodKey(k) {
				s.wrongf(s.f.of(n), "for: %w", errKey)
			}
		}
	case nil:
	default:
		s.wrongf(s.f.of(n), "for: want a mapping, or a list of words, have %s", kindOf(real(n)))
	}
	return keys
}

// eachOf takes the keys of a mapping now. Its values may refer to what is not declared yet, so they are read
// when they are used.
func (l *loader) eachOf(s *scope, n *yaml.Node, keys map[string]any) {
	for _, p := range l.pairs(s.f, n, "for") {
		if !goodKey(p.name) {
			s.wrongf(s.f.of(p.key), "for: %w", errKey)
			continue
		}
		keys[p.name] = p.value
	}
}

var errKey = errors.New("a key is made of letters, digits, '.', '-' and '_', and stands there once")

func goodKey(k string) bool { return graph.CheckAddress("a["+k+"]") == nil }

// make reads what an entry declares, once for each of its keys.
func (l *loader) make(e *entry) {
	if e.keys == nil {
		l.instance(&scope{loader: l, f: e.f, address: e.address}, e)
		return
	}
	for _, k := range e.sorted() {
		address := e.address + "[" + k + "]"
		s := &scope{loader: l, f: e.f, address: address}
		value := e.keys[k]
		if n, later := value.(*yaml.Node); later {
			value = s.value(n)
		}
		s.each = &each{k, value}
		l.instance(s, e)
	}
}

func (l *loader) instance(s *scope, e *entry) {
	if l.visits >= maxVisits {
		return
	}
	var settings map[string]any
	if e.kind != nil {
		settings = s.settingsFor(e.parts["provider"].value, e.kind.provider)
	}
	if e.read {
		l.addRead(s, e, settings)
		return
	}
	r := engine.Resource{Address: s.address, Settings: settings, Source: e.at.String()}
	if part, ok := e.parts["options"]; ok {
		r.Options = s.options(e, part.value)
	}
	declared := s.props(e, "props")
	rows, find := s.bound(e, declared)
	if e.kind == nil {
		return
	}
	if e.own != nil && e.own.Role {
		declared["role"] = token.Plain.Ref(token.Ref{Address: athanor.Inner(s.address, "role"), Path: "arn"})
	} else {
		s.given(e, declared)
	}
	r.Kind = e.kind.name
	var typed any
	r.Props, typed = s.checked(e, rows, find)
	r.Props = l.forwarded(e, settings, r.Props)
	if u, says := s.uses(e); says && typed != nil {
		u.resource, u.typed = r, typed
		l.composed = append(l.composed, &u)
	}
	if e.own == nil {
		l.graph.Resources = append(l.graph.Resources, r)
	}
}

// props are what a part of a declaration says.
func (s *scope) props(e *entry, name string) map[string]any {
	part, ok := e.parts[name]
	if !ok {
		return map[string]any{}
	}
	before := len(s.problems)
	v := s.value(part.value)
	m, ok := v.(map[string]any)
	if !ok && v != nil && len(s.problems) == before {
		s.wrongf(s.f.of(part.value), "%s: want a mapping, have %s", name, kindOf(real(part.value)))
	}
	if m == nil {
		m = map[string]any{}
	}
	return m
}

// checked are props in the one form that a Go program gives them: durations, sizes and what is left out; and a pointer of their
// type. What is wrong is reported where it stands, and there is none.
func (s *scope) checked(e *entry, declared map[string]any, find func(tree.Path) place) (plain map[string]any, typed any) {
	typed = e.kind.spec.NewProps()
	err := props.Decode(declared, typed)
	if fields, ok := errors.AsType[props.Errors](err); ok {
		ownRole := declared["role"] == nil && s.construct(e.kind.name).Declare != nil
		for _, f := range fields {
			if f.Path == "role" && ownRole {
				f.Hint = "beside the props, role: own declares one"
			}
			f.Hint = cmp.Or(f.Hint, fmt.Sprintf("`athanor kinds %s` describes its props", e.kind.name))
		}
	}
	if err == nil {
		err = e.kind.Decode(&reconcile.Job{Address: s.address, Props: declared, Dir: s.in.Dir})
	}
	if err != nil {
		s.wrongProps(s.address, err, find)
		return nil, nil
	}
	m, err := props.Encode(typed)
	if err != nil {
		s.wrongProps(s.address, err, find)
	}
	if len(m) == 0 {
		return nil, typed
	}
	return m, typed
}

func (l *loader) addRead(s *scope, e *entry, settings map[string]any) {
	r := engine.Read{Address: s.address, Settings: settings, Source: e.at.String()}
	id, hasID := e.parts["id"]
	query, hasQuery := e.parts["query"]
	if hasID == hasQuery {
		s.wrong(e.at, reconcile.WithHint(errors.New("want either an id or a query"), "id: vpc-123, or query: {name: …}"))
		return
	}
	if hasID {
		r.ID, _ = s.plain(id.value, "id")
	}
	declared := s.props(e, "query")
	if e.kind == nil {
		return
	}
	r.Kind = e.kind.name
	switch with := l.forwarded(e, settings, nil); {
	case hasQuery:
		r.Query = l.forwarded(e, settings, s.queried(e, query.value, declared))
	case len(with) > 0:
		s.wrongf(s.f.of(id.value), "its provider's settings hold references: it is read by a query, and by no id")
	}
	l.graph.Reads = append(l.graph.Reads, r)
}

// queried reads the props that an object is looked for by: like those of a resource, but none is required.
func (s *scope) queried(e *entry, n *yaml.Node, declared map[string]any) map[string]any {
	if len(declared) == 0 {
		s.wrongf(s.f.of(n), "query: no prop is given to find it by")
		return nil
	}
	typed := e.kind.spec.NewProps()
	if fields, ok := errors.AsType[props.Errors](props.Decode(declared, typed)); ok {
		given := slices.DeleteFunc(fields, func(f *props.FieldError) bool {
			_, there := tree.Get(declared, f.Path)
			return !there
		})
		if len(given) > 0 {
			s.wrongProps(s.address, given, func(p tree.Path) place { return s.f.find(n, p) })
			return nil
		}
	}
	m, err := props.Encode(typed)
	if err != nil {
		s.wrongProps(s.address, err, func(p tree.Path) place { return s.f.find(n, p) })
	}
	return m
}
