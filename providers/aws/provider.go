package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// Service is what the package of one service offers.
type Service struct {
	Kinds []reconcile.Any
	// Match tells which of its kinds an ARN belongs to, and the kind's identity of that thing.
	Match func(arn string) (kind, identity string, ok bool)
}

// Provider puts services together.
func Provider(services ...Service) reconcile.Provider {
	shared := newLimits()
	p := reconcile.Provider{
		Name:     "aws",
		Settings: &Settings{},
		Open: func(_ context.Context, settings any) (reconcile.Cloud, error) {
			s, ok := settings.(*Settings)
			if !ok {
				return nil, fmt.Errorf("settings are a %T", settings)
			}
			return &Cloud{settings: *s, limits: shared}, nil
		},
		Discover: func(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
			return discover(ctx, scope, services)
		},
	}
	for _, s := range services {
		p.Kinds = append(p.Kinds, s.Kinds...)
	}
	return p
}

// discover asks for everything that carries the stage's tags, in as few calls as there are pages. What the tagging
// service does not know (a subscription, an object) is found by its name or parent instead.
func discover(ctx context.Context, scope reconcile.Scope, services []Service) ([]reconcile.Found, error) {
	client, err := Client(ctx, scope.Cloud, func(cfg aws.Config) *tagging.Client { return tagging.NewFromConfig(cfg) })
	if err != nil {
		return nil, err
	}
	pages := tagging.NewGetResourcesPaginator(client, &tagging.GetResourcesInput{
		ResourcesPerPage: aws.Int32(100),
		TagFilters: []types.TagFilter{
			{Key: aws.String(adopt.TagStack), Values: []string{scope.Mark.Stack}},
			{Key: aws.String(adopt.TagStage), Values: []string{scope.Mark.Stage}},
		},
	})
	var things []reconcile.Found
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.ResourceTagMappingList {
			if f, ok := foundOf(r, scope.Place, services); ok {
				things = append(things, f)
			}
		}
	}
	return things, nil
}

func foundOf(r types.ResourceTagMapping, place reconcile.Place, services []Service) (reconcile.Found, bool) {
	tags := make(map[string]string, len(r.Tags))
	for _, t := range r.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	mark := adopt.MarkOf(tags)
	for _, s := range services {
		if s.Match == nil {
			continue
		}
		if kind, identity, ok := s.Match(aws.ToString(r.ResourceARN)); ok {
			return reconcile.Found{Kind: kind, Place: place, Identity: identity, Mark: &mark}, true
		}
	}
	return reconcile.Found{}, false
}
