package awstest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// World is an account of its own, which the tested kinds reach through one client, and somebody else through another of type C.
type World[C any] struct {
	Account
	// Others is the client of somebody else: its calls are neither counted nor broken.
	Others *C
}

// Account is what of a [World] does not depend on the service.
type Account struct {
	Server *Server
	// Cloud is what the tested kinds are given.
	Cloud *aws.Cloud
	// Dir is the stack's directory, which no other world has.
	Dir string
	// Kind is the kind that Settled reconciles, at the address Address.
	Kind    reconcile.Any
	Address string
}

// Tested is a test's own type that embeds a [World].
type Tested interface{ account() *Account }

func (a *Account) account() *Account { return a }

// NewWorld makes a world whose clients go through a front: see [Front] and [Amend]. connect is the NewFromConfig of the service.
func NewWorld[C, O any](t testing.TB, server *Server, front interface {
	Outside(t testing.TB) sdkaws.Config
	Observed(t testing.TB) sdkaws.Config
}, connect func(sdkaws.Config, ...func(*O)) *C, kind reconcile.Any, address string,
) World[C] {
	t.Helper()
	return World[C]{
		Account: Account{Server: server, Cloud: aws.FromConfig(front.Observed(t)).AtAnyRate(), Dir: t.TempDir(), Kind: kind, Address: address},
		Others:  connect(front.Outside(t)),
	}
}

// Located checks that the world is in the account that its front names, and forgets the calls made so far.
func (a *Account) Located(t testing.TB, account string) {
	t.Helper()
	if place, err := a.Cloud.Place(t.Context()); err != nil || place.Account != account {
		t.Fatalf("location %v: %v", place, err)
	}
	a.Server.Reset()
}

// Job is a resource of a kind as an engine declares it, and prepared. It has state when last is set.
func (a *Account) Job(t *testing.T, kind reconcile.Any, props map[string]any, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := kindtest.Job(t, kind, a.Cloud, a.Address, props, last)
	job.Nonce, job.Dir = "nonce", a.Dir
	if props != nil {
		if err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: a.Dir, Cache: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
	return job
}

// Settled makes a resource of the world's kind match its declaration, and fails the test when it does not.
func (a *Account) Settled(t *testing.T, props map[string]any, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	return kindtest.Settled(t, a.Kind, a.Job(t, a.Kind, props, last))
}

// Wrote is the names of the mutating calls that reached the proxy since the last Reset.
func (a *Account) Wrote() []string { return NamesOf(a.Server.Mutations()) }

// NamesOf is the names of calls.
func NamesOf(calls []Call) []string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Name())
	}
	return names
}

// Worlds finds the world that a check was given, by its directory.
type Worlds[W Tested] map[string]W

// Make is the World of a suite: fresh makes one, and objects are all objects of the kind as others see them.
func (ws Worlds[W]) Make(fresh func(*testing.T) W, objects func(W, kindtest.T) []any) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		w := fresh(t.(*testing.T))
		ws[w.account().Dir] = w
		return kindtest.World{
			Cloud: w.account().Cloud, Dir: w.account().Dir, Objects: func() []any { return objects(w, t) }, Sampled: !proctest.Whole(),
		}
	}
}

// Hand is a mutator that changes an object as somebody else.
func (ws Worlds[W]) Hand(do func(w W, t kindtest.T, to kindtest.Edited) error) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		if err := do(ws[w.Dir], t, to); err != nil {
			t.Fatalf("somebody else: %v", err)
		}
	}
}

// Retag makes the tags of an object those that somebody wants. Owner tags stay.
func Retag(have map[string]string, to kindtest.Edited, drop func(keys []string) error, put func(tags map[string]string) error) error {
	want := map[string]string{}
	tags, _ := to.Value.(map[string]any)
	for k, v := range tags {
		want[k], _ = v.(string)
	}
	unwanted := slices.Sorted(maps.Keys(have))
	unwanted = slices.DeleteFunc(unwanted, func(k string) bool { _, wanted := want[k]; return wanted || adopt.IsMark(k) })
	if len(unwanted) > 0 {
		if err := drop(unwanted); err != nil {
			return err
		}
	}
	if len(want) > 0 {
		return put(want)
	}
	return nil
}

// Owned is the tags of an object without the one that differs between two creations.
func Owned(tags map[string]string) map[string]string {
	tags = maps.Clone(tags)
	delete(tags, "athanor:generation")
	return tags
}

// Broken are faults in a creation, each with how many calls the creation writes in spite of it.
type Broken []struct {
	Name  string
	Fault Fault
	Wrote int
}

// Faults breaks one call of a creation at a time. In the end there is one object, created by as few calls as can be: check
// looks at what there is. kind has a short bound of visibility, see [kindtest.Quick].
func Faults[W Tested](t *testing.T, fresh func(*testing.T) W, kind reconcile.Any, props map[string]any,
	objects func(W, kindtest.T) []any, cases Broken,
) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			w := fresh(t)
			a := w.account()
			armed := a.Server.Inject(c.Fault)
			if _, err := kind.Settle(t.Context(), a.Job(t, kind, props, nil), reconcile.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := a.Wrote(); len(have) != c.Wrote {
				t.Errorf("wrote %v, want %d calls", have, c.Wrote)
			}
			if have := objects(w, t); len(have) != 1 {
				t.Errorf("objects: %v", have)
			}
		})
	}
}

// Denied denies one operation of a creation at a time: it fails at once, in the words of the service, and without the secrets
// of the props, which have canary in them.
func Denied[W Tested](t *testing.T, fresh func(*testing.T) W, props map[string]any, operations ...string) {
	t.Helper()
	for _, op := range operations {
		a := fresh(t).account()
		a.Server.Inject(Fault{Op: op, Kind: Deny, Times: -1})
		_, err := a.Kind.Settle(t.Context(), a.Job(t, a.Kind, props, nil), reconcile.Hooks{})
		if a.Cloud.Classify(err) != reconcile.Denied || !strings.Contains(fmt.Sprint(err), "not authorized") {
			t.Errorf("%s denied: %v", op, err)
		}
		if strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s denied: the error tells a secret", op)
		}
		if n := a.Server.Count(op); n != 1 {
			t.Errorf("%s denied, and asked %d times", op, n)
		}
	}
}

// Elsewhere observes an object by an identity of another region, which calls nothing, and one of this region by its
// identity and by each of those that identities makes of that.
func Elsewhere[W Tested](t *testing.T, fresh func(*testing.T) W, props map[string]any, foreign string, identities func(identity string) []string) {
	t.Helper()
	a := fresh(t).account()
	job := a.Job(t, a.Kind, props, nil)
	job.ID = foreign
	if _, err := a.Kind.Look(t.Context(), job); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("observed in another region: %v", err)
	}
	if n := len(a.Server.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
	out := a.Settled(t, props, nil)
	for _, id := range append(identities(out.Identity), out.Identity) {
		job.ID = id
		if look, err := a.Kind.Look(t.Context(), job); err != nil || look.Identity != out.Identity {
			t.Errorf("%s leads to %s, %v", id, look.Identity, err)
		}
	}
}

// Discovered reconciles a resource, and finds it by its tags alone: under the kind's type, its identity, the name and
// the owner, and for its own stage alone.
func Discovered[W Tested](t *testing.T, fresh func(*testing.T) W, service aws.Service, props map[string]any, name string) {
	t.Helper()
	a := fresh(t).account()
	out := a.Settled(t, props, nil)
	place, err := a.Cloud.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scope := reconcile.Scope{Cloud: a.Cloud, Place: place, Mark: reconcile.Mark{Stack: "shop", Stage: "test"}}
	provider := aws.Provider(service)
	found, err := provider.Discover(t.Context(), scope)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	f := found[0]
	if f.Kind != a.Kind.Spec().Type || f.Identity != out.Identity || f.Name != name || f.Mark == nil ||
		f.Mark.Address != a.Address || f.Mark.Generation != 1 {
		t.Errorf("found %+v with %+v, want %s", f, f.Mark, out.Identity)
	}
	scope.Mark.Stage = "prod"
	if found, err := provider.Discover(t.Context(), scope); err != nil || len(found) != 0 {
		t.Errorf("found of another stage: %v, %v", found, err)
	}
}
