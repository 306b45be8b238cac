package athanor

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Below returns a name, in the scope of s, for what a constructor declares below another resource. A part with a reference
// counts by the address that it refers to, any other part as it is. The option renames what is declared together with
// the resources that its address is made of: it names the addresses that follow from their earlier ones.
//
//	name, renamed := s.Below(fn.ARN, queue.ARN) // worker/orders
func (s *Stack) Below(parts ...string) (name string, renamed Option) {
	now, was := make([]string, len(parts)), [][]string{nil}
	for i, part := range parts {
		now[i] = part
		if uses, err := token.Refs(part); err == nil && len(uses) > 0 {
			now[i] = uses[0].Ref.Address
		}
		s.mu.Lock()
		all := append([]string{now[i]}, s.declared[now[i]].was...)
		s.mu.Unlock()
		was = times(was, all)
	}
	name = s.nameOf(now)
	var old []string
	for _, parts := range was[1:] { // the first of them is that of now
		for _, address := range []string{s.Address(s.nameOf(parts)), besideIts(parts)} {
			if address != s.Address(name) && !slices.Contains(old, address) {
				old = append(old, address)
			}
		}
	}
	return name, func(d *declaration) { d.options.RenamedFrom = append(d.options.RenamedFrom, old...) }
}

// times extends each list by each of the alternatives, the first alternatives first.
func times(lists [][]string, alternatives []string) [][]string {
	longer := make([][]string, 0, len(lists)*len(alternatives))
	for _, a := range alternatives {
		for _, list := range lists {
			longer = append(longer, append(slices.Clone(list), a))
		}
	}
	return longer
}

// nameOf joins addresses to a name in the scope of s.
func (s *Stack) nameOf(parts []string) string { return joinKeyed(parts, s.Address("")) }

// joinKeyed joins addresses to one, those in scope without it. Keys come to its end: worker[a] and orders[b] are
// worker/orders[a.b].
func joinKeyed(parts []string, scope string) string {
	inner, keys := make([]string, len(parts)), []string(nil)
	for i, part := range parts {
		var key string
		if inner[i], key = cutKey(strings.TrimPrefix(part, scope)); key != "" {
			keys = append(keys, strings.Trim(key, "[]"))
		}
	}
	if len(keys) == 0 {
		return strings.Join(inner, "/")
	}
	return strings.Join(inner, "/") + "[" + strings.Join(keys, ".") + "]"
}

// besideIts is the address that parts make in the scope of the first of them, which may have been another than today's.
func besideIts(parts []string) string {
	scope := parts[0][:strings.LastIndexByte(parts[0], '/')+1]
	address := []string{parts[0]}
	for _, part := range parts[1:] {
		address = append(address, strings.TrimPrefix(part, scope))
	}
	return joinKeyed(address, "")
}

// Along renames a resource together with another: one that a constructor declares below it, as a part such as "role" (see
// [Inner]). The options are those of the other.
func Along(part string, opts ...Option) Option {
	return func(d *declaration) {
		outer, key := cutKey(d.address)
		other := &declaration{stack: d.stack, address: strings.TrimSuffix(outer, "/"+part) + key, options: &engine.Options{}}
		for _, o := range opts {
			if o != nil { // what is wrong with them is said of the other
				o(other)
			}
		}
		for _, old := range other.options.RenamedFrom {
			d.options.RenamedFrom = append(d.options.RenamedFrom, Inner(old, part))
		}
	}
}
