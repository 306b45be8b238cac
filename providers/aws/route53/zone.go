package route53

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveZone is a hosted zone as it was seen.
type liveZone struct {
	place       reconcile.Place
	zone        types.HostedZone
	delegation  string
	nameServers []string
	vpcs        []types.VPC
	tags        map[string]string
	born        reconcile.Mark // by its caller reference, zero when it is not ours
}

type (
	zoneSite = reconcile.Site[HostedZoneProps, HostedZone]
	zoneDiff = reconcile.Diff[liveZone]
)

var zoneKind = &reconcile.Kind[HostedZoneProps, liveZone, HostedZone]{
	Type: zoneType,
	Doc: "A hosted zone of Route 53, public or private. A zone with records beside its own holds data, and deleting it needs " +
		"leave. One of the same name (and network, for private ones) that is there already is not ours until it is adopted. Query " +
		"logging, DNSSEC and accelerated recovery are not managed.",

	Observe:  observeZone,
	Create:   createZone,
	Compare:  compareZone,
	Attrs:    zoneAttrs,
	Delete:   deleteZone,
	Identity: func(z HostedZone) string { return z.ID },

	Check:   checkZone,
	AtBirth: []string{"id", "arn", "name", "nameServers"},

	Owner:     liveZone.owner,
	Holds:     liveZone.holds,
	Held:      heldByZone,
	MayDelete: func(want HostedZoneProps) bool { return want.ForceDestroy },
	List:      listZones,

	Source: source,
	Calls: []string{
		"Route53.GetHostedZone", "Route53.ListHostedZonesByName", "Route53.ListHostedZones", "Route53.ListTagsForResource",
		"Route53.ListTagsForResources", "Route53.ListResourceRecordSets", "Route53.CreateHostedZone", "Route53.DeleteHostedZone",
		"Route53.UpdateHostedZoneComment", "Route53.AssociateVPCWithHostedZone", "Route53.DisassociateVPCFromHostedZone",
		"Route53.ChangeTagsForResource", "Route53.ChangeResourceRecordSets", "Route53.GetChange",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"route53:GetHostedZone", "route53:ListHostedZonesByName", "route53:ListTagsForResource"},
		List:    []string{"route53:ListHostedZones", "route53:ListTagsForResources"},
		Create:  []string{"route53:CreateHostedZone", "route53:ChangeTagsForResource", "route53:GetChange", "ec2:DescribeVpcs"},
		Update: []string{
			"route53:UpdateHostedZoneComment", "route53:AssociateVPCWithHostedZone", "route53:DisassociateVPCFromHostedZone",
			"route53:ChangeTagsForResource", "route53:GetChange", "ec2:DescribeVpcs",
		},
		Delete: []string{"route53:DeleteHostedZone", "route53:ListResourceRecordSets", "route53:ChangeResourceRecordSets"},
		// The id of a zone is Route 53's to choose.
		Resource: func(place reconcile.Place, _ string) []string {
			arn := "arn:" + aws.Partition(place.Region) + ":route53:::"
			return []string{arn + "hostedzone/*", arn + "change/*"}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonroute53.html
		Anywhere: []string{"route53:CreateHostedZone", "route53:ListHostedZones", "route53:ListHostedZonesByName", "ec2:DescribeVpcs"},
	},
}

func zoneAttrs(live liveZone) HostedZone {
	id := bare(*live.zone.Id)
	return HostedZone{ID: id, ARN: zoneARN(live.place, id), Name: hostOf(*live.zone.Name), NameServers: live.nameServers}
}

func zoneARN(place reconcile.Place, id string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(place.Region), Service: "route53", Resource: "hostedzone/" + id}.ARN()
}

func (l liveZone) owner() reconcile.Mark {
	if mark := adopt.MarkOf(l.tags); !mark.IsZero() {
		return mark
	}
	return l.born
}

// ownRecords are the NS and the SOA that every zone has.
const ownRecords = 2

func (l liveZone) holds() bool {
	n := l.zone.ResourceRecordSetCount
	return n != nil && *n > ownRecords
}

func (l liveZone) private() bool { return l.zone.Config != nil && l.zone.Config.PrivateZone }

// checkZone finds what Route 53 would refuse.
func checkZone(want HostedZoneProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if name := hostOf(want.Name); !token.Has(name) && (len(name) > 255 || strings.Contains(name, "..") || strings.HasPrefix(name, ".")) {
		wrong("name", "want a domain name, up to 255 characters")
	}
	if len(want.VPCs) > 0 && want.DelegationSetID != "" {
		wrong("delegationSetId", "a private zone has no name servers of its own")
	}
	if !token.Has(want.Comment) && len([]rune(want.Comment)) > 256 {
		wrong("comment", "want up to 256 characters")
	}
	return problems.OrNil()
}
