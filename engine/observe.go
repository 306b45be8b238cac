package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// observer reads the objects of nodes: each once, as far as can be before anything is decided, and with others at
// once where the kind can. It writes what it sees into their observations.
type observer struct{ *finder }

// lookers bounds how many nodes are looked at at once; their calls are bounded by the gate.
const lookers = 128

// reachAll opens the way to every place and checks the place of every row before anything is read: credentials
// that lead to another account are refused with nothing read.
func (j *jobs) reachAll(ctx context.Context, undeclared []*node, deletes func(*node) bool) error {
	nodes := slices.Concat(j.reads, j.declared)
	parallel(len(nodes), lookers, func(i int) {
		n := nodes[i]
		settings := map[string]any(nil)
		switch {
		case n.decl != nil:
			settings = n.decl.Settings
		case n.read != nil:
			settings = n.read.Settings
		}
		n.access = j.cloud.Reach(ctx, n.spec.Type, settings)
	})
	// leaves: the way to where an object is must be at hand before anything starts, when the program wants it elsewhere
	// or not at all. A run that finds out later has deleted half of a stage.
	leaves := func(n *node, g *state.Generation) bool {
		_, known := j.catalog.ProviderOf(g.Kind)
		return known && (n.decl != nil && n.access.Place != g.Location || n.decl == nil && deletes(n))
	}
	var problems []Problem
	for _, n := range nodes {
		if n.access.Err != nil {
			problems = append(problems, Problem{Address: n.addr, Source: n.source(), Err: n.access.Err})
		}
	}
	for _, n := range slices.Concat(j.declared, undeclared) {
		for _, g := range n.generations() {
			var place *observe.PlaceError
			a, err := j.cloud.At(ctx, n.addr, n.rec, g)
			switch {
			case err == nil, g.State == statestore.Condemned:
				continue // what cannot be reached and is condemned stays, and stops nobody else
			case !errors.As(err, &place) && !leaves(n, g):
				continue // a kind that this binary does not know blocks itself alone
			}
			problems = append(problems, Problem{Address: n.addr, Source: n.source(), Err: regionHint(err, a)})
			break
		}
	}
	if len(problems) > 0 {
		return &RefusedError{problems}
	}
	return nil
}

func (n *tracked) generations() []*state.Generation {
	if n.rec == nil {
		return nil
	}
	return n.rec.Generations
}

// regionHint adds to an error about another location of the same account what to set.
func regionHint(err error, have *observe.Way) error {
	place, ok := errors.AsType[*observe.PlaceError](err)
	if !ok || have.Err != nil || place.Recorded.Account != place.Have.Account || place.Recorded.Region == place.Have.Region || place.Recorded.Region == "" {
		return err
	}
	return reconcile.WithHint(err, "the account is the same: set the region to %s, in the settings or in the environment", place.Recorded.Region)
}

// prepare builds and hashes what props point at, in parallel, before anything is looked at. One that cannot be
// built blocks its resource only.
func (b *builder) prepare(ctx context.Context, skip func(*node) bool) {
	b.awaitFiles()
	var building []*node
	for _, n := range b.declared {
		if !n.spec.Prepares || skip(n) || n.files != filesKnown {
			continue
		}
		if assets, ok := b.prepared(n); ok {
			n.assets = assets
			continue
		}
		building = append(building, n)
	}
	b.prepareAll(ctx, building)
}

// prepareAll prepares several nodes. Files that a node's own hook is to write may be missing.
func (b *builder) prepareAll(ctx context.Context, nodes []*node) {
	parallel(len(nodes), 4, func(i int) {
		n := nodes[i]
		job := &reconcile.Job{Address: n.addr, Props: n.declaredProps(), Dir: b.dir}
		switch err := b.prepareOne(ctx, n, job); {
		case err == nil:
			n.assets, n.files = job.Assets, filesKnown
		case n.buildsItself():
			n.files = filesLater
		default:
			n.err = n.unprepared(err)
		}
	})
}

// lookAhead looks at everything that can be looked at before its upstreams are known: what is on record by an identity
// or a name, and what refers to nothing.
func (o *observer) lookAhead(ctx context.Context, declared, undeclared []*node) {
	var ahead []*node
	for _, n := range declared {
		if n.err != nil || n.spec.Recorded || n.files != filesKnown {
			continue
		}
		if g := n.present(); len(n.uses) == 0 || g != nil && !g.Begun() && (g.Identity != "" || known(g.Name)) {
			ahead = append(ahead, n)
		}
	}
	single := o.lookMany(ctx, ahead)
	all := slices.Concat(single, undeclared)
	parallel(len(all), lookers, func(i int) { o.lookAt(ctx, all[i]) })
	for _, n := range ahead {
		if n.err != nil || n.look.Absent || n.rec.Live() == nil || n.replacedWhole() {
			continue
		}
		n.attrs = n.look.Attrs // for those that come before it through an opened cycle, until it is classified
	}
}

// lookMany groups nodes on record by kind and place where the kind can look at many at once. It returns the others.
func (o *observer) lookMany(ctx context.Context, nodes []*node) []*node {
	type group struct {
		kind string
		a    *observe.Way
	}
	groups := map[group][]*node{}
	var single []*node
	for _, n := range nodes {
		if n.spec.Bulk && n.rec.Live() != nil && n.rec.Live().Kind == n.spec.Type {
			id := group{n.spec.Type, n.access}
			groups[id] = append(groups[id], n)
			continue
		}
		single = append(single, n)
	}
	lists := slices.Collect(maps.Values(groups))
	parallel(len(lists), lookers, func(i int) { o.lookGroup(ctx, lists[i]) })
	return single
}

func (o *observer) lookGroup(ctx context.Context, nodes []*node) {
	jobs, of := make([]*reconcile.Job, 0, len(nodes)), make([]*node, 0, len(nodes))
	for _, n := range nodes {
		job, err := o.presentJob(ctx, n)
		if n.looked = true; err != nil {
			n.err = err
			continue
		}
		jobs, of = append(jobs, job), append(of, n)
	}
	defer reads(ctx, of...)()
	many, cancel := context.WithTimeout(ctx, reconcile.DefaultTimeout)
	defer cancel()
	looks, errs := nodes[0].kind.LookMany(many, jobs)
	for i, n := range of {
		n.job, n.look, n.err = jobs[i], looks[i], errs[i]
		if n.err != nil && jobs[i].Cloud != nil && jobs[i].Cloud.Classify(n.err).Retries() {
			n.look, n.err = observe.See(ctx, n.kind, n.job)
		}
	}
}

// lookAt looks at one node.
func (o *observer) lookAt(ctx context.Context, n *node) {
	if n.looked || n.err != nil {
		return
	}
	n.looked = true
	defer reads(ctx, n)()
	defer func() { n.err = o.lookNamed(ctx, n) }()
	if n.decl != nil && n.rec.Live() == nil && n.rec.Candidate() != nil {
		if n.err = o.lookBegun(ctx, n); n.err != nil || n.look.NotYet {
			return
		}
	}
	switch {
	case n.decl == nil:
		n.err = o.lookLeftover(ctx, n)
	case n.present() == nil:
		n.err = o.find(ctx, n)
	default:
		job, err := o.presentJob(ctx, n)
		if err != nil {
			n.err = err
			return
		}
		if n.job = job; !findable(job) {
			n.look = reconcile.Look{Absent: true} // it was begun, and what it goes by is not known yet: it is looked for once it is
			return
		}
		n.look, n.err = observe.See(ctx, n.presentKind(o.catalog), job)
	}
}

// present is the generation that a node is compared with.
func (n *tracked) present() *state.Generation { return n.rec.Present() }

// presentKind is the kind of the present thing, which may be another than the declared.
func (n *node) presentKind(catalog *reconcile.Catalog) reconcile.Any {
	if g := n.present(); g != nil && g.Kind != n.spec.Type {
		if k, ok := catalog.Kind(g.Kind); ok {
			return k
		}
	}
	return n.kind
}

// presentJob is the job of comparing a node with its present thing. Where that is of another kind or in another place,
// it is looked at without comparing.
func (s *finder) presentJob(ctx context.Context, n *node) (*reconcile.Job, error) {
	g := n.present()
	if g == nil {
		return s.declaredJob(ctx, n, target{number: n.nextNumber(), slot: s.freeSlot(n)})
	}
	if n.replacedWhole() {
		a, err := s.cloud.At(ctx, n.addr, n.rec, g)
		if err != nil {
			return nil, err
		}
		return s.recordedJob(n, a, g), nil
	}
	return s.declaredJob(ctx, n, target{gen: g, number: g.Number, slot: g.Slot})
}

// replacedWhole reports that kind or place changed under the same address.
func (n *node) replacedWhole() bool {
	g := n.present()
	return g != nil && (g.Kind != n.spec.Type || g.Location != n.access.Place)
}

// lookLeftover looks at what is no longer declared.
func (o *observer) lookLeftover(ctx context.Context, n *node) error {
	if n.kind == nil {
		_, err := o.cloud.KindOf(n.addr, n.rec.Generations[0].Kind)
		return err
	}
	g := n.present()
	if g == nil {
		return nil
	}
	if o.neverBegan(g) {
		n.look = reconcile.Look{Absent: true}
		return nil
	}
	a, err := o.cloud.At(ctx, n.addr, n.rec, g)
	if err != nil {
		return err
	}
	n.access = a
	if n.spec.Recorded {
		n.look = reconcile.Look{Identity: g.Identity, Attrs: g.Attributes}
		return nil
	}
	n.job = o.recordedJob(n, a, g)
	if n.look, err = observe.See(ctx, n.kind, n.job); failsToRead(ctx, err) {
		return &unreadError{err}
	}
	return err
}

// lookReads reads what is used and not owned. What was read before may do, as far as that is kept.
func (o *observer) lookReads(ctx context.Context, warm *Warm, asBefore bool) error {
	errs := make([]error, len(o.reads))
	parallel(len(o.reads), lookers, func(i int) {
		n := o.reads[i]
		if asBefore {
			if attrs, ok := warm.readBefore(n); ok {
				n.attrs = attrs
				return
			}
		}
		look, err := o.lookRead(ctx, n)
		if err == nil && look.Absent {
			err = fmt.Errorf("read: there is no such %s", n.spec.Type)
		}
		if n.attrs, errs[i] = look.Attrs, err; err == nil {
			warm.readNow(n)
		}
	})
	var problems []Problem
	for i, err := range errs {
		if err != nil {
			problems = append(problems, Problem{Address: o.reads[i].addr, Source: o.reads[i].source(), Err: err})
		}
	}
	if len(problems) > 0 {
		return &RefusedError{problems}
	}
	return nil
}

func (o *observer) lookRead(ctx context.Context, n *node) (reconcile.Look, error) {
	job := o.job(n, n.access, target{})
	job.Mark = reconcile.Mark{}
	resolved, err := o.resolve(ctx, n.props)
	if err != nil {
		return reconcile.Look{}, err
	}
	if len(resolved.Unknown) > 0 {
		return reconcile.Look{}, errors.New("read: what it looks for must be known at plan")
	}
	job.ID, job.Query = n.read.ID, true
	job.Props, _ = resolved.Tree.(map[string]any)
	fields, _, err := n.spec.Shape()
	if err != nil {
		return reconcile.Look{}, err
	}
	for name := range job.Props {
		if !slices.ContainsFunc(fields, func(f props.Field) bool { return f.Path == tree.Path("").Key(name) }) {
			return reconcile.Look{}, fmt.Errorf("read: %s has no prop %q", n.spec.Type, name)
		}
	}
	o.name(n, job, target{})
	if job.ID != "" || job.Named || !n.spec.Lists {
		return observe.See(ctx, n.kind, job)
	}
	return o.search(ctx, n, job)
}

// search looks for the one listed thing whose props equal those of a query.
func (o *observer) search(ctx context.Context, n *node, query *reconcile.Job) (reconcile.Look, error) {
	things, err := observe.List(ctx, n.kind, reconcile.Scope{Cloud: n.access.Cloud, Place: n.access.Place, Dir: o.dir})
	if err != nil {
		return reconcile.Look{}, err
	}
	var matches []reconcile.Look
	for _, t := range things {
		job := *query
		job.ID, job.Name = t.Identity, t.Name
		look, err := observe.See(ctx, n.kind, &job)
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
func (o *observer) unobserved(ctx context.Context, n *node) {
	n.looked = true
	g := n.present()
	if n.decl != nil && n.err == nil && !o.sleeps(n) {
		if n.job, n.err = o.presentJob(ctx, n); n.err != nil {
			return
		}
	}
	if g == nil {
		n.look = reconcile.Look{Absent: true}
		return
	}
	n.look = reconcile.Look{Identity: g.Identity, Attrs: g.Attributes, Absent: g.Identity == "" && g.State == statestore.Candidate}
}
