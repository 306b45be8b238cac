package apigatewayv2

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
)

// on selects calls by their method and the end of their path.
func on(method, end string) func(awstest.Call) bool {
	return func(c awstest.Call) bool {
		return c.Method == method && strings.HasSuffix(strings.SplitN(c.URI, "?", 2)[0], end)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one API with one of each, made by as few calls as
// can be.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault awstest.Fault
		wrote int // besides the four of a creation
	}{
		{"the answer of the creation is lost", awstest.Fault{When: on("POST", "/apis"), Kind: awstest.DropAnswer}, 0},
		{"the creation never arrives", awstest.Fault{When: on("POST", "/apis"), Kind: awstest.CutBefore}, 1},
		{"the creation is throttled twice", awstest.Fault{When: on("POST", "/apis"), Kind: awstest.Throttle, Times: 2}, 2},
		{"the creation meets an error of the service", awstest.Fault{When: on("POST", "/apis"), Kind: awstest.ServerError}, 1},
		{"the answer of the integration is lost", awstest.Fault{When: on("POST", "/integrations"), Kind: awstest.DropAnswer}, 0},
		{"the integration is throttled", awstest.Fault{When: on("POST", "/integrations"), Kind: awstest.Throttle}, 1},
		{"the route meets another change", awstest.Fault{When: on("POST", "/routes"), Kind: awstest.Refuse, Code: "ConflictException", Status: 409}, 1},
		{"the answer of the route is lost", awstest.Fault{When: on("POST", "/routes"), Kind: awstest.DropAnswer}, 0},
		{"the answer of the stage is lost", awstest.Fault{When: on("POST", "/stages"), Kind: awstest.DropAnswer}, 0},
		{"the stage does not see the API yet", awstest.Fault{When: on("POST", "/stages"), Kind: awstest.Refuse, Code: "NotFoundException", Status: 404}, 1},
		{"reads are throttled", awstest.Fault{When: on("GET", "/routes"), Kind: awstest.Throttle, Times: 2}, 0},
		{"an answer to a read is lost", awstest.Fault{When: on("GET", "/stages"), Kind: awstest.DropAnswer}, 0},
		{"the integrations are not shown at first", awstest.Fault{When: on("GET", "/integrations"), Kind: awstest.Stale, Nth: 2}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			armed := w.server.Inject(c.fault)
			out := w.settled(t, one(), nil)
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := w.wrote(); len(have) != 4+c.wrote {
				t.Errorf("wrote %v, want %d calls", have, 4+c.wrote)
			}
			if have := w.apis(t); len(have) != 1 {
				t.Fatalf("APIs: %v", have)
			}
			for _, sort := range []string{"integrations", "routes", "stages"} {
				if have := w.children(t, out.Identity, sort); len(have) != 1 {
					t.Errorf("%s: %v", sort, have)
				}
			}
		})
	}
}

// TestShownLate is about an API that its first look does not show: it is waited for, and not made again.
func TestShownLate(t *testing.T) {
	w := newWorld(t)
	hidden := w.server.Inject(awstest.Fault{When: func(c awstest.Call) bool {
		return c.Method == "GET" && strings.Count(c.URI, "/") == 3
	}, Kind: awstest.Stale})
	w.settled(t, one(), nil)
	if have := w.apis(t); len(have) != 1 || hidden.Fired() == 0 {
		t.Errorf("APIs after %d late answers: %v", hidden.Fired(), have)
	}
}

func TestDenied(t *testing.T) {
	for name, when := range map[string]func(awstest.Call) bool{
		"listing": on("GET", "/apis"), "creation": on("POST", "/apis"), "routes": on("GET", "/routes"), "stage": on("POST", "/stages"),
	} {
		w, kind := newWorld(t), quick()
		armed := w.server.Inject(awstest.Fault{When: when, Kind: awstest.Deny, Times: -1})
		_, err := kind.Settle(t.Context(), w.job(t, kind, one(), nil), reconcile.Hooks{})
		if w.cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), "not authorized") || armed.Fired() != 1 {
			t.Errorf("%s denied %d times: %v", name, armed.Fired(), err)
		}
	}
}

// TestDelete waits until the API is no longer shown.
func TestDelete(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.settled(t, one(), nil)
	w.server.Reset()
	stale := w.server.Inject(awstest.Fault{Kind: awstest.Stale})
	job := w.job(t, kind, nil, &out)
	for range 2 {
		if err := kind.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	if have := w.apis(t); len(have) != 0 || stale.Fired() != 1 {
		t.Errorf("APIs after %d late answers: %v", stale.Fired(), have)
	}
}
