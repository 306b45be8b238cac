package apigatewayv2

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

// on selects calls by their method and the end of their path.
func on(method, end string) func(awstest.Call) bool {
	return func(c awstest.Call) bool {
		return c.Method == method && strings.HasSuffix(strings.SplitN(c.URI, "?", 2)[0], end)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one API with one of each, created by as few
// calls as can be.
func TestFaults(t *testing.T) {
	whole := func(w *world, t kindtest.T) []any {
		all := w.apis(t)
		for _, api := range all {
			for _, sort := range []string{"integrations", "routes", "stages"} {
				if have := api.(obj)[sort].([]obj); len(have) != 1 {
					t.Errorf("%s: %v", sort, have)
				}
			}
		}
		return all
	}
	awstest.Faults(t, newWorld, quick(), one(), whole, awstest.Broken{
		{Name: "the answer of the creation is lost", Fault: awstest.Fault{When: on("POST", "/apis"), Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "the creation never arrives", Fault: awstest.Fault{When: on("POST", "/apis"), Kind: awstest.CutBefore}, Wrote: 5},
		{Name: "the creation is throttled twice", Fault: awstest.Fault{When: on("POST", "/apis"), Kind: awstest.Throttle, Times: 2}, Wrote: 6},
		{Name: "the creation meets an error of the service", Fault: awstest.Fault{When: on("POST", "/apis"), Kind: awstest.ServerError}, Wrote: 5},
		{Name: "the answer of the integration is lost", Fault: awstest.Fault{When: on("POST", "/integrations"), Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "the integration is throttled", Fault: awstest.Fault{When: on("POST", "/integrations"), Kind: awstest.Throttle}, Wrote: 5},
		{Name: "the route meets another change", Fault: awstest.Fault{When: on("POST", "/routes"), Kind: awstest.Refuse, Code: "ConflictException", Status: 409}, Wrote: 5},
		{Name: "the answer of the route is lost", Fault: awstest.Fault{When: on("POST", "/routes"), Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "the answer of the stage is lost", Fault: awstest.Fault{When: on("POST", "/stages"), Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "the stage does not see the API yet", Fault: awstest.Fault{When: on("POST", "/stages"), Kind: awstest.Refuse, Code: "NotFoundException", Status: 404}, Wrote: 5},
		{Name: "reads are throttled", Fault: awstest.Fault{When: on("GET", "/routes"), Kind: awstest.Throttle, Times: 2}, Wrote: 4},
		{Name: "an answer to a read is lost", Fault: awstest.Fault{When: on("GET", "/stages"), Kind: awstest.DropAnswer}, Wrote: 4},
		{Name: "the integrations are not shown at first", Fault: awstest.Fault{When: on("GET", "/integrations"), Kind: awstest.Stale, Nth: 2}, Wrote: 4},
	})
}

// TestShownLate is about an API that the first read does not show: it is waited for, and not created again.
func TestShownLate(t *testing.T) {
	w := newWorld(t)
	hidden := w.Server.Inject(awstest.Fault{When: func(c awstest.Call) bool {
		return c.Method == "GET" && strings.Count(c.URI, "/") == 3
	}, Kind: awstest.Stale})
	w.Settled(t, one(), nil)
	if have := w.apis(t); len(have) != 1 || hidden.Fired() == 0 {
		t.Errorf("APIs after %d late answers: %v", hidden.Fired(), have)
	}
}

func TestDenied(t *testing.T) {
	for name, when := range map[string]func(awstest.Call) bool{
		"listing": on("GET", "/apis"), "creation": on("POST", "/apis"), "routes": on("GET", "/routes"), "stage": on("POST", "/stages"),
	} {
		w, kind := newWorld(t), quick()
		armed := w.Server.Inject(awstest.Fault{When: when, Kind: awstest.Deny, Times: -1})
		_, err := kind.Settle(t.Context(), w.Job(t, kind, one(), nil), reconcile.Hooks{})
		if w.Cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), "not authorized") || armed.Fired() != 1 {
			t.Errorf("%s denied %d times: %v", name, armed.Fired(), err)
		}
	}
}

// TestDelete waits until the API is no longer shown.
func TestDelete(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.Settled(t, one(), nil)
	w.Server.Reset()
	stale := w.Server.Inject(awstest.Fault{Kind: awstest.Stale})
	job := w.Job(t, kind, nil, &out)
	for range 2 {
		if err := kind.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	if have := w.apis(t); len(have) != 0 || stale.Fired() != 1 {
		t.Errorf("APIs after %d late answers: %v", stale.Fired(), have)
	}
}
