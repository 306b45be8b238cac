package logs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	kindpkg "github.com/athanor-dev/athanor/reconcile/kind"
)

func TestCalls(t *testing.T) {
	w := newWorld(t)
	props := tuned()
	out := w.Settled(t, props, nil)
	want := []string{
		"Logs.CreateLogGroup", "Logs.PutRetentionPolicy", "Logs.PutBearerTokenAuthentication", "Logs.PutDataProtectionPolicy",
		"Logs.PutIndexPolicy", "Logs.PutResourcePolicy",
	}
	if have := w.Wrote(); !slices.Equal(have, want) {
		t.Errorf("a creation with everything makes %v", have)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 {
		t.Errorf("unchanged, and %v are made", have)
	}
	if n := len(w.Server.Calls()); n != 6 {
		t.Errorf("a look at everything makes %d calls, want 6", n)
	}
	props["retention"], props["indexPolicy"] = "30d", obj{"Fields": list{"account", "requestId"}}
	w.Server.Reset()
	w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"Logs.PutRetentionPolicy"}) {
		t.Errorf("the retention changed and the fields were put in another order, and %v are made", have)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(groupKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one group, made by as few calls as can be.
func TestFaults(t *testing.T) {
	awstest.Faults(t, newWorld, quick(), obj{"retention": "5d"}, (*world).groups, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: "Logs.CreateLogGroup", Kind: awstest.DropAnswer}, 2},
		{"the creation never arrives", awstest.Fault{Op: "Logs.CreateLogGroup", Kind: awstest.CutBefore}, 3},
		{"the creation is throttled twice", awstest.Fault{Op: "Logs.CreateLogGroup", Kind: awstest.Throttle, Times: 2}, 4},
		{"the creation meets a change of the same group", awstest.Fault{Op: "Logs.CreateLogGroup", Kind: awstest.Refuse, Code: "OperationAbortedException"}, 3},
		{"the answer of a change is lost", awstest.Fault{Op: "Logs.PutRetentionPolicy", Kind: awstest.DropAnswer}, 2},
		{"reads are throttled", awstest.Fault{Op: "Logs.Describe*", Kind: awstest.Throttle, Times: 2}, 2},
		{"the tags cannot be read at first", awstest.Fault{Op: "Logs.ListTagsForResource", Kind: awstest.ServerError}, 2},
		{"the group is not shown at first", awstest.Fault{Op: "Logs.DescribeLogGroups", Kind: awstest.Stale, Nth: 2, Times: 2}, 2},
	})
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{},
		"Logs.DescribeLogGroups", "Logs.CreateLogGroup", "Logs.ListTagsForResource", "Logs.DescribeResourcePolicies")
}

// TestPolicyChangedMeanwhile is about a policy that somebody else writes between the look and the write: it is looked
// at again before it is written over.
func TestPolicyChangedMeanwhile(t *testing.T) {
	w, kind := newWorld(t), groupKind.Erase()
	out := w.Settled(t, obj{"policy": deliveryPolicy("logs:PutLogEvents")}, nil)
	w.Server.Reset()
	held := w.Server.Inject(awstest.Fault{Op: "Logs.PutResourcePolicy", Kind: awstest.Hold})
	done := make(chan error, 1)
	go func() {
		_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"policy": deliveryPolicy("logs:CreateLogStream")}, &out), reconcile.Hooks{})
		done <- err
	}()
	<-held.Reached()
	if _, err := w.Others.PutResourcePolicy(t.Context(), &sdk.PutResourcePolicyInput{
		PolicyName: new("theirs"), ResourceArn: new(out.Identity), PolicyDocument: aws.Text(deliveryPolicy("logs:*")), ExpectedRevisionId: new("1"),
	}); err != nil {
		t.Fatal(err)
	}
	held.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"Logs.PutResourcePolicy", "Logs.PutResourcePolicy"}) {
		t.Errorf("wrote %v", have)
	}
}

// TestTheirPolicy is about a policy that somebody else gives a group whose program declares none: it opens the group to others, so
// that it is seen however groups are read. Where the operation is not known there is none.
func TestTheirPolicy(t *testing.T) {
	w, kind := newWorld(t), groupKind.Erase()
	var jobs []*reconcile.Job
	for _, name := range []string{"first", "second", "third"} {
		props := obj{"name": name, "retention": "5d"}
		out := w.Settled(t, props, nil)
		jobs = append(jobs, w.Job(t, kind, props, &out))
	}
	differ := func(when string, asked int, want ...string) {
		t.Helper()
		w.Server.Reset()
		looks, errs := kind.LookMany(t.Context(), jobs)
		var have []string
		for i, look := range looks {
			if errs[i] != nil {
				t.Errorf("%s: %v", when, errs[i])
			}
			for _, step := range look.Steps {
				have = append(have, jobs[i].Name+" "+string(step.Path))
			}
		}
		if n := w.Server.Count("Logs.DescribeResourcePolicies"); !slices.Equal(have, want) || n != asked {
			t.Errorf("%s: %q, want %q; asked %d times, want %d", when, have, want, n, asked)
		}
	}
	differ("no policies", 1)
	for _, name := range []string{"first", "third"} { // on two pages
		if _, err := w.Others.PutResourcePolicy(t.Context(), &sdk.PutResourcePolicyInput{
			PolicyName: new("theirs"), ResourceArn: new("arn:aws:logs:us-east-1:" + account + ":log-group:" + name), PolicyDocument: aws.Text(deliveryPolicy("logs:*")),
		}); err != nil {
			t.Fatal(err)
		}
	}
	differ("two policies", 2+2, "first policy", "third policy")
	w.Server.Inject(awstest.Fault{Op: "Logs.DescribeResourcePolicies", Kind: awstest.Deny})
	differ("the policies may not be listed", 1+3, "first policy", "third policy")
	w.like.noPolicies = true
	differ("the operation is not known", 1)
	w.Settled(t, obj{"name": "second", "retention": "5d"}, nil)
}

// TestAccountRetention is about an account that decides how long events are kept: what a group says is not shown then.
func TestAccountRetention(t *testing.T) {
	live, err := read(LogGroup{}, types.LogGroup{RetentionPolicyName: new("all"), RetentionInDays: new(int32(90))})
	if err != nil {
		t.Fatal(err)
	}
	kind := *groupKind
	kind.Observe = func(context.Context, kindpkg.Site[LogGroupProps, LogGroup]) (liveGroup, error) { return live, nil }
	w, erased := newWorld(t), kind.Erase()
	look, err := erased.Look(t.Context(), w.Job(t, erased, obj{"retention": "5d"}, nil))
	if err != nil || slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return s.Path == "retention" }) {
		t.Errorf("the account's retention is a difference: %v, %v", look.Steps, err)
	}
}

func TestDelete(t *testing.T) {
	for name, props := range map[string]obj{"with events": {}, "protected": {"deletionProtection": true}} {
		t.Run(name, func(t *testing.T) {
			w, kind := newWorld(t), groupKind.Erase()
			out := w.Settled(t, props, nil)
			if len(props) == 0 {
				w.write(t, "shop-test-app", "one", time.Now().UnixMilli(), "hello")
			}
			look, err := kind.Look(t.Context(), w.Job(t, kind, props, &out))
			if err != nil || !look.Holds {
				t.Errorf("it holds data: %v, %v", look.Holds, err)
			}
			job := w.Job(t, kind, nil, &out)
			if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
				t.Errorf("deleted without leave: %v", err)
			}
			if len(w.groups(t)) != 1 {
				t.Fatal("it is missing")
			}
			job.MayDelete = true
			w.Server.Reset()
			stale := w.Server.Inject(awstest.Fault{Op: "Logs.DescribeLogGroups", Kind: awstest.Stale, Nth: 2})
			if err := kind.Delete(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if len(w.groups(t)) != 0 || stale.Fired() != 1 {
				t.Errorf("groups: %v, and the deletion looked %d times at what is shown late", w.groups(t), stale.Fired())
			}
			if err := kind.Delete(t.Context(), job); err != nil {
				t.Errorf("deleting again: %v", err)
			}
		})
	}
}

// TestMadeByAService is about a group that a function's first run made before the program declared it: it carries no
// owner tag, so that it is refused until it is adopted.
func TestMadeByAService(t *testing.T) {
	w, kind := newWorld(t), groupKind.Erase()
	if _, err := w.Others.CreateLogGroup(t.Context(), &sdk.CreateLogGroupInput{LogGroupName: new("/aws/lambda/worker")}); err != nil {
		t.Fatal(err)
	}
	job := w.Job(t, kind, obj{"name": "/aws/lambda/worker", "retention": "14d"}, nil)
	refused := errors.New("not ours")
	hooks := reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if adopt.Judge(adopt.Evidence{Identity: look.Identity, Tagged: look.Owner, Tag: job.Mark, Taggable: kind.Spec().Marked, NameGiven: true}).Verdict == adopt.Foreign {
			return refused
		}
		return nil
	}}
	if _, err := kind.Settle(t.Context(), job, hooks); !errors.Is(err, refused) || len(w.Wrote()) > 0 {
		t.Errorf("taken without being adopted: %v, %v", err, w.Wrote())
	}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"Logs.PutRetentionPolicy", "Logs.TagResource"}) {
		t.Errorf("adopted by %v", have)
	}
}

// TestNamesThatBeginAlike is about groups whose names are prefixes of each other, in more than one page.
func TestNamesThatBeginAlike(t *testing.T) {
	w, kind := newWorld(t), groupKind.Erase()
	for i := range 60 {
		name := "shop-test-app" + strings.Repeat("x", i+1)
		if _, err := w.Others.CreateLogGroup(t.Context(), &sdk.CreateLogGroupInput{LogGroupName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	if look, err := kind.Look(t.Context(), w.Job(t, kind, obj{}, nil)); err != nil || !look.Absent {
		t.Errorf("another group is taken for it: %s, %v", look.Identity, err)
	}
	w.Settled(t, obj{}, nil)
	place, _ := w.Cloud.Place(t.Context())
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place, Prefix: "shop-test-app"})
	if err != nil || len(found) != 61 {
		t.Errorf("%d of 61 listed: %v", len(found), err)
	}
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{}, "arn:aws:logs:eu-west-1:"+account+":log-group:shop-test-app:*",
		func(identity string) []string { return []string{identity + ":*", "shop-test-app"} })
}

func TestDiscover(t *testing.T) { awstest.Discovered(t, newWorld, Service(), obj{}, "shop-test-app") }

func TestMatch(t *testing.T) {
	for arn, want := range map[aws.ARN]string{
		"arn:aws:logs:us-east-1:111122223333:log-group:/aws/lambda/x":          "/aws/lambda/x",
		"arn:aws:logs:us-east-1:111122223333:log-group:/aws/lambda/x:*":        "/aws/lambda/x",
		"arn:aws:logs:us-east-1:111122223333:log-group:x:log-stream:y":         "",
		"arn:aws:logs:us-east-1:111122223333:destination:x":                    "",
		"arn:aws:sqs:us-east-1:111122223333:log-group:x":                       "",
		"arn:aws:logs:us-east-1:111122223333:delivery-source:log-group:x":      "",
		"arn:aws-cn:logs:cn-north-1:111122223333:log-group:shop-prod-app-1234": "shop-prod-app-1234",
	} {
		_, identity, name, ok := Service().Match(arn)
		if ok != (want != "") || ok && (name != want || strings.HasSuffix(identity, "*")) {
			t.Errorf("%s: %s %s %v", arn, identity, name, ok)
		}
	}
}

func TestCheck(t *testing.T) {
	kindtest.Refuses(t, groupKind.Erase(), kindtest.Refusals{
		{obj{"name": "a b"}, "want up to 512"},
		{obj{"name": strings.Repeat("a", 513)}, "want up to 512"},
		{obj{"name": "aws/x"}, "do not begin with aws/"},
		{obj{"retention": "2d"}, "keeps events for"},
		{obj{"retention": "12h"}, "keeps events for"},
		{obj{"class": "DELIVERY", "retention": "1d"}, "has its own"},
		{obj{"class": "INFREQUENT_ACCESS", "indexPolicy": obj{}}, "STANDARD alone"},
		{obj{"class": "ESSENTIALS", "dataProtectionPolicy": obj{}}, "STANDARD alone"},
		{obj{"class": "FAST"}, "STANDARD"},
		{obj{"tags": obj{"aws:x": "x"}}, "not for authors"},
		{tuned(), ""},
	})
}
