package sns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// NewSubscription declares a subscription.
func NewSubscription(s *athanor.Stack, name string, p SubscriptionProps, opts ...athanor.Option) Subscription {
	return athanor.Declare(s, subscriptionKind, name, p, opts...)
}

// SubscriptionProps declare a subscription. Defaults and limits are those of
// https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
type SubscriptionProps struct {
	// Topic whose messages are delivered.
	Topic aws.ARN `prop:"required,immutable" wire:"-"`
	// Protocol by which messages are delivered.
	Protocol string `prop:"required,immutable,enum=sqs|lambda|firehose|http|https|email|email-json|sms|application" wire:"-"`
	// Endpoint that gets the messages: the ARN of a queue, function, stream or application endpoint, a URL, a mail
	// address, or a phone number. SNS does not tell the password of a URL: a change of that alone is not seen.
	Endpoint string `prop:"required,immutable" wire:"-,shown"`
	// RawMessageDelivery delivers messages as they were published, without the JSON around them, to queues, streams
	// and URLs.
	RawMessageDelivery bool `prop:"default=false" wire:"RawMessageDelivery"`
	// FilterPolicy says which messages are delivered: a document, or JSON text. A change can take 15 minutes to have
	// its effect. Default: none, all are.
	FilterPolicy any `wire:"FilterPolicy,document"`
	// FilterPolicyScope is what the filter is applied to. It counts with filterPolicy alone.
	FilterPolicyScope *string `prop:"enum=MessageAttributes|MessageBody,default=MessageAttributes,needs=filterPolicy" wire:"FilterPolicyScope"`
	// DeadLetter is the queue that gets the messages which could not be delivered. Default: none.
	DeadLetter aws.ARN `prop:"deferrable" wire:"RedrivePolicy.deadLetterTargetArn"`
	// DeliveryPolicy says how deliveries over HTTP are repeated: a document, or JSON text. Default: none, that of the
	// topic.
	DeliveryPolicy any `wire:"DeliveryPolicy,delivery"`
	// SubscriptionRoleARN is the role with which SNS writes to a stream of Firehose; that protocol needs it, and no
	// other takes it. Default: none.
	SubscriptionRoleARN aws.ARN `wire:"SubscriptionRoleArn"`
	// ReplayPolicy delivers messages from the archive of a FIFO topic again: a document, or JSON text. Default: none.
	ReplayPolicy any `wire:"ReplayPolicy,document"`
}

// Subscription is what others may refer to of a subscription.
type Subscription struct {
	// ARN of the subscription. It is empty for one that was found while it waited for its endpoint's confirmation: SNS
	// tells it only to who made it.
	ARN aws.ARN `attr:"early,mutable"`
	// Topic whose messages are delivered.
	Topic aws.ARN `attr:"early"`
	// Protocol by which messages are delivered.
	Protocol string `attr:"early"`
	// Endpoint that gets the messages, as SNS shows it: a password in a URL is masked.
	Endpoint string `attr:"early"`
}

// liveSubscription is an observed subscription.
type liveSubscription struct {
	Subscription
	have SubscriptionProps
	// unconfirmed: it waits for its endpoint. unread: so it does, and only the topic shows it.
	unconfirmed, unread bool
}

type subscriptionSite = kind.Site[SubscriptionProps, Subscription]

var subscriptionTable = kind.TableOf[SubscriptionProps](append(documentCodecs(), kind.Codec{Name: "shown", Form: func(endpoint any) any {
	text, _ := endpoint.(string)
	return shown(text)
}})...)

var subscriptionKind = &kind.Kind[SubscriptionProps, liveSubscription, Subscription]{
	Type: subscriptionType,
	Doc: "A subscription of an endpoint to a topic of Amazon SNS, with all its attributes. It carries no owner tag: a topic has " +
		"one for each protocol and endpoint, and that is what it is known by. Mail and web endpoints must confirm it; until then it " +
		"waits, and SNS drops it after two days.",

	Observe:    observeSubscription,
	Create:     createSubscription,
	Compare:    compareSubscription,
	Attributes: func(live liveSubscription) Subscription { return live.Subscription },
	Delete:     deleteSubscription,
	Identity:   identityOf,

	Props: subscriptionTable,
	Check: checkSubscription,
	Owner: kind.OwnedByParent[SubscriptionProps, liveSubscription]{},
	Status: func(live liveSubscription) kind.Status {
		if live.pending() {
			return kind.WaitingFor("confirm the subscription of " + live.Endpoint + " with the link that SNS sent there")
		}
		return kind.Ready()
	},
	// One that waits for confirmation cannot be deleted: SNS does that after two days.
	Deletion: kind.Later[liveSubscription](liveSubscription.pending),

	EventuallyVisible: aws.EventuallyVisible,
	// A topic that is not there yet is waited for.
	Timeouts: kind.Timeouts{Create: 2 * time.Minute},

	API: aws.API("SNS", "sns", source, kind.Permissions{
		Observe:  []string{"ListSubscriptionsByTopic", "GetSubscriptionAttributes"},
		Create:   []string{"Subscribe"},
		Update:   []string{"SetSubscriptionAttributes"},
		Delete:   []string{"Unsubscribe"},
		Of:       "topic",
		Resource: aws.On("sns", ""),
		Anywhere: []string{"GetSubscriptionAttributes", "SetSubscriptionAttributes", "Unsubscribe"},
		Depends:  []kind.Dependence{aws.PassRole("sns.amazonaws.com", true, nil, "subscriptionRoleArn")},
	}),
}

// identityOf is what stays for life, also while the ARN is not told and when somebody subscribes anew.
func identityOf(s Subscription) string {
	return string(s.Topic) + "/" + s.Protocol + "/" + s.Endpoint
}

// subscriptionOf reads an identity; ok is false for what is none. The name of a topic holds no slash.
func subscriptionOf(identity string) (s Subscription, ok bool) {
	f := strings.SplitN(identity, "/", 3)
	if len(f) != 3 {
		return s, false
	}
	return Subscription{Topic: aws.ARN(f[0]), Protocol: f[1], Endpoint: f[2]}, true
}

// shown is an endpoint as SNS shows it.
func shown(endpoint string) string {
	if token.Has(endpoint) || !strings.HasPrefix(endpoint, "http") {
		return endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.User == nil {
		return endpoint
	}
	if password, has := u.User.Password(); has {
		user, _, _ := strings.Cut(endpoint, "@")
		scheme := strings.Index(user, "//") + 2
		name, _, _ := strings.Cut(user[scheme:], ":")
		if password != "" {
			return endpoint[:scheme] + name + ":****" + endpoint[len(user):]
		}
	}
	return endpoint
}

// pending: the endpoint has not confirmed.
func (l liveSubscription) pending() bool {
	return l.ARN == "" || l.unconfirmed
}

// checkSubscription finds what SNS would refuse, or would take without doing it, beyond what the table says.
func checkSubscription(want SubscriptionProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	web := want.Protocol == "http" || want.Protocol == "https"
	if (want.Protocol == "firehose") != (want.SubscriptionRoleARN != "") && !token.Has(want.Protocol) {
		wrong("subscriptionRoleArn", "the protocol firehose needs it, and no other takes it")
	}
	if want.DeliveryPolicy != nil && !web && !token.Has(want.Protocol) {
		wrong("deliveryPolicy", "only http and https take it")
	}
	if web && !token.Has(want.Endpoint) && !strings.HasPrefix(want.Endpoint, want.Protocol+"://") {
		wrong("endpoint", "want a URL that begins with "+want.Protocol+"://")
	}
	return problems.OrNil()
}

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
	client := clientOf(site.Cloud)
	if want.ARN != "" {
		live, err := readSubscription(ctx, client, want.ARN)
		if !errors.Is(err, reconcile.ErrAbsent) || want.Topic == "" {
			return live, err
		}
	}
	listed, err := findSubscription(ctx, client, want)
	if err != nil || listed.ARN == "" {
		return liveSubscription{Subscription: listed, unread: true}, err
	}
	return readSubscription(ctx, client, listed.ARN)
}

func readSubscription(ctx context.Context, client *sdk.Client, arn aws.ARN) (liveSubscription, error) {
	out, err := client.GetSubscriptionAttributes(ctx, &sdk.GetSubscriptionAttributesInput{SubscriptionArn: new(string(arn))})
	if err != nil {
		return liveSubscription{}, aws.Absent(err)
	}
	a := out.Attributes
	have, err := subscriptionTable.Read(kind.Text(a))
	return liveSubscription{
		Subscription: Subscription{ARN: arn, Topic: aws.ARN(a["TopicArn"]), Protocol: a["Protocol"], Endpoint: a["Endpoint"]},
		have:         have, unconfirmed: a["PendingConfirmation"] == "true",
	}, err
}

// findSubscription looks through the topic's list. The ARN stays empty while SNS writes "PendingConfirmation" there.
func findSubscription(ctx context.Context, client *sdk.Client, want Subscription) (Subscription, error) {
	var found []types.Subscription
	next := func(out *sdk.ListSubscriptionsByTopicOutput) *string { return out.NextToken }
	in := &sdk.ListSubscriptionsByTopicInput{TopicArn: new(string(want.Topic))}
	for page, err := range aws.PagesByToken(ctx, client.ListSubscriptionsByTopic, in, &in.NextToken, next) {
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
func createSubscription(ctx context.Context, s subscriptionSite) (Subscription, error) {
	want, attrs := s.Want, kind.Text{}
	if err := subscriptionTable.Created(want, attrs); err != nil {
		return Subscription{}, err
	}
	maps.DeleteFunc(attrs, func(_, v string) bool { return v == "" || v == "{}" || v == "false" })
	out, err := clientOf(s.Cloud).Subscribe(ctx, &sdk.SubscribeInput{
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

// deleteSubscription unsubscribes. SNS refuses to for one that waits for confirmation.
func deleteSubscription(ctx context.Context, s subscriptionSite) error {
	client, of := clientOf(s.Cloud), *s.Last
	if of.ARN == "" {
		var err error
		if of, err = findSubscription(ctx, client, of); err != nil || of.ARN == "" {
			return err
		}
	}
	_, err := client.Unsubscribe(ctx, &sdk.UnsubscribeInput{SubscriptionArn: new(string(of.ARN))})
	if _, refused := errors.AsType[*types.InvalidParameterException](err); refused {
		if live, look := readSubscription(ctx, client, of.ARN); look == nil && live.pending() {
			return nil
		}
	}
	return err
}

// compareSubscription states every aspect. SNS sets one attribute by each call. Nobody can read or set anything of one that is
// not confirmed and that only the topic shows.
func compareSubscription(d *kind.Diff[liveSubscription], want SubscriptionProps, live liveSubscription) {
	if live.unread {
		want = SubscriptionProps{Topic: want.Topic, Protocol: want.Protocol, Endpoint: want.Endpoint}
		subscriptionTable.Default(&live.have)
	}
	subscriptionTable.Default(&want) // which a mere search for one lacks
	have := live.have
	have.Topic, have.Protocol, have.Endpoint = live.Topic, live.Protocol, live.Endpoint
	kind.Compare(d, subscriptionTable, want, have, kind.Set("SetSubscriptionAttributes", func(ctx context.Context, u kind.Update[liveSubscription]) error {
		attrs := kind.Text{}
		if err := subscriptionTable.Changed(want, u.Live.have, u.Changed, attrs); err != nil {
			return err
		}
		if *want.FilterPolicyScope == *u.Live.have.FilterPolicyScope && !slices.Contains(u.Changed, "filterPolicyScope") {
			delete(attrs, "FilterPolicyScope") // it comes along with a filter, and stays
		}
		for _, name := range inOrder(attrs, *want.FilterPolicyScope) {
			if err := setSubscription(ctx, u, name, attrs[name]); err != nil {
				return aws.NotYet(err)
			}
		}
		return nil
	}))
}

// inOrder are the attributes in the order in which SNS takes them. It holds a filter against its scope, and takes a nested one
// with the scope of the body alone: so the scope goes first where it becomes wider, and last else.
func inOrder(attrs kind.Text, scope string) []string {
	names := slices.Sorted(maps.Keys(attrs)) // FilterPolicy, FilterPolicyScope
	if i := slices.Index(names, "FilterPolicyScope"); i > 0 && scope == "MessageBody" && names[i-1] == "FilterPolicy" {
		names[i-1], names[i] = names[i], names[i-1]
	}
	return names
}

func setSubscription(ctx context.Context, u kind.Update[liveSubscription], name, value string) error {
	in := &sdk.SetSubscriptionAttributesInput{SubscriptionArn: new(string(u.Live.ARN)), AttributeName: &name, AttributeValue: &value}
	switch {
	case name == "RedrivePolicy":
		in.AttributeValue = aws.OrNil(value) // SNS refuses empty text here, and clears without any
	case name == "FilterPolicy" && value == "":
		in.AttributeValue = new("{}")
	}
	_, err := clientOf(u.Cloud).SetSubscriptionAttributes(ctx, in)
	return err
}
