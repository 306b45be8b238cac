package kinds

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/containers"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/dns"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/routes"
	"github.com/athanor-dev/athanor/providers/cloudflare/rulesets"
	"github.com/athanor-dev/athanor/providers/cloudflare/tokens"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/providers/random"
)

// hello is a Worker without bindings.
func hello(s *athanor.Stack) workers.Worker {
	return workers.NewWorker(s, "web", workers.WorkerProps{Code: workers.Bundle("worker.js"), CompatibilityDate: "2026-01-31"})
}

func apiToken(s *athanor.Stack) error {
	tokens.NewToken(s, "dns", tokens.TokenProps{
		Policies: []tokens.Policy{{Permissions: []string{"DNS Write"}, Zones: []string{"shop.example"}}},
	})
	return nil
}

func userToken(s *athanor.Stack) error {
	tokens.NewUserToken(s, "logs", tokens.TokenProps{Policies: []tokens.Policy{{Permissions: []string{"Logs Read"}}}})
	return nil
}

func d1Database(s *athanor.Stack) error {
	d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
	return nil
}

func dnsRecord(s *athanor.Stack) error {
	dns.NewRecord(s, "www", dns.RecordProps{Zone: "shop.example", Name: "www", Type: "A", Content: "192.0.2.1", Proxied: true})
	return nil
}

func hyperdriveConfig(s *athanor.Stack) error {
	password := random.NewPassword(s, "password", random.PasswordProps{})
	hyperdrive.NewConfig(s, "orders", hyperdrive.ConfigProps{
		Origin:  hyperdrive.Origin{Host: "db.shop.example", Database: "orders", User: "app", Password: password.Value},
		Caching: hyperdrive.Caching{MaxAge: new(30 * time.Second)},
	})
	return nil
}

func kvNamespace(s *athanor.Stack) error {
	cache := kv.NewNamespace(s, "cache", kv.NamespaceProps{})
	workers.NewWorker(s, "web", workers.WorkerProps{
		Code: workers.Bundle("worker.js"), CompatibilityDate: "2026-01-31", Env: workers.Env{"CACHE": cache},
	})
	return nil
}

func cloudflareQueue(s *athanor.Stack) error {
	queues.NewQueue(s, "jobs", queues.QueueProps{MessageRetention: new(10 * day), DeliveryDelay: 5 * time.Second})
	return nil
}

func queueConsumer(s *athanor.Stack) error {
	jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})
	dead := queues.NewQueue(s, "dead", queues.QueueProps{})
	queues.NewConsumer(s, "work", queues.ConsumerProps{
		Queue: jobs.ID, Script: hello(s).Name, BatchSize: new(50), MaxWait: new(time.Second), DeadLetter: dead.Name,
	})
	return nil
}

func r2Bucket(s *athanor.Stack) error {
	r2.NewBucket(s, "assets", r2.BucketProps{
		CORS:      []r2.CORSRule{{Origins: []string{"https://shop.example"}, Methods: []string{"GET"}, MaxAge: time.Hour}},
		Lifecycle: []r2.LifecycleRule{{ID: "drafts", Prefix: "drafts/", DeleteAfter: new(7 * day)}},
	})
	return nil
}

func ruleset(s *athanor.Stack) error {
	rulesets.NewRuleset(s, "moved", rulesets.RulesetProps{
		Zone:  "shop.example",
		Phase: "http_request_dynamic_redirect",
		Rules: []rulesets.Rule{{
			Ref: "blog", Expression: `http.request.uri.path eq "/blog"`, Action: "redirect",
			Parameters: map[string]any{"from_value": map[string]any{
				"status_code": 301, "target_url": map[string]any{"value": "https://blog.shop.example/"},
			}},
		}},
	})
	return nil
}

func cloudflareWebsite(s *athanor.Stack) error {
	guests := kv.NewNamespace(s, "guests", kv.NamespaceProps{})
	workers.NewWebsite(s, "site", workers.WebsiteProps{
		Dir:        "project",
		Build:      new("sh build.sh"),
		Env:        workers.Env{"GUESTS": guests},
		WorkersDev: true,
	})
	return nil
}

func worker(s *athanor.Stack) error {
	db := d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
	workers.NewWorker(s, "web", workers.WorkerProps{
		Code:              workers.Bundle("worker.js"),
		CompatibilityDate: "2026-01-31",
		WorkersDev:        true,
		Env:               workers.Env{"DB": db, "GREETING": "hello"},
		Crons:             []string{"17 3 * * *"},
	})
	return nil
}

func workerDomain(s *athanor.Stack) error {
	// shop is a Worker of another stack. A Worker of this one has its names in its own prop, Domains.
	routes.NewDomain(s, "site", routes.DomainProps{Hostname: "app.shop.example", Script: "shop"})
	return nil
}

func container(s *athanor.Stack) error {
	api := workers.NewWorker(s, "web", workers.WorkerProps{
		Code: workers.Bundle("room.js"), CompatibilityDate: "2026-01-31",
		DurableObjects: map[string]workers.DurableObject{"Room": {Container: true}}, Env: workers.Env{"ROOM": workers.Binding{DurableObject: "Room"}},
	})
	containers.NewContainer(s, "room", containers.ContainerProps{Script: api.Name, Class: "Room", Image: "docker.io/library/nginx:1.29"})
	return nil
}

func workerRoute(s *athanor.Stack) error {
	routes.NewRoute(s, "api", routes.RouteProps{Zone: "shop.example", Pattern: "shop.example/api/*", Script: hello(s).Name})
	return nil
}

func workflow(s *athanor.Stack) error {
	workflows.NewWorkflow(s, "checkout", workflows.WorkflowProps{Script: hello(s).Name, Class: "Checkout"})
	return nil
}

func zone(s *athanor.Stack) error {
	zones.NewZone(s, "zone", zones.ZoneProps{Name: "other.example"}, athanor.AllowDelete())
	return nil
}

func zoneSetting(s *athanor.Stack) error {
	zones.NewSetting(s, "https", zones.SettingProps{Zone: "shop.example", Setting: "always_use_https", Value: "on"})
	return nil
}
