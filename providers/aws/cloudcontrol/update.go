package cloudcontrol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// update sends one patch for all that differs, and waits until it is done.
func (k *kind) update(want object) *reconcile.Operation[live] {
	return &reconcile.Operation[live]{Name: "UpdateResource", Do: func(ctx context.Context, o on) error {
		client, err := clientOf(o.Cloud)
		if err != nil {
			return err
		}
		patch := k.patch(want, o)
		if len(patch) == 0 {
			return nil
		}
		identity := k.identity(o.Live.props)
		out, err := client.UpdateResource(ctx, &sdk.UpdateResourceInput{
			TypeName: &k.Name, Identifier: &identity, PatchDocument: new(string(tree.Canonical(patch))),
		})
		if err == nil {
			err = wait(ctx, o.Cloud, client, out.ProgressEvent, nil)
		}
		return k.notUpdatable(aws.NotYet(err), o)
	}}
}

// notUpdatable says what to do where only the service knows that a change needs a new resource.
func (k *kind) notUpdatable(err error, o on) error {
	coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	if !ok || !strings.HasPrefix(coded.ErrorCode(), "NotUpdatable") {
		return err
	}
	paths := make([]string, len(o.Changed))
	for i, p := range o.Changed {
		paths[i] = string(p)
	}
	return reconcile.WithHint(err, "it can only be replaced: --replace %s, or replaceOn: [%s] in its options", o.Address, strings.Join(paths, ", "))
}

// patch is a JSON patch of what is to change. What can only be written is sent along with any change: many handlers
// set the whole resource anew and would take it away.
func (k *kind) patch(want object, o on) []any {
	full := want
	if k.tags != nil && !k.tags.Fixed {
		full = k.withTags(o.Cloud, want, o.Live.props, o.Owner)
	}
	changed := map[tree.Path]bool{}
	for _, p := range o.Changed {
		changed[k.patched(p, o.Live.props)] = true
	}
	for _, p := range k.declaredWriteOnly(k.Root, "", "", want) {
		changed[k.patched(p, o.Live.props)] = true
	}
	var patch []any
	for _, p := range slices.Sorted(maps.Keys(changed)) {
		if slices.ContainsFunc(slices.Collect(maps.Keys(changed)), func(q tree.Path) bool { return p != q && p.Within(q) }) {
			continue // the whole is sent
		}
		value, wanted := tree.Get(full, p)
		_, there := tree.Get(o.Live.props, p)
		switch {
		case wanted:
			patch = append(patch, object{"op": "add", "path": pointer(p), "value": value})
		case there:
			patch = append(patch, object{"op": "remove", "path": pointer(p)})
		}
	}
	if len(patch) == 0 {
		return k.untouched(full, o.Live.props)
	}
	return patch
}

// untouched is a patch that changes nothing that can be read: what can only be written and is declared no longer goes
// when the handler sets the resource anew without it. There is no other way to say so.
func (k *kind) untouched(want, have object) []any {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		p := tree.Path("").Key(name)
		if always, _ := k.Replaces(p); always || k.WriteOnlyAt(p) || have[name] == nil {
			continue
		}
		return []any{object{"op": "replace", "path": pointer(p), "value": want[name]}}
	}
	return nil
}

// patched is the path that a patch speaks of: lists and tags are set whole, and so is what has no parent yet.
func (k *kind) patched(p tree.Path, have object) tree.Path {
	var at tree.Path
	for _, s := range p.Steps() {
		if s.Index >= 0 || s.Any || k.tags != nil && at == tree.Path("").Key(k.tags.Property) {
			return at
		}
		if v, _ := tree.Get(have, at); at != "" && plainOrList(v) {
			return at
		}
		at = at.Key(s.Key)
	}
	return at
}

func plainOrList(v any) bool {
	_, isObject := v.(object)
	return !isObject
}

// declaredWriteOnly are the declared paths that can only be written, and may be.
func (k *kind) declaredWriteOnly(n *registry.Node, path, pattern tree.Path, want any) []tree.Path {
	n = k.Follow(n)
	var all []tree.Path
	switch w := want.(type) {
	case object:
		for key, v := range w {
			below, deeper := equality{k.Type}.below(n, pattern, key)
			if always, _ := k.Replaces(deeper); always {
				continue
			}
			if k.WriteOnlyAt(deeper) {
				all = append(all, path.Key(key))
			} else {
				all = append(all, k.declaredWriteOnly(below, path.Key(key), deeper, v)...)
			}
		}
	case []any:
		for i, e := range w {
			all = append(all, k.declaredWriteOnly(n.Items, path.Index(i), pattern.Any(), e)...)
		}
	}
	return all
}

// pointer is a path as JSON patches write it.
func pointer(p tree.Path) string {
	var b strings.Builder
	for _, s := range p.Steps() {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s.Key))
	}
	return b.String()
}
