package sns

import (
	"context"
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
}

// quick is how long a test waits for a creation that did not happen: longer than reads are late in it.
const quick = 2 * time.Second

func bothKinds() map[string]faulted {
	return map[string]faulted{
		"topic": {
			kindtest.Quick(topicKind, quick),
			obj{"name": "events", "displayName": "Events", "signatureVersion": int64(2), "dataProtectionPolicy": protection("cards"), "tags": obj{"team": "web"}},
			obj{"name": "events", "policy": publishPolicy("SNS:Publish"), "sqsLogging": obj{"failureRoleArn": role("failed")}, "tags": obj{"cost": "42"}},
			(*world).topics,
		},
		"subscription": {
			kindtest.Quick(subscriptionKind, quick), toQueue(obj{"filterPolicy": obj{"order": obj{"state": list{"new"}}}, "filterPolicyScope": "MessageBody"}),
			toQueue(obj{"filterPolicy": obj{"type": list{"order"}}, "deadLetter": queue("dead"), "rawMessageDelivery": true}), (*world).subscriptions,
		},
	}
}

func (f faulted) world(t *testing.T) *world {
	if f.kind.Spec().Type == topicType {
		return newWorld(t)
	}
	return newWorld(t, "events")
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
	for _, props := range []obj{f.from, f.to} {
		job := w.task(t, f.kind, props)
		job.Last = last
		out, err := f.kind.Settle(t.Context(), job, reconcile.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		last = out.Attrs
		states = append(states, digest(t, f.objects(w, t)))
	}
	gone := w.task(t, f.kind, nil)
	gone.Last = last
	if err := f.kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if left := f.objects(w, t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	return states
}

// TestFaults breaks each call of a whole life, once: it goes on as if nothing had happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, f := range bothKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calm := f.world(t)
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
						w := f.world(t)
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
	for name, f := range bothKinds() {
		w := f.world(t)
		op, create := "SNS.GetTopicAttributes", "SNS.CreateTopic"
		if name == "subscription" {
			op, create = "SNS.ListSubscriptionsByTopic", "SNS.Subscribe"
		}
		// The answer is lost, so that only looking can tell.
		w.Server.Inject(awstest.Fault{Op: create, Kind: awstest.DropAnswer})
		w.Server.Inject(awstest.Fault{Op: op, Nth: 2, Kind: awstest.Stale, Times: 3})
		if _, err := f.kind.Settle(t.Context(), w.task(t, f.kind, f.from), reconcile.Hooks{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := w.Server.Count(create); n != 1 {
			t.Errorf("%s: made %d times", name, n)
		}
	}
}

// TestDenied fails at once, with the words of SNS.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, ops := range map[string][]string{
		"topic":        {"SNS.CreateTopic", "SNS.GetTopicAttributes", "SNS.ListTagsForResource", "SNS.GetDataProtectionPolicy", "SNS.SetTopicAttributes"},
		"subscription": {"SNS.Subscribe", "SNS.ListSubscriptionsByTopic", "SNS.GetSubscriptionAttributes"},
	} {
		f := bothKinds()[name]
		for _, op := range ops {
			w := f.world(t)
			w.Server.Inject(awstest.Fault{Op: op, Kind: awstest.Deny, Times: -1})
			_, err := f.kind.Settle(t.Context(), w.task(t, f.kind, f.from), reconcile.Hooks{})
			if err == nil || !strings.Contains(err.Error(), "AuthorizationError") {
				t.Errorf("%s denied: %v", op, err)
			}
			if n := w.Server.Count(op); n != 1 {
				t.Errorf("%s denied: was asked %d times", op, n)
			}
		}
	}
}

// TestTaken is about a name that somebody takes between the look and the creation: it is looked at again.
func TestTaken(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "events"), topicKind.Erase()
	w.Server.Inject(awstest.Fault{Op: "SNS.GetTopicAttributes", Kind: awstest.Stale})
	w.Server.Inject(awstest.Fault{Op: "SNS.CreateTopic", Kind: awstest.Refuse, Code: "InvalidParameter"})
	seen := 0
	_, err := kind.Settle(t.Context(), w.task(t, kind, obj{"name": "events"}), reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if seen++; look.Owner.IsZero() {
			return context.Canceled
		}
		return nil
	}})
	if err == nil || seen != 1 || w.Server.Count("SNS.CreateTopic") != 1 {
		t.Errorf("seen %d times, %v: %v", seen, awstest.NamesOf(w.Server.Calls()), err)
	}
}
