package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// observer reads the objects of nodes: each once, as far as can be before anything is decided, and with others at
// once where the kind can. It writes what it sees into their observations.
type observer struct{ *finder }

// Lookers bounds how many nodes are looked at at once; their calls are bounded by the gate.
const Lookers = 128

// reachAll opens the way to every place and checks the place of every row before anything is read: credentials
// that lead to another account are refused with nothing read.
func (j *Jobs) reachAll(ctx context.Context, undeclared []*plan.Node, deletes func(*plan.Node) bool) error {
	nodes := slices.Concat(j.Reads, j.Declared)
	Parallel(len(nodes), Lookers, func(i int) {
		n := nodes[i]
		settings := map[string]any(nil)
		switch {
		case n.Decl != nil:
			settings = n.Decl.Settings
		case n.Read != nil:
			settings = n.Read.Settings
		}
		n.Access = j.Cloud.Reach(ctx, n.Spec.Type, settings)
	})
	// leaves: the way to where an object is must be at hand before anything starts, when the program wants it elsewhere
	// or not at all. A run that finds out later has deleted half of a stage.
	leaves := func(n *plan.Node, g *state.Generation) bool {
		_, known := j.Catalog.ProviderOf(g.Kind)
		return known && (n.Decl != nil && n.Access.Place != g.Location || n.Decl == nil && deletes(n))
	}
	var problems []plan.Problem
	for _, n := range nodes {
		if n.Access.Err != nil {
			problems = append(problems, plan.Problem{Address: n.Address, Source: n.Source(), Err: n.Access.Err})
		}
	}
	for _, n := range slices.Concat(j.Declared, undeclared) {
		for _, g := range n.Generations() {
			a, err := j.Cloud.At(ctx, n.Address, n.Entry, g)
			if err == nil || g.State == statestore.Condemned {
				continue // what cannot be reached and is condemned stays, and stops nobody else
			}
			_, elsewhere := errors.AsType[*observe.PlaceError](err)
			if !elsewhere && !leaves(n, g) {
				continue // a kind that this binary does not know blocks itself alone
			}
			problems = append(problems, plan.Problem{Address: n.Address, Source: n.Source(), Err: regionHint(err, a)})
			break
		}
	}
	if len(problems) > 0 {
		return &plan.RefusedError{Problems: problems}
	}
	return nil
}

// regionHint adds to an error about another location of the same account what to set.
func regionHint(err error, have *observe.Way) error {
	place, ok := errors.AsType[*observe.PlaceError](err)
	if !ok || have.Err != nil || place.Recorded.Account != place.Have.Account || place.Recorded.Region == place.Have.Region || place.Recorded.Region == "" {
		return err
	}
	return reconcile.WithHint(err, "the account is the same: set the region to %s, in the settings or in the environment", place.Recorded.Region)
}

// lookAhead reads everything that can be read before its upstreams are known: what is in state by an identity
// or a name, and what refers to nothing.
func (o *observer) lookAhead(ctx context.Context, declared, undeclared []*plan.Node) {
	var ahead []*plan.Node
	for _, n := range declared {
		if n.Err != nil || n.Spec.Recorded || n.Files != plan.FilesKnown {
			continue
		}
		if g := n.Present(); len(n.Uses()) == 0 || g != nil && !g.Begun() && (g.Identity != "" || plan.IsKnown(g.Name)) {
			ahead = append(ahead, n)
		}
	}
	groups, single := grouped(ahead)
	single = append(single, undeclared...)
	Parallel(len(groups)+len(single), Lookers, func(i int) {
		if i < len(groups) {
			o.lookGroup(ctx, groups[i])
			return
		}
		o.lookAt(ctx, single[i-len(groups)])
	})
	for _, n := range ahead {
		if n.Err != nil || n.Look().Absent || n.Entry.Live() == nil || n.ReplacedWhole() {
			continue
		}
		n.Attrs = n.Look().Attrs // for those that come before it through an opened cycle, until it is classified
	}
}

// grouped are nodes in state by kind and location where the kind can read many at once, and the others.
func grouped(nodes []*plan.Node) (groups [][]*plan.Node, single []*plan.Node) {
	type group struct {
		kind string
		a    *observe.Way
	}
	at := map[group]int{}
	for _, n := range nodes {
		if !n.Spec.Bulk || n.Entry.Live() == nil || n.Entry.Live().Kind != n.Spec.Type {
			single = append(single, n)
			continue
		}
		id := group{n.Spec.Type, n.Access}
		i, ok := at[id]
		if !ok {
			i = len(groups)
			at[id], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups, single
}

func (o *observer) lookGroup(ctx context.Context, nodes []*plan.Node) {
	jobs, of := make([]*reconcile.Job, 0, len(nodes)), make([]*plan.Node, 0, len(nodes))
	for _, n := range nodes {
		job, err := o.presentJob(ctx, n)
		if n.Looked = true; err != nil {
			n.Err = err
			continue
		}
		jobs, of = append(jobs, job), append(of, n)
	}
	defer readingOf(ctx, of...)()
	many, cancel := context.WithTimeout(ctx, reconcile.DefaultTimeout)
	defer cancel()
	looks, errs := nodes[0].Kind.LookMany(many, jobs)
	for i, n := range of {
		n.Job, n.Err = jobs[i], n.Saw(looks[i], errs[i])
		if n.Err != nil && jobs[i].Cloud != nil && jobs[i].Cloud.Classify(n.Err).Retries() {
			n.Err = n.Saw(observe.See(ctx, n.Kind, n.Job))
		}
	}
}

// lookAt looks at one node.
func (o *observer) lookAt(ctx context.Context, n *plan.Node) {
	if n.Looked || n.Err != nil {
		return
	}
	n.Looked = true
	defer readingOf(ctx, n)()
	defer func() { n.Err = o.lookNamed(ctx, n) }()
	if n.Decl != nil && n.Entry.Live() == nil && n.Entry.Candidate() != nil {
		if n.Err = o.lookBegun(ctx, n); n.Err != nil || n.Look().NotYet {
			return
		}
	}
	switch {
	case n.Decl == nil:
		n.Err = o.lookLeftover(ctx, n)
	case n.Present() == nil:
		n.Err = o.find(ctx, n)
	default:
		job, err := o.presentJob(ctx, n)
		if err != nil {
			n.Err = err
			return
		}
		if n.Job = job; !Findable(job) {
			n.SetLook(reconcile.Look{Absent: true}) // it was begun, and what it goes by is not known yet: it is looked for once it is
			return
		}
		n.Err = n.Saw(observe.See(ctx, n.PresentKind(o.Catalog), job))
	}
}

// presentJob is the job of comparing a node with its present object. Where that is of another kind or in another
// location, it is read without comparing.
func (s *finder) presentJob(ctx context.Context, n *plan.Node) (*reconcile.Job, error) {
	g := n.Present()
	if g == nil {
		return s.DeclaredJob(ctx, n, Target{Number: n.NextNumber(), Slot: s.freeSlot(n)})
	}
	if n.ReplacedWhole() {
		a, err := s.Cloud.At(ctx, n.Address, n.Entry, g)
		if err != nil {
			return nil, err
		}
		return s.RecordedJob(n, a, g), nil
	}
	return s.DeclaredJob(ctx, n, Target{Gen: g})
}

// lookLeftover looks at what is no longer declared.
func (o *observer) lookLeftover(ctx context.Context, n *plan.Node) error {
	if n.Kind == nil {
		_, err := o.Cloud.KindOf(n.Address, n.Entry.Generations[0].Kind)
		return err
	}
	g := n.Present()
	if g == nil {
		return nil
	}
	if o.NeverBegan(g) {
		n.SetLook(reconcile.Look{Absent: true})
		return nil
	}
	a, err := o.Cloud.At(ctx, n.Address, n.Entry, g)
	if err != nil {
		return err
	}
	n.Access = a
	if n.Spec.Recorded {
		return nil // its entry says all
	}
	n.Job = o.RecordedJob(n, a, g)
	if err = n.Saw(observe.See(ctx, n.Kind, n.Job)); FailsToRead(ctx, err) {
		return &plan.UnreadError{Err: err}
	}
	return err
}

// lookReads reads what is used and not owned, and refers to nothing. What was read before may do, as far as that is kept.
func (o *observer) lookReads(ctx context.Context, warm *Warm, asBefore bool) error {
	reads := slices.DeleteFunc(slices.Clone(o.Reads), func(n *plan.Node) bool { return len(n.Ups) > 0 })
	errs := make([]error, len(reads))
	Parallel(len(reads), Lookers, func(i int) {
		if asBefore {
			if attrs, ok := warm.readBefore(reads[i]); ok {
				reads[i].Know(attrs)
				return
			}
		}
		if errs[i] = o.readNode(ctx, reads[i]); errs[i] == nil {
			warm.readNow(reads[i])
		}
	})
	var problems []plan.Problem
	for i, err := range errs {
		if err != nil {
			problems = append(problems, plan.Problem{Address: reads[i].Address, Source: reads[i].Source(), Err: err})
		}
	}
	if len(problems) > 0 {
		return &plan.RefusedError{Problems: problems}
	}
	return nil
}

// ReadLater reads for a run what planning could not, since something that it refers to was not as declared. What it
// looks for may still not be known, where that was left out of the run: then nobody knows its attributes.
func (o *observer) ReadLater(ctx context.Context, n *plan.Node) error {
	if err := o.readNode(reconcile.ReadOnly(ctx), n); !errors.Is(err, errQueryUnknown) {
		return err
	}
	return nil
}

// errQueryUnknown says that a query refers to what is not known.
var errQueryUnknown = errors.New("read: what it looks for must be known at plan")

// readNode reads one object that is used and not owned. There must be one.
func (o *observer) readNode(ctx context.Context, n *plan.Node) error {
	look, err := o.lookRead(ctx, n)
	if err == nil && look.Absent {
		err = fmt.Errorf("read: there is no such %s", n.Spec.Type)
	}
	if err == nil {
		n.Know(look.Attrs)
	}
	return err
}

func (o *observer) lookRead(ctx context.Context, n *plan.Node) (reconcile.Look, error) {
	job := o.job(n, n.Access, Target{})
	job.Mark = reconcile.Mark{}
	resolved, err := o.Resolve(ctx, n.Props)
	if err != nil {
		return reconcile.Look{}, err
	}
	if len(resolved.Unknown) > 0 {
		return reconcile.Look{}, errQueryUnknown
	}
	job.ID, job.Query = n.Read.ID, true
	job.Props, _ = resolved.Tree.(map[string]any)
	fields, _, err := n.Spec.Shape()
	if err != nil {
		return reconcile.Look{}, err
	}
	for name := range job.Props {
		if !slices.ContainsFunc(fields, func(f props.Field) bool { return f.Path == tree.Path("").Key(name) }) {
			return reconcile.Look{}, fmt.Errorf("read: %s has no prop %q", n.Spec.Type, name)
		}
	}
	o.name(n, job, Target{})
	if job.ID != "" || job.Named || !n.Spec.Lists {
		return observe.See(ctx, n.Kind, job)
	}
	return o.search(ctx, n, job)
}

// search looks for the one listed object whose props equal those of a query.
func (o *observer) search(ctx context.Context, n *plan.Node, query *reconcile.Job) (reconcile.Look, error) {
	things, err := observe.List(ctx, n.Kind, reconcile.Scope{Cloud: n.Access.Cloud, Place: n.Access.Place, Dir: o.Dir})
	if err != nil {
		return reconcile.Look{}, err
	}
	var matches []reconcile.Look
	for _, t := range things {
		job := *query
		job.ID, job.Name = t.Identity, t.Name
		look, err := observe.See(ctx, n.Kind, &job)
		if err != nil {
			return look, err
		}
		differs := slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool {
			for name := range query.Props {
				if steps := s.Path.Steps(); len(steps) > 0 && steps[0].Key == name {
					return true
				}
			}
			return false
		})
		if !look.Absent && !differs {
			matches = append(matches, look)
		}
	}
	switch len(matches) {
	case 0:
		return reconcile.Look{Absent: true}, nil
	case 1:
		return matches[0], nil
	default:
		return reconcile.Look{}, fmt.Errorf("read: %w: %d match", reconcile.ErrAmbiguous, len(matches))
	}
}

// unobserved stands in for a look when the record alone is compared.
func (o *observer) unobserved(ctx context.Context, n *plan.Node) {
	n.Looked = true
	g := n.Present()
	if n.Decl != nil && n.Err == nil && !o.Sleeps(n) {
		if n.Job, n.Err = o.presentJob(ctx, n); n.Err != nil {
			return
		}
	}
	if g == nil {
		n.SetLook(reconcile.Look{Absent: true})
		return
	}
	n.SetLook(reconcile.Look{Identity: g.Identity, Attrs: g.Attributes, Absent: g.Identity == "" && g.State == statestore.Candidate})
}

// FailsToRead reports an error of reading itself: nobody asked to stop meanwhile.
func FailsToRead(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, reconcile.ErrInterrupted)
}
