package dns

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// prepare gives a world two zones, and records that are not ours.
func prepare(t kindtest.T, s *cloudflaretest.Server) {
	t.Helper()
	s.AddZone(s.Account, "other.example")
	zone := s.AddZone(s.Account, "shop.example")
	for _, r := range []obj{
		{"type": "TXT", "name": "shop.example", "content": "v=spf1 -all", "ttl": 1},
		{"type": "A", "name": "legacy.shop.example", "content": "192.0.2.99", "ttl": 300},
	} {
		s.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", r)
	}
}

// all are the records that others see, without those that were there from the beginning.
func all(t kindtest.T, s *cloudflaretest.Server) []obj {
	t.Helper()
	var found []obj
	zones, _ := s.Do(t, http.MethodGet, "/zones", nil).([]any)
	for _, z := range zones {
		list, _ := s.Do(t, http.MethodGet, "/zones/"+z.(obj)["id"].(string)+"/dns_records?per_page=100", nil).([]any)
		for _, r := range list {
			if r := r.(obj); r["comment"] != nil {
				r["zone"] = z.(obj)["name"]
				found = append(found, r)
			}
		}
	}
	return found
}

// objects are the records without what differs between two makings.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	for _, r := range all(t, s) {
		r = maps.Clone(r)
		for _, key := range []string{"id", "created_on", "modified_on", "meta", "proxiable"} {
			delete(r, key)
		}
		r["comment"] = strings.Split(r["comment"].(string), "|1|")[0] // the generation differs
		r["comment"] = strings.Split(r["comment"].(string), "|2|")[0]
		out = append(out, r)
	}
	return out
}

func path(attrs map[string]any) string {
	return "/zones/" + attrs["zoneId"].(string) + "/dns_records/" + attrs["id"].(string)
}

// hand writes the fields that props stand for, as somebody else would: with names and values of Cloudflare's own.
func hand(ws cloudflaretest.Worlds, fields func(RecordProps) obj) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		p := cloudflaretest.Declared[RecordProps](t, to)
		now := ws.Of(w).Do(t, http.MethodGet, path(to.Attrs), nil).(obj)
		body := obj{"name": now["name"], "type": now["type"], "ttl": now["ttl"]}
		maps.Copy(body, fields(p))
		if comment, ok := body["comment"].(string); ok { // leave the owner tag alone
			_, mark, _ := strings.Cut(now["comment"].(string), "athanor:")
			body["comment"] = comment + " athanor:" + mark
		}
		ws.Of(w).Do(t, http.MethodPatch, path(to.Attrs), body)
	}
}

func recordSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	set := func(fields func(RecordProps) obj) kindtest.Hand { return hand(ws, fields) }
	settings := set(func(p RecordProps) obj {
		settings := obj{"ipv4_only": p.IPv4Only, "ipv6_only": p.IPv6Only}
		if p.Type == "CNAME" {
			settings["flatten_cname"] = p.FlattenCNAME
		}
		return obj{"settings": settings}
	})
	return kindtest.Suite{
		Kind:  recordKind.Erase(),
		World: ws.Make(prepare, objects),
		Base:  obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"},
		Fault: cloudflaretest.FaultOf("DNS"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.2", "ttl": "5m",
				"privateRouting": true, "comment": "the shop", "tags": list{"team:web", "cost:42"},
			}},
			{Name: "proxied", Props: obj{
				"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1", "proxied": true, "ipv4Only": true,
			}},
			{Name: "six", Props: obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1", "ipv6Only": true}},
			{Name: "elsewhere", Props: obj{"zone": "other.example", "name": "www.other.example", "type": "A", "content": "192.0.2.1"}},
			{Name: "mail", Props: obj{"zone": "shop.example", "name": "@", "type": "MX", "content": "mx.example", "priority": int64(10)}},
			{Name: "service", Props: obj{
				"zone": "shop.example", "name": "_sip._tcp", "type": "SRV",
				"data": obj{"priority": int64(10), "weight": int64(5), "port": int64(5060), "target": "sip.shop.example"},
			}},
			{Name: "alias", Props: obj{
				"zone": "shop.example", "name": "go", "type": "CNAME", "content": "Target.Example.", "flattenCname": true,
			}},
			{Name: "text", Props: obj{"zone": "shop.example", "name": "@", "type": "TXT", "content": `say "hello", \ twice`}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"content":        set(func(p RecordProps) obj { return obj{"content": p.Content} }),
			"data":           set(func(p RecordProps) obj { return obj{"data": p.Data} }),
			"priority":       set(func(p RecordProps) obj { return obj{"priority": p.Priority} }),
			"proxied":        set(func(p RecordProps) obj { return obj{"proxied": p.Proxied} }),
			"privateRouting": set(func(p RecordProps) obj { return obj{"private_routing": p.PrivateRouting} }),
			"flattenCname":   settings, "ipv4Only": settings, "ipv6Only": settings,
			"comment": set(func(p RecordProps) obj { return obj{"comment": p.Comment} }),
			"tags":    set(func(p RecordProps) obj { return obj{"tags": append([]string{}, p.Tags...)} }),
			"ttl": set(func(p RecordProps) obj {
				if p.TTL == nil {
					return obj{"ttl": 1}
				}
				return obj{"ttl": int(p.TTL.Seconds())}
			}),
			"": ws.Deletes(func(to kindtest.Edited) string { return path(to.Attrs) }),
		},
		Others: map[tree.Path][]any{"content": {"192.0.2.77", "mx.other.example"}},
		Steady: map[tree.Path]string{
			"zone": "a record keeps its zone for life",
			"name": "a record could be renamed by hand; it is found at its id, and TestRenamed shows that it is replaced",
			"type": "a record could get another type by hand; TestRenamed shows that it is replaced",
		},
		Silent: map[tree.Path]string{
			"data":         "records of other types have data; TestOtherBases changes it",
			"priority":     "MX and URI records alone have one; TestOtherBases changes it",
			"flattenCname": "CNAME records alone take it; TestOtherBases changes it",
		},
	}
}

func TestRecord(t *testing.T) { kindtest.Run(t, recordSuite()) }

// TestOtherBases is about props that only some types have: each is changed alone, there and back, and cut.
func TestOtherBases(t *testing.T) {
	with := func(base, more obj) obj {
		all := maps.Clone(base)
		maps.Copy(all, more)
		return all
	}
	mail := obj{"zone": "shop.example", "name": "@", "type": "MX", "content": "mx.example", "priority": int64(10)}
	alias := obj{"zone": "shop.example", "name": "go", "type": "CNAME", "content": "target.example"}
	issue := obj{"zone": "shop.example", "name": "@", "type": "CAA", "data": obj{"flags": int64(0), "tag": "issue", "value": "letsencrypt.org"}}
	for name, c := range map[string]struct {
		base     obj
		variants []kindtest.Variant
	}{
		"mail":  {mail, []kindtest.Variant{{Name: "later", Props: with(mail, obj{"priority": int64(20)})}}},
		"alias": {alias, []kindtest.Variant{{Name: "flat", Props: with(alias, obj{"flattenCname": true, "proxied": true})}}},
		"issue": {issue, []kindtest.Variant{{Name: "wild", Props: with(issue, obj{"data": obj{"flags": int64(128), "tag": "issuewild", "value": ";"}})}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := recordSuite()
			s.Base, s.Variants, s.Silent = c.base, c.variants, nil
			for _, check := range kindtest.Checks() {
				switch check.Name {
				case "a prop alone is a difference, and replaces as documented", "there and back, and twice writes nothing",
					"a crash at any call heals", "unset means the default", "unknown props":
					t.Run(check.Name, func(t *testing.T) { check.Do(t, s) })
				}
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ kind, content, want string }{
		{"TXT", `"a" "b"`, "ab"},
		{"TXT", `"a\"b"`, `a"b`},
		{"TXT", `a "b"`, `a "b"`},
		{"TXT", `"a`, `"a`},
		{"TXT", `"a" b`, `"a" b`},
		{"AAAA", "2001:DB8:0:0::1", "2001:db8::1"},
		{"CNAME", "Target.Example.", "target.example"},
		{"OPENPGPKEY", "aBc=", "aBc="},
	} {
		if have := canonical(c.kind, c.content); have != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.content, have, c.want)
		}
	}
	for _, c := range [][3]string{
		{"www", "shop.example", "www.shop.example"},
		{"@", "shop.example", "shop.example"},
		{"WWW.Shop.Example.", "shop.example", "www.shop.example"},
		{"notshop.example", "shop.example", "notshop.example.shop.example"},
	} {
		if have := fullName(c[0], c[1]); have != c[2] {
			t.Errorf("%s in %s: %s, want %s", c[0], c[1], have, c[2])
		}
	}
}

func TestCheck(t *testing.T) {
	kind := recordKind.Erase()
	for text, want := range map[string]string{
		`{"type":"A","content":"192.0.2.1"}`:                                 "",
		`{"type":"A"}`:                                                       "need it",
		`{"type":"A","content":"192.0.2.1","data":{"a":1}}`:                  "have content instead",
		`{"type":"SRV","content":"x"}`:                                       "have data instead",
		`{"type":"SRV","data":{"prot":1}}`:                                   "has the parts port, priority",
		`{"type":"SRV"}`:                                                     "need it",
		`{"type":"MX","content":"mx"}`:                                       "need one",
		`{"type":"TXT","content":"x","priority":1}`:                          "only records of type MX, URI",
		`{"type":"TXT","content":"x","proxied":true}`:                        "only records of type A, AAAA, CNAME",
		`{"type":"A","content":"192.0.2.1","flattenCname":true}`:             "only records of type CNAME",
		`{"type":"A","content":"192.0.2.1","proxied":true,"ttl":"5m"}`:       "automatic",
		`{"type":"A","content":"192.0.2.1","ttl":"90500ms"}`:                 "whole seconds",
		`{"type":"A","content":"192.0.2.1","ttl":"1s"}`:                      "30s",
		`{"type":"A","content":"192.0.2.1","comment":"athanor:a|b|c|1||no"}`: "without athanor:",
		`{"type":"SPF","content":"x"}`:                                       "want one of",
	} {
		p := obj{"zone": "shop.example", "name": "www"}
		decoded, err := tree.Decode([]byte(text))
		if err != nil || !json.Valid([]byte(text)) {
			t.Fatal(err)
		}
		maps.Copy(p, decoded.(obj))
		err = kind.Decode(&reconcile.Job{Props: p})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
