package route53

import "github.com/athanor-dev/athanor/providers/aws"

// HostedZoneProps declare a hosted zone. Limits are those of
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_CreateHostedZone.html
type HostedZoneProps struct {
	// Name of the domain, such as example.com; neither case nor a dot at the end counts. Changing it replaces the zone.
	Name string `prop:"required"`
	// Comment, up to 256 characters. Default: none.
	Comment string
	// VPCs make the zone a private one, which answers in these networks alone. Changing it replaces the zone when that
	// makes a public one private or the other way; the networks of a private one change in place. Default: none, a public
	// zone.
	VPCs []VPC
	// DelegationSetID is a reusable set of name servers, for public zones. Changing it replaces the zone. Default: none,
	// Route 53 assigns four.
	DelegationSetID string
	// ForceDestroy deletes the records that are in the zone with it. Default: false.
	ForceDestroy bool
	// Tags of the zone, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// VPC is a network that asks a private zone.
type VPC struct {
	// VPCID of the network.
	VPCID string `prop:"required"`
	// Region of the network. Default: none, that of the stack.
	Region string
}

// HostedZone is what others may refer to of a hosted zone.
type HostedZone struct {
	// ID of the zone, such as Z1D633PJN98FT9.
	ID string
	// ARN of the zone.
	ARN aws.ARN
	// Name of the domain, in lower case and without a dot at the end.
	Name string
	// NameServers are those that the domain is to be delegated to. A private zone has none.
	NameServers []string
}
