package ssm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestCalls(t *testing.T) {
	w := newWorld(t)
	props := tuned()
	out := w.Settled(t, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"SSM.PutParameter"}) {
		t.Errorf("a creation with everything makes %v", have)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 || len(w.Server.Calls()) != 3 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.Server.Calls()))
	}
	props["value"], props["description"], props["policies"] = "web.example", "where it is now", list{expires("2039-12-02T21:34:33.000Z"), tells("20")}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SSM.PutParameter"}) || out.Attrs["version"] != int64(2) {
		t.Errorf("a value and a description changed, and %v are made for version %v", have, out.Attrs["version"])
	}
	props["tags"] = obj{"team": "another"}
	w.Server.Reset()
	w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SSM.AddTagsToResource", "SSM.RemoveTagsFromResource"}) {
		t.Errorf("one tag changed and one dropped, and %v are made", have)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(parameterKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one parameter, of one version.
func TestFaults(t *testing.T) {
	first := func(w *world, t kindtest.T) []any {
		out, err := w.Others.DescribeParameters(context.Background(), &sdk.DescribeParametersInput{})
		if err != nil || len(out.Parameters) == 0 || out.Parameters[0].Version != 1 {
			t.Errorf("not of one version: %v, %v", out, err)
		}
		return w.parameters(t)
	}
	awstest.Faults(t, newWorld, quick(), obj{"value": "one"}, first, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: "SSM.PutParameter", Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: "SSM.PutParameter", Kind: awstest.CutBefore}, 2},
		{"the creation is throttled twice", awstest.Fault{Op: "SSM.PutParameter", Kind: awstest.Throttle, Times: 2}, 3},
		{"the creation meets another", awstest.Fault{Op: "SSM.PutParameter", Kind: awstest.Refuse, Code: "TooManyUpdates"}, 2},
		{"reads are throttled", awstest.Fault{Op: "SSM.Get*", Kind: awstest.Throttle, Times: 2}, 1},
		{"an answer to a read is lost", awstest.Fault{Op: "SSM.DescribeParameters", Kind: awstest.DropAnswer}, 1},
		{"the tags cannot be read at first", awstest.Fault{Op: "SSM.ListTagsForResource", Kind: awstest.ServerError}, 1},
	})
}

// TestListedLate is about a value that is there before the listing shows what it comes with.
func TestListedLate(t *testing.T) {
	w, kind := newWorld(t), parameterKind.Erase()
	out := w.Settled(t, obj{"value": "one"}, nil)
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if _, err := metaOf(t.Context(), w.Cloud, "shop-test-domain"); w.Cloud.Classify(err) != reconcile.Busy || !errors.Is(err, errNoMeta) {
		t.Errorf("%v", err)
	}
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{"value": "one"}, "SSM.GetParameter", "SSM.PutParameter")
}

// TestNotHidden is about a secret in a value that plans show: it is refused before it gets anywhere.
func TestNotHidden(t *testing.T) {
	w, kind := newWorld(t), parameterKind.Erase()
	job := w.Job(t, kind, obj{"value": "canary"}, nil)
	job.Secret = map[tree.Path]bool{"value": true}
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if !errors.Is(err, errShown) || len(w.Wrote()) > 0 || strings.Contains(err.Error(), "canary") {
		t.Errorf("created: %v, %v", err, w.Wrote())
	}
	out := w.Settled(t, obj{"value": "one"}, nil)
	job = w.Job(t, kind, obj{"value": "canary"}, &out)
	job.Secret = map[tree.Path]bool{"value": true}
	w.Server.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, errShown) || len(w.Wrote()) > 0 {
		t.Errorf("changed: %v, %v", err, w.Wrote())
	}
}

// TestSecretBehindAValue is about a parameter that somebody made a SecureString: what it holds is not shown beside the
// value that is declared.
func TestSecretBehindAValue(t *testing.T) {
	w, kind := newWorld(t), parameterKind.Erase()
	out := w.Settled(t, obj{"value": "one"}, nil)
	if _, err := w.Others.PutParameter(t.Context(), &sdk.PutParameterInput{
		Name: new("shop-test-domain"), Value: new("canary"), Type: "SecureString", Overwrite: new(true),
	}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, obj{"value": "one"}, &out))
	if err != nil || len(look.Steps) == 0 {
		t.Fatalf("not seen: %v", err)
	}
	for _, step := range look.Steps {
		if strings.Contains(step.String(), "canary") {
			t.Errorf("shown: %s", step)
		}
	}
	if look.Attrs["value"] == "canary" {
		t.Error("it is an attribute that is shown")
	}
}

// TestIgnored is about a value that somebody else keeps: another aspect changes, and the value stays.
func TestIgnored(t *testing.T) {
	w, kind := newWorld(t), parameterKind.Erase()
	out := w.Settled(t, obj{"secureValue": "one", "keyId": "alias/shop"}, nil)
	if _, err := w.Others.PutParameter(t.Context(), &sdk.PutParameterInput{
		Name: new("shop-test-domain"), Value: new("theirs"), Type: "SecureString", KeyId: new("alias/shop"), Overwrite: new(true),
	}); err != nil {
		t.Fatal(err)
	}
	job := w.Job(t, kind, obj{"secureValue": "one", "keyId": "alias/shop", "description": "a password"}, &out)
	job.Ignore = []tree.Path{"secureValue"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	have := w.parameters(t)[0].(obj)
	if have["value"] != "theirs" || have["description"] != "a password" || have["key"] != "alias/shop" {
		t.Errorf("it became %v", have)
	}
}

// TestExpired is about a parameter that its own policy deleted: it is made again.
func TestExpired(t *testing.T) {
	w, kind := newWorld(t), quick()
	out := w.Settled(t, obj{"value": "one"}, nil)
	if _, err := w.Others.DeleteParameter(t.Context(), &sdk.DeleteParameterInput{Name: new("shop-test-domain")}); err != nil {
		t.Fatal(err)
	}
	if _, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"value": "one"}, &out), reconcile.Hooks{}); err != nil || len(w.parameters(t)) != 1 {
		t.Errorf("not made again: %v", err)
	}
}

// TestTaken is about a parameter of that name that is not ours.
func TestTaken(t *testing.T) {
	w, kind := newWorld(t), parameterKind.Erase()
	if _, err := w.Others.PutParameter(t.Context(), &sdk.PutParameterInput{Name: new("/shop/domain"), Value: new("theirs"), Type: "String"}); err != nil {
		t.Fatal(err)
	}
	job := w.Job(t, kind, obj{"name": "/shop/domain", "value": "ours"}, nil)
	refused := errors.New("not ours")
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if adopt.Judge(adopt.Evidence{Identity: look.Identity, Tagged: look.Owner, Tag: job.Mark, Taggable: kind.Spec().Marked, NameGiven: true}).Verdict == adopt.Foreign {
			return refused
		}
		return nil
	}})
	if !errors.Is(err, refused) || len(w.Wrote()) > 0 {
		t.Errorf("%v, %v", err, w.Wrote())
	}
}

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]string{"shop-a": "shop-a", "aws-a": "p-aws-a", "SSM-a": "p-SSM-a", "p-shop": "p-shop"} {
		if have := physical(name, false); have != want || generated(have) != name {
			t.Errorf("%s is made %s, and that was made of %s", name, have, generated(have))
		}
	}
	w, kind := newWorld(t), parameterKind.Erase()
	job := w.Job(t, kind, obj{"value": "one"}, nil)
	job.Name = "aws-test-domain"
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	place, _ := w.Cloud.Place(t.Context())
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place, Prefix: "aws-test-"})
	if err != nil || len(found) != 1 || found[0].Name != "aws-test-domain" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{"value": "one"}, "arn:aws:ssm:eu-west-1:"+account+":parameter/shop-test-domain",
		func(string) []string { return []string{"shop-test-domain"} })
}

func TestDiscover(t *testing.T) {
	awstest.Discovered(t, newWorld, Service(), obj{"name": "/shop/domain", "value": "one"}, "/shop/domain")
}

func TestCheck(t *testing.T) {
	kindtest.Refuses(t, parameterKind.Erase(), kindtest.Refusals{
		{obj{}, "want a value"},
		{obj{"value": "a", "secureValue": "b"}, "secureValue already"},
		{obj{"value": "a", "type": "SecureString"}, "and no value"},
		{obj{"secureValue": "a", "type": "String"}, "makes a SecureString"},
		{obj{"value": "a", "keyId": "alias/x"}, "there is none"},
		{obj{"value": strings.Repeat("a", 4097)}, "tier Advanced"},
		{obj{"value": strings.Repeat("a", 4097), "tier": "Advanced"}, ""},
		{obj{"secureValue": strings.Repeat("a", 8193), "tier": "Advanced"}, "want up to 8 KiB"},
		{obj{"value": "a", "policies": list{}}, "tier Advanced"},
		{obj{"value": "a", "name": "a/b"}, "begins with a slash"},
		{obj{"value": "a", "name": strings.Repeat("/a", 16)}, "15 levels"},
		{obj{"value": "a", "name": "/AWS/x"}, "reserved"},
		{obj{"value": "a", "name": "ssmx"}, "reserved"},
		{obj{"value": "a", "name": "/a//b"}, "in each level"},
		{obj{"value": "a", "name": "a b"}, "in each level"},
		{obj{"value": "a", "description": strings.Repeat("a", 1025)}, "1024"},
		{obj{"value": "a", "tags": obj{"athanor:stack": "x"}}, "not for authors"},
		{tuned(), ""},
		{secret(), ""},
	})
}
