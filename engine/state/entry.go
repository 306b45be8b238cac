package state

import (
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Entry is what athanor remembers of one resource. One goroutine at a time changes an entry.
type Entry struct {
	Address string
	// Version is the store's: a row is written on the version that was read.
	Version uint64
	// Birth is the first address of the resource. Generated names and sealed bytes go by it, whatever the address is now.
	Birth string
	// Needs are the addresses that the resource needed when it was deployed last, sorted.
	Needs       []string
	Generations []*Generation

	Deployed
	Settings map[string]any // of the provider, as last deployed
	Props    map[string]any // resolved, as last reconciled
	// Assets is one digest over the files that the props named when the resource was reconciled; "" where there were none.
	Assets string
	// Files are those of them that tell what files they are made of, by name and without paths; nil for none.
	Files map[string]reconcile.Asset
	// Cut are the deferrable paths, by upstream, through which a cycle was opened. They are emptied before the members of
	// the cycle can be deleted.
	Cut map[string][]tree.Path
	// SecretPaths are the paths of props that were ever secret: they stay masked when they no longer are.
	SecretPaths []tree.Path
	// Former are earlier addresses, as long as the program still names them: a rename that was done is not done again, and
	// an owner tag with a former address is ours.
	Former []string
	// MovingFrom is the address that `state mv` took the entry from, until every object of it has an owner tag with the
	// new one. Of another stage it is STACK/STAGE:ADDRESS.
	MovingFrom string
	// MovingTo is the STACK/STAGE:ADDRESS that `state mv` gives the entry to, from before that stage has it until it is removed
	// here.
	MovingTo string
	// MayDeleteData says that a prop allowed the deletion of users' data with the object.
	MayDeleteData bool
	// Found says that reading found the object and that state did not have it. It is not kept.
	Found bool
	// NeedsUnknown says that the entry was found by reading: what it needs is unknown until it is reconciled or deleted.
	NeedsUnknown bool
}

// Generation is one object of a resource, or the intent to create one.
type Generation struct {
	Number   uint64
	State    statestore.State
	Slot     int // of its generated name
	Kind     string
	Location reconcile.Place
	Identity string
	// Intent is the creation that was begun, nil once its identity is in state.
	Intent  *Intent
	Written time.Time // the last change of the object by athanor

	Name       string
	Nonce      string
	Attributes map[string]any
	// WriteDigests are keyed digests of what was written to paths that cannot be read.
	WriteDigests map[tree.Path]string
	// Replaced are keyed digests of the values that the last updates replaced, by path; no digest stands for any value. Reads
	// may show these values until the kind's visibility bound has passed since Written.
	Replaced    map[tree.Path][]string
	Settings    map[string]any // when other than the entry's
	Props       map[string]any // when other than the entry's
	DerivedFrom string         // the id of the key that values were derived from, when not the newest

	// IntentDurable says that this run made the intent durable. It is not kept.
	IntentDurable bool
	NameGiven     bool // by the author, not generated
	Retain        bool // is removed from state, not deleted
	StateOnly     bool // has no object outside state
	Dev           bool // was created by a dev session, which may delete it
}

// Deployed holds the options of a resource as last deployed. Entries share them with each other and with the program, since most
// resources have none and options are large.
type Deployed struct{ given *graph.Options } // nil for none

// Options returns the options as last deployed.
func (d *Deployed) Options() graph.Options {
	if d.given == nil {
		return graph.Options{}
	}
	return *d.given
}

// GivenOptions returns the options as last deployed, which nobody may change; nil for none.
func (d *Deployed) GivenOptions() *graph.Options { return d.given }

// SetOptions sets the options. They are kept and not copied: nobody changes them afterwards.
func (d *Deployed) SetOptions(o *graph.Options) {
	if d.given = o; o != nil && o.IsZero() {
		d.given = nil
	}
}

// Live returns the generation that serves, nil when there is none.
func (r *Entry) Live() *Generation { return r.inState(statestore.Live) }

// Candidate returns the generation that is being made, nil when there is none.
func (r *Entry) Candidate() *Generation { return r.inState(statestore.Candidate) }

// Present returns the generation that a resource is compared with: the live one, else one that is being made; nil when there
// is none.
func (r *Entry) Present() *Generation {
	if g := r.Live(); g != nil {
		return g
	}
	return r.Candidate()
}

// inState returns the first generation in a state, nil when there is none.
func (r *Entry) inState(state statestore.State) *Generation {
	if r == nil {
		return nil
	}
	for _, g := range r.Generations {
		if g.State == state {
			return g
		}
	}
	return nil
}

// Condemned returns the generations that wait for their deletion.
func (r *Entry) Condemned() []*Generation {
	var gens []*Generation
	if r != nil {
		for _, g := range r.Generations {
			if g.State == statestore.Condemned {
				gens = append(gens, g)
			}
		}
	}
	return gens
}

// Drop takes a generation out of the entry.
func (r *Entry) Drop(g *Generation) {
	r.Generations = slices.DeleteFunc(r.Generations, func(x *Generation) bool { return x == g })
}

// NextNumber returns the number of a further generation.
func (r *Entry) NextNumber() uint64 {
	var n uint64
	for _, g := range r.Generations {
		n = max(n, g.Number)
	}
	return n + 1
}

// NumberFor returns the number that an object found in the cloud carries, or the next number where that is taken.
func (r *Entry) NumberFor(carried uint64) uint64 {
	if carried == 0 || slices.ContainsFunc(r.Generations, func(g *Generation) bool { return g.Number == carried }) {
		return r.NextNumber()
	}
	return carried
}

// ByNumber returns the generation with a number, nil when there is none.
func (r *Entry) ByNumber(number uint64) *Generation {
	for _, g := range r.Generations {
		if g.Number == number {
			return g
		}
	}
	return nil
}

// HasIdentity reports whether an object of the entry has a physical identity, whatever its kind.
func (r *Entry) HasIdentity(identity string) bool {
	return r != nil && slices.ContainsFunc(r.Generations, func(g *Generation) bool { return g.Identity == identity })
}

// ByObject returns the generation that is one object of the cloud, nil when there is none.
func (r *Entry) ByObject(kind string, place reconcile.Place, identity string) *Generation {
	if r == nil || identity == "" {
		return nil
	}
	for _, g := range r.Generations {
		if g.Identity == identity && g.Kind == kind && g.Location == place {
			return g
		}
	}
	return nil
}

// OnlyOwner reports whether an object belongs to this generation and to no other one of the entry.
func (r *Entry) OnlyOwner(g *Generation, identity string) bool {
	return g.Identity == identity && !slices.ContainsFunc(r.Generations, func(x *Generation) bool {
		return x.Number != g.Number && x.Identity == identity && x.Kind == g.Kind && x.Location == g.Location
	})
}

// MakeLive makes a generation the live one and condemns all others: the one before, and one that was begun and is no longer
// wanted. A condemned generation with the same identity is the same object, and is dropped.
func (r *Entry) MakeLive(g *Generation) {
	for _, old := range r.Generations {
		if old == g || old.State == statestore.Condemned {
			continue
		}
		if old.State == statestore.Live {
			old.Retain = r.Options().Retain
		}
		if old.Props == nil {
			old.Props = r.Props
		}
		old.State = statestore.Condemned
	}
	r.Generations = slices.DeleteFunc(r.Generations, func(old *Generation) bool {
		return old != g && old.Identity == g.Identity && old.Identity != "" && old.Kind == g.Kind && old.Location == g.Location && !old.StateOnly
	})
	g.State, g.Intent, g.Props, g.Settings = statestore.Live, nil, nil, nil
}

// AddSecretPaths notes paths of props as secret. A path that was secret once stays masked.
func (r *Entry) AddSecretPaths(secret map[tree.Path]bool) {
	for p := range secret {
		if !slices.Contains(r.SecretPaths, p) {
			r.SecretPaths = append(slices.Clone(r.SecretPaths), p)
		}
	}
	slices.Sort(r.SecretPaths)
}

// UncutNeeds returns what the resource needs, without the edges that were cut to open a cycle.
func (r *Entry) UncutNeeds() []string {
	return slices.DeleteFunc(slices.Clone(r.Needs), func(a string) bool { _, cut := r.Cut[a]; return cut || a == r.Address })
}

// CameFrom reports whether the entry was at an address before.
func (r *Entry) CameFrom(old string) bool {
	return r != nil && (r.Birth == old && r.Birth != r.Address || slices.Contains(r.Former, old))
}

// Renamed returns a copy of the entry at another address. The digests of what cannot be read are bound to the address, and are
// made again from the props with the stage's key.
func (r *Entry) Renamed(addr string, key *seal.Key) *Entry {
	c := r.Clone()
	c.Former = append(slices.Clone(r.Former), r.Address)
	c.Address = addr
	c.redigest(c.Former, key, key)
	return c
}

// Readdressed returns a copy of the entry in which every moved address is the new one, and whether any was. Needs follow in
// the store by themselves, but a row that is put must have them right as well.
func (r *Entry) Readdressed(moves map[string]string) (*Entry, bool) {
	differs := false
	follow := func(addr string) string {
		if to, moved := moves[addr]; moved {
			differs = true
			return to
		}
		return addr
	}
	c := r.Clone()
	c.Needs = slices.Clone(r.Needs)
	for i, addr := range c.Needs {
		c.Needs[i] = follow(addr)
	}
	slices.Sort(c.Needs)
	o := r.Options()
	o.DependsOn = slices.Clone(o.DependsOn)
	for i, addr := range o.DependsOn {
		o.DependsOn[i] = follow(addr)
	}
	o.DeletedWith = follow(o.DeletedWith)
	c.SetOptions(&o)
	if len(r.Cut) > 0 {
		c.Cut = make(map[string][]tree.Path, len(r.Cut))
		for addr, paths := range r.Cut {
			c.Cut[follow(addr)] = paths
		}
	}
	return c, differs
}

// StillNamed returns the former addresses that the program still names.
func StillNamed(was, named []string) []string {
	var kept []string
	for _, old := range was {
		if slices.Contains(named, old) && !slices.Contains(kept, old) {
			kept = append(kept, old)
		}
	}
	return kept
}

// Clone returns a copy whose generations can be changed without changing the original.
func (r *Entry) Clone() *Entry {
	c := *r
	c.Generations = make([]*Generation, len(r.Generations))
	for i, g := range r.Generations {
		copied := *g
		copied.WriteDigests = maps.Clone(g.WriteDigests)
		c.Generations[i] = &copied
	}
	return &c
}
