package apigatewayv2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

// mappedAt is an API with one route, served at these addresses by its default stage.
func mappedAt(addresses ...string) obj {
	at := obj{}
	for _, a := range addresses {
		at[a] = obj{}
	}
	p := one()
	p["mappings"] = at
	return p
}

// addresses are where an API is served.
func (w *world) addresses(api string) []string {
	var all []string
	for _, m := range w.mapped(api) {
		all = append(all, m["at"].(string))
	}
	return all
}

// other is an API of another address, or of another stack.
func (w *world) other(t *testing.T, stack, address string, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := w.Job(t, quick(), props, last)
	job.Address, job.Mark.Address, job.Mark.Stack = address, address, stack
	return job
}

// TestSharedDomain is about two APIs that share a domain by path: each keeps its own, and neither takes the other's.
func TestSharedDomain(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "api.example.com")
	orders := w.Settled(t, mappedAt("api.example.com/orders"), nil)
	users, err := quick().Settle(t.Context(), w.other(t, "people", "users", mappedAt("api.example.com/users", "api.example.com"), nil), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w.Server.Reset()
	w.Settled(t, mappedAt("api.example.com/orders"), &orders)
	w.expect(t, "the same beside another API")

	_, err = quick().Settle(t.Context(), w.Job(t, quick(), mappedAt("api.example.com/orders", "api.example.com/users"), &orders), reconcile.Hooks{})
	if !errors.Is(err, errElsewhere) || !strings.Contains(err.Error(), "api.example.com/users") || !strings.Contains(err.Error(), users.Identity) {
		t.Errorf("a path that another stack has: %v", err)
	}
	w.expect(t, "a path that another stack has")
	if _, err := quick().Look(t.Context(), w.Job(t, quick(), mappedAt("api.example.com/users"), nil)); !errors.Is(err, errElsewhere) {
		t.Errorf("the same without state: %v", err)
	}
	if err := quick().Delete(t.Context(), w.Job(t, quick(), nil, &orders)); err != nil {
		t.Fatal(err)
	}
	if have := w.addresses(users.Identity); !slices.Equal(have, []string{"api.example.com", "api.example.com/users"}) {
		t.Errorf("after the other API was deleted it is served at %v", have)
	}
}

// TestHandedOver is about a path that goes from one API of a stack to another: it is waited for, and never taken.
func TestHandedOver(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "api.example.com")
	first := w.Settled(t, mappedAt("api.example.com"), nil)
	job := w.other(t, "shop", "next", mappedAt("api.example.com"), nil)
	job.Timeouts.Create = time.Second
	if _, err := quick().Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, errReleased) || !errors.Is(err, reconcile.ErrUnsettled) {
		t.Errorf("as long as the first has it: %v", err)
	}
	if have := w.addresses(first.Identity); len(have) != 1 {
		t.Errorf("the first is served at %v", have)
	}
	w.Settled(t, one(), &first)
	next, err := quick().Settle(t.Context(), w.other(t, "shop", "next", mappedAt("api.example.com"), nil), reconcile.Hooks{})
	if have := w.addresses(next.Identity); err != nil || len(have) != 1 || next.Identity == first.Identity {
		t.Errorf("once it is released the next is served at %v: %v", have, err)
	}
}

// TestTakenBack is about a mapping of ours that somebody led elsewhere: what is in state is ours.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "api.example.com")
	out := w.Settled(t, mappedAt("api.example.com/orders"), nil)
	theirs, err := quick().Settle(t.Context(), w.other(t, "people", "users", one(), nil), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	m := w.children(t, "api.example.com", "mappings")[0]
	_, err = w.Others.UpdateApiMapping(t.Context(), &sdk.UpdateApiMappingInput{
		DomainName: new("api.example.com"), ApiMappingId: new(m["apiMappingId"].(string)), ApiMappingKey: new("orders"), ApiId: &theirs.Identity, Stage: new("$default"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if have := paths(w.observe(t, mappedAt("api.example.com/orders"), &out).Steps); !slices.Equal(have, []string{`mappings["api.example.com/orders"].api`}) {
		t.Errorf("a mapping that was led elsewhere shows as %v", have)
	}
	w.Server.Reset()
	w.Settled(t, mappedAt("api.example.com/orders"), &out)
	w.expect(t, "taking it back", "PATCH domainnames")
	if have := w.addresses(out.Identity); !slices.Equal(have, []string{"api.example.com/orders"}) {
		t.Errorf("it is served at %v", have)
	}
}

// TestNextGeneration is about an API that replaces an earlier one of the same address: its mappings follow without a
// gap.
func TestNextGeneration(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "api.example.com")
	first := w.Settled(t, mappedAt("api.example.com"), nil)
	job := w.Job(t, quick(), mappedAt("api.example.com"), nil)
	job.Mark.Generation, job.Nonce = 2, "second"
	w.Server.Reset()
	next, err := quick().Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w.expect(t, "the next generation", "POST apis", "POST integrations", "POST routes", "POST stages", "PATCH domainnames")
	if err := quick().Delete(t.Context(), w.Job(t, quick(), nil, &first)); err != nil {
		t.Fatal(err)
	}
	if have := w.addresses(next.Identity); !slices.Equal(have, []string{"api.example.com"}) {
		t.Errorf("after the first was deleted it is served at %v", have)
	}
}

// TestStrayMappings is about mappings that somebody else, or a cut run, has left.
func TestStrayMappings(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "a.example.com", "b.example.com", "c.example.com", "d.example.com")
	out := w.Settled(t, mappedAt("a.example.com/one"), nil)
	for domain, key := range map[string]string{"a.example.com": "two", "d.example.com": ""} {
		if _, err := w.Others.CreateApiMapping(t.Context(), &sdk.CreateApiMappingInput{
			DomainName: &domain, ApiMappingKey: &key, ApiId: &out.Identity, Stage: new("$default"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if have := paths(w.observe(t, mappedAt("a.example.com/one"), &out).Steps); !slices.Equal(have, []string{`mappings["a.example.com/two"]`}) {
		t.Errorf("with state: %v", have)
	}
	if have := paths(w.observe(t, mappedAt("a.example.com/one"), nil).Steps); !slices.Equal(have, []string{`mappings["a.example.com/two"]`, `mappings["d.example.com"]`}) {
		t.Errorf("without state: %v", have)
	}
	w.Server.Reset()
	if err := quick().Delete(t.Context(), w.Job(t, quick(), nil, &out)); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a deletion", "DELETE domainnames", "DELETE domainnames", "DELETE domainnames", "DELETE apis")
	if have := w.addresses(out.Identity); len(have) != 0 {
		t.Errorf("what is left: %v", have)
	}
}

// TestMappingMovesToAnotherStage moves a mapping to another stage, and deletes the one that it led to, in one go.
func TestMappingMovesToAnotherStage(t *testing.T) {
	w := newWorld(t)
	w.serve(t, "api.example.com")
	blue := one()
	blue["stages"], blue["mappings"] = obj{"blue": obj{}}, obj{"api.example.com": obj{"stage": "blue"}}
	out := w.Settled(t, blue, nil)
	green := one()
	green["stages"], green["mappings"] = obj{"green": obj{}}, obj{"api.example.com": obj{"stage": "green"}}
	w.Server.Reset()
	w.Settled(t, green, &out)
	w.expect(t, "another stage", "POST stages", "PATCH domainnames", "DELETE stages")
	out = w.Settled(t, one(), &out)
	w.expect(t, "no mapping any more", "POST stages", "DELETE domainnames", "DELETE stages")
}

func TestMappingFaults(t *testing.T) {
	served := func(t *testing.T) *world {
		w := newWorld(t)
		w.serve(t, "api.example.com")
		return w
	}
	mapped := func(w *world, t kindtest.T) []any {
		all := w.apis(t)
		if have := fmt.Sprint(all[0].(obj)["mappings"]); have != "[map[at:api.example.com/a stage:$default]]" {
			t.Errorf("it is served at %s", have)
		}
		return all
	}
	awstest.Faults(t, served, quick(), mappedAt("api.example.com/a"), mapped, awstest.Broken{
		{Name: "its answer is lost", Fault: awstest.Fault{When: on("POST", "/apimappings"), Kind: awstest.DropAnswer}, Wrote: 5},
		{Name: "it never arrives", Fault: awstest.Fault{When: on("POST", "/apimappings"), Kind: awstest.CutBefore}, Wrote: 6},
		{Name: "it is throttled", Fault: awstest.Fault{When: on("POST", "/apimappings"), Kind: awstest.Throttle}, Wrote: 6},
		{Name: "the domain is not visible yet", Fault: awstest.Fault{When: on("POST", "/apimappings"), Kind: awstest.Refuse, Code: "NotFoundException", Status: 404}, Wrote: 6},
		{Name: "reads are throttled", Fault: awstest.Fault{When: on("GET", "/apimappings"), Kind: awstest.Throttle, Times: 2}, Wrote: 5},
		{Name: "they are shown late", Fault: awstest.Fault{When: on("GET", "/apimappings"), Kind: awstest.Stale, Nth: 2}, Wrote: 5},
	})
}

func TestMappingsChecked(t *testing.T) {
	for at, ok := range map[string]bool{
		"api.example.com": true, "api.example.com/v1": true, "*.example.com/a/b-2/c_d": true,
		"api": false, "https://api.example.com": false, "api.example.com/": false, "api.example.com//a": false, "api.example.com/a b": false,
		"api.example.com/" + strings.Repeat("a", 301): false,
	} {
		if err := checkAPI(HTTPAPIProps{Mappings: map[string]Mapping{at: {}}}); (err == nil) != ok {
			t.Errorf("%q: %v", at, err)
		}
	}
	for _, missing := range []HTTPAPIProps{
		{Mappings: map[string]Mapping{"api.example.com": {Stage: new("beta")}}},
		{Mappings: map[string]Mapping{"api.example.com": {}}, Stages: map[string]Stage{"beta": {}}},
	} {
		if err := checkAPI(missing); err == nil || !strings.Contains(err.Error(), "no stage") {
			t.Errorf("a stage that is not there: %v", err)
		}
	}
}
