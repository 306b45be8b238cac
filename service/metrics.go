package service

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// metrics counts what the service answers.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]uint64
	seconds  map[string]*histogram // by route
	orphans  uint64
}

// requestKey is what requests are counted by. The route is the pattern that they matched, so that no name of a stack is shown.
type requestKey struct {
	method, route string
	status        int
}

// bounds are the upper ends of the histogram's buckets in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

type histogram struct {
	buckets []uint64 // one for each bound, without those below it
	count   uint64
	sum     float64
}

func newMetrics() *metrics {
	return &metrics{requests: map[requestKey]uint64{}, seconds: map[string]*histogram{}}
}

// answered counts a request. The time of a stream says when its reader went, and is not counted.
func (m *metrics) answered(key requestKey, took time.Duration, stream bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[key]++
	if stream {
		return
	}
	h := m.seconds[key.route]
	if h == nil {
		h = &histogram{buckets: make([]uint64, len(bounds))}
		m.seconds[key.route] = h
	}
	h.count++
	h.sum += took.Seconds()
	if i, _ := slices.BinarySearch(bounds, took.Seconds()); i < len(bounds) {
		h.buckets[i]++
	}
}

func (m *metrics) orphan() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans++
}

// Metrics writes what the service has done since it started, in the text format of Prometheus.
func (s *Service) Metrics(w io.Writer) error {
	var b strings.Builder
	s.metrics.write(&b)
	fmt.Fprintf(&b, "# HELP athanor_streams Event streams that are open.\n# TYPE athanor_streams gauge\nathanor_streams %d\n", s.streams.Total())
	fmt.Fprintf(&b, "# HELP athanor_build_info The version of the service.\n# TYPE athanor_build_info gauge\nathanor_build_info{version=%q} 1\n",
		s.settings.Version)
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *metrics) write(b *strings.Builder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.WriteString("# HELP athanor_requests_total Requests by method, route and status.\n# TYPE athanor_requests_total counter\n")
	var keys []requestKey
	for key := range m.requests {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b requestKey) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.status, b.status))
	})
	for _, k := range keys {
		fmt.Fprintf(b, "athanor_requests_total{method=%q,route=%q,status=\"%d\"} %d\n", k.method, k.route, k.status, m.requests[k])
	}
	b.WriteString("# HELP athanor_request_seconds How long answers took, streams apart.\n# TYPE athanor_request_seconds histogram\n")
	var routes []string
	for route := range m.seconds {
		routes = append(routes, route)
	}
	slices.Sort(routes)
	for _, route := range routes {
		h, below := m.seconds[route], uint64(0)
		for i, bound := range bounds {
			below += h.buckets[i]
			fmt.Fprintf(b, "athanor_request_seconds_bucket{route=%q,le=\"%g\"} %d\n", route, bound, below)
		}
		fmt.Fprintf(b, "athanor_request_seconds_bucket{route=%q,le=\"+Inf\"} %d\n", route, h.count)
		fmt.Fprintf(b, "athanor_request_seconds_sum{route=%[1]q} %[2]g\nathanor_request_seconds_count{route=%[1]q} %[3]d\n", route, h.sum, h.count)
	}
	fmt.Fprintf(b, "# HELP athanor_orphaned_runs_total Runs that this replica ended because their lease had.\n"+
		"# TYPE athanor_orphaned_runs_total counter\nathanor_orphaned_runs_total %d\n", m.orphans)
}

// observed is an answer whose status is remembered.
type observed struct {
	http.ResponseWriter

	status int
}

func (o *observed) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Unwrap lets deadlines and flushing reach the connection.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// route is the pattern that a request matched, without its method; "other" where it matched none.
func routeOf(r *http.Request) string {
	if r.Pattern == "" {
		return "other"
	}
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		return r.Pattern
	}
	return path
}

// methodOf is the method of a request, where it is one that there is: others are anybody's text.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, "LOCK", "UNLOCK":
		return r.Method
	}
	return "other"
}
