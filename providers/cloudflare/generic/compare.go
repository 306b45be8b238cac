package generic

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compare states what is declared, property by property, and what was declared before and is no longer. One call sets all
// that can change.
func (k *kind) compare(d *diff, want object, l live) {
	c := comparing{kind: k, d: d, recorded: d.Had() != nil}
	if k.Changes() {
		c.set = k.change(want)
	}
	want, had := maps.Clone(want), maps.Clone(d.Had())
	for _, parent := range k.Parents() {
		if given, ok := want[parent]; ok {
			have := any(textAt(l.props, parent))
			if text, isText := given.(string); isText && parent == schema.Zone {
				have = l.zone.As(text)
			}
			reconcile.Fixed(d, tree.Path("").Key(parent), given, have)
		} else if parent == schema.Zone && l.zone.ID != "" {
			reconcile.Fixed(d, schema.Zone, nil, any(l.zone.Name))
		}
		delete(want, parent)
		delete(had, parent)
	}
	for _, name := range k.Known {
		delete(want, name)
		delete(had, name)
	}
	if name := k.NameProp; name != "" {
		if given, ok := d.Name(); ok && !k.FixedAt(tree.Path("").Key(name)) {
			reconcile.Value(d, tree.Path("").Key(name), given, textAt(l.props, k.NameShown), c.set)
		}
		delete(want, name)
		delete(had, name)
	}
	if k.Tag != "" {
		c.tag(want, l)
		delete(want, k.Tag)
		delete(had, k.Tag)
	}
	c.object(k.Root, "", "", want, l.props, had)
}

// comparing is one comparison under way.
type comparing struct {
	*kind
	d        *diff
	set      *reconcile.Operation[live]
	recorded bool // what was declared before is known
}

// tag states the text that the owner tag stands in, which is managed whole, and the tag. What nothing can change in place keeps its tag.
func (c *comparing) tag(want object, l live) {
	at := tree.Path("").Key(c.Tag)
	own, _ := untagged(textAt(l.props, c.Tag))
	declared := want[c.Tag]
	if declared == "" {
		declared = nil
	}
	if c.fixed(at) {
		reconcile.Fixed(c.d, at, declared, orNil(own))
	} else {
		reconcile.Value(c.d, at, declared, orNil(own), c.set)
	}
	if !c.FixedAt(at) && c.d.Mark() != l.owner && withoutStore(c.d.Mark()) != l.owner {
		reconcile.Value(c.d, "mark", adopt.Line(c.d.Mark()), l.line, c.set)
	}
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// object goes through the properties of one. path is where it is, pattern the same with * for the keys of maps.
func (c *comparing) object(n *schema.Node, path, pattern tree.Path, want, have, had object) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		c.value(n.Below(key), path.Key(key), deeper(n, pattern, key), want[key], have[key], had[key])
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		at := deeper(n, pattern, key)
		_, declared := want[key]
		_, before := had[key]
		switch {
		case declared || have[key] == nil || c.WriteOnlyAt(at) || c.emptied(at, have[key]):
		case n.Values != nil && n.Properties[key] == nil:
			c.state(path.Key(key), at, nil, have[key])
		case before:
			c.dropped(path.Key(key), at, have[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		at := deeper(n, pattern, key)
		_, declared := want[key]
		switch {
		case declared:
		case c.WriteOnlyAt(at):
			c.unreadable(path.Key(key), at, nil)
		default:
			reconcile.Unwritten(c.d, path.Key(key))
		}
	}
}

func (c *comparing) dropped(path, pattern tree.Path, have any) {
	if c.fixed(pattern) {
		reconcile.Fixed(c.d, path, nil, have)
		return
	}
	reconcile.Dropped(c.d, path, have, c.set)
}

// deeper is the pattern of a key.
func deeper(n *schema.Node, pattern tree.Path, key string) tree.Path {
	if n.Properties[key] == nil && n.Values != nil {
		return pattern.Any()
	}
	return pattern.Key(key)
}

// fixed reports whether nothing changes the path in place.
func (c *comparing) fixed(pattern tree.Path) bool { return c.set == nil || c.FixedAt(pattern) }

func (c *comparing) value(n *schema.Node, path, pattern tree.Path, want, have, had any) {
	if c.WriteOnlyAt(pattern) {
		c.unreadable(path, pattern, want)
		return
	}
	w, isObject := want.(object)
	h, there := have.(object)
	if isObject && !n.Free() && there && !c.fixed(pattern) {
		before, _ := had.(object)
		c.object(n, path, pattern, w, h, before)
		return
	}
	c.written(n, path, pattern, want)
	if c.d.Made(path) {
		had = nil // a call has set it: what is shown besides is the service's own
	}
	switch {
	case c.covers(n, pattern, want, have, had):
		c.state(path, pattern, have, have)
	case have == nil && c.fixed(pattern) && (!c.recorded || tree.Equal(want, had)) && !hasToken(want):
		// The service does not show it. What it was created with is all that is known.
	default:
		c.state(path, pattern, want, have)
	}
}

// unreadable states what can only be written; nil takes it away.
func (c *comparing) unreadable(path, pattern tree.Path, want any) {
	set := c.set
	if c.fixed(pattern) {
		set = nil
	}
	if c.later(pattern) {
		reconcile.WrittenLater(c.d, path, want, set)
		return
	}
	reconcile.Written(c.d, path, want, set)
}

// later reports whether the path is in what can only be given after the creation.
func (c *comparing) later(pattern tree.Path) bool {
	return slices.ContainsFunc(c.LaterOnly, pattern.Within)
}

// state states one value: want and have are equal where they mean the same.
func (c *comparing) state(path, pattern tree.Path, want, have any) {
	if c.fixed(pattern) {
		reconcile.Fixed(c.d, path, want, have)
		return
	}
	if have == nil && want != nil && c.later(pattern) { // which a creation has not written
		reconcile.WrittenLater(c.d, path, want, c.set)
		return
	}
	reconcile.Shown(c.d, path, want, have, c.set)
}

// written states what can only be written inside a value that is compared as a whole.
func (c *comparing) written(n *schema.Node, path, pattern tree.Path, want any) {
	switch w := want.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(w)) {
			at := deeper(n, pattern, key)
			if c.WriteOnlyAt(at) {
				c.unreadable(path.Key(key), at, w[key])
				continue
			}
			c.written(n.Below(key), path.Key(key), at, w[key])
		}
	case []any:
		for i, e := range w {
			c.written(n.Element(), path.Index(i), pattern.Any(), e)
		}
	}
}

func hasToken(v any) bool {
	return tree.Any(v, func(x any) bool {
		s, ok := x.(string)
		return ok && token.Has(s)
	})
}

// covers reports whether what is read has all that is declared, at a path with * for elements. What a service adds inside
// does not count, but for what had says was declared there before. Elements are as many as declared.
func (k *kind) covers(n *schema.Node, at tree.Path, want, have, had any) bool {
	switch w := want.(type) {
	case object:
		h, ok := have.(object)
		before, _ := had.(object)
		return ok && k.coversObject(n, at, w, h, before)
	case []any:
		h, ok := have.([]any)
		if !ok {
			return have == nil && len(w) == 0
		}
		before, _ := had.([]any)
		if len(w) != len(h) {
			return false
		}
		if slices.Contains(k.Unordered, at) {
			return k.matches(n, at, w, h, before)
		}
		for i := range w {
			if !k.covers(n.Element(), at.Any(), w[i], h[i], elementOf(before, i)) {
				return false
			}
		}
		return true
	}
	return tree.Equal(want, have)
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (k *kind) coversObject(n *schema.Node, at tree.Path, want, have, had object) bool {
	for key, w := range want {
		path := deeper(n, at, key)
		if !k.WriteOnlyAt(path) && !k.covers(n.Below(key), path, w, have[key], had[key]) {
			return false
		}
	}
	for key, h := range have {
		if _, wanted := want[key]; wanted || h == nil {
			continue
		}
		before, declared := had[key]
		if n.Values != nil && n.Properties[key] == nil || declared && tree.Equal(before, h) {
			return false
		}
	}
	return true
}

// matches pairs elements whose order does not count.
func (k *kind) matches(n *schema.Node, at tree.Path, want, have, had []any) bool {
	taken := make([]bool, len(have))
	for _, w := range want {
		found := false
		for i, h := range have {
			if !taken[i] && k.covers(n.Element(), at.Any(), w, h, k.before(n, at, had, h)) {
				taken[i], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// before is the element of what was declared that a read element came from.
func (k *kind) before(n *schema.Node, at tree.Path, had []any, have any) any {
	for _, b := range had {
		if k.covers(n.Element(), at.Any(), b, have, nil) {
			return b
		}
	}
	return nil
}
