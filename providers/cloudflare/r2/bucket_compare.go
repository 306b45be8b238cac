package r2

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// compareBucket states every aspect. Each has a call of its own.
func compareBucket(d *kind.Diff[liveBucket], want BucketProps, live liveBucket) {
	kind.Compare(d, bucketTable, want, live.have,
		call("PatchBucket", func(on liveBucket) (cloudflare.Request, error) {
			r := on.request(http.MethodPatch, "", nil)
			r.Header.Set("Cf-R2-Storage-Class", *want.StorageClass)
			return r, nil
		}),
		call("PutBucketDomainManaged", func(on liveBucket) (cloudflare.Request, error) {
			return on.request(http.MethodPut, "/domains/managed", kind.Document{"enabled": want.PublicDevelopmentURL}), nil
		}),
		call("PutBucketCors", func(on liveBucket) (cloudflare.Request, error) {
			if len(want.CORS) == 0 {
				return on.request(http.MethodDelete, "/cors", nil), nil
			}
			rules, err := corsTable.CreatedList(want.CORS)
			return on.request(http.MethodPut, "/cors", kind.Document{"rules": rules}), err
		}),
		call("PutBucketLifecycle", func(on liveBucket) (cloudflare.Request, error) {
			rules, err := writeLifecycle(want.Lifecycle)
			return on.request(http.MethodPut, "/lifecycle", kind.Document{"rules": rules}), err
		}),
		kind.Set("PutBucketEventNotification", func(ctx context.Context, u kind.Update[liveBucket]) error {
			return syncNotifications(ctx, u, want.Notifications)
		}))
	reconcile.Map(d, "domains", want.Domains, declared(want.Domains, live.domains), "UpdateBucketDomainCustom", syncDomains)
}

// call is an operation that is one request.
func call(name string, request func(on liveBucket) (cloudflare.Request, error)) *kind.Operation[liveBucket] {
	return kind.Set(name, func(ctx context.Context, u kind.Update[liveBucket]) error {
		r, err := request(u.Live)
		if err != nil {
			return err
		}
		return cloudflare.NotYet(cloudflare.Call(ctx, u.Cloud, r, nil))
	})
}

// declared are live domains, whose zones are named as the author names them.
func declared(want map[string]Domain, live map[string]liveDomain) map[string]Domain {
	all := map[string]Domain{}
	for name, d := range live {
		d.Zone = d.zone.As(want[name].Zone)
		all[name] = d.Domain
	}
	return all
}

// syncDomains attaches, changes and detaches names. One that is attached to a zone can only be attached anew to another.
func syncDomains(ctx context.Context, on kind.Update[liveBucket], put map[string]Domain, drop []string) error {
	for _, name := range drop {
		if err := detach(ctx, on.Cloud, on.Live.target, name); err != nil {
			return err
		}
	}
	for name, d := range put {
		zone, err := cloudflare.ZoneOf(ctx, on.Cloud, d.Zone)
		if err != nil {
			return err
		}
		have, attached := on.Live.domains[name]
		if attached && have.zone.ID != zone.ID {
			if err := detach(ctx, on.Cloud, on.Live.target, name); err != nil {
				return err
			}
			attached = false
		}
		w := wireDomain{Enabled: !d.Disabled, MinTLS: *d.MinTLS}
		r := on.Live.request(http.MethodPut, "/domains/custom/"+url.PathEscape(name), w)
		if !attached {
			w.Domain, w.ZoneID = name, zone.ID
			r = on.Live.request(http.MethodPost, "/domains/custom", w)
		}
		if err := cloudflare.Call(ctx, on.Cloud, r, nil); err != nil {
			return taken(cloudflare.NotYet(err))
		}
	}
	return nil
}

// taken is about a name that another bucket, or a Worker, has: waiting does not free it.
func taken(err error) error {
	if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Status == http.StatusConflict {
		return cloudflare.Invalid(reconcile.WithHint(err, "detach the name from what has it; a bucket that is replaced keeps its names until it is deleted: use deleteFirst"))
	}
	return err
}

func detach(ctx context.Context, cloud kind.Cloud, t target, name string) error {
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodDelete, "/domains/custom/"+url.PathEscape(name), nil), nil)
	if cloudflare.IsAbsent(err) {
		return nil
	}
	return err
}

// syncNotifications removes the rules that are not wanted, and then adds those that are: R2 refuses rules that overlap.
func syncNotifications(ctx context.Context, u kind.Update[liveBucket], want []Notification) error {
	missing, unwanted := slices.Clone(want), map[string][]string{}
	for _, n := range u.Live.notifications {
		i := slices.IndexFunc(missing, func(w Notification) bool { return reflect.DeepEqual(w, n.Notification) })
		if i < 0 {
			unwanted[n.Queue] = append(unwanted[n.Queue], n.id)
			continue
		}
		missing = slices.Delete(missing, i, i+1)
	}
	change := func(method, queue string, body kind.Document) error {
		return cloudflare.NotYet(cloudflare.Call(ctx, u.Cloud, u.Live.events(method, queue, body), nil))
	}
	for queue, ids := range unwanted {
		if err := change(http.MethodDelete, queue, kind.Document{"ruleIds": ids}); err != nil {
			return err
		}
	}
	for _, n := range missing {
		rule := kind.Document{"actions": n.Actions, "prefix": n.Prefix, "suffix": n.Suffix}
		if err := change(http.MethodPut, n.Queue, kind.Document{"rules": []any{rule}}); err != nil {
			return err
		}
	}
	return nil
}
