package aws

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"unsafe"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ClientIn is [Client] for callers that let the first call fail where there is no client: its error is that of the
// configuration.
func ClientIn(cloud kind.Cloud, service string, make func(sdk.Config) unsafe.Pointer) unsafe.Pointer {
	p, err := Client(cloud, service, make)
	if err != nil {
		fail := func(*middleware.Stack) error { return err }
		p = make(sdk.Config{APIOptions: []func(*middleware.Stack) error{fail}})
	}
	return p
}

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

// API is what documentation and least privilege are made of, for a service whose actions are named like its operations: p
// holds operations, such as CreateQueue, and actions that are needed beside, such as iam:GetRole. service is its name in
// calls, prefix in actions; others are calls of other services.
func API(service, prefix string, source fs.FS, p kind.Permissions, others ...string) kind.API {
	if p.Anywhere == nil {
		p.Anywhere = p.List // a listing has no ARN
	}
	var calls []string
	for _, operations := range []*[]string{&p.Observe, &p.List, &p.Create, &p.Update, &p.Delete, &p.Anywhere} {
		actions := slices.Clone(*operations)
		for i, operation := range actions {
			if !strings.Contains(operation, ":") {
				actions[i] = prefix + ":" + operation
				calls = append(calls, service+"."+operation)
			}
		}
		*operations = actions
	}
	slices.Sort(calls)
	return kind.API{Source: source, Permissions: p, Calls: append(slices.Compact(calls), others...)}
}
