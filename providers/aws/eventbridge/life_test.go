package eventbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func hourly(targets obj) obj {
	return obj{"scheduleExpression": "rate(1 hour)", "targets": targets}
}

func many(n int) obj {
	targets := obj{}
	for i := range n {
		targets[fmt.Sprintf("t%02d", i)] = obj{"arn": arn("lambda", "function:"+strconv.Itoa(i))}
	}
	return targets
}

// TestTargets counts the calls that targets make: ten in one, and those that go before those that come.
func TestTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.Settled(t, hourly(many(23)), nil)
	if have, want := w.Wrote(), []string{"Events.PutRule", "Events.PutTargets", "Events.PutTargets", "Events.PutTargets"}; !slices.Equal(have, want) {
		t.Errorf("wrote %v, want %v", have, want)
	}
	if n := len(w.targets(t, defaultBus, "shop-test-nightly")); n != 23 {
		t.Errorf("%d targets", n)
	}
	w.Server.Reset()
	out = w.Settled(t, hourly(many(23)), &out)
	if have := w.Wrote(); len(have) > 0 || len(w.Server.Calls()) > 4 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.Server.Calls()))
	}
	w.Server.Reset()
	changed := many(12)
	changed["t03"] = obj{"arn": arn("lambda", "function:other")}
	changed["new"] = obj{"arn": arn("lambda", "function:new")}
	out = w.Settled(t, hourly(changed), &out)
	if have, want := w.Wrote(), []string{"Events.RemoveTargets", "Events.RemoveTargets", "Events.PutTargets"}; !slices.Equal(have, want) {
		t.Errorf("wrote %v, want %v", have, want)
	}
	w.Server.Reset()
	kind := ruleKind.Erase()
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if have, want := w.Wrote(), []string{"Events.RemoveTargets", "Events.RemoveTargets", "Events.DeleteRule"}; !slices.Equal(have, want) || len(w.rules(t)) > 0 {
		t.Errorf("wrote %v, want %v; there are %v", have, want, w.rules(t))
	}
}

// TestWhole: PutRule forgets what it is not told, so that one aspect is never written alone.
func TestWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	props := obj{"scheduleExpression": "rate(1 hour)", "eventPattern": pattern("a"), "description": "one", "roleArn": arn("iam", "role/x")}
	out := w.Settled(t, props, nil)
	whole := w.rules(t)[0].(obj)
	w.Server.Reset()
	kind := ruleKind.Erase()
	props["description"], props["roleArn"] = "two", arn("iam", "role/y")
	job := w.Job(t, kind, props, &out)
	job.Ignore = []tree.Path{"roleArn"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	seen := w.rules(t)[0].(obj)
	if have := w.Wrote(); !slices.Equal(have, []string{"Events.PutRule"}) || seen["description"] != "two" || seen["role"] != whole["role"] || seen["schedule"] != "rate(1 hour)" {
		t.Errorf("wrote %v, and there is %v", have, seen)
	}
}

// failing stands before the emulator, and answers an entry of the next calls of an operation as failed, as EventBridge
// does in an answer that is otherwise well. Moto never does.
type failing struct {
	*awstest.Front
	operation, code string
	times           int
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var in struct {
		Targets []struct{ ID string }
	}
	fails := operation == f.operation && f.times > 0 && json.Unmarshal(body, &in) == nil
	if fails {
		f.times--
		// What failed was not done: only the others reach the cloud.
		var all obj
		_ = json.Unmarshal(body, &all)
		all["Targets"] = all["Targets"].(list)[1:]
		body, _ = json.Marshal(all)
	}
	res, err := f.Send(r, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	if fails {
		got, _ = json.Marshal(obj{"FailedEntryCount": 1, "FailedEntries": list{obj{"TargetId": in.Targets[0].ID, "ErrorCode": f.code, "ErrorMessage": "it said no"}}})
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(got)))
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, bytes.NewReader(got))
}

// TestFailedEntries: an entry that failed is an error like any other: some are tried again, others end it.
func TestFailedEntries(t *testing.T) {
	t.Parallel()
	for code, heals := range map[string]bool{"ConcurrentModificationException": true, "ThrottlingException": true, "LimitExceededException": false, "ManagedRuleException": false} {
		w := newWorld(t)
		front := &failing{operation: "PutTargets", code: code, times: 1}
		front.Front = awstest.Before(t, w.Server, front)
		w.Cloud = aws.FromConfig(front.Observed(t))
		kind := ruleKind.Erase()
		_, err := kind.Settle(t.Context(), w.Job(t, kind, hourly(many(3)), nil), reconcile.Hooks{})
		if (err == nil) != heals {
			t.Errorf("%s: %v", code, err)
		}
		if !heals && (!strings.Contains(err.Error(), "target t00") || !strings.Contains(err.Error(), "it said no")) {
			t.Errorf("%s: %v", code, err)
		}
		if n := len(w.targets(t, defaultBus, "shop-test-nightly")); heals && n != 3 {
			t.Errorf("%s: %d targets in the end", code, n)
		}
	}
}

// TestFaults breaks each changing call and some reads of a deployment in each way, once: it ends as if nothing had happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	kind := kindtest.Quick(ruleKind, 300*time.Millisecond)
	for _, how := range []awstest.Kind{awstest.DropAnswer, awstest.CutBefore, awstest.Throttle, awstest.ServerError} {
		for _, op := range []string{"PutRule", "PutTargets", "DescribeRule", "ListTargetsByRule", "ListTagsForResource"} {
			w := newWorld(t)
			armed := w.Server.Inject(awstest.Fault{Op: "Events." + op, Kind: how})
			if _, err := kind.Settle(t.Context(), w.Job(t, kind, hourly(many(2)), nil), reconcile.Hooks{}); err != nil {
				t.Errorf("%s of %s: %v", how, op, err)
				continue
			}
			if armed.Fired() != 1 {
				t.Errorf("%s of %s did not happen", how, op)
			}
			if all := w.rules(t); len(all) != 1 || len(all[0].(obj)["targets"].(list)) != 2 {
				t.Errorf("%s of %s: %v", how, op, all)
			}
		}
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newWorld, hourly(many(1)), "Events.DescribeRule", "Events.PutRule", "Events.PutTargets", "Events.ListTagsForResource")
}

// TestPattern: the order of alternatives does not count, and that of the bounds of a number does.
func TestPattern(t *testing.T) {
	t.Parallel()
	same := func(a, b any) bool { return tree.Equal(canonicalPattern(a), canonicalPattern(b)) }
	if !same(`{"source": ["a", "b"], "detail": {"x": [{"prefix": "p"}, "q"]}}`, obj{"detail": obj{"x": list{"q", obj{"prefix": "p"}}}, "source": list{"b", "a"}}) {
		t.Error("the order of alternatives counts")
	}
	if same(`{"n": [{"numeric": [">", 0, "<", 5]}]}`, `{"n": [{"numeric": ["<", 5, ">", 0]}]}`) {
		t.Error("the bounds of a number are taken apart")
	}
	if same(`{"source": ["a"]}`, `{"source": ["b"]}`) {
		t.Error("two patterns are one")
	}
}

// TestOtherBus is about rules of a bus that is not the default one, by its name and by its ARN.
func TestOtherBus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place, _ := w.Cloud.Place(t.Context())
	out := w.Settled(t, obj{"eventBusName": ownBus, "eventPattern": pattern("a")}, nil)
	if want := string(ruleARN(place, ownBus, "shop-test-nightly")); out.Identity != want || out.Attrs["eventBusName"] != ownBus {
		t.Errorf("identity %s, want %s, on %v", out.Identity, want, out.Attrs["eventBusName"])
	}
	w.Server.Reset()
	w.Settled(t, obj{"eventBusName": string(aws.ARNIn(place, "events", "event-bus/"+ownBus)), "eventPattern": pattern("a")}, &out)
	if have := w.Wrote(); len(have) > 0 {
		t.Errorf("the same bus by its ARN, and %v are made", have)
	}
	kind := ruleKind.Erase()
	job := w.Job(t, kind, nil, nil)
	job.ID = out.Identity
	if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != out.Identity {
		t.Errorf("found by its ARN: %+v, %v", look, err)
	}
	job.ID = strings.Replace(out.Identity, "us-east-1", "eu-west-1", 1)
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("looked at in another region: %v", err)
	}
}

// TestOtherBases is about the bus, which only rules without a schedule can choose.
func TestOtherBases(t *testing.T) {
	t.Parallel()
	s := ruleSuite()
	s.Base, s.Silent = obj{"eventPattern": pattern("a")}, nil
	s.Variants = []kindtest.Variant{{Name: "other bus", Props: obj{"eventPattern": pattern("a"), "eventBusName": ownBus}}}
	kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Crashes, kindtest.Unknown)
}

// TestFound checks how rules are found without state: by the ARN that the tagging service shows, which moto's does
// not for rules, and by the listing of all buses.
func TestFound(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), ruleKind.Erase()
	out := w.Settled(t, obj{"eventBusName": ownBus, "eventPattern": pattern("a")}, nil)
	place, _ := w.Cloud.Place(t.Context())
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place, Prefix: "shop-test-"})
	if err != nil || len(found) != 1 || found[0].Identity != out.Identity || found[0].Name != "shop-test-nightly" {
		t.Errorf("found %v, %v", found, err)
	}
	match := Service().Match
	if is, identity, name, ok := match(aws.ARN(out.Identity)); !ok || is != ruleType || identity != out.Identity || name != "shop-test-nightly" {
		t.Errorf("%s is %s, %s, %s, %v", out.Identity, is, identity, name, ok)
	}
	for _, other := range []aws.ARN{aws.ARNIn(place, "events", "archive/x"), aws.ARNIn(place, "sqs", "rule/x")} {
		if _, _, _, ok := match(other); ok {
			t.Errorf("%s counts as a rule", other)
		}
	}
}

// TestManaged: a rule that a service of AWS made is refused by EventBridge, in its words.
func TestManaged(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), ruleKind.Erase()
	out := w.Settled(t, hourly(many(1)), nil)
	w.Server.Inject(awstest.Fault{Op: "Events.RemoveTargets", Kind: awstest.Refuse, Code: "ManagedRuleException"})
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); w.Cloud.Classify(err) != reconcile.Invalid {
		t.Errorf("deleted a managed rule: %v", err)
	}
	if _, err := w.Others.DescribeRule(t.Context(), &sdk.DescribeRuleInput{Name: new("shop-test-nightly")}); err != nil {
		t.Errorf("it was deleted outside athanor: %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	target := func(more obj) obj {
		x := obj{"arn": arn("sqs", "x")}
		maps.Copy(x, more)
		return hourly(obj{"one": x})
	}
	kindtest.Refuses(t, ruleKind.Erase(), kindtest.Refusals{
		{obj{}, "needs an eventPattern"},
		{obj{"scheduleExpression": "hourly"}, "want rate(…) or cron(…)"},
		{obj{"scheduleExpression": "rate(1 hour)", "eventBusName": "other"}, "default bus alone"},
		{obj{"scheduleExpression": "rate(1 hour)", "eventBusName": "default"}, ""},
		{obj{"scheduleExpression": "rate(1 hour)", "name": "a b"}, "want up to 64"},
		{obj{"scheduleExpression": "rate(1 hour)", "state": "ON"}, "want one of"},
		{hourly(obj{"a b": obj{"arn": arn("sqs", "x")}}), "want up to 64"},
		{hourly(obj{"one": obj{}}), "arn: is required"},
		{target(obj{"input": "{}", "inputPath": "$.x"}), "one of input"},
		{target(obj{"retryPolicy": obj{"maximumEventAge": "90500ms"}}), "whole seconds"},
		{target(obj{"retryPolicy": obj{"maximumRetryAttempts": int64(186)}}), "185"},
		{target(obj{"ecsParameters": obj{"taskDefinitionArn": "x", "launchType": "EC2", "capacityProviderStrategy": list{obj{"capacityProvider": "x"}}}}), "either a launch type"},
		{target(obj{"redshiftDataParameters": obj{"database": "x"}}), "either sql or sqls"},
		{obj{"scheduleExpression": "rate(1 hour)", "tags": obj{"athanor:x": "x"}}, "not for authors"},
	})
}
