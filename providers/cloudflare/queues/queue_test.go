package queues

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const base = "/accounts/ACCOUNT/queues"

// others are the queues that others see in the account.
func others(t kindtest.T, s *cloudflaretest.Server) []obj {
	t.Helper()
	var all []obj
	list, _ := s.Do(t, http.MethodGet, base+"?per_page=100", nil).([]any)
	for _, q := range list {
		all = append(all, q.(obj))
	}
	return all
}

// objects are the queues by their settings: names differ between two makings.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	for _, q := range others(t, s) {
		all = append(all, q["settings"])
	}
	return all
}

func queueSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	set := func(settings func(QueueProps) obj) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			p := cloudflaretest.Declared[QueueProps](t, to)
			ws.Of(w).Do(t, http.MethodPatch, base+"/"+to.Attrs["id"].(string), obj{"settings": settings(p)})
		}
	}
	return kindtest.Suite{
		Kind:  queueKind.Erase(),
		World: ws.Make(nil, objects),
		Base:  obj{},
		Fault: cloudflaretest.FaultOf("Queues"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"name": "orders", "deliveryDelay": "90s", "deliveryPaused": true, "messageRetention": "14d"}},
			{Name: "short", Props: obj{"messageRetention": "1m"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"deliveryDelay":  set(func(p QueueProps) obj { return obj{"delivery_delay": p.DeliveryDelay.Seconds()} }),
			"deliveryPaused": set(func(p QueueProps) obj { return obj{"delivery_paused": p.DeliveryPaused} }),
			"messageRetention": set(func(p QueueProps) obj {
				if p.MessageRetention == nil {
					return obj{"message_retention_period": 345600}
				}
				return obj{"message_retention_period": p.MessageRetention.Seconds()}
			}),
			"": ws.Deletes(func(to kindtest.Edited) string { return base + "/" + to.Attrs["id"].(string) }),
		},
		Steady: map[tree.Path]string{"name": "a queue keeps its name for life"},
	}
}

func TestQueue(t *testing.T) { kindtest.Run(t, queueSuite()) }

func TestCalls(t *testing.T) {
	s, kind := cloudflaretest.Start(t), queueKind.Erase()
	p := obj{"deliveryDelay": "90s", "deliveryPaused": true, "messageRetention": "14d"}
	out := s.Settled(t, kind, p, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"Queues.CreateQueue"}) {
		t.Errorf("a creation with everything makes %v", have)
	}
	job := s.Job(t, kind, p, &out)
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil || len(s.Calls()) != 2 {
		t.Errorf("unchanged: %v, %d calls, want 2", err, len(s.Calls()))
	}
	s.Reset()
	s.Settled(t, kind, obj{}, &out)
	if have := s.Wrote(); !slices.Equal(have, []string{"Queues.PatchQueue"}) {
		t.Errorf("three settings changed, and %v are made", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one queue, made by as few calls as can be.
func TestFaults(t *testing.T) {
	fresh := func(t *testing.T) (*cloudflaretest.Server, func() int) {
		s := cloudflaretest.Start(t)
		return s, func() int { return len(others(t, s)) }
	}
	cloudflaretest.Faults(t, fresh, queueKind.Erase(), obj{"deliveryDelay": "5s"}, cloudflaretest.Broken{
		{"the answer of the creation is lost", cloudflaretest.Fault{Op: "Queues.CreateQueue", Kind: cloudflaretest.DropAnswer}, 1},
		{"the creation never arrives", cloudflaretest.Fault{Op: "Queues.CreateQueue", Kind: cloudflaretest.CutBefore}, 2},
		{"the creation is throttled twice", cloudflaretest.Fault{Op: "Queues.CreateQueue", Kind: cloudflaretest.Throttle, Times: 2}, 3},
		{"the creation meets an error of the edge", cloudflaretest.Fault{Op: "Queues.CreateQueue", Kind: cloudflaretest.ServerError}, 2},
		{"the listing is throttled", cloudflaretest.Fault{Op: "Queues.ListQueues", Kind: cloudflaretest.Throttle, Times: 2}, 1},
		{"the messages cannot be counted at first", cloudflaretest.Fault{Op: "Queues.GetMetricsQueue", Kind: cloudflaretest.ServerError}, 1},
	})
}

// TestPages is about an account with more queues than one page shows, of which the client asks for the first alone.
func TestPages(t *testing.T) {
	s, kind := cloudflaretest.Start(t), queueKind.Erase()
	for i := range 45 {
		s.Do(t, http.MethodPost, base, obj{"queue_name": fmt.Sprintf("a-%02d", i)})
	}
	s.Do(t, http.MethodPost, base, obj{"queue_name": "z"})
	job := s.Job(t, kind, obj{"name": "z"}, nil)
	s.Reset()
	look, err := kind.Look(t.Context(), job)
	if err != nil || look.Absent || s.Count("Queues.ListQueues") != 3 {
		t.Errorf("absent %v, %v, in %d calls", look.Absent, err, s.Count("Queues.ListQueues"))
	}
}

func TestDelete(t *testing.T) {
	s, kind := cloudflaretest.Start(t), queueKind.Erase()
	out := s.Settled(t, kind, obj{}, nil)
	s.Do(t, http.MethodPost, base+"/"+out.Identity+"/messages", obj{"body": "an order", "content_type": "text"})
	look, err := kind.Look(t.Context(), s.Job(t, kind, obj{}, &out))
	if err != nil || !look.Holds {
		t.Errorf("a queue with a message holds data: %v, %v", look.Holds, err)
	}
	job := s.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || len(others(t, s)) != 1 {
		t.Fatalf("deleted without leave: %v", err)
	}
	job.MayDelete = true
	armed := s.Inject(cloudflaretest.Fault{Op: "Queues.DeleteQueue", Kind: cloudflaretest.Refuse, Code: "11017", Times: 2}) // events are still sent to it
	if err := kind.Delete(t.Context(), job); err != nil || len(others(t, s)) != 0 || armed.Fired() != 2 {
		t.Errorf("with leave: %v", err)
	}
}

func TestCheck(t *testing.T) {
	kind := queueKind.Erase()
	for name, ok := range map[string]bool{
		"a": true, "a-1": true, "-a": false, "a-": false, "A": false, "a_b": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
	} {
		if err := kind.Decode(&reconcile.Job{Props: obj{"name": name}}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := kind.Decode(&reconcile.Job{Props: obj{"deliveryDelay": "1500ms"}}); err == nil || !strings.Contains(err.Error(), "whole seconds") {
		t.Errorf("%v", err)
	}
}
