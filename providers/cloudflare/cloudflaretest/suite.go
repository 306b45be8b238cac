package cloudflaretest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Worlds are the worlds that a suite of kindtest was given, found again by their directories.
type Worlds map[string]*Server

// Make makes worlds for a suite: each a server of its own, prepared, whose objects are listed by somebody else.
func (ws Worlds) Make(prepare func(kindtest.T, *Server), objects func(kindtest.T, *Server) []any) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		s := Start(t.(testing.TB))
		if prepare != nil {
			prepare(t, s)
		}
		dir, cloud := t.TempDir(), s.Cloud()
		ws[dir] = s
		for _, z := range s.world.zones { // a handle looks a zone up once; from here on every look makes the same calls
			if _, err := cloudflare.ZoneOf(t.Context(), cloud, z.name); err != nil {
				t.Fatalf("%v", err)
			}
		}
		return kindtest.World{Cloud: cloud, Dir: dir, Objects: func() []any { return objects(t, s) }, Sampled: !proctest.Whole()}
	}
}

// Of is the server of a world.
func (ws Worlds) Of(w kindtest.World) *Server { return ws[w.Dir] }

// Sends is the mutator that makes one call: to a path, with a body made of what is declared.
func (ws Worlds) Sends(method string, path func(kindtest.Edited) string, body func(kindtest.Edited) any) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		ws.Of(w).Do(t, method, path(to), body(to))
	}
}

// Deletes is the mutator that deletes the object at a path.
func (ws Worlds) Deletes(path func(kindtest.Edited) string) kindtest.Hand {
	return ws.Sends(http.MethodDelete, path, func(kindtest.Edited) any { return nil })
}

// Declared are the props of a mutator in their own type.
func Declared[P any](t kindtest.T, to kindtest.Edited) (p P) {
	t.Helper()
	if err := props.Decode(to.Props, &p); err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

// FaultOf gives errors of a service as its client would.
func FaultOf(service string) func(reconcile.Class) error {
	return func(class reconcile.Class) error {
		e := &cloudflare.Error{Service: service, Operation: "Any"}
		switch class {
		case reconcile.Denied:
			e.Status, e.Problems = 403, []cloudflare.Problem{{Code: 10000, Message: "Authentication error"}}
		case reconcile.Throttled:
			e.Status = 429
		case reconcile.Transient:
			e.Status = 502
		default:
			return nil
		}
		return e
	}
}

// Job is a resource as an engine declares it, named shop-test-orders when the kind has names, in state when last is
// set.
func (s *Server) Job(t testing.TB, kind reconcile.Any, props map[string]any, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	cloud := s.Cloud()
	place, err := cloud.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := &reconcile.Job{
		Address: "orders", Props: props, Cloud: cloud, Place: place, Name: "shop-test-orders", Dir: t.TempDir(),
		Mark: reconcile.Mark{Stack: "shop", Stage: "test", Address: "orders", Generation: 1, Store: "store"},
	}
	if last != nil {
		job.ID, job.Last = last.Identity, last.Attrs
	}
	if props == nil {
		return job
	}
	if err := kind.Decode(job); err != nil {
		t.Fatal(err)
	}
	kind.Names(job)
	if job.Given != "" {
		job.Name, job.Named = job.Given, true
	}
	return job
}

// Settled makes an object match its declaration, and fails the test when it does not.
func (s *Server) Settled(t testing.TB, kind reconcile.Any, props map[string]any, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	out, err := kind.Settle(t.Context(), s.Job(t, kind, props, last), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (s *Server) Wrote() []string {
	var names []string
	for _, c := range s.Mutations() {
		names = append(names, c.Name())
	}
	return names
}

// Body checks the body of a call, which a person wrote down from Cloudflare's documentation, and which Cloudflare's description of
// the operation is asked about first.
func Body(t testing.TB, sent, documented any, in ...At) {
	t.Helper()
	Conform(t, documented, in...)
	have, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(documented)
	if err != nil {
		t.Fatal(err)
	}
	if !jsonEqual(have, want) {
		t.Errorf("a call sends\n%s\nand the documentation says\n%s", have, want)
	}
}

func jsonEqual(a, b []byte) bool {
	have, errA := tree.Decode(a)
	want, errB := tree.Decode(b)
	return errA == nil && errB == nil && tree.Equal(have, want)
}

// Broken are faults in a creation, each with how many calls the creation writes in spite of it. Without a name a case has that of
// the operation.
type Broken []struct {
	Name  string
	Fault Fault
	Wrote int
}

// Faults breaks one call of a creation at a time. In the end there is one object, created by as few calls as can be. fresh starts an
// account of its own, and counts the objects in it.
func Faults(t *testing.T, fresh func(t *testing.T) (s *Server, objects func() int), kind reconcile.Any, props map[string]any, cases Broken) {
	t.Helper()
	for _, c := range cases {
		t.Run(cmp.Or(c.Name, c.Fault.Op), func(t *testing.T) {
			s, objects := fresh(t)
			armed := s.Inject(c.Fault)
			s.Settled(t, kind, props, nil)
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := s.Wrote(); len(have) != c.Wrote || objects() != 1 {
				t.Errorf("wrote %v, want %d calls; %d objects", have, c.Wrote, objects())
			}
		})
	}
}
