package lambda

import (
	"context"
	"iter"

	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/reconcile"
)

// functionLogs are the lines in the function's log group.
func functionLogs(ctx context.Context, site functionSite, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	group := site.Last.LogGroup
	if group == "" {
		group = logGroupOf(site.Last.Name)
	}
	return logs.Tail(ctx, site.Cloud, group, query)
}
