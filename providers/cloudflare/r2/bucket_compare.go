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
)

// compareBucket states every aspect. Each has a call of its own.
func compareBucket(d *bucketDiff, want BucketProps, live liveBucket) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name)
	}
	reconcile.Fixed(d, "jurisdiction", *want.Jurisdiction, live.jurisdiction)
	reconcile.Value(d, "storageClass", *want.StorageClass, live.storageClass, call("PatchBucket", func(on liveBucket) cloudflare.Request {
		r := on.request(http.MethodPatch, "", nil)
		r.Header.Set("Cf-R2-Storage-Class", *want.StorageClass)
		return r
	}))
	reconcile.Value(d, "publicDevelopmentUrl", want.PublicDevelopmentURL, live.public, call("PutBucketDomainManaged", func(on liveBucket) cloudflare.Request {
		return on.request(http.MethodPut, "/domains/managed", map[string]any{"enabled": want.PublicDevelopmentURL})
	}))
	reconcile.List(d, "cors", want.CORS, live.cors, call("PutBucketCors", func(on liveBucket) cloudflare.Request {
		if len(want.CORS) == 0 {
			return on.request(http.MethodDelete, "/cors", nil)
		}
		return on.request(http.MethodPut, "/cors", writeCORS(want.CORS))
	}))
	put := call("PutBucketLifecycle", func(on liveBucket) cloudflare.Request {
		return on.request(http.MethodPut, "/lifecycle", writeLifecycle(want.Lifecycle))
	})
	if live.foreign {
		reconcile.Value(d, "lifecycle", any("the declared rules"), any("rules by date, or of several classes"), put)
	} else {
		reconcile.List(d, "lifecycle", want.Lifecycle, live.lifecycle, put)
	}
	reconcile.Map(d, "domains", withTLS(want.Domains), told(want.Domains, live.domains), "UpdateBucketDomainCustom", syncDomains)
	have := make([]Notification, len(live.notifications))
	for i, n := range live.notifications {
		have[i] = n.Notification
	}
	reconcile.List(d, "notifications", ordered(want.Notifications), ordered(have), &reconcile.Operation[liveBucket]{
		Name: "PutBucketEventNotification", Do: syncNotifications(ordered(want.Notifications)),
	})
}

// call is an operation that is one request.
func call(name string, request func(on liveBucket) cloudflare.Request) *reconcile.Operation[liveBucket] {
	return &reconcile.Operation[liveBucket]{Name: name, Do: func(ctx context.Context, on reconcile.On[liveBucket]) error {
		return cloudflare.NotYet(cloudflare.Call(ctx, on.Cloud, request(on.Live), nil))
	}}
}

const lowestTLS = "1.0"

// withTLS are domains with what Cloudflare fills in.
func withTLS(domains map[string]Domain) map[string]Domain {
	all := map[string]Domain{}
	for name, d := range domains {
		if d.MinTLS == nil {
			d.MinTLS = new(lowestTLS)
		}
		all[name] = d
	}
	return all
}

// told are live domains, with their zones told as the author does.
func told(want map[string]Domain, live map[string]liveDomain) map[string]Domain {
	all := map[string]Domain{}
	for name, d := range live {
		d.Zone = d.zoneName
		if cloudflare.IsID(want[name].Zone) {
			d.Zone = d.zoneID
		}
		all[name] = d.Domain
	}
	return all
}

// syncDomains attaches, changes and detaches names. One that is attached to a zone can only be attached anew to another.
func syncDomains(ctx context.Context, on reconcile.On[liveBucket], put map[string]Domain, drop []string) error {
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
		if attached && have.zoneID != zone.ID {
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

// taken is about a name that another bucket, or a Worker, has. It does not go away by waiting: nobody takes it away.
func taken(err error) error {
	if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Status == http.StatusConflict {
		return cloudflare.Invalid(reconcile.WithHint(err, "detach the name from what has it; a bucket that is replaced keeps its names until it is deleted: use deleteFirst"))
	}
	return err
}

func detach(ctx context.Context, cloud reconcile.Cloud, t target, name string) error {
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodDelete, "/domains/custom/"+url.PathEscape(name), nil), nil)
	if cloudflare.IsAbsent(err) {
		return nil
	}
	return err
}

// syncNotifications takes away the rules that are not wanted, and then adds those that are: R2 refuses rules that
// overlap.
func syncNotifications(want []Notification) func(context.Context, reconcile.On[liveBucket]) error {
	return func(ctx context.Context, on reconcile.On[liveBucket]) error {
		missing := slices.Clone(want)
		unwanted := map[string][]string{}
		for _, n := range on.Live.notifications {
			i := slices.IndexFunc(missing, func(w Notification) bool { return reflect.DeepEqual(w, ordered([]Notification{n.Notification})[0]) })
			if i < 0 {
				unwanted[n.Queue] = append(unwanted[n.Queue], n.id)
				continue
			}
			missing = slices.Delete(missing, i, i+1)
		}
		for queue, ids := range unwanted {
			if err := cloudflare.Call(ctx, on.Cloud, on.Live.events(http.MethodDelete, queue, map[string]any{"ruleIds": ids}), nil); err != nil {
				return cloudflare.NotYet(err)
			}
		}
		for _, n := range missing {
			rule := map[string]any{"actions": n.Actions, "prefix": n.Prefix, "suffix": n.Suffix}
			if err := cloudflare.Call(ctx, on.Cloud, on.Live.events(http.MethodPut, n.Queue, map[string]any{"rules": []any{rule}}), nil); err != nil {
				return cloudflare.NotYet(err)
			}
		}
		return nil
	}
}
