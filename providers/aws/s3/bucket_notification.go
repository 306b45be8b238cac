package s3

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// allNotifications are those of the program and those of constructors.
func (p BucketProps) allNotifications() map[string]Notification {
	all := map[string]Notification{}
	maps.Copy(all, p.Notifications)
	maps.Copy(all, p.Bindings)
	return all
}

// inOrder are notifications whose events are in order.
func inOrder(in map[string]Notification) map[string]Notification {
	out := map[string]Notification{}
	for name, n := range in {
		n.Events = slices.Sorted(slices.Values(n.Events))
		out[name] = n
	}
	return out
}

// notificationsApart are both sides with each live notification where the program declares it, and without those whose
// destination is left out for now.
func notificationsApart(want, have BucketProps) (w, h BucketProps) {
	declared := want.allNotifications()
	waits := func(name string, _ Notification) bool {
		n, is := declared[name]
		return is && n.Queue == "" && n.Topic == "" && n.Function == ""
	}
	live := have.Notifications
	bound := func(name string, _ Notification) bool { _, is := want.Bindings[name]; return is }
	have.Notifications, have.Bindings = maps.Clone(live), maps.Clone(live)
	maps.DeleteFunc(have.Notifications, bound)
	maps.DeleteFunc(have.Bindings, func(name string, n Notification) bool { return !bound(name, n) })
	want.Notifications, want.Bindings = maps.Clone(want.Notifications), maps.Clone(want.Bindings)
	for _, side := range []map[string]Notification{want.Notifications, want.Bindings, have.Notifications, have.Bindings} {
		maps.DeleteFunc(side, waits)
	}
	return want, have
}

// putNotifications writes the whole configuration. S3 tries each destination with a message, and refuses one whose policy
// does not let it in, or not yet: the policy needs the bucket's ARN, and may come after it, or be there and not have
// reached everywhere. Then it is written without the trial. Anything else that is wrong is refused the second time too.
func putNotifications(ctx context.Context, u kind.Update[liveBucket], want BucketProps) error {
	t := targetOf(u.Facts, u.Live.name)
	in := sdk.PutBucketNotificationConfigurationInput{NotificationConfiguration: notificationsOf(want, u.Live.have, u.Changed)}
	err := set(ctx, t, t.PutBucketNotificationConfiguration, in)
	if has(err, "InvalidArgument") {
		in.SkipDestinationValidation = new(true)
		err = set(ctx, t, t.PutBucketNotificationConfiguration, in)
	}
	return err
}

// notificationsOf is what is there with the changed paths as they are wanted.
func notificationsOf(want, have BucketProps, changed []tree.Path) *types.NotificationConfiguration {
	declared, all, bridge := want.allNotifications(), have.allNotifications(), have.EventBridge
	for _, path := range changed {
		if path == "eventBridge" {
			bridge = want.EventBridge
			continue
		}
		name := path.Steps()[1].Key
		if n, is := declared[name]; is {
			all[name] = n
		} else {
			delete(all, name)
		}
	}
	out := &types.NotificationConfiguration{}
	if bridge {
		out.EventBridgeConfiguration = &types.EventBridgeConfiguration{}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].addTo(out, name)
	}
	return out
}

// addTo writes a notification as S3 wants it.
func (n Notification) addTo(out *types.NotificationConfiguration, name string) {
	var events []types.Event
	for _, e := range n.Events {
		events = append(events, types.Event(e))
	}
	var rules []types.FilterRule
	for _, rule := range []types.FilterRule{
		{Name: types.FilterRuleNamePrefix, Value: &n.Prefix}, {Name: types.FilterRuleNameSuffix, Value: &n.Suffix},
	} {
		if *rule.Value != "" {
			rules = append(rules, rule)
		}
	}
	var filter *types.NotificationConfigurationFilter
	if rules != nil {
		filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: rules}}
	}
	switch {
	case n.Queue != "":
		out.QueueConfigurations = append(out.QueueConfigurations, types.QueueConfiguration{
			Id: &name, QueueArn: new(string(n.Queue)), Events: events, Filter: filter,
		})
	case n.Topic != "":
		out.TopicConfigurations = append(out.TopicConfigurations, types.TopicConfiguration{
			Id: &name, TopicArn: new(string(n.Topic)), Events: events, Filter: filter,
		})
	default:
		out.LambdaFunctionConfigurations = append(out.LambdaFunctionConfigurations, types.LambdaFunctionConfiguration{
			Id: &name, LambdaFunctionArn: new(string(n.Function)), Events: events, Filter: filter,
		})
	}
}

func (l *liveBucket) readNotifications(out *sdk.GetBucketNotificationConfigurationOutput) {
	l.have.EventBridge = out.EventBridgeConfiguration != nil
	all := map[string]Notification{}
	for _, q := range out.QueueConfigurations {
		all[awssdk.ToString(q.Id)] = notificationOf(Notification{Queue: aws.ARN(awssdk.ToString(q.QueueArn))}, q.Events, q.Filter)
	}
	for _, t := range out.TopicConfigurations {
		all[awssdk.ToString(t.Id)] = notificationOf(Notification{Topic: aws.ARN(awssdk.ToString(t.TopicArn))}, t.Events, t.Filter)
	}
	for _, f := range out.LambdaFunctionConfigurations {
		all[awssdk.ToString(f.Id)] = notificationOf(Notification{Function: aws.ARN(awssdk.ToString(f.LambdaFunctionArn))}, f.Events, f.Filter)
	}
	l.have.Notifications = inOrder(all)
}

func notificationOf(n Notification, events []types.Event, filter *types.NotificationConfigurationFilter) Notification {
	for _, e := range events {
		n.Events = append(n.Events, string(e))
	}
	if filter != nil && filter.Key != nil {
		for _, rule := range filter.Key.FilterRules {
			switch strings.ToLower(string(rule.Name)) { // S3 answers in another case than it is asked in
			case "prefix":
				n.Prefix = awssdk.ToString(rule.Value)
			case "suffix":
				n.Suffix = awssdk.ToString(rule.Value)
			}
		}
	}
	return n
}
