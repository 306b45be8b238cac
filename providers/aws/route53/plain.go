package route53

import (
	"context"
	"errors"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// CNAME is a record with one value, which other kinds of AWS need for themselves, as a certificate proves a domain by one.
type CNAME struct{ Name, Value string }

const cnameTTL = 5 * time.Minute

func (c CNAME) set() types.ResourceRecordSet {
	return types.ResourceRecordSet{
		Name: new(hostOf(c.Name)), Type: types.RRTypeCname, TTL: new(int64(cnameTTL / time.Second)),
		ResourceRecords: []types.ResourceRecord{{Value: new(c.Value)}},
	}
}

// HasCNAME reports whether a zone has a record with this value. A zone that is not there has none. The record is read together with
// others of the zone that are wanted at the same time; one that this does not show is asked for by itself.
func HasCNAME(ctx context.Context, cloud kind.Cloud, zone string, c CNAME) (bool, error) {
	live, err := recordAt(ctx, cloud, key{zone: bare(zone), name: hostOf(c.Name), kind: string(types.RRTypeCname)})
	switch {
	case err == nil && c.valueOf(live.set):
		return true, nil
	case err != nil && !errors.Is(err, reconcile.ErrAbsent):
		return false, err
	}
	set, err := cnameAt(ctx, cloud, zone, c)
	return set != nil, err
}

// valueOf reports whether a record has the value.
func (c CNAME) valueOf(set types.ResourceRecordSet) bool {
	return slices.ContainsFunc(set.ResourceRecords, func(r types.ResourceRecord) bool { return hostOf(sdkaws.ToString(r.Value)) == hostOf(c.Value) })
}

// PutCNAME makes the zone have a record, and waits until all name servers have it.
func PutCNAME(ctx context.Context, cloud kind.Cloud, zone string, c CNAME) error {
	info, err := change(ctx, cloud, bare(zone), types.ChangeActionUpsert, c.set())
	if err != nil {
		return err
	}
	return inSync(ctx, cloud, info)
}

// DropCNAME takes a record away where it has this value.
func DropCNAME(ctx context.Context, cloud kind.Cloud, zone string, c CNAME) error {
	set, err := cnameAt(ctx, cloud, zone, c)
	if err != nil || set == nil {
		return err
	}
	_, err = change(ctx, cloud, bare(zone), types.ChangeActionDelete, *set)
	return err
}

// cnameAt is the record as the zone has it, nil for none with this value.
func cnameAt(ctx context.Context, cloud kind.Cloud, zone string, c CNAME) (*types.ResourceRecordSet, error) {
	out, err := clientOf(cloud).ListResourceRecordSets(ctx, &sdk.ListResourceRecordSetsInput{
		HostedZoneId: new(bare(zone)), StartRecordName: new(hostOf(c.Name)), StartRecordType: types.RRTypeCname, MaxItems: new(int32(1)),
	})
	if err != nil {
		return nil, aws.OrNone(err)
	}
	for _, set := range out.ResourceRecordSets {
		if hostOf(sdkaws.ToString(set.Name)) == hostOf(c.Name) && set.Type == types.RRTypeCname && c.valueOf(set) {
			return &set, nil
		}
	}
	return nil, nil
}
