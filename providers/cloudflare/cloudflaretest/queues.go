package cloudflaretest

import (
	"maps"
	"slices"
)

// queue is a queue of Cloudflare Queues.
type queue struct {
	account, id, name string
	settings          object
	consumers         []object
	messages          int
}

var queueHandlers = map[string]handler{
	"queues.ListQueues":      listQueues,
	"queues.CreateQueue":     createQueue,
	"queues.GetQueue":        onQueue(func(_ *world, _ request, q *queue) (any, *failure) { return q.shown(), nil }),
	"queues.PatchQueue":      onQueue(patchQueue),
	"queues.UpdateQueue":     onQueue(patchQueue),
	"queues.DeleteQueue":     onQueue(deleteQueue),
	"queues.GetMetricsQueue": onQueue(queueMetrics),
	"queues.PushMessage":     onQueue(pushMessage),
	"queues.ListConsumers":   onQueue(listConsumers),
	"queues.CreateConsumer":  onQueue(createConsumer),
	"queues.GetConsumer":     onConsumer(func(_ *world, _ request, _ *queue, c object) (any, *failure) { return told(c), nil }),
	"queues.UpdateConsumer":  onConsumer(updateConsumer),
	"queues.DeleteConsumer":  onConsumer(deleteConsumer),
}

func noQueue() *failure {
	return &failure{service: "queues", status: 404, code: 11000, message: "Queue does not exist"}
}

func onQueue(do func(*world, request, *queue) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, q := range w.queues {
			if q.account == r.account && q.id == r.path["queueId"] {
				return do(w, r, q)
			}
		}
		return nil, noQueue()
	}
}

func (q *queue) shown() object {
	consumers := make([]any, len(q.consumers))
	for i, c := range q.consumers {
		consumers[i] = told(c)
	}
	return object{
		"queue_id": q.id, "queue_name": q.name, "settings": q.settings, "created_on": "2024-01-01T00:00:00Z",
		"modified_on": "2024-01-01T00:00:00Z", "producers": []any{}, "producers_total_count": 0,
		"consumers": consumers, "consumers_total_count": len(consumers),
	}
}

func listQueues(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, q := range w.queues {
		names := r.query["name"]
		if q.account == r.account && (len(names) == 0 || slices.Contains(names, q.name)) {
			all[q.name] = q.shown()
		}
	}
	return paged(r, sorted(all), 20), nil
}

func createQueue(w *world, r request) (any, *failure) {
	name := r.text("queue_name")
	for _, q := range w.queues {
		if q.account == r.account && q.name == name {
			return nil, &failure{status: 409, code: 11009, message: "Queue name '" + name + "' is already taken."}
		}
	}
	q := &queue{account: r.account, id: hexID(16), name: name, settings: object{
		"delivery_delay": 0, "delivery_paused": false, "message_retention_period": 345600,
	}}
	if settings, ok := r.body["settings"].(object); ok {
		maps.Copy(q.settings, settings)
	}
	w.queues = append(w.queues, q)
	return q.shown(), nil
}

// patchQueue changes settings. Its answer, and that of a PUT, has consumers as they are written, and no others' do.
func patchQueue(_ *world, r request, q *queue) (any, *failure) {
	if settings, ok := r.body["settings"].(object); ok {
		q.settings = maps.Clone(q.settings)
		maps.Copy(q.settings, settings)
	}
	all := make([]any, len(q.consumers))
	for i, c := range q.consumers {
		all[i] = maps.Clone(c)
	}
	shown := q.shown()
	shown["consumers"] = all
	return shown, nil
}

func deleteQueue(w *world, _ request, q *queue) (any, *failure) {
	w.queues = slices.DeleteFunc(w.queues, func(o *queue) bool { return o == q })
	return whole{"success": true, "errors": []any{}, "messages": []any{}}, nil
}

func queueMetrics(_ *world, _ request, q *queue) (any, *failure) {
	return object{"backlog_bytes": 10 * q.messages, "backlog_count": q.messages, "oldest_message_timestamp_ms": 0}, nil
}

func pushMessage(_ *world, _ request, q *queue) (any, *failure) {
	q.messages++
	return object{"metadata": object{"metrics": object{"backlog_bytes": 10, "backlog_count": 1, "oldest_message_timestamp_ms": 0}}}, nil
}

// told is a consumer as reads tell it: the Worker is "script" there, and "script_name" where it is written.
func told(c object) object {
	c = maps.Clone(c)
	if name, ok := c["script_name"]; ok {
		delete(c, "script_name")
		c["script"] = name
	}
	return c
}

func listConsumers(_ *world, _ request, q *queue) (any, *failure) {
	all := make([]any, len(q.consumers))
	for i, c := range q.consumers {
		all[i] = told(c)
	}
	return whole{"success": true, "errors": []any{}, "messages": []any{}, "result": all}, nil
}

// consumer is one as it is kept, with what a write leaves out at its default.
func (w *world) consumer(r request, q *queue, id string) (object, *failure) {
	settings := object{"batch_size": 10, "max_retries": 3, "retry_delay": 0}
	c := object{
		"consumer_id": id, "created_on": "2024-01-01T00:00:00Z", "queue_name": q.name, "type": r.text("type"), "settings": settings,
	}
	switch r.text("type") {
	case "worker":
		if w.worker(r.account, r.text("script_name")) == nil {
			return nil, &failure{status: 404, code: 10007, message: "This Worker does not exist on your account."}
		}
		c["script_name"] = r.text("script_name")
		settings["max_concurrency"], settings["max_wait_time_ms"] = nil, 5000
	default:
		settings["visibility_timeout_ms"] = 30000
	}
	if name := r.text("dead_letter_queue"); name != "" {
		c["dead_letter_queue"] = name
	}
	if wanted, ok := r.body["settings"].(object); ok {
		maps.Copy(settings, wanted)
	}
	return c, nil
}

func createConsumer(w *world, r request, q *queue) (any, *failure) {
	for _, c := range q.consumers {
		if c["type"] == r.text("type") {
			return nil, &failure{status: 400, code: 11004, message: "Queue '" + q.name + "' already has a consumer."}
		}
	}
	c, f := w.consumer(r, q, hexID(16))
	if f != nil {
		return nil, f
	}
	q.consumers = append(q.consumers, c)
	return c, nil
}

func onConsumer(do func(*world, request, *queue, object) (any, *failure)) handler {
	return onQueue(func(w *world, r request, q *queue) (any, *failure) {
		for _, c := range q.consumers {
			if c["consumer_id"] == r.path["consumerId"] {
				return do(w, r, q, c)
			}
		}
		return nil, &failure{status: 404, code: 11006, message: "Consumer does not exist."}
	})
}

// updateConsumer sets everything. Another Worker is taken without an error and without effect.
func updateConsumer(w *world, r request, q *queue, c object) (any, *failure) {
	changed, f := w.consumer(r, q, c["consumer_id"].(string))
	if f != nil {
		return nil, f
	}
	if name, ok := c["script_name"]; ok {
		changed["script_name"] = name
	}
	clear(c)
	maps.Copy(c, changed)
	return c, nil
}

func deleteConsumer(_ *world, _ request, q *queue, c object) (any, *failure) {
	q.consumers = slices.DeleteFunc(q.consumers, func(o object) bool { return o["consumer_id"] == c["consumer_id"] })
	return whole{"success": true, "errors": []any{}, "messages": []any{}}, nil
}

// AddQueue makes a queue of this id exist in the account.
func (s *Server) AddQueue(id, name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.queues = append(s.world.queues, &queue{account: s.Account, id: id, name: name, settings: object{
		"delivery_delay": 0, "delivery_paused": false, "message_retention_period": 345600,
	}})
}
