package lambda

import (
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveMapping is a mapping as it was seen.
type liveMapping struct {
	attrs EventSourceMapping
	// have is what it is made like, in the shape of its props.
	have  EventSourceMappingProps
	tags  map[string]string
	state string
}

type (
	mappingSite = reconcile.Site[EventSourceMappingProps, EventSourceMapping]
	mappingDiff = reconcile.Diff[liveMapping]
)

var mappingKind = &reconcile.Kind[EventSourceMappingProps, liveMapping, EventSourceMapping]{
	Type: mappingType,
	Doc: "A mapping of an event source to a Lambda function: Lambda reads a queue, a stream, Kafka, MQ or DocumentDB, and calls the " +
		"function. It is ready when Lambda reads the source, so that nothing is passed over that comes after the deployment. Where a source was " +
		"read up to goes with the mapping when it is deleted or replaced. Not managed, and left as they are: schema registries, " +
		"logging and consumption mode of Kafka, groups of pollers.",

	Observe:  observeMapping,
	Create:   createMapping,
	Compare:  compareMapping,
	Attrs:    func(live liveMapping) EventSourceMapping { return live.attrs },
	Delete:   deleteMapping,
	Identity: func(m EventSourceMapping) string { return string(m.ARN) },

	Defaults: mappingDefaults,
	Check:    checkMapping,
	Late:     []tree.Path{"onFailure"},
	AtBirth:  []string{"arn", "id", "source"},
	Moves:    []string{"function"},
	// A function that is still being made cannot be called.
	NeedsSettled: []tree.Path{"function"},

	Owner: func(live liveMapping) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Busy:  liveMapping.busy,
	List:  listMappings,
	// Not every region's tagging service shows mappings.
	Under: []string{functionType}, ListUnder: listMappingsOf,
	// Lambda takes one mapping of a function and a source.
	DeleteFirst: true,

	Source: source,
	Calls: []string{
		"Lambda.GetEventSourceMapping", "Lambda.ListEventSourceMappings", "Lambda.ListTags", "Lambda.CreateEventSourceMapping",
		"Lambda.UpdateEventSourceMapping", "Lambda.DeleteEventSourceMapping", "Lambda.TagResource", "Lambda.UntagResource",
		"Lambda.GetFunctionConfiguration", "IAM.GetRole",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"lambda:GetEventSourceMapping", "lambda:ListEventSourceMappings", "lambda:ListTags"},
		List:    []string{"lambda:ListEventSourceMappings"},
		Create:  []string{"lambda:CreateEventSourceMapping", "lambda:TagResource", "lambda:GetFunctionConfiguration", "iam:GetRole"},
		Update:  []string{"lambda:UpdateEventSourceMapping", "lambda:TagResource", "lambda:UntagResource", "lambda:GetFunctionConfiguration", "iam:GetRole"},
		Delete:  []string{"lambda:DeleteEventSourceMapping"},
		Resource: func(place reconcile.Place, _ string) []string {
			return []string{string(aws.ARNIn(place, "lambda", "event-source-mapping:*"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html; the others are of the function and its role
		Anywhere: []string{"lambda:CreateEventSourceMapping", "lambda:ListEventSourceMappings", "lambda:GetFunctionConfiguration", "iam:GetRole"},
	},
}

// busy: a mapping is on its way to what it was told.
func (l liveMapping) busy() string {
	switch l.state {
	case "Creating", "Updating", "Deleting", "Enabling", "Disabling":
		return "the mapping is " + strings.ToLower(l.state)
	}
	return ""
}

func mappingDefaults(want EventSourceMappingProps) EventSourceMappingProps {
	aws.OrDefault(&want.Enabled, true)
	aws.OrDefault(&want.Parallelization, 1)
	if want.DocumentDB != nil {
		d := *want.DocumentDB
		aws.OrDefault(&d.FullDocument, "Default")
		want.DocumentDB = &d
	}
	return want
}

// serviceOf is the service of a source, "kafka" for a cluster of one's own.
func serviceOf(source aws.ARN) string {
	p, ok := source.Parse()
	if !ok {
		return "kafka"
	}
	return p.Service
}

// streams reports sources that are read by position.
func streams(service string) bool { return service == "kinesis" || service == "dynamodb" }

// defaultBatch is the size of batches that nobody asked for.
func defaultBatch(service string) int {
	if service == "sqs" {
		return 10
	}
	return 100
}

// checkMapping finds what Lambda would refuse.
func checkMapping(want EventSourceMappingProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if (want.Source == "") == (len(want.Servers) == 0) {
		wrong("source", "want either a source or servers")
	}
	spans := map[tree.Path]*time.Duration{"batchWindow": want.BatchWindow, "maxRecordAge": want.MaxRecordAge, "tumblingWindow": &want.TumblingWindow}
	for path, span := range spans {
		if span != nil && *span%time.Second != 0 {
			wrong(path, "want whole seconds")
		}
	}
	if len(want.Filters) > 10 {
		wrong("filters", "want at most 10")
	}
	at := want.StartingPosition != nil && *want.StartingPosition == "AT_TIMESTAMP"
	if at != (want.StartingTimestamp != "") && (want.StartingPosition == nil || !token.Has(*want.StartingPosition)) {
		wrong("startingTimestamp", "AT_TIMESTAMP needs it, and nothing else takes it")
	}
	if t := want.StartingTimestamp; t != "" && !token.Has(t) {
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			wrong("startingTimestamp", "want a time such as 2026-01-31T12:00:00Z")
		}
	}
	if !token.Has(string(want.Source)) {
		checkSource(want, wrong)
	}
	return problems.OrNil()
}

// checkSource is about props that some sources alone take, or need.
func checkSource(want EventSourceMappingProps, wrong func(tree.Path, string)) {
	service := serviceOf(want.Source)
	byOffset := streams(service) || service == "kafka"
	byPosition := byOffset || service == "rds"
	for _, only := range []struct {
		path      tree.Path
		set       bool
		of        string
		ok, needs bool
	}{
		{"maxConcurrency", want.MaxConcurrency != nil, "queues of SQS", service == "sqs", false},
		{"parallelization", want.Parallelization != nil && *want.Parallelization != 1, "streams", streams(service), false},
		{"tumblingWindow", want.TumblingWindow != 0, "streams", streams(service), false},
		{"bisectOnError", want.BisectOnError, "streams and Kafka", byOffset, false},
		{"maxRecordAge", want.MaxRecordAge != nil, "streams and Kafka", byOffset, false},
		{"maxRetries", want.MaxRetries != nil, "streams and Kafka", byOffset, false},
		{"onFailure", want.OnFailure != "", "streams and Kafka", byOffset, false},
		{"startingPosition", want.StartingPosition != nil, "streams, Kafka and DocumentDB", byPosition, true},
		{"topics", len(want.Topics) > 0, "Kafka", service == "kafka", true},
		{"consumerGroupId", want.ConsumerGroupID != "", "Kafka", service == "kafka", true},
		{"queues", len(want.Queues) > 0, "MQ", service == "mq", true},
		{"documentDb", want.DocumentDB != nil, "DocumentDB", service == "rds", true},
	} {
		switch {
		case only.set && !only.ok:
			wrong(only.path, fmt.Sprintf("%s alone takes it, and the source is of %s", only.of, service))
		case only.needs && only.ok && !only.set:
			wrong(only.path, "is required: the source is of "+service)
		}
	}
}

// compareMapping states every aspect. One call sets all that can be changed. What a source does not have is not compared.
func compareMapping(d *mappingDiff, want EventSourceMappingProps, live liveMapping) {
	have := live.have
	reconcile.Fixed(d, "source", want.Source, have.Source)
	reconcile.Fixed(d, "startingPosition", want.StartingPosition, have.StartingPosition)
	reconcile.Fixed(d, "startingTimestamp", moment(want.StartingTimestamp), moment(have.StartingTimestamp))
	fixedList(d, "topics", want.Topics, have.Topics)
	fixedList(d, "queues", want.Queues, have.Queues)
	fixedList(d, "servers", sorted(want.Servers), sorted(have.Servers))
	reconcile.Fixed(d, "consumerGroupId", want.ConsumerGroupID, have.ConsumerGroupID)
	set := updateMapping(want)
	reconcile.Value(d, "function", arnOf(d.Place(), want.Function), have.Function, set)
	reconcile.Value(d, "enabled", want.Enabled, have.Enabled, set)
	compareBatches(d, want, have, set)
	reconcile.Value(d, "filters", documents(want.Filters), documents(have.Filters), set)
	reconcile.Value(d, "reportBatchItemFailures", want.ReportBatchItemFailures, have.ReportBatchItemFailures, set)
	reconcile.Value(d, "maxConcurrency", want.MaxConcurrency, have.MaxConcurrency, set)
	reconcile.Value(d, "onFailure", want.OnFailure, have.OnFailure, set)
	reconcile.Value(d, "bisectOnError", want.BisectOnError, have.BisectOnError, set)
	reconcile.Value(d, "maxRecordAge", want.MaxRecordAge, have.MaxRecordAge, set)
	reconcile.Value(d, "maxRetries", want.MaxRetries, have.MaxRetries, set)
	reconcile.List(d, "access", want.Access, have.Access, set)
	reconcile.Value(d, "documentDb", want.DocumentDB, have.DocumentDB, set)
	reconcile.Value(d, "pollers", want.Pollers, have.Pollers, set)
	reconcile.Value(d, "kmsKey", want.KMSKey, have.KMSKey, set)
	reconcile.Value(d, "eventCount", want.EventCount, have.EventCount, set)
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putMappingTags, dropMappingTags)
}

func compareBatches(d *mappingDiff, want, have EventSourceMappingProps, set *reconcile.Operation[liveMapping]) {
	service := serviceOf(have.Source)
	aws.OrDefault(&want.BatchSize, defaultBatch(service))
	reconcile.Value(d, "batchSize", want.BatchSize, have.BatchSize, set)
	if service == "sqs" || streams(service) {
		aws.OrDefault(&want.BatchWindow, 0)
	}
	if want.BatchWindow != nil {
		reconcile.Value(d, "batchWindow", want.BatchWindow, have.BatchWindow, set)
	}
	if streams(service) {
		reconcile.Value(d, "parallelization", want.Parallelization, have.Parallelization, set)
		reconcile.Value(d, "tumblingWindow", want.TumblingWindow, have.TumblingWindow, set)
	}
}

func fixedList(d *mappingDiff, path tree.Path, want, have []string) {
	reconcile.List(d, path, want, have, nil)
}

// arnOf is a function's ARN where it was named by its name alone.
func arnOf(place reconcile.Place, function aws.ARN) aws.ARN {
	if token.Has(string(function)) || strings.HasPrefix(string(function), "arn:") {
		return function
	}
	return functionARN(place, string(function))
}

// moment is a time in one form.
func moment(text string) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format(time.RFC3339)
	}
	return text
}

// documents are patterns by their meaning.
func documents(list []any) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = aws.Document(x)
	}
	return out
}
