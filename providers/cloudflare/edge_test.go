package cloudflare_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/routes"
	"github.com/athanor-dev/athanor/providers/cloudflare/rulesets"
	"github.com/athanor-dev/athanor/providers/cloudflare/tokens"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// newEdge is a stage with the kinds of zones and of what stands before Workers.
func newEdge(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	catalog, err := reconcile.NewCatalog(cloudflare.Provider(
		hyperdrive.Service(), routes.Service(), rulesets.Service(), tokens.Service(), workflows.Service(), zones.Service(),
	))
	if err != nil {
		t.Fatal(err)
	}
	s.e.Catalog = catalog
	return s
}

const redirects = "http_request_dynamic_redirect"

// edge has one of each kind in a zone. What the database is said to be reached with tells whether the value of the token
// arrived.
func edge(s *athanor.Stack, zone, domain, tls string) {
	zones.NewSetting(s, "tls", zones.SettingProps{Zone: zone, Setting: "min_tls_version", Value: tls})
	rulesets.NewRuleset(s, "old", rulesets.RulesetProps{Zone: zone, Phase: redirects, Rules: []rulesets.Rule{{
		Ref: "old", Expression: `http.host eq "old.` + domain + `"`, Action: "redirect",
		Parameters: map[string]any{"from_value": map[string]any{"target_url": map[string]any{"value": "https://" + domain}}},
	}}})
	workflows.NewWorkflow(s, "checkout", workflows.WorkflowProps{Script: "worker", Class: "Checkout"})
	purge := tokens.NewToken(s, "purge", tokens.TokenProps{Policies: []tokens.Policy{{Permissions: []string{"DNS Write"}, Zones: []string{zone}}}})
	hyperdrive.NewConfig(s, "orders", hyperdrive.ConfigProps{Origin: hyperdrive.Origin{Host: "db." + domain, Database: "orders", User: "app", Password: purge.Value}})
	routes.NewRoute(s, "api", routes.RouteProps{Zone: zone, Pattern: domain + "/api/*", Script: "worker"})
	routes.NewDomain(s, "www", routes.DomainProps{Hostname: "www." + domain, Zone: zone, Script: "worker"})
}

// own is edge in a zone of its own.
func own(tls string) athanor.Program {
	return func(s *athanor.Stack) error {
		zone := zones.NewZone(s, "zone", zones.ZoneProps{Name: "edge.example"}, athanor.AllowDelete())
		edge(s, string(zone.ID), "edge.example", tls)
		return nil
	}
}

// shared is edge in a zone that is there already.
func shared(s *athanor.Stack) error {
	edge(s, "shop.example", "shop.example", "1.2")
	return nil
}

// result is what somebody else reads, nil when it is not there.
func (s *stage) result(path string) any {
	s.t.Helper()
	_, answer := s.s.TryWith(s.t, http.MethodGet, path, nil, nil)
	return answer["result"]
}

// left is all that a stage has in the account, and in the zone of that id.
func (s *stage) left(zone string) string {
	s.t.Helper()
	var all []string
	for _, path := range []string{"hyperdrive/configs", "workflows", "tokens", "workers/domains"} {
		list, _ := s.result("/accounts/ACCOUNT/" + path).([]any)
		all = append(all, fmt.Sprint(path, " ", len(list)))
	}
	list, _ := s.result("/zones/" + zone + "/workers/routes").([]any)
	setting, _ := s.result("/zones/" + zone + "/settings/min_tls_version").(map[string]any)
	return strings.Join(append(all, fmt.Sprint("routes ", len(list)), fmt.Sprint("tls ", setting["value"]), "rules "+s.s.Rules(zone, redirects)), ", ")
}

const nothing = "hyperdrive/configs 0, workflows 0, tokens 0, workers/domains 0, routes 0, tls 1.0, rules "

// TestEdgeLives makes a zone and all in it by one deploy, changes them, and deletes them by one destroy.
func TestEdgeLives(t *testing.T) {
	s := newEdge(t)
	if sum := s.deploy(own("1.2")); sum.Created != 8 {
		t.Fatalf("first deploy: %+v", sum)
	}
	s.s.Reset()
	if sum := s.deploy(own("1.2")); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
	if n := len(s.s.Calls()); n > 30 {
		t.Errorf("a deploy of nothing makes %d calls", n)
	}
	s.s.Reset()
	if sum := s.deploy(own("1.3")); sum.Updated != 1 || !slices.Equal(s.s.Wrote(), []string{"Zones.PatchSetting"}) {
		t.Errorf("a setting changed: %+v, wrote %v", sum, s.s.Wrote())
	}
	if sum := s.destroy(); sum.Deleted != 8 {
		t.Errorf("destroy: %+v", sum)
	}
	if list, _ := s.result("/zones").([]any); len(list) != 1 {
		t.Errorf("zones: %v", list)
	}
}

// TestEdgeLost: without state all is found again, but the token whose value nobody has: it is replaced, and what uses
// it gets the new value.
func TestEdgeLost(t *testing.T) {
	s := newEdge(t)
	list, _ := s.result("/zones").([]any)
	zone := list[0].(map[string]any)["id"].(string)
	if before := s.left(zone); before != nothing {
		t.Fatal(before)
	}
	s.deploy(shared)
	old := s.s.TokenValues()
	s.e.Store = mem.New()
	s.s.Reset()
	p, err := s.plan(shared)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Actions {
		if n.Address == "purge" && n.Action != engine.Replace {
			t.Errorf("the plan says %s of the token", n.Action)
		}
	}
	if sum := s.apply(p, "deploy"); sum.Created != 0 || sum.Replaced != 1 || sum.Failed != 0 {
		t.Errorf("found again: %+v", sum)
	}
	fresh := s.s.TokenValues()
	configs, _ := s.result("/accounts/ACCOUNT/hyperdrive/configs").([]any)
	name, _ := configs[0].(map[string]any)["name"].(string)
	if used := s.s.Password(name); len(fresh) != 1 || fresh[0] == old[0] || used != fresh[0] {
		t.Errorf("tokens %v, were %v, used: %v", fresh, old, used)
	}
	if have := slices.Sorted(slices.Values(s.s.Wrote())); !slices.Equal(have, []string{
		"Accounts.CreateToken", "Accounts.DeleteToken", "Hyperdrive.UpdateConfig",
	}) {
		t.Errorf("wrote %v", have)
	}
	s.destroy()
	if have, want := s.left(zone), strings.Replace(nothing, "tls 1.0", "tls 1.2", 1); have != want { // what it was before is lost too
		t.Errorf("left %s, want %s", have, want)
	}
}

// TestZoneStays: a zone that is no longer declared is retained, and all in it that the stage has made is deleted. With
// permission it is deleted too.
func TestZoneStays(t *testing.T) {
	program := func(s *athanor.Stack) error {
		zone := zones.NewZone(s, "zone", zones.ZoneProps{Name: "edge.example"})
		edge(s, string(zone.ID), "edge.example", "1.2")
		return nil
	}
	s := newEdge(t)
	s.deploy(program)
	list, _ := s.result("/zones?name=edge.example").([]any)
	zone := list[0].(map[string]any)["id"].(string)
	if sum := s.destroy(); sum.Deleted != 7 || sum.Forgotten != 1 {
		t.Errorf("destroy: %+v", sum)
	}
	if have := s.left(zone); have != nothing {
		t.Errorf("left %s", have)
	}
	s = newEdge(t)
	s.deploy(program)
	none := func(*athanor.Stack) error { return nil }
	g, err := athanor.Evaluate(none, athanor.Input{Stack: "shop", Stage: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.e.Plan(t.Context(), g, engine.PlanOptions{AllowDelete: []string{"zone"}})
	if err != nil {
		t.Fatal(err)
	}
	if sum := s.apply(p, "deploy"); sum.Deleted != 8 {
		t.Errorf("with leave: %+v", sum)
	}
	if list, _ := s.result("/zones?name=edge.example").([]any); len(list) > 0 {
		t.Errorf("with leave there is %v", list)
	}
}

// TestEdgeRolled: a token of another version is made, what uses it gets its value, and the old one is deleted only
// then.
func TestEdgeRolled(t *testing.T) {
	program := func(version int) athanor.Program {
		return func(s *athanor.Stack) error {
			purge := tokens.NewToken(s, "purge", tokens.TokenProps{Version: version, Policies: []tokens.Policy{{Permissions: []string{"Logs Read"}}}})
			hyperdrive.NewConfig(s, "orders", hyperdrive.ConfigProps{Name: "orders", Origin: hyperdrive.Origin{Host: "db.example", Database: "orders", User: "app", Password: purge.Value}})
			return nil
		}
	}
	s := newEdge(t)
	s.deploy(program(0))
	old := s.s.TokenValues()[0]
	s.s.Reset()
	sum := s.deploy(program(1))
	if have := s.s.Wrote(); sum.Replaced != 1 || !slices.Equal(have, []string{"Accounts.CreateToken", "Hyperdrive.UpdateConfig", "Accounts.DeleteToken"}) {
		t.Errorf("%+v, wrote %v", sum, have)
	}
	if fresh := s.s.TokenValues(); len(fresh) != 1 || fresh[0] == old || s.s.Password("orders") != fresh[0] {
		t.Errorf("tokens %v, was %s, used %s", fresh, old, s.s.Password("orders"))
	}
}

// TestEdgePutsBack: a destroy leaves a zone that is not the stage's as it was.
func TestEdgePutsBack(t *testing.T) {
	s := newEdge(t)
	list, _ := s.result("/zones").([]any)
	zone := list[0].(map[string]any)["id"].(string)
	s.deploy(shared)
	s.destroy()
	if have := s.left(zone); have != nothing {
		t.Errorf("left %s", have)
	}
}

// TestEdgeAnswerLost: the answer to the creation of a token is lost in the middle of a deploy. The token is of no use then, and
// another one takes its place in the same run.
func TestEdgeAnswerLost(t *testing.T) {
	s := newEdge(t)
	armed := s.s.Inject(cloudflaretest.Fault{Op: "Accounts.CreateToken", Kind: cloudflaretest.DropAnswer})
	sum := s.deploy(shared)
	if values := s.s.TokenValues(); armed.Fired() != 1 || sum.Failed+sum.Blocked > 0 || len(values) != 1 {
		t.Fatalf("%+v, tokens %v", sum, values)
	}
	configs, _ := s.result("/accounts/ACCOUNT/hyperdrive/configs").([]any)
	if used := s.s.Password(configs[0].(map[string]any)["name"].(string)); used != s.s.TokenValues()[0] {
		t.Errorf("token %v, used %s", s.s.TokenValues(), used)
	}
	s.s.Reset()
	if sum := s.deploy(shared); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
}
