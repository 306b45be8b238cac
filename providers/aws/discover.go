package aws

import (
	"context"

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
	ctx = reconcile.ReadOnly(ctx)
	client, err := Client(scope.Cloud, func(cfg sdk.Config) *tagging.Client { return tagging.NewFromConfig(cfg) })
	if err != nil {
		return nil, err
	}
	input := &tagging.GetResourcesInput{
		ResourcesPerPage: new(int32(100)),
		TagFilters: []types.TagFilter{
			{Key: new(adopt.TagStack), Values: []string{scope.Mark.Stack}},
			{Key: new(adopt.TagStage), Values: []string{scope.Mark.Stage}},
		},
	}
	for _, s := range services {
		input.ResourceTypeFilters = append(input.ResourceTypeFilters, s.Filters...)
	}
	var all []reconcile.Found
	pages := tagging.NewGetResourcesPaginator(client, input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.ResourceTagMappingList {
			if f, ok := found(r, scope.Place, services); ok {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

func found(r types.ResourceTagMapping, place reconcile.Place, services []Service) (reconcile.Found, bool) {
	tags := make(map[string]string, len(r.Tags))
	for _, t := range r.Tags {
		tags[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	mark := adopt.MarkOf(tags)
	for _, s := range services {
		if s.Match == nil {
			continue
		}
		if kind, identity, name, ok := s.Match(ARN(sdk.ToString(r.ResourceARN))); ok {
			return reconcile.Found{Kind: kind, Place: place, Identity: identity, Name: name, Mark: &mark}, true
		}
	}
	return reconcile.Found{}, false
}
