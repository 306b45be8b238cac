package queues

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudflare/cloudflare-go/v6/option"
	sdk "github.com/cloudflare/cloudflare-go/v6/queues"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// liveConsumer is a consumer as Cloudflare writes it.
type liveConsumer struct {
	queue ID

	ID         string `json:"consumer_id"`
	Type       string `json:"type"`
	DeadLetter string `json:"dead_letter_queue"`
	// Reads tell the Worker as script, and writes as script_name.
	Script     cloudflare.WorkerName `json:"script"`
	ScriptName cloudflare.WorkerName `json:"script_name"`
	Settings   struct {
		BatchSize      int   `json:"batch_size"`
		MaxRetries     int   `json:"max_retries"`
		RetryDelay     int64 `json:"retry_delay"`
		MaxConcurrency *int  `json:"max_concurrency"`
		MaxWaitMS      int64 `json:"max_wait_time_ms"`
		VisibilityMS   int64 `json:"visibility_timeout_ms"`
	} `json:"settings"`
}

func (c liveConsumer) script() cloudflare.WorkerName { return cmp.Or(c.Script, c.ScriptName) }

// seenConsumer reads the answer itself: the client has a Go type for each type of consumer.
func seenConsumer(queue ID, c *sdk.Consumer) (liveConsumer, error) {
	live := liveConsumer{queue: queue}
	err := json.Unmarshal([]byte(c.JSON.RawJSON()), &live)
	return live, err
}

var (
	errNoQueue   = errors.New("a consumer is found in its queue, and there is none")
	errOtherHere = errors.New("the queue has another consumer")
)

// observeConsumer reads a consumer by its id, or finds it in its queue by type and Worker, which no two share.
func observeConsumer(ctx context.Context, site consumerSite) (liveConsumer, error) {
	client := clientOf(site.Cloud)
	queue, id, _ := strings.Cut(site.ID, "/")
	if site.Last != nil {
		queue, id = string(site.Last.Queue), site.Last.ID
	}
	if id != "" {
		if !cloudflare.IsID(queue) || !cloudflare.IsID(id) {
			return liveConsumer{}, reconcile.WithHint(fmt.Errorf("%q is no consumer", site.ID), "write queue/consumer, the ids of both")
		}
		var p sdk.ConsumerGetParams
		p.AccountID.Value = site.Place.Account
		c, err := client.Consumers.Get(ctx, queue, id, p)
		if err != nil {
			return liveConsumer{}, cloudflare.Absent(err)
		}
		return seenConsumer(ID(queue), c)
	}
	if site.Want.Queue == "" {
		return liveConsumer{}, errNoQueue
	}
	all, err := consumers(ctx, client, site.Place.Account, site.Want.Queue)
	if err != nil {
		return liveConsumer{}, cloudflare.Absent(err)
	}
	for _, c := range all {
		if c.Type == *site.Want.Type && c.script() == site.Want.Script {
			return c, nil
		}
	}
	return liveConsumer{}, fmt.Errorf("%w: queue %s has no such consumer", reconcile.ErrAbsent, site.Want.Queue)
}

// consumers are all of a queue: at most one of each type, so that they are told on one page.
func consumers(ctx context.Context, client *sdk.QueueService, account string, queue ID) ([]liveConsumer, error) {
	var p sdk.ConsumerListParams
	p.AccountID.Value = account
	page, err := client.Consumers.List(ctx, string(queue), p)
	if err != nil {
		return nil, err
	}
	all := make([]liveConsumer, len(page.Result))
	for i := range page.Result {
		if all[i], err = seenConsumer(queue, &page.Result[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// consumerBody is a whole consumer, as Cloudflare wants it.
func consumerBody(want ConsumerProps) ([]byte, error) {
	settings := map[string]any{
		"batch_size": *want.BatchSize, "max_retries": *want.MaxRetries, "retry_delay": int64(want.RetryDelay / time.Second),
	}
	body := map[string]any{"type": *want.Type, "settings": settings}
	if want.DeadLetter != "" {
		body["dead_letter_queue"] = want.DeadLetter
	}
	if *want.Type == worker {
		body["script_name"] = want.Script
		settings["max_concurrency"] = want.MaxConcurrency
		settings["max_wait_time_ms"] = int64(*want.MaxWait / time.Millisecond)
	} else {
		settings["visibility_timeout_ms"] = int64(*want.VisibilityTimeout / time.Millisecond)
	}
	return json.Marshal(body)
}

// createConsumer makes one. A queue that has another Worker keeps it: looking again would not show ours.
func createConsumer(ctx context.Context, site consumerSite) (Consumer, error) {
	client := clientOf(site.Cloud)
	body, err := consumerBody(site.Want)
	if err != nil {
		return Consumer{}, err
	}
	p := sdk.ConsumerNewParams{Body: sdk.ConsumerNewParamsBody{}}
	p.AccountID.Value = site.Place.Account
	c, err := client.Consumers.New(ctx, string(site.Want.Queue), p, option.WithRequestBody("application/json", body))
	if err == nil {
		return Consumer{ID: c.ConsumerID, Queue: site.Want.Queue}, nil
	}
	if site.Cloud.Classify(err) != reconcile.Exists {
		return Consumer{}, err
	}
	all, look := consumers(ctx, client, site.Place.Account, site.Want.Queue)
	if look != nil {
		return Consumer{}, look
	}
	for _, c := range all {
		if c.Type == *site.Want.Type && c.script() != site.Want.Script {
			return Consumer{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errOtherHere, c.script(), err),
				"take the queue from it: `wrangler queues consumer remove`, or delete its declaration"))
		}
	}
	return Consumer{}, err
}

func updateConsumer(ctx context.Context, cloud reconcile.Cloud, account string, live liveConsumer, want ConsumerProps) error {
	client := clientOf(cloud)
	body, err := consumerBody(want)
	if err != nil {
		return err
	}
	p := sdk.ConsumerUpdateParams{Body: sdk.ConsumerUpdateParamsBody{}}
	p.AccountID.Value = account
	_, err = client.Consumers.Update(ctx, string(live.queue), live.ID, p, option.WithRequestBody("application/json", body))
	return cloudflare.NotYet(err)
}

func deleteConsumer(ctx context.Context, site consumerSite) error {
	client := clientOf(site.Cloud)
	var p sdk.ConsumerDeleteParams
	p.AccountID.Value = site.Place.Account
	_, err := client.Consumers.Delete(ctx, string(site.Last.Queue), site.Last.ID, p)
	return err
}
