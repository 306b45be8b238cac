package route53

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/kindtest"
)

// TestGolden has record sets as https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecordSet.html names
// their members, but for the values, which depend on the type.
func TestGolden(t *testing.T) {
	kindtest.GoldenStruct(t, recordTable, www(obj{
		"ttl": "5m", "setIdentifier": "blue", "weight": int64(20), "region": "eu-west-1", "failover": "PRIMARY", "healthCheckId": "h",
		"geoLocation": obj{"countryCode": "US", "subdivisionCode": "CA"}, "multiValueAnswer": true,
		"cidr": obj{"collectionId": "c1", "locationName": "home"},
	}), &sdk.ResourceRecordSet{
		Name: new("www.example.com"), Type: sdk.RRTypeA, TTL: new(int64(300)), SetIdentifier: new("blue"), Weight: new(int64(20)),
		Region: sdk.ResourceRecordSetRegionEuWest1, Failover: sdk.ResourceRecordSetFailoverPrimary, HealthCheckId: new("h"),
		GeoLocation: &sdk.GeoLocation{CountryCode: new("US"), SubdivisionCode: new("CA")}, MultiValueAnswer: new(true),
		CidrRoutingConfig: &sdk.CidrRoutingConfig{CollectionId: new("c1"), LocationName: new("home")},
	})
	kindtest.GoldenStruct(t, recordTable, www(obj{
		"alias":        obj{"hostedZoneId": "Z35SXDOTRQ7X7K", "dnsName": "lb.example.com", "evaluateTargetHealth": true},
		"geoProximity": obj{"latitude": "49.22", "longitude": "-74.01", "bias": int64(10)},
	}), &sdk.ResourceRecordSet{
		Name: new("www.example.com"), Type: sdk.RRTypeA, MultiValueAnswer: new(false),
		AliasTarget: &sdk.AliasTarget{HostedZoneId: new("Z35SXDOTRQ7X7K"), DNSName: new("lb.example.com"), EvaluateTargetHealth: true},
		GeoProximityLocation: &sdk.GeoProximityLocation{
			Coordinates: &sdk.Coordinates{Latitude: new("49.22"), Longitude: new("-74.01")}, Bias: new(int32(10)),
		},
	})
}
