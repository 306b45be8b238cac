package route53

import (
	"maps"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// www is a record with more said of it.
func www(more obj) obj {
	props := obj{"hostedZoneId": zoneOne, "name": "www.example.com", "type": "A"}
	maps.Copy(props, more)
	return props
}

// routed is a record that a routing policy chooses, under a name of its own.
func routed(more obj) obj {
	props := obj{"hostedZoneId": zoneOne, "name": "app.example.com", "type": "A", "values": list{"192.0.2.9"}, "setIdentifier": "blue"}
	maps.Copy(props, more)
	return props
}

func recordVariants() []kindtest.Variant {
	return []kindtest.Variant{
		{Name: "more", Props: www(obj{"values": list{"192.0.2.2", "192.0.2.1"}, "ttl": "1m", "healthCheckId": "11111111-1111-1111-1111-111111111111"})},
		{Name: "alias", Props: www(obj{"alias": obj{"hostedZoneId": "Z35SXDOTRQ7X7K", "dnsName": "LB.example.com", "evaluateTargetHealth": true}})},
		{Name: "wild", Props: obj{
			"hostedZoneId": "/hostedzone/" + zoneTwo, "name": "*.Example.com.", "type": "TXT",
			"values": list{"v=spf1 \"-all\"", strings.Repeat("a", 300), `"one" "two"`},
		}},
		{Name: "weighted", Props: routed(obj{"weight": int64(0)})},
		{Name: "latency", Props: routed(obj{"region": "eu-west-1"})},
		{Name: "failover", Props: routed(obj{"failover": "PRIMARY", "healthCheckId": "22222222-2222-2222-2222-222222222222"})},
		{Name: "country", Props: routed(obj{"geoLocation": obj{"countryCode": "US", "subdivisionCode": "CA"}})},
		{Name: "continent", Props: routed(obj{"geoLocation": obj{"continentCode": "EU"}})},
		{Name: "near", Props: routed(obj{"geoProximity": obj{"awsRegion": "eu-west-1", "bias": int64(10)}})},
		{Name: "local", Props: routed(obj{"geoProximity": obj{"localZoneGroup": "us-east-1-bue-1"}})},
		{Name: "point", Props: routed(obj{"geoProximity": obj{"latitude": "49.22", "longitude": "-74.01"}})},
		{Name: "many", Props: routed(obj{"multiValueAnswer": true})},
		{Name: "net", Props: routed(obj{"cidr": obj{"collectionId": "0d990263-018e-4065-a703-eff731de951e", "locationName": "home"}})},
	}
}

func recordSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(recordTable, kindtest.Suite{
		Kind:     recordKind.Erase(),
		World:    ws.Make(newWorld, (*world).records),
		Base:     www(obj{"values": list{"192.0.2.1"}}),
		Fault:    fault,
		Variants: recordVariants(),
		Hands:    recordHands(ws),
		Others: map[tree.Path][]any{
			"values":                      {list{"192.0.2.77"}},
			"values.*":                    {"192.0.2.77"},
			"region":                      {"eu-north-1"},
			"geoLocation.countryCode":     {"CA"},
			"geoLocation.subdivisionCode": {"NY"},
			"geoLocation.continentCode":   {"AS"},
			"geoProximity.awsRegion":      {"us-west-2"},
			"geoProximity.latitude":       {"50.00"},
			"geoProximity.longitude":      {"10.00"},
		},
		Steady: map[tree.Path]string{
			"multiValueAnswer": "it is the only policy of its record; TestPolicyByHand changes it",
		},
		Silent: map[tree.Path]string{
			"alias":            "values exclude it; TestOtherRecords changes it",
			"setIdentifier":    "it needs a routing policy; TestOtherRecords changes it",
			"weight":           "it needs a set identifier; TestOtherRecords changes it",
			"region":           "it needs a set identifier; TestOtherRecords changes it",
			"failover":         "it needs a set identifier; TestOtherRecords changes it",
			"geoLocation":      "it needs a set identifier; TestOtherRecords changes it",
			"geoProximity":     "it needs a set identifier; TestOtherRecords changes it",
			"multiValueAnswer": "it needs a set identifier; TestOtherRecords changes it",
			"cidr":             "it needs a set identifier; TestOtherRecords changes it",
		},
	})
}

// TestRecord cuts the first variants alone: all others go by the same one call.
func TestRecord(t *testing.T) {
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			s := recordSuite()
			if c.Name == kindtest.Crashes {
				s.Variants = s.Variants[:4]
			}
			c.Do(t, s)
		})
	}
}

// TestOtherRecords is about props that only some records can have: each is changed alone, there and back, and cut.
func TestOtherRecords(t *testing.T) {
	alias := obj{"hostedZoneId": "Z35SXDOTRQ7X7K", "dnsName": "lb.example.com"}
	host := func(kind string) obj {
		return obj{"hostedZoneId": zoneOne, "name": "www.example.com", "type": kind, "values": list{"a.example.net"}}
	}
	for name, c := range map[string]struct {
		base     obj
		variants []kindtest.Variant
		silent   map[tree.Path]string
	}{
		"alias": {www(obj{"alias": alias}), []kindtest.Variant{
			{Name: "healthy", Props: www(obj{"alias": obj{"hostedZoneId": "Z35SXDOTRQ7X7K", "dnsName": "lb.example.com", "evaluateTargetHealth": true}})},
			{Name: "plain", Props: www(obj{"values": list{"192.0.2.1"}, "ttl": "1m"})},
		}, map[tree.Path]string{"values": "an alias excludes them", "ttl": "an alias excludes it"}},
		"weighted": {routed(obj{"weight": int64(10)}), []kindtest.Variant{
			{Name: "heavier", Props: routed(obj{"weight": int64(20), "setIdentifier": "green"})},
			{Name: "latency", Props: routed(obj{"region": "eu-west-1"})},
			{Name: "failover", Props: routed(obj{"failover": "SECONDARY"})},
			{Name: "continent", Props: routed(obj{"geoLocation": obj{"continentCode": "EU"}})},
			{Name: "near", Props: routed(obj{"geoProximity": obj{"awsRegion": "eu-west-1"}})},
			{Name: "many", Props: routed(obj{"multiValueAnswer": true})},
			{Name: "net", Props: routed(obj{"cidr": obj{"collectionId": "0d990263-018e-4065-a703-eff731de951e", "locationName": "home"}})},
		}, map[tree.Path]string{
			"region": "one policy excludes another", "failover": "one policy excludes another", "geoLocation": "one policy excludes another",
			"geoProximity": "one policy excludes another", "multiValueAnswer": "one policy excludes another", "cidr": "one policy excludes another",
		}},
		"type": {host("NS"), []kindtest.Variant{{Name: "pointer", Props: host("PTR")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := recordSuite()
			s.Base, s.Variants, s.Silent = c.base, c.variants, c.silent
			kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset, kindtest.Unknown, kindtest.Described)
			if len(s.Variants) <= 2 { // each goes by one call, as those of TestRecord do
				kindtest.RunOnly(t, s, kindtest.Crashes)
			}
		})
	}
}
