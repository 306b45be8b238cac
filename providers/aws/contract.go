package aws

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// EventuallyVisible is how long a read may be behind what was written, of every kind of which its service says no more. AWS
// publishes no bound: reads were seen to be behind by seconds, of services too that are documented as consistent, since there
// are caches and several regions behind some of them. A run that believes a read sooner makes the same change again, or a second
// object.
const EventuallyVisible = 30 * time.Second

// Tagged is the ownership of a kind whose tags one call puts and another drops. declared and live are the tags of either
// side; call is the name under which plans show both.
func Tagged[P, L any](declared func(P) map[string]string, live func(L) map[string]string, call string,
	put func(context.Context, kind.Update[L], map[string]string) error, drop func(context.Context, kind.Update[L], []string) error,
) kind.Tagged[P, L] {
	return kind.Tagged[P, L]{
		Tag:   func(l L) kind.OwnerTag { return adopt.MarkOf(live(l)) },
		Check: func(p P) error { return CheckTags(declared(p)).OrNil() },
		Compare: func(d *kind.Diff[L], want P, l L) {
			CompareTags(d, declared(want), live(l), call,
				func(ctx context.Context, on kind.Update[L], tags map[string]string) error {
					return NotYet(put(ctx, on, tags))
				},
				func(ctx context.Context, on kind.Update[L], keys []string) error {
					return NotYet(drop(ctx, on, keys))
				})
		},
	}
}

// MatchARN knows the objects of a kind by the service in their ARNs, for [Service.Match].
func MatchARN(service, kind string) func(ARN) (string, string, string, bool) {
	return func(arn ARN) (string, string, string, bool) {
		p, ok := arn.Parse()
		return kind, string(arn), p.Resource, ok && p.Service == service
	}
}

// PolicyCodec is the codec of policy documents, policy in wire tags: they are compared by what they permit, and written as
// text.
func PolicyCodec() kind.Codec {
	return kind.Codec{
		Name:  "policy",
		Write: func(document any) (any, error) { return DocumentText(document) },
		Form:  CanonicalPolicy,
	}
}

// PassRole is the permission to hand a role, which a prop names, to a service. changed says that the calls carry the role only
// where it changes:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html
func PassRole(service string, changed bool, calls []string, props ...tree.Path) kind.Dependence {
	d := kind.Dependence{
		Actions: []string{"iam:PassRole"}, Calls: calls, Props: props, Resource: RoleResources,
		Conditions: map[string]map[string][]string{"StringEquals": {"iam:PassedToService": {service}}},
	}
	if changed {
		d.Where = props
	}
	return d
}

// Everything is the resource of actions that IAM allows on everything or not at all.
func Everything(kind.Location, string) []string { return []string{"*"} }

// RoleResources are the roles that a value names, as policies name them.
func RoleResources(location kind.Location, value string) []string {
	if _, ok := ARN(value).Parse(); ok {
		return []string{value}
	}
	return []string{string(Parts{Partition: Partition(location.Region), Service: "iam", Account: location.Account, Resource: "role/*"}.ARN())}
}

// UseKey is the permission to use the key of KMS that a prop names by its ARN, its id or an alias. Keys of AWS, whose aliases
// begin with aws/, may be used by all in the account.
func UseKey(phase kind.Phase, calls, actions []string, props ...tree.Path) kind.Dependence {
	return kind.Dependence{Actions: actions, Phase: phase, Calls: calls, Props: props, Resource: keyResources}
}

// UseKeyWhere is [UseKey] to create an object, and to set any of some props.
func UseKeyWhere(where []tree.Path, actions []string, props ...tree.Path) kind.Dependence {
	d := UseKey(0, nil, actions, props...)
	d.Where = where
	return d
}

func keyResources(location kind.Location, value string) []string {
	if strings.HasPrefix(value, "alias/aws/") || strings.Contains(value, ":alias/aws/") {
		return nil
	}
	if p, ok := ARN(value).Parse(); ok && !strings.HasPrefix(p.Resource, "alias/") {
		return []string{value}
	}
	if value == "" || strings.ContainsAny(value, "*:/") { // a policy names no alias
		value = "*"
	}
	return []string{string(ARNIn(location, "kms", "key/"+value))}
}

// ARNOr returns the ARN that a prop holds, and for one that is not known all such ARNs of a service.
func ARNOr(service, rest string) func(kind.Location, string) []string {
	return func(location kind.Location, value string) []string {
		if _, ok := ARN(value).Parse(); ok {
			return []string{value}
		}
		return []string{string(ARNIn(location, service, rest))}
	}
}

// API is what documentation and least privilege are made of, for a service whose actions are named like its operations: p
// holds operations, such as CreateQueue, and actions that are needed beside, such as iam:GetRole. service is its name in
// calls, prefix in actions; others are calls of other services.
func API(service, prefix string, source fs.FS, p kind.Permissions, others ...string) kind.API {
	if p.Anywhere == nil {
		p.Anywhere = p.List // a listing has no ARN
	}
	if slices.Contains(p.Observe, "tag:GetResources") {
		p.Anywhere, others = append(slices.Clone(p.Anywhere), "tag:GetResources"), append(others, "Tagging.GetResources")
	}
	var calls []string
	actionOf := func(operation string) string {
		if strings.Contains(operation, ":") {
			return operation
		}
		return prefix + ":" + operation
	}
	inPlace := map[string][]string{}
	for _, operation := range p.Update {
		inPlace[operation] = []string{actionOf(operation)}
	}
	for call, operations := range p.Calls {
		inPlace[call] = nil
		for _, operation := range operations {
			inPlace[call] = append(inPlace[call], actionOf(operation))
		}
	}
	only := map[string][]tree.Path{}
	for operation, paths := range p.Only {
		only[actionOf(operation)] = paths
	}
	p.Calls, p.Only = inPlace, only
	for _, operations := range []*[]string{&p.Observe, &p.List, &p.Create, &p.Update, &p.Delete, &p.Anywhere} {
		actions := slices.Clone(*operations)
		for i, operation := range actions {
			if !strings.Contains(operation, ":") {
				calls = append(calls, service+"."+operation)
			}
			actions[i] = actionOf(operation)
		}
		*operations = actions
	}
	slices.Sort(calls)
	return kind.API{Source: source, Permissions: p, Calls: append(slices.Compact(calls), others...)}
}
