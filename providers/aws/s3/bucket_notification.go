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
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// notificationPath is where a notification is declared, or would be.
func notificationPath(want BucketProps, name string) tree.Path {
	if _, bound := want.Bindings[name]; bound {
		return tree.Path("bindings").Key(name)
	}
	return tree.Path("notifications").Key(name)
}

// allNotifications are those of the program and those of constructors.
func (p BucketProps) allNotifications() map[string]Notification {
	all := map[string]Notification{}
	maps.Copy(all, p.Notifications)
	maps.Copy(all, p.Bindings)
	return all
}

// compareNotifications states each by its name. All are put by one call, which takes what is to change and leaves the rest
// as it is.
func compareNotifications(d *bucketDiff, want, have BucketProps) {
	put := putNotifications(want)
	told := want.allNotifications()
	names := maps.Clone(told)
	maps.Copy(names, have.Notifications)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, declared := told[name]
		h, there := have.Notifications[name]
		if declared && !w.targeted() {
			continue // whom it tells is left out for now
		}
		reconcile.Value(d, notificationPath(want, name), only(w, declared), only(h, there), put)
	}
	reconcile.Value(d, "eventBridge", want.EventBridge, have.EventBridge, put)
}

// only is a pointer to a value, nil when there is none.
func only[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func (n Notification) targeted() bool { return n.Queue != "" || n.Topic != "" || n.Function != "" }

func (n Notification) normal() Notification {
	n.Events = sorted(n.Events)
	return n
}

func normalAll(in map[string]Notification) map[string]Notification {
	out := map[string]Notification{}
	for name, n := range in {
		out[name] = n.normal()
	}
	return orNil(out)
}

// putNotifications writes the whole configuration. S3 tries each destination with a message, and refuses one whose policy
// does not let it in, or not yet: the policy needs the bucket's ARN, and may come after it, or be there and not have
// reached everywhere. Then it is written without the trial. Anything else that is wrong is refused the second time too.
func putNotifications(want BucketProps) *bucketCall {
	return &bucketCall{Name: "PutBucketNotificationConfiguration", Do: func(ctx context.Context, on reconcile.On[liveBucket]) error {
		t, err := targetOf(on.Cloud, on.Place, on.Live.name)
		if err != nil {
			return err
		}
		in := &sdk.PutBucketNotificationConfigurationInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, NotificationConfiguration: notificationsOf(want, on.Live.have, on.Changed),
		}
		if _, err = t.PutBucketNotificationConfiguration(ctx, in); has(err, "InvalidArgument") {
			in.SkipDestinationValidation = new(true)
			_, err = t.PutBucketNotificationConfiguration(ctx, in)
		}
		return err
	}}
}

// notificationsOf is what is there with the changed paths as they are wanted.
func notificationsOf(want, have BucketProps, changed []tree.Path) *types.NotificationConfiguration {
	told, all, bridge := want.allNotifications(), have.allNotifications(), have.EventBridge
	for _, path := range changed {
		if path == "eventBridge" {
			bridge = want.EventBridge
			continue
		}
		name := path.Steps()[1].Key
		if n, declared := told[name]; declared {
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
	var filter *types.NotificationConfigurationFilter
	if n.Prefix != "" || n.Suffix != "" {
		filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{}}
	}
	for _, rule := range []types.FilterRule{{Name: types.FilterRuleNamePrefix, Value: &n.Prefix}, {Name: types.FilterRuleNameSuffix, Value: &n.Suffix}} {
		if *rule.Value != "" {
			filter.Key.FilterRules = append(filter.Key.FilterRules, rule)
		}
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

func readNotifications(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketNotificationConfiguration(ctx, &sdk.GetBucketNotificationConfigurationInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return err
	}
	live.have.EventBridge = out.EventBridgeConfiguration != nil
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
	live.have.Notifications = orNil(all)
	return nil
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
	return n.normal()
}
