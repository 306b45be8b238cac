package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// newBusWorld is a world without a bus, whose calls pass a front.
func newBusWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{awstest.NewWorld(t, server, startLikeAWS(t, server), sdk.NewFromConfig, busKind.Erase(), "nightly")}
	w.Located(t, server.Account)
	return w
}

// buses are all as others see them.
func (w *world) buses(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	out, err := w.Others.ListEventBuses(ctx, &sdk.ListEventBusesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, b := range out.EventBuses {
		bus, err := w.Others.DescribeEventBus(ctx, &sdk.DescribeEventBusInput{Name: b.Name})
		if err != nil {
			t.Fatalf("look: %v", err)
		}
		tags, err := w.Others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: bus.Arn})
		if err != nil {
			t.Fatalf("tags: %v", err)
		}
		seen := obj{"description": sdkaws.ToString(bus.Description), "key": sdkaws.ToString(bus.KmsKeyIdentifier), "tags": awstest.Owned(tagMap(tags.Tags))}
		if bus.DeadLetterConfig != nil {
			seen["deadLetter"] = *bus.DeadLetterConfig.Arn
		}
		if l := bus.LogConfig; l != nil && (l.Level != "OFF" || l.IncludeDetail != "NONE") {
			seen["log"] = string(l.Level) + " " + string(l.IncludeDetail)
		}
		if p := sdkaws.ToString(bus.Policy); p != "" {
			seen["policy"] = json.RawMessage(p)
		}
		all = append(all, seen)
	}
	return all
}

func partner(account string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "partner", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::" + account + ":root"}, "Action": "events:PutEvents", "Resource": "*",
	}}}
}

// busHands change each aspect of a bus as somebody else would.
func busHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	edit := func(do func(c *sdk.Client, name *string, p EventBusProps) error) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			return do(w.Others, new(to.Attrs["name"].(string)), kindtest.PropsOf(t, busTable, to.Props))
		})
	}
	update := edit(func(c *sdk.Client, name *string, p EventBusProps) error {
		in := &sdk.UpdateEventBusInput{Name: name, Description: new("")}
		if err := busTable.Created(p, kind.Struct(in)); err != nil {
			return err
		}
		_, err := c.UpdateEventBus(context.Background(), in)
		return err
	})
	return map[tree.Path]kindtest.Hand{
		"description": update, "kmsKeyArn": update, "deadLetter": update, "logLevel": update, "logDetail": update, "tags": ws.Hand((*world).retag),
		"policy": edit(func(c *sdk.Client, name *string, p EventBusProps) error {
			if text := document(p.Policy); text != nil {
				_, err := c.PutPermission(context.Background(), &sdk.PutPermissionInput{EventBusName: name, Policy: text})
				return err
			}
			_, err := c.RemovePermission(context.Background(), &sdk.RemovePermissionInput{EventBusName: name, RemoveAllPermissions: true})
			return err
		}),
		"": edit(func(c *sdk.Client, name *string, _ EventBusProps) error {
			_, err := c.DeleteEventBus(context.Background(), &sdk.DeleteEventBusInput{Name: name})
			return err
		}),
	}
}

func busSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Suite{
		Kind:  busKind.Erase(),
		World: ws.Make(newBusWorld, (*world).buses),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "orders", "description": "all orders", "kmsKeyArn": arn("kms", "key/one"), "deadLetter": arn("sqs", "dead"),
				"logLevel": "INFO", "logDetail": "FULL", "policy": partner("222233334444"), "tags": obj{"team": "web", "cost center": "42"},
			}},
			{Name: "shared", Props: obj{"description": "shared", "policy": string(encoded(partner("333344445555")))}},
		},
		Hands: busHands(ws),
		Others: map[tree.Path][]any{
			"policy": {partner("555566667777")}, "kmsKeyArn": {arn("kms", "key/two")},
		},
		Steady: map[tree.Path]string{"name": "a bus keeps its name for life"},
	}
}

func TestEventBus(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, busSuite())
}

// TestBusWhole: UpdateEventBus takes away what it does not name, so that one aspect is never written alone.
func TestBusWhole(t *testing.T) {
	t.Parallel()
	w, kind := newBusWorld(t), busKind.Erase()
	all := obj{"description": "one", "kmsKeyArn": arn("kms", "key/one"), "deadLetter": arn("sqs", "dead"), "logLevel": "ERROR", "policy": partner("222233334444")}
	out, err := kind.Settle(t.Context(), w.Job(t, kind, all, nil), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"Events.CreateEventBus", "Events.PutPermission"}) {
		t.Errorf("wrote %v", have)
	}
	w.Server.Reset()
	all["description"], all["kmsKeyArn"] = "two", arn("kms", "key/two")
	job := w.Job(t, kind, all, &out)
	job.Ignore = []tree.Path{"kmsKeyArn"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	seen := w.buses(t)[0].(obj)
	if have := w.Wrote(); !slices.Equal(have, []string{"Events.UpdateEventBus"}) || seen["description"] != "two" || seen["key"] != arn("kms", "key/one") ||
		seen["deadLetter"] != arn("sqs", "dead") || seen["log"] != "ERROR NONE" {
		t.Errorf("wrote %v, and there is %v", have, seen)
	}
}

func TestBusFaults(t *testing.T) {
	t.Parallel()
	kind := kindtest.Quick(busKind, 300*time.Millisecond)
	for _, how := range []awstest.Kind{awstest.DropAnswer, awstest.CutBefore, awstest.Throttle, awstest.ServerError} {
		for _, op := range []string{"CreateEventBus", "PutPermission", "DescribeEventBus", "ListTagsForResource"} {
			w := newBusWorld(t)
			armed := w.Server.Inject(awstest.Fault{Op: "Events." + op, Kind: how})
			if _, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"policy": partner("222233334444")}, nil), reconcile.Hooks{}); err != nil {
				t.Errorf("%s of %s: %v", how, op, err)
				continue
			}
			if all := w.buses(t); armed.Fired() != 1 || len(all) != 1 || all[0].(obj)["policy"] == nil {
				t.Errorf("%s of %s, %d times: %v", how, op, armed.Fired(), all)
			}
		}
	}
}

func TestBusFound(t *testing.T) {
	t.Parallel()
	w, kind := newBusWorld(t), busKind.Erase()
	out, err := kind.Settle(t.Context(), w.Job(t, kind, obj{}, nil), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	place, _ := w.Cloud.Place(t.Context())
	found, err := aws.Provider(Service()).Discover(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: place, Mark: reconcile.Mark{Stack: "shop", Stage: "test"}})
	if err != nil || len(found) != 1 || found[0].Kind != busType || found[0].Identity != out.Identity || found[0].Mark.Address != "nightly" {
		t.Errorf("found %v, %v", found, err)
	}
	job := w.Job(t, kind, nil, nil)
	job.ID = strings.Replace(out.Identity, "us-east-1", "eu-west-1", 1)
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("looked at in another region: %v", err)
	}
}

func TestBusCheck(t *testing.T) {
	t.Parallel()
	kindtest.Refuses(t, busKind.Erase(), kindtest.Refusals{
		{obj{"name": "default"}, "read it instead"},
		{obj{"name": "a/b"}, "want up to 256"},
		{obj{"kmsKeyArn": "alias/x"}, "want the ARN of a key"},
		{obj{"logLevel": "DEBUG"}, "want one of"},
		{obj{"tags": obj{"aws:x": "x"}}, "not for authors"},
		{obj{"name": "orders.v1"}, ""},
	})
}
