package route53

import (
	"reflect"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	zonesdk "github.com/aws/aws-sdk-go-v2/service/route53"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// TestGolden has record sets as https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecordSet.html names
// their members, but for the values, which depend on the type.
func TestGolden(t *testing.T) {
	awstest.GoldenStruct(t, recordTable, www(obj{
		"ttl": "5m", "setIdentifier": "blue", "weight": int64(20), "region": "eu-west-1", "failover": "PRIMARY", "healthCheckId": "h",
		"geoLocation": obj{"countryCode": "US", "subdivisionCode": "CA"}, "multiValueAnswer": true,
		"cidr": obj{"collectionId": "0d990263-018e-4065-a703-eff731de951e", "locationName": "home"},
	}), &sdk.ResourceRecordSet{
		Name: new("www.example.com"), Type: sdk.RRTypeA, TTL: new(int64(300)), SetIdentifier: new("blue"), Weight: new(int64(20)),
		Region: sdk.ResourceRecordSetRegionEuWest1, Failover: sdk.ResourceRecordSetFailoverPrimary, HealthCheckId: new("h"),
		GeoLocation: &sdk.GeoLocation{CountryCode: new("US"), SubdivisionCode: new("CA")}, MultiValueAnswer: new(true),
		CidrRoutingConfig: &sdk.CidrRoutingConfig{CollectionId: new("0d990263-018e-4065-a703-eff731de951e"), LocationName: new("home")},
	})
	awstest.GoldenStruct(t, recordTable, www(obj{
		"alias":        obj{"hostedZoneId": "Z35SXDOTRQ7X7K", "dnsName": "lb.example.com", "evaluateTargetHealth": true},
		"geoProximity": obj{"latitude": "49.22", "longitude": "-74.01", "bias": int64(10)},
	}), &sdk.ResourceRecordSet{
		Name: new("www.example.com"), Type: sdk.RRTypeA, MultiValueAnswer: new(false),
		AliasTarget: &sdk.AliasTarget{HostedZoneId: new("Z35SXDOTRQ7X7K"), DNSName: new("lb.example.com"), EvaluateTargetHealth: true},
		GeoProximityLocation: &sdk.GeoProximityLocation{
			Coordinates: &sdk.Coordinates{Latitude: new("49.22"), Longitude: new("-74.01")}, Bias: new(int32(10)),
		},
	})
	awstest.GoldenStruct(t, recordTable, www(obj{
		"ttl": "1m", "setIdentifier": "near", "geoLocation": obj{"continentCode": "EU"},
		"geoProximity": obj{"awsRegion": "us-east-1", "localZoneGroup": "us-east-1-bue-1"},
	}), &sdk.ResourceRecordSet{
		Name: new("www.example.com"), Type: sdk.RRTypeA, TTL: new(int64(60)), SetIdentifier: new("near"), MultiValueAnswer: new(false),
		GeoLocation: &sdk.GeoLocation{ContinentCode: new("EU")},
		GeoProximityLocation: &sdk.GeoProximityLocation{
			AWSRegion: new("us-east-1"), LocalZoneGroup: new("us-east-1-bue-1"), Bias: new(int32(0)),
		},
	})
}

// TestGoldenZone has the members of https://docs.aws.amazon.com/Route53/latest/APIReference/API_CreateHostedZone.html
func TestGoldenZone(t *testing.T) {
	site := zoneSite{New: &kind.Creation[HostedZone]{}, Want: HostedZoneProps{
		Name: "inside.example.com", Comment: "of the shop", VPCs: []VPC{{VPCID: "vpc-0a1b2c3d", Region: "eu-west-1"}, {VPCID: "vpc-1"}},
	}}
	have := creation(site)
	awstest.ConformStruct(t, have)
	want := &zonesdk.CreateHostedZoneInput{
		Name: new("inside.example.com"), CallerReference: have.CallerReference,
		HostedZoneConfig: &sdk.HostedZoneConfig{Comment: new("of the shop"), PrivateZone: true},
		VPC:              &sdk.VPC{VPCId: new("vpc-0a1b2c3d"), VPCRegion: sdk.VPCRegionEuWest1},
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("a creation sends\n%+v\nand the documentation says\n%+v", have, want)
	}
}
