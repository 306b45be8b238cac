package queues

import (
	"context"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	consumerSite = reconcile.Site[ConsumerProps, Consumer]
	consumerDiff = reconcile.Diff[liveConsumer]
)

var consumerKind = &reconcile.Kind[ConsumerProps, liveConsumer, Consumer]{
	Type: consumerType,
	Doc: "A consumer of a queue of Cloudflare Queues: the Worker that gets its messages, or the leave to pull them over HTTP. " +
		"A queue has one Worker at most; that of somebody else is not replaced.",

	Observe:  observeConsumer,
	Create:   createConsumer,
	Compare:  compareConsumer,
	Attrs:    func(live liveConsumer) Consumer { return Consumer{ID: live.ID, Queue: live.queue} },
	Delete:   deleteConsumer,
	Identity: func(c Consumer) string { return string(c.Queue) + "/" + c.ID },

	Defaults:    consumerDefaults,
	Check:       checkConsumer,
	AtBirth:     []string{"id", "queue"},
	ByParent:    true,
	DeleteFirst: true,

	Source: source,
	Calls: []string{
		"Queues.ListConsumers", "Queues.GetConsumer", "Queues.CreateConsumer", "Queues.UpdateConsumer", "Queues.DeleteConsumer",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Queues Read"},
		Create:  []string{"Queues Write", "Workers Scripts Read"},
		Update:  []string{"Queues Write", "Workers Scripts Read"},
		Delete:  []string{"Queues Write"},
	},
}

const (
	worker   = "worker"
	httpPull = "http_pull"
)

func consumerDefaults(want ConsumerProps) ConsumerProps {
	if want.Type == nil {
		want.Type = new(worker)
	}
	if want.BatchSize == nil {
		want.BatchSize = new(10)
	}
	if want.MaxRetries == nil {
		want.MaxRetries = new(3)
	}
	if want.MaxWait == nil {
		want.MaxWait = new(5 * time.Second)
	}
	if want.VisibilityTimeout == nil {
		want.VisibilityTimeout = new(30 * time.Second)
	}
	return want
}

// checkConsumer finds what Cloudflare would refuse, or would take without doing it.
func checkConsumer(want ConsumerProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if id := string(want.Queue); !token.Has(id) && !cloudflare.IsID(id) {
		wrong("queue", "want the id of a queue, 32 hexadecimal digits")
	}
	kind := worker
	if want.Type != nil {
		kind = *want.Type
	}
	switch kind {
	case worker:
		if want.Script == "" {
			wrong("script", "a Worker that gets the messages needs a name")
		}
		if want.VisibilityTimeout != nil {
			wrong("visibilityTimeout", "it is for http_pull")
		}
	case httpPull:
		for path, set := range map[tree.Path]bool{"script": want.Script != "", "maxConcurrency": want.MaxConcurrency != nil, "maxWait": want.MaxWait != nil} {
			if set {
				wrong(path, "it is for Workers")
			}
		}
	}
	problems = append(problems, whole("retryDelay", &want.RetryDelay, time.Second)...)
	problems = append(problems, whole("maxWait", want.MaxWait, time.Millisecond)...)
	problems = append(problems, whole("visibilityTimeout", want.VisibilityTimeout, time.Millisecond)...)
	return problems.OrNil()
}

// compareConsumer states every aspect. One call sets all, since it sets what it does not name to the default.
func compareConsumer(d *consumerDiff, want ConsumerProps, live liveConsumer) {
	reconcile.Fixed(d, "queue", want.Queue, live.queue)
	reconcile.Fixed(d, "type", *want.Type, live.Type)
	set := setConsumer(want)
	reconcile.Value(d, "deadLetter", string(want.DeadLetter), live.DeadLetter, set)
	reconcile.Value(d, "batchSize", *want.BatchSize, live.Settings.BatchSize, set)
	reconcile.Value(d, "maxRetries", *want.MaxRetries, live.Settings.MaxRetries, set)
	reconcile.Value(d, "retryDelay", want.RetryDelay, time.Duration(live.Settings.RetryDelay)*time.Second, set)
	switch live.Type {
	case worker:
		reconcile.Fixed(d, "script", want.Script, live.script())
		reconcile.Value(d, "maxConcurrency", want.MaxConcurrency, live.Settings.MaxConcurrency, set)
		reconcile.Value(d, "maxWait", *want.MaxWait, time.Duration(live.Settings.MaxWaitMS)*time.Millisecond, set)
	case httpPull:
		reconcile.Value(d, "visibilityTimeout", *want.VisibilityTimeout, time.Duration(live.Settings.VisibilityMS)*time.Millisecond, set)
	}
}

// setConsumer sets all. What is ignored, or left for later, keeps its live value.
func setConsumer(want ConsumerProps) *reconcile.Operation[liveConsumer] {
	return &reconcile.Operation[liveConsumer]{Name: "UpdateConsumer", Do: func(ctx context.Context, on reconcile.On[liveConsumer]) error {
		live, want := on.Live, want
		for path, keep := range map[tree.Path]func(){
			"deadLetter":     func() { want.DeadLetter = Name(live.DeadLetter) },
			"batchSize":      func() { want.BatchSize = &live.Settings.BatchSize },
			"maxRetries":     func() { want.MaxRetries = &live.Settings.MaxRetries },
			"retryDelay":     func() { want.RetryDelay = time.Duration(live.Settings.RetryDelay) * time.Second },
			"maxConcurrency": func() { want.MaxConcurrency = live.Settings.MaxConcurrency },
			"maxWait":        func() { want.MaxWait = new(time.Duration(live.Settings.MaxWaitMS) * time.Millisecond) },
			"visibilityTimeout": func() {
				want.VisibilityTimeout = new(time.Duration(live.Settings.VisibilityMS) * time.Millisecond)
			},
		} {
			if !slices.Contains(on.Changed, path) {
				keep()
			}
		}
		return updateConsumer(ctx, on.Cloud, on.Place.Account, live, want)
	}}
}

// whole finds a time that is not in whole units.
func whole(path tree.Path, span *time.Duration, unit time.Duration) props.Errors {
	if span == nil || *span%unit == 0 {
		return nil
	}
	return props.Errors{{Path: path, Problem: "want whole " + map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit]}}
}
