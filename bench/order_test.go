//go:build unix

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/bench/opentofu"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

var benchStage = statestore.Stage{Stack: "bench", Name: stageName}

// latency is what a call takes that no kind says otherwise of.
const latency = 50 * time.Millisecond

// shape is a stack of which the time of every call is known.
type shape struct {
	needs  [][]int         // of each resource, those before it that it depends on
	sorts  []int           // of each resource, its kind
	create []time.Duration // of each kind, what creating one takes
	remove time.Duration   // what deleting one takes
	// allowed are the calls a second to each of the first kinds, which are a service each; none are the limit of the others.
	allowed []float64
}

// slow is a cloud whose calls take the time that a shape says, and who keeps what they took.
type slow struct {
	shape    shape
	services []*quota
	read     []time.Duration // of each kind, what reading one takes; nil: latency
	mu       sync.Mutex
	spent    map[string]time.Duration
	shapes   map[string]string // of each object
	calls    []string          // those that change something, as they began
}

// quota is what a service allows: its bucket holds those of a second.
type quota struct {
	limiter         *rate.Limiter
	allowed, tokens float64
	at              time.Time
	calls, refused  int
}

var errRefused = errors.New("slow down")

// take counts a call, and reports whether it is allowed.
func (s *quota) take() bool {
	now := time.Now()
	s.tokens, s.at = min(s.tokens+now.Sub(s.at).Seconds()*s.allowed, s.allowed), now
	s.calls++
	if s.tokens < 1 {
		s.refused++
		return false
	}
	s.tokens--
	return true
}

type (
	slowProps struct {
		Name  string
		Text  string
		Shape string // a change replaces
	}
	slowAttrs struct{ Name string }
	slowLive  struct {
		slowAttrs
		mark  reconcile.Mark
		shape string
	}
)

// Place and Classify make it a handle on itself.
func (*slow) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "slow"}, nil
}
func (*slow) Classify(error) reconcile.Class { return reconcile.Unknown }

func (c *slow) call(ctx context.Context, sort int, op, name string, d time.Duration, do func() error) error {
	call := reconcile.Call{Service: "slow", Operation: op, Mutates: op != "observe"}
	make := func(context.Context) error {
		if call.Mutates {
			c.mu.Lock()
			c.calls = append(c.calls, op)
			c.mu.Unlock()
		}
		time.Sleep(d)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spent[name] += d
		return do()
	}
	if sort >= len(c.services) {
		return reconcile.Through(ctx, call, make)
	}
	s := c.services[sort]
	return s.limiter.Through(ctx, call, rate.Attempt{
		Do: func(ctx context.Context) error {
			c.mu.Lock()
			taken := s.take()
			c.mu.Unlock()
			if !taken {
				return errRefused
			}
			return make(ctx)
		},
		Judge: func(err error) (reconcile.Class, time.Duration) {
			if errors.Is(err, errRefused) {
				return reconcile.Throttled, 0
			}
			return reconcile.Invalid, 0
		},
	})
}

func (c *slow) reading(sort int) time.Duration {
	if c.read == nil {
		return latency
	}
	return c.read[sort]
}

func (c *slow) kind(sort int, marks map[string]reconcile.Mark) reconcile.Any {
	return reconciletest.Erase(&reconciletest.Kind[slowProps, slowLive, slowAttrs]{
		Type: fmt.Sprintf("slow.K%d", sort),
		Observe: func(ctx context.Context, s reconciletest.Site[slowProps, slowAttrs]) (live slowLive, err error) {
			name := s.Name
			if s.Last != nil {
				name = s.Last.Name
			}
			return live, c.call(ctx, sort, "observe", name, c.reading(sort), func() error {
				mark, ok := marks[name]
				if !ok {
					return reconcile.ErrAbsent
				}
				live = slowLive{slowAttrs{name}, mark, c.shapes[name]}
				return nil
			})
		},
		Create: func(ctx context.Context, s reconciletest.Site[slowProps, slowAttrs]) (slowAttrs, error) {
			return slowAttrs{s.Name}, c.call(ctx, sort, "create", s.Name, c.shape.create[sort], func() error {
				marks[s.Name], c.shapes[s.Name] = s.Owner, s.Want.Shape
				return nil
			})
		},
		Compare: func(d *reconcile.Diff[slowLive], want slowProps, live slowLive) {
			if want.Name != "" {
				reconcile.Fixed(d, "name", want.Name, live.Name)
			}
			reconcile.Fixed(d, "shape", want.Shape, live.shape)
		},
		Attrs: func(l slowLive) slowAttrs { return l.slowAttrs },
		Delete: func(ctx context.Context, s reconciletest.Site[slowProps, slowAttrs]) error {
			return c.call(ctx, sort, "delete", s.Last.Name, c.shape.remove, func() error {
				delete(marks, s.Last.Name)
				return nil
			})
		},
		Identity: func(a slowAttrs) string { return a.Name },
		Given:    func(p slowProps) string { return p.Name },
		Naming:   func(slowProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 60} },
		Owner:    func(l slowLive) reconcile.Mark { return l.mark },
	})
}

func (c *slow) engine(t testing.TB, key *seal.Key) *engine.Engine {
	t.Helper()
	for _, allowed := range c.shape.allowed {
		c.services = append(c.services, &quota{limiter: rate.New(rate.Quota{}), allowed: allowed, tokens: allowed, at: time.Now()})
	}
	marks := map[string]reconcile.Mark{}
	c.shapes = map[string]string{}
	p := reconcile.Provider{Name: "slow", Open: func(context.Context, any) (reconcile.Cloud, error) { return c, nil }}
	for sort := range c.shape.create {
		p.Kinds = append(p.Kinds, c.kind(sort, marks))
	}
	catalog, err := reconcile.NewCatalog(p)
	if err != nil {
		t.Fatal(err)
	}
	return &engine.Engine{Catalog: catalog, Store: mem.New(), Key: key}
}

func name(i int) string { return fmt.Sprintf("r%04d", i) }

func (s shape) graph() *engine.Graph {
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "bench", Stage: stageName}
	for i, needs := range s.needs {
		r := engine.Resource{Address: name(i), Kind: fmt.Sprintf("slow.K%d", s.sorts[i]), Props: map[string]any{"name": name(i)}}
		for _, j := range needs {
			r.Options.DependsOn = append(r.Options.DependsOn, name(j))
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}

// bound is the least that calls of these times can take: all of them by the number at once, or the longest chain.
func (s shape) bound(spent map[string]time.Duration, parallel int) time.Duration {
	var work, longest time.Duration
	ends := make([]time.Duration, len(s.needs))
	for i, needs := range s.needs {
		for _, j := range needs {
			ends[i] = max(ends[i], ends[j])
		}
		work += spent[name(i)]
		ends[i] += spent[name(i)]
		longest = max(longest, ends[i])
	}
	return max(work/time.Duration(parallel), longest)
}

// wideAndChain is 400 resources that nothing needs, and a chain of 20 that comes last by address.
func wideAndChain() shape {
	s := shape{create: []time.Duration{latency}}
	for i := range 420 {
		var needs []int
		if i > 400 {
			needs = []int{i - 1}
		}
		s.needs, s.sorts = append(s.needs, needs), append(s.sorts, 0)
	}
	return s
}

// dag is 400 resources of 40 kinds whose times are log-normal, each but the first ones with five edges.
func dag(seed uint64) shape {
	r := rand.New(rand.NewPCG(seed, 1))
	s := shape{}
	for range 40 {
		s.create = append(s.create, time.Duration(float64(200*time.Millisecond)*math.Exp(r.NormFloat64())))
	}
	for i := range 400 {
		var needs []int
		for range 5 {
			if i >= 40 {
				needs = append(needs, r.IntN(i))
			}
		}
		s.needs, s.sorts = append(s.needs, needs), append(s.sorts, r.IntN(len(s.create)))
	}
	return s
}

// longAmongShort is 600 short ones, and a long one that comes last by address.
func longAmongShort() shape {
	s := shape{create: []time.Duration{latency, 4 * time.Second}}
	for range 600 {
		s.needs, s.sorts = append(s.needs, nil), append(s.sorts, 0)
	}
	s.needs, s.sorts = append(s.needs, nil), append(s.sorts, 1)
	return s
}

// records says what state knows of durations before a deploy.
type records func(t *testing.T, s shape, e *engine.Engine)

// unknown is a first run.
func unknown(*testing.T, shape, *engine.Engine) {}

// known is a run after one that was timed: state has the table that it wrote.
func known(t *testing.T, s shape, e *engine.Engine) {
	first := &slow{shape: s, spent: map[string]time.Duration{}}
	timed := first.engine(t, e.Key)
	timed.KeepDurations = true
	deploy(t, timed, s)
	snap, err := timed.Store.Load(t.Context(), benchStage)
	if err != nil || len(snap.Meta["durations"]) == 0 {
		t.Fatalf("%v: a run that was timed keeps %v", err, snap.Meta)
	}
	put(t, e, snap.Meta["durations"])
}

// off is what known gives, each time wrong by a factor between a third and three.
func off(seed uint64) records {
	return func(t *testing.T, s shape, e *engine.Engine) {
		r := rand.New(rand.NewPCG(seed, 2))
		var run durations.Taken
		for sort, d := range s.create {
			run.Add(fmt.Sprintf("slow.K%d", sort), "create", time.Duration(float64(d+2*latency)*math.Pow(3, 2*r.Float64()-1)))
		}
		table, _ := durations.Table(nil).With(&run)
		put(t, e, e.Key.Seal(tree.Canonical(table.Tree()), state.Binding(benchStage, "\x00durations")))
	}
}

// put writes a table into an empty store.
func put(t *testing.T, e *engine.Engine, sealed []byte) {
	t.Helper()
	j, err := statestore.Begin(t.Context(), e.Store, benchStage, statestore.Claim{Run: "table", Command: "deploy"})
	if err == nil {
		err = j.FinishWith(t.Context(), statestore.Change{Meta: map[string][]byte{"durations": sealed}, KeyID: e.Key.ID()}, statestore.Succeeded, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func deploy(t testing.TB, e *engine.Engine, s shape) time.Duration {
	t.Helper()
	p, err := e.Plan(t.Context(), s.graph(), engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	r, err := e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil || r.Summary.Created != len(s.needs) {
		t.Fatalf("%v %+v", err, r)
	}
	return time.Since(since)
}

// makespan is how long a deploy of a shape takes beside the least that its calls can take.
func makespan(t *testing.T, s shape, parallel int, prepare records) (ratio float64) {
	t.Helper()
	key, err := seal.LoadOrMake(t.TempDir(), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &slow{shape: s, spent: map[string]time.Duration{}}
		e := c.engine(t, key)
		e.Parallel = parallel
		prepare(t, s, e)
		took := deploy(t, e, s)
		for name := range c.spent {
			c.spent[name] -= latency // the plan has read it once
		}
		ratio = float64(took) / float64(s.bound(c.spent, parallel))
	})
	return ratio
}

func shapes() map[string]shape {
	shapes := map[string]shape{"wide and chain": wideAndChain(), "long among short": longAmongShort()}
	for seed := range uint64(3) {
		shapes[fmt.Sprintf("dag %d", seed)] = dag(seed)
	}
	return shapes
}

// TestMakespan holds the order of calls to the least time that they can take, in simulated time.
func TestMakespan(t *testing.T) {
	for name, s := range shapes() {
		for _, parallel := range []int{10, 16, 32} {
			for _, c := range []struct {
				records string
				prepare records
				most    float64
			}{{"known", known, 1.10}, {"unknown", unknown, 1.25}, {"off", off(1), 1.25}, {"off otherwise", off(2), 1.25}} {
				if ratio := makespan(t, s, parallel, c.prepare); ratio < 1 || ratio > c.most {
					t.Errorf("%s, %d at once, durations %s: %.3f of the bound, at most %.2f", name, parallel, c.records, ratio, c.most)
				} else {
					t.Logf("%s, %d at once, durations %s: %.3f of the bound", name, parallel, c.records, ratio)
				}
			}
		}
	}
}

// TestServices holds deploys whose calls share the places of calls in flight, and of which a service refuses those that are too many,
// to the least time that both allow, and to few refusals.
func TestServices(t *testing.T) {
	const parallel, others, length = 16, 3000, 10
	key, err := seal.LoadOrMake(t.TempDir(), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		allowed float64
		limited int  // resources of the service that refuses
		beside  bool // chains of a service that refuses nothing, all more urgent
	}{{5, 50, false}, {20, 200, false}, {200, 2000, false}, {250, 2500, false}, {20, 200, true}, {150, 400, true}} {
		s := shape{create: []time.Duration{latency, latency}, allowed: []float64{c.allowed}}
		for range c.limited {
			s.needs, s.sorts = append(s.needs, nil), append(s.sorts, 0)
		}
		for i := 0; c.beside && i < others; i++ {
			var needs []int
			if i%length > 0 {
				needs = []int{c.limited + i - 1}
			}
			s.needs, s.sorts = append(s.needs, needs), append(s.sorts, 1)
		}
		for name, prepare := range map[string]records{"known": known, "unknown": unknown} {
			synctest.Test(t, func(t *testing.T) {
				cloud := &slow{shape: s, spent: map[string]time.Duration{}}
				e := cloud.engine(t, key)
				e.Parallel = parallel
				prepare(t, s, e)
				took, service := deploy(t, e, s), cloud.services[0]
				for name := range cloud.spent {
					cloud.spent[name] -= latency // the plan has read it once
				}
				least := time.Duration(float64(service.calls-service.refused-c.limited) / c.allowed * float64(time.Second))
				ratio := float64(took) / float64(max(least, s.bound(cloud.spent, parallel)))
				part := float64(service.refused) / float64(service.calls)
				report := t.Logf
				if ratio > 1.2 || part > 0.05 {
					report = t.Errorf
				}
				report("%v a second, beside others %t, durations %s: %.2f of the bound, %.1f %% refused", c.allowed, c.beside, name, ratio, 100*part)
			})
		}
	}
}

// TestManyWait: resources of a service that allows little leave room for those of others, however many of them wait for their turn,
// and though they come first.
func TestManyWait(t *testing.T) {
	const parallel, allowed, limited, others = 16, 20, 1000, 500
	key, err := seal.LoadOrMake(t.TempDir(), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	s := shape{create: []time.Duration{latency, 4 * time.Second}, allowed: []float64{allowed}}
	for i := range limited + others {
		s.needs, s.sorts = append(s.needs, nil), append(s.sorts, min(i/limited, 1))
	}
	synctest.Test(t, func(t *testing.T) {
		cloud := &slow{shape: s, spent: map[string]time.Duration{}}
		e := cloud.engine(t, key)
		e.Parallel = parallel
		took := deploy(t, e, s)
		service := cloud.services[0]
		least := time.Duration(float64(service.calls-service.refused-limited) / allowed * float64(time.Second))
		if ratio := took.Seconds() / least.Seconds(); ratio > 1.15 {
			t.Errorf("%.2f of the least time", ratio)
		}
	})
}

// TestPlanAsKnown holds the first plan of resources that refer to each other, and are read one by one, to the least time that the reads
// can take: most plans, in whatever order goroutines run.
func TestPlanAsKnown(t *testing.T) {
	key, err := seal.LoadOrMake(t.TempDir(), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	for _, edges := range []int{1, 2, 5} {
		r := rand.New(rand.NewPCG(uint64(edges), 3))
		s := shape{create: make([]time.Duration, 40)}
		c := &slow{}
		for range s.create {
			c.read = append(c.read, time.Duration(float64(latency)*math.Exp(r.NormFloat64())))
		}
		for i := range 400 {
			var needs []int
			for k := 0; k < edges && i >= 40; k++ {
				needs = append(needs, max(0, i-1-r.IntN(80)))
			}
			s.needs, s.sorts = append(s.needs, needs), append(s.sorts, r.IntN(len(s.create)))
		}
		g := s.graph()
		for i := range g.Resources {
			text := ""
			for _, j := range s.needs[i] {
				text += "⟦" + name(j) + ".name⟧"
			}
			g.Resources[i].Options.DependsOn, g.Resources[i].Props["text"] = nil, text
		}
		for _, parallel := range []int{16, 64} {
			// What is ready at the same moment is read in the order in which goroutines run, and that is another one each time.
			var ratios []float64
			for range 5 {
				synctest.Test(t, func(t *testing.T) {
					c.shape, c.spent = s, map[string]time.Duration{}
					e := c.engine(t, key)
					e.Parallel = parallel
					since := time.Now()
					if _, err := e.Plan(t.Context(), g, engine.PlanOptions{}); err != nil {
						t.Fatal(err)
					}
					ratios = append(ratios, time.Since(since).Seconds()/s.bound(c.spent, parallel).Seconds())
				})
			}
			slices.Sort(ratios)
			report := t.Logf
			if ratios[0] < 1 || ratios[len(ratios)/2] > 1.3 {
				report = t.Errorf
			}
			report("%d references, %d at once: %.2f of the bound", edges, parallel, ratios)
		}
	}
}

// TestReplacedGoLast holds a deploy that replaces resources whose deletion is slow, beside a chain of new ones, to the order that is
// documented: nothing is deleted before all else is done. That takes the least time of the one and the least time of the other; the
// log says what doing both at once would take.
func TestReplacedGoLast(t *testing.T) {
	const parallel, replaced, length = 16, 40, 20
	key, err := seal.LoadOrMake(t.TempDir(), "bench", stageName)
	if err != nil {
		t.Fatal(err)
	}
	s := shape{create: []time.Duration{time.Second}, remove: 5 * time.Second}
	for range replaced {
		s.needs, s.sorts = append(s.needs, nil), append(s.sorts, 0)
	}
	synctest.Test(t, func(t *testing.T) {
		cloud := &slow{shape: s, spent: map[string]time.Duration{}}
		e := cloud.engine(t, key)
		e.Parallel = parallel
		g := s.graph()
		run := func() time.Duration {
			for i := range g.Resources {
				delete(g.Resources[i].Props, "name")
			}
			p, err := e.Plan(t.Context(), g, engine.PlanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			cloud.calls = nil
			since := time.Now()
			r, err := e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"})
			if err != nil || len(r.Failures) > 0 {
				t.Fatalf("%v %v", err, r.Failures)
			}
			return time.Since(since)
		}
		run()
		for i := range length {
			var needs []int
			if i > 0 {
				needs = []int{replaced + i - 1}
			}
			s.needs, s.sorts = append(s.needs, needs), append(s.sorts, 0)
		}
		g = s.graph()
		for i := range replaced {
			g.Resources[i].Props["shape"] = "other"
		}
		took := run()
		first := slices.Index(cloud.calls, "delete")
		if first < replaced+length || len(cloud.calls) != 2*replaced+length {
			t.Errorf("the first deletion is change %d of %d", first, len(cloud.calls))
		}
		forward := length * s.create[0]
		deletions := (replaced + parallel - 1) / parallel * s.remove
		if ratio := took.Seconds() / (forward + deletions).Seconds(); ratio < 1 || ratio > 1.15 {
			t.Errorf("%v is %.2f of the least time in that order", took, ratio)
		}
		both := max(forward, (forward+replaced*(s.create[0]+s.remove))/parallel)
		t.Logf("%v: %.2f of the least time in that order, %.2f of that in any", took, took.Seconds()/(forward+deletions).Seconds(), took.Seconds()/both.Seconds())
	})
}

// BenchmarkOrder is a deploy of each shape on the real clock, on a store on disk, as a multiple of the least time that its calls can
// take; and the same of OpenTofu, whose resources sleep as long. Both make ten calls at once, as OpenTofu does by itself.
func BenchmarkOrder(b *testing.B) {
	const parallel = 10
	tofu, err := opentofu.Find("..")
	if err != nil {
		b.Log("no ratios: ", err)
	}
	for name, s := range map[string]shape{"wide-and-chain": wideAndChain(), "long-among-short": longAmongShort(), "dag": dag(0)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := &slow{shape: s, spent: map[string]time.Duration{}}
				e := newEngine(b)
				e.Catalog, e.Parallel = c.engine(b, e.Key).Catalog, parallel
				took := deploy(b, e, s)
				for name := range c.spent {
					c.spent[name] -= latency // the plan has read it once
				}
				bound := s.bound(c.spent, parallel)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(took.Seconds()/bound.Seconds(), "bounds")
				if tofu != "" {
					b.ReportMetric(sleeping(b, tofu, s, c.spent).Seconds()/bound.Seconds(), "tofu-bounds")
				}
			}
		})
	}
}

// sleeping is how long OpenTofu takes to create resources that sleep as long as the calls of ours took.
func sleeping(b *testing.B, bin string, s shape, spent map[string]time.Duration) time.Duration {
	b.Helper()
	dir := b.TempDir()
	stack, err := opentofu.New(b.Context(), bin, dir, opentofu.Flat, 1)
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i, needs := range s.needs {
		var after []string
		for _, j := range needs {
			after = append(after, "terraform_data."+name(j))
		}
		fmt.Fprintf(&text, "resource \"terraform_data\" %q {\n  depends_on = [%s]\n  provisioner \"local-exec\" {\n    command = \"sleep %.3f\"\n  }\n}\n",
			name(i), strings.Join(after, ", "), spent[name(i)].Seconds())
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	cost, err := stack.Apply(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return cost.Wall
}
