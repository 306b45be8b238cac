// Command shop is a small shop on AWS: orders come in through a topic, wait in a queue, and failed ones end in
// another.
//
//	athanor deploy examples/shop            # the Go program, built and run
//	athanor deploy examples/shop/shop.yaml  # the same graph from YAML
package main

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(Shop) }

const day = 24 * time.Hour

// Shop declares the whole shop.
func Shop(s *athanor.Stack) error {
	dead := sqs.NewQueue(s, "dead", sqs.QueueProps{MessageRetention: new(14 * day)})
	events := sns.NewTopic(s, "events", sns.TopicProps{DisplayName: "Shop events"})
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{
		VisibilityTimeout: new(time.Minute),
		MessageRetention:  new(athanor.Config(s, "retention", athanor.Default(4*day), athanor.ForStage("prod", 14*day))),
		ReceiveWait:       20 * time.Second,
		DeadLetter:        dead.ARN,
		MaxReceives:       new(5),
		Policy:            fromTopic(events),
	})
	sns.NewSubscription(s, "events-to-orders", sns.SubscriptionProps{
		Topic: events.ARN, Protocol: "sqs", Endpoint: string(orders.ARN), RawMessageDelivery: true,
		FilterPolicy: map[string]any{"type": []any{"order", "refund"}},
	})

	assets := s3.NewBucket(s, "assets", s3.BucketProps{
		Versioning: "Enabled",
		CORS: []s3.CORSRule{{
			AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"https://shop.example"}, MaxAge: new(time.Hour),
		}},
		Lifecycle: []s3.LifecycleRule{{
			ID: "old-versions", NoncurrentExpiration: &s3.NoncurrentExpiration{Days: 30}, AbortUploadsAfterDays: 7,
		}},
		Tags:         map[string]string{"team": "shop"},
		ForceDestroy: true,
	})
	s3.NewObject(s, "page", s3.ObjectProps{Bucket: assets.Name, Key: "index.html", Source: "index.html", CacheControl: "max-age=60"})
	admin := random.NewPassword(s, "admin", random.PasswordProps{Length: new(24)})
	s3.NewObject(s, "settings", s3.ObjectProps{
		Bucket: assets.Name, Key: "settings.json", ContentType: new("application/json"),
		Content: new(s.JSON(map[string]any{"queue": orders.URL, "topic": events.ARN, "admin": admin.Value})),
	})

	s.Output("queue", orders.URL)
	s.Output("topic", events.ARN)
	s.Output("bucket", assets.Name)
	s.Output("admin", admin.Value)
	return nil
}

// fromTopic lets a topic send to a queue.
func fromTopic(topic sns.Topic) map[string]any {
	return map[string]any{
		"Version": "2012-10-17",
		"Statement": []any{map[string]any{
			"Sid": "events", "Effect": "Allow",
			"Principal": map[string]any{"Service": "sns.amazonaws.com"},
			"Action":    "sqs:SendMessage", "Resource": "*",
			"Condition": map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": topic.ARN}},
		}},
	}
}
