package lambda

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func stream(name string) string {
	return "arn:aws:kinesis:us-east-1:" + account + ":stream/" + name
}

// mappings are all of the world as others see them.
func (w *world) mappings(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	out, err := w.Others.ListEventSourceMappings(ctx, &sdk.ListEventSourceMappingsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, m := range out.EventSourceMappings {
		tags, err := w.Others.ListTags(ctx, &sdk.ListTagsInput{Resource: m.EventSourceMappingArn})
		if err != nil {
			t.Fatalf("tags: %v", err)
		}
		for _, n := range []**int32{&m.MaximumRecordAgeInSeconds, &m.MaximumRetryAttempts} {
			if *n != nil && **n == -1 {
				*n = nil // which is how it is where nobody asked for it
			}
		}
		for _, n := range []**int32{&m.MaximumBatchingWindowInSeconds, &m.TumblingWindowInSeconds} {
			if *n != nil && **n == 0 {
				*n = nil
			}
		}
		all = append(all, obj{"mapping": plain(t, m), "tags": awstest.Owned(tags.Tags)})
	}
	return all
}

func plainMapping(more obj) obj {
	return with(obj{"function": functionNamed("theirs"), "source": queue("orders"), "tags": obj{"team": "shop"}}, more)
}

func kafka(more obj) obj {
	return with(obj{
		"function": functionNamed("theirs"), "servers": list{"b.example:9092", "a.example:9092"}, "topics": list{"orders"}, "consumerGroupId": "shop", "startingPosition": "TRIM_HORIZON",
	}, more)
}

func mappingSuite(base obj, variants ...kindtest.Variant) kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(mappingTable, kindtest.Suite{
		Kind: mappingKind.Erase(), World: ws.Make(having((*world).withFunctions), (*world).mappings), Base: base, Variants: variants, Fault: fault,
		Hands:   mappingHands(ws),
		Ordered: map[tree.Path]string{"filters": "Lambda keeps the document of filters as it was written"},
		Others: map[tree.Path][]any{
			"filters.*": {`{"body":{"kind":["other"]}}`}, "function": {functionNamed("another"), functionNamed("theirs")}, "batchWindow": {"2s"},
		},
	})
}

// sourcesOf are mappings of each sort of source: the one that is begun with, and others.
var sourcesOf = map[string]struct {
	base     obj
	variants []kindtest.Variant
}{
	"queue": {plainMapping(nil), []kindtest.Variant{
		{Name: "tuned queue", Props: plainMapping(obj{
			"function": functionNamed("another"), "enabled": false, "batchSize": int64(100), "batchWindow": "1s", "reportBatchItemFailures": true,
			"filters":        list{obj{"body": obj{"kind": list{"order"}}}, `{"body": {"kind": ["refund"]}}`},
			"maxConcurrency": int64(5), "kmsKey": "arn:aws:kms:us-east-1:" + account + ":key/filters", "eventCount": true,
			"pollers": obj{"minimum": int64(2), "maximum": int64(20)}, "tags": obj{"team": "web", "cost center": "42"},
		})},
	}},
	"stream": {plainMapping(obj{"source": stream("clicks"), "startingPosition": "LATEST"}), []kindtest.Variant{
		{Name: "tuned stream", Props: plainMapping(obj{
			"source": stream("clicks"), "startingPosition": "LATEST", "onFailure": queue("failed"), "bisectOnError": true, "maxRecordAge": "1h", "maxRetries": int64(3),
			"parallelization": int64(4), "tumblingWindow": "30s", "batchSize": int64(500),
		})},
		{Name: "from the beginning", Props: plainMapping(obj{"source": stream("clicks"), "startingPosition": "TRIM_HORIZON"})},
		{Name: "from the past", Props: plainMapping(obj{
			"source": stream("clicks"), "startingPosition": "AT_TIMESTAMP", "startingTimestamp": "2026-01-31T12:00:00Z",
		})},
	}},
	"Kafka": {kafka(nil), []kindtest.Variant{
		{Name: "other cluster", Props: kafka(obj{"servers": list{"c.example:9092"}})},
		{Name: "other topic", Props: kafka(obj{"topics": list{"refunds"}})},
		{Name: "with access", Props: kafka(obj{
			"consumerGroupId": "web", "access": list{obj{"type": "BASIC_AUTH", "uri": "arn:aws:secretsmanager:us-east-1:" + account + ":secret:kafka"}},
		})},
	}},
	"documents": {
		plainMapping(obj{
			"source": "arn:aws:rds:us-east-1:" + account + ":cluster:docs", "startingPosition": "LATEST", "documentDb": obj{"database": "shop"},
			"access": list{obj{"type": "BASIC_AUTH", "uri": "arn:aws:secretsmanager:us-east-1:" + account + ":secret:docs"}},
		}),
		[]kindtest.Variant{{Name: "one collection", Props: plainMapping(obj{
			"source": "arn:aws:rds:us-east-1:" + account + ":cluster:docs", "startingPosition": "LATEST",
			"documentDb": obj{"database": "web", "collection": "orders", "fullDocument": "UpdateLookup"},
			"access":     list{obj{"type": "BASIC_AUTH", "uri": "arn:aws:secretsmanager:us-east-1:" + account + ":secret:other"}},
		})}},
	},
	"broker": {
		plainMapping(obj{"source": "arn:aws:mq:us-east-1:" + account + ":broker:shop:b-1", "queues": list{"orders"}}),
		[]kindtest.Variant{{Name: "other queue", Props: plainMapping(obj{"source": "arn:aws:mq:us-east-1:" + account + ":broker:shop:b-1", "queues": list{"refunds"}})}},
	},
}

// TestEventSourceMapping runs the whole suite over mappings of all sorts together, beginning with a queue; TestOtherSources
// begins with the others.
func TestEventSourceMapping(t *testing.T) {
	t.Parallel()
	variants := []kindtest.Variant{
		sourcesOf["queue"].variants[0], sourcesOf["stream"].variants[0], sourcesOf["stream"].variants[2], sourcesOf["documents"].variants[0],
		{Name: "Kafka", Props: kafka(obj{"access": list{obj{"type": "VPC_SUBNET", "uri": "subnet:subnet-b"}, obj{"type": "VPC_SECURITY_GROUP", "uri": "security_group:sg-a"}}})},
		{Name: "broker", Props: sourcesOf["broker"].base},
	}
	s := mappingSuite(sourcesOf["queue"].base, variants...)
	s.Silent = map[tree.Path]string{}
	for _, path := range []tree.Path{
		"onFailure", "bisectOnError", "maxRecordAge", "maxRetries", "parallelization", "tumblingWindow", "startingTimestamp", "topics", "queues", "consumerGroupId",
		"servers", "documentDb", "startingPosition", "source",
	} {
		s.Silent[path] = "not with a queue; TestOtherSources changes it"
	}
	kindtest.Run(t, s)
}

func TestOtherSources(t *testing.T) {
	t.Parallel()
	for name, of := range sourcesOf {
		if name == "queue" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mappingSuite(of.base, of.variants...)
			s.Silent = map[tree.Path]string{"startingTimestamp": "AT_TIMESTAMP alone takes it; it is changed with that"}
			kindtest.RunOnly(t, s, kindtest.PropAlone, kindtest.ThreeStarts, kindtest.Unset)
		})
	}
}
