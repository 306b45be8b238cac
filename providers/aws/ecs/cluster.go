package ecs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// NewCluster declares a cluster.
func NewCluster(s *athanor.Stack, name string, p ClusterProps, opts ...athanor.Option) Cluster {
	return athanor.Declare(s, clusterKind, name, p, opts...)
}

// ReadCluster uses a cluster that the stack does not own: by its name or ARN, or by ClusterProps that name it.
//
//	shop := ecs.ReadCluster(s, "shop", "shop")
func ReadCluster(s *athanor.Stack, name string, by any) Cluster {
	return athanor.Read(s, clusterKind, name, by)
}

// ClusterProps declare a cluster: a name under which services run. Limits are those of
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCluster.html
type ClusterProps struct {
	// Name of the cluster: up to 255 letters, digits, - and _. Default: none, a name is generated. Changing it replaces the cluster.
	Name string
	// ContainerInsights says what CloudWatch is sent of services and tasks, which is paid for: nothing, or metrics of each service, or of
	// each task and container too. The default of an account is not asked for.
	ContainerInsights *string `prop:"enum=disabled|enabled|enhanced,default=disabled" wire:"-"`
	// Tags of the cluster, beside the owner tags. Default: none.
	Tags map[string]string
}

// Cluster is what others may refer to of a cluster.
type Cluster struct {
	// ARN of the cluster.
	ARN aws.ARN `attr:"early"`
	// Name of the cluster: what services run in.
	Name string `attr:"early"`
}

// liveCluster is an observed cluster.
type liveCluster struct {
	attrs  Cluster
	have   ClusterProps
	tags   map[string]string
	status string
}

type clusterSite = kind.Site[ClusterProps, Cluster]

var clusterTable = kind.TableOf[ClusterProps]()

var clusterKind = &kind.Kind[ClusterProps, liveCluster, Cluster]{
	Type: clusterType,
	Doc: "A cluster of Amazon ECS, in which services run on AWS Fargate, with its metrics and tags. Capacity providers, Service Connect, the " +
		"encryption of storage and the logs of commands are not managed, and stay. A cluster is deleted once no service is left in it.",

	Observe:    aws.Together(clusterType, observeCluster, observeClusters),
	Create:     createCluster,
	Compare:    compareCluster,
	Attributes: func(live liveCluster) Cluster { return live.attrs },
	Delete: func(ctx context.Context, s clusterSite) error {
		return call(ctx, s.Cloud, "DeleteCluster", kind.Document{"cluster": s.Last.Name}, nil)
	},
	Identity: func(c Cluster) string { return string(c.ARN) },

	Props: clusterTable,
	Unique: func(want ClusterProps) []string {
		return aws.Declares("AWS::ECS::Cluster", want.Name)
	},
	Named: &kind.Named[ClusterProps, liveCluster]{
		Given: func(want ClusterProps) string { return want.Name },
		Rule:  func(ClusterProps) kind.NameRule { return kind.NameRule{Max: 255, Marks: "-_"} },
		Live:  func(live liveCluster) string { return live.attrs.Name },
	},
	Owner: tagged(
		func(want ClusterProps) map[string]string { return want.Tags },
		func(live liveCluster) map[string]string { return live.tags }, func(live liveCluster) aws.ARN { return live.attrs.ARN }),
	Status: func(live liveCluster) kind.Status {
		if live.status == "ACTIVE" {
			return kind.Ready()
		}
		return kind.Busy("the cluster is " + live.status)
	},
	List: listClusters,
	Bulk: aws.InBulk(observeCluster, observeClusters),

	EventuallyVisible: aws.EventuallyVisible,
	// Services that are being deleted are in it until their tasks have stopped.
	Timeouts: kind.Timeouts{Delete: 20 * time.Minute},

	API: aws.API("ECS", "ecs", aws.Source(source), kind.Permissions{
		Observe:  []string{"DescribeClusters"},
		List:     []string{"ListClusters"},
		Create:   []string{"CreateCluster", "TagResource"},
		Update:   []string{"UpdateClusterSettings", "TagResource", "UntagResource"},
		Delete:   []string{"DeleteCluster"},
		Resource: aws.On("ecs", "cluster/"),
	}),
}

func clusterARN(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "ecs", "cluster/"+name)
}

func clusterOf(location kind.Location, name string) Cluster {
	return Cluster{ARN: clusterARN(location, name), Name: name}
}

// mostClusters is how many one call describes:
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeClusters.html
const mostClusters = 100

// describeClusters are clusters as ECS shows them, by their names. Those that are deleted, which it shows for a while, are left out.
func describeClusters(ctx context.Context, cloud kind.Cloud, names []string) (map[string]kind.Document, error) {
	out, err := answered(ctx, cloud, "DescribeClusters", kind.Document{"clusters": names, "include": []string{"SETTINGS", "TAGS"}})
	found := map[string]kind.Document{}
	for _, shown := range documents(out["clusters"]) {
		if text(shown, "status") != "INACTIVE" {
			found[text(shown, "clusterName")] = shown
		}
	}
	return found, err
}

func observeCluster(ctx context.Context, s clusterSite) (live liveCluster, err error) {
	name, err := aws.NameOf(s, aws.Names[Cluster]{
		Of:  func(c Cluster) string { return c.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "cluster/") },
		ARN: clusterARN,
	})
	if err != nil {
		return live, err
	}
	found, err := describeClusters(ctx, s.Cloud, []string{name})
	switch {
	case err != nil:
		return live, aws.Absent(err)
	case found[name] == nil:
		return live, missing("cluster")
	}
	return readCluster(s, found[name]), nil
}

// observeClusters reads many clusters by one call for each hundred.
func observeClusters(ctx context.Context, all []clusterSite) ([]*aws.Answer[liveCluster], error) {
	answers := make([]*aws.Answer[liveCluster], 0, len(all))
	for some := range slices.Chunk(all, mostClusters) {
		var names []string
		for _, s := range some {
			names = append(names, s.Last.Name)
		}
		found, err := describeClusters(ctx, all[0].Cloud, names)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			var answer *aws.Answer[liveCluster]
			if shown := found[s.Last.Name]; shown != nil {
				answer = &aws.Answer[liveCluster]{Value: readCluster(s, shown)}
			}
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

const insights = "containerInsights"

func readCluster(s clusterSite, shown kind.Document) liveCluster {
	live := liveCluster{attrs: clusterOf(s.Location, text(shown, "clusterName")), tags: tagsIn(shown), status: text(shown, "status")}
	for _, setting := range documents(shown["settings"]) {
		if text(setting, "name") == insights {
			live.have.ContainerInsights = new(text(setting, "value"))
		}
	}
	clusterTable.Default(&live.have)
	return live
}

func settings(want ClusterProps) []kind.Document {
	return []kind.Document{{"name": insights, "value": *want.ContainerInsights}}
}

func createCluster(ctx context.Context, s clusterSite) (Cluster, error) {
	return clusterOf(s.Location, s.Name), call(ctx, s.Cloud, "CreateCluster", kind.Document{
		"clusterName": s.Name, "settings": settings(s.Want), "tags": aws.JSONTags[aws.LowerTag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner)),
	}, nil)
}

func compareCluster(d *kind.Diff[liveCluster], want ClusterProps, live liveCluster) {
	kind.Compare(d, clusterTable, want, live.have, kind.Set("UpdateClusterSettings", func(ctx context.Context, u kind.Update[liveCluster]) error {
		return aws.NotYet(call(ctx, u.Cloud, "UpdateClusterSettings", kind.Document{"cluster": u.Live.attrs.Name, "settings": settings(want)}, nil))
	}))
}

func listClusters(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	err = pages(ctx, scope.Cloud, "ListClusters", "clusterArns", kind.Document{}, func(arn aws.ARN) bool {
		if name := clusterName(string(arn)); strings.HasPrefix(name, scope.Prefix) {
			all = append(all, kind.Found{Kind: clusterType, Place: scope.Place, Identity: string(arn), Name: name})
		}
		return true
	})
	return all, err
}
