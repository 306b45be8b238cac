package r2

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const (
	base  = "/accounts/ACCOUNT/r2/buckets"
	jobs  = "0123456789abcdef0123456789abcde1"
	mails = "0123456789abcdef0123456789abcde2"
)

func prepare(_ kindtest.T, s *cloudflaretest.Server) {
	s.AddZone(s.Account, "shop.example")
	s.AddZone(s.Account, "other.example")
	s.AddQueue(jobs, "jobs")
	s.AddQueue(mails, "mails")
}

// in is a jurisdiction as somebody else asks for it.
func in(jurisdiction string) http.Header { return http.Header{"Cf-R2-Jurisdiction": {jurisdiction}} }

// buckets are all with all that belongs to them; names differ between two makings.
func buckets(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	for _, jurisdiction := range []string{"default", "eu"} {
		ask := func(path string) any {
			status, envelope := s.TryWith(t, http.MethodGet, path, in(jurisdiction), nil)
			if status >= 300 {
				return nil
			}
			return envelope["result"]
		}
		found, _ := ask(base).(obj)["buckets"].([]any)
		for _, b := range found {
			b := maps.Clone(b.(obj))
			at := base + "/" + b["name"].(string)
			b["cors"], b["lifecycle"], b["public"] = ask(at+"/cors"), ask(at+"/lifecycle"), ask(at + "/domains/managed").(obj)["enabled"]
			b["domains"] = without(ask(at+"/domains/custom"), "zoneId")
			b["notifications"] = without(ask("/accounts/ACCOUNT/event_notifications/r2/"+b["name"].(string)+"/configuration"), "ruleId", "bucketName")
			if rules, ok := b["cors"].(obj); ok && len(rules["rules"].([]any)) == 0 {
				b["cors"] = nil
			}
			delete(b, "name")
			all = append(all, without(b))
		}
	}
	return all
}

// without is a tree without some fields, wherever they are.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for k, x := range v {
			out[k] = without(x, names...)
		}
		for _, name := range names {
			delete(out, name)
		}
		for k, x := range out { // what is left out and what is empty is the same
			if x == nil || x == "" {
				delete(out, k)
			}
		}
		return out
	case list:
		out := make(list, len(v))
		for i, x := range v {
			out[i] = without(x, names...)
		}
		return out
	}
	return v
}

// tuned has everything that a bucket can have.
func tuned() obj {
	return obj{
		"name": "assets", "locationHint": "weur", "storageClass": "InfrequentAccess", "publicDevelopmentUrl": true, "forceDestroy": true,
		"domains": obj{
			"cdn.shop.example": obj{"zone": "shop.example", "minTls": "1.2"},
			"old.shop.example": obj{"zone": "shop.example", "disabled": true},
		},
		"cors": list{obj{
			"id": "shop", "origins": list{"https://shop.example", "https://a.example"}, "methods": list{"PUT", "GET"}, "headers": list{"x-shop", "x-a"},
			"exposeHeaders": list{"etag", "date"}, "maxAge": "1h",
		}},
		"lifecycle": list{
			obj{"id": "logs", "prefix": "logs/", "deleteAfter": "720h", "infrequentAccessAfter": "168h"},
			obj{"id": "uploads", "abortUploadsAfter": "24h", "disabled": true},
		},
		"notifications": list{
			obj{"queue": jobs, "actions": list{"PutObject", "CopyObject"}, "prefix": "in/", "suffix": ".csv"},
			obj{"queue": mails, "actions": list{"DeleteObject"}},
		},
	}
}

// hands change each aspect as somebody else would, whole, with Cloudflare's own names.
func hands(ws cloudflaretest.Worlds) map[tree.Path]kindtest.Hand {
	type write func(s *cloudflaretest.Server, t kindtest.T, at, events string, h http.Header, p BucketProps)
	hand := func(do write) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			p := cloudflaretest.Declared[BucketProps](t, to)
			name := to.Attrs["name"].(string)
			do(ws.Of(w), t, base+"/"+name, "/accounts/ACCOUNT/event_notifications/r2/"+name+"/configuration", in(to.Attrs["jurisdiction"].(string)), p)
		}
	}
	seconds := func(d *time.Duration) obj { return obj{"condition": obj{"type": "Age", "maxAge": int64(d.Seconds())}} }
	return map[tree.Path]kindtest.Hand{
		"": hand(func(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, _ BucketProps) {
			s.DoWith(t, http.MethodDelete, at, h, nil)
		}),
		"storageClass": hand(func(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, p BucketProps) {
			h.Set("cf-r2-storage-class", "Standard")
			if p.StorageClass != nil {
				h.Set("cf-r2-storage-class", *p.StorageClass)
			}
			s.DoWith(t, http.MethodPatch, at, h, nil)
		}),
		"publicDevelopmentUrl": hand(func(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, p BucketProps) {
			s.DoWith(t, http.MethodPut, at+"/domains/managed", h, obj{"enabled": p.PublicDevelopmentURL})
		}),
		"cors": hand(func(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, p BucketProps) {
			rules := list{}
			for _, r := range p.CORS {
				rule := obj{"allowed": obj{"origins": r.Origins, "methods": r.Methods, "headers": append([]string{}, r.Headers...)}, "maxAgeSeconds": int64(r.MaxAge.Seconds())}
				if r.ID != "" {
					rule["id"] = r.ID
				}
				if r.ExposeHeaders != nil {
					rule["exposeHeaders"] = r.ExposeHeaders
				}
				rules = append(rules, rule)
			}
			s.DoWith(t, http.MethodPut, at+"/cors", h, obj{"rules": rules})
		}),
		"lifecycle": hand(func(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, p BucketProps) {
			rules := list{}
			for _, r := range p.Lifecycle {
				rule := obj{"id": r.ID, "enabled": !r.Disabled, "conditions": obj{"prefix": r.Prefix}}
				if r.AbortUploadsAfter != nil {
					rule["abortMultipartUploadsTransition"] = seconds(r.AbortUploadsAfter)
				}
				if r.DeleteAfter != nil {
					rule["deleteObjectsTransition"] = seconds(r.DeleteAfter)
				}
				if r.InfrequentAccessAfter != nil {
					to := seconds(r.InfrequentAccessAfter)
					to["storageClass"] = "InfrequentAccess"
					rule["storageClassTransitions"] = list{to}
				}
				rules = append(rules, rule)
			}
			s.DoWith(t, http.MethodPut, at+"/lifecycle", h, obj{"rules": rules})
		}),
		"domains":       hand(rewriteDomains),
		"notifications": hand(rewriteNotifications),
	}
}

func rewriteDomains(s *cloudflaretest.Server, t kindtest.T, at, _ string, h http.Header, p BucketProps) {
	now, _ := s.DoWith(t, http.MethodGet, at+"/domains/custom", h, nil).(obj)["domains"].([]any)
	for _, d := range now {
		s.DoWith(t, http.MethodDelete, at+"/domains/custom/"+d.(obj)["domain"].(string), h, nil)
	}
	zones := map[string]string{}
	all, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range all {
		zones[z.(obj)["name"].(string)] = z.(obj)["id"].(string)
	}
	for name, d := range p.Domains {
		body := obj{"domain": name, "zoneId": zones[d.Zone], "enabled": !d.Disabled}
		if d.MinTLS != nil {
			body["minTLS"] = *d.MinTLS
		}
		s.DoWith(t, http.MethodPost, at+"/domains/custom", h, body)
	}
}

func rewriteNotifications(s *cloudflaretest.Server, t kindtest.T, _, events string, h http.Header, p BucketProps) {
	for _, queue := range []string{jobs, mails} {
		s.TryWith(t, http.MethodDelete, events+"/queues/"+queue, h, nil)
	}
	for _, n := range p.Notifications {
		s.DoWith(t, http.MethodPut, events+"/queues/"+n.Queue, h, obj{"rules": list{obj{"actions": n.Actions, "prefix": n.Prefix, "suffix": n.Suffix}}})
	}
}

func bucketSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	return kindtest.Suite{
		Kind:  bucketKind.Erase(),
		World: ws.Make(prepare, buckets),
		Base:  obj{},
		Fault: cloudflaretest.FaultOf("R2"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "European", Props: obj{
				"jurisdiction": "eu", "lifecycle": list{},
				"notifications": list{obj{"queue": jobs, "actions": list{"PutObject"}}},
			}},
		},
		Hands: hands(ws),
		Ordered: map[tree.Path]string{
			"cors":      "the first rule that fits counts",
			"lifecycle": "R2 keeps rules as they were written",
		},
		Others: map[tree.Path][]any{
			"domains.*.zone":          {"other.example"},
			"notifications.*.queue":   {mails, jobs},
			"notifications.*.actions": {list{"LifecycleDeletion"}},
			"cors.*.methods":          {list{"HEAD"}},
			"cors.*.origins":          {list{"*"}},
			"cors.*.headers":          {list{"x-other"}},
			"cors.*.exposeHeaders":    {list{"date"}},
		},
		Steady: map[tree.Path]string{
			"name":         "a bucket keeps its name for life",
			"jurisdiction": "a bucket keeps its jurisdiction for life",
			"forceDestroy": "it is leave to delete, and nothing in R2",
		},
		Silent: map[tree.Path]string{
			"forceDestroy": "it is leave to delete, and nothing in R2",
			"locationHint": "it is heeded at creation alone",
		},
	}
}

func TestBucket(t *testing.T) { kindtest.Run(t, bucketSuite()) }

func TestCheck(t *testing.T) {
	kind := bucketKind.Erase()
	for _, c := range []struct {
		props obj
		want  string
	}{
		{tuned(), ""},
		{obj{"name": "ab"}, "want 3 to 63"},
		{obj{"name": "Assets"}, "want 3 to 63"},
		{obj{"name": "-assets"}, "want 3 to 63"},
		{obj{"name": strings.Repeat("a", 64)}, "want 3 to 63"},
		{obj{"jurisdiction": "us"}, "eu"},
		{obj{"cors": list{obj{"origins": list{"*"}, "methods": list{"OPTIONS"}}}}, "want one of GET"},
		{obj{"cors": list{obj{"origins": list{"*"}, "methods": list{"GET"}, "maxAge": "1500ms"}}}, "whole seconds"},
		{obj{"lifecycle": list{obj{"id": "a", "deleteAfter": "1500ms"}}}, "whole seconds"},
		{obj{"lifecycle": list{obj{"id": "a", "deleteAfter": "1h"}, obj{"id": "a"}}}, "two rules"},
		{obj{"notifications": list{obj{"queue": "jobs", "actions": list{"PutObject"}}}}, "32 hexadecimal digits"},
	} {
		err := kind.Decode(&reconcile.Job{Props: c.props})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.props, err, c.want)
		}
	}
}
