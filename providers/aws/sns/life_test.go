package sns

import (
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestCalls counts what a creation, a look without change, and changes cost.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind         reconcile.Any
		from, to     obj
		made, looked []string
		changed      int
	}{
		"topic": {
			topicKind.Erase(),
			obj{"name": "events", "displayName": "Events", "kmsMasterKeyId": "alias/x", "policy": publishPolicy("SNS:Publish"), "tags": obj{"a": "b"}},
			obj{"name": "events", "tags": obj{"a": "b"}},
			[]string{"SNS.CreateTopic"},
			[]string{"SNS.GetTopicAttributes", "SNS.ListTagsForResource"},
			3,
		},
		"subscription": {
			subscriptionKind.Erase(), toQueue(obj{"rawMessageDelivery": true, "filterPolicy": obj{"a": list{"b"}}, "deadLetter": queue("dead")}),
			toQueue(nil),
			[]string{"SNS.Subscribe"},
			[]string{"SNS.GetSubscriptionAttributes"},
			3,
		},
	} {
		w := newWorld(t, "another")
		if name == "subscription" {
			w = newWorld(t, "events")
		}
		out, err := c.kind.Settle(t.Context(), w.task(t, c.kind, c.from), reconcile.Hooks{})
		if err != nil || !slices.Equal(w.Wrote(), c.made) {
			t.Errorf("%s: made by %v (%v)", name, w.Wrote(), err)
		}
		w.Server.Reset()
		again := w.task(t, c.kind, c.from)
		again.Last = out.Attrs
		look, err := c.kind.Look(t.Context(), again)
		calls := awstest.NamesOf(w.Server.Calls())
		slices.Sort(calls)
		if err != nil || len(look.Steps) > 0 || !slices.Equal(calls, c.looked) {
			t.Errorf("%s: looked by %v: %v (%v)", name, calls, look.Steps, err)
		}
		w.Server.Reset()
		less := w.task(t, c.kind, c.to)
		less.Last = out.Attrs
		if _, err := c.kind.Settle(t.Context(), less, reconcile.Hooks{}); err != nil || len(w.Server.Mutations()) != c.changed {
			t.Errorf("%s: changed by %v (%v)", name, w.Wrote(), err)
		}
	}
}

// TestPending is about an endpoint that has not confirmed: it is waited for without a wait, found again without
// state, and its deletion is SNS's own.
func TestPending(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "events"), subscriptionKind.Erase()
	w.like.confirms = true
	props := obj{"topic": arn("events"), "protocol": "https", "endpoint": "https://shop.example/hook"}
	out, err := kind.Settle(t.Context(), w.task(t, kind, props), reconcile.Hooks{})
	made, _ := out.Attrs["arn"].(string)
	if err != nil || !strings.HasPrefix(out.Waiting, "confirm the subscription of https://shop.example/hook") || made == "" {
		t.Fatalf("made: %+v (%v)", out, err)
	}
	found, err := kind.Settle(t.Context(), w.task(t, kind, props), reconcile.Hooks{})
	if err != nil || found.Created || found.Waiting == "" || found.Identity != out.Identity || found.Attrs["arn"] != "" {
		t.Errorf("found: %+v (%v)", found, err)
	}
	for _, attrs := range []map[string]any{out.Attrs, found.Attrs} {
		gone := w.task(t, kind, nil)
		gone.Last = attrs
		if err := kind.Delete(t.Context(), gone); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	w.like.mu.Lock()
	w.like.pending[strings.ReplaceAll(made, account, w.Server.Account)] = false
	w.like.mu.Unlock()
	recorded := w.task(t, kind, props)
	recorded.Last = found.Attrs
	confirmed, err := kind.Settle(t.Context(), recorded, reconcile.Hooks{})
	if err != nil || confirmed.Waiting != "" || confirmed.Attrs["arn"] != made || confirmed.Identity != out.Identity {
		t.Errorf("confirmed: %+v (%v)", confirmed, err)
	}
}

// TestAnew is about a subscription that somebody deleted and made again: it has another ARN and is the same one.
func TestAnew(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "events"), subscriptionKind.Erase()
	out, err := kind.Settle(t.Context(), w.task(t, kind, toQueue(nil)), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	old, _ := out.Attrs["arn"].(string)
	if _, err := w.Others.Unsubscribe(t.Context(), &sdk.UnsubscribeInput{SubscriptionArn: &old}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Others.Subscribe(t.Context(), &sdk.SubscribeInput{TopicArn: new(arn("events")), Protocol: new("sqs"), Endpoint: new(queue("orders"))}); err != nil {
		t.Fatal(err)
	}
	job := w.task(t, kind, toQueue(nil))
	job.Last = out.Attrs
	look, err := kind.Look(t.Context(), job)
	if err != nil || look.Absent || look.Identity != out.Identity || look.Attrs["arn"] == old {
		t.Errorf("look: %+v (%v)", look, err)
	}
}

// TestTakenOver: no topic is no subscription, an ARN or an identity finds one to take over, and of two none is.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "events"), subscriptionKind.Erase()
	elsewhere := toQueue(obj{"topic": arn("nowhere")})
	if look, err := kind.Look(t.Context(), w.task(t, kind, elsewhere)); err != nil || !look.Absent {
		t.Errorf("without a topic: %+v (%v)", look, err)
	}
	out, err := kind.Settle(t.Context(), w.task(t, kind, toQueue(nil)), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	sub, _ := out.Attrs["arn"].(string)
	for _, id := range []string{sub, out.Identity} {
		job := w.task(t, kind, toQueue(nil))
		job.ID = id
		if look, err := kind.Look(t.Context(), job); err != nil || look.Absent || look.Identity != out.Identity || look.Attrs["arn"] != sub {
			t.Errorf("by %s: %+v (%v)", id, look, err)
		}
	}
	w.like.twice = true
	if _, err := kind.Look(t.Context(), w.task(t, kind, toQueue(nil))); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("of two: %v", err)
	}
	job := w.task(t, kind, toQueue(nil))
	job.ID = "orders"
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, errNoParent) {
		t.Errorf("by a name: %v", err)
	}
}

// TestTopicByName finds a topic by what a search declares, which has no defaults, and refuses that of another place.
func TestTopicByName(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "events"), topicKind.Erase()
	job := w.task(t, kind, nil)
	job.Query, job.Props = true, obj{"name": "events"}
	kind.Names(job)
	job.Name, job.Named = job.Given, true
	if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != arn("events") {
		t.Errorf("by name: %+v (%v)", look, err)
	}
	other := w.task(t, kind, obj{"name": "events"})
	other.ID = strings.Replace(arn("events"), "us-east-1", "eu-west-1", 1)
	if _, err := kind.Look(t.Context(), other); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("elsewhere: %v", err)
	}
}

// TestArchive: a topic with an archive holds data, and is not deleted without leave.
func TestArchive(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), topicKind.Erase()
	out, err := kind.Settle(t.Context(), w.task(t, kind, obj{"fifo": true, "archivePolicy": obj{"MessageRetentionPeriod": "30"}}), reconcile.Hooks{})
	if err != nil || !out.Holds {
		t.Fatalf("made: %+v (%v)", out, err)
	}
	gone := w.task(t, kind, nil)
	gone.Last, gone.MayDelete = out.Attrs, false
	w.Server.Reset()
	if err := kind.Delete(t.Context(), gone); !errors.Is(err, reconcile.ErrHoldsData) || len(w.Server.Mutations()) > 0 {
		t.Errorf("without leave: %v, %v", err, w.Wrote())
	}
	gone.MayDelete = true
	if err := kind.Delete(t.Context(), gone); err != nil || len(w.topics(t)) > 0 {
		t.Errorf("with leave: %v", err)
	}
}

// TestPages: listings go on where a page ends, and only what has the prefix is told.
func TestPages(t *testing.T) {
	t.Parallel()
	topics := []string{"other"}
	for i := range 101 {
		topics = append(topics, "shop-"+strings.Repeat("x", i+1))
	}
	w, kind := newWorld(t, topics...), topicKind.Erase()
	place, _ := w.Cloud.Place(t.Context())
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place, Prefix: "shop-"})
	if err != nil || len(found) != 101 || w.Server.Count("SNS.ListTopics") != 2 {
		t.Errorf("found %d by %v (%v)", len(found), awstest.NamesOf(w.Server.Calls()), err)
	}
	w.Server.Inject(awstest.Fault{Op: "SNS.ListTopics", Nth: 2, Kind: awstest.Deny})
	if found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place}); err == nil {
		t.Errorf("half a listing is one: %d", len(found))
	}
}

// TestMeaning is about what SNS makes of documents and endpoints, which is no difference.
func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		want, have any
		same       bool
	}{
		{
			"filled in",
			obj{"http": obj{"defaultHealthyRetryPolicy": obj{"numRetries": int64(5)}}},
			`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":5,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"disableSubscriptionOverrides":false}}`, true,
		},
		{"nulls", obj{"healthyRetryPolicy": obj{"numRetries": int64(5)}}, `{"healthyRetryPolicy":{"numRetries":5},"sicklyRetryPolicy":null,"throttlePolicy":null,"guaranteed":false}`, true},
		{"another", obj{"healthyRetryPolicy": obj{"numRetries": int64(5)}}, `{"healthyRetryPolicy":{"numRetries":5,"minDelayTarget":1}}`, false},
		{"none", nil, `{}`, true},
		{"overridden", nil, `{"http":{"disableSubscriptionOverrides":true}}`, false},
	} {
		if tree.Equal(deliveryOf(c.want), deliveryOf(c.have)) != c.same {
			t.Errorf("%s: %v and %v", c.name, deliveryOf(c.want), deliveryOf(c.have))
		}
	}
	for endpoint, want := range map[string]string{
		"https://me:secret@shop.example/a:b@c": "https://me:****@shop.example/a:b@c", "https://me@shop.example/": "https://me@shop.example/",
		"https://shop.example/x@y:z": "https://shop.example/x@y:z", "me@shop.example": "me@shop.example",
	} {
		if have := shown(endpoint); have != want {
			t.Errorf("%s is shown as %s, want %s", endpoint, have, want)
		}
	}
	topic := aws.ARN(arn("events"))
	w, kind := newWorld(t, "events"), topicKind.Erase()
	if _, err := w.Others.SetTopicAttributes(t.Context(), &sdk.SetTopicAttributesInput{
		TopicArn: new(string(topic)), AttributeName: new("Policy"), AttributeValue: aws.Text(defaultPolicy(topic, "SNS:Receive")),
	}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), w.task(t, kind, obj{"name": "events"}))
	if err != nil || slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return s.Path == "policy" }) {
		t.Errorf("the older default policy differs: %v, %v", look.Steps, err)
	}
}
