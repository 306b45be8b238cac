package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

type m = map[string]any

// graph is a program.
func graph(resources ...engine.Resource) *engine.Graph {
	stage := simtest.Stage()
	return &engine.Graph{Format: engine.GraphFormat, Stack: stage.Stack, Stage: stage.Name, Resources: resources}
}

// res declares one resource of a kind of the simulated cloud.
func res(kind, address string, props m, options ...func(*engine.Options)) engine.Resource {
	r := engine.Resource{Address: address, Kind: "sim." + kind, Props: props}
	for _, o := range options {
		o(&r.Options)
	}
	return r
}

func in(region string, r engine.Resource) engine.Resource {
	r.Settings = m{"region": region}
	return r
}

func from(old ...string) func(*engine.Options) {
	return func(o *engine.Options) { o.RenamedFrom = old }
}

func deleteFirst(o *engine.Options) { o.DeleteFirst = true }
func retain(o *engine.Options)      { o.Retain = true }
func allowDelete(o *engine.Options) { o.AllowDelete = true }

func dependsOn(a ...string) func(*engine.Options) {
	return func(o *engine.Options) { o.DependsOn = a }
}

func deletedWith(a string) func(*engine.Options) {
	return func(o *engine.Options) { o.DeletedWith = a }
}

// move is one event before a scenario begins.
type move func(context.Context, *simtest.Sim) error

// deployed deploys a program, which must succeed.
func deployed(g *engine.Graph) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		if r := s.Run(ctx, simtest.Command{Graph: g}, nil); r.Failed() {
			return fmt.Errorf("deploy: %w", failure(r))
		}
		s.Wait()
		return nil
	}
}

// met deploys a program that meets these faults, whatever comes of it.
func met(g *engine.Graph, faults map[string]simtest.Outcome) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		r := s.Run(ctx, simtest.Command{Graph: g}, faults)
		if !r.Hit {
			return fmt.Errorf("it met none of %v, but %v", faults, r.Events)
		}
		s.Wait()
		return nil
	}
}

// errNothingThere says that an address has no object.
var errNothingThere = errors.New("nothing is there to be changed")

// edited changes what an address has made, by hand.
func edited(address string, change func(*simtest.Object)) move {
	return func(_ context.Context, s *simtest.Sim) error {
		if s.Cloud.Edit(simtest.ByAddress(address), change) == 0 {
			return fmt.Errorf("%s: %w", address, errNothingThere)
		}
		return nil
	}
}

// removed takes away what an address has made, by hand.
func removed(address string) move {
	return func(_ context.Context, s *simtest.Sim) error {
		s.Cloud.Remove(simtest.ByAddress(address))
		return nil
	}
}

// there puts somebody else's object into the cloud.
func there(o simtest.Object) move {
	return func(_ context.Context, s *simtest.Sim) error {
		s.Cloud.Put(o)
		return nil
	}
}

func failure(r *simtest.Report) error {
	if r.Endless {
		var last []string
		for _, e := range r.Events[len(r.Events)-6:] {
			last = append(last, e.Name)
		}
		return fmt.Errorf("it goes on for ever: %q", last)
	}
	if r.Err != nil {
		return r.Err
	}
	for _, f := range r.Result.Failures {
		return f
	}
	return fmt.Errorf("it ended as %s: %+v", r.Result.State, r.Result.Summary)
}

// servedIn lets the events of addresses happen in this order, where several could happen now.
func servedIn(order []string) move {
	return func(_ context.Context, s *simtest.Sim) error {
		s.Director.Order = func(event string) int { return slices.Index(order, simtest.AddressOf(event)) }
		return nil
	}
}
