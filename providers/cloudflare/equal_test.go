package cloudflare_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// silence declares an object without a name and without an owner tag: nothing but what is declared identifies it.
func silence(p generic.Props) athanor.Program {
	return func(s *athanor.Stack) error {
		generic.NewResource(s, "silence", "cloudflare.alerting.Silence", p)
		return nil
	}
}

// TestReplacedByLess replaces an object by one that is declared with less. All that is declared of the new one the old one
// has too, and yet the old one is not taken for it.
func TestReplacedByLess(t *testing.T) {
	s := newStage(t)
	less := generic.Props{"start_time": "2026-01-01T00:00:00Z", "policy_id": "0da2b59ef118439d8097bdfb215203c9"}
	more := generic.Props{"end_time": "2026-02-01T00:00:00Z", "start_time": less["start_time"], "policy_id": less["policy_id"]}
	s.deploy(silence(more))
	path := "/accounts/ACCOUNT/alerting/v3/silences"
	before := s.result(path).([]any)[0].(map[string]any)
	if sum := s.deploy(silence(less)); sum.Replaced != 1 || sum.Failed+sum.Blocked != 0 {
		t.Errorf("replaced: %+v", sum)
	}
	all := s.result(path).([]any)
	if len(all) != 1 {
		t.Fatalf("there are %v", all)
	}
	if now := all[0].(map[string]any); now["id"] == before["id"] || now["end_time"] == before["end_time"] {
		t.Errorf("it was %v, and is %v", before, now)
	}
	s.s.Reset()
	if sum := s.deploy(silence(less)); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
}

// TestUnlisted loses the answer to the creation of an object that the API lists nowhere. Neither this deploy nor the next
// creates a second one. What was created is taken over by its id, once state has no entry any more.
func TestUnlisted(t *testing.T) {
	s := newStage(t)
	program := func(opts ...athanor.Option) athanor.Program {
		return func(s *athanor.Stack) error {
			generic.NewResource(s, "beacon", "cloudflare.rum.Site", generic.Props{"host": "shop.example"}, opts...)
			return nil
		}
	}
	lost := s.s.Inject(cloudflaretest.Fault{Op: "Rum.CreateSiteInfo", Kind: cloudflaretest.DropAnswer})
	for _, run := range []string{"the deploy", "the next one"} {
		p, err := s.plan(program())
		if err != nil {
			t.Fatal(err)
		}
		if err = p.BlockedError(p.Blocked()); err == nil {
			r, failed := s.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
			if err = failed; err == nil && len(r.Failures) > 0 {
				err = r.Failures[0]
			}
		}
		if hints := strings.Join(reconcile.Hints(err), "\n"); err == nil || !strings.Contains(hints, "athanor state rm beacon") {
			t.Errorf("%s ended with %v (%s)", run, err, hints)
		}
	}
	made := s.s.Objects("/accounts/ACCOUNT/rum/site_info")
	if lost.Fired() != 1 || len(made) != 1 {
		t.Fatalf("lost %d answers; there are %v", lost.Fired(), made)
	}
	s.e.Store = mem.New() // what `athanor state rm` does to a stage of one resource
	if sum := s.deploy(program(athanor.Adopt(made[0]["site_tag"].(string)))); sum.Recovered != 1 || sum.Failed+sum.Blocked+sum.Created != 0 {
		t.Errorf("taken over: %+v", sum)
	}
}

// TestCutBeforeLater loses the answer to a creation that does not take all that is declared. The deploy finds what it created
// by what the creation takes, and sets the rest.
func TestCutBeforeLater(t *testing.T) {
	s := newStage(t)
	lost := s.s.Inject(cloudflaretest.Fault{Op: "CustomHostnames.CreateCustomHostname", Kind: cloudflaretest.DropAnswer})
	sum := s.deploy(func(s *athanor.Stack) error {
		generic.NewResource(s, "customer", "cloudflare.customhostnames.Hostname", generic.Props{
			"zone": "shop.example", "hostname": "www.customer.example", "custom_origin_sni": "origin.shop.example",
		})
		return nil
	})
	zones := s.s.Do(t, http.MethodGet, "/zones", nil).([]any)
	all := s.s.Do(t, http.MethodGet, "/zones/"+zones[0].(map[string]any)["id"].(string)+"/custom_hostnames", nil).([]any)
	if sum.Created != 1 || lost.Fired() != 1 || len(all) != 1 || all[0].(map[string]any)["custom_origin_sni"] != "origin.shop.example" {
		t.Errorf("%+v, lost %d answers; there are %v", sum, lost.Fired(), all)
	}
}
