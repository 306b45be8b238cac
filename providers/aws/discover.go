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

// discover asks for everything that carries a stage's owner tag, a page of a hundred at a time. The tagging service
// follows the others with some delay, and shows deleted objects for a while: what it shows is read before
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
	err := tagged(reconcile.ReadOnly(ctx), scope.Cloud, "", filters, only, func(r types.ResourceTagMapping) {
		if f, ok := found(r, scope, services); ok {
			all = append(all, f)
		}
	})
	return all, err
}

// Marked are the ARNs of what carries the owner tag of an address, in any generation. The tagging service shows them with
// some delay, and deleted objects for a while.
func Marked(ctx context.Context, cloud reconcile.Cloud, mark reconcile.Mark) ([]ARN, error) {
	return marked(ctx, cloud, "", mark)
}

// MarkedGlobally is [Marked] for what has no region: the tagging service shows it in the home of the partition alone.
func MarkedGlobally(ctx context.Context, cloud reconcile.Cloud, mark reconcile.Mark) ([]ARN, error) {
	home, err := homeOf(ctx, cloud)
	if err != nil {
		return nil, err
	}
	return marked(ctx, cloud, home, mark)
}

func marked(ctx context.Context, cloud reconcile.Cloud, region string, mark reconcile.Mark) ([]ARN, error) {
	tags := adopt.Tags(mark)
	var filters []types.TagFilter
	for _, key := range []string{adopt.TagStack, adopt.TagStage, adopt.TagAddress} {
		filters = append(filters, types.TagFilter{Key: &key, Values: []string{tags[key]}})
	}
	var all []ARN
	err := tagged(ctx, cloud, region, filters, nil, func(r types.ResourceTagMapping) {
		all = append(all, ARN(sdk.ToString(r.ResourceARN)))
	})
	return all, err
}

// MarksGlobally are the owner tags of all objects of a type that has no region, such as cloudfront:distribution, by their ARNs.
func MarksGlobally(ctx context.Context, cloud reconcile.Cloud, resourceType string) (map[ARN]reconcile.Mark, error) {
	home, err := homeOf(ctx, cloud)
	if err != nil {
		return nil, err
	}
	all := map[ARN]reconcile.Mark{}
	filters := []types.TagFilter{{Key: new(adopt.TagStack)}}
	err = tagged(ctx, cloud, home, filters, []string{resourceType}, func(r types.ResourceTagMapping) {
		mark := adopt.MarkOf(TagMap(r.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value }))
		if !mark.IsZero() {
			all[ARN(sdk.ToString(r.ResourceARN))] = mark
		}
	})
	return all, err
}

func homeOf(ctx context.Context, cloud reconcile.Cloud) (string, error) {
	c, err := placeOf(cloud)
	if err != nil {
		return "", err
	}
	place, err := c.Place(ctx)
	return Global(place).Region, err
}

// tagged goes through what the tagging service of a region shows, "" for that of the location; only are its resource types, none
// for all.
func tagged(
	ctx context.Context, cloud reconcile.Cloud, region string, filters []types.TagFilter, only []string, each func(types.ResourceTagMapping),
) error {
	client, err := Client(cloud, tagging.ServiceID+region, tagging.NewFromConfig, func(o *tagging.Options) {
		if region != "" {
			o.Region = region
		}
	})
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

// found reads an object off what the tagging service shows of it. One that a kind of a service and a type of the registry can
// manage is of that type where state or the program says so.
func found(r types.ResourceTagMapping, scope reconcile.Scope, services []Service) (reconcile.Found, bool) {
	mark := adopt.MarkOf(TagMap(r.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value }))
	arn := ARN(sdk.ToString(r.ResourceARN))
	f := reconcile.Found{Place: scope.Place, Mark: &mark}
	ok := false
	if f.Kind, f.Identity, f.Name, ok = matched(arn, services, func(kind string) bool { return !replaced(kind, services) }); !ok || scope.Kinds == nil {
		return f, ok
	}
	for _, kind := range scope.Kinds(mark) {
		if f.Kind == kind || !stands(f.Kind, kind, services) {
			continue
		}
		// Not every ARN names the identity of its type: such an object is found by its kind alone.
		f.Kind, f.Identity, f.Name, ok = matched(arn, services, func(name string) bool { return name == kind })
		return f, ok
	}
	return f, true
}

// matched returns the first match of an ARN whose kind is wanted.
func matched(arn ARN, services []Service, wanted func(kind string) bool) (kind, identity, name string, ok bool) {
	for _, s := range services {
		if s.Match == nil {
			continue
		}
		if kind, identity, name, ok = s.Match(arn); ok && wanted(kind) {
			return kind, identity, name, true
		}
	}
	return "", "", "", false
}

// stands reports that a kind of a service can manage the objects of a type of the registry.
func stands(kind, name string, services []Service) bool {
	return slices.ContainsFunc(services, func(s Service) bool { return s.Also[name] == kind })
}

// replaced reports a type of the registry that a service has a kind of its own for.
func replaced(kind string, services []Service) bool {
	return slices.ContainsFunc(services, func(s Service) bool { return s.Registry[kind] != "" })
}
