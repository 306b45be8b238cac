package aws

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Many reads several objects that state knows by fewer calls than each by itself. It leaves nil what a listing does not show, or
// shows otherwise than it may be believed: a listing proves presence, never absence.
type Many[P, L, A any] func(context.Context, []kind.Site[P, A]) ([]*Answer[L], error)

// Together is the Observe of a kind that can read many objects at once: an object that state knows is read with others of the
// kind that are wanted at the same time.
func Together[P, L, A any](typ string, one func(context.Context, kind.Site[P, A]) (L, error), many Many[P, L, A],
) func(context.Context, kind.Site[P, A]) (L, error) {
	return func(ctx context.Context, s kind.Site[P, A]) (L, error) {
		if s.Last == nil {
			return one(ctx, s)
		}
		together := Shared(s.Cloud, "reads of "+typ, func() *Gather[kind.Site[P, A], L] { return &Gather[kind.Site[P, A], L]{} })
		return together.Ask(ctx, s, func(ctx context.Context, all []kind.Site[P, A]) []Answer[L] { return readAll(ctx, all, one, many) })
	}
}

// InBulk is the Bulk of such a kind.
func InBulk[P, L, A any](one func(context.Context, kind.Site[P, A]) (L, error), many Many[P, L, A],
) func(context.Context, []kind.Site[P, A]) ([]kind.Observed[L], error) {
	return func(ctx context.Context, all []kind.Site[P, A]) ([]kind.Observed[L], error) {
		answers := make([]kind.Observed[L], len(all))
		for i, a := range readAll(ctx, all, one, many) {
			answers[i] = kind.Observed[L]{Live: a.Value, Err: a.Err}
		}
		return answers, nil
	}
}

// readAll reads objects together, and by itself each that this does not show. Where they cannot be read together, because that is
// not permitted for example, each is read by itself.
func readAll[P, L, A any](ctx context.Context, all []kind.Site[P, A], one func(context.Context, kind.Site[P, A]) (L, error), many Many[P, L, A],
) []Answer[L] {
	answers, shown := make([]Answer[L], len(all)), make([]*Answer[L], len(all))
	isNew := func(s kind.Site[P, A]) bool { return s.Last == nil }
	if len(all) > 1 && !slices.ContainsFunc(all, isNew) {
		if found, err := many(ctx, all); err == nil && len(found) == len(all) {
			shown = found
		}
	}
	var group errgroup.Group
	for i, s := range all {
		if shown[i] != nil {
			answers[i] = *shown[i]
			continue
		}
		group.Go(func() error {
			answers[i].Value, answers[i].Err = one(ctx, s)
			return nil
		})
	}
	_ = group.Wait() // each answer has its error
	return answers
}

// mostARNs is how many objects one call of the tagging service answers for:
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
const mostARNs = 100

// TagsTogether reads the tags of several objects by the tagging service, which follows the others with some delay: an object
// that has other tags there than the declared ones and those of its owner is left out, for its own service to answer.
func TagsTogether[P, A any](ctx context.Context, all []kind.Site[P, A], arn func(A) ARN, declared func(P) map[string]string,
) ([]map[string]string, error) {
	client, err := Client(all[0].Cloud, tagging.ServiceID, tagging.NewFromConfig)
	if err != nil {
		return nil, err
	}
	shown := map[ARN]map[string]string{}
	for some := range slices.Chunk(all, mostARNs) {
		in := &tagging.GetResourcesInput{}
		for _, s := range some {
			in.ResourceARNList = append(in.ResourceARNList, string(arn(*s.Last)))
		}
		out, err := client.GetResources(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, r := range out.ResourceTagMappingList {
			shown[ARN(sdk.ToString(r.ResourceARN))] = TagMap(r.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
		}
	}
	tags := make([]map[string]string, len(all))
	for i, s := range all {
		shows := shown[arn(*s.Last)]
		if want, have := TagSides(s.Cloud, declared(s.Want), s.Owner, shows); maps.Equal(want, have) {
			tags[i] = shows
		}
	}
	return tags, nil
}

// EachOf reads what several objects have no common call for, each by its own, at the same time. It leaves out those of which skip
// says so.
func EachOf[S, L any](ctx context.Context, all []S, skip func(i int) bool, read func(ctx context.Context, i int, s S) (L, error)) []*Answer[L] {
	answers := make([]*Answer[L], len(all))
	var group errgroup.Group
	for i, s := range all {
		if skip(i) {
			continue
		}
		group.Go(func() error {
			live, err := read(ctx, i, s)
			answers[i] = &Answer[L]{live, err}
			return nil
		})
	}
	_ = group.Wait() // each answer has its error
	return answers
}
