package route53

import (
	"context"
	"reflect"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareRecord states every aspect. All that differ are changed by one call.
func compareRecord(d *recordDiff, want RecordProps, live liveRecord) {
	k := keyOf(want)
	reconcile.Fixed(d, "hostedZoneId", k.zone, live.key.zone)
	reconcile.Fixed(d, "name", k.name, live.key.name)
	reconcile.Fixed(d, "type", k.kind, live.key.kind)
	reconcile.Fixed(d, "setIdentifier", aws.OrNil(k.set), aws.OrNil(live.key.set))
	upsert := upsertRecord(want)
	have := propsOf(live.set)
	for _, path := range aspects {
		if path == "values" {
			// Both are read as what is there: a type that differs, or is known later, is no difference of the values.
			reconcile.List(d, path, valuesOf(have.Type, want.Values), valuesOf(have.Type, have.Values), upsert)
			continue
		}
		reconcile.Value(d, path, aspect(want, path), aspect(have, path), upsert)
	}
}

// aspects are the paths that one call changes.
var aspects = []tree.Path{
	"ttl", "values", "alias", "weight", "region", "failover", "geoLocation", "geoProximity", "multiValueAnswer", "cidr", "healthCheckId",
}

// aspect is what props say at a path, in one form.
func aspect(p RecordProps, path tree.Path) any {
	switch path {
	case "ttl":
		return p.TTL
	case "alias":
		if p.Alias == nil {
			return nil
		}
		return Alias{bare(p.Alias.HostedZoneID), hostOf(p.Alias.DNSName), p.Alias.EvaluateTargetHealth}
	case "weight":
		return p.Weight
	case "region":
		return aws.OrNil(p.Region)
	case "failover":
		return aws.OrNil(p.Failover)
	case "geoLocation":
		return p.GeoLocation
	case "geoProximity":
		return p.GeoProximity
	case "multiValueAnswer":
		return p.MultiValueAnswer
	case "cidr":
		return p.CIDR
	case "healthCheckId":
		return aws.OrNil(p.HealthCheckID)
	}
	return nil
}

// copyAspect makes what to says at a path what from says.
func copyAspect(to *RecordProps, from RecordProps, path tree.Path) {
	switch path {
	case "ttl":
		to.TTL = from.TTL
	case "values":
		to.Values = from.Values
	case "alias":
		to.Alias = from.Alias
	case "weight":
		to.Weight = from.Weight
	case "region":
		to.Region = from.Region
	case "failover":
		to.Failover = from.Failover
	case "geoLocation":
		to.GeoLocation = from.GeoLocation
	case "geoProximity":
		to.GeoProximity = from.GeoProximity
	case "multiValueAnswer":
		to.MultiValueAnswer = from.MultiValueAnswer
	case "cidr":
		to.CIDR = from.CIDR
	case "healthCheckId":
		to.HealthCheckID = from.HealthCheckID
	}
}

// upsertRecord writes the whole record: what is not to be changed, since it is ignored or left for later, keeps its live
// value.
func upsertRecord(want RecordProps) *reconcile.Operation[liveRecord] {
	return &reconcile.Operation[liveRecord]{Name: "ChangeResourceRecordSets", Do: func(ctx context.Context, on reconcile.On[liveRecord]) error {
		written := propsOf(on.Live.set)
		for _, path := range on.Changed {
			copyAspect(&written, want, path)
		}
		return aws.NotYet(change(ctx, on.Cloud, on.Live.key.zone, types.ChangeActionUpsert, whole(written), nil))
	}}
}

// whole is a record as Route 53 takes it.
func whole(p RecordProps) types.ResourceRecordSet {
	set := types.ResourceRecordSet{
		Name: new(hostOf(p.Name)), Type: types.RRType(p.Type), SetIdentifier: aws.OrNil(p.SetIdentifier), Region: types.ResourceRecordSetRegion(p.Region),
		Failover: types.ResourceRecordSetFailover(p.Failover), MultiValueAnswer: aws.OrNil(p.MultiValueAnswer), HealthCheckId: aws.OrNil(p.HealthCheckID),
	}
	for _, v := range valuesOf(p.Type, p.Values) {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: &v})
	}
	if p.TTL != nil {
		set.TTL = new(int64(*p.TTL / time.Second))
	}
	if a := p.Alias; a != nil {
		set.AliasTarget = &types.AliasTarget{HostedZoneId: new(bare(a.HostedZoneID)), DNSName: new(hostOf(a.DNSName)), EvaluateTargetHealth: a.EvaluateTargetHealth}
	}
	if p.Weight != nil {
		set.Weight = new(int64(*p.Weight))
	}
	if g := p.GeoLocation; g != nil {
		set.GeoLocation = &types.GeoLocation{
			ContinentCode: aws.OrNil(g.ContinentCode), CountryCode: aws.OrNil(g.CountryCode), SubdivisionCode: aws.OrNil(g.SubdivisionCode),
		}
	}
	if g := p.GeoProximity; g != nil {
		set.GeoProximityLocation = &types.GeoProximityLocation{AWSRegion: aws.OrNil(g.AWSRegion), LocalZoneGroup: aws.OrNil(g.LocalZoneGroup), Bias: aws.OrNil(int32(g.Bias))}
		if g.Latitude != "" || g.Longitude != "" {
			set.GeoProximityLocation.Coordinates = &types.Coordinates{Latitude: &g.Latitude, Longitude: &g.Longitude}
		}
	}
	if c := p.CIDR; c != nil {
		set.CidrRoutingConfig = &types.CidrRoutingConfig{CollectionId: &c.CollectionID, LocationName: &c.LocationName}
	}
	return set
}

// propsOf is what would be declared of a record as it is there.
func propsOf(set types.ResourceRecordSet) RecordProps {
	p := RecordProps{
		Name: sdkaws.ToString(set.Name), Type: string(set.Type), SetIdentifier: sdkaws.ToString(set.SetIdentifier), Region: string(set.Region),
		Failover: string(set.Failover), MultiValueAnswer: sdkaws.ToBool(set.MultiValueAnswer), HealthCheckID: sdkaws.ToString(set.HealthCheckId),
	}
	for _, r := range set.ResourceRecords {
		p.Values = append(p.Values, sdkaws.ToString(r.Value))
	}
	if set.TTL != nil {
		p.TTL = new(time.Duration(*set.TTL) * time.Second)
	}
	if a := set.AliasTarget; a != nil {
		p.Alias = &Alias{sdkaws.ToString(a.HostedZoneId), sdkaws.ToString(a.DNSName), a.EvaluateTargetHealth}
	}
	if set.Weight != nil {
		p.Weight = new(int(*set.Weight))
	}
	if g := set.GeoLocation; g != nil {
		p.GeoLocation = &GeoLocation{sdkaws.ToString(g.ContinentCode), sdkaws.ToString(g.CountryCode), sdkaws.ToString(g.SubdivisionCode)}
	}
	if g := set.GeoProximityLocation; g != nil {
		p.GeoProximity = &GeoProximity{AWSRegion: sdkaws.ToString(g.AWSRegion), LocalZoneGroup: sdkaws.ToString(g.LocalZoneGroup), Bias: int(sdkaws.ToInt32(g.Bias))}
		if c := g.Coordinates; c != nil {
			p.GeoProximity.Latitude, p.GeoProximity.Longitude = sdkaws.ToString(c.Latitude), sdkaws.ToString(c.Longitude)
		}
	}
	if c := set.CidrRoutingConfig; c != nil {
		p.CIDR = &CIDR{sdkaws.ToString(c.CollectionId), sdkaws.ToString(c.LocationName)}
	}
	return p
}

// equals reports that two looks saw the same.
func (l liveRecord) equals(m liveRecord) bool {
	a, b := propsOf(l.set), propsOf(m.set)
	a.Values, b.Values = valuesOf(a.Type, a.Values), valuesOf(b.Type, b.Values)
	return reflect.DeepEqual(a, b)
}
