package iam

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// faulted are a kind with props to start from and to go to, each of which takes several calls.
type faulted struct {
	kind     reconcile.Any
	from, to obj
	objects  func(*world, kindtest.T) []any
	// create and look are the calls that make it and show it; asked are those that may be denied.
	create, look string
	asked        []string
}

// quick is how long a test waits for a creation that did not happen: longer than reads are late in it.
const quick = 2 * time.Second

func allKinds() map[string]faulted {
	return map[string]faulted{
		"role": {
			kind: kindtest.Quick(roleKind, quick),
			from: obj{
				"name": "worker", "trustPolicy": trust("lambda"), "managedPolicies": list{managed("read")}, "bindings": list{grant("sqs:SendMessage", "queue")},
				"tags": obj{"team": "web"},
			},
			to: obj{
				"name": "worker", "trustPolicy": trust("states"), "permissionsBoundary": managed("bound"), "description": "works",
				"inline": obj{"logs": allow("logs:PutLogEvents", "*")}, "tags": obj{"cost": "42"},
			},
			objects: (*world).roles, create: "IAM.CreateRole", look: "IAM.GetRole",
			asked: []string{"IAM.CreateRole", "IAM.GetRole", "IAM.ListRolePolicies", "IAM.ListAttachedRolePolicies", "IAM.PutRolePolicy", "IAM.AttachRolePolicy"},
		},
		"policy": {
			kind:    kindtest.Quick(policyKind, quick),
			from:    obj{"name": "reader", "document": allow("s3:Get*", "*"), "description": "reads", "tags": obj{"team": "web"}},
			to:      obj{"name": "reader", "document": allow("s3:List*", "*"), "description": "reads", "tags": obj{"cost": "42"}},
			objects: (*world).policies, create: "IAM.CreatePolicy", look: "IAM.GetPolicy",
			asked: []string{"IAM.CreatePolicy", "IAM.GetPolicy", "IAM.GetPolicyVersion"},
		},
	}
}

func digest(t *testing.T, v any) string {
	t.Helper()
	tr, err := tree.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Digest(tr)
}

// life makes an object, changes it and deletes it, and reports the two states it had.
func (f faulted) life(t *testing.T, w *world) (states []string) {
	t.Helper()
	var last map[string]any
	before := digest(t, f.objects(w, t))
	for _, props := range []obj{f.from, f.to} {
		last = w.settle(t, f.kind, props, last)
		states = append(states, digest(t, f.objects(w, t)))
	}
	gone := w.task(t, f.kind, nil)
	gone.Last = last
	if err := f.kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if left := f.objects(w, t); digest(t, left) != before {
		t.Errorf("left %v", left)
	}
	return states
}

// TestFaults breaks each call of a whole life, once: it goes on as if nothing had happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, f := range allKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calm := newWorld(t, "read", "bound")
			want := f.life(t, calm)
			calls := len(calm.Server.Calls())
			if calls < 8 {
				t.Fatalf("a life makes %d calls", calls)
			}
			for _, how := range awstest.Ways() {
				t.Run(string(how), func(t *testing.T) {
					t.Parallel()
					for nth := 1; nth <= calls; nth++ {
						if !awstest.Played(how, nth) {
							continue
						}
						w := newWorld(t, "read", "bound")
						held := w.Server.Inject(awstest.Fault{Nth: nth, Kind: how})
						have := f.life(t, w)
						if !slices.Equal(have, want) || held.Fired() != 1 {
							t.Errorf("%s at call %d, which happened %d times: another life", how, nth, held.Fired())
						}
					}
				})
			}
		})
	}
}

// TestStale shows an object only a while after it was made: it is not made twice.
func TestStale(t *testing.T) {
	t.Parallel()
	for name, f := range allKinds() {
		w := newWorld(t, "read", "bound")
		// The answer is lost, so that only looking can tell.
		w.Server.Inject(awstest.Fault{Op: f.create, Kind: awstest.DropAnswer})
		w.Server.Inject(awstest.Fault{Op: f.look, Nth: 2, Kind: awstest.Stale, Times: 3})
		w.settle(t, f.kind, f.from, nil)
		if n := w.Server.Count(f.create); n != 1 {
			t.Errorf("%s: made %d times", name, n)
		}
	}
}

// TestDenied fails at once, with the words of IAM.
func TestDenied(t *testing.T) {
	t.Parallel()
	for _, f := range allKinds() {
		for _, op := range f.asked {
			w := newWorld(t, "read", "bound")
			w.Server.Inject(awstest.Fault{Op: op, Kind: awstest.Deny, Times: -1})
			_, err := f.kind.Settle(t.Context(), w.task(t, f.kind, f.from), reconcile.Hooks{})
			if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("%s denied: %v", op, err)
			}
			if n := w.Server.Count(op); n != 1 {
				t.Errorf("%s denied: was asked %d times", op, n)
			}
		}
	}
}
