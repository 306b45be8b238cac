package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// birth is the address that a node's generated names come from.
func (n *node) birth() string {
	if n.rec != nil && n.rec.Birth != "" {
		return n.rec.Birth
	}
	return n.addr
}

// births are all addresses that a thing of this node may be marked with or named after.
func (n *node) births() []string {
	births := []string{n.birth()}
	if n.addr != births[0] {
		births = append(births, n.addr)
	}
	if n.rec != nil {
		births = append(births, n.rec.Former...)
	}
	if n.decl != nil {
		births = append(births, n.decl.Options.RenamedFrom...)
	}
	return births
}

// jobs makes the jobs of nodes: what a kind is given to read, compare or change one object.
type jobs struct {
	*index
	cloud  *observe.Reader
	stage  statestore.Stage
	store  string // the store's id
	dir    string // relative paths in props start there
	key    *seal.Key
	dev    *reconcile.Dev
	owners *state.Owners
	force  bool
	budget *values.Budget
}

// target says which generation of a node a job is about.
type target struct {
	gen    *state.Generation // nil: one that does not exist yet
	number uint64
	slot   int
	// was: references to these are to older things of theirs, with these attributes.
	was map[*node]map[string]any
	// final: a run has come to it. What is not known by now will not be before the node's own work is done.
	final bool
}

// declaredJob is the job of making a declared node match, with its props resolved as far as they are known.
// What is not known of late paths that open a cycle is left out once work has begun.
func (j *jobs) declaredJob(ctx context.Context, n *node, t target) (*reconcile.Job, error) {
	resolved, err := j.resolveWas(ctx, n.props, t.was)
	if err != nil {
		return nil, err
	}
	if err := j.budget.Hold(n.addr, resolved.Tree); err != nil {
		return nil, err
	}
	o := graph.Options{}
	if n.decl != nil {
		o = n.decl.Options
	}
	job := j.job(n, n.access, t)
	job.Props, _ = resolved.Tree.(map[string]any)
	job.Unknown, job.Secret = resolved.Unknown, resolved.Secret
	job.Timeouts = reconcile.Timeouts(o.Timeouts)
	if t.gen != nil && t.gen.State == statestore.Candidate {
		n.takeAlong(job)
		job.Timeouts.Update = cmp.Or(o.Timeouts.Create, n.spec.Timeouts.Create) // going on with a creation is no update
	}
	if job.Assets = n.assets; n.files == filesLater {
		job.Unknown = n.unknownFiles(job)
	}
	job.Ignore, job.ReplaceOn, job.Force = o.IgnoreChanges, o.ReplaceOn, j.force
	if n.was != nil {
		job.Ignore = slices.Concat(o.IgnoreChanges, n.was.aside)
	}
	if t.gen != nil && n.rec != nil {
		job.Had, job.OldAssets = n.rec.Props, n.rec.Files
	}
	if t.final {
		if err := n.omit(job); err != nil {
			return nil, err
		}
	}
	if err := n.kind.Decode(job); err != nil {
		return nil, err
	}
	j.name(n, job, t)
	return job, nil
}

// takeAlong gives a new thing the values of ignored paths that the old one had.
func (n *node) takeAlong(job *reconcile.Job) {
	for p, v := range n.carried {
		job.Props = withValue(job.Props, p, v)
		delete(job.Unknown, p)
	}
}

// withValue is a map of props with a value at a path, or without one there.
func withValue(props map[string]any, p tree.Path, v any) map[string]any {
	changed := tree.Without(anyMap(props), p)
	if v != nil {
		changed = tree.With(anyMap(props), p, v)
	}
	m, _ := changed.(map[string]any)
	return m
}

// omit leaves out what is not known of the late paths through which a cycle was opened, and the rest of a document that one of
// them is in. Anything else must be known by now.
func (n *declaration) omit(job *reconcile.Job) error {
	late := slices.Concat(slices.Collect(maps.Values(n.cut))...)
	for p := range job.Unknown {
		i := slices.IndexFunc(late, p.Overlaps)
		if i < 0 {
			return fmt.Errorf("%s is not known although everything before it is done", p)
		}
		if p.Within(late[i]) && p != late[i] {
			p = late[i]
			job.Props = withValue(job.Props, p, nil)
		}
		job.Omit = append(job.Omit, p)
	}
	slices.Sort(job.Omit)
	job.Omit = slices.Compact(job.Omit)
	return nil
}

// job is what is known of a generation without its declaration.
func (j *jobs) job(n *node, a *observe.Way, t target) *reconcile.Job {
	birth, key := n.birth(), t.gen.Deriver(j.key)
	job := &reconcile.Job{
		Address: n.addr, Place: a.Place, Cloud: a.Cloud, Dir: j.dir,
		Mark:   j.mark(n.addr, t.number),
		Dev:    j.dev,
		Redact: j.redact.Text,
		Digest: j.key.Digest,
		Derive: func(info string, size int) []byte {
			return key.Derive(birth+"\x00"+info, size)
		},
	}
	if g := t.gen; g != nil {
		job.ID, job.Last, job.Name, job.Named, job.Nonce = g.Identity, g.Attributes, g.Name, g.NameGiven, g.Nonce
		job.Written, job.LastWrite, job.Intent, job.Begun = g.WriteDigests, g.Written, g.Intent != nil, g.Begun()
	}
	if n.rec != nil && job.ID == "" {
		for _, g := range n.rec.Generations {
			if g != t.gen && g.Identity != "" {
				job.Others = append(job.Others, g.Identity)
			}
		}
	}
	return job
}

// name decides the physical name. A generated one is that of the address of birth, and once a thing has one it keeps it.
func (j *jobs) name(n *node, job *reconcile.Job, t target) {
	n.kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case t.gen != nil && t.gen.Name != "":
	case job.Naming != nil:
		job.Name = adopt.Name(*job.Naming, job.Place, j.stage.Stack, j.stage.Name, n.birth(), t.slot)
	}
}

// recordedJob is the job of looking at or deleting what is on record, without a declaration.
func (j *jobs) recordedJob(n *node, a *observe.Way, g *state.Generation) *reconcile.Job {
	job := j.job(n, a, target{gen: g, number: g.Number})
	if n.rec != nil {
		if job.Had = g.Props; g.Props == nil {
			job.Had = n.rec.Props
		}
		if g.Begun() {
			seekBegun(job, g.Intent)
			job.Mark = j.mark(g.Intent.Address, g.Number)
		}
		job.Timeouts = reconcile.Timeouts(n.rec.Options.Timeouts)
	}
	return job
}

// known tells whether a name can be looked for: it holds no value that comes later.
func known(name string) bool { return name != "" && !token.Has(name) }

// evidence collects what the verdict on a found thing goes by. g is the generation that it may be, nil for none.
func (j *jobs) evidence(n *node, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	return j.evidenceOf(n, n.spec, job, look, g)
}

// evidenceOf is the same for a thing of another kind than the node's: one that it was before.
func (j *jobs) evidenceOf(n *node, spec *reconcile.Spec, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	if g == nil {
		g = new(state.Generation)
	}
	return adopt.Evidence{
		Absent: look.Absent, Identity: look.Identity, InState: g.Identity,
		NameIntended: g.Intent != nil && !g.NameGiven && g.Name != "" && g.Name == job.Name,
		Tagged:       look.Owner, Tag: job.Mark, Addresses: n.births(),
		Taggable: spec.Marked, OwnedByContent: spec.Same, ContentEqual: len(look.Steps) == 0,
		Holder:    j.owners.By(state.Object{Kind: spec.Type, Location: job.Place, Identity: look.Identity}, n.addr),
		Name:      job.Name,
		NameGiven: job.Named || !spec.Named && !spec.Marked && !spec.Recorded && !spec.ByParent,
	}
}

// retainedHere reports the owner tag of an object that a resource of this stage let go.
func retainedHere(owner reconcile.Mark, stage statestore.Stage) bool {
	return owner.Retained && owner.Stack == stage.Stack && owner.Stage == stage.Name
}

// isMarkStep reports a difference that is about the mark alone.
func isMarkStep(s reconcile.Step) bool {
	steps := s.Path.Steps()
	return len(steps) > 0 && adopt.IsMark(steps[len(steps)-1].Key)
}

// sameAt reports whether two trees hold the same at a path.
func sameAt(a, b map[string]any, p tree.Path) bool {
	x, inA := tree.Get(a, p)
	y, inB := tree.Get(b, p)
	return inA == inB && tree.Equal(x, y)
}

// everSecret reports a path that is secret by its type, or was by its value in any deploy.
func (j *jobs) everSecret(n *node, p tree.Path) bool {
	in := p.Overlaps
	return slices.ContainsFunc(n.spec.SecretProps, in) || n.rec != nil && slices.ContainsFunc(n.rec.SecretPaths, in)
}

// mark returns the owner tag of an object of this stage.
func (j *jobs) mark(addr string, generation uint64) reconcile.Mark {
	return reconcile.Mark{Stack: j.stage.Stack, Stage: j.stage.Name, Address: addr, Generation: generation, Store: j.store}
}
