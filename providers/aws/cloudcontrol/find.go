package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errNothing = fmt.Errorf("%w: nothing is known to find it by", reconcile.ErrAbsent)
	errNone    = fmt.Errorf("%w: nothing matches", reconcile.ErrAbsent)
)

// find looks for a resource whose identity the service assigned. Tokens of requests never find anything.
func (k *kind) find(ctx context.Context, client *sdk.Client, s site) (live, error) {
	switch {
	case s.Owner.IsZero():
		return k.findEqual(ctx, client, s, false)
	case k.tags != nil && k.tags.OnCreate:
		return k.findMarked(ctx, client, s)
	case k.List != nil:
		return k.findEqual(ctx, client, s, true)
	}
	return live{}, errNothing
}

// findMarked asks the tagging service for what carries the owner tag. While one generation is being made, only that one
// counts: the other is what it replaces.
func (k *kind) findMarked(ctx context.Context, client *sdk.Client, s site) (live, error) {
	arns, err := aws.Marked(ctx, s.Cloud, s.Owner)
	if err != nil || len(arns) == 0 {
		return live{}, orAbsent(err)
	}
	seen, err := k.suspects(ctx, client, s, arns)
	if err != nil {
		return live{}, err
	}
	ours, _, err := adopt.Find(s.Facts, seen, func(props object) (live, error) { return live{props: props}, nil },
		func(l live) (contract.OwnerTag, string) { return adopt.MarkOf(k.tagsOf(l.props)), k.identity(l.props) })
	switch {
	case err != nil:
		return live{}, fmt.Errorf("%s: %w", k.Name, err)
	case ours == nil:
		return live{}, errNone
	}
	return *ours, nil
}

func orAbsent(err error) error {
	if err != nil {
		return err
	}
	return errNone
}

// suspects are resources of the type among those with these ARNs. Where an ARN does not tell the identity, the type's
// own listing does.
func (k *kind) suspects(ctx context.Context, client *sdk.Client, s site, arns []aws.ARN) ([]object, error) {
	shapes, err := registry.ARNs()
	if err != nil {
		return nil, err
	}
	if !hasShape(shapes, k.Name) {
		return k.listed(ctx, client, s)
	}
	var all []object
	for _, arn := range arns {
		name, identity, ok := identify(shapes, arn)
		if !ok || name != k.Name {
			continue
		}
		props, err := k.get(ctx, client, identity)
		if errors.Is(err, reconcile.ErrAbsent) && len(k.ID) == 1 && identity != string(arn) {
			props, err = k.get(ctx, client, string(arn)) // some identifiers are ARNs and are not called so
		}
		if errors.Is(err, reconcile.ErrAbsent) {
			continue // the tagging service shows deleted objects for a while
		}
		if err != nil {
			return nil, err
		}
		all = append(all, props)
	}
	return all, nil
}

// listed reads everything that the type's listing shows.
func (k *kind) listed(ctx context.Context, client *sdk.Client, s site) ([]object, error) {
	if k.List == nil {
		return nil, nil
	}
	input := &sdk.ListResourcesInput{TypeName: &k.Name}
	if needs := k.listInput(s.Want); len(needs) > 0 {
		input.ResourceModel = new(string(tree.Canonical(needs)))
	} else if len(k.List.Needs) > 0 {
		return nil, nil // what it belongs to is not known, so there is nothing to list
	}
	var all []object
	pages := sdk.NewListResourcesPaginator(listResourcesCall(client.ListResources), input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if aws.IsAbsent(err) {
			return nil, nil // what it belongs to is not there
		}
		if err != nil {
			return nil, err
		}
		for _, d := range page.ResourceDescriptions {
			props, err := k.get(ctx, client, sdkaws.ToString(d.Identifier))
			if errors.Is(err, reconcile.ErrAbsent) {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, props)
		}
	}
	return all, nil
}

// listInput is what the listing asks for, as far as it is declared.
func (k *kind) listInput(want object) object {
	input := object{}
	for _, name := range k.List.Needs {
		v, ok := want[name]
		if text, isText := v.(string); !ok || isText && token.Has(text) {
			return nil
		}
		input[name] = v
	}
	return input
}

// findEqual looks for the one listed resource that is declared so: in all that cannot change, or in everything.
func (k *kind) findEqual(ctx context.Context, client *sdk.Client, s site, fixed bool) (live, error) {
	paths := k.telling(s.Want, fixed)
	if len(paths) == 0 {
		return live{}, errNothing
	}
	seen, err := k.listed(ctx, client, s)
	if err != nil {
		return live{}, err
	}
	var finds []object
	for _, props := range seen {
		if k.agrees(s.Want, props, paths) && (!fixed || k.nothingElse(s.Want, props)) {
			finds = append(finds, props)
		}
	}
	switch len(finds) {
	case 0:
		return live{}, errNone
	case 1:
		return live{props: finds[0]}, nil
	}
	return live{}, fmt.Errorf("%s: %w: %d match", k.Name, reconcile.ErrAmbiguous, len(finds))
}

// telling are the declared properties by which a resource is told from others: those that cannot change, where there are
// any, else all that can be read.
func (k *kind) telling(want object, fixed bool) []tree.Path {
	var all, certain []tree.Path
	for name := range want {
		p := tree.Path("").Key(name)
		if k.WriteOnlyAt(p) || k.tags != nil && name == k.tags.Property && fixed {
			continue
		}
		all = append(all, p)
		if always, _ := k.Replaces(p); always || slices.Contains(k.ID, p) {
			certain = append(certain, p)
		}
	}
	if fixed && len(certain) > 0 {
		all = certain
	}
	slices.Sort(all)
	return all
}

// agrees reports whether a resource has the declared values at these paths.
func (k *kind) agrees(want, have object, paths []tree.Path) bool {
	e := equality{k.Type}
	for _, p := range paths {
		name := p.Steps()[0].Key
		if !e.covers(k.Root.Properties[name], p, want[name], have[name], nil) {
			return false
		}
	}
	return true
}

// nothingElse reports that a resource shows nothing fixed which is not declared: then it would be another one.
func (k *kind) nothingElse(want, have object) bool {
	for name, v := range have {
		p := tree.Path("").Key(name)
		always, _ := k.Replaces(p)
		if _, declared := want[name]; always && !declared && !k.ReadOnlyAt(p) && v != nil && v != "" {
			return false
		}
	}
	return true
}

func hasShape(shapes map[string]string, name string) bool {
	for _, other := range shapes {
		if other == name {
			return true
		}
	}
	return false
}

// match is what an ARN belongs to, for discovery.
func match(arn aws.ARN) (kind, identity, name string, ok bool) {
	shapes, err := registry.ARNs()
	if err != nil {
		return "", "", "", false
	}
	kind, identity, ok = identify(shapes, arn)
	return kind, identity, identity, ok
}

// identify reads the type and the identity off an ARN, by the shape that has most letters of its own.
func identify(shapes map[string]string, arn aws.ARN) (name, identity string, ok bool) {
	parts, isARN := arn.Parse()
	if !isARN {
		return "", "", false
	}
	subject, best := parts.Service+":"+parts.Resource, -1
	for shape, owner := range shapes {
		values, fits := fit(shape, subject)
		own := len(shape) - strings.Count(shape, "{")*4
		if !fits || own < best || own == best && owner > name {
			continue
		}
		t, err := registry.Lookup(owner)
		if err != nil {
			continue
		}
		best, name = own, owner
		if _, whole := values["*"]; whole {
			identity = string(arn)
			continue
		}
		ids := make([]string, len(t.ID))
		for i, p := range t.ID {
			ids[i] = values[string(p)]
		}
		identity = strings.Join(ids, "|")
	}
	return name, identity, best >= 0
}

// fit reads the values of a shape's placeholders off a subject. A value holds no separator, but for the last.
func fit(shape, subject string) (map[string]string, bool) {
	values := map[string]string{}
	for {
		before, rest, more := strings.Cut(shape, "{")
		if !strings.HasPrefix(subject, before) {
			return nil, false
		}
		subject = subject[len(before):]
		if !more {
			return values, subject == ""
		}
		key, after, _ := strings.Cut(rest, "}")
		end := len(subject)
		if after != "" {
			end = strings.Index(subject, after[:1])
		}
		if end <= 0 {
			return nil, false
		}
		if after == "" && strings.ContainsAny(subject, "/:") {
			return nil, false
		}
		values[key], subject, shape = subject[:end], subject[end:], after
	}
}
