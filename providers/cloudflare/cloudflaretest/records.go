package cloudflaretest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// record is a DNS record.
type record struct {
	zone *zone
	id   string
	body object
}

var recordHandlers = map[string]handler{
	"dns.ListRecords":  inZone(listRecords),
	"dns.CreateRecord": inZone(createRecord),
	"dns.GetRecord":    onRecord(func(_ *world, _ request, r *record) (any, *failure) { return r.shown(), nil }),
	"dns.PatchRecord":  onRecord(patchRecord),
	"dns.UpdateRecord": onRecord(putRecord),
	"dns.DeleteRecord": onRecord(deleteRecord),
}

func noRecord() *failure {
	return &failure{service: "dns", status: 404, code: 81044, message: "Record does not exist."}
}

func inZone(do func(*world, request, *zone) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		z := w.zone(r.path["zone_id"])
		if z == nil {
			return nil, notFound("/zones/" + r.path["zone_id"])
		}
		return do(w, r, z)
	}
}

func onRecord(do func(*world, request, *record) (any, *failure)) handler {
	return inZone(func(w *world, r request, z *zone) (any, *failure) {
		for _, found := range w.records {
			if found.zone == z && found.id == r.path["dnsRecordId"] {
				return do(w, r, found)
			}
		}
		return nil, noRecord()
	})
}

// shown is a record with what Cloudflare adds.
func (r *record) shown() object {
	all := object{
		"id": r.id, "created_on": "2024-01-01T00:00:00Z", "modified_on": "2024-01-01T00:00:00Z", "meta": object{},
		"comment": "", "tags": []any{}, "settings": object{}, "proxied": false, "proxiable": proxiable(r.text("type")),
	}
	maps.Copy(all, r.body)
	if all["comment"] == "" {
		all["comment"] = nil
	}
	if kind := r.text("type"); kind == "TXT" && !strings.HasPrefix(r.text("content"), `"`) {
		all["content"] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.text("content")) + `"`
	}
	return all
}

func proxiable(kind string) bool { return kind == "A" || kind == "AAAA" || kind == "CNAME" }

func (r *record) text(key string) string {
	s, _ := r.body[key].(string)
	return s
}

func listRecords(w *world, r request, z *zone) (any, *failure) {
	var items []any
	for _, found := range w.records {
		fits := found.zone == z
		for key, want := range map[string]string{"name": r.query.Get("name.exact"), "type": r.query.Get("type")} {
			fits = fits && (want == "" || strings.EqualFold(found.text(key), want))
		}
		if fits && strings.Contains(found.text("comment"), r.query.Get("comment.contains")) {
			items = append(items, found.shown())
		}
	}
	return paged(r, items, 100), nil
}

func createRecord(w *world, r request, z *zone) (any, *failure) {
	made := &record{zone: z, id: hexID(16), body: r.body}
	if f := w.fits(made); f != nil {
		return nil, f
	}
	w.records = append(w.records, made)
	return made.shown(), nil
}

func patchRecord(w *world, r request, old *record) (any, *failure) {
	body := maps.Clone(old.body)
	maps.Copy(body, r.body)
	return w.overwrite(old, body)
}

// putRecord sets all of a record: what is left out has its default.
func putRecord(w *world, r request, old *record) (any, *failure) {
	return w.overwrite(old, maps.Clone(r.body))
}

func (w *world) overwrite(old *record, body object) (any, *failure) {
	changed := &record{zone: old.zone, id: old.id, body: body}
	if f := w.fits(changed); f != nil {
		return nil, f
	}
	old.body = changed.body
	return old.shown(), nil
}

func deleteRecord(w *world, _ request, old *record) (any, *failure) {
	w.records = slices.DeleteFunc(w.records, func(r *record) bool { return r == old })
	return object{"id": old.id}, nil
}

// fits makes a record what Cloudflare keeps of it, and refuses one that cannot stand beside the others.
func (w *world) fits(r *record) *failure {
	name := strings.ToLower(r.text("name"))
	if name != r.zone.name && !strings.HasSuffix(name, "."+r.zone.name) {
		name += "." + r.zone.name
	}
	r.body["name"] = name
	if r.text("type") == "AAAA" {
		if ip, err := netip.ParseAddr(r.text("content")); err == nil {
			r.body["content"] = ip.String()
		}
	}
	if kind := r.text("type"); kind != "A" && kind != "AAAA" {
		delete(r.body, "private_routing")
	}
	if r.body["proxied"] == true {
		r.body["ttl"] = 1
	}
	if data, ok := r.body["data"].(object); ok {
		r.body["content"] = flat(data)
	}
	alone := func(kind string) bool { return kind == "CNAME" }
	for _, other := range w.records {
		if other.zone != r.zone || other.id == r.id || other.text("name") != name {
			continue
		}
		switch {
		case other.text("type") == r.text("type") && other.text("content") == r.text("content"):
			return &failure{status: 400, code: 81058, message: "An identical record already exists."}
		case alone(r.text("type")) && proxiable(other.text("type")):
			return &failure{status: 400, code: 81053, message: "An A, AAAA, or CNAME record with that host already exists."}
		case alone(other.text("type")) && proxiable(r.text("type")):
			return &failure{status: 400, code: 81054, message: "A CNAME record with that host already exists."}
		}
	}
	return nil
}

// flat is the content of a record in parts.
func flat(data object) string {
	keys := slices.Sorted(maps.Keys(data))
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprint(data[k])
	}
	return strings.Join(parts, " ")
}
