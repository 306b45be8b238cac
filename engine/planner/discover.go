package planner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// discover finds everything with an owner tag of a stage that has no entries, in every location that the program
// names: tag-wide where the provider can, else kind by kind.
func (s *finder) discover(ctx context.Context) error {
	var accesses []*observe.Way
	for _, n := range s.Declared {
		if a := n.Access.Reached(); a.Err == nil && !slices.Contains(accesses, a) {
			accesses = append(accesses, a)
		}
	}
	all, err := s.Cloud.Discover(ctx, accesses)
	s.discovered = discoveryOf(all)
	return err
}

// discovery is what the owner tags of a stage show.
type discovery struct {
	all        []observe.Tagged
	byAddress  map[string][]*observe.Tagged // by the address in the owner tag
	byIdentity map[string]*observe.Tagged
}

func discoveryOf(all []observe.Tagged) discovery {
	d := discovery{all, map[string][]*observe.Tagged{}, map[string]*observe.Tagged{}}
	for i := range all {
		t := &all[i]
		d.byAddress[t.Mark.Address] = append(d.byAddress[t.Mark.Address], t)
		d.byIdentity[t.Identity] = t
	}
	return d
}

// retained says what was left to itself on purpose, and stays so.
func (d discovery) retained() []string {
	var texts []string
	for _, f := range d.all {
		if f.Mark.Retained {
			texts = append(texts, fmt.Sprintf("%s %s was retained by %s; it is left alone", f.Kind, f.Identity, f.Mark.Address))
		}
	}
	return texts
}

// finder looks for objects that no entry has.
type finder struct {
	*Jobs
	Slots      *state.Slots
	discovered discovery
	// fresh: there are no entries at all, and everything with an owner tag was discovered.
	fresh bool
	take  *plan.Take
}

// undeclared makes state entries of the objects that were discovered and that no declared address explains, so that
// they are deleted like any other.
func (s *finder) undeclared(dev bool) []*plan.Node {
	if len(s.discovered.byAddress) == 0 {
		return nil
	}
	explained := map[string]bool{}
	for _, n := range s.Declared {
		for _, birth := range n.Births() {
			explained[birth] = true
		}
	}
	var extra []*plan.Node
	for _, addr := range slices.Sorted(maps.Keys(s.discovered.byAddress)) {
		if explained[addr] {
			continue
		}
		if n := s.foundNode(addr, s.discovered.byAddress[addr], dev); n != nil {
			extra = append(extra, n)
		}
	}
	return extra
}

// foundNode makes one state entry of all discovered objects of an address: the highest generation live, the others
// condemned.
func (s *finder) foundNode(addr string, things []*observe.Tagged, dev bool) *plan.Node {
	things = slices.DeleteFunc(slices.Clone(things), func(d *observe.Tagged) bool { return d.Mark.Retained })
	if len(things) == 0 {
		return nil
	}
	rec := foundEntry(addr, things, dev, func(parent string) bool {
		up := s.Nodes[parent]
		return len(s.discovered.byAddress[parent]) > 0 || up != nil && up.Entry != nil
	})
	n := s.LeftNode(addr, rec)
	n.Access = things[0].Way
	return n
}

// foundEntry makes an entry of the objects that were found of an address. It needs the parents by which they were listed, as
// far as those are known.
func foundEntry(addr string, things []*observe.Tagged, dev bool, known func(address string) bool) *state.Entry {
	slices.SortStableFunc(things, func(a, b *observe.Tagged) int { return cmp.Compare(b.Mark.Generation, a.Mark.Generation) })
	rec := &state.Entry{Address: addr, Birth: addr, Settings: things[0].Way.Settings, Found: true, NeedsUnknown: true}
	for i, d := range things {
		if d.Under != "" && d.Under != addr && !slices.Contains(rec.Needs, d.Under) && known(d.Under) {
			rec.Needs = append(rec.Needs, d.Under)
		}
		g := foundGeneration(rec, d, dev)
		if i == 0 {
			g.State, g.Settings = statestore.Live, nil
		}
		rec.Generations = append(rec.Generations, g)
	}
	return rec
}

// foundGeneration is an object that was found, as a further and condemned generation of an entry.
func foundGeneration(rec *state.Entry, d *observe.Tagged, dev bool) *state.Generation {
	return &state.Generation{
		Number: rec.NumberFor(d.Mark.Generation), State: statestore.Condemned, Kind: d.Kind, Location: d.Way.Place,
		Identity: d.Identity, Name: d.Name, Settings: plan.SettingsOf(rec, d.Way), Dev: dev,
	}
}
