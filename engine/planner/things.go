package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Standing says whose an object is, as a scan shows it.
type Standing string

// The standings of objects that no row knows.
const (
	StandingOurs      Standing = "ours"      // of this stack and stage
	StandingAdoptable Standing = "adoptable" // nobody's that we know of
	StandingForeign   Standing = "foreign"   // another owner's
	StandingRetained  Standing = "retained"  // retained on purpose: listed, never deleted
)

// Thing is an object in the cloud that no row knows.
type Thing struct {
	Kind     string          `json:"kind"`
	Identity string          `json:"identity"`
	Name     string          `json:"name,omitempty"`
	Place    reconcile.Place `json:"place"`
	Standing Standing        `json:"standing"`
	// Address is that of the program which finds it, else the one in its owner tag.
	Address string `json:"address,omitempty"`
	// Declared: the program declares the address, and its next deploy adopts the object.
	Declared bool `json:"declared,omitempty"`
	// Owner is the owner tag on the object.
	Owner *reconcile.Mark `json:"owner,omitempty"`
	// OtherStore: it is of this stage, and has the owner tag of another store.
	OtherStore bool `json:"otherStore,omitempty"`
	// Props say how it is made, as far as that differs from the defaults, and Missing what cannot be told from
	// looking at it. Given when they were asked for.
	Props   map[string]any `json:"props,omitempty"`
	Missing []tree.Path    `json:"missing,omitempty"`
	// Differs are the paths at which a declared object differs from its declaration. Given with Props.
	Differs []tree.Path `json:"-"`
	// Assigned: the cloud names such objects itself, so that a program must name it by its identity.
	Assigned bool `json:"assigned,omitempty"`
}

// Scan is what was found, and where.
type Scan struct {
	Things []Thing `json:"things"`
	// Unlisted are kinds in use that cannot be listed: their objects are found by the program alone, or by identity.
	Unlisted []string `json:"unlisted,omitempty"`
	// Places are where it was looked.
	Places []reconcile.Place `json:"places,omitempty"`
}

// ScanOptions say what to look for.
type ScanOptions struct {
	// Kinds are looked for beside those in use.
	Kinds []string
	// Describe are globs over identities, names and addresses: the props of these are read back.
	Describe []string
	// DeclaredOnly looks for declared resources alone, and lists nothing.
	DeclaredOnly bool
}

// Scan lists the objects of the kinds in use that no entry has. It writes nothing.
func (e *Planner) Scan(ctx context.Context, g *Graph, o ScanOptions) (*Scan, error) {
	w, err := e.NewWork(ctx, g, Policy{PlanOptions: plan.PlanOptions{Adopt: true, TakeOver: true}, renames: true, collects: true, discovers: true})
	if err != nil {
		return nil, err
	}
	if p, err := w.makePlan(ctx, &plan.Plan{}); p == nil || err != nil && !errors.Is(err, plan.ErrRefused) {
		return nil, err
	}
	s := &scanning{w: w, o: o, seen: map[state.Object]bool{}}
	if err := s.kinds(); err != nil {
		return nil, err
	}
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	s.planned(ctx)
	if !o.DeclaredOnly {
		if err := s.list(ctx); err != nil {
			return nil, err
		}
		s.byIdentity(ctx)
	}
	slices.SortFunc(s.out.Things, compareThings)
	return &s.out, nil
}

func compareThings(a, b Thing) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Place.String(), b.Place.String()), cmp.Compare(a.Identity, b.Identity))
}

// scanning is one scan under way.
type scanning struct {
	w    *Draft
	o    ScanOptions
	use  []string
	seen map[state.Object]bool
	out  Scan
}

// kinds collects the kinds to look for.
func (s *scanning) kinds() error {
	use := map[string]bool{}
	for _, n := range s.w.Declared {
		use[n.Spec.Type] = true
	}
	for _, rec := range s.w.Records {
		for _, g := range rec.Generations {
			use[g.Kind] = true
		}
	}
	for _, name := range s.o.Kinds {
		if _, err := s.w.Planner.Catalog.Find(name); err != nil {
			return err
		}
		use[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(use)) {
		kind, ok := s.w.Planner.Catalog.Kind(name)
		switch {
		case !ok || kind.Spec().Recorded:
		case !kind.Spec().Lists:
			s.out.Unlisted = append(s.out.Unlisted, name)
		default:
			s.use = append(s.use, name)
		}
	}
	return nil
}

// planned takes over what planning found for declared addresses, and what it discovered.
func (s *scanning) planned(ctx context.Context) {
	for _, n := range s.w.Declared {
		if n.Entry.Live() != nil || n.Look().Absent || n.Look().Identity == "" || n.Spec.Recorded || n.Job == nil {
			continue
		}
		t := thing(n.Spec, n.Access, *n.Look(), adopt.Judge(s.w.Evidence(n, n.Job, *n.Look(), nil)))
		t.Name, t.Address, t.Declared = n.Job.Name, n.Address, true
		if slices.Contains(s.o.Describe, n.Address) || s.asked(reconcile.Found{Identity: t.Identity, Name: t.Name}, *n.Look()) {
			s.describe(n.Kind, n.Job, *n.Look(), &t)
			for _, step := range n.Look().Steps {
				t.Differs = append(t.Differs, step.Path)
			}
		}
		s.add(t)
	}
	for _, n := range s.w.Leftover {
		if !n.Entry.Found {
			continue
		}
		for _, g := range n.Entry.Generations {
			if kind, ok := s.w.Planner.Catalog.Kind(g.Kind); ok {
				a, err := s.w.Cloud.At(ctx, n.Address, n.Entry, g)
				if err != nil {
					continue
				}
				if t, ok := s.look(ctx, kind, a, reconcile.Found{Identity: g.Identity, Name: g.Name}); ok {
					s.add(t)
				}
			}
		}
	}
}

func (s *scanning) add(t Thing) {
	p := state.Object{Kind: t.Kind, Location: t.Place, Identity: t.Identity}
	if !s.seen[p] {
		s.seen[p] = true
		s.out.Things = append(s.out.Things, t)
	}
}

// thing describes what was seen, in the words of a verdict.
func thing(spec *reconcile.Spec, a *observe.Way, look reconcile.Look, answer adopt.Answer) Thing {
	t := Thing{Kind: spec.Type, Place: a.Place, Identity: look.Identity, Standing: StandingAdoptable, OtherStore: answer.OtherStore}
	if !look.Owner.IsZero() {
		t.Owner, t.Address = &look.Owner, look.Owner.Address
	}
	switch {
	case answer.Verdict == adopt.Ours:
		t.Standing = StandingOurs
	case look.Owner.Retained:
		t.Standing = StandingRetained
	case t.Owner != nil || answer.Holder != "":
		t.Standing = StandingForeign
	}
	return t
}

// list lists every kind in every place of its provider that is in use.
func (s *scanning) list(ctx context.Context) error {
	for _, name := range s.use {
		kind, _ := s.w.Planner.Catalog.Kind(name)
		for _, a := range s.w.Cloud.Places(ctx, name) {
			if a.Err != nil {
				return fmt.Errorf("%s: %w", name, a.Err)
			}
			if !slices.Contains(s.out.Places, a.Place) {
				s.out.Places = append(s.out.Places, a.Place)
			}
			found, err := s.w.Cloud.ListAll(ctx, kind, a)
			if err != nil {
				return fmt.Errorf("%s in %s: %w", name, a.Place, err)
			}
			s.lookAll(ctx, kind, a, found)
		}
	}
	return nil
}

// lookAll looks at what a listing showed and nobody knows yet, many at once.
func (s *scanning) lookAll(ctx context.Context, kind reconcile.Any, a *observe.Way, listed []reconcile.Found) {
	listed = slices.DeleteFunc(slices.Clone(listed), func(f reconcile.Found) bool {
		p := state.Object{Kind: kind.Spec().Type, Location: a.Place, Identity: f.Identity}
		return s.seen[p] || s.w.Owners.By(p, "") != ""
	})
	things, ok := make([]Thing, len(listed)), make([]bool, len(listed))
	Parallel(len(listed), Lookers, func(i int) { things[i], ok[i] = s.look(ctx, kind, a, listed[i]) })
	for i, t := range things {
		if ok[i] {
			s.add(t)
		}
	}
}

// byIdentity looks for what is to be described and cannot be listed.
func (s *scanning) byIdentity(ctx context.Context) {
	for _, id := range s.o.Describe {
		known := slices.ContainsFunc(s.out.Things, func(t Thing) bool { return t.Props != nil && (t.Identity == id || t.Name == id || t.Address == id) })
		for _, name := range s.out.Unlisted {
			kind, _ := s.w.Planner.Catalog.Kind(name)
			for _, a := range s.w.Cloud.Places(ctx, name) {
				if known || a.Err != nil || strings.ContainsAny(id, "*[") || s.w.Owners.By(state.Object{Kind: name, Location: a.Place, Identity: id}, "") != "" {
					continue
				}
				if t, there := s.look(ctx, kind, a, reconcile.Found{Identity: id}); there && t.Props != nil {
					s.put(t)
				}
			}
		}
	}
}

// put adds an object, or says more of one that is known.
func (s *scanning) put(t Thing) {
	for i := range s.out.Things {
		if have := &s.out.Things[i]; have.Kind == t.Kind && have.Place == t.Place && have.Identity == t.Identity {
			have.Props, have.Missing, have.Assigned = t.Props, t.Missing, t.Assigned
			return
		}
	}
	s.add(t)
}

// look reads whose an object is, and what it is made of where that is asked for. One that cannot be read is listed without.
func (s *scanning) look(ctx context.Context, kind reconcile.Any, a *observe.Way, f reconcile.Found) (Thing, bool) {
	t, there, _ := s.read(ctx, kind, a, f)
	return t, there
}

// read is look with the error of an object that cannot be read.
func (s *scanning) read(ctx context.Context, kind reconcile.Any, a *observe.Way, f reconcile.Found) (Thing, bool, error) {
	spec := kind.Spec()
	job := &reconcile.Job{ID: f.Identity, Name: f.Name, Place: a.Place, Cloud: a.Cloud, Dir: s.w.Graph.Dir, Digest: s.w.Planner.Key.Digest}
	look, read := reconcile.Look{Identity: f.Identity}, false
	var unread error
	asked := s.asked(f, look)
	if f.Mark != nil && !asked {
		look.Owner = *f.Mark
	} else {
		seen, err := observe.See(ctx, kind, job)
		if err == nil && seen.Absent {
			return Thing{}, false, nil // the listing was older than the deletion
		}
		if read, unread = err == nil, err; read {
			look = seen
		}
	}
	want := s.w.Mark(look.Owner.Address, look.Owner.Generation)
	answer := adopt.Judge(adopt.Evidence{Identity: look.Identity, Tagged: look.Owner, Tag: want, Taggable: spec.Marked, NameGiven: true})
	t := thing(spec, a, look, answer)
	t.Name = f.Name
	if read && (asked || s.asked(f, look)) {
		s.describe(kind, job, look, &t)
	}
	return t, true, unread
}

// asked reports whether the props of an object are to be read back.
func (s *scanning) asked(f reconcile.Found, look reconcile.Look) bool {
	mark := look.Owner
	if f.Mark != nil {
		mark = *f.Mark
	}
	return slices.ContainsFunc(s.o.Describe, func(glob string) bool {
		return glob == f.Identity || glob == f.Name || glob == mark.Address || graph.Match(glob, f.Identity)
	})
}

// describe reads back how an object is made.
func (s *scanning) describe(kind reconcile.Any, job *reconcile.Job, look reconcile.Look, t *Thing) {
	declared, rest := reconcile.Describe(kind, job, look)
	t.Props = declared
	for _, step := range rest {
		t.Missing = append(t.Missing, step.Path)
	}
	named := &reconcile.Job{Props: declared, Query: true, Place: job.Place}
	kind.Names(named)
	t.Assigned = named.Given == ""
}
