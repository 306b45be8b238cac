package queues

import (
	"cmp"
	"context"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Local are the variants that dev takes. Messages are in memory, and lost when a Worker changes.
func Local() []reconcile.Any {
	return []reconcile.Any{here.Kept(kind.StateKind[QueueProps, Queue]{
		LocalVariantOf: queueType, Doc: "A queue on this machine, whose messages are kept in memory. A pause has no effect.",
		Props: queueTable, Default: queueKind.WithDefaults, Check: queueKind.CheckAll, API: kind.API{Source: source},
	}, func(_, name string, want QueueProps) Queue {
		name = cmp.Or(want.Name, name)
		return Queue{ID: ID(name), Name: Name(name)} // there is nothing else to know it by
	}, func(q Queue) (id, name string) { return string(q.ID), string(q.Name) }, "name"), localConsumer.Erase()}
}

type consumerHere = kind.Kept[ConsumerProps, Consumer]

// localConsumer is known to the session alone, since it is the Worker that has it there.
var localConsumer = &kind.StateKind[ConsumerProps, Consumer]{
	Type: here.Type(consumerType), LocalVariantOf: consumerType, Lifetime: kind.InDev, Doc: "A consumer of a queue on this machine.",
	Props: consumerTable, Default: consumerKind.WithDefaults, Check: here.Lax(consumerKind.CheckAll, "queue"),
	API: kind.API{Source: source, Calls: []string{"miniflare.Consume"}},
	Read: func(_ context.Context, s consumerSite, live *consumerHere) error {
		if s.Dev == nil {
			return reconcile.ErrAbsent
		}
		session, err := here.Of(s.Facts)
		if err != nil {
			return err
		}
		if _, runs := session.Consumes(string(live.Props.Script), string(live.Attributes.Queue)); !runs {
			return reconcile.ErrAbsent
		}
		return nil
	},
	Create: func(ctx context.Context, s consumerSite) (Consumer, error) { return consumeHere(ctx, s.Facts, s.Want) },
	Compare: func(d *kind.Diff[consumerHere], want ConsumerProps, live consumerHere) {
		here.Compare(d, want, live.Props, []string{"queue", "type", "script"}, kind.Set("Consume", func(ctx context.Context, u kind.Update[consumerHere]) error {
			_, err := consumeHere(ctx, u.Facts, want)
			return err
		}))
	},
	CleansUp: true,
	Delete: func(ctx context.Context, s consumerSite) error {
		if s.Dev == nil || s.Had == nil {
			return nil // it ended with its session
		}
		session, err := here.Of(s.Facts)
		if err != nil {
			return err
		}
		return session.Consume(ctx, string(s.Had.Script), string(s.Had.Queue), nil)
	},
}

// consumeHere lets a Worker of the session take messages. Who asks over HTTP gets none here.
func consumeHere(ctx context.Context, s kind.Facts, want ConsumerProps) (Consumer, error) {
	out := Consumer{ID: string(want.Queue) + "/" + string(want.Script), Queue: want.Queue}
	session, err := here.Of(s)
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
	return out, session.Consume(ctx, string(want.Script), string(want.Queue), &how)
}
