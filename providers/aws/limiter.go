package aws

import (
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// limits are the rates of all services, shared by all handles of a provider: a service counts the calls of an
// account, whichever client makes them.
type limits struct {
	mu sync.Mutex
	by map[limitKey]*rate.Limiter
	// isFree: no published rate is begun with.
	isFree bool
	// granted is when this process last changed something in IAM, by account.
	granted map[string]time.Time
	chains  chains
}

// limitKey is one quota: name tells those of one service apart.
type limitKey struct{ account, region, service, name string }

// anyRate is more calls a second than an emulator answers.
const anyRate = 1000

func newLimits() *limits {
	return &limits{by: map[limitKey]*rate.Limiter{}, granted: map[string]time.Time{}}
}

// note remembers a call that succeeded, if it changed something in IAM.
func (l *limits) note(call reconcile.Call) {
	if call.Service != "IAM" || !call.Mutates {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.granted[call.Place.Account] = time.Now()
}

// permissionsArrive is how long other services may not know what was changed in IAM. AWS says seconds, and no bound:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
const permissionsArrive = time.Minute

// PermissionsArrive reports whether this process changed something in IAM so lately, in the account of a handle, that other
// services may not know it yet.
func PermissionsArrive(cloud reconcile.Cloud) bool {
	c, ok := cloud.(*Cloud)
	if !ok {
		return false
	}
	place, _ := c.place.get()
	c.limits.mu.Lock()
	defer c.limits.mu.Unlock()
	return time.Since(c.limits.granted[place.Account]) < permissionsArrive
}

// Propagating classifies the error of a call that names a role as one that waiting may mend, while [PermissionsArrive]: services
// have one code for a role that they do not know yet, for a permission that it does not have yet, and for every mistake.
func Propagating(cloud reconcile.Cloud, err error) error {
	if classOf(err) == reconcile.Invalid && PermissionsArrive(cloud) {
		return Busy(err)
	}
	return err
}

// of is the limiter that a call is under.
func (l *limits) of(call reconcile.Call) *rate.Limiter {
	quota, name := quotaOf(call)
	if l.isFree {
		quota = rate.Quota{Rate: anyRate, Burst: anyRate}
	}
	key := limitKey{call.Place.Account, call.Place.Region, call.Service, name}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == nil {
		l.by[key] = rate.New(quota)
	}
	return l.by[key]
}
