package cloudflare_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/routes"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/reconcile"
)

// page declares a Worker that answers.
func page(s *athanor.Stack, name string, more workers.WorkerProps, opts ...athanor.Option) workers.Worker {
	more.Code, more.CompatibilityDate = workers.Script(script), "2026-01-01"
	return workers.NewWorker(s, name, more, opts...)
}

// overlapping are two resources of one stack that each decide the same setting at Cloudflare, and the words of the
// refusal.
var overlapping = map[string]struct {
	program athanor.Program
	words   []string
	hint    string
}{
	"a domain of a Worker that states its domains": {func(s *athanor.Stack) error {
		shop := page(s, "shop", workers.WorkerProps{Domains: []string{"www.shop.example"}})
		routes.NewDomain(s, "site", routes.DomainProps{Hostname: "app.shop.example", Script: shop.Name})
		return nil
	}, []string{"site", "shop states all of its domains"}, "declare it in domains of shop"},
	"a domain of a Worker that states none": {func(s *athanor.Stack) error {
		page(s, "shop", workers.WorkerProps{Name: "shop-front"})
		routes.NewDomain(s, "site", routes.DomainProps{Hostname: "app.shop.example", Script: "shop-front"})
		return nil
	}, []string{"site", "shop states all of its domains"}, "ignoreChanges"},
	"a route of a Worker that states its routes": {func(s *athanor.Stack) error {
		shop := page(s, "shop", workers.WorkerProps{Routes: map[string]workers.Route{"shop.example/a/*": {}}})
		routes.NewRoute(s, "more", routes.RouteProps{Zone: "shop.example", Pattern: "shop.example/b/*", Script: shop.Name})
		return nil
	}, []string{"more", "shop states all of its routes"}, "declare it in routes of shop"},
	"a domain of two": {func(s *athanor.Stack) error {
		routes.NewDomain(s, "one", routes.DomainProps{Hostname: "app.shop.example", Script: "front"})
		routes.NewDomain(s, "two", routes.DomainProps{Hostname: "app.shop.example", Script: "back"})
		return nil
	}, []string{"two", "one declares domain app.shop.example too"}, ""},
	"a domain of two Workers": {func(s *athanor.Stack) error {
		page(s, "one", workers.WorkerProps{Domains: []string{"app.shop.example"}})
		page(s, "two", workers.WorkerProps{Domains: []string{"www.shop.example", "app.shop.example"}})
		return nil
	}, []string{"two", "one declares domain app.shop.example too"}, ""},
	"a route of a Worker and for none": {func(s *athanor.Stack) error {
		page(s, "one", workers.WorkerProps{Routes: map[string]workers.Route{"shop.example/a/*": {}}})
		routes.NewRoute(s, "two", routes.RouteProps{Zone: "shop.example", Pattern: "shop.example/a/*"})
		return nil
	}, []string{"two", "one declares route shop.example/a/* too"}, ""},
	"two Workers of a queue": {func(s *athanor.Stack) error {
		jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})
		queues.NewConsumer(s, "one", queues.ConsumerProps{Queue: jobs.ID, Script: "front"})
		queues.NewConsumer(s, "two", queues.ConsumerProps{Queue: jobs.ID, Script: "back"})
		return nil
	}, []string{"two", "one declares worker consumer of queue ${jobs.id} too"}, ""},
	"two values of a setting": {func(s *athanor.Stack) error {
		zones.NewSetting(s, "one", zones.SettingProps{Zone: "shop.example", Setting: "ssl", Value: "full"})
		zones.NewSetting(s, "two", zones.SettingProps{Zone: "shop.example", Setting: "ssl", Value: "strict"})
		return nil
	}, []string{"two", "one declares setting ssl of zone shop.example too"}, ""},
	"two values of a setting of any type": {func(s *athanor.Stack) error {
		generic.NewResource(s, "one", "cloudflare.argo.SmartRouting", generic.Props{"zone": "shop.example", "value": "on"})
		generic.NewResource(s, "two", "cloudflare.argo.SmartRouting", generic.Props{"zone": "shop.example", "value": "off"})
		return nil
	}, []string{"two", "one declares cloudflare.argo.SmartRouting of zone shop.example too"}, ""},
}

// TestOverlapping plans two resources that would undo each other's work at every deploy: the plan refuses them and names both.
func TestOverlapping(t *testing.T) {
	s := newStage(t)
	for what, test := range overlapping {
		t.Run(what, func(t *testing.T) {
			_, err := s.plan(test.program)
			if err == nil {
				t.Fatal("planned")
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v: without %q", err, word)
				}
			}
			if hint := strings.Join(reconcile.Hints(err), "\n"); !strings.Contains(hint, test.hint) {
				t.Errorf("hint %q: without %q", hint, test.hint)
			}
		})
	}
	if wrote := s.s.Wrote(); len(wrote) > 0 {
		t.Errorf("wrote %v", wrote)
	}
}

// TestBeside deploys what looks alike and does not meet: the second deploy finds nothing to do.
func TestBeside(t *testing.T) {
	s := newStage(t)
	program := func(s *athanor.Stack) error {
		shop := page(s, "shop", workers.WorkerProps{Domains: []string{"www.shop.example"}}, athanor.IgnoreChanges("domains"))
		routes.NewDomain(s, "site", routes.DomainProps{Hostname: "app.shop.example", Script: shop.Name})
		routes.NewRoute(s, "more", routes.RouteProps{Zone: "shop.example", Pattern: "shop.example/b/*", Script: shop.Name})
		routes.NewRoute(s, "none", routes.RouteProps{Zone: "shop.example", Pattern: "shop.example/c/*"})
		zones.NewSetting(s, "ssl", zones.SettingProps{Zone: "shop.example", Setting: "ssl", Value: "full"})
		zones.NewSetting(s, "brotli", zones.SettingProps{Zone: "shop.example", Setting: "brotli", Value: "on"})
		return nil
	}
	if sum := s.deploy(program); sum.Created != 6 || sum.Failed+sum.Blocked != 0 {
		t.Fatalf("first deploy: %+v", sum)
	}
	s.s.Reset()
	if sum := s.deploy(program); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
}
