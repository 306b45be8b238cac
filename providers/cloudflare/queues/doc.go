// Package queues offers queues of Cloudflare Queues, and their consumers.
//
// It knows a queue's settings, who consumes it, and how many messages wait in it. It does not know messages, nor the
// Workers that consume them beyond their names; how calls are made and judged is the business of package cloudflare.
package queues

import (
	"embed"

	sdk "github.com/cloudflare/cloudflare-go/v6/queues"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed queue.go consumer.go consumer_props.go
var source embed.FS

const (
	queueType    = "cloudflare.Queue"
	consumerType = "cloudflare.QueueConsumer"
)

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{queueKind.Erase(), consumerKind.Erase()}}
}

// NewQueue declares a queue.
func NewQueue(s *athanor.Stack, name string, p QueueProps, opts ...athanor.Option) Queue {
	return athanor.Declare(s, queueKind, name, p, opts...)
}

// ReadQueue uses a queue that the stack does not own: by its id, or by QueueProps that name it.
func ReadQueue(s *athanor.Stack, name string, by any) Queue {
	return athanor.Read(s, queueKind, name, by)
}

// NewConsumer declares a consumer of a queue.
func NewConsumer(s *athanor.Stack, name string, p ConsumerProps, opts ...athanor.Option) Consumer {
	return athanor.Declare(s, consumerKind, name, p, opts...)
}

func clientOf(cloud reconcile.Cloud) *sdk.QueueService {
	return cloudflare.ClientIn(cloud, sdk.NewQueueService)
}
