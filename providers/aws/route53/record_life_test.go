package route53

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func quick() reconcile.Any { return kindtest.Quick(recordKind, 300*time.Millisecond) }

func one() obj { return www(obj{"values": list{"192.0.2.1"}}) }

func TestCalls(t *testing.T) {
	w, kind := newWorld(t), quick()
	props := www(obj{"values": list{"192.0.2.1"}, "ttl": "1m"})
	out := w.settled(t, kind, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"Route53.ChangeResourceRecordSets"}) || out.Identity != zoneOne+"/www.example.com/A" {
		t.Errorf("a creation makes %v, and %s", have, out.Identity)
	}
	w.Server.Reset()
	out = w.settled(t, kind, props, &out)
	if have := w.Wrote(); len(have) > 0 || len(w.Server.Calls()) != 1 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.Server.Calls()))
	}
	props["values"], props["ttl"], props["healthCheckId"] = list{"192.0.2.2", "192.0.2.1"}, "2m", "h"
	w.Server.Reset()
	w.settled(t, kind, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"Route53.ChangeResourceRecordSets"}) {
		t.Errorf("three aspects changed, and %v are made", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one record, made by as few calls as can be.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault awstest.Fault
		wrote int
	}{
		{"the answer of the creation is lost", awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.CutBefore}, 2},
		{"another change of the zone is under way", awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.Refuse, Code: "PriorRequestNotComplete", Times: 2}, 3},
		{"the listing is throttled", awstest.Fault{Op: "Route53.ListResourceRecordSets", Kind: awstest.Throttle, Times: 2}, 1},
		{"an answer to a read is lost", awstest.Fault{Op: "Route53.ListResourceRecordSets", Kind: awstest.DropAnswer}, 1},
		{"the change is not known at first", awstest.Fault{Op: "Route53.GetChange", Kind: awstest.Refuse, Code: "NoSuchChange", Status: 404}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kind := newWorld(t), quick()
			if c.fault.Op == "Route53.GetChange" {
				w.like.slow = 1
			}
			armed := w.Server.Inject(c.fault)
			if _, err := kind.Settle(t.Context(), w.Job(t, kind, one(), nil), reconcile.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := w.Wrote(); len(have) != c.wrote {
				t.Errorf("wrote %v, want %d calls", have, c.wrote)
			}
			if have := w.records(t); len(have) != 1 {
				t.Errorf("records: %v", have)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, one(), "Route53.ListResourceRecordSets", "Route53.ChangeResourceRecordSets")
}

// TestInSync waits for all name servers, after the identity was told.
func TestInSync(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.like.slow = 2
	var asked []int
	_, err := kind.Settle(t.Context(), w.Job(t, kind, one(), nil), reconcile.Hooks{Keep: func(context.Context) error {
		asked = append(asked, w.Server.Count("Route53.GetChange"))
		return nil
	}})
	if err != nil || w.Server.Count("Route53.GetChange") != 2 {
		t.Errorf("asked %d times: %v", w.Server.Count("Route53.GetChange"), err)
	}
	if len(asked) == 0 || asked[0] != 0 {
		t.Errorf("the identity was kept after %v questions", asked)
	}
}

// TestForeign is about records that are there without having been made here: what is declared counts as ours, and anything
// else is never written over.
func TestForeign(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  adopt.Verdict
	}{"equal": {"192.0.2.1", adopt.Ours}, "other": {"198.51.100.7", adopt.Foreign}} {
		t.Run(name, func(t *testing.T) {
			w, kind := newWorld(t), quick()
			set := plainSet("www.example.com", "A", c.value)
			set.TTL = new(int64(300))
			w.do(t, zoneOne, types.ChangeActionCreate, set)
			job := w.Job(t, kind, one(), nil)
			look, err := kind.Look(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			spec := kind.Spec()
			if have := adopt.Judge(adopt.Evidence{
				Identity: look.Identity, Tag: job.Mark, NameGiven: true, Taggable: spec.Marked, OwnedByContent: spec.Same, ContentEqual: len(look.Steps) == 0,
			}).Verdict; have != c.want {
				t.Errorf("it is %s, want %s", have, c.want)
			}
		})
	}
}

// TestCameMeanwhile is about a record that somebody makes between the look and the creation: it is not written over, and
// looked at.
func TestCameMeanwhile(t *testing.T) {
	w, kind := newWorld(t), quick()
	held := w.Server.Inject(awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.Hold})
	refused := errors.New("not ours")
	done := make(chan error, 1)
	go func() {
		_, err := kind.Settle(t.Context(), w.Job(t, kind, one(), nil), reconcile.Hooks{Permit: func(look reconcile.Look) error {
			if len(look.Steps) > 0 {
				return refused
			}
			return nil
		}})
		done <- err
	}()
	<-held.Reached()
	w.do(t, zoneOne, types.ChangeActionCreate, plainSet("www.example.com", "A", "198.51.100.7"))
	held.Release()
	if err := <-done; !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if have := *w.listing(t, zoneOne)[0].ResourceRecords[0].Value; have != "198.51.100.7" {
		t.Errorf("it became %s", have)
	}
}

// TestStandsAlone is about a CNAME where there is another record: it fails at once, and says what to do.
func TestStandsAlone(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.do(t, zoneOne, types.ChangeActionCreate, plainSet("www.example.com", "A", "192.0.2.1"))
	_, err := kind.Settle(t.Context(), w.Job(t, kind, www(obj{"type": "CNAME", "values": list{"a.example.net"}}), nil), reconcile.Hooks{})
	if err == nil || !strings.Contains(strings.Join(reconcile.Hints(err), ""), "deleteFirst") || len(w.Wrote()) != 1 {
		t.Errorf("%v, %v after %v", err, reconcile.Hints(err), w.Wrote())
	}
}

// TestPolicyByHand is about a record that somebody gave another routing policy.
func TestPolicyByHand(t *testing.T) {
	w, kind := newWorld(t), quick()
	props := routed(obj{"multiValueAnswer": true})
	out := w.settled(t, kind, props, nil)
	set := w.listing(t, zoneOne)[0]
	set.MultiValueAnswer, set.Weight = nil, new(int64(5))
	w.do(t, zoneOne, types.ChangeActionUpsert, set)
	look, err := kind.Look(t.Context(), w.Job(t, kind, props, &out))
	if err != nil || len(look.Steps) != 2 || look.Steps[0].Path != "weight" || look.Steps[1].Path != "multiValueAnswer" {
		t.Errorf("%v, %v", look.Steps, err)
	}
	w.settled(t, kind, props, &out)
	if set := w.listing(t, zoneOne)[0]; set.Weight != nil || set.MultiValueAnswer == nil {
		t.Errorf("repaired to %+v", set)
	}
}

// TestIgnored is about values that somebody else keeps: the TTL changes, and they stay.
func TestIgnored(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.settled(t, kind, one(), nil)
	w.do(t, zoneOne, types.ChangeActionUpsert, plainSet("www.example.com", "A", "198.51.100.7"))
	job := w.Job(t, kind, www(obj{"values": list{"192.0.2.1"}, "ttl": "10m"}), &out)
	job.Ignore = []tree.Path{"values"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if set := w.listing(t, zoneOne)[0]; *set.TTL != 600 || *set.ResourceRecords[0].Value != "198.51.100.7" {
		t.Errorf("it became %+v", set)
	}
}

// TestSpelling is about what Route 53 makes of names and values, and what authors do: none of it is a difference.
func TestSpelling(t *testing.T) {
	for name, c := range map[string]struct {
		there types.ResourceRecordSet
		props obj
	}{
		"case and dots": {plainSet("WWW.example.com", "CNAME", "A.Example.Net."), obj{"name": "www.EXAMPLE.com.", "type": "CNAME", "values": list{"a.example.net"}}},
		"wildcard":      {plainSet("*.example.com", "A", "192.0.2.1"), obj{"name": "*.example.com", "type": "A", "values": list{"192.0.2.1"}}},
		"IPv6":          {plainSet("v6.example.com", "AAAA", "2001:DB8:0:0::1"), obj{"name": "v6.example.com", "type": "AAAA", "values": list{"2001:db8::1"}}},
		"mail":          {plainSet("example.com", "MX", "10  Mail.example.com."), obj{"name": "example.com", "type": "MX", "values": list{"10 mail.example.com"}}},
		"text":          {plainSet("t.example.com", "TXT", `"caf\303\251 \"x\""`), obj{"name": "t.example.com", "type": "TXT", "values": list{`café "x"`}}},
		"quoted text":   {plainSet("t.example.com", "TXT", `"one"   "two"`), obj{"name": "t.example.com", "type": "TXT", "values": list{`"one" "two"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			w, kind := newWorld(t), quick()
			w.do(t, zoneOne, types.ChangeActionCreate, c.there)
			c.props["hostedZoneId"], c.props["ttl"] = zoneOne, "1m"
			look, err := kind.Look(t.Context(), w.Job(t, kind, c.props, nil))
			if err != nil || look.Absent || len(look.Steps) > 0 {
				t.Errorf("%+v, %v", look, err)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	for value, want := range map[string]string{
		"":                       `""`,
		"v=spf1 -all":            `"v=spf1 -all"`,
		`say "no"`:               `"say \"no\""`,
		`back\slash`:             `"back\\slash"`,
		"é":                      `"\303\251"`,
		`"a\"b" "c"`:             `"a\"b" "c"`,
		`"a\\b"`:                 `"a\\b"`,
		`"\052"`:                 `"*"`,
		strings.Repeat("x", 256): `"` + strings.Repeat("x", 255) + `" "x"`,
	} {
		have := quoted(value)
		if have != want {
			t.Errorf("%.20s is %.40s, want %.40s", value, have, want)
		}
		if again := quoted(have); again != have {
			t.Errorf("%.20s is read back as %.40s", have, again)
		}
	}
}

// TestMany looks at many records at once: by whole pages, as long as that is cheaper.
func TestMany(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.like.page = 2
	var jobs []*reconcile.Job
	for i := range 7 {
		name := fmt.Sprintf("h%d.example.com", i)
		if i != 3 {
			w.do(t, zoneOne, types.ChangeActionCreate, plainSet(name, "A", "192.0.2.1"))
		}
		if i%2 == 1 {
			jobs = append(jobs, w.Job(t, kind, www(obj{"name": name, "values": list{"192.0.2.1"}}), nil))
		}
	}
	jobs = append(jobs, w.Job(t, kind, www(obj{"hostedZoneId": zoneTwo, "values": list{"192.0.2.1"}}), nil))
	w.Server.Reset()
	looks, errs := kind.LookMany(t.Context(), jobs)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var absent []bool
	for _, look := range looks {
		absent = append(absent, look.Absent)
	}
	if !slices.Equal(absent, []bool{false, true, false, true}) {
		t.Errorf("absent: %v", absent)
	}
	if n := w.Server.Count("Route53.ListResourceRecordSets"); n > 4 {
		t.Errorf("%d listings for 4 records", n)
	}
	w.Server.Inject(awstest.Fault{Op: "Route53.ListResourceRecordSets", Kind: awstest.Deny, Times: -1})
	if _, errs := kind.LookMany(t.Context(), jobs); slices.Contains(errs, nil) {
		t.Errorf("a denied listing: %v", errs)
	}
}

// TestChangedWhileDeleted is about a record that somebody changes between the look of a deletion and the call.
func TestChangedWhileDeleted(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.settled(t, kind, one(), nil)
	held := w.Server.Inject(awstest.Fault{Op: "Route53.ChangeResourceRecordSets", Kind: awstest.Hold})
	done := make(chan error, 1)
	go func() { done <- kind.Delete(t.Context(), w.Job(t, kind, nil, &out)) }()
	<-held.Reached()
	w.do(t, zoneOne, types.ChangeActionUpsert, plainSet("www.example.com", "A", "198.51.100.7"))
	held.Release()
	if err := <-done; err != nil || len(w.records(t)) != 0 {
		t.Errorf("%v, left are %v", err, w.records(t))
	}
}

// TestZoneMissing checks that a record is missing when its zone is, and that deleting it succeeds.
func TestZoneMissing(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.settled(t, kind, one(), nil)
	w.like.gone[zoneOne] = true
	if look, err := kind.Look(t.Context(), w.Job(t, kind, one(), &out)); err != nil || !look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
		t.Error(err)
	}
}

func TestIdentities(t *testing.T) {
	for _, id := range []string{"Z1/www.example.com/A", "Z1/*.example.com/TXT/blue/green"} {
		if k, ok := parsed(id); !ok || k.String() != id {
			t.Errorf("%s is read as %s", id, k)
		}
	}
	if _, ok := parsed("www.example.com"); ok {
		t.Error("a name is read as an identity")
	}
	w, kind := newWorld(t), quick()
	out := w.settled(t, kind, one(), nil)
	job := w.Job(t, kind, nil, nil)
	job.ID = "/hostedzone/" + zoneOne + "/WWW.example.com./A"
	if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != out.Identity {
		t.Errorf("%s, %v", look.Identity, err)
	}
}

func TestCheckRecord(t *testing.T) {
	alias := obj{"hostedZoneId": "Z", "dnsName": "a"}
	kindtest.Refuses(t, recordKind.Erase(), kindtest.Refusals{
		{www(nil), "want some, or an alias"},
		{www(obj{"values": list{"192.0.2.1"}, "alias": alias}), "an alias has none"},
		{www(obj{"alias": alias, "ttl": "1m"}), "that of its target"},
		{www(obj{"values": list{"192.0.2.1"}, "ttl": "1500ms"}), "whole seconds"},
		{www(obj{"values": list{"::1"}}), "IPv4"},
		{www(obj{"type": "AAAA", "values": list{"192.0.2.1"}}), "IPv6"},
		{www(obj{"type": "CNAME", "values": list{"a", "b"}}), "has one"},
		{www(obj{"type": "WKS", "values": list{"a"}}), "want one of A"},
		{www(obj{"values": list{"192.0.2.1"}, "weight": int64(1)}), "needs one"},
		{www(obj{"values": list{"192.0.2.1"}, "setIdentifier": "a"}), "needs a routing policy"},
		{routed(obj{"weight": int64(1), "region": "eu-west-1"}), "one routing policy"},
		{routed(obj{"weight": int64(256)}), "255"},
		{routed(obj{"weight": int64(0)}), ""},
		{one(), ""},
	})
}
