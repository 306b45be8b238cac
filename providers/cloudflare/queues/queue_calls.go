package queues

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
	sdk "github.com/cloudflare/cloudflare-go/v6/queues"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

var errNoName = errors.New("a queue is found by its id or its name, and there is neither")

// observeQueue reads a queue by its id, or finds it by its name, which only a listing shows.
func observeQueue(ctx context.Context, site queueSite) (liveQueue, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveQueue{}, err
	}
	q, err := findQueue(ctx, client, site)
	if err != nil {
		return liveQueue{}, err
	}
	seconds := func(n float64) time.Duration { return time.Duration(n) * time.Second }
	live := liveQueue{
		id: q.QueueID, name: q.QueueName, paused: q.Settings.DeliveryPaused,
		delay: seconds(q.Settings.DeliveryDelay), retention: seconds(q.Settings.MessageRetentionPeriod),
	}
	live.messages, err = backlog(ctx, site.Cloud, site.Place.Account, live.id)
	return live, cloudflare.Absent(err)
}

func findQueue(ctx context.Context, client *sdk.QueueService, site queueSite) (sdk.Queue, error) {
	id, name := site.ID, site.Name
	switch {
	case site.Last != nil:
		id = string(site.Last.ID)
	case id != "" && !cloudflare.IsID(id):
		id, name = "", id
	}
	if id != "" {
		var p sdk.QueueGetParams
		p.AccountID.Value = site.Place.Account
		q, err := client.Get(ctx, id, p)
		if err != nil {
			return sdk.Queue{}, cloudflare.Absent(err)
		}
		return *q, nil
	}
	if name == "" {
		return sdk.Queue{}, errNoName
	}
	for q, err := range queues(ctx, client, site.Place.Account) {
		if err != nil {
			return sdk.Queue{}, err
		}
		if q.QueueName == name {
			return q, nil
		}
	}
	return sdk.Queue{}, fmt.Errorf("%w: no queue is called %s", reconcile.ErrAbsent, name)
}

// queues are all of the account. The client asks for the first page alone, and drops what the service says of pages.
func queues(ctx context.Context, client *sdk.QueueService, account string) iter.Seq2[sdk.Queue, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.Queue], error) {
		var p sdk.QueueListParams
		p.AccountID.Value = account
		answer := new(pagination.V4PagePaginationArray[sdk.Queue])
		_, err := client.List(ctx, p, option.WithQuery("page", strconv.FormatInt(page, 10)), option.WithResponseBodyInto(answer))
		return answer, err
	})
}

// backlog is how many messages wait, as near as the service can tell.
func backlog(ctx context.Context, cloud reconcile.Cloud, account, id string) (int64, error) {
	var metrics struct {
		Count float64 `json:"backlog_count"`
	}
	err := cloudflare.Call(ctx, cloud, cloudflare.Request{Method: http.MethodGet, Path: "/accounts/" + account + "/queues/" + id + "/metrics"}, &metrics)
	return int64(metrics.Count), err
}

// createQueue carries the settings, as wrangler does. A name that there is already is refused; the look that follows
// tells whose it is.
func createQueue(ctx context.Context, site queueSite) (Queue, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Queue{}, err
	}
	var p sdk.QueueNewParams
	p.AccountID.Value = site.Place.Account
	p.QueueName.Value, p.QueueName.Present = site.Name, true
	q, err := client.New(ctx, p, option.WithJSONSet("settings", map[string]any{
		"delivery_delay":           int64(site.Want.DeliveryDelay / time.Second),
		"delivery_paused":          site.Want.DeliveryPaused,
		"message_retention_period": int64(*site.Want.MessageRetention / time.Second),
	}))
	if err != nil {
		return Queue{}, err
	}
	return Queue{ID: ID(q.QueueID), Name: Name(q.QueueName)}, nil
}

func deleteQueue(ctx context.Context, site queueSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := string(site.Last.ID)
	if !site.MayDelete {
		messages, err := backlog(ctx, site.Cloud, site.Place.Account, id)
		if err != nil {
			return err
		}
		if messages > 0 {
			return fmt.Errorf("%w: %d messages", reconcile.ErrHoldsData, messages)
		}
	}
	var p sdk.QueueDeleteParams
	p.AccountID.Value = site.Place.Account
	_, err = client.Delete(ctx, id, p)
	return err
}

func listQueues(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for q, err := range queues(ctx, client, scope.Place.Account) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(q.QueueName, scope.Prefix) {
			all = append(all, reconcile.Found{Kind: queueType, Place: scope.Place, Identity: q.QueueID, Name: q.QueueName})
		}
	}
	return all, nil
}
