package route53

import (
	"context"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

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

type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, recordKind.Erase(), "www"), like}
	w.Located(t, server.Account)
	return w
}

// listing are the records of a zone as others see them.
func (w *world) listing(t kindtest.T, zone string) []types.ResourceRecordSet {
	t.Helper()
	out, err := w.Others.ListResourceRecordSets(context.Background(), &sdk.ListResourceRecordSetsInput{HostedZoneId: &zone})
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
	if _, err := w.Others.ChangeResourceRecordSets(context.Background(), &sdk.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{Action: action, ResourceRecordSet: &set}}},
	}); err != nil {
		t.Fatalf("%s: %v", action, err)
	}
}

// plainSet is a record of somebody else's.
func plainSet(name, kind, value string) types.ResourceRecordSet {
	return types.ResourceRecordSet{Name: &name, Type: types.RRType(kind), TTL: new(int64(60)), ResourceRecords: []types.ResourceRecord{{Value: &value}}}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDenied", "Throttling", "ServiceUnavailable")(class)
}

// settled makes a resource match and fails the test when it does not.
func (w *world) settled(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	return kindtest.Settled(t, kind, w.Job(t, kind, props, last))
}
