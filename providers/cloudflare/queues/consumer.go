package queues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveConsumer is an observed consumer.
type liveConsumer struct {
	id   string
	have ConsumerProps
}

type consumerSite = kind.Site[ConsumerProps, Consumer]

var consumerTable = kind.TableOf[ConsumerProps]()

var consumerKind = &kind.Kind[ConsumerProps, liveConsumer, Consumer]{
	Type: consumerType,
	Doc: "A consumer of a queue of Cloudflare Queues: the Worker that gets its messages, or the permission to pull them over HTTP. " +
		"A queue has one Worker at most; that of somebody else is not replaced.",

	Observe:    observeConsumer,
	Create:     createConsumer,
	Compare:    compareConsumer,
	Attributes: func(live liveConsumer) Consumer { return Consumer{ID: live.id, Queue: live.have.Queue} },
	Delete: func(ctx context.Context, s consumerSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, consumerPath(s.Location, s.Last.Queue, s.Last.ID), nil, nil)
	},
	Identity: func(c Consumer) string { return string(c.Queue) + "/" + c.ID },

	Props:       consumerTable,
	Default:     consumerDefaults,
	Check:       checkConsumer,
	Owner:       kind.OwnedByParent[ConsumerProps, liveConsumer]{},
	DeleteFirst: true,
	Unique: func(want ConsumerProps) []string {
		return []string{*want.Type + " consumer of queue " + string(want.Queue)}
	},

	API: kind.API{
		Source: source,
		Calls: []string{
			"Queues.ListConsumers", "Queues.GetConsumer", "Queues.CreateConsumer", "Queues.UpdateConsumer", "Queues.DeleteConsumer",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Queues Read"},
			Create:  []string{"Queues Write", "Workers Scripts Read"},
			Update:  []string{"Queues Write", "Workers Scripts Read"},
			Delete:  []string{"Queues Write"},
		},
	},
}

const (
	worker   = "worker"
	httpPull = "http_pull"
)

// consumerDefaults are those of one type of consumer, which the other does not have.
func consumerDefaults(want ConsumerProps) ConsumerProps {
	if *want.Type == worker {
		want.MaxWait = cmp.Or(want.MaxWait, new(5*time.Second))
	} else {
		want.VisibilityTimeout = cmp.Or(want.VisibilityTimeout, new(30*time.Second))
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
	switch *cmp.Or(want.Type, new(worker)) {
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
	return problems.OrNil()
}

// compareConsumer states every aspect. One call sets all, since it sets what it does not name to the default.
func compareConsumer(d *kind.Diff[liveConsumer], want ConsumerProps, live liveConsumer) {
	kind.Compare(d, consumerTable, want, live.have, kind.Set("UpdateConsumer", func(ctx context.Context, u kind.Update[liveConsumer]) error {
		doc := kind.Document{}
		if err := consumerTable.Created(consumerTable.Merged(want, live.have, u.Changed), doc); err != nil {
			return err
		}
		return cloudflare.NotYet(cloudflare.Send(ctx, u.Cloud, http.MethodPut, consumerPath(u.Location, live.have.Queue, live.id), doc, nil))
	}))
}

// consumerPath is that of a consumer of a queue, without an id that of all.
func consumerPath(location kind.Location, queue ID, id string) string {
	path := "/accounts/" + location.Account + "/queues/" + url.PathEscape(string(queue)) + "/consumers"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// observedConsumer is a consumer as an answer shows it. Answers name the Worker script, and calls script_name.
func observedConsumer(queue ID, shown kind.Document) (live liveConsumer, err error) {
	live.id, _ = shown["consumer_id"].(string)
	if shown["script"] != nil {
		shown["script_name"] = shown["script"]
	}
	if settings, ok := shown["settings"].(map[string]any); ok { // what only the other type has means nothing
		if shown["type"] == worker {
			delete(settings, "visibility_timeout_ms")
		} else {
			delete(settings, "max_concurrency")
			delete(settings, "max_wait_time_ms")
		}
	}
	live.have, err = consumerTable.Read(shown)
	live.have.Queue = queue
	return live, err
}

var (
	errNoQueue   = errors.New("a consumer is found in its queue, and there is none")
	errOtherHere = errors.New("the queue has another consumer")
)

// observeConsumer reads a consumer by its id, or finds it in its queue by type and Worker, which no two share.
func observeConsumer(ctx context.Context, s consumerSite) (live liveConsumer, err error) {
	queue, id, _ := strings.Cut(s.ID, "/")
	if s.Last != nil {
		queue, id = string(s.Last.Queue), s.Last.ID
	}
	if id != "" {
		if !cloudflare.IsID(queue) || !cloudflare.IsID(id) {
			return live, reconcile.WithHint(fmt.Errorf("%q is no consumer", s.ID), "write queue/consumer, the ids of both")
		}
		var shown kind.Document
		if err := cloudflare.Send(ctx, s.Cloud, http.MethodGet, consumerPath(s.Location, ID(queue), id), nil, &shown); err != nil {
			return live, cloudflare.Absent(err)
		}
		return observedConsumer(ID(queue), shown)
	}
	if s.Want.Queue == "" {
		return live, errNoQueue
	}
	for c, err := range consumers(ctx, s.Facts, s.Want.Queue) {
		if err != nil || *c.have.Type == *s.Want.Type && c.have.Script == s.Want.Script {
			return c, cloudflare.Absent(err)
		}
	}
	return live, fmt.Errorf("%w: queue %s has no such consumer", reconcile.ErrAbsent, s.Want.Queue)
}

// consumers are all of a queue: at most one of each type, so that they are on one page.
func consumers(ctx context.Context, s kind.Facts, queue ID) iter.Seq2[liveConsumer, error] {
	return cloudflare.CallList(ctx, s.Cloud, consumerPath(s.Location, queue, ""), func(shown kind.Document) (liveConsumer, error) {
		return observedConsumer(queue, shown)
	})
}

// createConsumer makes one. A queue that has another Worker keeps it: searching again would not show ours.
func createConsumer(ctx context.Context, s consumerSite) (Consumer, error) {
	doc := kind.Document{}
	if err := consumerTable.Created(s.Want, doc); err != nil {
		return Consumer{}, err
	}
	var made struct {
		ID string `json:"consumer_id"`
	}
	err := cloudflare.Send(ctx, s.Cloud, http.MethodPost, consumerPath(s.Location, s.Want.Queue, ""), doc, &made)
	if err == nil || s.Cloud.Classify(err) != reconcile.Exists {
		return Consumer{ID: made.ID, Queue: s.Want.Queue}, err
	}
	for c, failed := range consumers(ctx, s.Facts, s.Want.Queue) {
		if failed != nil {
			return Consumer{}, failed
		}
		if *c.have.Type == *s.Want.Type && c.have.Script != s.Want.Script {
			return Consumer{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errOtherHere, c.have.Script, err),
				"take the queue from it: `wrangler queues consumer remove`, or delete its declaration"))
		}
	}
	return Consumer{}, err
}
