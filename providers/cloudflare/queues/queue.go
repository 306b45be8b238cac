package queues

import (
	"context"
	"slices"
	"time"

	sdk "github.com/cloudflare/cloudflare-go/v6/queues"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveQueue is a queue as it was seen.
type liveQueue struct {
	id, name  string
	delay     time.Duration
	retention time.Duration
	paused    bool
	messages  int64
}

type (
	queueSite = reconcile.Site[QueueProps, Queue]
	queueDiff = reconcile.Diff[liveQueue]
)

var queueKind = &reconcile.Kind[QueueProps, liveQueue, Queue]{
	Type: queueType,
	Doc: "A queue of Cloudflare Queues with its settings. Its messages are not managed: a queue with messages in it holds " +
		"data, and deleting it needs leave. Queues have no tags, so that its name tells whose it is.",

	Observe:  observeQueue,
	Create:   createQueue,
	Compare:  compareQueue,
	Attrs:    func(live liveQueue) Queue { return Queue{ID: ID(live.id), Name: Name(live.name)} },
	Delete:   deleteQueue,
	Identity: func(q Queue) string { return string(q.ID) },

	Naming: func(QueueProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 63, Lower: true}
	},
	Given: func(want QueueProps) string { return want.Name },
	Defaults: func(want QueueProps) QueueProps {
		if want.MessageRetention == nil {
			want.MessageRetention = new(4 * 24 * time.Hour)
		}
		return want
	},
	Check:   checkQueue,
	AtBirth: []string{"id", "name"},
	Holds:   func(live liveQueue) bool { return live.messages > 0 },
	List:    listQueues,

	Source: source,
	Calls: []string{
		"Queues.ListQueues", "Queues.GetQueue", "Queues.CreateQueue", "Queues.PatchQueue", "Queues.DeleteQueue", "Queues.GetMetricsQueue",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Queues Read"},
		List:    []string{"Queues Read"},
		Create:  []string{"Queues Write"},
		Update:  []string{"Queues Write"},
		Delete:  []string{"Queues Write"},
	},
}

var queueName = props.Pattern(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkQueue finds what Cloudflare would refuse, or would round.
func checkQueue(want QueueProps) error {
	var problems props.Errors
	if want.Name != "" && !token.Has(want.Name) && !queueName().MatchString(want.Name) {
		problems = append(problems, &props.FieldError{
			Path: "name", Problem: "want up to 63 lower-case letters, digits and -, with a letter or digit at both ends",
		})
	}
	problems = append(problems, whole("deliveryDelay", &want.DeliveryDelay, time.Second)...)
	problems = append(problems, whole("messageRetention", want.MessageRetention, time.Second)...)
	return problems.OrNil()
}

// whole finds a time that is not in whole units.
func whole(path tree.Path, span *time.Duration, unit time.Duration) props.Errors {
	if span == nil || *span%unit == 0 {
		return nil
	}
	return props.Errors{{Path: path, Problem: "want whole " + map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit]}}
}

// compareQueue states the name and the settings. All settings that differ are set by one call.
func compareQueue(d *queueDiff, want QueueProps, live liveQueue) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name)
	}
	set := &reconcile.Operation[liveQueue]{Name: "PatchQueue", Do: func(ctx context.Context, on reconcile.On[liveQueue]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		var p sdk.QueueEditParams
		p.AccountID.Value = on.Place.Account
		s := &p.Queue.Settings
		s.Present = true
		s.Value.DeliveryDelay.Value, s.Value.DeliveryDelay.Present = want.DeliveryDelay.Seconds(), slices.Contains(on.Changed, "deliveryDelay")
		s.Value.DeliveryPaused.Value, s.Value.DeliveryPaused.Present = want.DeliveryPaused, slices.Contains(on.Changed, "deliveryPaused")
		s.Value.MessageRetentionPeriod.Value, s.Value.MessageRetentionPeriod.Present = want.MessageRetention.Seconds(), slices.Contains(on.Changed, "messageRetention")
		_, err = client.Edit(ctx, on.Live.id, p)
		return cloudflare.NotYet(err)
	}}
	reconcile.Value(d, "deliveryDelay", want.DeliveryDelay, live.delay, set)
	reconcile.Value(d, "deliveryPaused", want.DeliveryPaused, live.paused, set)
	reconcile.Value(d, "messageRetention", *want.MessageRetention, live.retention, set)
}
