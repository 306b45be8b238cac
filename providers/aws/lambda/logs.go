package lambda

import (
	"context"
	"iter"
	"maps"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// logPause is between two looks for new lines: FilterLogEvents is limited to a few calls a second for an account.
	logPause = 2 * time.Second
	// logDelay is how late a line may come after others that are younger.
	logDelay = 15 * time.Second
)

// functionLogs are the lines in the function's log group. Filtering is done here: the patterns of CloudWatch match terms
// and not any text. A group that is not there yet has no lines.
func functionLogs(ctx context.Context, site functionSite, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	return func(yield func(reconcile.LogLine, error) bool) {
		client, err := aws.Client(site.Cloud, func(cfg sdkaws.Config) *cloudwatchlogs.Client { return cloudwatchlogs.NewFromConfig(cfg) })
		if err != nil {
			yield(reconcile.LogLine{}, err)
			return
		}
		l := &logTail{client: client, group: site.Last.LogGroup, filter: query.Filter, since: query.Since, seen: map[string]time.Time{}}
		if l.group == "" {
			l.group = logGroupOf(site.Last.Name)
		}
		for {
			if !l.pass(ctx, yield) || !query.Follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(logPause):
			}
		}
	}
}

// logTail is where the reading of a group has come to.
type logTail struct {
	client        *cloudwatchlogs.Client
	group, filter string
	since         time.Time            // of the oldest line that may still come
	newest        time.Time            // of those that came
	seen          map[string]time.Time // lines since then, by their ids
}

// pass gives all lines that are new, and reports whether to go on.
func (l *logTail) pass(ctx context.Context, yield func(reconcile.LogLine, error) bool) bool {
	in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &l.group}
	if !l.since.IsZero() {
		in.StartTime = new(l.since.UnixMilli())
	}
	for pages := cloudwatchlogs.NewFilterLogEventsPaginator(l.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if aws.IsAbsent(err) {
			return true
		}
		if err != nil {
			if ctx.Err() == nil {
				yield(reconcile.LogLine{}, err)
			}
			return false
		}
		for _, event := range page.Events {
			if line, fresh := l.line(event); fresh && !yield(line, nil) {
				return false
			}
		}
	}
	if from := l.newest.Add(-logDelay); from.After(l.since) {
		l.since = from
		maps.DeleteFunc(l.seen, func(_ string, at time.Time) bool { return at.Before(from) })
	}
	return true
}

// line is an event as a line; fresh is false for one that came before, or that is not asked for.
func (l *logTail) line(event types.FilteredLogEvent) (line reconcile.LogLine, fresh bool) {
	at := time.UnixMilli(sdkaws.ToInt64(event.Timestamp))
	id := sdkaws.ToString(event.EventId)
	if _, came := l.seen[id]; came {
		return line, false
	}
	l.seen[id] = at
	if at.After(l.newest) {
		l.newest = at
	}
	text := strings.TrimRight(sdkaws.ToString(event.Message), "\r\n")
	return reconcile.LogLine{Time: at, Text: text, Source: sdkaws.ToString(event.LogStreamName)}, strings.Contains(text, l.filter)
}
