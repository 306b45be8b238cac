package route53

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// recordHands change each aspect of a record as somebody else would: by one call that takes everything.
func recordHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			zone := to.Attrs["hostedZoneId"].(string)
			for _, set := range w.listing(t, zone) {
				w.do(t, zone, types.ChangeActionDelete, set)
			}
			return nil
		}),
	}
	for _, a := range recordTable.Attributes() {
		if !a.Immutable && a.Path != "multiValueAnswer" {
			hands[a.Path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
				p := kindtest.PropsOf(t, recordTable, to.Props)
				w.do(t, p.HostedZoneID, types.ChangeActionUpsert, byHand(p))
				return nil
			})
		}
	}
	return hands
}

// byHand is a record as somebody writes it who knows Route 53.
func byHand(p RecordProps) types.ResourceRecordSet {
	set := types.ResourceRecordSet{Name: &p.Name, Type: types.RRType(p.Type)}
	if p.Alias != nil {
		set.AliasTarget = &types.AliasTarget{HostedZoneId: &p.Alias.HostedZoneID, DNSName: &p.Alias.DNSName, EvaluateTargetHealth: p.Alias.EvaluateTargetHealth}
	} else {
		set.TTL = new(int64(300))
	}
	if p.TTL != nil {
		set.TTL = new(int64(*p.TTL / time.Second))
	}
	for _, v := range p.Values {
		if p.Type == "TXT" && !strings.HasPrefix(v, `"`) {
			v = `"` + v[:min(255, len(v))] + `"`
		}
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: new(v)})
	}
	filled := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	set.SetIdentifier, set.HealthCheckId = filled(p.SetIdentifier), filled(p.HealthCheckID)
	set.Region, set.Failover = types.ResourceRecordSetRegion(p.Region), types.ResourceRecordSetFailover(p.Failover)
	if p.Weight != nil {
		set.Weight = new(int64(*p.Weight))
	}
	if p.MultiValueAnswer {
		set.MultiValueAnswer = new(true)
	}
	if g := p.GeoLocation; g != nil {
		set.GeoLocation = &types.GeoLocation{ContinentCode: filled(g.ContinentCode), CountryCode: filled(g.CountryCode), SubdivisionCode: filled(g.SubdivisionCode)}
	}
	if g := p.GeoProximity; g != nil {
		set.GeoProximityLocation = &types.GeoProximityLocation{AWSRegion: filled(g.AWSRegion), LocalZoneGroup: filled(g.LocalZoneGroup), Bias: new(int32(g.Bias))}
		if g.Latitude != "" {
			set.GeoProximityLocation.Coordinates = &types.Coordinates{Latitude: &g.Latitude, Longitude: &g.Longitude}
		}
	}
	if c := p.CIDR; c != nil {
		set.CidrRoutingConfig = &types.CidrRoutingConfig{CollectionId: &c.CollectionID, LocationName: &c.LocationName}
	}
	return set
}
