package planner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// walk classifies the declared resources, upstreams first. What had to wait for upstreams before it could be observed
// is observed as soon as these are decided, many at once.
type walk struct {
	*observer
	*plan.Chosen
	decides   *plan.Classifier
	o         Policy
	narrowing *narrowing // nil: everything is observed
	builder   *Builder
	abroad    *otherStages
	// lastRun is when the last run ended, zero when that is not known. tell is told what is waited for.
	lastRun time.Time
	tell    func(plan.Event)
}

func (k *walk) run(ctx context.Context) {
	k.decideDeclared(ctx)
	for k.narrowing.widenCycles(ctx, k.Declared) {
		k.decideDeclared(ctx)
	}
	k.reconsider(ctx)
}

// decideDeclared classifies all that is selected and not classified yet. What is read of a member of a cycle goes by others that are
// decided later, so that with cycles nothing is decided while something is read.
func (k *walk) decideDeclared(ctx context.Context) {
	inCycle := func(n *plan.Node) bool { return len(n.Cut) > 0 }
	if slices.ContainsFunc(k.Declared, k.isReadLate) && !slices.ContainsFunc(k.Declared, inCycle) {
		k.decideSteps(ctx, steps(k.Sorted))
		return
	}
	for _, level := range plan.Levels(k.Sorted) {
		for part := range slices.Chunk(k.prepare(ctx, level), deciding) {
			late := slices.DeleteFunc(slices.Clone(part), func(n *plan.Node) bool { return !k.isObservedLate(n) })
			Parallel(len(late), Lookers, func(i int) { k.lookLate(ctx, late[i]) })
			for _, n := range part {
				k.decideOne(ctx, n)
			}
		}
	}
}

// deciding bounds how many nodes of a level are observed before they are decided. What a node is observed with is dropped when it is
// decided, and a level can have very many.
const deciding = 1024

// step is one node to be decided.
type step struct {
	n     *plan.Node
	waits int // for upstreams that are not decided
	after []*step
}

// steps are the declared nodes, and the reads that refer to others, upstreams first.
func steps(sorted []*plan.Node) []*step {
	all, of := make([]step, len(sorted)), make(map[*plan.Node]*step, len(sorted))
	var list []*step
	for i, n := range sorted {
		if n.Decl == nil && len(n.Ups) == 0 {
			continue
		}
		s := &all[i]
		s.n = n
		for _, up := range n.Ups {
			if before := of[up]; before != nil {
				before.after = append(before.after, s)
				s.waits++
			}
		}
		of[n], list = s, append(list, s)
	}
	return list
}

// decideSteps observes each node as soon as its upstreams are decided, many at once, and decides one after the other meanwhile.
func (k *walk) decideSteps(ctx context.Context, all []*step) {
	ready := slices.DeleteFunc(slices.Clone(all), func(s *step) bool { return s.waits > 0 })
	var late []*step // to be observed when fewer are
	observed, observing := make(chan *step), 0
	decided := func(s *step) {
		for _, next := range s.after {
			if next.waits--; next.waits == 0 {
				ready = append(ready, next)
			}
		}
	}
	for len(ready)+observing > 0 {
		now := ready
		ready = nil
		nodes := make([]*plan.Node, len(now))
		for i, s := range now {
			nodes[i] = s.n
		}
		k.prepare(ctx, nodes)
		for _, s := range now {
			switch {
			case s.n.Read != nil:
				decided(s)
			case k.isReadLate(s.n):
				late = append(late, s)
			default:
				k.decideOne(ctx, s.n)
				decided(s)
			}
		}
		for ; len(late) > 0 && observing < Lookers; late = late[1:] {
			s := late[0]
			observing++
			go func() {
				k.lookLate(ctx, s.n)
				observed <- s
			}()
		}
		if len(ready) == 0 && observing > 0 {
			s := <-observed
			observing--
			k.decideOne(ctx, s.n)
			decided(s)
		}
	}
}

// prepare reads and builds what nodes whose upstreams are decided go by, and returns the declared ones.
func (k *walk) prepare(ctx context.Context, nodes []*plan.Node) (declared []*plan.Node) {
	declared = k.readLevel(ctx, nodes)
	k.narrowing.widenLevel(ctx, declared)
	k.builder.prepareLevel(ctx, declared, func(n *plan.Node) bool { return !k.IsSelected(n) || k.Sleeps(n) })
	return declared
}

// isObservedLate reports a node that had to wait for its upstreams.
func (k *walk) isObservedLate(n *plan.Node) bool {
	return !n.Looked && n.Err == nil && k.IsSelected(n) && !k.Sleeps(n) && n.BlockedBy() == nil
}

// isReadLate reports one of those whose object is anywhere but in state.
func (k *walk) isReadLate(n *plan.Node) bool { return !n.Spec.Recorded && k.isObservedLate(n) }

func (k *walk) lookLate(ctx context.Context, n *plan.Node) {
	k.lookAt(ctx, n)
	n.Current = n.Err == nil
}

// decideOne has a node classified that was observed as far as it can be.
func (k *walk) decideOne(ctx context.Context, n *plan.Node) {
	switch {
	case k.IsSelected(n) && !n.Decided:
		k.decide(ctx, n)
		n.Decided = true
	case k.IsSelected(n):
	case k.narrowing != nil:
		plan.Believe(n)
	default:
		plan.PassOver(n)
		k.consult(ctx, n)
	}
}

// readLevel reads what of a level is used and not owned, and returns the rest. What the run makes or changes first something for is left to the run.
func (k *walk) readLevel(ctx context.Context, level []*plan.Node) (declared []*plan.Node) {
	var now []*plan.Node
	declared = make([]*plan.Node, 0, len(level))
	for _, n := range level {
		up := n.BlockedBy()
		switch {
		case n.Read == nil:
			declared = append(declared, n)
			continue
		case n.Decided:
		case up != nil:
			k.decides.BlockBehind(n, up)
		case n.IsReadByRun():
			n.Unknown, n.Later = true, true
		default:
			now = append(now, n)
		}
		n.Decided = true
	}
	errs := make([]error, len(now))
	Parallel(len(now), Lookers, func(i int) { errs[i] = k.readNode(ctx, now[i]) })
	for i, n := range now {
		switch err := errs[i]; {
		case err == nil:
		case errors.Is(err, errQueryUnknown) && slices.ContainsFunc(n.Ups, k.mayBeKnownLater):
			n.Unknown, n.Later = true, true
		default:
			k.decides.Refuse(n, err)
		}
	}
	return declared
}

// mayBeKnownLater reports that what is not known of a node is no mistake: it is to be made, by this run or a later one.
func (k *walk) mayBeKnownLater(n *plan.Node) bool {
	return n.Later || !k.IsSelected(n) || n.Plan != nil && n.Plan.Action != plan.Unchanged
}

// decide observes what is left to observe of a declared node now that its upstreams are decided, and has it classified.
func (k *walk) decide(ctx context.Context, n *plan.Node) {
	for again := true; again; {
		if !k.decides.Begin(n) {
			return
		}
		for _, read := range []func(context.Context, *plan.Node) error{k.compare, k.certain, k.findReplaced, k.askAbroad} {
			if n.Err == nil {
				n.Err = read(ctx, n)
			}
		}
		if n.Err == nil {
			n.Err = k.decides.Takes(n)
		}
		if n.Err != nil {
			k.decides.Block(n, n.Err)
			return
		}
		again = k.decides.Classify(n)
	}
	if err := k.dropUnfit(ctx, n); err != nil {
		k.decides.Block(n, err)
		return
	}
	plan.Foresee(n)
	compute(ctx, n)
	job := n.Job
	if k.decides.Shed(n); job != nil && n.Job == nil && len(n.Others) == 0 {
		k.Release(job)
	}
}

// compare brings the look up to date with the upstreams that are known now, and looks where that had to wait.
func (k *walk) compare(ctx context.Context, n *plan.Node) error {
	if !n.Looked {
		k.lookAt(ctx, n)
		return n.Err
	}
	if n.Current || len(n.Uses()) == 0 && n.Files == plan.FilesKnown || n.ReplacedWhole() {
		n.Current = false
		return nil
	}
	g := n.Present()
	job, err := k.DeclaredJob(ctx, n, Target{Gen: g, Number: 1})
	if err != nil {
		return err
	}
	if g == nil {
		job.ID, job.Name, job.Named = n.Job.ID, n.Job.Name, n.Job.Named
	}
	n.Job = job
	if n.Look().Absent {
		return nil
	}
	return n.Saw(n.Kind.Compare(job, *n.Look()))
}

// askAbroad reads the owners of objects in other stages where the decision goes by them.
func (k *walk) askAbroad(ctx context.Context, n *plan.Node) error {
	if k.decides.AsksAbroad(n) {
		k.decides.Abroad, k.decides.AbroadErr = k.abroad.owners(ctx)
	}
	return nil
}

// compute finds out what an object that is kept in state alone will be, as far as that needs no call: a random
// value is known before it is in state, and so is what is made of it. What nobody refers to is not computed.
func compute(ctx context.Context, n *plan.Node) {
	if !n.Spec.Recorded || n.Spec.Rerun || n.Entry != nil || !n.Look().Absent || n.Job == nil || len(n.Job.Unknown) > 0 {
		return
	}
	if !n.Referred {
		n.Unknown = false
		return
	}
	job := *n.Job
	if out, err := n.Kind.Settle(reconcile.ReadOnly(ctx), &job, reconcile.Hooks{}); err == nil {
		n.Attrs, n.Unknown = out.Attrs, false
	}
}

// reconsider compares the members of cycles again: when they were classified, what they need through a late path was
// not decided yet.
func (k *walk) reconsider(ctx context.Context) {
	for _, n := range k.Sorted {
		if n.Decl == nil || len(n.Cut) == 0 || !k.IsSelected(n) || n.Plan.Action != plan.Unchanged && n.Plan.Action != plan.Update {
			continue
		}
		k.decide(ctx, n)
	}
}

// consult reads what the taken object needs, and touches it in no way.
func (k *walk) consult(ctx context.Context, n *plan.Node) {
	if k.o.Take == nil || !n.Feeds(k.o.Take.Address) {
		return
	}
	k.lookAt(ctx, n)
	switch {
	case n.Err != nil:
		k.decides.Block(n, n.Err)
	case n.Look().Absent:
		compute(ctx, n)
	case adopt.Judge(k.Evidence(n, n.Job, *n.Look(), n.Present())).Verdict == adopt.Ours:
		n.Attrs, n.Unknown, n.Plan.Identity = n.Look().Attrs, false, n.Look().Identity
	}
}
