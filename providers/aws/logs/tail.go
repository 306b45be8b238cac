package logs

import (
	"context"
	"iter"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// pollEvery is how often a group that is followed is asked. The quota of FilterLogEvents is 5 calls per second in the
	// smallest regions: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html
	pollEvery = 2 * time.Second
	// late is how long after an event that was shown an older one may still arrive: streams are not in step.
	late = 30 * time.Second
	// mostFailures in a row end a reading.
	mostFailures = 8
)

// Tail reads the events of a log group, oldest first; with query.Follow it goes on with new ones until ctx ends. A group
// that is not there has no events: services make theirs with the first one. It makes reads alone.
func Tail(ctx context.Context, cloud reconcile.Cloud, group string, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	return func(yield func(reconcile.LogLine, error) bool) {
		r := &reading{client: clientOf(cloud), cloud: cloud, group: group, query: query, every: pollEvery, seen: map[string]time.Time{}}
		if err := r.run(ctx, yield); err != nil {
			yield(reconcile.LogLine{}, err)
		}
	}
}

// reading is one Tail under way.
type reading struct {
	client *sdk.Client
	cloud  reconcile.Cloud
	group  string
	query  reconcile.LogQuery
	every  time.Duration
	newest time.Time
	seen   map[string]time.Time // events that may be shown again, by id
}

// run ends with nil when the reader has enough, when all is read, or when a reading that follows was told to end.
func (r *reading) run(ctx context.Context, yield func(reconcile.LogLine, error) bool) error {
	for failures := 0; ; {
		more, err := r.round(ctx, yield)
		switch {
		case ctx.Err() != nil && r.query.Follow:
			return nil
		case err == nil && (!more || !r.query.Follow):
			return nil
		case err == nil:
			failures = 0
		case !r.cloud.Classify(err).Retries() || failures == mostFailures:
			return err
		default:
			failures++
		}
		if err := reconcile.Wait(ctx, r.every<<min(failures, 4), nil); err != nil {
			if r.query.Follow {
				return nil
			}
			return err
		}
	}
}

// round reads all pages of what is there and was not shown yet. It reports whether the reader wants more.
func (r *reading) round(ctx context.Context, yield func(reconcile.LogLine, error) bool) (more bool, err error) {
	in := &sdk.FilterLogEventsInput{LogGroupName: &r.group, FilterPattern: aws.OrNil(pattern(r.query.Filter))}
	since := r.query.Since
	if from := r.newest.Add(-late); !r.newest.IsZero() && from.After(since) {
		since = from
	}
	if !since.IsZero() {
		in.StartTime = new(since.UnixMilli())
	}
	return r.pages(ctx, in, yield)
}

func (r *reading) pages(ctx context.Context, in *sdk.FilterLogEventsInput, yield func(reconcile.LogLine, error) bool) (more bool, err error) {
	next := func(out *sdk.FilterLogEventsOutput) *string { return out.NextToken }
	for page, err := range aws.PagesByToken(ctx, r.client.FilterLogEvents, in, &in.NextToken, next) {
		if aws.IsAbsent(err) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		for _, e := range page.Events {
			if line, fresh := r.line(e); fresh && !yield(line, nil) {
				return false, nil
			}
		}
		r.forget()
	}
	return true, nil
}

// line is an event as a line; fresh is false for what was shown before, or does not hold the text that is asked for.
func (r *reading) line(e types.FilteredLogEvent) (line reconcile.LogLine, fresh bool) {
	at := time.UnixMilli(sdkaws.ToInt64(e.Timestamp))
	id, text := sdkaws.ToString(e.EventId), strings.TrimRight(sdkaws.ToString(e.Message), "\r\n")
	if _, shown := r.seen[id]; shown || !strings.Contains(text, r.query.Filter) {
		return line, false
	}
	r.seen[id] = at
	if at.After(r.newest) {
		r.newest = at
	}
	return reconcile.LogLine{Time: at, Text: text, Source: sdkaws.ToString(e.LogStreamName)}, true
}

// forget drops the events that are too old to be shown again.
func (r *reading) forget() {
	for id, at := range r.seen {
		if at.Before(r.newest.Add(-late)) {
			delete(r.seen, id)
		}
	}
}

// pattern asks for events that hold a text, as a phrase.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
func pattern(text string) string {
	if text == "" {
		return ""
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
