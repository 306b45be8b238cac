package acm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestCertificate(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(certificateTable, kindtest.Suite{
		Kind: certificateKind.Erase(),
		World: ws.Make(func(t *testing.T) *world {
			w := newWorld(t)
			w.like.elsewhere = true
			return w
		}, (*world).certificates),
		Base:  obj{"domain": "shop.example", "hostedZoneId": zoneOne, "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "moved", Props: obj{"domain": "shop.example", "hostedZoneId": zoneTwo, "tags": obj{"team": "web", "cost center": "42"}}},
			{Name: "wide", Props: obj{"domain": "shop.example", "alternativeNames": list{"*.shop.example", "www.shop.example"}, "hostedZoneId": zoneOne}},
			{Name: "short", Props: obj{"domain": "www.shop.example", "keyAlgorithm": "EC_prime256v1", "hostedZoneId": zoneOne}},
		},
		Hands:  hands(ws),
		Others: map[tree.Path][]any{"hostedZoneId": {zoneTwo}},
		Steady: map[tree.Path]string{
			"domain": "a certificate keeps its domain for life", "alternativeNames": "a certificate keeps its names for life", "keyAlgorithm": "a certificate keeps its key pair for life",
		},
	}))
}

// TestFaults breaks each call of a creation: there is one certificate in the end, and it is issued.
func TestFaults(t *testing.T) {
	awstest.Faults(t, newWorld, kindtest.Quick(certificateKind, 300*time.Millisecond), obj{"domain": "shop.example", "hostedZoneId": zoneOne}, (*world).certificates, awstest.Broken{
		{Name: "the request is not answered", Fault: awstest.Fault{Op: "ACM.RequestCertificate", Kind: awstest.DropAnswer}, Wrote: 3},
		{Name: "the request fails", Fault: awstest.Fault{Op: "ACM.RequestCertificate", Kind: awstest.ServerError}, Wrote: 4},
		{Name: "the record is not answered", Fault: awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "a read is late", Fault: awstest.Fault{Op: "ACM.DescribeCertificate", Kind: awstest.ServerError}, Wrote: 3},
	})
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{"domain": "shop.example", "hostedZoneId": zoneOne}, "ACM.RequestCertificate", "ACM.ListTagsForCertificate", "Route53.ChangeResourceRecordSets")
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{"domain": "shop.example", "hostedZoneId": zoneOne}, "arn:aws:acm:eu-west-9:111122223333:certificate/1", func(string) []string { return nil })
}

func TestDiscovered(t *testing.T) {
	awstest.Discovered(t, newWorld, Service(), obj{"domain": "shop.example", "hostedZoneId": zoneOne}, "")
}

// TestRecordOfOthers is about a certificate whose records somebody else makes, as in a zone of another provider: their name and
// value are known while it is pending, and it is issued once they are there.
func TestRecordOfOthers(t *testing.T) {
	w := newWorld(t)
	w.like.late = 1
	job := w.Job(t, w.Kind, obj{"domain": "shop.example", "alternativeNames": list{"*.shop.example"}}, nil)
	var early map[string]any
	hooks := reconcile.Hooks{Born: func(_ context.Context, _ string, attrs map[string]any) error {
		early = attrs
		id := w.like.zones[zoneOne]
		_, err := w.like.dns.ChangeResourceRecordSets(t.Context(), &sdk.ChangeResourceRecordSetsInput{HostedZoneId: &id, ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{
			Action: types.ChangeActionCreate, ResourceRecordSet: &types.ResourceRecordSet{
				Name: new(attrs["validationName"].(string)), Type: types.RRTypeCname, TTL: new(int64(60)),
				ResourceRecords: []types.ResourceRecord{{Value: new(attrs["validationValue"].(string))}},
			},
		}}}})
		return err
	}}
	look, err := w.Kind.Look(t.Context(), job)
	if err != nil || !look.Absent {
		t.Fatalf("%+v, %v", look, err)
	}
	out, err := w.Kind.Settle(t.Context(), job, hooks)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(early["validationName"].(string), ".shop.example") || out.Attrs["arn"] == "" {
		t.Errorf("early %v, then %v", early, out.Attrs)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"ACM.RequestCertificate"}) {
		t.Errorf("wrote %v", have)
	}
}

// TestPending is busy while the record is not there: what needs the certificate waits.
func TestPending(t *testing.T) {
	w := newWorld(t)
	made := w.ask(t, "RequestCertificate", obj{"DomainName": "shop.example", "ValidationMethod": "DNS"})["CertificateArn"].(string)
	w.ask(t, "DescribeCertificate", obj{"CertificateArn": made})
	job := w.Job(t, w.Kind, obj{"domain": "shop.example"}, nil)
	job.ID = made
	look, err := w.Kind.Look(t.Context(), job)
	if err != nil || !strings.Contains(look.Busy, "_d930b28be6c5927595552b219965053e.shop.example") {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestSharedRecord keeps the record of a certificate that is deleted as long as another one of its domain needs it.
func TestSharedRecord(t *testing.T) {
	w := newWorld(t)
	first := w.Settled(t, obj{"domain": "shop.example", "hostedZoneId": zoneOne}, nil)
	next := w.Job(t, w.Kind, obj{"domain": "shop.example", "keyAlgorithm": "EC_secp384r1", "hostedZoneId": zoneOne}, nil)
	next.Mark.Generation, next.Nonce = next.Mark.Generation+1, "second"
	second, err := w.Kind.Settle(t.Context(), next, reconcile.Hooks{})
	if err != nil || second.Identity == first.Identity {
		t.Fatalf("%v, %v", second, err)
	}
	for i, out := range []reconcile.Outcome{first, second} {
		if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err != nil {
			t.Fatal(err)
		}
		if have := w.records(t, zoneOne); len(have) != 1-i {
			t.Errorf("after deletion %d the zone has %v", i+1, have)
		}
	}
}

// TestFailed replaces a certificate that ACM gave up, with what it says.
func TestFailed(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"domain": "shop.example", "hostedZoneId": zoneOne}, nil)
	w.like.status[out.Identity] = "FAILED"
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"domain": "shop.example", "hostedZoneId": zoneOne}, &out))
	if err != nil || len(look.Replaces()) != 1 || look.Replaces()[0].Have != "shop.example (FAILED CAA_ERROR)" {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestRefused finds what ACM would refuse, before any call.
func TestRefused(t *testing.T) {
	kindtest.Refuses(t, certificateKind.Erase(), kindtest.Refusals{
		{obj{"domain": "Shop.example"}, "want a domain"},
		{obj{"domain": "shop"}, "want a domain"},
		{obj{"domain": "a.*.example"}, "want a domain"},
		{obj{"domain": "shop.example", "alternativeNames": list{"shop.example"}}, "no alternative"},
		{obj{"domain": "shop.example", "alternativeNames": list{"-a.example"}}, "want a domain"},
		{obj{"domain": "*.shop.example", "alternativeNames": list{"xn--bcher-kva.example"}}, ""},
	})
}

// TestGolden has the members of https://docs.aws.amazon.com/acm/latest/APIReference/API_RequestCertificate.html as it shows them.
func TestGolden(t *testing.T) {
	body := kind.Document{"DomainName": "shop.example", "KeyAlgorithm": "EC_prime256v1"}
	kindtest.Golden(t, certificateTable, obj{"domain": "shop.example", "keyAlgorithm": "EC_prime256v1"}, kind.Document{}, body)
	w := newWorld(t)
	w.Settled(t, obj{"domain": "shop.example", "alternativeNames": list{"www.shop.example"}, "hostedZoneId": zoneOne}, nil)
	for _, c := range w.Server.Calls() {
		if c.Service == "ACM" {
			awstest.ConformTree(t, "acm", c.Operation, bodyOf(t, c.Body))
		}
	}
}

func bodyOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	body := map[string]any{}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	return body
}
