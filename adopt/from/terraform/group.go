package terraform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// mostDifferences bounds how many values of the entries of one for may differ.
const mostDifferences = 6

// grouped makes one resource with a for of those that differ by little but their key.
func grouped(all []from.Resource, objects []*object) []from.Resource {
	members := map[string][]int{}
	for n, r := range all {
		if base, _, keyed := strings.Cut(r.Address, "["); keyed && objects[n].inst.key != nil {
			members[base] = append(members[base], n)
		}
	}
	gone := map[int]bool{}
	for _, base := range slices.Sorted(maps.Keys(members)) {
		list := members[base]
		if len(list) < 2 {
			continue
		}
		one, ok := together(base, all, list)
		if !ok {
			continue
		}
		all[list[0]] = one
		for _, n := range list[1:] {
			gone[n] = true
		}
	}
	var out []from.Resource
	for n, r := range all {
		if gone[n] {
			continue
		}
		if len(r.For) == 0 { // it has its key as text
			r.Props, _ = withKey(r.Props, textOf(objects[n].inst.key)).(map[string]any)
		}
		out = append(out, r)
	}
	return out
}

// withKey is a value with a key in the place of that of an entry of a for.
func withKey(v any, key string) any {
	return tree.Map(v, func(leaf any) any {
		switch leaf := leaf.(type) {
		case from.Each:
			return key
		case from.Text:
			parts := slices.Clone(leaf.Parts)
			for n, part := range parts {
				if part == any(from.Each{}) {
					parts[n] = key
				}
			}
			return textOfParts(parts)
		}
		return leaf
	})
}

// together is one resource for several, where their props have one shape.
func together(base string, all []from.Resource, list []int) (from.Resource, bool) {
	first := all[list[0]]
	differ := map[tree.Path]bool{}
	for _, n := range list[1:] {
		r := all[n]
		if r.Kind != first.Kind || (r.Adopt == "") != (first.Adopt == "") || r.Provider != first.Provider || !slices.Equal(r.DependsOn, first.DependsOn) || !slices.Equal(r.IgnoreChanges, first.IgnoreChanges) || !differences("", first.Props, r.Props, differ) {
			return from.Resource{}, false
		}
	}
	one := first
	one.Address, one.Adopt, one.For = base, "", map[string]map[string]any{}
	key := func(n int) string {
		return strings.TrimSuffix(strings.SplitN(all[n].Address, "[", 2)[1], "]")
	}
	props := tree.Clone(first.Props)
	taken := map[string]bool{"adopt": true}
	values := map[tree.Path]string{}
	for _, p := range slices.Sorted(maps.Keys(differ)) {
		if isKey(all, list, p, key) {
			props = tree.With(props, p, from.Each{})
			continue
		}
		values[p] = unique(taken, lastKey(p))
		props = tree.With(props, p, from.Each{Name: values[p]})
	}
	if len(values) > mostDifferences {
		return from.Resource{}, false
	}
	one.Props, _ = props.(map[string]any)
	for _, n := range list {
		entry := map[string]any{}
		if all[n].Adopt != "" {
			entry["adopt"] = all[n].Adopt
		}
		for p, name := range values {
			entry[name], _ = tree.Get(all[n].Props, p)
		}
		one.For[key(n)] = entry
	}
	return one, true
}

// isKey reports whether a value is the key in each.
func isKey(all []from.Resource, list []int, p tree.Path, key func(int) string) bool {
	for _, n := range list {
		if v, _ := tree.Get(all[n].Props, p); v != any(key(n)) {
			return false
		}
	}
	return true
}

func lastKey(p tree.Path) string {
	name := "value"
	for _, s := range p.Steps() {
		if s.Key != "" {
			name = s.Key
		}
	}
	return name
}

// differences notes where two values differ. False: they do not have one shape.
func differences(at tree.Path, a, b any, differ map[tree.Path]bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !differences(at.Key(k), v, w, differ) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, v := range a {
			if !differences(at.Index(i), v, b[i], differ) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	if fmt.Sprintf("%T%v", a, a) != fmt.Sprintf("%T%v", b, b) {
		differ[at] = true
	}
	return true
}
