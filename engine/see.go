package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// patience bounds how long a read that stumbles is tried again. Throttling is no failure.
const patience = 30 * time.Second

// see looks at one thing: as long as the kind or the resource allows, and again where the error says so.
func (w *work) see(ctx context.Context, kind reconcile.Any, job *reconcile.Job) (reconcile.Look, error) {
	bound := cmp.Or(job.Timeouts.Create, kind.Spec().Timeouts.Create, reconcile.DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	since := time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		look, err := kind.Look(ctx, job)
		if err == nil || ctx.Err() != nil || job.Cloud == nil || !job.Cloud.Classify(err).Retries() || time.Since(since) > patience {
			return look, err
		}
		select {
		case <-ctx.Done():
			return look, err
		case <-time.After(pause):
		}
	}
}
