package route53

import (
	"cmp"
	"context"
	"slices"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// compareZone states every aspect.
func compareZone(d *zoneDiff, want HostedZoneProps, live liveZone) {
	reconcile.Fixed(d, "name", hostOf(want.Name), hostOf(sdkaws.ToString(live.zone.Name)))
	reconcile.Fixed(d, "delegationSetId", aws.OrNil(want.DelegationSetID), aws.OrNil(live.delegation))
	if wanted, have := networks(want.VPCs, d.Place()), live.networks(d.Place()); (len(want.VPCs) > 0) == live.private() {
		reconcile.Value(d, "vpcs", wanted, have, putNetworks(want))
	} else {
		reconcile.Fixed(d, "vpcs", wanted, have)
	}
	comment := ""
	if live.zone.Config != nil {
		comment = sdkaws.ToString(live.zone.Config.Comment)
	}
	reconcile.Value(d, "comment", aws.OrNil(want.Comment), aws.OrNil(comment), putComment(want))
	aws.CompareTags(d, want.Tags, live.tags, "ChangeTagsForResource", putTags, dropTags)
}

// networks are VPCs in one form and order, nil for none.
func networks(vpcs []VPC, place reconcile.Place) any {
	var list []any
	for _, v := range slices.SortedFunc(slices.Values(vpcs), func(a, b VPC) int { return cmp.Compare(a.VPCID, b.VPCID) }) {
		m := map[string]any{"vpcId": v.VPCID}
		if v.Region != "" && v.Region != place.Region {
			m["region"] = v.Region
		}
		list = append(list, m)
	}
	if list == nil {
		return nil
	}
	return list
}

func (l liveZone) networks(place reconcile.Place) any {
	var vpcs []VPC
	for _, v := range l.vpcs {
		vpcs = append(vpcs, VPC{VPCID: sdkaws.ToString(v.VPCId), Region: string(v.VPCRegion)})
	}
	return networks(vpcs, place)
}

// putNetworks lets new ones in before it takes others out: a private zone is never without one.
func putNetworks(want HostedZoneProps) *reconcile.Operation[liveZone] {
	return &reconcile.Operation[liveZone]{Name: "AssociateVPCWithHostedZone", Do: func(ctx context.Context, on reconcile.On[liveZone]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		same := func(a, b *types.VPC) bool { return *a.VPCId == *b.VPCId && a.VPCRegion == b.VPCRegion }
		gone := slices.Clone(on.Live.vpcs)
		for _, v := range want.VPCs {
			network := networkOf(v, on.Place)
			if at := slices.IndexFunc(gone, func(have types.VPC) bool { return same(&have, network) }); at >= 0 {
				gone = slices.Delete(gone, at, at+1)
				continue
			}
			out, err := client.AssociateVPCWithHostedZone(ctx, &sdk.AssociateVPCWithHostedZoneInput{HostedZoneId: on.Live.zone.Id, VPC: network})
			if err != nil {
				return aws.NotYet(err)
			}
			if err := inSync(ctx, on.Cloud, client, out.ChangeInfo); err != nil {
				return err
			}
		}
		for _, network := range gone {
			out, err := client.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: on.Live.zone.Id, VPC: &network})
			if err != nil {
				return aws.NotYet(err)
			}
			if err := inSync(ctx, on.Cloud, client, out.ChangeInfo); err != nil {
				return err
			}
		}
		return nil
	}}
}

func putComment(want HostedZoneProps) *reconcile.Operation[liveZone] {
	return &reconcile.Operation[liveZone]{Name: "UpdateHostedZoneComment", Do: func(ctx context.Context, on reconcile.On[liveZone]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		_, err = client.UpdateHostedZoneComment(ctx, &sdk.UpdateHostedZoneCommentInput{Id: new(bare(*on.Live.zone.Id)), Comment: aws.OrNil(want.Comment)})
		return aws.NotYet(err)
	}}
}

func putTags(ctx context.Context, on reconcile.On[liveZone], tags map[string]string) error {
	var list []types.Tag
	for k, v := range tags {
		list = append(list, types.Tag{Key: new(k), Value: new(v)})
	}
	return changeTags(ctx, on, &sdk.ChangeTagsForResourceInput{AddTags: list})
}

func dropTags(ctx context.Context, on reconcile.On[liveZone], keys []string) error {
	return changeTags(ctx, on, &sdk.ChangeTagsForResourceInput{RemoveTagKeys: keys})
}

func changeTags(ctx context.Context, on reconcile.On[liveZone], in *sdk.ChangeTagsForResourceInput) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	in.ResourceType, in.ResourceId = types.TagResourceTypeHostedzone, new(bare(*on.Live.zone.Id))
	_, err = client.ChangeTagsForResource(ctx, in)
	return aws.NotYet(err)
}
