package cloudflaretest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
)

// TestDomainsAndRoutes: a name or a pattern leads to one Worker, and is not taken from another one.
func TestDomainsAndRoutes(t *testing.T) {
	t.Parallel()
	s := Start(t)
	zone := s.AddZone(s.Account, "shop.example")
	s.AddScript("shop")
	s.AddScript("other")
	s.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", object{"type": "A", "name": "taken.shop.example", "content": "192.0.2.1", "ttl": 1})
	const domains = "/accounts/ACCOUNT/workers/domains"
	made := s.Do(t, http.MethodPut, domains, object{"hostname": "www.shop.example", "service": "shop", "zone_id": zone}).(object)
	again := s.Do(t, http.MethodPut, domains, object{"hostname": "www.shop.example", "service": "shop"}).(object)
	if made["id"] != again["id"] || made["zone_name"] != "shop.example" {
		t.Errorf("made %v, and then %v", made, again)
	}
	for _, c := range []struct {
		name, service string
		code          int
	}{
		{"www.shop.example", "other", 100116}, {"taken.shop.example", "shop", 100117}, {"shop.example", "none", 10007}, {"other.example", "shop", 7003},
	} {
		if _, envelope := s.TryWith(t, http.MethodPut, domains, nil, object{"hostname": c.name, "service": c.service}); codeOf(envelope) != c.code {
			t.Errorf("%s to %s: %v, want %d", c.name, c.service, envelope["errors"], c.code)
		}
	}
	for query, want := range map[string]int{"service=shop": 1, "service=other": 0, "hostname=www.shop.example": 1, "zone_id=" + zone: 1} {
		if list := s.Do(t, http.MethodGet, domains+"?"+query, nil).([]any); len(list) != want {
			t.Errorf("%s: %v", query, list)
		}
	}
	s.Do(t, http.MethodDelete, fmt.Sprintf("%s/%s", domains, made["id"]), nil)

	routes := "/zones/" + zone + "/workers/routes"
	first := s.Do(t, http.MethodPost, routes, object{"pattern": "shop.example/api/*", "script": "shop"}).(object)
	none := s.Do(t, http.MethodPost, routes, object{"pattern": "*.shop.example/static/*"}).(object)
	if none["script"] != nil {
		t.Errorf("a route to nothing: %v", none)
	}
	for _, c := range []struct {
		pattern, script string
		code            int
	}{{"shop.example/api/*", "other", 10020}, {"shop.example/*", "none", 10019}, {"other.example/*", "shop", 10022}} {
		if _, envelope := s.TryWith(t, http.MethodPost, routes, nil, object{"pattern": c.pattern, "script": c.script}); codeOf(envelope) != c.code {
			t.Errorf("%s to %s: %v, want %d", c.pattern, c.script, envelope["errors"], c.code)
		}
	}
	path := fmt.Sprintf("%s/%s", routes, first["id"])
	s.Do(t, http.MethodPut, path, object{"pattern": "shop.example/api/*", "script": "other"})
	if now := s.Do(t, http.MethodGet, path, nil).(object); now["script"] != "other" {
		t.Errorf("changed to %v", now)
	}
	s.Do(t, http.MethodDelete, path, nil)
	if _, envelope := s.TryWith(t, http.MethodDelete, path, nil, nil); codeOf(envelope) != 10009 {
		t.Errorf("deleted twice: %v", envelope["errors"])
	}
}

// TestAssetSession: only what is not there is asked for, in buckets; a Worker gets assets by the token that comes with the
// last file, its own and unexpired.
func TestAssetSession(t *testing.T) {
	t.Parallel()
	s := Start(t)
	hash := func(n int) string { return fmt.Sprintf("%032x", n) }
	begin := func(script string, files ...int) object {
		manifest := object{}
		for _, n := range files {
			manifest[fmt.Sprintf("/%d.txt", n)] = object{"hash": hash(n), "size": 1}
		}
		return s.Do(t, http.MethodPost, "/accounts/ACCOUNT/workers/scripts/"+script+"/assets-upload-session", object{"manifest": manifest}).(object)
	}
	upload := func(token any, bucket any) (int, object) {
		var u Upload
		for _, one := range texts(bucket) {
			u.Modules = append(u.Modules, Module{Name: one, Type: "text/plain", Content: []byte(base64.StdEncoding.EncodeToString([]byte("x")))})
		}
		kind, body := u.Encode()
		as := *s
		as.Token = fmt.Sprint(token)
		return as.send(t, http.MethodPost, "/accounts/ACCOUNT/workers/assets/upload?base64=true", nil, kind, body)
	}
	session := begin("shop", 1, 2, 3, 4)
	buckets := session["buckets"].([]any)
	if len(buckets) != 2 {
		t.Fatalf("buckets: %v", buckets)
	}
	if status, envelope := upload("none", buckets[0]); status != 401 {
		t.Errorf("without a token: %d %v", status, envelope)
	}
	if _, envelope := upload(session["jwt"], buckets[0]); envelope["result"].(object)["jwt"] != nil {
		t.Errorf("after the first bucket: %v", envelope)
	}
	_, envelope := upload(session["jwt"], buckets[1])
	token := envelope["result"].(object)["jwt"]
	with := func(token any) object {
		return object{"assets": object{"jwt": token, "config": object{"html_handling": "none"}}}
	}
	if _, envelope := s.TryUpload(t, "shop", esm(answering, with(session["jwt"]))); codeOf(envelope) != 10000 {
		t.Errorf("by the token for uploading: %v", envelope["errors"])
	}
	if _, envelope := s.TryUpload(t, "other", esm(answering, with(token))); codeOf(envelope) != 10000 {
		t.Errorf("by the token for another Worker: %v", envelope["errors"])
	}
	s.Upload(t, "shop", esm(answering, with(token)))
	if files, config := s.Assets("shop"); len(files) != 4 || string(files["/3.txt"]) != "x" || config["html_handling"] != "none" {
		t.Errorf("assets: %v %v", files, config)
	}
	s.Upload(t, "shop", esm(answering, object{"keep_assets": true}))
	if files, _ := s.Assets("shop"); len(files) != 4 {
		t.Errorf("kept: %v", files)
	}
	next := begin("shop", 3, 4, 5)
	if buckets := next["buckets"].([]any); len(buckets) != 1 || len(buckets[0].([]any)) != 1 {
		t.Errorf("asked for: %v", buckets)
	}
	known := begin("shop", 1)
	if len(known["buckets"].([]any)) != 0 {
		t.Errorf("asked for what is there: %v", known["buckets"])
	}
	s.ExpireAssetSessions()
	if status, _ := upload(next["jwt"], next["buckets"].([]any)[0]); status != 401 {
		t.Errorf("after its time: %d", status)
	}
	if _, envelope := s.TryUpload(t, "shop", esm(answering, with(known["jwt"]))); codeOf(envelope) != 10000 {
		t.Errorf("by a token after its time: %v", envelope["errors"])
	}
	if s.AssetsTaken() != 4 {
		t.Errorf("%d files were uploaded", s.AssetsTaken())
	}
}

// TestTriggers: schedules and addresses stay over uploads.
func TestTriggers(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Upload(t, "shop", esm(answering, nil))
	if on := read(t, s, "shop/subdomain"); on["enabled"] != false || on["previews_enabled"] != false {
		t.Errorf("a new Worker: %v", on)
	}
	s.Do(t, http.MethodPost, "/accounts/ACCOUNT/workers/scripts/shop/subdomain", object{"enabled": true})
	s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workers/scripts/shop/schedules", []any{object{"cron": "0 * * * *"}})
	s.Upload(t, "shop", esm(answering, nil))
	if on := read(t, s, "shop/subdomain"); on["enabled"] != true || on["previews_enabled"] != true {
		t.Errorf("after an upload: %v", on)
	}
	if list := read(t, s, "shop/schedules")["schedules"].([]any); len(list) != 1 {
		t.Errorf("after an upload: %v", list)
	}
	if status, envelope := s.TryWith(t, http.MethodPut, "/accounts/ACCOUNT/workers/subdomain", nil, object{"subdomain": "more"}); codeOf(envelope) != 10036 {
		t.Errorf("a second subdomain of the account: %d %v", status, envelope)
	}
	other := *s
	other.Account = s.AddAccount("Other")
	if status, _ := other.TryWith(t, http.MethodGet, "/accounts/ACCOUNT/workers/subdomain", nil, nil); status != 404 {
		t.Errorf("no subdomain: %d", status)
	}
}
