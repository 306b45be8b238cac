package workers

import (
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// rowsOf are the bindings of props as somebody else would write them, field by field.
func rowsOf(t kindtest.T, p WorkerProps) []any {
	t.Helper()
	all := list{}
	add := func(name string, row obj) {
		row["name"] = name
		for field, v := range row {
			if v == nil || fmt.Sprint(v) == "" || fmt.Sprint(v) == "[]" {
				delete(row, field)
			}
		}
		all = append(all, row)
	}
	for name, entry := range p.Env {
		switch v := entry.(type) {
		case string:
			add(name, obj{"type": "plain_text", "text": v})
		case obj:
			var b Binding
			if err := props.Decode(v, &b); err != nil {
				t.Fatalf("%v", err)
			}
			add(name, rowOfBinding(b))
		default:
			add(name, obj{"type": "json", "json": v})
		}
	}
	for name, b := range p.Bindings {
		add(name, rowOfBinding(b))
	}
	return all
}

func rowOfBinding(b Binding) obj {
	switch {
	case b.Text != nil:
		return obj{"type": "plain_text", "text": *b.Text}
	case b.JSON != nil:
		return obj{"type": "json", "json": b.JSON}
	case b.Secret != "":
		return obj{"type": "secret_text", "text": string(b.Secret)}
	case b.KV != "":
		return obj{"type": "kv_namespace", "namespace_id": b.KV}
	case b.R2 != "":
		return obj{"type": "r2_bucket", "bucket_name": b.R2, "jurisdiction": b.Jurisdiction}
	case b.D1 != "":
		return obj{"type": "d1", "database_id": b.D1}
	case b.Queue != "":
		return obj{"type": "queue", "queue_name": b.Queue}
	case b.DurableObject != "":
		return obj{"type": "durable_object_namespace", "class_name": b.DurableObject, "script_name": b.Script}
	case b.Workflow != "":
		return obj{"type": "workflow", "workflow_name": b.Workflow, "class_name": b.Class, "script_name": b.Script}
	case b.Service != "":
		return obj{"type": "service", "service": b.Service, "entrypoint": b.Entrypoint}
	case b.Vectorize != "":
		return obj{"type": "vectorize", "index_name": b.Vectorize}
	case b.Hyperdrive != "":
		return obj{"type": "hyperdrive", "id": b.Hyperdrive}
	case b.AISearch != nil:
		return obj{"type": "ai_search", "instance_name": b.AISearch.Instance, "namespace": b.AISearch.Namespace}
	case b.AISearchNamespace != "":
		return obj{"type": "ai_search_namespace", "namespace": b.AISearchNamespace}
	case b.AnalyticsEngine != "":
		return obj{"type": "analytics_engine", "dataset": b.AnalyticsEngine}
	case b.Artifacts != "":
		return obj{"type": "artifacts", "namespace": b.Artifacts}
	case b.DispatchNamespace != "":
		return obj{"type": "dispatch_namespace", "namespace": b.DispatchNamespace, "outbound": outboundOf(b.Outbound)}
	case b.Flagship != "":
		return obj{"type": "flagship", "app_id": b.Flagship}
	case b.MTLS != "":
		return obj{"type": "mtls_certificate", "certificate_id": b.MTLS}
	case b.Pipeline != "":
		return obj{"type": "pipelines", "pipeline": b.Pipeline}
	case b.RateLimit != nil:
		return obj{"type": "ratelimit", "namespace_id": b.RateLimit.Namespace, "simple": obj{"limit": b.RateLimit.Limit, "period": b.RateLimit.Period / time.Second}}
	case b.SecretKey != nil:
		k := b.SecretKey
		row := obj{"type": "secret_key", "algorithm": k.Algorithm, "format": k.Format, "usages": k.Usages, "key_base64": string(k.Base64)}
		if k.JWK != "" {
			row["key_jwk"] = obj{"kty": "oct"}
		}
		return row
	case b.SecretsStore != nil:
		return obj{"type": "secrets_store_secret", "store_id": b.SecretsStore.Store, "secret_name": b.SecretsStore.Name}
	case b.SendEmail != nil:
		m := b.SendEmail
		return obj{"type": "send_email", "destination_address": m.Destination, "allowed_destination_addresses": m.Destinations, "allowed_sender_addresses": m.Senders}
	case b.VPCService != "":
		return obj{"type": "vpc_service", "service_id": b.VPCService}
	case b.VPCNetwork != nil:
		return obj{"type": "vpc_network", "network_id": b.VPCNetwork.Network, "tunnel_id": b.VPCNetwork.Tunnel}
	}
	for kind, set := range map[string]bool{
		"ai": b.AI, "assets": b.Assets, "browser": b.Browser, "images": b.Images, "media": b.Media, "version_metadata": b.VersionMetadata,
		"worker_loader": b.WorkerLoader,
	} {
		if set {
			return obj{"type": kind}
		}
	}
	return obj{"type": "inherit"}
}

func outboundOf(o *Outbound) any {
	if o == nil {
		return nil
	}
	var params []any
	for _, name := range o.Params {
		params = append(params, obj{"name": name})
	}
	worker := obj{"service": o.Worker}
	if o.Entrypoint != "" {
		worker["entrypoint"] = o.Entrypoint
	}
	out := obj{"worker": worker}
	if params != nil {
		out["params"] = params
	}
	return out
}

// settingsOf are the settings of props that a hand changes, as somebody else would write them.
func settingsOf(t kindtest.T, p WorkerProps, which string) obj {
	t.Helper()
	switch which {
	case "env", "bindings":
		return obj{"bindings": rowsOf(t, p)}
	case "compatibilityDate":
		return obj{"compatibility_date": p.CompatibilityDate}
	case "compatibilityFlags":
		return obj{"compatibility_flags": append([]string{}, p.CompatibilityFlags...)}
	case "limits":
		limits := obj{}
		if l := p.Limits; l != nil && l.CPU != nil {
			limits["cpu_ms"] = l.CPU.Milliseconds()
		}
		if l := p.Limits; l != nil && l.Subrequests != nil {
			limits["subrequests"] = *l.Subrequests
		}
		return obj{"limits": limits}
	case "placement":
		switch l := p.Placement; {
		case l == nil:
			return obj{"placement": nil}
		case l.Mode != "":
			return obj{"placement": obj{"mode": l.Mode}}
		case l.Region != "":
			return obj{"placement": obj{"region": l.Region}}
		case l.Host != "":
			return obj{"placement": obj{"mode": "targeted", "target": list{obj{"host": l.Host}}}}
		default:
			return obj{"placement": obj{"mode": "targeted", "hostname": l.Hostname}}
		}
	case "observability":
		return obj{"observability": observed(p.Observability)}
	case "logpush":
		return obj{"logpush": p.Logpush}
	case "tailConsumers":
		consumers := list{}
		for _, c := range p.TailConsumers {
			consumers = append(consumers, obj{"service": c.Service})
		}
		return obj{"tail_consumers": consumers}
	}
	t.Fatalf("no settings for %s", which)
	return nil
}

func observed(o *Observability) obj {
	if o == nil {
		return obj{"enabled": false}
	}
	on := func(p *bool) bool { return p == nil || *p }
	all := obj{"enabled": on(o.Enabled)}
	rate := func(into obj, p *float64) {
		if p != nil {
			into["head_sampling_rate"] = *p
		}
	}
	rate(all, o.SamplingRate)
	if l := o.Logs; l != nil {
		logs := obj{"enabled": on(l.Enabled), "invocation_logs": on(l.InvocationLogs), "persist": on(l.Persist), "destinations": l.Destinations}
		rate(logs, l.SamplingRate)
		all["logs"] = logs
	}
	if tr := o.Traces; tr != nil {
		traces := obj{"enabled": on(tr.Enabled), "persist": on(tr.Persist), "destinations": tr.Destinations}
		rate(traces, tr.SamplingRate)
		all["traces"] = traces
	}
	return all
}

// hands change Workers in the dashboard, as it were.
func hands(ws cloudflaretest.Worlds) map[tree.Path]kindtest.Hand {
	typed := func(do func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, attrs obj)) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			p := cloudflaretest.Declared[WorkerProps](t, to)
			name, _ := to.Attrs["name"].(string)
			do(t, ws.Of(w), name, p, to.Attrs)
		}
	}
	all := map[tree.Path]kindtest.Hand{
		"": typed(func(t kindtest.T, s *cloudflaretest.Server, name string, _ WorkerProps, _ obj) {
			s.Do(t, http.MethodDelete, scripts+"/"+name+"?force=true", nil)
		}),
		"code":   typed(upload(false)),
		"assets": typed(upload(true)),
		"tags": typed(func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
			tags := list{}
			for _, tag := range s.Do(t, http.MethodGet, scripts+"/"+name+"/script-settings", nil).(obj)["tags"].([]any) {
				if isOwnerTag(tag.(string)) {
					tags = append(tags, tag)
				}
			}
			for _, tag := range p.Tags {
				tags = append(tags, tag)
			}
			s.Do(t, http.MethodPatch, scripts+"/"+name+"/script-settings", obj{"tags": tags})
		}),
		"crons": typed(func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
			crons := list{}
			for _, cron := range p.Crons {
				crons = append(crons, obj{"cron": cron})
			}
			s.Do(t, http.MethodPut, scripts+"/"+name+"/schedules", crons)
		}),
		"domains": typed(handDomains),
		"routes":  typed(handRoutes),
	}
	for _, which := range []string{"env", "bindings", "compatibilityDate", "compatibilityFlags", "limits", "placement", "observability", "logpush", "tailConsumers"} {
		all[tree.Path(which)] = typed(func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
			s.PatchSettings(t, name, settingsOf(t, p, which))
		})
	}
	for _, which := range []tree.Path{"workersDev", "previews"} {
		all[which] = typed(func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
			s.Do(t, http.MethodPost, scripts+"/"+name+"/subdomain", obj{"enabled": p.WorkersDev, "previews_enabled": p.Previews})
		})
	}
	return all
}

// upload uploads something else: other code, or the same code with other assets. All else stays.
func upload(sameCode bool) func(kindtest.T, *cloudflaretest.Server, string, WorkerProps, obj) {
	return func(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
		t.Helper()
		at := scripts + "/" + name
		u := cloudflaretest.Upload{Metadata: obj{}}
		uploads := s.Uploads(name)
		last := uploads[len(uploads)-1]
		now := s.Do(t, http.MethodGet, at+"/settings", nil).(obj)
		for _, field := range []string{"compatibility_date", "compatibility_flags", "limits", "placement", "observability", "logpush", "tail_consumers"} {
			if v := now[field]; v != nil && !reflect.DeepEqual(v, obj{}) {
				u.Metadata[field] = v
			}
		}
		if main := last.Metadata["main_module"]; main != nil {
			u.Metadata["main_module"] = main
		}
		bindings := list{}
		for _, b := range now["bindings"].([]any) {
			if b.(obj)["type"] != "assets" || p.Assets != nil {
				bindings = append(bindings, obj{"type": "inherit", "name": b.(obj)["name"]})
			}
		}
		if u.Metadata["main_module"] != nil {
			u.Metadata["bindings"] = bindings
			u.Modules = append(u.Modules, last.Modules...)
		}
		if sameCode {
			if p.Assets != nil {
				const hash = "0123456789abcdef0123456789abcdef"
				session := s.Do(t, http.MethodPost, at+"/assets-upload-session", obj{"manifest": obj{"/by-hand.txt": obj{"hash": hash, "size": 4}}}).(obj)
				ticket := session["jwt"].(string)
				if len(session["buckets"].([]any)) > 0 {
					ticket = s.UploadAsset(t, ticket, hash, "hand")
				}
				u.Metadata["assets"] = obj{"jwt": ticket, "config": obj{}}
			}
			s.Upload(t, name, u)
			return
		}
		u.Metadata["keep_assets"] = true
		u.Metadata["main_module"] = "by-hand.js"
		text := "export class Room {} export class Desk {} export class Hall {} export default { async fetch() { return new Response('by hand') } }"
		u.Modules = []cloudflaretest.Module{{Name: "by-hand.js", Type: "application/javascript+module", Content: []byte(text)}}
		s.Upload(t, name, u)
	}
}

func zoneID(t kindtest.T, s *cloudflaretest.Server, named, host string) string {
	t.Helper()
	var id string
	longest := ""
	for _, z := range s.Do(t, http.MethodGet, "/zones", nil).([]any) {
		name := z.(obj)["name"].(string)
		within := host == name || len(host) > len(name) && host[len(host)-len(name)-1:] == "."+name
		if name == named || named == "" && within && len(name) > len(longest) {
			id, longest = z.(obj)["id"].(string), name
		}
	}
	return id
}

func handDomains(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
	t.Helper()
	for _, d := range s.Do(t, http.MethodGet, account+"/workers/domains?service="+name, nil).([]any) {
		s.Do(t, http.MethodDelete, account+"/workers/domains/"+d.(obj)["id"].(string), nil)
	}
	for _, host := range p.Domains {
		s.Do(t, http.MethodPut, account+"/workers/domains", obj{"hostname": host, "service": name, "zone_id": zoneID(t, s, "", host)})
	}
}

func handRoutes(t kindtest.T, s *cloudflaretest.Server, name string, p WorkerProps, _ obj) {
	t.Helper()
	for _, z := range s.Do(t, http.MethodGet, "/zones", nil).([]any) {
		at := "/zones/" + z.(obj)["id"].(string) + "/workers/routes"
		for _, r := range s.Do(t, http.MethodGet, at, nil).([]any) {
			if r.(obj)["script"] == name {
				s.Do(t, http.MethodDelete, at+"/"+r.(obj)["id"].(string), nil)
			}
		}
	}
	for pattern, r := range p.Routes {
		s.Do(t, http.MethodPost, "/zones/"+zoneID(t, s, r.Zone, hostOf(pattern))+"/workers/routes", obj{"pattern": pattern, "script": name})
	}
}
