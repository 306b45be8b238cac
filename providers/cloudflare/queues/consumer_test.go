package queues

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The queues that every world has: their ids are those that the server was told to use.
const (
	jobs  = "0123456789abcdef0123456789abcde1"
	mails = "0123456789abcdef0123456789abcde2"
)

func prepare(_ kindtest.T, s *cloudflaretest.Server) {
	s.AddQueue(jobs, "jobs")
	s.AddQueue(mails, "mails")
	s.AddScript("worker")
	s.AddScript("other")
}

// consumersOf are the consumers that others see, without what differs between two makings.
func consumersOf(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	for _, queue := range []string{jobs, mails} {
		list, _ := s.Do(t, http.MethodGet, base+"/"+queue+"/consumers", nil).([]any)
		for _, c := range list {
			c := maps.Clone(c.(obj))
			delete(c, "consumer_id")
			all = append(all, c)
		}
	}
	return all
}

func at(attrs map[string]any) string {
	return base + "/" + attrs["queue"].(string) + "/consumers/" + attrs["id"].(string)
}

func consumerSuite() kindtest.Suite {
	ws := cloudflaretest.Worlds{}
	// A hand writes the whole consumer, as the API wants it.
	set := func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		p := cloudflaretest.Declared[ConsumerProps](t, to)
		settings, body := obj{}, obj{"type": "worker"}
		put := func(name string, set bool, value any) {
			if set {
				settings[name] = value
			}
		}
		ms := func(d *time.Duration) int64 { return d.Milliseconds() }
		put("batch_size", p.BatchSize != nil, p.BatchSize)
		put("max_retries", p.MaxRetries != nil, p.MaxRetries)
		put("max_concurrency", p.MaxConcurrency != nil, p.MaxConcurrency)
		put("retry_delay", true, p.RetryDelay.Seconds())
		if p.MaxWait != nil {
			settings["max_wait_time_ms"] = ms(p.MaxWait)
		}
		if p.VisibilityTimeout != nil {
			settings["visibility_timeout_ms"] = ms(p.VisibilityTimeout)
		}
		if p.Type != nil {
			body["type"] = *p.Type
		}
		if p.Script != "" {
			body["script_name"] = p.Script
		}
		if p.DeadLetter != "" {
			body["dead_letter_queue"] = p.DeadLetter
		}
		body["settings"] = settings
		ws.Of(w).Do(t, http.MethodPut, at(to.Attrs), body)
	}
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Deletes(func(to kindtest.Edited) string { return at(to.Attrs) }),
	}
	for _, path := range []tree.Path{
		"deadLetter", "batchSize", "maxRetries", "retryDelay", "maxConcurrency", "maxWait", "visibilityTimeout",
	} {
		hands[path] = set
	}
	return kindtest.Suite{
		Kind:  consumerKind.Erase(),
		World: ws.Make(prepare, consumersOf),
		Base:  obj{"queue": jobs, "script": "worker"},
		Fault: cloudflaretest.FaultOf("Queues"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"queue": jobs, "script": "worker", "deadLetter": "mails", "batchSize": int64(100), "maxRetries": int64(0),
				"retryDelay": "30s", "maxConcurrency": int64(2), "maxWait": "1500ms",
			}},
			{Name: "another Worker", Props: obj{"queue": jobs, "script": "other"}},
			{Name: "another queue", Props: obj{"queue": mails, "script": "worker"}},
			{Name: "pulled", Props: obj{"queue": jobs, "type": "http_pull", "visibilityTimeout": "1m"}},
		},
		Hands: hands,
		Steady: map[tree.Path]string{
			"queue":  "a consumer keeps its queue for life",
			"type":   "a consumer keeps its type for life",
			"script": "the service takes another Worker and keeps the old one",
		},
		Silent: map[tree.Path]string{
			"type":              "pulling needs that there is no Worker; the variant pulled changes both",
			"visibilityTimeout": "it is for pulling alone; TestPulled changes it",
		},
	}
}

func TestConsumer(t *testing.T) { kindtest.Run(t, consumerSuite()) }

// TestPulled is about consumers over HTTP: what only they have is changed alone, there and back, and cut.
func TestPulled(t *testing.T) {
	s := consumerSuite()
	s.Base = obj{"queue": jobs, "type": "http_pull"}
	s.Variants = []kindtest.Variant{
		{Name: "longer", Props: obj{"queue": jobs, "type": "http_pull", "visibilityTimeout": "1h"}},
		{Name: "batches", Props: obj{"queue": jobs, "type": "http_pull", "batchSize": int64(1)}},
	}
	s.Silent = nil
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case "a prop alone is a difference, and replaces as documented", "there and back, and twice writes nothing",
			"a crash at any call heals", "unset means the default", "unknown props":
			t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
		}
	}
}

// TestTaken is about a queue whose messages another Worker gets: it keeps them, and the error names it.
func TestTaken(t *testing.T) {
	s, kind := cloudflaretest.Start(t), consumerKind.Erase()
	prepare(t, s)
	s.Do(t, http.MethodPost, base+"/"+jobs+"/consumers", obj{"type": "worker", "script_name": "other"})
	job := s.Job(t, kind, obj{"queue": jobs, "script": "worker"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if !errors.Is(err, errOtherHere) || !strings.Contains(err.Error(), "other") || s.Count("Queues.CreateConsumer") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("Queues.CreateConsumer"))
	}
	if have := consumersOf(t, s); len(have) != 1 || have[0].(obj)["script"] != "other" {
		t.Errorf("consumers: %v", have)
	}
}

// TestNoWorker: a Worker that is not there is a mistake, and is not waited for.
func TestNoWorker(t *testing.T) {
	s, kind := cloudflaretest.Start(t), consumerKind.Erase()
	prepare(t, s)
	job := s.Job(t, kind, obj{"queue": jobs, "script": "nobody"}, nil)
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); job.Cloud.Classify(err) != reconcile.Invalid || len(s.Wrote()) != 1 {
		t.Errorf("%v after %v", err, s.Wrote())
	}
}

func TestConsumerCalls(t *testing.T) {
	s, kind := cloudflaretest.Start(t), consumerKind.Erase()
	prepare(t, s)
	p := obj{"queue": jobs, "script": "worker", "batchSize": int64(5), "deadLetter": "mails"}
	out := s.Settled(t, kind, p, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"Queues.CreateConsumer"}) {
		t.Errorf("a creation makes %v", have)
	}
	p["batchSize"], p["maxRetries"] = int64(6), int64(7)
	delete(p, "deadLetter")
	s.Reset()
	s.Settled(t, kind, p, &out)
	if have := s.Wrote(); !slices.Equal(have, []string{"Queues.UpdateConsumer"}) {
		t.Errorf("three aspects changed, and %v are made", have)
	}
}

// TestConsumerFaults breaks one call of a creation at a time. In the end there is one consumer.
func TestConsumerFaults(t *testing.T) {
	fresh := func(t *testing.T) (*cloudflaretest.Server, func() int) {
		s := cloudflaretest.Start(t)
		prepare(t, s)
		return s, func() int { return len(consumersOf(t, s)) }
	}
	cloudflaretest.Faults(t, fresh, consumerKind.Erase(), obj{"queue": jobs, "script": "worker"}, cloudflaretest.Broken{
		{"", cloudflaretest.Fault{Op: "Queues.CreateConsumer", Kind: cloudflaretest.DropAnswer}, 1},
		{"", cloudflaretest.Fault{Op: "Queues.CreateConsumer", Kind: cloudflaretest.CutBefore}, 2},
		{"", cloudflaretest.Fault{Op: "Queues.CreateConsumer", Kind: cloudflaretest.ServerError, Times: 2}, 3},
		{"", cloudflaretest.Fault{Op: "Queues.ListConsumers", Kind: cloudflaretest.Throttle}, 1},
		{"", cloudflaretest.Fault{Op: "Queues.GetConsumer", Kind: cloudflaretest.DropAnswer}, 1},
	})
}

func TestConsumerCheck(t *testing.T) {
	kind := consumerKind.Erase()
	for _, c := range []struct {
		props obj
		want  string
	}{
		{obj{"queue": jobs, "script": "w"}, ""},
		{obj{"queue": "jobs", "script": "w"}, "32 hexadecimal digits"},
		{obj{"queue": jobs}, "needs a name"},
		{obj{"queue": jobs, "script": "w", "visibilityTimeout": "1m"}, "for http_pull"},
		{obj{"queue": jobs, "script": "w", "type": "http_pull"}, "for Workers"},
		{obj{"queue": jobs, "type": "http_pull", "maxWait": "1s"}, "for Workers"},
		{obj{"queue": jobs, "script": "w", "retryDelay": "1500ms"}, "whole seconds"},
		{obj{"queue": jobs, "script": "w", "batchSize": int64(101)}, "100"},
	} {
		err := kind.Decode(&reconcile.Job{Props: c.props})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.props, err, c.want)
		}
	}
}
