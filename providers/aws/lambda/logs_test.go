package lambda

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestLogs reads what a function wrote: from the group that it names, and from the one that Lambda makes.
func TestLogs(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	client := cloudwatchlogs.NewFromConfig(w.out)
	for group, props := range map[string]obj{
		"/shop/worker": with(plainFunction(), obj{"logging": obj{"group": "/shop/worker"}}), "/aws/lambda/shop-test-worker": plainFunction(),
	} {
		out := w.Settled(t, props, nil)
		read := func() []string {
			var lines []string
			for line, err := range kind.Logs(t.Context(), w.Job(t, kind, nil, &out), reconcile.LogQuery{Filter: "order"}) {
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, line.Source+" "+line.Text)
			}
			return lines
		}
		if have := read(); len(have) != 0 {
			t.Errorf("before the first call: %v", have)
		}
		if _, err := client.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &group}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: new("a")}); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UnixMilli()
		if _, err := client.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{
			LogGroupName: &group, LogStreamName: new("a"), LogEvents: []types.InputLogEvent{
				{Timestamp: new(now - 2), Message: new("order 1\n")}, {Timestamp: new(now - 1), Message: new("nothing")}, {Timestamp: &now, Message: new("order 2")},
			},
		}); err != nil {
			t.Fatal(err)
		}
		if have := read(); !slices.Equal(have, []string{"a order 1", "a order 2"}) {
			t.Errorf("%s holds %v", group, have)
		}
		if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
			t.Fatal(err)
		}
	}
}
