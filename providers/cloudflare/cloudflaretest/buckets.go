package cloudflaretest

import (
	"maps"
	"slices"
	"strings"
)

// bucket is a bucket of R2. Each jurisdiction has names of its own.
type bucket struct {
	account, jurisdiction, name, class, location string

	public        bool
	domains       map[string]object
	cors          any
	lifecycle     any
	notifications map[string][]object // rules by queue
	objects       map[string][]byte
}

var bucketHandlers = map[string]handler{
	"r2.ListBuckets":                   listBuckets,
	"r2.CreateBucket":                  createBucket,
	"r2.GetBucket":                     onBucket(func(_ *world, _ request, b *bucket) (any, *failure) { return b.shown(), nil }),
	"r2.PatchBucket":                   onBucket(patchBucket),
	"r2.DeleteBucket":                  onBucket(deleteBucket),
	"r2.ListBucketDomainManageds":      onBucket(func(_ *world, _ request, b *bucket) (any, *failure) { return b.managed(), nil }),
	"r2.PutBucketDomainManaged":        onBucket(putManaged),
	"r2.ListBucketDomainCustoms":       onBucket(listDomains),
	"r2.GetBucketDomainCustom":         onBucket(getDomain),
	"r2.CreateBucketDomainCustom":      onBucket(createDomain),
	"r2.UpdateBucketDomainCustom":      onBucket(updateDomain),
	"r2.DeleteBucketDomainCustom":      onBucket(deleteDomain),
	"r2.GetBucketCors":                 onBucket(getCORS),
	"r2.PutBucketCors":                 onBucket(func(_ *world, r request, b *bucket) (any, *failure) { b.cors = r.body; return object{}, nil }),
	"r2.DeleteBucketCors":              onBucket(func(_ *world, _ request, b *bucket) (any, *failure) { b.cors = nil; return object{}, nil }),
	"r2.GetBucketLifecycle":            onBucket(func(_ *world, _ request, b *bucket) (any, *failure) { return b.lifecycle, nil }),
	"r2.PutBucketLifecycle":            onBucket(func(_ *world, r request, b *bucket) (any, *failure) { b.lifecycle = r.body; return object{}, nil }),
	"r2.ListBucketEventNotifications":  onBucket(listNotifications),
	"r2.GetBucketEventNotification":    onBucket(getNotification),
	"r2.PutBucketEventNotification":    onBucket(putNotification),
	"r2.DeleteBucketEventNotification": onBucket(deleteNotification),
	"r2.ListBucketObjects":             onBucket(listObjects),
	"r2.DeleteObjects":                 onBucket(deleteObjects),
}

func noBucket() *failure {
	return &failure{service: "r2", status: 404, code: 10006, message: "The specified bucket does not exist."}
}

func jurisdictionOf(r request) string {
	if j := r.header.Get("cf-r2-jurisdiction"); j != "" {
		return j
	}
	return "default"
}

func onBucket(do func(*world, request, *bucket) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		if b := w.bucket(r, r.path["bucketName"]); b != nil {
			return do(w, r, b)
		}
		return nil, noBucket()
	}
}

func (w *world) bucket(r request, name string) *bucket {
	for _, b := range w.buckets {
		if b.account == r.account && b.jurisdiction == jurisdictionOf(r) && b.name == name {
			return b
		}
	}
	return nil
}

func (b *bucket) shown() object {
	return object{
		"name": b.name, "creation_date": "2024-01-01T00:00:00.000Z", "jurisdiction": b.jurisdiction, "storage_class": b.class,
		"location": strings.ToUpper(b.location),
	}
}

func listBuckets(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, b := range w.buckets {
		if b.account == r.account && b.jurisdiction == jurisdictionOf(r) && b.name > r.query.Get("start_after") {
			all[b.name] = b.shown()
		}
	}
	page := cursored(r, "per_page", sorted(all), 1000, func(last any) string { return last.(object)["name"].(string) })
	return object{"buckets": page.items}, nil
}

func createBucket(w *world, r request) (any, *failure) {
	name := r.text("name")
	if w.bucket(r, name) != nil {
		return nil, &failure{status: 409, code: 10004, message: "The bucket you tried to create already exists, and you own it."}
	}
	b := &bucket{
		account: r.account, jurisdiction: jurisdictionOf(r), name: name, class: "Standard", location: "weur",
		domains: map[string]object{}, notifications: map[string][]object{}, objects: map[string][]byte{},
		lifecycle: object{"rules": []any{object{
			"id": "Default Multipart Abort Rule", "enabled": true, "conditions": object{},
			"abortMultipartUploadsTransition": object{"condition": object{"type": "Age", "maxAge": 604800}},
		}}},
	}
	if class := r.text("storageClass"); class != "" {
		b.class = class
	}
	w.buckets = append(w.buckets, b)
	return b.shown(), nil
}

func patchBucket(_ *world, r request, b *bucket) (any, *failure) {
	b.class = r.header.Get("cf-r2-storage-class")
	return b.shown(), nil
}

func deleteBucket(w *world, _ request, b *bucket) (any, *failure) {
	if len(b.objects) > 0 {
		return nil, &failure{status: 409, code: 10008, message: "The bucket you tried to delete is not empty."}
	}
	w.buckets = slices.DeleteFunc(w.buckets, func(o *bucket) bool { return o == b })
	return object{}, nil
}

func (b *bucket) managed() object {
	return object{"bucketId": "0123456789abcdef0123456789abcdef", "domain": "pub-0123.r2.dev", "enabled": b.public}
}

func putManaged(_ *world, r request, b *bucket) (any, *failure) {
	b.public, _ = r.body["enabled"].(bool)
	return b.managed(), nil
}

func listDomains(w *world, _ request, b *bucket) (any, *failure) {
	all := map[string]any{}
	for name, d := range b.domains {
		all[name] = w.shownDomain(d)
	}
	return object{"domains": sorted(all)}, nil
}

// shownDomain is a domain of a bucket as reads show it.
func (w *world) shownDomain(d object) object {
	shown := maps.Clone(d)
	shown["status"] = object{"ownership": "active", "ssl": "active"}
	shown["zoneName"] = w.zone(d["zoneId"].(string)).name
	return shown
}

func getDomain(w *world, r request, b *bucket) (any, *failure) {
	d := b.domains[r.path["domain"]]
	if d == nil {
		return nil, &failure{status: 404, code: 10053, message: "The domain was not found."}
	}
	return w.shownDomain(d), nil
}

func createDomain(w *world, r request, b *bucket) (any, *failure) {
	for _, other := range w.buckets {
		if other.domains[r.text("domain")] != nil {
			return nil, &failure{status: 409, message: "The domain is already in use"}
		}
	}
	z := w.zone(r.text("zoneId"))
	if z == nil || z.account != r.account {
		return nil, &failure{status: 404, code: 10053, message: "The domain was not found on your account."}
	}
	d := maps.Clone(r.body)
	if d["minTLS"] == nil {
		d["minTLS"] = "1.0"
	}
	b.domains[r.text("domain")] = d
	return d, nil
}

func updateDomain(_ *world, r request, b *bucket) (any, *failure) {
	d := b.domains[r.path["domain"]]
	if d == nil {
		return nil, &failure{status: 404, code: 10053, message: "The domain was not found."}
	}
	d = maps.Clone(d)
	maps.Copy(d, r.body)
	b.domains[r.path["domain"]] = d
	shown := maps.Clone(d)
	delete(shown, "zoneId")
	return shown, nil
}

func deleteDomain(_ *world, r request, b *bucket) (any, *failure) {
	if b.domains[r.path["domain"]] == nil {
		return nil, &failure{status: 404, code: 10053, message: "The domain was not found."}
	}
	delete(b.domains, r.path["domain"])
	return object{"domain": r.path["domain"]}, nil
}

func getCORS(_ *world, _ request, b *bucket) (any, *failure) {
	if b.cors == nil {
		return nil, &failure{status: 404, code: 10059, message: "The CORS configuration does not exist."}
	}
	return b.cors, nil
}

func listNotifications(w *world, _ request, b *bucket) (any, *failure) {
	if len(b.notifications) == 0 {
		return nil, &failure{status: 404, code: 11015, message: "No event notification configuration found"}
	}
	all := map[string]any{}
	for queue, rules := range b.notifications {
		all[queue] = object{"queueId": queue, "queueName": w.queueName(queue), "rules": listOf(rules)}
	}
	return object{"bucketName": b.name, "queues": sorted(all)}, nil
}

func getNotification(w *world, r request, b *bucket) (any, *failure) {
	queue := r.path["queueId"]
	rules := b.notifications[queue]
	if rules == nil {
		return nil, &failure{status: 404, code: 11011, message: "The event notification configuration does not exist"}
	}
	return object{"queue": queue, "queueName": w.queueName(queue), "rules": listOf(rules)}, nil
}

func listOf(objects []object) []any {
	all := make([]any, len(objects))
	for i, o := range objects {
		all[i] = o
	}
	return all
}

// queueName is the name of a queue, "" of one that was deleted.
func (w *world) queueName(id string) string {
	for _, q := range w.queues {
		if q.id == id {
			return q.name
		}
	}
	return ""
}

func putNotification(w *world, r request, b *bucket) (any, *failure) {
	id := r.path["queueId"]
	if !slices.ContainsFunc(w.queues, func(q *queue) bool { return q.id == id && q.account == r.account }) {
		return nil, noQueue()
	}
	rules, _ := r.body["rules"].([]any)
	for _, rule := range rules {
		rule := maps.Clone(rule.(object))
		for _, others := range b.notifications {
			for _, other := range others {
				if overlap(rule, other) {
					return nil, &failure{status: 409, code: 11020, message: "The rule overlaps with another one"}
				}
			}
		}
		rule["ruleId"], rule["createdAt"] = hexID(16), "2024-01-01T00:00:00.000Z"
		b.notifications[id] = append(b.notifications[id], rule)
	}
	return object{}, nil
}

// overlap reports rules that would report the same object twice.
func overlap(a, b object) bool {
	text := func(o object, key string) string { s, _ := o[key].(string); return s }
	prefixes := strings.HasPrefix(text(a, "prefix"), text(b, "prefix")) || strings.HasPrefix(text(b, "prefix"), text(a, "prefix"))
	suffixes := strings.HasSuffix(text(a, "suffix"), text(b, "suffix")) || strings.HasSuffix(text(b, "suffix"), text(a, "suffix"))
	actions, _ := a["actions"].([]any)
	others, _ := b["actions"].([]any)
	return prefixes && suffixes && slices.ContainsFunc(actions, func(x any) bool { return slices.Contains(others, x) })
}

func deleteNotification(_ *world, r request, b *bucket) (any, *failure) {
	id := r.path["queueId"]
	if b.notifications[id] == nil {
		return nil, &failure{status: 404, code: 11011, message: "The event notification configuration does not exist"}
	}
	if ids, some := r.body["ruleIds"].([]any); some {
		b.notifications[id] = slices.DeleteFunc(slices.Clone(b.notifications[id]), func(rule object) bool { return slices.Contains(ids, rule["ruleId"]) })
	} else {
		b.notifications[id] = nil
	}
	if len(b.notifications[id]) == 0 {
		delete(b.notifications, id)
	}
	return object{}, nil
}

func listObjects(_ *world, r request, b *bucket) (any, *failure) {
	all := map[string]any{}
	for key, content := range b.objects {
		if key > r.query.Get("cursor") && strings.HasPrefix(key, r.query.Get("prefix")) {
			all[key] = object{"key": key, "size": len(content), "storage_class": b.class}
		}
	}
	return cursored(r, "per_page", sorted(all), 1000, func(last any) string { return last.(object)["key"].(string) }), nil
}

func deleteObjects(_ *world, r request, b *bucket) (any, *failure) {
	gone := []any{}
	keys, _ := r.body["body"].([]any)
	for _, key := range keys {
		delete(b.objects, key.(string))
		gone = append(gone, object{"key": key})
	}
	return gone, nil
}

// AddObject puts an object into a bucket of no jurisdiction in particular.
func (s *Server) AddObject(name, key string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, b := range s.world.buckets {
		if b.account == s.Account && b.jurisdiction == "default" && b.name == name {
			b.objects[key] = []byte(key)
		}
	}
}
