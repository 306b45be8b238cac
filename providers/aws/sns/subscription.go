package sns

import (
	"net/url"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveSubscription is a subscription as it was seen.
type liveSubscription struct {
	Subscription
	// attrs are as the service writes them; nil for one that waits for confirmation and of which only the topic told.
	attrs map[string]string
}

type (
	subscriptionSite = reconcile.Site[SubscriptionProps, Subscription]
	subscriptionDiff = reconcile.Diff[liveSubscription]
)

var subscriptionKind = &reconcile.Kind[SubscriptionProps, liveSubscription, Subscription]{
	Type: subscriptionType,
	Doc: "A subscription of an endpoint to a topic of Amazon SNS, with all its attributes. It carries no mark: a topic has " +
		"one for each protocol and endpoint, and that is what it is known by. Mail and web endpoints must confirm it; until then it " +
		"waits, and SNS drops it after two days.",

	Observe:  observeSubscription,
	Create:   createSubscription,
	Compare:  compareSubscription,
	Attrs:    func(live liveSubscription) Subscription { return live.Subscription },
	Delete:   deleteSubscription,
	Identity: identityOf,

	Defaults: subscriptionDefaults,
	Check:    checkSubscription,
	Late:     []tree.Path{"deadLetter"},
	AtBirth:  []string{"arn", "topic", "protocol", "endpoint"},
	Moves:    []string{"arn"},
	ByParent: true,

	Waiting: waiting,

	Visibility: 30 * time.Second,
	// A topic that is not there yet is waited for.
	Timeouts: reconcile.Timeouts{Create: 2 * time.Minute},

	Source: source,
	Calls: []string{
		"SNS.Subscribe", "SNS.Unsubscribe", "SNS.ListSubscriptionsByTopic", "SNS.GetSubscriptionAttributes", "SNS.SetSubscriptionAttributes",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"sns:ListSubscriptionsByTopic", "sns:GetSubscriptionAttributes"},
		Create:  []string{"sns:Subscribe"},
		Update:  []string{"sns:SetSubscriptionAttributes"},
		Delete:  []string{"sns:Unsubscribe"},

		Of:       "topic",
		Resource: aws.On("sns", ""),
		Anywhere: []string{"sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes", "sns:Unsubscribe"},
		Passes:   map[string][]tree.Path{"iam:PassRole": {"subscriptionRoleArn"}},
	},
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
	return l.ARN == "" || l.attrs["PendingConfirmation"] == "true"
}

func waiting(live liveSubscription) string {
	if !live.pending() {
		return ""
	}
	return "confirm the subscription of " + live.Endpoint + " with the link that SNS sent there"
}

func subscriptionDefaults(want SubscriptionProps) SubscriptionProps {
	aws.OrDefault(&want.FilterPolicyScope, "MessageAttributes")
	return want
}

// checkSubscription finds what SNS would refuse, or would take without doing it.
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
	if want.FilterPolicyScope != nil && want.FilterPolicy == nil {
		wrong("filterPolicyScope", "it counts with filterPolicy alone")
	}
	return problems.OrNil()
}
