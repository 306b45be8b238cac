package route53

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

func quickZone() reconcile.Any { return kindtest.Quick(zoneKind, 300*time.Millisecond) }

func TestZoneCalls(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	props := obj{"name": "Example.com.", "comment": "of the shop"}
	out := w.settled(t, kind, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"Route53.CreateHostedZone", "Route53.ChangeTagsForResource"}) {
		t.Errorf("a creation makes %v", have)
	}
	servers, _ := out.Attrs["nameServers"].([]any)
	if len(servers) != 4 || out.Attrs["name"] != "example.com" || out.Attrs["arn"] != "arn:aws:route53:::hostedzone/"+out.Identity {
		t.Errorf("it is %v", out.Attrs)
	}
	w.Server.Reset()
	w.settled(t, kind, props, &out)
	if have := w.Wrote(); len(have) > 0 || len(w.Server.Calls()) != 2 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.Server.Calls()))
	}
}

// TestZoneFaults breaks one call of a creation at a time. In the end there is one zone.
func TestZoneFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault awstest.Fault
		wrote int
	}{
		{"the answer of the creation is lost", awstest.Fault{Op: "Route53.CreateHostedZone", Kind: awstest.DropAnswer}, 2},
		{"the creation never arrives", awstest.Fault{Op: "Route53.CreateHostedZone", Kind: awstest.CutBefore}, 3},
		{"the creation is throttled", awstest.Fault{Op: "Route53.CreateHostedZone", Kind: awstest.Throttle}, 3},
		{"the tags cannot be written at first", awstest.Fault{Op: "Route53.ChangeTagsForResource", Kind: awstest.ServerError}, 3},
		{"the zone is not found by its id at first", awstest.Fault{Op: "Route53.GetHostedZone", Kind: awstest.ServerError}, 2},
		{"zones cannot be listed at first", awstest.Fault{Op: "Route53.ListHostedZonesByName", Kind: awstest.Throttle}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kind := newWorld(t), quickZone()
			armed := w.Server.Inject(c.fault)
			if _, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"name": "example.com"}, nil), reconcile.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := w.Wrote(); len(have) != c.wrote || len(w.zones(t)) != 1 {
				t.Errorf("wrote %v, want %d calls, and there are %v", have, c.wrote, w.zones(t))
			}
		})
	}
}

// make is a zone of somebody else's.
func (w *world) make(t *testing.T, name string, network string) string {
	t.Helper()
	in := &sdk.CreateHostedZoneInput{Name: &name, CallerReference: new(fmt.Sprint(name, network, len(w.like.used)))}
	if network != "" {
		in.HostedZoneConfig = &types.HostedZoneConfig{PrivateZone: true}
		in.VPC = &types.VPC{VPCId: &network, VPCRegion: types.VPCRegionUsEast1}
	}
	out, err := w.Others.CreateHostedZone(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return bare(*out.HostedZone.Id)
}

// TestReadZone looks for zones that the stack does not own, as ReadHostedZone does.
func TestReadZone(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	public := w.make(t, "example.com", "")
	private := w.make(t, "example.com", "vpc-1")
	other := w.make(t, "example.com", "vpc-2")
	within := w.make(t, "inside.example.com", "vpc-1")
	w.make(t, "www.example.com", "")
	for name, c := range map[string]struct {
		props obj
		want  string
	}{
		"the public one":      {obj{"name": "Example.COM."}, public},
		"by network":          {obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-1"}}}, private},
		"by another network":  {obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-2"}}}, other},
		"the only one":        {obj{"name": "inside.example.com"}, within},
		"none of that name":   {obj{"name": "example.org"}, ""},
		"none of the network": {obj{"name": "example.com", "vpcs": list{obj{"vpcId": "vpc-3"}}}, ""},
	} {
		job := w.Job(t, kind, c.props, nil)
		job.Query, job.Mark, job.Nonce = true, reconcile.Mark{}, ""
		look, err := kind.Look(t.Context(), job)
		if err != nil || look.Absent != (c.want == "") || look.Identity != c.want {
			t.Errorf("%s: %s, want %s, %v", name, look.Identity, c.want, err)
		}
	}
	w.make(t, "example.com", "")
	job := w.Job(t, kind, obj{"name": "example.com"}, nil)
	job.Mark = reconcile.Mark{}
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, reconcile.ErrAmbiguous) || !strings.Contains(err.Error(), public) {
		t.Errorf("two public zones: %v", err)
	}
	for _, id := range []string{public, "/hostedzone/" + public, "arn:aws:route53:::hostedzone/" + public} {
		job.ID = id
		if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != public {
			t.Errorf("%s leads to %s, %v", id, look.Identity, err)
		}
	}
}

// TestZoneNotOurs is about a zone of the name that is there already: it is found, and not ours.
func TestZoneNotOurs(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	w.make(t, "example.com", "")
	job := w.Job(t, kind, obj{"name": "example.com"}, nil)
	refused := errors.New("not ours")
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if adopt.Judge(adopt.Evidence{Identity: look.Identity, Tagged: look.Owner, Tag: job.Mark, Taggable: kind.Spec().Marked}).Verdict == adopt.Foreign {
			return refused
		}
		return nil
	}})
	if !errors.Is(err, refused) || len(w.Wrote()) > 0 {
		t.Errorf("%v, %v", err, w.Wrote())
	}
}

// TestFoundByReference is about a creation that was cut before the zone got its tags, and whose record was lost: the
// caller reference tells whose it is, and of which generation.
func TestFoundByReference(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	w.Server.Inject(awstest.Fault{Op: "Route53.ChangeTagsForResource", Kind: awstest.Deny, Times: -1})
	if _, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"name": "example.com"}, nil), reconcile.Hooks{}); err == nil {
		t.Fatal("tags were written")
	}
	job := w.Job(t, kind, obj{"name": "example.com"}, nil)
	job.Nonce = ""
	look, err := kind.Look(t.Context(), job)
	if want := (reconcile.Mark{Stack: "shop", Stage: "test", Address: "www", Generation: 1}); err != nil || look.Owner != want {
		t.Errorf("owner %+v, %v", look.Owner, err)
	}
	next := w.Job(t, kind, obj{"name": "example.com"}, nil)
	next.Mark.Generation = 2
	if look, err := kind.Look(t.Context(), next); err != nil || !look.Absent {
		t.Errorf("the next generation is found already: %s, %v", look.Identity, err)
	}
	other := w.Job(t, kind, obj{"name": "example.com"}, nil)
	other.Mark.Address = "another"
	if look, err := kind.Look(t.Context(), other); err != nil || !look.Owner.IsZero() {
		t.Errorf("another address owns it: %+v, %v", look.Owner, err)
	}
}

// TestZoneDelete is about a zone with records in it.
func TestZoneDelete(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	out := w.settled(t, kind, obj{"name": "example.com"}, nil)
	job := w.Job(t, kind, nil, &out)
	for i := range 230 {
		w.do(t, out.Identity, types.ChangeActionCreate, plainSet(fmt.Sprintf("h%d.example.com", i), "A", "192.0.2.1"))
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, obj{"name": "example.com"}, &out))
	if err != nil || !look.Holds {
		t.Errorf("it holds data: %v, %v", look.Holds, err)
	}
	want := reconcile.Found{Kind: recordType, Identity: bare(out.Identity) + "/h0.example.com/A"}
	if held, err := kind.Held(t.Context(), job, 231); err != nil || len(held) != 230 || !slices.Contains(held, want) {
		t.Errorf("it holds %d records: %v, %v", len(held), held, err)
	}
	w.Server.Reset()
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || len(w.Wrote()) > 0 {
		t.Errorf("deleted without leave: %v, %v", err, w.Wrote())
	}
	job.MayDelete = true
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"Route53.ChangeResourceRecordSets", "Route53.DeleteHostedZone"}) || len(w.zones(t)) != 0 {
		t.Errorf("deleted by %v", have)
	}
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}

// TestOwnRecords: the NS and the SOA of a zone are not emptied out of it.
func TestOwnRecords(t *testing.T) {
	w := newWorld(t)
	w.do(t, zoneOne, types.ChangeActionCreate, plainSet("example.com", "NS", "ns-1.awsdns-00.com"))
	w.do(t, zoneOne, types.ChangeActionCreate, plainSet("sub.example.com", "NS", "ns-1.example.net"))
	client := clientOf(w.Cloud)
	changes, err := emptying(t.Context(), client, zoneOne, "example.com")
	if err != nil || len(changes) != 1 || sdkaws.ToString(changes[0].ResourceRecordSet.Name) != "sub.example.com." {
		t.Errorf("%v, %v", changes, err)
	}
}

// TestDiscoverZones lists them with their owner tags, ten at a time.
func TestDiscoverZones(t *testing.T) {
	w, kind := newWorld(t), quickZone()
	for i := range 12 {
		w.make(t, fmt.Sprintf("d%d.example.com", i), "")
	}
	out := w.settled(t, kind, obj{"name": "example.com"}, nil)
	place, _ := w.Cloud.Place(t.Context())
	w.Server.Reset()
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place})
	if err != nil || len(found) != 13 || w.Server.Count("Route53.ListTagsForResources") != 2 {
		t.Errorf("%d found in %d calls: %v", len(found), len(w.Server.Calls()), err)
	}
	for _, f := range found {
		if (f.Mark != nil) != (f.Identity == out.Identity) || f.Mark != nil && f.Mark.Address != "www" {
			t.Errorf("%+v with %+v", f, f.Mark)
		}
	}
}

func TestMatch(t *testing.T) {
	for arn, want := range map[aws.ARN]string{
		"arn:aws:route53:::hostedzone/Z1": "Z1", "arn:aws:route53:::healthcheck/h1": "", "arn:aws:s3:::hostedzone/Z1": "",
	} {
		if kind, id, _, ok := Service().Match(arn); ok != (want != "") || ok && (id != want || kind != zoneType) {
			t.Errorf("%s: %s %s %v", arn, kind, id, ok)
		}
	}
}

func TestCheckZone(t *testing.T) {
	kindtest.Refuses(t, zoneKind.Erase(), kindtest.Refusals{
		{obj{}, "name"},
		{obj{"name": "a..b"}, "want a domain name"},
		{obj{"name": strings.Repeat("a", 256)}, "want a domain name"},
		{obj{"name": "a.b", "vpcs": list{obj{}}}, "vpcId"},
		{obj{"name": "a.b", "vpcs": list{obj{"vpcId": "v"}}, "delegationSetId": "N1"}, "no name servers"},
		{obj{"name": "a.b", "comment": strings.Repeat("a", 257)}, "256"},
		{obj{"name": "a.b", "tags": obj{"aws:x": "x"}}, "not for authors"},
		{obj{"name": "a.b"}, ""},
	})
}
