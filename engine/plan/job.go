package plan

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
func (n *Node) birth() string {
	if n.Entry != nil && n.Entry.Birth != "" {
		return n.Entry.Birth
	}
	return n.Address
}

// Births are all addresses that a thing of this node may be marked with or named after.
func (n *Node) Births() []string {
	births := []string{n.birth()}
	if n.Address != births[0] {
		births = append(births, n.Address)
	}
	if n.Entry != nil {
		births = append(births, n.Entry.Former...)
	}
	if n.Decl != nil {
		births = append(births, n.Decl.Options.RenamedFrom...)
	}
	return births
}

// Jobs makes the jobs of nodes: what a kind is given to read, compare or change one object.
type Jobs struct {
	*Index
	Cloud  *observe.Reader
	Stage  statestore.Stage
	Store  string // the store's id
	Dir    string // relative paths in props start there
	Key    *seal.Key
	dev    *reconcile.Dev
	Owners *state.Owners
	force  bool
	budget *values.Budget
}

// Target says which generation of a node a job is about.
type Target struct {
	Gen    *state.Generation // nil: one that does not exist yet
	Number uint64
	Slot   int
	// was: references to these are to older things of theirs, with these attributes.
	was map[*Node]map[string]any
	// Final: a run has come to it. What is not known by now will not be before the node's own work is done.
	Final bool
}

// DeclaredJob is the job of making a declared node match, with its props resolved as far as they are known.
// What is not known of late paths that open a cycle is left out once work has begun.
func (j *Jobs) DeclaredJob(ctx context.Context, n *Node, t Target) (*reconcile.Job, error) {
	resolved, err := j.resolveWas(ctx, n.Props, t.was)
	if err != nil {
		return nil, err
	}
	if err := j.budget.Hold(n.Address, resolved.Tree); err != nil {
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
		n.takeAlong(job)
		job.Timeouts.Update = cmp.Or(o.Timeouts.Create, n.Spec.Timeouts.Create) // going on with a creation is no update
	}
	if job.Assets = n.Assets; n.Files == FilesLater {
		job.Unknown = n.unknownFiles(job)
	}
	job.Ignore, job.ReplaceOn, job.Force = o.IgnoreChanges, o.ReplaceOn, j.force
	if n.Was != nil {
		job.Ignore = slices.Concat(o.IgnoreChanges, n.Was.aside)
	}
	if t.Gen != nil && n.Entry != nil {
		job.Had, job.OldAssets = n.Entry.Props, n.Entry.Files
	}
	if t.Final {
		if err := n.omit(job); err != nil {
			return nil, err
		}
	}
	if err := n.Kind.Decode(job); err != nil {
		return nil, err
	}
	j.name(n, job, t)
	return job, nil
}

// takeAlong gives a new thing the values of ignored paths that the old one had.
func (n *Node) takeAlong(job *reconcile.Job) {
	for p, v := range n.Carried {
		job.Props = WithValue(job.Props, p, v)
		delete(job.Unknown, p)
	}
}

// WithValue is a map of props with a value at a path, or without one there.
func WithValue(props map[string]any, p tree.Path, v any) map[string]any {
	changed := tree.Without(AnyMap(props), p)
	if v != nil {
		changed = tree.With(AnyMap(props), p, v)
	}
	m, _ := changed.(map[string]any)
	return m
}

// omit leaves out what is not known of the late paths through which a cycle was opened, and the rest of a document that one of
// them is in. Anything else must be known by now.
func (n *Declaration) omit(job *reconcile.Job) error {
	late := slices.Concat(slices.Collect(maps.Values(n.Cut))...)
	for p := range job.Unknown {
		i := slices.IndexFunc(late, p.Overlaps)
		if i < 0 {
			return fmt.Errorf("%s is not known although everything before it is done", p)
		}
		if p.Within(late[i]) && p != late[i] {
			p = late[i]
			job.Props = WithValue(job.Props, p, nil)
		}
		job.Omit = append(job.Omit, p)
	}
	slices.Sort(job.Omit)
	job.Omit = slices.Compact(job.Omit)
	return nil
}

// job is what is known of a generation without its declaration.
func (j *Jobs) job(n *Node, a *observe.Way, t Target) *reconcile.Job {
	birth, key := n.birth(), t.Gen.Deriver(j.Key)
	job := &reconcile.Job{
		Address: n.Address, Place: a.Place, Cloud: a.Cloud, Dir: j.Dir,
		Mark:   j.Mark(n.Address, t.Number),
		Dev:    j.dev,
		Redact: j.Redact.Text,
		Digest: j.Key.Digest,
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
		}
	}
	return job
}

// name decides the physical name. A generated one is that of the address of birth, and once a thing has one it keeps it.
func (j *Jobs) name(n *Node, job *reconcile.Job, t Target) {
	n.Kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case t.Gen != nil && t.Gen.Name != "":
	case job.Naming != nil:
		job.Name = adopt.Name(*job.Naming, job.Place, j.Stage.Stack, j.Stage.Name, n.birth(), t.Slot)
	}
}

// RecordedJob is the job of looking at or deleting what is on record, without a declaration.
func (j *Jobs) RecordedJob(n *Node, a *observe.Way, g *state.Generation) *reconcile.Job {
	job := j.job(n, a, Target{Gen: g, Number: g.Number})
	if n.Entry != nil {
		if job.Had = g.Props; g.Props == nil {
			job.Had = n.Entry.Props
		}
		if g.Begun() {
			seekBegun(job, g.Intent)
			job.Mark = j.Mark(g.Intent.Address, g.Number)
		}
		job.Timeouts = reconcile.Timeouts(n.Entry.Options.Timeouts)
	}
	return job
}

// known tells whether a name can be looked for: it holds no value that comes later.
func known(name string) bool { return name != "" && !token.Has(name) }

// Evidence collects what the verdict on a found thing goes by. g is the generation that it may be, nil for none.
func (j *Jobs) Evidence(n *Node, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	return j.EvidenceOf(n, n.Spec, job, look, g)
}

// EvidenceOf is the same for a thing of another kind than the node's: one that it was before.
func (j *Jobs) EvidenceOf(n *Node, spec *reconcile.Spec, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	if g == nil {
		g = new(state.Generation)
	}
	return adopt.Evidence{
		Absent: look.Absent, Identity: look.Identity, InState: g.Identity,
		NameIntended: g.Intent != nil && !g.NameGiven && g.Name != "" && g.Name == job.Name,
		Tagged:       look.Owner, Tag: job.Mark, Addresses: n.Births(),
		Taggable: spec.Marked, OwnedByContent: spec.Same, ContentEqual: len(look.Steps) == 0,
		Holder:    j.Owners.By(state.Object{Kind: spec.Type, Location: job.Place, Identity: look.Identity}, n.Address),
		Name:      job.Name,
		NameGiven: job.Named || !spec.Named && !spec.Marked && !spec.Recorded && !spec.ByParent,
	}
}

// RetainedHere reports the owner tag of an object that a resource of this stage let go.
func RetainedHere(owner reconcile.Mark, stage statestore.Stage) bool {
	return owner.Retained && owner.Stack == stage.Stack && owner.Stage == stage.Name
}

// IsMarkStep reports a difference that is about the mark alone.
func IsMarkStep(s reconcile.Step) bool {
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
func (j *Jobs) everSecret(n *Node, p tree.Path) bool {
	in := p.Overlaps
	return slices.ContainsFunc(n.Spec.SecretProps, in) || n.Entry != nil && slices.ContainsFunc(n.Entry.SecretPaths, in)
}

// Mark returns the owner tag of an object of this stage.
func (j *Jobs) Mark(addr string, generation uint64) reconcile.Mark {
	return reconcile.Mark{Stack: j.Stage.Stack, Stage: j.Stage.Name, Address: addr, Generation: generation, Store: j.Store}
}
