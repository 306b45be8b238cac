package queues

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
	sdk "github.com/cloudflare/cloudflare-go/v6/queues"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

type (
	// ID is the identity of a queue, by which it has consumers.
	ID string
	// Name is that of a queue, by which Workers are bound to it and dead letters reach it.
	Name string
)

// QueueProps declare a queue. Limits are those of
// https://developers.cloudflare.com/queues/platform/limits/
type QueueProps struct {
	// Name of the queue: up to 63 lower-case letters, digits and -, with neither end a -. Default: none, a name is
	// generated. Changing it replaces the queue.
	Name string
	// DeliveryDelay is how long each new message is kept back, in whole seconds.
	DeliveryDelay time.Duration `prop:"min=0s,max=24h,default=0s" wire:"delivery_delay"`
	// DeliveryPaused keeps messages from consumers.
	DeliveryPaused bool `prop:"default=false" wire:"delivery_paused"`
	// MessageRetention is how long a message is kept, in whole seconds. A shorter time deletes messages.
	MessageRetention *time.Duration `prop:"min=1m,max=14d,default=4d" wire:"message_retention_period"`
}

// Queue is what others may refer to of a queue.
type Queue struct {
	// ID of the queue, for consumers.
	ID ID `attr:"early"`
	// Name of the queue, for Workers that send to it and for dead letters.
	Name Name `attr:"early"`
}

// liveQueue is an observed queue.
type liveQueue struct {
	attrs    Queue
	have     QueueProps
	messages float64
}

type queueSite = kind.Site[QueueProps, Queue]

var queueTable = kind.TableOf[QueueProps]().For(kind.In(kind.JSON(sdk.QueueEditParams{}.Queue.Settings.Value)), kind.Out(kind.JSON(sdk.QueueSettings{})))

var queueKind = &kind.Kind[QueueProps, liveQueue, Queue]{
	Type: queueType,
	Doc: "A queue of Cloudflare Queues with its settings. Its messages are not managed: a queue with messages in it holds " +
		"data, and deleting it needs permission. Queues have no tags, so that the name proves ownership.",

	Observe:    observeQueue,
	Create:     createQueue,
	Compare:    compareQueue,
	Attributes: func(live liveQueue) Queue { return live.attrs },
	Delete:     deleteQueue,
	Identity:   func(q Queue) string { return string(q.ID) },

	Props: queueTable,
	Named: &kind.Named[QueueProps, liveQueue]{
		Given: func(want QueueProps) string { return want.Name },
		Rule:  func(QueueProps) kind.NameRule { return kind.NameRule{Max: 63, Marks: "-", Lower: true, Inner: true} },
		Live:  func(live liveQueue) string { return string(live.attrs.Name) },
	},
	HoldsData: &kind.HoldsData[QueueProps, liveQueue]{Now: func(live liveQueue) bool { return live.messages > 0 }},
	List:      listQueues,

	API: kind.API{
		Source: source,
		Calls: []string{
			"Queues.ListQueues", "Queues.GetQueue", "Queues.CreateQueue", "Queues.PatchQueue", "Queues.DeleteQueue", "Queues.GetMetricsQueue",
		},
		Permissions: cloudflare.ReadWrite("Queues"),
	},
}

// compareQueue sets all settings that differ by one call.
func compareQueue(d *kind.Diff[liveQueue], want QueueProps, live liveQueue) {
	kind.Compare(d, queueTable, want, live.have, kind.Set("PatchQueue", func(ctx context.Context, u kind.Update[liveQueue]) error {
		settings := kind.Document{}
		if err := queueTable.Changed(want, u.Live.have, u.Changed, settings); err != nil {
			return err
		}
		var p sdk.QueueEditParams
		p.AccountID.Value = u.Location.Account
		_, err := clientOf(u.Cloud).Edit(ctx, string(u.Live.attrs.ID), p, option.WithJSONSet("settings", settings))
		return cloudflare.NotYet(err)
	}))
}

// observeQueue reads a queue by its id, or finds it by its name, which only a listing shows.
func observeQueue(ctx context.Context, s queueSite) (live liveQueue, err error) {
	q, err := findQueue(ctx, s)
	if err != nil {
		return live, err
	}
	live.attrs = Queue{ID: ID(q.QueueID), Name: Name(q.QueueName)}
	if live.have, err = queueTable.Read(cloudflare.Document(q.Settings.JSON.RawJSON())); err != nil {
		return live, err
	}
	var metrics struct {
		Count float64 `json:"backlog_count"` // as near as the service can tell
	}
	path := "/accounts/" + s.Location.Account + "/queues/" + q.QueueID + "/metrics"
	err = cloudflare.Call(ctx, s.Cloud, cloudflare.Request{Method: http.MethodGet, Path: path}, &metrics)
	live.messages = metrics.Count
	return live, cloudflare.Absent(err)
}

func findQueue(ctx context.Context, s queueSite) (sdk.Queue, error) {
	id, name := cloudflare.KeyOf(s, func(q Queue) string { return string(q.ID) }, cloudflare.IsID)
	if id == "" {
		return cloudflare.Called(queues(ctx, s.Cloud, s.Location), func(q sdk.Queue) string { return q.QueueName }, "queue", name)
	}
	var p sdk.QueueGetParams
	p.AccountID.Value = s.Location.Account
	q, err := clientOf(s.Cloud).Get(ctx, id, p)
	if err != nil {
		return sdk.Queue{}, cloudflare.Absent(err)
	}
	return *q, nil
}

// queues are all of the account. The client asks for the first page alone, and drops what the service says of pages.
func queues(ctx context.Context, cloud kind.Cloud, location kind.Location) iter.Seq2[sdk.Queue, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.Queue], error) {
		var p sdk.QueueListParams
		p.AccountID.Value = location.Account
		answer := new(pagination.V4PagePaginationArray[sdk.Queue])
		_, err := clientOf(cloud).List(ctx, p, option.WithQuery("page", strconv.FormatInt(page, 10)), option.WithResponseBodyInto(answer))
		return answer, err
	})
}

// createQueue carries the settings, as wrangler does. A name that exists already is refused; the observation that follows
// shows whose it is.
func createQueue(ctx context.Context, s queueSite) (Queue, error) {
	settings := kind.Document{}
	if err := queueTable.Created(s.Want, settings); err != nil {
		return Queue{}, err
	}
	var p sdk.QueueNewParams
	p.AccountID.Value = s.Location.Account
	p.QueueName.Value, p.QueueName.Present = s.Name, true
	q, err := clientOf(s.Cloud).New(ctx, p, option.WithJSONSet("settings", settings))
	if err != nil {
		return Queue{}, err
	}
	return Queue{ID: ID(q.QueueID), Name: Name(q.QueueName)}, nil
}

func deleteQueue(ctx context.Context, s queueSite) error {
	var p sdk.QueueDeleteParams
	p.AccountID.Value = s.Location.Account
	_, err := clientOf(s.Cloud).Delete(ctx, string(s.Last.ID), p)
	return err
}

func listQueues(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	return cloudflare.FoundIn(scope, queues(ctx, scope.Cloud, scope.Place), func(q sdk.Queue) kind.Found {
		return kind.Found{Kind: queueType, Identity: q.QueueID, Name: q.QueueName}
	})
}
