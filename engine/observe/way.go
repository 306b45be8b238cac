package observe

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// once is work that the first who comes does for all. Unlike that of package sync it keeps those who wait for it on a
// channel: in simulated time the work may take a while, and time goes by only while nobody waits for a lock.
type once chan struct{}

// newOnce is closed when the work is done.
func newOnce() once { return make(once) }

// do does the work when it is the caller's, else waits for it.
func (o once) do(mine bool, work func()) {
	if mine {
		defer close(o)
		work()
		return
	}
	<-o
}

// accessKey tells ways apart: a provider, the canonical form of its settings, "" for none, and the location that objects count
// as being in, where that is not the one they are reached by.
type accessKey struct {
	provider, settings string
	home               reconcile.Place
}

// Way is the way to one location.
type Way struct {
	id accessKey
	// via is the way to where the cloud's handle leads, for objects that count as being elsewhere; nil for others.
	via      *Way
	Settings map[string]any
	Provider reconcile.Provider
	once     once
	Cloud    reconcile.Cloud
	Place    reconcile.Place
	Err      error
}

// Ways keeps ways with their clients and credentials from one plan to the next.
type Ways struct {
	mu  sync.Mutex
	all map[accessKey]*Way
}

// NewWays keeps no way yet.
func NewWays() *Ways { return &Ways{all: map[accessKey]*Way{}} }

// way returns the kept way to a location, or a new one, which is the caller's to open. Without a memory every way is new.
func (k *Ways) take(id accessKey, open func() *Way) (a *Way, mine bool) {
	if k == nil {
		return open(), true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if a, ok := k.all[id]; ok {
		return a, false
	}
	a = open()
	k.all[id] = a
	return a, true
}

// fail forgets a way that could not be opened.
func (k *Ways) fail(id accessKey, a *Way) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[id] == a {
		delete(k.all, id)
	}
}

// Clear forgets all ways.
func (k *Ways) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.all)
}

// Reached returns the way that leads to where the cloud's handle does.
func (a *Way) Reached() *Way {
	if a.via != nil {
		return a.via
	}
	return a
}

func (a *Way) open(ctx context.Context) {
	var typed any
	if a.Provider.Settings != nil {
		typed = reflect.New(reflect.TypeOf(a.Provider.Settings).Elem()).Interface()
		if a.Err = props.Decode(a.Settings, typed); a.Err != nil {
			a.Err = fmt.Errorf("provider %s: %w", a.Provider.Name, a.Err)
			return
		}
	}
	if a.Cloud, a.Err = a.Provider.Open(ctx, typed); a.Err != nil {
		return
	}
	a.Place, a.Err = Patiently(reconcile.ReadOnly(ctx), a.Cloud, 0, a.Cloud.Place)
}
