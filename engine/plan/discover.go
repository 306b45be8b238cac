package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// found is a thing that reading showed and the record does not know.
type found struct {
	reconcile.Found
	access *observe.Way
	look   reconcile.Look
	job    *reconcile.Job
	slot   int
	// unsought: there was nothing yet to look for it by.
	unsought bool
}

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
	take  *Take
}
