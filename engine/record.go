package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// record is a row as the engine understands it. One record is changed by one goroutine at a time.
type record struct {
	address string
	version uint64
	birth   string
	needs   []string
	gens    []*generation

	options  Options
	settings map[string]any // of the provider, as last deployed
	props    map[string]any // resolved, as last settled
	// built is one digest over what the props pointed at when it was settled; "" for kinds that prepare nothing.
	built string
	// cut are the late paths, by upstream, through which a cycle was opened: what must be emptied before the
	// members of the cycle can go.
	cut map[string][]tree.Path
	// leave: a prop gave leave to delete users' data with the thing.
	leave bool
	// secret are the paths of props that were ever secret: they stay masked when they no longer are.
	secret []tree.Path
	// was are the addresses that the row had before, as long as the program still names them. A rename that
	// was done is not done again, and what still carries an old address is ours.
	was []string
	// moving is the address that `state mv` took the row from, until everything of it is marked with the new one.
	moving string
	// found: reading showed it, and no record held it.
	found bool
	// loose: it was found, and what it needs is not known before it is settled or gone.
	loose bool
}

// generation is one physical thing of a record, or the intent to make one.
type generation struct {
	number   uint64
	state    statestore.State
	slot     int
	kind     string
	place    reconcile.Place
	identity string
	intent   bool
	durable  bool // the intent was recorded by this very run
	written  time.Time

	name     string
	named    bool // the author gave the name
	nonce    string
	attrs    map[string]any
	digests  map[tree.Path]string // of write-only paths
	settings map[string]any       // when another than the record's
	props    map[string]any       // it was made of, when not the record's
	retain   bool                 // let go instead of deleted
	virtual  bool                 // without a physical object, kept in the record alone
	dev      bool                 // made by a dev session, which may delete it
}

func (r *record) find(state statestore.State) *generation {
	if r == nil {
		return nil
	}
	for _, g := range r.gens {
		if g.state == state {
			return g
		}
	}
	return nil
}

func (r *record) live() *generation      { return r.find(statestore.Live) }
func (r *record) candidate() *generation { return r.find(statestore.Candidate) }

func (r *record) condemned() []*generation {
	var gens []*generation
	if r != nil {
		for _, g := range r.gens {
			if g.state == statestore.Condemned {
				gens = append(gens, g)
			}
		}
	}
	return gens
}

// drop takes a generation out.
func (r *record) drop(g *generation) {
	r.gens = slices.DeleteFunc(r.gens, func(x *generation) bool { return x == g })
}

// next is the number of a further generation.
func (r *record) next() uint64 {
	var n uint64
	for _, g := range r.gens {
		n = max(n, g.number)
	}
	return n + 1
}

// numbered is the number that a found thing carries, or a further one where that is taken.
func (r *record) numbered(carried uint64) uint64 {
	if carried == 0 || slices.ContainsFunc(r.gens, func(g *generation) bool { return g.number == carried }) {
		return r.next()
	}
	return carried
}

// numberedAs finds a generation by its number.
func (r *record) numberedAs(number uint64) *generation {
	for _, g := range r.gens {
		if g.number == number {
			return g
		}
	}
	return nil
}

// owns finds the generation with a physical identity.
func (r *record) owns(kind string, place reconcile.Place, identity string) *generation {
	if r == nil || identity == "" {
		return nil
	}
	for _, g := range r.gens {
		if g.identity == identity && g.kind == kind && g.place == place {
			return g
		}
	}
	return nil
}

// settle makes a generation the live one and condemns all others: the one before, and one that was begun and is no
// longer wanted. What was condemned under the same identity is this very thing.
func (r *record) settle(g *generation) {
	for _, old := range r.gens {
		if old == g || old.state == statestore.Condemned {
			continue
		}
		if old.state == statestore.Live {
			old.retain = r.options.Retain
		}
		if old.props == nil {
			old.props = r.props
		}
		old.state = statestore.Condemned
	}
	r.gens = slices.DeleteFunc(r.gens, func(old *generation) bool {
		return old != g && old.identity == g.identity && old.identity != "" && old.kind == g.kind && old.place == g.place && !old.virtual
	})
	g.state, g.intent, g.props, g.settings = statestore.Live, false, nil, nil
}

// clone is a copy whose generations can be changed without changing the original.
func (r *record) clone() *record {
	c := *r
	c.gens = make([]*generation, len(r.gens))
	for i, g := range r.gens {
		copied := *g
		copied.digests = maps.Clone(g.digests)
		c.gens[i] = &copied
	}
	return &c
}
