package cloudcontrol

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compare states what is declared, property by property, and what was declared before and is no longer. All that can
// change is set by one patch.
func (k *kind) compare(d *diff, want object, seen live) {
	c := comparing{equality: equality{k.Type}, d: d, set: k.update(want)}
	if k.Update == nil {
		c.set = nil
	}
	had := maps.Clone(d.Had())
	if k.named != "" {
		want = maps.Clone(want)
		delete(want, string(k.named))
		delete(had, string(k.named))
	}
	if k.tags != nil {
		k.compareTags(d, want, seen, c.set)
		want = maps.Clone(want)
		delete(want, k.tags.Property)
		delete(had, k.tags.Property)
	}
	c.recorded = d.Had() != nil
	c.object(k.Root, "", "", want, seen.props, k.Form(had))
}

// comparing is one comparison under way.
type comparing struct {
	equality
	d        *diff
	set      *reconcile.Operation[live]
	recorded bool // what was declared before is known
}

// object goes through the properties of one. path is where it is, pattern the same with * for the keys of maps.
func (c *comparing) object(n *registry.Node, path, pattern tree.Path, want, have, had object) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		below, deeper := c.below(n, pattern, key)
		c.value(c.Follow(below), path.Key(key), deeper, want[key], have[key], had[key])
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		_, deeper := c.below(n, pattern, key)
		_, declared := want[key]
		_, before := had[key]
		switch {
		case declared || c.ReadOnlyAt(deeper) || have[key] == nil:
		case n.Values != nil:
			c.state(path.Key(key), deeper, nil, have[key])
		case before && c.fixed(deeper):
			reconcile.Fixed(c.d, path.Key(key), nil, have[key])
		case before:
			reconcile.Dropped(c.d, path.Key(key), have[key], c.set)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		_, deeper := c.below(n, pattern, key)
		if _, declared := want[key]; !declared && c.WriteOnlyAt(deeper) {
			c.unreadable(path.Key(key), deeper, nil)
		}
	}
}

// fixed reports whether nothing changes the path in place.
func (c *comparing) fixed(pattern tree.Path) bool {
	always, _ := c.Replaces(pattern)
	return always || c.set == nil
}

func (c *comparing) value(n *registry.Node, path, pattern tree.Path, want, have, had any) {
	if c.WriteOnlyAt(pattern) {
		c.unreadable(path, pattern, want)
		return
	}
	w, isObject := want.(object)
	h, there := have.(object)
	if isObject && !n.Free() && (there || have == nil && c.holdsWriteOnly(n, pattern)) && !c.fixed(pattern) {
		before, _ := had.(object)
		c.object(n, path, pattern, w, h, before)
		return
	}
	c.written(n, path, pattern, want)
	if c.d.Made(path) {
		had = nil // it has been taken away; what is there now is the service's own
	}
	switch {
	case c.covers(n, pattern, want, have, had):
		c.state(path, pattern, have, have)
	case have == nil && c.fixed(pattern) && (!c.recorded || tree.Equal(want, had)) && !reconcile.HoldsToken(want):
		// The service does not show it. What it was made with is all that is known.
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
	reconcile.Written(c.d, path, want, set)
}

// state states one value: want and have are equal where they mean the same.
func (c *comparing) state(path, pattern tree.Path, want, have any) {
	if c.fixed(pattern) {
		reconcile.Fixed(c.d, path, want, have)
		return
	}
	reconcile.Shown(c.d, path, want, have, c.set)
}

// holdsWriteOnly reports whether something below can only be written.
func (c *comparing) holdsWriteOnly(n *registry.Node, pattern tree.Path) bool {
	for key := range n.Properties {
		if c.WriteOnlyAt(pattern.Key(key)) {
			return true
		}
	}
	return false
}

// written states what can only be written inside a value that is compared as a whole.
func (c *comparing) written(n *registry.Node, path, pattern tree.Path, want any) {
	n = c.Follow(n)
	switch w := want.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(w)) {
			below, deeper := c.below(n, pattern, key)
			if c.WriteOnlyAt(deeper) {
				c.value(below, path.Key(key), deeper, w[key], nil, nil)
				continue
			}
			c.written(below, path.Key(key), deeper, w[key])
		}
	case []any:
		for i, e := range w {
			c.written(n.Items, path.Index(i), pattern.Any(), e)
		}
	}
}
