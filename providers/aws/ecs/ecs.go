// Package ecs offers clusters and services of Amazon ECS that run on AWS Fargate, each service with its task definition.
//
// It knows a service's containers, sizes, roles, network, load balancers and deployments, and the revisions of its task definition, which it
// registers and deregisters. It does not know instances of EC2, single tasks, schedules, scaling policies and Service Connect; how calls are
// made and judged is the business of package aws.
package ecs

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed cluster.go container.go service.go
var source embed.FS

const (
	clusterType = "aws.ecs.Cluster"
	serviceType = "aws.ecs.Service"
)

// Service is what this package offers. Clusters, services and task definitions through Cloud Control, AWS::ECS::Cluster and others, stay
// usable.
func Service() aws.Service {
	return aws.Service{
		Kinds:      []reconcile.Any{clusterKind.Erase(), serviceKind.Erase()},
		Constructs: map[string]athanor.Construct{serviceType: serviceConstruct()},
		Filters:    []string{"ecs:cluster", "ecs:service"},
		Also:       map[string]string{"AWS::ECS::Cluster": clusterType, "AWS::ECS::Service": serviceType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			if p.Service != "ecs" {
				return "", "", "", false
			}
			if name, ok := strings.CutPrefix(p.Resource, "cluster/"); ok {
				return clusterType, string(arn), name, true
			}
			resource, ok := strings.CutPrefix(p.Resource, "service/")
			_, name, isFound := strings.Cut(resource, "/") // ARNs of old name no cluster
			return serviceType, string(arn), name, ok && isFound
		},
	}
}

// service returns ECS as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{Name: "ECS", Signing: "ecs", Host: "ecs", Target: "AmazonEC2ContainerServiceV20141113", Version: "1.1"}
}

func call(ctx context.Context, cloud kind.Cloud, operation string, in kind.Document, out any) error {
	return service().Call(ctx, cloud, operation, in, out)
}

// answered makes one call and returns the whole answer, with whole numbers as such.
func answered(ctx context.Context, cloud kind.Cloud, operation string, in kind.Document) (kind.Document, error) {
	var out json.RawMessage
	if err := call(ctx, cloud, operation, in, &out); err != nil {
		return nil, err
	}
	v, err := tree.Decode(out)
	object, _ := v.(map[string]any)
	return object, err
}

// documents are the members of a list that are objects.
func documents(list any) []kind.Document {
	items, _ := list.([]any)
	all := make([]kind.Document, 0, len(items))
	for _, item := range items {
		if d, ok := item.(map[string]any); ok {
			all = append(all, d)
		}
	}
	return all
}

func text(d kind.Document, member string) string {
	s, _ := d.Get(member).(string)
	return s
}

func number(d kind.Document, member string) int64 {
	n, _ := d.Get(member).(int64)
	return n
}

// pages lists all ARNs that an operation shows, a hundred by one call. An ARN is passed on until yield returns false.
func pages(ctx context.Context, cloud kind.Cloud, operation, member string, in kind.Document, yield func(aws.ARN) bool) error {
	in["maxResults"] = 100
	for {
		page, err := answered(ctx, cloud, operation, in)
		if err != nil {
			return err
		}
		list, _ := page[member].([]any)
		for _, arn := range list {
			if s, ok := arn.(string); ok && !yield(aws.ARN(s)) {
				return nil
			}
		}
		next := text(page, "nextToken")
		if in["nextToken"] = next; next == "" {
			return nil
		}
	}
}

// tagsIn are the tags of a described object.
func tagsIn(shown kind.Document) map[string]string {
	tags := map[string]string{}
	for _, t := range documents(shown["tags"]) {
		tags[text(t, "key")] = text(t, "value")
	}
	return tags
}

// tagged are the two calls that change the tags of a kind's objects.
func tagged[P, L any](declared func(P) map[string]string, live func(L) map[string]string, arn func(L) aws.ARN) kind.Tagged[P, L] {
	return aws.Tagged(declared, live, "TagResource",
		func(ctx context.Context, u kind.Update[L], tags map[string]string) error {
			return call(ctx, u.Cloud, "TagResource", kind.Document{"resourceArn": arn(u.Live), "tags": aws.JSONTags[aws.LowerTag](tags)}, nil)
		},
		func(ctx context.Context, u kind.Update[L], keys []string) error {
			return call(ctx, u.Cloud, "UntagResource", kind.Document{"resourceArn": arn(u.Live), "tagKeys": keys}, nil)
		})
}

// clusterName is the name of a cluster that a prop names, which may be its ARN. What is not known yet stays as it is.
func clusterName(cluster string) string {
	if token.Has(cluster) {
		return cluster
	}
	if p, ok := aws.ARN(cluster).Parse(); ok {
		return strings.TrimPrefix(p.Resource, "cluster/")
	}
	return cluster
}

// clusterIn is the name of a cluster in a location.
func clusterIn(location kind.Location, cluster string) (string, error) {
	name := clusterName(cluster)
	if p, ok := aws.ARN(cluster).Parse(); ok && (p.Service != "ecs" || p.Account != location.Account || p.Region != location.Region) {
		return "", aws.Foreign(cluster, location)
	}
	return name, nil
}

// missing is the answer for what a description does not show.
func missing(what string) error {
	return fmt.Errorf("%w: ECS shows no %s of this name", reconcile.ErrAbsent, what)
}
