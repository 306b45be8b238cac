package r2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
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

func targetOf(s bucketSite) (target, error) {
	t := target{account: s.Location.Account, jurisdiction: anywhere, name: s.Name}
	if s.Want.Jurisdiction != nil {
		t.jurisdiction = *s.Want.Jurisdiction
	}
	if s.ID != "" {
		t.jurisdiction, t.name = anywhere, s.ID
		if jurisdiction, name, ok := strings.Cut(s.ID, "/"); ok {
			t.jurisdiction, t.name = jurisdiction, name
		}
	}
	if s.Last != nil {
		t.jurisdiction, t.name = s.Last.Jurisdiction, string(s.Last.Name)
	}
	if t.name == "" {
		return t, errNoName
	}
	return t, nil
}

// observeBucket reads the bucket and all that belongs to it.
func observeBucket(ctx context.Context, s bucketSite) (live liveBucket, err error) {
	if live.target, err = targetOf(s); err != nil {
		return live, err
	}
	var bucket wireBucket
	if err := cloudflare.Call(ctx, s.Cloud, live.request(http.MethodGet, "", nil), &bucket); err != nil {
		return live, cloudflare.Absent(err)
	}
	live.have = BucketProps{Jurisdiction: &live.jurisdiction, StorageClass: &bucket.StorageClass}
	var (
		managed         struct{ Enabled bool }
		domains         wireDomains
		cors, lifecycle json.RawMessage
		events          wireNotifications
	)
	// A bucket without CORS rules or notifications answers with an error of their own.
	for _, part := range []struct {
		request cloudflare.Request
		into    any
		none    int64
	}{
		{live.request(http.MethodGet, "/domains/managed", nil), &managed, 0},
		{live.request(http.MethodGet, "/domains/custom", nil), &domains, 0},
		{live.request(http.MethodGet, "/cors", nil), &cors, 10059},
		{live.request(http.MethodGet, "/lifecycle", nil), &lifecycle, 0},
		{live.events(http.MethodGet, "", nil), &events, 11015},
	} {
		err := cloudflare.Call(ctx, s.Cloud, part.request, part.into)
		if refused, ok := errors.AsType[*cloudflare.Error](err); err != nil && (part.none == 0 || !ok || !refused.Has(part.none)) {
			return live, cloudflare.NotYet(err)
		}
	}
	live.have.PublicDevelopmentURL = managed.Enabled
	if live.have.CORS, err = corsTable.ReadList(cloudflare.Document(string(cors))["rules"]); err != nil {
		return live, err
	}
	if live.have.Lifecycle, err = readLifecycle(cloudflare.Document(string(lifecycle))["rules"]); err != nil {
		return live, err
	}
	live.domains, live.notifications = domains.read(), events.read()
	for _, n := range live.notifications {
		live.have.Notifications = append(live.have.Notifications, n.Notification)
	}
	live.have.Notifications = ordered(live.have.Notifications)
	keys, err := objects(ctx, s.Cloud, live.target, 1)
	live.objects = len(keys) > 0
	return live, cloudflare.NotYet(err)
}

// objects are the keys of the first n objects.
func objects(ctx context.Context, cloud kind.Cloud, t target, n int) ([]string, error) {
	var list []struct{ Key string }
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodGet, fmt.Sprintf("/objects?per_page=%d", n), nil), &list)
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	return keys, err
}

// createBucket makes one. A name that exists already is refused; the observation that follows shows whose it is.
func createBucket(ctx context.Context, s bucketSite) (Bucket, error) {
	body := kind.Document{"name": s.Name}
	if s.Want.LocationHint != "" {
		body["locationHint"] = s.Want.LocationHint
	}
	if err := bucketTable.Created(s.Want, body); err != nil {
		return Bucket{}, err
	}
	err := cloudflare.Call(ctx, s.Cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + s.Location.Account + "/r2/buckets", Header: header(*s.Want.Jurisdiction), Body: body,
	}, nil)
	return Bucket{Name: Name(s.Name), Jurisdiction: *s.Want.Jurisdiction}, err
}

// deleteBucket removes what points to the bucket, and its objects where that is permitted, and then the bucket.
func deleteBucket(ctx context.Context, s bucketSite) error {
	live, err := observeBucket(ctx, s)
	if err != nil {
		return err
	}
	queues := map[string]bool{}
	for _, n := range live.notifications {
		queues[n.Queue] = true
	}
	for queue := range queues {
		if err := cloudflare.Call(ctx, s.Cloud, live.events(http.MethodDelete, queue, nil), nil); err != nil && !cloudflare.IsAbsent(err) {
			return err
		}
	}
	for name := range live.domains {
		if err := detach(ctx, s.Cloud, live.target, name); err != nil {
			return err
		}
	}
	var cycle cloudflare.Cycle // without it a bucket whose objects stay would be emptied for ever
	for live.objects && s.MayDelete {
		keys, err := objects(ctx, s.Cloud, live.target, 1000)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := cycle.Check(keys); err != nil {
			return err
		}
		if err := cloudflare.Call(ctx, s.Cloud, live.request(http.MethodDelete, "/objects", keys), nil); err != nil {
			return err
		}
	}
	return cloudflare.Call(ctx, s.Cloud, live.request(http.MethodDelete, "", nil), nil)
}

// listBuckets goes through all jurisdictions, each of which is listed apart. One that the account has no use of is
// refused, and has no buckets.
func listBuckets(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	var all []kind.Found
	for _, jurisdiction := range []string{anywhere, "eu", "fedramp"} {
		var cycle cloudflare.Cycle
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
			if err := cycle.Check(page.Buckets); err != nil {
				return nil, err
			}
			for _, b := range page.Buckets {
				after = b.Name
				if strings.HasPrefix(b.Name, scope.Prefix) {
					all = append(all, kind.Found{Kind: bucketType, Place: scope.Place, Identity: identity(jurisdiction, b.Name), Name: b.Name})
				}
			}
		}
	}
	return all, nil
}
