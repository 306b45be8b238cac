package kv

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

func TestCalls(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	out := s.Settled(t, kind, obj{}, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"KV.CreateNamespace"}) {
		t.Errorf("a creation makes %v", have)
	}
	job := s.Job(t, kind, obj{}, &out)
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if have := s.Wrote(); len(have) > 0 || len(s.Calls()) != 2 {
		t.Errorf("unchanged: wrote %v in %d calls, want 2", have, len(s.Calls()))
	}
	s.Reset()
	s.Settled(t, kind, obj{"title": "Orders"}, &out)
	if have := s.Wrote(); !slices.Equal(have, []string{"KV.UpdateNamespace"}) {
		t.Errorf("a rename makes %v", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one namespace, made by as few calls as can be.
func TestFaults(t *testing.T) {
	fresh := func(t *testing.T) (*cloudflaretest.Server, func() int) {
		s := cloudflaretest.Start(t)
		return s, func() int { return len(titles(t, s)) }
	}
	cloudflaretest.Faults(t, fresh, namespaceKind.Erase(), obj{}, cloudflaretest.Broken{
		{"the answer of the creation is lost", cloudflaretest.Fault{Op: "KV.CreateNamespace", Kind: cloudflaretest.DropAnswer}, 1},
		{"the creation never arrives", cloudflaretest.Fault{Op: "KV.CreateNamespace", Kind: cloudflaretest.CutBefore}, 2},
		{"the creation is throttled twice", cloudflaretest.Fault{Op: "KV.CreateNamespace", Kind: cloudflaretest.Throttle, Times: 2}, 3},
		{"the creation meets an error of the edge", cloudflaretest.Fault{Op: "KV.CreateNamespace", Kind: cloudflaretest.ServerError}, 2},
		{"reads are throttled", cloudflaretest.Fault{Op: "KV.List*", Kind: cloudflaretest.Throttle, Times: 3}, 1},
		{"an answer to a read is lost", cloudflaretest.Fault{Op: "KV.ListNamespaces", Kind: cloudflaretest.DropAnswer}, 1},
		{"the keys cannot be read at first", cloudflaretest.Fault{Op: "KV.ListNamespaceKeys", Kind: cloudflaretest.ServerError}, 1},
		{"the account is not told at first", cloudflaretest.Fault{Op: "Accounts.ListAccounts", Kind: cloudflaretest.ServerError, Times: 2}, 1},
	})
}

func TestDenied(t *testing.T) {
	for _, op := range []string{"KV.ListNamespaces", "KV.CreateNamespace", "KV.ListNamespaceKeys"} {
		s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
		job := s.Job(t, kind, obj{}, nil)
		s.Inject(cloudflaretest.Fault{Op: op, Kind: cloudflaretest.Deny, Times: -1})
		_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if job.Cloud.Classify(err) != reconcile.Denied || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%s denied: %v", op, err)
		}
		if n := s.Count(op); n != 1 {
			t.Errorf("%s denied, and asked %d times", op, n)
		}
	}
}

// TestPages is about an account with more namespaces than one page shows.
func TestPages(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	for i := range 250 {
		s.Do(t, http.MethodPost, spaces, obj{"title": fmt.Sprintf("shop-test-%03d", i)})
	}
	s.Do(t, http.MethodPost, spaces, obj{"title": "the last of all"})
	job := s.Job(t, kind, obj{"title": "the last of all"}, nil)
	s.Reset()
	look, err := kind.Look(t.Context(), job)
	if err != nil || look.Absent || s.Count("KV.ListNamespaces") != 3 {
		t.Errorf("absent %v, %v, in %d calls", look.Absent, err, s.Count("KV.ListNamespaces"))
	}
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: "shop-test-"})
	if err != nil || len(found) != 250 {
		t.Errorf("found %d, %v", len(found), err)
	}
}

func TestDelete(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	out := s.Settled(t, kind, obj{}, nil)
	s.Do(t, http.MethodPut, spaces+"/"+out.Identity+"/values/a%2Fkey", obj{"value": 1})
	look, err := kind.Look(t.Context(), s.Job(t, kind, obj{}, &out))
	if err != nil || !look.Holds {
		t.Errorf("a namespace with a key holds data: %v, %v", look.Holds, err)
	}
	job := s.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || len(titles(t, s)) != 1 {
		t.Fatalf("deleted without leave: %v", err)
	}
	job.MayDelete = true
	if err := kind.Delete(t.Context(), job); err != nil || len(titles(t, s)) != 0 {
		t.Errorf("with leave: %v", err)
	}
}

// TestTitleTaken is about a title that a namespace of nobody we know has: a rename to it is refused for good.
func TestTitleTaken(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	s.Do(t, http.MethodPost, spaces, obj{"title": "Orders"})
	out := s.Settled(t, kind, obj{}, nil)
	job := s.Job(t, kind, obj{"title": "Orders"}, &out)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || !refused.Has(10014) || job.Cloud.Classify(err).Retries() {
		t.Errorf("renamed to a title that is taken: %v, %s", err, job.Cloud.Classify(err))
	}
}

// TestAdopted names a namespace by its id and by its title.
func TestAdopted(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	made := s.Do(t, http.MethodPost, spaces, obj{"title": "Orders"}).(obj)["id"].(string)
	for _, by := range []string{made, "Orders"} {
		job := s.Job(t, kind, nil, nil)
		job.ID = by
		look, err := kind.Look(t.Context(), job)
		if err != nil || look.Identity != made {
			t.Errorf("%s: %v, %v", by, look.Identity, err)
		}
	}
}

func TestCheck(t *testing.T) {
	kind := namespaceKind.Erase()
	for title, ok := range map[string]bool{"a": true, " a": false, fmt.Sprintf("%513d", 1): false, fmt.Sprintf("%0512d", 1): true} {
		if err := kind.Decode(&reconcile.Job{Props: obj{"title": title}}); (err == nil) != ok {
			t.Errorf("%q: %v", title, err)
		}
	}
}

// TestKeyQuota: when the free plan lists no more keys today, a namespace is read as before, and counts as one with keys: it is deleted with
// permission alone.
func TestKeyQuota(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	out := s.Settled(t, kind, obj{}, nil)
	s.LimitKeyLists(1)
	for range 2 {
		s.Settled(t, kind, obj{}, &out)
	}
	job := s.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("a deletion: %v", err)
	}
	job = s.Job(t, kind, nil, &out)
	job.MayDelete = true
	if err := kind.Delete(t.Context(), job); err != nil || len(titles(t, s)) > 0 {
		t.Errorf("a deletion with permission: %v", err)
	}
}
