package queues

import (
	"cmp"
	"context"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// Local are the variants that dev takes. Messages are in memory, and gone when a Worker changes.
func Local() []reconcile.Any {
	return []reconcile.Any{reconcile.Erase(here.Kept[QueueProps, Queue]{
		Stands: queueType, Doc: "A queue on this machine, whose messages are kept in memory. A pause has no effect.",
		Fixed: []string{"name"}, Source: source, Check: queueKind.Check, Defaults: queueKind.Defaults,
		Make: func(_, name string, want QueueProps) Queue {
			name = cmp.Or(want.Name, name)
			return Queue{ID: ID(name), Name: Name(name)} // there is nothing else to know it by
		},
		Of: func(q Queue) (id, name string) { return string(q.ID), string(q.Name) },
	}.Kind()), reconcile.Erase(localConsumer)}
}

type (
	liveHere     = here.Live[ConsumerProps, Consumer]
	consumerHere = reconcile.Site[ConsumerProps, Consumer]
)

// localConsumer is known to the session alone, since it is the Worker that has it there.
var localConsumer = &reconcile.Kind[ConsumerProps, liveHere, Consumer]{
	Type: here.Type(consumerType), Stands: consumerType, Doc: "A consumer of a queue on this machine.", Recorded: true, Rerun: true, InDev: true, Tags: here.NoTags,
	Source: source, Check: here.Lax(consumerKind.Check, "queue"), Defaults: consumerKind.Defaults,
	Observe: func(_ context.Context, site consumerHere) (live liveHere, err error) {
		live, err = here.Recorded(site, consumerKind.Defaults)
		if err != nil || site.Dev == nil {
			return live, reconcile.ErrAbsent
		}
		s, err := here.Of(here.At(site))
		if err != nil {
			return live, err
		}
		if _, runs := s.Consumes(string(live.Had.Script), string(live.Attrs.Queue)); !runs {
			return live, reconcile.ErrAbsent
		}
		return live, nil
	},
	Create: func(ctx context.Context, site consumerHere) (Consumer, error) {
		return consumeHere(ctx, here.At(site), site.Want)
	},
	Compare: func(d *reconcile.Diff[liveHere], want ConsumerProps, live liveHere) {
		here.Compare(d, want, live.Had, []string{"queue", "type", "script"}, &reconcile.Operation[liveHere]{Name: "Consume", Do: func(ctx context.Context, on reconcile.On[liveHere]) error {
			_, err := consumeHere(ctx, here.On(on), want)
			return err
		}})
	},
	Attrs: func(live liveHere) Consumer { return live.Attrs },
	Delete: func(ctx context.Context, site consumerHere) error {
		if site.Dev == nil || site.Had == nil {
			return nil // it went with its session
		}
		s, err := here.Of(here.At(site))
		if err != nil {
			return err
		}
		return s.Consume(ctx, string(site.Had.Script), string(site.Had.Queue), nil)
	},
	Identity: func(Consumer) string { return "" },
}

// consumeHere lets a Worker of the session take messages. Who asks over HTTP gets none here.
func consumeHere(ctx context.Context, p here.Place, want ConsumerProps) (Consumer, error) {
	out := Consumer{ID: string(want.Queue) + "/" + string(want.Script), Queue: want.Queue}
	s, err := here.Of(p)
	if err != nil {
		return out, err
	}
	how := miniflare.Consumer{Queue: string(want.Queue), MaxRetries: want.MaxRetries, RetryDelay: want.RetryDelay, DeadLetter: string(want.DeadLetter)}
	if want.BatchSize != nil {
		how.BatchSize = *want.BatchSize
	}
	if want.MaxWait != nil {
		how.BatchTimeout = *want.MaxWait
	}
	return out, s.Consume(ctx, string(want.Script), string(want.Queue), &how)
}
