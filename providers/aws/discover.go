package aws

import (
	"context"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// discover asks for everything that carries a stage's mark, a page of a hundred at a time. The tagging service
// follows the others with some delay, and shows deleted things for a while: what it shows is looked at before
// anything is done with it. What has no tags there (a subscription, an object) is found by its kind's own listing.
func discover(ctx context.Context, scope reconcile.Scope, services []Service) ([]reconcile.Found, error) {
	filters := []types.TagFilter{
		{Key: new(adopt.TagStack), Values: []string{scope.Mark.Stack}},
		{Key: new(adopt.TagStage), Values: []string{scope.Mark.Stage}},
	}
	var only []string
	for _, s := range services {
		if s.Everything {
			only = nil
			break
		}
		only = append(only, s.Filters...)
	}
	var all []reconcile.Found
	err := tagged(reconcile.ReadOnly(ctx), scope.Cloud, filters, only, func(r types.ResourceTagMapping) {
		if f, ok := found(r, scope.Place, services); ok {
			all = append(all, f)
		}
	})
	return all, err
}

// Marked are the ARNs of what carries the mark of an address, in any generation. The tagging service shows them with
// some delay, and deleted things for a while.
func Marked(ctx context.Context, cloud reconcile.Cloud, mark reconcile.Mark) ([]ARN, error) {
	tags := adopt.Tags(mark)
	var filters []types.TagFilter
	for _, key := range []string{adopt.TagStack, adopt.TagStage, adopt.TagAddress} {
		filters = append(filters, types.TagFilter{Key: &key, Values: []string{tags[key]}})
	}
	var all []ARN
	err := tagged(ctx, cloud, filters, nil, func(r types.ResourceTagMapping) {
		all = append(all, ARN(sdk.ToString(r.ResourceARN)))
	})
	return all, err
}

// tagged goes through what the tagging service shows; only are its resource types, none for all.
func tagged(ctx context.Context, cloud reconcile.Cloud, filters []types.TagFilter, only []string, each func(types.ResourceTagMapping)) error {
	client, err := Client(cloud, tagging.ServiceID, tagging.NewFromConfig)
	if err != nil {
		return err
	}
	pages := tagging.NewGetResourcesPaginator(getResourcesCall(client.GetResources), &tagging.GetResourcesInput{
		ResourcesPerPage: new(int32(100)), TagFilters: filters, ResourceTypeFilters: only,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.ResourceTagMappingList {
			each(r)
		}
	}
	return nil
}

func found(r types.ResourceTagMapping, place reconcile.Place, services []Service) (reconcile.Found, bool) {
	mark := adopt.MarkOf(TagMap(r.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value }))
	for _, s := range services {
		if s.Match == nil {
			continue
		}
		if kind, identity, name, ok := s.Match(ARN(sdk.ToString(r.ResourceARN))); ok && !replaced(kind, services) {
			return reconcile.Found{Kind: kind, Place: place, Identity: identity, Name: name, Mark: &mark}, true
		}
	}
	return reconcile.Found{}, false
}

// replaced reports a type of the registry that a service has a kind of its own for.
func replaced(kind string, services []Service) bool {
	return slices.ContainsFunc(services, func(s Service) bool { return s.Registry[kind] != "" })
}
