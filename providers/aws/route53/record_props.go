package route53

import "time"

// RecordProps declare a record: the answer to a question for a name and a type, with values or as an alias. Limits are
// those of https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecordSet.html
type RecordProps struct {
	// HostedZoneID is the zone that the record is in. Changing it replaces the record.
	HostedZoneID string `prop:"required"`
	// Name of the record with its domain, such as www.example.com or *.example.com; neither case nor a dot at the end
	// counts. Changing it replaces the record.
	Name string `prop:"required"`
	// Type of the record. Changing it replaces the record; a CNAME stands alone under its name, so that a change from or to
	// it needs the option deleteFirst.
	Type string `prop:"required,enum=A|AAAA|CAA|CNAME|DS|HTTPS|MX|NAPTR|NS|PTR|SOA|SPF|SRV|SSHFP|SVCB|TLSA|TXT"`
	// TTL is how long resolvers keep the answer, in whole seconds. Aliases have that of their target. Default: 5m.
	TTL *time.Duration `prop:"min=0s,max=2147483647s"`
	// Values are the answers; their order does not count. Those of TXT records are plain text, which is quoted and split as
	// DNS wants it, unless they begin with a quote: then they are taken as they are. Default: none, alias is set instead.
	Values []string
	// Alias answers as something of AWS does. Default: none, values are set instead.
	Alias *Alias
	// SetIdentifier tells apart records of one name and type, which one of the routing policies below chooses from.
	// Default: none, one record. Changing it replaces the record.
	SetIdentifier string
	// Weight is a routing policy: the share of answers among the weights of all, from 0 to 255. Default: none.
	Weight *int `prop:"min=0,max=255"`
	// Region is a routing policy: the record of the region nearest by latency answers. Default: none.
	Region string
	// Failover is a routing policy: SECONDARY answers while PRIMARY is not healthy. Default: none.
	Failover string `prop:"enum=PRIMARY|SECONDARY"`
	// GeoLocation is a routing policy: by where the question comes from. Default: none.
	GeoLocation *GeoLocation
	// GeoProximity is a routing policy: by how near the question comes from. Default: none.
	GeoProximity *GeoProximity
	// MultiValueAnswer is a routing policy: up to eight healthy records answer. Default: false.
	MultiValueAnswer bool
	// CIDR is a routing policy: by the network that the question comes from. Default: none.
	CIDR *CIDR
	// HealthCheckID is the health check without which the record is no answer. Default: none.
	HealthCheckID string
}

// Alias answers as something of AWS does, such as a load balancer or a distribution.
type Alias struct {
	// HostedZoneID is that of the target: each service has its own, and a record of the same zone has the zone's.
	HostedZoneID string `prop:"required"`
	// DNSName of the target; neither case nor a dot at the end counts.
	DNSName string `prop:"required"`
	// EvaluateTargetHealth makes the record no answer while its target is not healthy. Default: false.
	EvaluateTargetHealth bool
}

// GeoLocation is where questions come from: a continent, a country, or one with a part of it.
type GeoLocation struct {
	// ContinentCode is of two letters: AF, AN, AS, EU, OC, NA or SA. Default: none.
	ContinentCode string
	// CountryCode is of two letters, * for all that no other record answers. Default: none.
	CountryCode string
	// SubdivisionCode is a state of the country. Default: none.
	SubdivisionCode string
}

// GeoProximity is where an answer is at home: a region, a local zone group, or a point on earth.
type GeoProximity struct {
	// AWSRegion is a region of AWS. Default: none.
	AWSRegion string
	// LocalZoneGroup is a group of local zones, such as us-east-1-bue-1. Default: none.
	LocalZoneGroup string
	// Latitude north of the equator, in degrees with up to two decimals: 49.22. Default: none.
	Latitude string
	// Longitude east of Greenwich, in degrees with up to two decimals: -74.01. Default: none.
	Longitude string
	// Bias makes the area larger, up to 99, or smaller, down to -99. Default: 0.
	Bias int `prop:"min=-99,max=99"`
}

// CIDR is a set of networks.
type CIDR struct {
	// CollectionID is the collection that has the location.
	CollectionID string `prop:"required"`
	// LocationName in the collection, * for all that is in no other.
	LocationName string `prop:"required"`
}

// Record is what others may refer to of a record.
type Record struct {
	// ID is ZONE/NAME/TYPE, with /SETIDENTIFIER after it where there is one.
	ID string
	// HostedZoneID is the zone that the record is in.
	HostedZoneID string
	// Name of the record, in lower case and without a dot at the end.
	Name string
	// Type of the record.
	Type string
	// SetIdentifier of the record, "" without.
	SetIdentifier string
}
