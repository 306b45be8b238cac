package r2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// target is where a bucket is: each jurisdiction has names of its own.
type target struct{ account, jurisdiction, name string }

// header leads a call to a jurisdiction.
func header(jurisdiction string) http.Header {
	h := http.Header{}
	if jurisdiction != anywhere && jurisdiction != "" {
		h.Set("Cf-R2-Jurisdiction", jurisdiction)
	}
	return h
}

// request is a call about a bucket.
func (t target) request(method, below string, body any) cloudflare.Request {
	return cloudflare.Request{
		Method: method, Path: "/accounts/" + t.account + "/r2/buckets/" + url.PathEscape(t.name) + below,
		Header: header(t.jurisdiction), Body: body,
	}
}

// events is a call about the notifications of a bucket, to one queue or, without one, to all.
func (t target) events(method, queue string, body any) cloudflare.Request {
	path := "/accounts/" + t.account + "/event_notifications/r2/" + url.PathEscape(t.name) + "/configuration"
	if queue != "" {
		path += "/queues/" + url.PathEscape(queue)
	}
	return cloudflare.Request{Method: method, Path: path, Header: header(t.jurisdiction), Body: body}
}

// identity is a name, with the jurisdiction before it where that is not the default.
func identity(jurisdiction, name string) string {
	if jurisdiction == anywhere {
		return name
	}
	return jurisdiction + "/" + name
}

var errNoName = errors.New("a bucket is found by its name, and there is none")

func targetOf(site bucketSite) (target, error) {
	t := target{account: site.Place.Account, jurisdiction: anywhere, name: site.Name}
	if site.Want.Jurisdiction != nil {
		t.jurisdiction = *site.Want.Jurisdiction
	}
	if site.ID != "" {
		t.jurisdiction, t.name = anywhere, site.ID
		if jurisdiction, name, ok := strings.Cut(site.ID, "/"); ok {
			t.jurisdiction, t.name = jurisdiction, name
		}
	}
	if site.Last != nil {
		t.jurisdiction, t.name = site.Last.Jurisdiction, string(site.Last.Name)
	}
	if t.name == "" {
		return t, errNoName
	}
	return t, nil
}

// observeBucket reads the bucket and all that belongs to it.
func observeBucket(ctx context.Context, site bucketSite) (liveBucket, error) {
	t, err := targetOf(site)
	if err != nil {
		return liveBucket{}, err
	}
	var bucket wireBucket
	if err := cloudflare.Call(ctx, site.Cloud, t.request(http.MethodGet, "", nil), &bucket); err != nil {
		return liveBucket{}, cloudflare.Absent(err)
	}
	live := liveBucket{target: t, storageClass: bucket.StorageClass}
	for _, read := range []func(context.Context, reconcile.Cloud, *liveBucket) error{
		readPublic, readDomains, readRules, readNotifications, readObjects,
	} {
		if err := read(ctx, site.Cloud, &live); err != nil {
			return liveBucket{}, err
		}
	}
	return live, nil
}

func readPublic(ctx context.Context, cloud reconcile.Cloud, live *liveBucket) error {
	var managed struct{ Enabled bool }
	err := cloudflare.Call(ctx, cloud, live.request(http.MethodGet, "/domains/managed", nil), &managed)
	live.public = managed.Enabled
	return cloudflare.NotYet(err)
}

func readDomains(ctx context.Context, cloud reconcile.Cloud, live *liveBucket) error {
	var custom struct {
		Domains []struct {
			wireDomain
			ZoneName string `json:"zoneName"`
		}
	}
	err := cloudflare.Call(ctx, cloud, live.request(http.MethodGet, "/domains/custom", nil), &custom)
	live.domains = map[string]liveDomain{}
	for _, d := range custom.Domains {
		tls := d.MinTLS
		if tls == "" {
			tls = lowestTLS
		}
		live.domains[d.Domain] = liveDomain{Domain: Domain{MinTLS: &tls, Disabled: !d.Enabled}, zoneID: d.ZoneID, zoneName: d.ZoneName}
	}
	return cloudflare.NotYet(err)
}

// readRules reads the rules for browsers, of which there may be none at all, and those for old objects.
func readRules(ctx context.Context, cloud reconcile.Cloud, live *liveBucket) error {
	var cors wireCORS
	err := cloudflare.Call(ctx, cloud, live.request(http.MethodGet, "/cors", nil), &cors)
	if err != nil && !has(err, noCORS) {
		return cloudflare.NotYet(err)
	}
	live.cors = readCORS(cors)
	var lifecycle wireLifecycle
	err = cloudflare.Call(ctx, cloud, live.request(http.MethodGet, "/lifecycle", nil), &lifecycle)
	live.lifecycle, live.foreign = readLifecycle(lifecycle)
	return cloudflare.NotYet(err)
}

// What R2 answers about a bucket without one of its parts.
const (
	noCORS          = 10059
	noNotifications = 11015
)

func has(err error, code int64) bool {
	refused, ok := errors.AsType[*cloudflare.Error](err)
	return ok && refused.Has(code)
}

func readNotifications(ctx context.Context, cloud reconcile.Cloud, live *liveBucket) error {
	var all wireNotifications
	err := cloudflare.Call(ctx, cloud, live.events(http.MethodGet, "", nil), &all)
	if err != nil && !has(err, noNotifications) {
		return cloudflare.NotYet(err)
	}
	for _, q := range all.Queues {
		for _, r := range q.Rules {
			live.notifications = append(live.notifications, liveNotification{
				Notification{Queue: q.QueueID, Actions: r.Actions, Prefix: r.Prefix, Suffix: r.Suffix}, r.ID,
			})
		}
	}
	return nil
}

func readObjects(ctx context.Context, cloud reconcile.Cloud, live *liveBucket) error {
	keys, err := objects(ctx, cloud, live.target, 1)
	live.objects = len(keys) > 0
	return cloudflare.NotYet(err)
}

// objects are the keys of the first n objects.
func objects(ctx context.Context, cloud reconcile.Cloud, t target, n int) ([]string, error) {
	var list []struct{ Key string }
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodGet, fmt.Sprintf("/objects?per_page=%d", n), nil), &list)
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	return keys, err
}

// createBucket makes one. A name that there is already is refused; the look that follows tells whose it is.
func createBucket(ctx context.Context, site bucketSite) (Bucket, error) {
	t := target{account: site.Place.Account, jurisdiction: *site.Want.Jurisdiction, name: site.Name}
	body := map[string]any{"name": t.name, "storageClass": *site.Want.StorageClass}
	if site.Want.LocationHint != "" {
		body["locationHint"] = site.Want.LocationHint
	}
	err := cloudflare.Call(ctx, site.Cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + t.account + "/r2/buckets", Header: header(t.jurisdiction), Body: body,
	}, nil)
	if err != nil {
		return Bucket{}, err
	}
	return Bucket{Name: Name(t.name), Jurisdiction: t.jurisdiction}, nil
}

// deleteBucket takes away what points to the bucket, and its objects where there is leave, and then the bucket.
func deleteBucket(ctx context.Context, site bucketSite) error {
	live, err := observeBucket(ctx, site)
	if err != nil {
		return err
	}
	if live.objects && !site.MayDelete {
		return reconcile.WithHint(fmt.Errorf("bucket %s: %w: objects", live.name, reconcile.ErrHoldsData),
			"empty it, set forceDestroy, or allow the deletion of its data")
	}
	for queue := range queuesOf(live.notifications) {
		if err := cloudflare.Call(ctx, site.Cloud, live.events(http.MethodDelete, queue, nil), nil); err != nil && !cloudflare.IsAbsent(err) {
			return err
		}
	}
	for name := range live.domains {
		if err := detach(ctx, site.Cloud, live.target, name); err != nil {
			return err
		}
	}
	for live.objects {
		keys, err := objects(ctx, site.Cloud, live.target, 1000)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := cloudflare.Call(ctx, site.Cloud, live.request(http.MethodDelete, "/objects", keys), nil); err != nil {
			return err
		}
	}
	return cloudflare.Call(ctx, site.Cloud, live.request(http.MethodDelete, "", nil), nil)
}

func queuesOf(all []liveNotification) map[string]bool {
	queues := map[string]bool{}
	for _, n := range all {
		queues[n.Queue] = true
	}
	return queues
}

// listBuckets goes through all jurisdictions, each of which is listed apart. One that the account has no use of is
// refused, and has no buckets.
func listBuckets(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	for _, jurisdiction := range []string{anywhere, "eu", "fedramp"} {
		for after := ""; ; {
			var page struct{ Buckets []wireBucket }
			err := cloudflare.Call(ctx, scope.Cloud, cloudflare.Request{
				Method: http.MethodGet, Header: header(jurisdiction),
				Path: "/accounts/" + scope.Place.Account + "/r2/buckets?per_page=1000&start_after=" + url.QueryEscape(after),
			}, &page)
			if jurisdiction != anywhere && scope.Cloud.Classify(err) == reconcile.Denied {
				break
			}
			if err != nil {
				return nil, err
			}
			if len(page.Buckets) == 0 {
				break
			}
			for _, b := range page.Buckets {
				after = b.Name
				if strings.HasPrefix(b.Name, scope.Prefix) {
					all = append(all, reconcile.Found{Kind: bucketType, Place: scope.Place, Identity: identity(jurisdiction, b.Name), Name: b.Name})
				}
			}
		}
	}
	return all, nil
}
