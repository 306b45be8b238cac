package planner

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Jobs makes the jobs of nodes: what a kind is given to read, compare or change one object.
type Jobs struct {
	*Program
	Cloud  *observe.Reader
	Dir    string // relative paths in props start there
	Key    *seal.Key
	force  bool
	budget *values.Budget
	// mask and digest are what every job is given.
	mask   func(text string) string
	digest func(domain string, data []byte) string
	// spare are jobs that nobody has any more.
	spare *sync.Pool
}

// Release takes back a job that nobody has any more: a job is large, and there can be very many.
func (j *Jobs) Release(job *reconcile.Job) {
	*job = reconcile.Job{}
	j.spare.Put(job)
}

// Target says which generation of a node a job is about.
type Target struct {
	Gen *state.Generation
	// Number and Slot are those of one that does not exist yet.
	Number uint64
	Slot   int
	// was: references to these are to older objects of theirs, with these attributes.
	was map[*plan.Node]map[string]any
	// Final: a run has come to it. What is not known by now will not be before the node's own work is done.
	Final bool
}

// DeclaredJob is the job of making a declared node match, with its props resolved as far as they are known.
// What is not known of late paths that open a cycle is left out once work has begun.
func (j *Jobs) DeclaredJob(ctx context.Context, n *plan.Node, t Target) (*reconcile.Job, error) {
	if t.Gen != nil {
		t.Number, t.Slot = t.Gen.Number, t.Gen.Slot
	}
	resolved, err := j.resolveWas(ctx, n.Props, t.was)
	if err != nil {
		return nil, err
	}
	if n.Size, err = j.budget.Hold(n.Size, resolved.Tree); err != nil {
		return nil, err
	}
	o := graph.Options{}
	if n.Decl != nil {
		o = n.Decl.Options
	}
	job := j.job(n, n.Access, t)
	job.Props, _ = resolved.Tree.(map[string]any)
	job.Unknown, job.Secret = resolved.Unknown, resolved.Secret
	job.Timeouts = reconcile.Timeouts(o.Timeouts)
	if t.Gen != nil && t.Gen.State == statestore.Candidate {
		n.TakeAlong(job)
		job.Timeouts.Update = cmp.Or(o.Timeouts.Create, n.Spec.Timeouts.Create) // going on with a creation is no update
	}
	if job.Assets = n.Assets; n.Files == plan.FilesLater {
		job.Unknown = n.UnknownFiles(job)
	}
	job.Ignore, job.ReplaceOn, job.Force = o.IgnoreChanges, o.ReplaceOn, j.force
	if n.Was != nil {
		job.Ignore = slices.Concat(o.IgnoreChanges, n.Was.Aside)
	}
	if t.Gen.Begun() && t.Gen.StateOnly {
		job.Last = nil // it runs again: how far its run or its undo came nothing shows
	}
	if t.Gen != nil && n.Entry != nil {
		job.Had, job.OldAssets = n.Entry.Props, n.Entry.Files
	}
	if t.Final {
		if err := n.Omit(job); err != nil {
			return nil, err
		}
	}
	if err := n.Kind.Decode(job); err != nil {
		return nil, err
	}
	j.name(n, job, t)
	return job, nil
}

// job is what is known of a generation without its declaration.
func (j *Jobs) job(n *plan.Node, a *observe.Way, t Target) *reconcile.Job {
	birth, key := n.Birth(), t.Gen.Deriver(j.Key)
	job, again := j.spare.Get().(*reconcile.Job)
	if !again {
		job = new(reconcile.Job)
	}
	*job = reconcile.Job{
		Address: n.Address, Place: a.Place, Cloud: a.Cloud, Dir: j.Dir,
		Mark:   j.Mark(n.Address, t.Number),
		Dev:    j.Dev,
		Redact: j.mask,
		Digest: j.digest,
		Derive: func(info string, size int) []byte {
			return key.Derive(birth+"\x00"+info, size)
		},
	}
	if g := t.Gen; g != nil {
		job.ID, job.Last, job.Name, job.Named, job.Nonce = g.Identity, g.Attributes, g.Name, g.NameGiven, g.Nonce
		job.Written, job.LastWrite, job.Intent, job.Begun = g.WriteDigests, g.Written, g.Intent != nil, g.Begun()
	}
	if n.Entry != nil && job.ID == "" {
		for _, g := range n.Entry.Generations {
			if g != t.Gen && g.Identity != "" {
				job.Others = append(job.Others, g.Identity)
			}
			if job.Last == nil && g.Number < t.Number && g.Attributes != nil {
				job.Earlier = g.Attributes // the newest is last
			}
		}
	}
	return job
}

// name decides the physical name. A generated one is that of the address of creation, and an object that has one keeps
// it.
func (j *Jobs) name(n *plan.Node, job *reconcile.Job, t Target) {
	n.Kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case t.Gen != nil && t.Gen.Name != "":
	case job.Naming != nil:
		job.Name = adopt.Name(*job.Naming, job.Place, j.Stage.Stack, j.Stage.Name, n.Birth(), t.Slot)
	}
}

// RecordedJob is the job of reading or deleting what is in state, without a declaration.
func (j *Jobs) RecordedJob(n *plan.Node, a *observe.Way, g *state.Generation) *reconcile.Job {
	job := j.job(n, a, Target{Gen: g, Number: g.Number})
	if n.Entry != nil {
		if job.Had = g.Props; g.Props == nil {
			job.Had = n.Entry.Props
		}
		if g.Begun() {
			plan.SeekBegun(job, g.Intent)
			job.Mark = j.Mark(g.Intent.Address, g.Number)
		}
		job.Timeouts = reconcile.Timeouts(n.Entry.Options().Timeouts)
	}
	return job
}
