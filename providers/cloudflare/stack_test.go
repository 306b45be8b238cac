package cloudflare_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/dns"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/routes"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// stage is one stage of a program against a server, with its key and its store.
type stage struct {
	t *testing.T
	s *cloudflaretest.Server
	e *engine.Engine
	// dir is the stack's directory; "" is a new one each time.
	dir string
}

// newStage has a zone, and a Worker that consumes. Everything comes from the environment, as for a user.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := cloudflaretest.Start(t)
	s.Setenv(t)
	s.AddZone(s.Account, "shop.example")
	s.AddScript("worker")
	catalog, err := reconcile.NewCatalog(local.Provider(), cloudflare.Provider(d1.Service(), dns.Service(), generic.Service(), kv.Service(), queues.Service(), r2.Service(),
		routes.Service(), workers.Service(), zones.Service()))
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, s: s, e: &engine.Engine{Catalog: catalog, Store: mem.New(), Key: key, Cache: t.TempDir()}}
}

func (s *stage) plan(program athanor.Program) (*engine.Plan, error) {
	dir := s.dir
	if dir == "" {
		dir = s.t.TempDir()
	}
	g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "test", Dir: dir})
	if err != nil {
		return nil, err
	}
	if g.Secrets["key"].Env != "" {
		s.t.Setenv(g.Secrets["key"].Env, canary)
	}
	return s.e.Plan(s.t.Context(), g, engine.PlanOptions{})
}

func (s *stage) deploy(program athanor.Program) engine.Summary {
	s.t.Helper()
	p, err := s.plan(program)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.apply(p, "deploy")
}

func (s *stage) apply(p *engine.Plan, command string) engine.Summary {
	s.t.Helper()
	r, err := s.e.Apply(s.t.Context(), p, engine.ApplyOptions{Command: command})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Summary
}

func (s *stage) destroy(allowDelete ...string) engine.Summary {
	s.t.Helper()
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Dir: s.t.TempDir()}
	p, err := s.e.PlanDestroy(s.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, engine.PlanOptions{AllowDelete: allowDelete})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.apply(p, "destroy")
}

// shop has one of each kind, each that can referring to another.
func shop(batch int, address string) athanor.Program {
	return func(s *athanor.Stack) error {
		kv.NewNamespace(s, "cache", kv.NamespaceProps{})
		d1.NewDatabase(s, "db", d1.DatabaseProps{ReadReplication: new("auto")})
		dead := queues.NewQueue(s, "dead", queues.QueueProps{})
		jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})
		queues.NewConsumer(s, "work", queues.ConsumerProps{Queue: jobs.ID, Script: "worker", DeadLetter: dead.Name, BatchSize: &batch})
		assets := r2.NewBucket(s, "assets", r2.BucketProps{
			Domains:       map[string]r2.Domain{"cdn.shop.example": {Zone: "shop.example"}},
			Notifications: []r2.Notification{{Queue: string(jobs.ID), Actions: []string{"PutObject"}}},
		})
		dns.NewRecord(s, "www", dns.RecordProps{Zone: "shop.example", Name: "www", Type: "A", Content: address})
		dns.NewRecord(s, "note", dns.RecordProps{Zone: "shop.example", Name: "@", Type: "TXT", Content: "assets=" + string(assets.Name)})
		return nil
	}
}

func TestStackLives(t *testing.T) {
	s := newStage(t)
	if sum := s.deploy(shop(5, "192.0.2.1")); sum.Created != 8 {
		t.Fatalf("first deploy: %+v", sum)
	}
	s.s.Reset()
	if sum := s.deploy(shop(5, "192.0.2.1")); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
	if n := len(s.s.Calls()); n > 25 {
		t.Errorf("a deploy of nothing makes %d calls", n)
	}
	s.s.Reset()
	sum := s.deploy(shop(6, "192.0.2.2"))
	if have := slices.Sorted(slices.Values(s.s.Wrote())); sum.Updated != 2 || !slices.Equal(have, []string{"DNS.PatchRecord", "Queues.UpdateConsumer"}) {
		t.Errorf("two changed: %+v, wrote %v", sum, have)
	}
	if sum := s.destroy(); sum.Deleted != 8 {
		t.Errorf("destroy: %+v", sum)
	}
	s.empty()
}

// empty fails the test unless nothing is left.
func (s *stage) empty() {
	s.t.Helper()
	for _, path := range []string{"/storage/kv/namespaces", "/queues", "/d1/database"} {
		if left, _ := s.s.Do(s.t, http.MethodGet, "/accounts/ACCOUNT"+path, nil).([]any); len(left) > 0 {
			s.t.Errorf("%s: left %v", path, left)
		}
	}
	if left := s.s.Do(s.t, http.MethodGet, "/accounts/ACCOUNT/r2/buckets", nil).(map[string]any)["buckets"].([]any); len(left) > 0 {
		s.t.Errorf("buckets: left %v", left)
	}
}

// TestLostState: without state everything is found again, by name, by owner tag, and in what it belongs to.
func TestLostState(t *testing.T) {
	s := newStage(t)
	s.deploy(shop(5, "192.0.2.1"))
	s.e.Store = mem.New()
	s.s.Reset()
	sum := s.deploy(shop(5, "192.0.2.1"))
	if sum.Created+sum.Replaced+sum.Deleted != 0 {
		t.Errorf("found again: %+v", sum)
	}
	for _, call := range s.s.Wrote() { // the owner tags name the store
		if call != "DNS.PatchRecord" {
			t.Errorf("found again, and %s is made", call)
		}
	}
	if sum := s.destroy(); sum.Deleted != 8 {
		t.Errorf("destroy: %+v", sum)
	}
	s.empty()
}

// TestNotOurs: a record of somebody else's is refused at plan, and stays as it was.
func TestNotOurs(t *testing.T) {
	s := newStage(t)
	zones, _ := s.s.Do(t, http.MethodGet, "/zones", nil).([]any)
	at := "/zones/" + zones[0].(map[string]any)["id"].(string) + "/dns_records"
	s.s.Do(t, http.MethodPost, at, map[string]any{"type": "A", "name": "www", "content": "192.0.2.99", "ttl": 1})
	p, err := s.plan(shop(5, "192.0.2.1"))
	if err == nil {
		_, err = s.e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	}
	if !errors.Is(err, adopt.ErrForeign) {
		t.Errorf("%v", err)
	}
	records, _ := s.s.Do(t, http.MethodGet, at+"?type=A", nil).([]any)
	if len(records) != 1 || records[0].(map[string]any)["content"] != "192.0.2.99" {
		t.Errorf("records: %v", records)
	}
}
