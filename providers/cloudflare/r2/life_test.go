package r2

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

func newWorld(t *testing.T) *cloudflaretest.Server {
	t.Helper()
	s := cloudflaretest.Start(t)
	prepare(nil, s)
	return s
}

func TestCalls(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	out := s.Settled(t, kind, obj{"storageClass": "InfrequentAccess"}, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"R2.CreateBucket"}) {
		t.Errorf("a plain creation makes %v", have)
	}
	job := s.Job(t, kind, obj{"storageClass": "InfrequentAccess"}, &out)
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil || len(s.Calls()) != 7 || len(s.Wrote()) > 0 {
		t.Errorf("unchanged: %v, %d calls, want 7, wrote %v", err, len(s.Calls()), s.Wrote())
	}
	p := tuned()
	delete(p, "name")
	s.Reset()
	s.Settled(t, kind, p, &out)
	want := []string{
		"R2.CreateBucketDomainCustom", "R2.CreateBucketDomainCustom", "R2.PutBucketCors", "R2.PutBucketDomainManaged",
		"R2.PutBucketEventNotification", "R2.PutBucketEventNotification", "R2.PutBucketLifecycle",
	}
	if have := slices.Sorted(slices.Values(s.Wrote())); !slices.Equal(have, want) {
		t.Errorf("everything changed, and %v are made", have)
	}
	p["notifications"] = p["notifications"].(list)[:1]
	p["domains"].(obj)["cdn.shop.example"].(obj)["minTls"] = "1.3"
	s.Reset()
	s.Settled(t, kind, p, &out)
	want = []string{"R2.DeleteBucketEventNotification", "R2.UpdateBucketDomainCustom"}
	if have := slices.Sorted(slices.Values(s.Wrote())); !slices.Equal(have, want) {
		t.Errorf("one notification dropped and one domain changed, and %v are made", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one bucket, made by as few calls as can be.
func TestFaults(t *testing.T) {
	fresh := func(t *testing.T) (*cloudflaretest.Server, func() int) {
		s := newWorld(t)
		return s, func() int { return len(buckets(t, s)) }
	}
	cloudflaretest.Faults(t, fresh, bucketKind.Erase(), obj{"cors": list{obj{"origins": list{"*"}, "methods": list{"GET"}}}}, cloudflaretest.Broken{
		{"", cloudflaretest.Fault{Op: "R2.CreateBucket", Kind: cloudflaretest.DropAnswer}, 2},
		{"", cloudflaretest.Fault{Op: "R2.CreateBucket", Kind: cloudflaretest.CutBefore}, 3},
		{"", cloudflaretest.Fault{Op: "R2.CreateBucket", Kind: cloudflaretest.ServerError}, 3},
		{"", cloudflaretest.Fault{Op: "R2.GetBucketCors", Kind: cloudflaretest.ServerError}, 2},
		{"", cloudflaretest.Fault{Op: "R2.GetBucket", Kind: cloudflaretest.Throttle, Times: 2}, 2},
		{"", cloudflaretest.Fault{Op: "R2.PutBucketCors", Kind: cloudflaretest.DropAnswer}, 2},
		// The parts do not see a new bucket at once: https://developers.cloudflare.com/r2/reference/consistency/
		{"", cloudflaretest.Fault{Op: "R2.ListBucketDomain*", Kind: cloudflaretest.Refuse, Status: 404, Code: "10006", Times: 2}, 2},
	})
}

// TestNoRuleIsNoRefusal: only the words for "there is none" count as none.
func TestNoRuleIsNoRefusal(t *testing.T) {
	for _, op := range []string{"R2.GetBucketCors", "R2.ListBucketEventNotifications"} {
		s, kind := newWorld(t), bucketKind.Erase()
		out := s.Settled(t, kind, tuned(), nil)
		job := s.Job(t, kind, tuned(), &out)
		s.Inject(cloudflaretest.Fault{Op: op, Kind: cloudflaretest.Refuse, Status: 404, Code: "424242", Times: -1})
		if look, err := kind.Look(t.Context(), job); err == nil || errors.Is(err, reconcile.ErrAbsent) {
			t.Errorf("%s: %v, %v", op, look.Steps, err)
		}
	}
}

func TestDelete(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	out := s.Settled(t, kind, tuned(), nil)
	for i := range 1500 {
		s.AddObject("assets", fmt.Sprintf("in/%04d", i))
	}
	look, err := kind.Look(t.Context(), s.Job(t, kind, tuned(), &out))
	if err != nil || !look.Holds {
		t.Errorf("a bucket with objects holds data: %v, %v", look.Holds, err)
	}
	job := s.Job(t, kind, nil, &out)
	s.Reset()
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || len(s.Wrote()) > 0 {
		t.Fatalf("deleted without leave: %v, wrote %v", err, s.Wrote())
	}
	job.MayDelete = true
	if err := kind.Delete(t.Context(), job); err != nil || len(buckets(t, s)) != 0 || s.Count("R2.DeleteObjects") != 2 {
		t.Errorf("with leave: %v, %d times emptied", err, s.Count("R2.DeleteObjects"))
	}
	job.MayDelete = false
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}

// TestDomainTaken is about a name that another bucket has: it is not waited for.
func TestDomainTaken(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	s.Settled(t, kind, obj{"name": "first", "domains": obj{"cdn.shop.example": obj{"zone": "shop.example"}}}, nil)
	job := s.Job(t, kind, obj{"name": "second", "domains": obj{"cdn.shop.example": obj{"zone": "shop.example"}}}, nil)
	s.Reset()
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || refused.Status != 409 || s.Count("R2.CreateBucketDomainCustom") != 1 || len(reconcile.Hints(err)) == 0 {
		t.Errorf("%v after %d calls", err, s.Count("R2.CreateBucketDomainCustom"))
	}
}

// TestForeignRule is about a lifecycle rule that no props say: it is shown, and goes.
func TestForeignRule(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	out := s.Settled(t, kind, obj{"name": "assets"}, nil)
	before := fmt.Sprint(buckets(t, s))
	s.Do(t, http.MethodPut, base+"/assets/lifecycle", obj{"rules": list{obj{
		"id": "by date", "enabled": true, "conditions": obj{"prefix": ""},
		"deleteObjectsTransition": obj{"condition": obj{"type": "Date", "date": "2030-01-01T00:00:00Z"}},
	}}})
	look, err := kind.Look(t.Context(), s.Job(t, kind, obj{"name": "assets"}, &out))
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "lifecycle" {
		t.Errorf("%v, %v", look.Steps, err)
	}
	s.Settled(t, kind, obj{"name": "assets"}, &out)
	if after := fmt.Sprint(buckets(t, s)); after != before {
		t.Errorf("it is\n%s\nand was\n%s", after, before)
	}
}

// TestList goes through all jurisdictions, and past the first page.
func TestList(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	for i := range 1005 {
		s.Do(t, http.MethodPost, base, obj{"name": fmt.Sprintf("shop-%04d", i)})
	}
	s.DoWith(t, http.MethodPost, base, in("eu"), obj{"name": "shop-0001"})
	s.Do(t, http.MethodPost, base, obj{"name": "blog"})
	job := s.Job(t, kind, nil, nil)
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: "shop-"})
	european := func(f reconcile.Found) bool { return f.Identity == "eu/shop-0001" }
	if err != nil || len(found) != 1006 || !slices.ContainsFunc(found, european) {
		t.Errorf("found %d, %v", len(found), err)
	}
}

// TestNamed takes buckets by name, with and without a jurisdiction.
func TestNamed(t *testing.T) {
	s, kind := newWorld(t), bucketKind.Erase()
	s.DoWith(t, http.MethodPost, base, in("eu"), obj{"name": "assets"})
	for id, ok := range map[string]bool{"eu/assets": true, "assets": false} {
		job := s.Job(t, kind, nil, nil)
		job.ID = id
		look, err := kind.Look(t.Context(), job)
		if err != nil || look.Absent == ok || ok && look.Identity != id {
			t.Errorf("%s: %v, %v", id, look.Identity, err)
		}
	}
	if strings.Contains(identity(anywhere, "a"), "/") {
		t.Error("the default jurisdiction is not told")
	}
}
