// Package limit keeps calls under the limits of Cloudflare's API. It knows what the service publishes and what its answers say of its count; it
// sends nothing. It is apart from the provider so that its tests see what is not exported, and no kind is compiled once more for them.
package limit

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile/rate"
)

// Limits are the rates of all tokens, shared by all handles of a provider: Cloudflare counts what a token asks,
// whatever for and in whichever account.
type Limits struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]*rate.Limiter
}

// New has no token yet.
func New() *Limits { return &Limits{by: map[[sha256.Size]byte]*rate.Limiter{}} }

// Of is the limiter that calls with a token are under.
func (l *Limits) Of(endpoint, token string) *rate.Limiter {
	key := sha256.Sum256([]byte(endpoint + "\x00" + token))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == nil {
		l.by[key] = rate.New(rate.Quota{Rate: quota, Burst: quota, Calls: quota, Window: window, Longest: window})
	}
	return l.by[key]
}

// The limit of the API, and what follows when it is exceeded: everything is refused for the rest of the window. The service says
// how many calls are left and until when; without its word the published limit is believed.
// https://developers.cloudflare.com/fundamentals/api/reference/limits/
const (
	quota  = 1200
	window = 5 * time.Minute
)

// Remaining reads the header Ratelimit, such as "default";r=1199;t=300. Of several limits the tightest counts.
func Remaining(h http.Header) (left int, reset time.Duration, ok bool) {
	for item := range strings.SplitSeq(strings.Join(h.Values("Ratelimit"), ","), ",") {
		r, t := -1, -1
		for param := range strings.SplitSeq(item, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
			n, err := strconv.Atoi(value)
			switch {
			case err != nil || n < 0:
			case name == "r":
				r = n
			case name == "t":
				t = n
			}
		}
		if r >= 0 && t >= 0 && (!ok || r < left) {
			left, reset, ok = r, min(time.Duration(t)*time.Second, window), true
		}
	}
	return left, reset, ok
}
