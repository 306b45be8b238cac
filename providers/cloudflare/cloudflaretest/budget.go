package cloudflaretest

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// The limit of the API for a token, whatever it asks for. A call beyond it is refused, and so are all others for the rest of the
// window. https://developers.cloudflare.com/fundamentals/api/reference/limits/
const (
	budgetCalls  = 1200
	budgetWindow = 5 * time.Minute
)

// budget counts the calls of the token.
type budget struct {
	now     func() time.Time
	since   time.Time
	calls   int
	refused int
}

// take counts a call, and gives how many are left in the window, and how long that lasts.
func (b *budget) take() (left int, reset time.Duration, ok bool) {
	now := b.now()
	if b.since.IsZero() || now.Sub(b.since) >= budgetWindow {
		b.since, b.calls = now, 0
	}
	reset = b.since.Add(budgetWindow).Sub(now)
	if b.calls >= budgetCalls {
		b.refused++
		return 0, reset, false
	}
	b.calls++
	return budgetCalls - b.calls, reset, true
}

// LimitRate plays the limit of the API, by a clock. Calls of somebody else are not counted. Without it nothing is refused.
func (s *Server) LimitRate(now func() time.Time) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.budget = &budget{now: now}
}

// Throttled is how many calls were refused for their rate since [Server.LimitRate].
func (s *Server) Throttled() int {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if s.world.budget == nil {
		return 0
	}
	return s.world.budget.refused
}

// within answers a call if the token may make one more now, and says in either case how many are left.
func (w *world) within(r *http.Request, do func() wiretest.Answer) wiretest.Answer {
	w.mu.Lock()
	if w.budget == nil || wiretest.FromOutside(r) {
		w.mu.Unlock()
		return do()
	}
	left, reset, ok := w.budget.take()
	w.mu.Unlock()
	seconds := strconv.Itoa(int((reset + time.Second - 1) / time.Second))
	a := wiretest.Answer{}
	if ok {
		a = do()
	} else {
		a = refused(&failure{status: http.StatusTooManyRequests, code: 971, message: "Please wait and consider throttling your request speed"})
	}
	a.Header = maps.Clone(a.Header)
	a.Header.Set("Ratelimit", fmt.Sprintf(`"default";r=%d;t=%s`, left, seconds))
	if !ok {
		a.Header.Set("Retry-After", seconds)
	}
	return a
}
