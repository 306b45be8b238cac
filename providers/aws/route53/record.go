package route53

import (
	"net/netip"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRecord is a record as it was seen.
type liveRecord struct {
	key key
	set types.ResourceRecordSet
}

// key is what a record is found by.
type key struct{ zone, name, kind, set string }

type (
	recordSite = reconcile.Site[RecordProps, Record]
	recordDiff = reconcile.Diff[liveRecord]
)

var recordKind = &reconcile.Kind[RecordProps, liveRecord, Record]{
	Type: recordType,
	Doc: "A record of Route 53, with values or as an alias, and with any routing policy. A record carries no mark: one that is " +
		"there already counts as ours when it is what is declared, and is never written over otherwise, unless it is adopted. " +
		"After a lost record of the stage, one that the program no longer mentions is not found. Traffic policies are not offered.",

	Observe:     observeRecord,
	ObserveMany: observeRecords,
	Create:      createRecord,
	Compare:     compareRecord,
	Attrs:       func(live liveRecord) Record { return live.key.record() },
	Delete:      deleteRecord,
	Identity:    func(r Record) string { return r.ID },

	Given:    func(want RecordProps) string { return keyOf(want).String() },
	Defaults: recordDefaults,
	Check:    checkRecord,
	Late:     []tree.Path{"values", "healthCheckId"},
	AtBirth:  []string{"id", "hostedZoneId", "name", "type", "setIdentifier"},
	Same:     true,

	Source: source,
	Calls:  []string{"Route53.ListResourceRecordSets", "Route53.ChangeResourceRecordSets", "Route53.GetChange"},
	Permissions: reconcile.Permissions{
		Observe: []string{"route53:ListResourceRecordSets"},
		Create:  []string{"route53:ChangeResourceRecordSets", "route53:GetChange"},
		Update:  []string{"route53:ChangeResourceRecordSets", "route53:GetChange"},
		Delete:  []string{"route53:ChangeResourceRecordSets", "route53:GetChange"},
		Resource: func(place reconcile.Place, name string) []string {
			zone, _, _ := strings.Cut(name, "/")
			arn := "arn:" + aws.Partition(place.Region) + ":route53:::"
			return []string{arn + "hostedzone/" + zone, arn + "change/*"}
		},
	},
}

func keyOf(want RecordProps) key {
	return key{bare(want.HostedZoneID), hostOf(want.Name), want.Type, want.SetIdentifier}
}

// String is the identity of the record: a set identifier may hold anything, and comes last.
func (k key) String() string {
	id := k.zone + "/" + k.name + "/" + k.kind
	if k.set != "" {
		id += "/" + k.set
	}
	return id
}

func (k key) record() Record {
	return Record{ID: k.String(), HostedZoneID: k.zone, Name: k.name, Type: k.kind, SetIdentifier: k.set}
}

// parsed reads an identity.
func parsed(id string) (k key, ok bool) {
	f := strings.SplitN(strings.TrimPrefix(id, "/hostedzone/"), "/", 4)
	if len(f) < 3 {
		return key{}, false
	}
	k = key{zone: f[0], name: hostOf(f[1]), kind: f[2]}
	if len(f) == 4 {
		k.set = f[3]
	}
	return k, true
}

const defaultTTL = 5 * time.Minute

func recordDefaults(want RecordProps) RecordProps {
	if want.Alias == nil {
		aws.OrDefault(&want.TTL, defaultTTL)
	}
	return want
}

// checkRecord finds what Route 53 would refuse.
func checkRecord(want RecordProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	switch {
	case want.Alias != nil && len(want.Values) > 0:
		wrong("values", "an alias has none")
	case want.Alias == nil && len(want.Values) == 0:
		wrong("values", "want some, or an alias")
	case want.Alias != nil && want.TTL != nil:
		wrong("ttl", "an alias has that of its target")
	case want.Type == "CNAME" && len(want.Values) > 1:
		wrong("values", "a CNAME has one")
	}
	if want.TTL != nil && *want.TTL%time.Second != 0 {
		wrong("ttl", "want whole seconds")
	}
	policies := 0
	for _, set := range []bool{
		want.Weight != nil, want.Region != "", want.Failover != "", want.GeoLocation != nil, want.GeoProximity != nil, want.MultiValueAnswer, want.CIDR != nil,
	} {
		if set {
			policies++
		}
	}
	switch {
	case policies > 1:
		wrong("setIdentifier", "want one routing policy")
	case policies == 1 && want.SetIdentifier == "":
		wrong("setIdentifier", "a routing policy needs one")
	case policies == 0 && want.SetIdentifier != "":
		wrong("setIdentifier", "it needs a routing policy")
	}
	for i, v := range want.Values {
		if problem := wrongAddress(want.Type, v); problem != "" {
			wrong(tree.Path("values").Index(i), problem)
		}
	}
	return problems.OrNil()
}

func wrongAddress(kind, value string) string {
	addr, err := netip.ParseAddr(value)
	switch {
	case token.Has(value):
	case kind == "A" && (err != nil || !addr.Is4()):
		return "want an IPv4 address"
	case kind == "AAAA" && (err != nil || !addr.Is6()):
		return "want an IPv6 address"
	}
	return ""
}
