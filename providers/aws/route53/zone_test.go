package route53

import (
	"cmp"
	"context"
	"slices"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// zones are all of the world as others see them.
func (w *world) zones(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.ListHostedZones(context.Background(), &sdk.ListHostedZonesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, z := range out.HostedZones {
		zone, err := w.Others.GetHostedZone(context.Background(), &sdk.GetHostedZoneInput{Id: z.Id})
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		seen := obj{"name": *z.Name, "comment": sdkaws.ToString(z.Config.Comment), "private": z.Config.PrivateZone, "records": len(w.like.records[bare(*z.Id)])}
		if set := zone.DelegationSet; set != nil {
			seen["delegation"] = sdkaws.ToString(set.Id)
		}
		var vpcs []string
		for _, v := range zone.VPCs {
			vpcs = append(vpcs, *v.VPCId+" "+string(v.VPCRegion))
		}
		slices.Sort(vpcs)
		seen["vpcs"], seen["tags"] = vpcs, awstest.Owned(w.tags(t, bare(*z.Id)))
		all = append(all, seen)
	}
	return all
}

func (w *world) tags(t kindtest.T, id string) map[string]string {
	t.Helper()
	out, err := w.Others.ListTagsForResource(context.Background(), &sdk.ListTagsForResourceInput{ResourceType: types.TagResourceTypeHostedzone, ResourceId: &id})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	return tagMap(out.ResourceTagSet)
}

// zoneHands change each aspect of a zone as somebody else would.
func zoneHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{"tags": ws.Hand((*world).retag)}
	for path, do := range zoneEdits {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			var p HostedZoneProps
			if err := props.Load(to.Props, &p); err != nil {
				return err
			}
			return do(t, w, new(to.Attrs["id"].(string)), p)
		})
	}
	return hands
}

var zoneEdits = map[tree.Path]func(kindtest.T, *world, *string, HostedZoneProps) error{
	"": func(_ kindtest.T, w *world, id *string, _ HostedZoneProps) error {
		_, err := w.Others.DeleteHostedZone(context.Background(), &sdk.DeleteHostedZoneInput{Id: id})
		return err
	},
	"comment": func(_ kindtest.T, w *world, id *string, p HostedZoneProps) error {
		_, err := w.Others.UpdateHostedZoneComment(context.Background(), &sdk.UpdateHostedZoneCommentInput{Id: id, Comment: &p.Comment})
		return err
	},
	// A private zone is never without a network: another keeps the place meanwhile.
	"vpcs": func(_ kindtest.T, w *world, id *string, p HostedZoneProps) error {
		ctx, meanwhile := context.Background(), types.VPC{VPCId: new("vpc-0"), VPCRegion: types.VPCRegionUsEast1}
		have, err := w.Others.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: id})
		if err != nil {
			return err
		}
		add := []types.VPC{meanwhile}
		for _, v := range p.VPCs {
			add = append(add, types.VPC{VPCId: &v.VPCID, VPCRegion: types.VPCRegion(cmp.Or(v.Region, "us-east-1"))})
		}
		for i, v := range add {
			if _, err := w.Others.AssociateVPCWithHostedZone(ctx, &sdk.AssociateVPCWithHostedZoneInput{HostedZoneId: id, VPC: &v}); err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			for _, old := range have.VPCs {
				if _, err := w.Others.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: id, VPC: &old}); err != nil {
					return err
				}
			}
		}
		_, err = w.Others.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: id, VPC: &meanwhile})
		return err
	},
}

func (w *world) retag(t kindtest.T, to kindtest.Edited) error {
	ctx, id := context.Background(), new(to.Attrs["id"].(string))
	change := func(in *sdk.ChangeTagsForResourceInput) error {
		in.ResourceType, in.ResourceId = types.TagResourceTypeHostedzone, id
		_, err := w.Others.ChangeTagsForResource(ctx, in)
		return err
	}
	drop := func(keys []string) error { return change(&sdk.ChangeTagsForResourceInput{RemoveTagKeys: keys}) }
	return awstest.Retag(w.tags(t, *id), to, drop, func(tags map[string]string) error {
		list := aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
		return change(&sdk.ChangeTagsForResourceInput{AddTags: list})
	})
}

func zoneSuite(private bool) kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	hands := zoneHands(ws)
	if !private {
		delete(hands, "vpcs")
	}
	return kindtest.Derive(zoneTable, kindtest.Suite{
		Kind:  zoneKind.Erase(),
		World: ws.Make(newWorld, (*world).zones),
		Base:  obj{"name": "example.com", "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"name": "example.com", "comment": "of the shop", "forceDestroy": true, "tags": obj{"team": "web", "cost center": "42"}}},
			{Name: "delegated", Props: obj{"name": "example.org", "delegationSetId": "N1PA6795SAMPLE"}},
			{Name: "private", Props: obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-1"}, obj{"vpcId": "vpc-2", "region": "eu-west-1"}}}},
		},
		Hands:  hands,
		Others: map[tree.Path][]any{"vpcs.*.region": {"us-west-2"}, "vpcs.*.vpcId": {"vpc-9"}},
		Steady: map[tree.Path]string{
			"forceDestroy": "it counts when the zone is deleted",
			"vpcs":         "a zone stays public for life; TestPrivateZone has the networks of a private one",
		},
		Silent: map[tree.Path]string{"forceDestroy": "it counts when the zone is deleted"},
	})
}

func TestHostedZone(t *testing.T) { kindtest.Run(t, zoneSuite(false)) }

// TestPrivateZone is about networks, which change in place among themselves.
func TestPrivateZone(t *testing.T) {
	s := zoneSuite(true)
	s.Base = obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-1"}, obj{"vpcId": "vpc-4", "region": "eu-west-1"}}}
	delete(s.Steady, "vpcs")
	s.Steady["comment"], s.Steady["tags"] = "TestHostedZone changes it", "TestHostedZone changes them"
	delete(s.Hands, "comment")
	delete(s.Hands, "tags")
	s.Variants = []kindtest.Variant{
		{Name: "others", Props: obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-3"}, obj{"vpcId": "vpc-2", "region": "eu-west-1"}}}},
	}
	kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.Crashes, kindtest.ThreeStarts, kindtest.Described, kindtest.Unknown, kindtest.DriftMatrix)
}
