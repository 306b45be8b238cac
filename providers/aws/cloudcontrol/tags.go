package cloudcontrol

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// tagsOf reads the tags of properties, however the type writes them.
func (k *kind) tagsOf(props object) map[string]string {
	tags := map[string]string{}
	switch at := props[k.tags.Property].(type) {
	case object:
		for key, v := range at {
			tags[key] = text(v)
		}
	case []any:
		for _, e := range at {
			if entry, ok := e.(object); ok {
				tags[text(entry[k.tags.Key])] = text(entry[k.tags.Value])
			}
		}
	}
	return tags
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return string(tree.Canonical(v))
	}
}

// authorTags are the declared tags.
func (k *kind) authorTags(declared object) map[string]string { return k.tagsOf(declared) }

// withTags is declared properties with the default tags of the settings and the owner's among the tags, and of the live ones
// those that the settings ignore: tags are set whole. Entries of the author stay as they are.
func (k *kind) withTags(cloud reconcile.Cloud, declared, live object, mark reconcile.Mark) object {
	out := maps.Clone(declared)
	author := k.authorTags(declared)
	wanted := aws.Tags(cloud, author, mark)
	for key, v := range k.tagsOf(live) {
		if _, declared := wanted[key]; !declared && aws.IgnoresTag(cloud, key) {
			wanted[key] = v
		}
	}
	if k.tags.Key == "" {
		all := object{}
		for key, v := range wanted {
			all[key] = v
		}
		out[k.tags.Property] = all
		return out
	}
	var entries []any
	given, _ := declared[k.tags.Property].([]any)
	entries = append(entries, given...)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if _, given := author[key]; !given {
			entries = append(entries, k.entry(key, wanted[key]))
		}
	}
	out[k.tags.Property] = entries
	return out
}

// entry is one tag in a list.
func (k *kind) entry(key, value string) object {
	entry := object{k.tags.Key: key, k.tags.Value: value}
	for _, also := range k.tags.Also {
		entry[also] = false
	}
	return entry
}

// compareTags states the tags one by one. Those that cannot be changed belong to creation: a difference in the author's
// replaces; default tags and the owner tag stay what they were.
func (k *kind) compareTags(d *diff, want object, seen live, set *reconcile.Operation[live]) {
	path := tree.Path("").Key(k.tags.Property)
	wanted, have := aws.TagSides(d.Cloud(), k.authorTags(want), d.Mark(), k.tagsOf(seen.props))
	if k.tags.Fixed {
		author := k.authorTags(want)
		for _, key := range slices.Sorted(maps.Keys(author)) {
			reconcile.Fixed(d, path.Key(key), any(author[key]), anyOf(have, key))
		}
		return
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), token.Has) {
		reconcile.Value(d, path, wanted, have, set) // which ones they are is known later
		return
	}
	keys := slices.Collect(maps.Keys(wanted))
	for key := range have {
		if _, ok := wanted[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		reconcile.Value(d, path.Key(key), anyOf(wanted, key), anyOf(have, key), set)
	}
}

// anyOf is an entry, nil when there is none.
func anyOf(m map[string]string, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return nil
}
