package yamlstack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// options reads the options of one resource.
func (s *scope) options(e *entry, n *yaml.Node) engine.Options {
	inner := *s
	inner.known, inner.why = true, "options hold no references; addresses are written without ${ }"
	doc, ok := decode[optionsDoc](&inner, n, "options")
	if !ok {
		return engine.Options{}
	}
	find := func(p tree.Path) place { return s.f.find(n, p) }
	o := engine.Options{
		Protect: doc.Protect, Retain: doc.Retain, RenamedFrom: doc.RenamedFrom, Adopt: doc.Adopt,
		DeleteFirst: doc.DeleteFirst, AllowReplace: doc.AllowReplace, AllowDelete: doc.AllowDelete,
		IgnoreChanges: s.paths(e, "ignoreChanges", doc.IgnoreChanges, find),
		ReplaceOn:     s.paths(e, "replaceOn", doc.ReplaceOn, find),
		Timeouts:      engine.Timeouts{Create: doc.Timeout, Update: doc.Timeout, Delete: doc.Timeout},
		Before:        s.hooks("before", doc.Before, find), After: s.hooks("after", doc.After, find),
	}
	if (doc.Timeouts != timeoutsDoc{}) {
		if o.Timeouts = engine.Timeouts(doc.Timeouts); doc.Timeout != 0 {
			s.wrongf(find("timeouts"), "either timeout or timeouts, not both")
		}
	}
	for i, a := range doc.RenamedFrom {
		if err := graph.CheckAddress(a); err != nil {
			s.wrongf(find(tree.Path("renamedFrom").Index(i)), "renamedFrom: %w", err)
		}
	}
	for i, a := range doc.DependsOn {
		o.DependsOn = append(o.DependsOn, s.others(a, find(tree.Path("dependsOn").Index(i)), "dependsOn")...)
	}
	slices.Sort(o.DependsOn)
	o.DependsOn = slices.Compact(o.DependsOn)
	if doc.DeletedWith != "" {
		switch with := s.others(doc.DeletedWith, find("deletedWith"), "deletedWith"); len(with) {
		case 0:
		case 1:
			o.DeletedWith = with[0]
		default:
			s.wrongf(find("deletedWith"), "deletedWith: want one resource, %s are several", doc.DeletedWith)
		}
	}
	return o
}

// others are the addresses that a word of an option names: one, or all that a for makes.
func (s *scope) others(address string, at place, option string) []string {
	base, _ := strings.CutSuffix(address, "[*]")
	if e, ok := s.entries[base]; ok && e.keys != nil {
		return e.addresses()
	}
	if _, err := s.target(address); err != nil {
		s.wrong(at, fmt.Errorf("%s: %w", option, err))
		return nil
	}
	return []string{address}
}

// paths are those of an option; the first step of each is a prop of the kind.
func (s *scope) paths(e *entry, option string, texts []string, find func(tree.Path) place) []tree.Path {
	var paths []tree.Path
	for i, t := range texts {
		p, err := tree.ParsePath(t)
		if err == nil && p == "" {
			err = errors.New("an empty path")
		}
		if err == nil {
			err = e.hasProp(p.Steps()[0])
		}
		if err != nil {
			s.wrongf(find(tree.Path(option).Index(i)), "%s: %w", option, err)
			continue
		}
		paths = append(paths, p)
	}
	return paths
}

func (s *scope) hooks(option string, lines []string, find func(tree.Path) place) []engine.Hook {
	var hooks []engine.Hook
	for i, line := range lines {
		if line == "" {
			s.wrongf(find(tree.Path(option).Index(i)), "%s: a hook without a command", option)
		}
		hooks = append(hooks, engine.Hook{Run: line})
	}
	return hooks
}

// row is one binding: what bind says under an address and a key.
type row struct {
	key  string
	f    *file
	node *yaml.Node
	at   place
}

// readBindings collects what bind says; the rows are read with the props that they go into.
func (l *loader) readBindings() {
	l.section("bind", func(f *file, p pair) {
		s := &scope{loader: l, f: f}
		e, err := s.target(p.name)
		if err == nil && e.read {
			err = fmt.Errorf("%s is only read", p.name)
		}
		if err != nil {
			l.wrong(f.of(p.key), "", fmt.Errorf("bind: %w", err))
			return
		}
		for _, r := range l.pairs(f, p.value, "bind") {
			other, twice := l.rows[p.name][r.name]
			if twice {
				l.wrong(f.of(r.key), p.name, fmt.Errorf("bind %q: two rows have this key: %s and %s", r.name, other.at, f.of(r.key)))
				continue
			}
			if l.rows[p.name] == nil {
				l.rows[p.name] = map[string]row{}
			}
			l.rows[p.name][r.name] = row{key: r.name, f: f, node: r.value, at: f.of(r.key)}
		}
	})
}

// bound adds the rows for an address to its props, in the order of keys, and gives the place of each path.
func (s *scope) bound(e *entry, declared map[string]any) (map[string]any, func(tree.Path) place) {
	at := e.at
	find := func(p tree.Path) place {
		if part, ok := e.parts["props"]; ok && p != "" {
			if found := e.f.find(part.value, p); found != e.f.of(part.value) {
				return found
			}
			return e.f.of(part.key)
		}
		return at
	}
	rows := s.rows[s.address]
	if len(rows) == 0 || e.kind == nil {
		return declared, find
	}
	form := e.kind.bindings()
	if form == noBindings {
		for _, r := range rows {
			s.wrong(r.at, fmt.Errorf("bind %q: a %s takes no bindings", r.key, e.kind.name))
		}
		return declared, find
	}
	places := map[tree.Path]row{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		r := rows[key]
		inner := *s
		inner.f = r.f
		v := inner.value(r.node)
		if form == keyedRows {
			m, _ := declared["bindings"].(map[string]any)
			if m == nil {
				m = map[string]any{}
			}
			if _, taken := m[key]; taken {
				s.wrongf(r.at, "bind %q: the props have a row with this key already", key)
			}
			m[key] = v
			declared["bindings"] = m
			places[tree.Path("bindings").Key(key)] = r
			continue
		}
		if m, ok := v.(map[string]any); ok && form == namedRows && m["sid"] == nil {
			m["sid"] = key
		}
		list, _ := declared["bindings"].([]any)
		places[tree.Path("bindings").Index(len(list))] = r
		declared["bindings"] = append(list, v)
	}
	return declared, func(p tree.Path) place {
		for at, r := range places {
			if p.Within(at) {
				return r.at
			}
		}
		return find(p)
	}
}
