package aws

import (
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// limits are the rates of all services, shared by all handles of a provider: a service counts the calls of an
// account, whoever makes them.
type limits struct {
	mu sync.Mutex
	by map[limitKey]*rate.Limiter
}

type limitKey struct {
	account, region, service string
	mutates                  bool
}

func newLimits() *limits { return &limits{by: map[limitKey]*rate.Limiter{}} }

// of is the limiter that a call is under.
func (l *limits) of(call reconcile.Call) *rate.Limiter {
	key := limitKey{call.Place.Account, call.Place.Region, call.Service, call.Mutates}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == nil {
		l.by[key] = rate.New(quota(call.Service))
	}
	return l.by[key]
}

// quota is what is known of a service's limit before the first call. Most are not published: the limiter finds them. S3 is made
// for more: https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
func quota(service string) rate.Quota {
	if service == "S3" {
		return rate.Quota{Rate: 1000, Burst: 100}
	}
	return rate.Quota{}
}
