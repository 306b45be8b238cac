package route53

import (
	"context"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// The zones of every world.
const (
	zoneOne = "Z1111111111111"
	zoneTwo = "Z2222222222222"
)

// world is an account of its own, seen by the kinds through one client and by others through another.
type world struct {
	server *awstest.Server
	like   *likeAWS
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, like: like, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	if _, err := w.cloud.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Reset()
	return w
}

// listing are the records of a zone as others see them.
func (w *world) listing(t kindtest.T, zone string) []types.ResourceRecordSet {
	t.Helper()
	out, err := w.others.ListResourceRecordSets(context.Background(), &sdk.ListResourceRecordSetsInput{HostedZoneId: &zone})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return out.ResourceRecordSets
}

// records are all of the world as others see them.
func (w *world) records(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, zone := range []string{zoneOne, zoneTwo} {
		for _, set := range w.listing(t, zone) {
			seen := obj{
				"zone": zone, "name": *set.Name, "type": string(set.Type), "set": sdkaws.ToString(set.SetIdentifier), "region": string(set.Region),
				"failover": string(set.Failover), "health": sdkaws.ToString(set.HealthCheckId), "many": sdkaws.ToBool(set.MultiValueAnswer),
			}
			if set.TTL != nil {
				seen["ttl"] = *set.TTL
			}
			if set.Weight != nil {
				seen["weight"] = *set.Weight
			}
			var values list
			for _, r := range set.ResourceRecords {
				values = append(values, *r.Value)
			}
			seen["values"] = values
			if a := set.AliasTarget; a != nil {
				seen["alias"] = list{*a.HostedZoneId, *a.DNSName, a.EvaluateTargetHealth}
			}
			if g := set.GeoLocation; g != nil {
				seen["geo"] = list{sdkaws.ToString(g.ContinentCode), sdkaws.ToString(g.CountryCode), sdkaws.ToString(g.SubdivisionCode)}
			}
			if g := set.GeoProximityLocation; g != nil {
				seen["near"] = list{sdkaws.ToString(g.AWSRegion), sdkaws.ToString(g.LocalZoneGroup), sdkaws.ToInt32(g.Bias)}
				if c := g.Coordinates; c != nil {
					seen["point"] = list{*c.Latitude, *c.Longitude}
				}
			}
			if c := set.CidrRoutingConfig; c != nil {
				seen["net"] = list{*c.CollectionId, *c.LocationName}
			}
			all = append(all, seen)
		}
	}
	return all
}

// do is a change that somebody else makes.
func (w *world) do(t kindtest.T, zone string, action types.ChangeAction, set types.ResourceRecordSet) {
	t.Helper()
	if _, err := w.others.ChangeResourceRecordSets(context.Background(), &sdk.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{Action: action, ResourceRecordSet: &set}}},
	}); err != nil {
		t.Fatalf("%s: %v", action, err)
	}
}

// plainSet is a record of somebody else's.
func plainSet(name, kind, value string) types.ResourceRecordSet {
	return types.ResourceRecordSet{Name: &name, Type: types.RRType(kind), TTL: new(int64(60)), ResourceRecords: []types.ResourceRecord{{Value: &value}}}
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(objects func(*world, kindtest.T) []any) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		w := newWorld(t.(*testing.T))
		ws[w.dir] = w
		return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return objects(w, t) }}
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDenied", "Throttling", "ServiceUnavailable")(class)
}

// job is a thing as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := kindtest.Job(t, kind, w.cloud, "www", props, last)
	job.Nonce = "nonce"
	return job
}

// settled makes a thing match and fails the test when it does not.
func (w *world) settled(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Operation)
	}
	return out
}
