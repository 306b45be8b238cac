package cloudcontrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own.
type world struct {
	server *controltest.Server
	cloud  *aws.Cloud
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := controltest.Start(t, controltest.Load(t))
	w := &world{server: server, cloud: aws.FromConfig(server.Config())}
	if place, err := w.cloud.Place(t.Context()); err != nil || place.Account != controltest.Account {
		t.Fatalf("place %v: %v", place, err)
	}
	return w
}

// seen is a resource as objects of a world are compared: without what differs between two makings.
func seen(k *kind, model obj) obj {
	out := maps.Clone(model)
	for name := range out {
		if k.ReadOnlyAt(tree.Path("").Key(name)) {
			delete(out, name)
		}
	}
	delete(out, string(k.named)) // an object keeps the name that it was made with
	if k.tags != nil {
		tags := k.tagsOf(model)
		delete(tags, "athanor:generation")
		out[k.tags.Property] = fmt.Sprint(tags)
	}
	for name, v := range out {
		if items, ok := v.([]any); ok && k.Follow(k.Root.Properties[name]).Unordered {
			slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return out
}

// suite is the conformance suite for one type.
type suite struct {
	typ      string
	base     obj
	variants []kindtest.Variant
	steady   map[tree.Path]string
	silent   map[tree.Path]string
	others   map[tree.Path][]any
}

func (s suite) run(t *testing.T) {
	t.Helper()
	whole, err := Kind(s.typ)
	if err != nil {
		t.Fatal(err)
	}
	k := kindOf(t, s.typ)
	worlds := map[string]*world{}
	suite := kindtest.Suite{
		Kind: whole, Base: s.base, Variants: s.variants, Steady: map[tree.Path]string{}, Silent: s.silent, Open: map[tree.Path]string{}, Others: s.others, Fault: fault, Alias: map[tree.Path]tree.Path{"Tags": "Tags"}, Ordered: map[tree.Path]string{"": "the registry says which lists are sets"}, Unreadable: map[tree.Path]string{},
		World: func(t kindtest.T) kindtest.World {
			w := newWorld(t.(*testing.T))
			dir := t.TempDir()
			worlds[dir] = w
			return kindtest.World{Cloud: w.cloud, Dir: dir, Sampled: !proctest.Whole(), Objects: func() []any {
				var all []any
				for _, model := range w.server.Find(s.typ) {
					all = append(all, seen(k, model))
				}
				return all
			}}
		},
	}
	maps.Copy(suite.Steady, s.steady)
	for _, p := range k.WriteOnly {
		suite.Unreadable[p] = onlyWritten
	}
	suite.Hands = map[tree.Path]kindtest.Hand{"": func(_ kindtest.T, w kindtest.World, to kindtest.Edited) {
		worlds[w.Dir].server.Vanish(s.typ, k.identity(to.Attrs))
	}}
	for name := range k.Root.Properties {
		p := tree.Path("").Key(name)
		if slices.Contains(k.ID, p) {
			suite.Steady[p] = "it identifies the resource"
			continue
		}
		if _, steady := s.steady[p]; steady || k.ReadOnlyAt(p) || k.WriteOnlyAt(p) {
			continue
		}
		if k.tags == nil || name != k.tags.Property {
			suite.Open[p] = "what is not set is not managed"
		}
		suite.Hands[p] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			value := to.Value
			if k.tags != nil && name == k.tags.Property {
				value = k.withTags(nil, obj{name: value}, nil, adopt.MarkOf(k.tagsOf(to.Attrs)))[name]
			}
			if err := worlds[w.Dir].server.Edit(s.typ, k.identity(to.Attrs), name, value); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	kindtest.Run(t, suite)
}

func kindOf(t testing.TB, typ string) *kind {
	t.Helper()
	k, err := kindNamed(typ)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func fault(class reconcile.Class) error {
	switch class {
	case reconcile.Denied:
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}
	case reconcile.Throttled:
		return &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded"}
	case reconcile.Transient:
		return &smithy.GenericAPIError{Code: "ServiceInternalErrorException", Message: "internal"}
	}
	return nil
}

// job is a resource as an engine declares it, in state when last is set.
func (w *world) job(t testing.TB, typ string, props obj, last *reconcile.Outcome) (reconcile.Any, *reconcile.Job) {
	t.Helper()
	k, err := Kind(typ)
	if err != nil {
		t.Fatal(err)
	}
	place, err := w.cloud.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := &reconcile.Job{
		Address: "thing", Props: props, Cloud: w.cloud, Place: place, Nonce: "nonce",
		Mark: reconcile.Mark{Stack: "shop", Stage: "test", Address: "thing", Generation: 1, Store: "store"},
	}
	if last != nil {
		job.ID, job.Last, job.Nonce, job.Had = last.Identity, last.Attrs, "", props
	}
	if props != nil {
		if err := k.Decode(job); err != nil {
			t.Fatal(err)
		}
		k.Names(job)
		if job.Given != "" {
			job.Name, job.Named = job.Given, true
		}
	}
	return k, job
}

// settled makes a resource match and fails the test when it does not.
func (w *world) settled(t testing.TB, typ string, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	k, job := w.job(t, typ, props, last)
	out, err := k.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
