package state

import (
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// Object names one object of the cloud.
type Object struct {
	Kind     string          `json:"kind,omitempty"`
	Location reconcile.Place `json:"place,omitzero"`
	Identity string          `json:"identity,omitempty"` // "" as long as it is not known
}

// Owners knows which address has each object: no two may claim one.
type Owners struct {
	mu sync.Mutex
	of map[Object]string
}

// Hold takes the owners from state.
func (o *Owners) Hold(entries map[string]*Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = map[Object]string{} // not for each entry one: many have no object outside state
	for _, entry := range entries {
		o.add(entry)
	}
}

// Change replaces an entry, nil for none, by what became of it.
func (o *Owners) Change(old, now *Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[Object]string{}
	}
	if old != nil {
		for _, g := range old.Generations {
			if o.of[g.Object()] == old.Address {
				delete(o.of, g.Object())
			}
		}
	}
	o.add(now)
}

func (o *Owners) add(entry *Entry) {
	for _, g := range entry.Generations {
		if g.Identity != "" && !g.StateOnly {
			o.of[g.Object()] = entry.Address
		}
	}
}

// Object returns the object of a generation.
func (g *Generation) Object() Object { return Object{g.Kind, g.Location, g.Identity} }

// By returns the address that has an object, "" when none but addr has it.
func (o *Owners) By(p Object, addr string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if holder := o.of[p]; holder != addr {
		return holder
	}
	return ""
}

// Claim gives an object to an address, or returns the address that has it already.
func (o *Owners) Claim(p Object, addr string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if holder := o.of[p]; holder != "" && holder != addr {
		return holder
	}
	if o.of == nil {
		o.of = map[Object]string{}
	}
	o.of[p] = addr
	return ""
}
