package sns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var errNoParent = errors.New("a subscription is found by its topic, protocol and endpoint, or by its ARN")

// lookFor is what a subscription is looked for by.
func lookFor(site subscriptionSite) (Subscription, error) {
	if site.Last != nil {
		return *site.Last, nil
	}
	if site.ID != "" {
		if s, ok := subscriptionOf(site.ID); ok {
			return s, nil
		}
		if p, ok := aws.ARN(site.ID).Parse(); ok && p.Service == "sns" && strings.Contains(p.Resource, ":") {
			return Subscription{ARN: aws.ARN(site.ID)}, nil
		}
		return Subscription{}, fmt.Errorf("%w: %q", errNoParent, site.ID)
	}
	if site.Want.Topic == "" || site.Want.Protocol == "" || site.Want.Endpoint == "" {
		return Subscription{}, errNoParent
	}
	return Subscription{Topic: site.Want.Topic, Protocol: site.Want.Protocol, Endpoint: shown(site.Want.Endpoint)}, nil
}

// observeSubscription asks for the attributes by the ARN where it is known, and else for the ARN by the topic's list. One
// that was made anew by somebody else has another ARN, and the list has it.
func observeSubscription(ctx context.Context, site subscriptionSite) (liveSubscription, error) {
	want, err := lookFor(site)
	if err != nil {
		return liveSubscription{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveSubscription{}, err
	}
	if want.ARN != "" {
		live, err := readSubscription(ctx, client, want.ARN)
		if !errors.Is(err, reconcile.ErrAbsent) || want.Topic == "" {
			return live, err
		}
	}
	listed, err := findSubscription(ctx, client, want)
	if err != nil || listed.ARN == "" {
		return liveSubscription{Subscription: listed}, err
	}
	return readSubscription(ctx, client, listed.ARN)
}

func readSubscription(ctx context.Context, client *sdk.Client, arn aws.ARN) (liveSubscription, error) {
	out, err := client.GetSubscriptionAttributes(ctx, &sdk.GetSubscriptionAttributesInput{SubscriptionArn: new(string(arn))})
	if err != nil {
		return liveSubscription{}, aws.Absent(err)
	}
	a := out.Attributes
	return liveSubscription{attrs: a, Subscription: Subscription{
		ARN: arn, Topic: aws.ARN(a["TopicArn"]), Protocol: a["Protocol"], Endpoint: a["Endpoint"],
	}}, nil
}

// findSubscription looks through the topic's list. The ARN stays empty while SNS writes "PendingConfirmation" there.
func findSubscription(ctx context.Context, client *sdk.Client, want Subscription) (Subscription, error) {
	var found []types.Subscription
	for pages := sdk.NewListSubscriptionsByTopicPaginator(listSubscriptionsByTopicCall(client.ListSubscriptionsByTopic), &sdk.ListSubscriptionsByTopicInput{TopicArn: new(string(want.Topic))}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Subscription{}, aws.Absent(err)
		}
		for _, s := range page.Subscriptions {
			if sdkaws.ToString(s.Protocol) == want.Protocol && sdkaws.ToString(s.Endpoint) == want.Endpoint && sdkaws.ToString(s.SubscriptionArn) != "Deleted" {
				found = append(found, s)
			}
		}
	}
	switch len(found) {
	case 0:
		return Subscription{}, reconcile.ErrAbsent
	case 1:
		want.ARN = ""
		if arn := aws.ARN(sdkaws.ToString(found[0].SubscriptionArn)); isARN(arn) {
			want.ARN = arn
		}
		return want, nil
	}
	return Subscription{}, fmt.Errorf("%w: %s has %d subscriptions of %s", reconcile.ErrAmbiguous, want.Topic, len(found), want.Endpoint)
}

func isARN(arn aws.ARN) bool {
	_, ok := arn.Parse()
	return ok
}

// createSubscription carries all attributes in one call. SNS answers an existing subscription with the same attributes as
// if it had made it.
func createSubscription(ctx context.Context, site subscriptionSite) (Subscription, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Subscription{}, err
	}
	want := site.Want
	attrs, err := subscriptionAttributes(want)
	if err != nil {
		return Subscription{}, err
	}
	maps.DeleteFunc(attrs, func(_, v string) bool { return v == "" || v == "{}" || v == "false" })
	if want.FilterPolicy == nil {
		delete(attrs, "FilterPolicyScope")
	}
	out, err := client.Subscribe(ctx, &sdk.SubscribeInput{
		TopicArn: new(string(want.Topic)), Protocol: &want.Protocol, Endpoint: &want.Endpoint, Attributes: attrs, ReturnSubscriptionArn: true,
	})
	if err != nil {
		return Subscription{}, aws.NotYet(err)
	}
	made := Subscription{Topic: want.Topic, Protocol: want.Protocol, Endpoint: shown(want.Endpoint)}
	if arn := aws.ARN(sdkaws.ToString(out.SubscriptionArn)); isARN(arn) {
		made.ARN = arn
	}
	return made, nil
}

// subscriptionAttributes are all that can be set, as the service writes them; what clears one where it is not declared.
func subscriptionAttributes(want SubscriptionProps) (map[string]string, error) {
	attrs := map[string]string{
		"RawMessageDelivery": strconv.FormatBool(want.RawMessageDelivery), "FilterPolicyScope": *want.FilterPolicyScope,
		"RedrivePolicy": "", "SubscriptionRoleArn": string(want.SubscriptionRoleARN),
	}
	if want.DeadLetter != "" {
		attrs["RedrivePolicy"] = `{"deadLetterTargetArn":` + quoted(string(want.DeadLetter)) + `}`
	}
	for name, document := range map[string]any{
		"FilterPolicy": want.FilterPolicy, "DeliveryPolicy": want.DeliveryPolicy, "ReplayPolicy": want.ReplayPolicy,
	} {
		text, err := aws.DocumentText(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		attrs[name] = text
	}
	if attrs["FilterPolicy"] == "" {
		attrs["FilterPolicy"] = "{}"
	}
	return attrs, nil
}

// deleteSubscription unsubscribes. One that waits for confirmation cannot be deleted: SNS does that after two days.
func deleteSubscription(ctx context.Context, site subscriptionSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	s := *site.Last
	if s.ARN == "" {
		if s, err = findSubscription(ctx, client, s); err != nil || s.ARN == "" {
			return err
		}
	}
	_, err = client.Unsubscribe(ctx, &sdk.UnsubscribeInput{SubscriptionArn: new(string(s.ARN))})
	if _, refused := errors.AsType[*types.InvalidParameterException](err); refused {
		live, look := readSubscription(ctx, client, s.ARN)
		if look == nil && live.pending() {
			return nil
		}
	}
	return err
}

func compareSubscription(d *subscriptionDiff, want SubscriptionProps, live liveSubscription) {
	want = subscriptionDefaults(want) // which a mere search for one lacks
	reconcile.Fixed(d, "topic", want.Topic, live.Topic)
	reconcile.Fixed(d, "protocol", want.Protocol, live.Protocol)
	reconcile.Fixed(d, "endpoint", shown(want.Endpoint), live.Endpoint)
	if live.attrs == nil {
		return // nobody can read or set anything of it before it is confirmed
	}
	set := func(name string) *reconcile.Operation[liveSubscription] { return setSubscription(want, name) }
	reconcile.Value(d, "rawMessageDelivery", want.RawMessageDelivery, live.attrs["RawMessageDelivery"] == "true", set("RawMessageDelivery"))
	filter := set("FilterPolicy")
	if want.FilterPolicy != nil {
		scope := live.attrs["FilterPolicyScope"]
		if scope == "" {
			scope = "MessageAttributes"
		}
		reconcile.Value(d, "filterPolicyScope", *want.FilterPolicyScope, scope, filter)
	}
	reconcile.Value(d, "filterPolicy", documentOf(want.FilterPolicy), documentOf(live.attrs["FilterPolicy"]), filter)
	reconcile.Value(d, "deadLetter", aws.OrNil(string(want.DeadLetter)), live.deadLetter(), set("RedrivePolicy"))
	reconcile.Value(d, "deliveryPolicy", deliveryOf(want.DeliveryPolicy), deliveryOf(live.attrs["DeliveryPolicy"]), set("DeliveryPolicy"))
	reconcile.Value(d, "subscriptionRoleArn", aws.OrNil(string(want.SubscriptionRoleARN)), aws.OrNil(live.attrs["SubscriptionRoleArn"]), set("SubscriptionRoleArn"))
	reconcile.Value(d, "replayPolicy", documentOf(want.ReplayPolicy), documentOf(live.attrs["ReplayPolicy"]), set("ReplayPolicy"))
}

func (l liveSubscription) deadLetter() *string {
	policy, _ := documentOf(l.attrs["RedrivePolicy"]).(map[string]any)
	target, _ := policy["deadLetterTargetArn"].(string)
	return aws.OrNil(target)
}

// setSubscription sets one attribute. The filter and its scope go together: SNS holds each against the other, and takes a
// nested filter with the scope of the body alone. So the scope goes first where it becomes wider, and last else.
func setSubscription(want SubscriptionProps, name string) *reconcile.Operation[liveSubscription] {
	return &reconcile.Operation[liveSubscription]{Name: "SetSubscriptionAttributes", Do: func(ctx context.Context, on reconcile.On[liveSubscription]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		attrs, err := subscriptionAttributes(want)
		if err != nil {
			return err
		}
		names := []string{name}
		if slices.Contains(on.Changed, "filterPolicyScope") {
			names = []string{"FilterPolicyScope"}
			if slices.Contains(on.Changed, "filterPolicy") {
				names = []string{"FilterPolicyScope", "FilterPolicy"}
				if *want.FilterPolicyScope == "MessageAttributes" {
					slices.Reverse(names)
				}
			}
		}
		for _, name := range names {
			in := &sdk.SetSubscriptionAttributesInput{SubscriptionArn: new(string(on.Live.ARN)), AttributeName: &name, AttributeValue: new(attrs[name])}
			if name == "RedrivePolicy" {
				in.AttributeValue = aws.OrNil(attrs[name]) // SNS refuses empty text here, and clears without any
			}
			if _, err := client.SetSubscriptionAttributes(ctx, in); err != nil {
				return aws.NotYet(err)
			}
		}
		return nil
	}}
}
