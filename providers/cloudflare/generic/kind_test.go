package generic

import (
	"context"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	every   = flag.Bool("every", false, "take every type of the table through a life, and through the conformance suite those that match -conform")
	conform = flag.String("conform", "^$", "with -every: a regular expression of types")
)

// ofEachShape are types of which each differs from the others in how it is created, found, changed or deleted.
var ofEachShape = []string{
	"aigateway.Gateway", "alerting.Silence", "cache.OriginCloudRegion", "cache.TieredCache", "emailrouting.Address", "filters.Filter",
	"logpush.Job", "networkinterconnects.Cni", "r2.BucketLock", "rules.List", "secretsstore.Secret", "stream.Webhook", "turnstile.Widget",
	"vectorize.Index", "workersforplatforms.DispatchNamespace", "zerotrust.AccessServiceToken", "zerotrust.DevicePolicyDefaultExclude",
	"zerotrust.DexRule", "zerotrust.TunnelRoute",
}

// TestConformance runs the conformance suite over a type with a name, and over one with an owner tag.
func TestConformance(t *testing.T) {
	for _, name := range []string{"cloudflare.turnstile.Widget", "cloudflare.zerotrust.TunnelRoute"} {
		t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
	}
	if !*every {
		return
	}
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if regexp.MustCompile(*conform).MatchString(name) {
			t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
		}
	}
}

// TestEvery takes types of each shape, or with -every each type of the table, through a life: created as little as it can be, found again, given all that its
// description allows, found equal, and deleted.
func TestEvery(t *testing.T) {
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !*every && !slices.Contains(ofEachShape, strings.TrimPrefix(name, schema.Prefix)) {
			continue
		}
		t.Run(strings.TrimPrefix(name, schema.Prefix), func(t *testing.T) {
			t.Parallel()
			life(t, sampled(t, name))
		})
	}
}

func life(t *testing.T, s suite) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	suite := s.suite(t)
	world := suite.World(t)
	place, err := world.Cloud.Place(ctx)
	if err != nil {
		t.Fatal(err)
	}
	job := &reconcile.Job{
		Nonce: "nonce",
		Mark:  reconcile.Mark{Stack: "shop", Stage: "test", Address: "it", Generation: 1, Store: "store"},
	}
	declare := func(props obj) {
		known := job
		job = &reconcile.Job{
			Address: "it", Cloud: world.Cloud, Place: place, Nonce: known.Nonce, Name: "shop-test-it", Mark: known.Mark,
			ID: known.ID, Last: known.Last, Had: known.Had, Written: known.Written, Props: props,
		}
		if err := suite.Kind.Decode(job); err != nil {
			t.Fatalf("%v", err)
		}
		suite.Kind.Names(job)
		if job.Named = job.Given != ""; job.Named {
			job.Name = job.Given
		}
	}
	settle := func(props obj) reconcile.Outcome {
		t.Helper()
		declare(props)
		out, err := suite.Kind.Settle(ctx, job, reconcile.Hooks{})
		if err != nil {
			t.Fatalf("%v", err)
		}
		job.ID, job.Last, job.Had, job.Written, job.Nonce = out.Identity, out.Attrs, props, out.Written, ""
		look, err := suite.Kind.Look(ctx, job)
		if err != nil || look.Absent || len(look.Steps) > 0 {
			t.Fatalf("%v observed again: %v, %v", props, look.Steps, err)
		}
		return out
	}
	first := settle(suite.Base)
	job.ID, job.Last, job.Written = "", nil, nil
	if k := kindOf(t, s.typ); k.List == nil && k.ID != k.NameShown {
		t.Logf("it cannot be found without state: %s", k.doc())
	} else if look, err := suite.Kind.Look(ctx, job); err != nil || look.Absent || look.Identity != first.Identity {
		t.Errorf("not found without state: %v, %v", look.Identity, err)
	}
	job.ID, job.Last, job.Written = first.Identity, first.Attrs, first.Written
	full := suite.Variants[0].Props
	declare(full)
	look, err := suite.Kind.Look(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	if len(look.Replaces()) == 0 {
		settle(full)
	}
	job.MayDelete = true
	if err := suite.Kind.Delete(ctx, job); err != nil {
		t.Fatalf("deleted: %v", err)
	}
	if left := world.Objects(); len(left) > 0 && s.typ != "" && kindOf(t, s.typ).Shape != schema.Setting {
		t.Errorf("left: %v", left)
	}
}
