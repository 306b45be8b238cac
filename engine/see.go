package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// see looks at one thing: as long as the kind or the resource allows, and again where the error says so.
func (w *work) see(ctx context.Context, kind reconcile.Any, job *reconcile.Job) (reconcile.Look, error) {
	bound := cmp.Or(job.Timeouts.Create, kind.Spec().Timeouts.Create)
	return patient(ctx, job.Cloud, bound, func(ctx context.Context) (reconcile.Look, error) { return kind.Look(ctx, job) })
}

// listOf lists one kind.
func listOf(ctx context.Context, kind reconcile.Any, scope reconcile.Scope) ([]reconcile.Found, error) {
	return patient(ctx, scope.Cloud, kind.Spec().Timeouts.Create, func(ctx context.Context) ([]reconcile.Found, error) { return kind.List(ctx, scope) })
}

// listUnder lists what belongs to a parent.
func listUnder(ctx context.Context, kind reconcile.Any, scope reconcile.Scope, parent reconcile.Found) ([]reconcile.Found, error) {
	return patient(ctx, scope.Cloud, kind.Spec().Timeouts.Create, func(ctx context.Context) ([]reconcile.Found, error) {
		return kind.ListUnder(ctx, scope, parent)
	})
}

// discoverBy asks a provider for everything that is marked.
func discoverBy(ctx context.Context, p reconcile.Provider, scope reconcile.Scope) ([]reconcile.Found, error) {
	return patient(ctx, scope.Cloud, 0, func(ctx context.Context) ([]reconcile.Found, error) { return p.Discover(ctx, scope) })
}

// patient reads within a bound, the default one when it is 0, and again as long as the error says so. A read that never
// answers fails what needs it, and nothing else.
func patient[T any](ctx context.Context, cloud reconcile.Cloud, bound time.Duration, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(bound, reconcile.DefaultTimeout))
	defer cancel()
	return reconcile.Retry(ctx, func(err error) reconcile.Class {
		if cloud == nil {
			return reconcile.Unknown
		}
		return cloud.Classify(err)
	}, read)
}
