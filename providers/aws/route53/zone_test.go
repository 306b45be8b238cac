package route53

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// zones are all of the world as others see them.
func (w *world) zones(t kindtest.T) []any {
	t.Helper()
	out, err := w.others.ListHostedZones(context.Background(), &sdk.ListHostedZonesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, z := range out.HostedZones {
		zone, err := w.others.GetHostedZone(context.Background(), &sdk.GetHostedZoneInput{Id: z.Id})
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
		tags := w.tags(t, bare(*z.Id))
		delete(tags, "athanor:generation") // differs between two makings
		seen["vpcs"], seen["tags"] = vpcs, tags
		all = append(all, seen)
	}
	return all
}

func (w *world) tags(t kindtest.T, id string) map[string]string {
	t.Helper()
	out, err := w.others.ListTagsForResource(context.Background(), &sdk.ListTagsForResourceInput{ResourceType: types.TagResourceTypeHostedzone, ResourceId: &id})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	return tagMap(out.ResourceTagSet)
}

// zoneHands change each aspect of a zone as somebody else would.
func (ws worlds) zoneHands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{}
	for path, do := range zoneEdits {
		hands[path] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			var p HostedZoneProps
			if err := props.Load(to.Props, &p); err != nil {
				t.Fatalf("%v", err)
			}
			if err := do(t, ws[w.Dir], new(to.Attrs["id"].(string)), p); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	return hands
}

var zoneEdits = map[tree.Path]func(kindtest.T, *world, *string, HostedZoneProps) error{
	"": func(_ kindtest.T, w *world, id *string, _ HostedZoneProps) error {
		_, err := w.others.DeleteHostedZone(context.Background(), &sdk.DeleteHostedZoneInput{Id: id})
		return err
	},
	"comment": func(_ kindtest.T, w *world, id *string, p HostedZoneProps) error {
		_, err := w.others.UpdateHostedZoneComment(context.Background(), &sdk.UpdateHostedZoneCommentInput{Id: id, Comment: &p.Comment})
		return err
	},
	// A private zone is never without a network: another keeps the place meanwhile.
	"vpcs": func(_ kindtest.T, w *world, id *string, p HostedZoneProps) error {
		ctx, meanwhile := context.Background(), types.VPC{VPCId: new("vpc-0"), VPCRegion: types.VPCRegionUsEast1}
		have, err := w.others.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: id})
		if err != nil {
			return err
		}
		add := []types.VPC{meanwhile}
		for _, v := range p.VPCs {
			add = append(add, types.VPC{VPCId: &v.VPCID, VPCRegion: types.VPCRegion(cmp.Or(v.Region, "us-east-1"))})
		}
		for i, v := range add {
			if _, err := w.others.AssociateVPCWithHostedZone(ctx, &sdk.AssociateVPCWithHostedZoneInput{HostedZoneId: id, VPC: &v}); err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			for _, old := range have.VPCs {
				if _, err := w.others.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: id, VPC: &old}); err != nil {
					return err
				}
			}
		}
		_, err = w.others.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: id, VPC: &meanwhile})
		return err
	},
	"tags": func(t kindtest.T, w *world, id *string, p HostedZoneProps) error {
		in := &sdk.ChangeTagsForResourceInput{ResourceType: types.TagResourceTypeHostedzone, ResourceId: id}
		in.RemoveTagKeys = slices.DeleteFunc(slices.Collect(maps.Keys(w.tags(t, *id))), func(k string) bool { _, wanted := p.Tags[k]; return wanted || adopt.IsMark(k) })
		for k, v := range p.Tags {
			in.AddTags = append(in.AddTags, types.Tag{Key: new(k), Value: new(v)})
		}
		if len(in.RemoveTagKeys) == 0 {
			in.RemoveTagKeys = nil
		}
		_, err := w.others.ChangeTagsForResource(context.Background(), in)
		return err
	},
}

func zoneSuite(private bool) kindtest.Suite {
	ws := worlds{}
	hands := ws.zoneHands()
	if !private {
		delete(hands, "vpcs")
	}
	return kindtest.Suite{
		Kind:  reconcile.Erase(zoneKind),
		World: ws.make((*world).zones),
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
			"name":            "a zone keeps its name for life",
			"delegationSetId": "a zone keeps its name servers for life",
			"forceDestroy":    "it counts when the zone is deleted",
			"vpcs":            "a zone stays public for life; TestPrivateZone has the networks of a private one",
		},
		Silent: map[tree.Path]string{"forceDestroy": "it counts when the zone is deleted"},
	}
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
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case "there and back, and twice writes nothing", "a crash at any call heals", "three starts end equal", "a thing can be written down as it is", "unknown props",
			"every leaf that somebody changes is seen and repaired":
			t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
		}
	}
}
