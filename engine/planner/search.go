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
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// recall adds to the entries of a destroy every object of the stage that no entry knows: what the program declares and
// what owner tags show. It never reports an empty stage that was not observed.
func (w *Draft) recall(ctx context.Context, program *Graph) error {
	if w.fresh && w.lastRun("destroy") && w.Snap.LastRun.State == statestore.Succeeded {
		return nil
	}
	before, err := OpenUnsearched(w.Snap, w.Key)
	if err != nil {
		return err
	}
	if program == nil || len(program.Resources) == 0 {
		// An entry goes after its object: where runs that delete have left none, nothing else is there. An edit of state says nothing.
		emptied := w.Snap.Serial > 0 && w.lastRun("destroy", "deploy", "dev")
		if w.fresh && !emptied && len(before) == 0 {
			return reconcile.WithHint(fmt.Errorf("%w: %s", plan.ErrNothingKnown, w.Stage), "run it beside the program, which says where to look")
		}
		program = w.Graph
	}
	s := w.searchOf(program)
	w.Cloud.Expect(familyKindsOf(w.Catalog, w.Records, program).of)
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	s.index(ctx)
	s.discover(ctx, program, before)
	s.declared(ctx)
	s.users(program)
	maps.Copy(w.Records, s.found)
	s.rest(ctx)
	w.Missed, w.lost = s.missed(), w.fresh && len(w.Records) > 0
	return nil
}

// complete adds entries of what owner tags show and neither an entry nor the program explains. What was found of an address
// that is declared is left to the plan. As without any state, a location that cannot be searched is an error.
func (w *Draft) complete(ctx context.Context) error {
	before, err := OpenUnsearched(w.Snap, w.Key)
	if err != nil {
		return err
	}
	s := w.searchOf(&Graph{})
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate))
	s.index(ctx)
	s.discover(ctx, w.Graph, before)
	if len(s.failed) > 0 {
		var failed []error
		for _, where := range slices.Sorted(maps.Keys(s.failed)) {
			failed = append(failed, fmt.Errorf("%s: %w", where, s.failed[where]))
		}
		return errors.Join(failed...)
	}
	declared := map[string]bool{}
	for i := range w.Graph.Resources {
		r := &w.Graph.Resources[i]
		entry := w.entryOf(r)
		if entry != nil && !s.replaced(entry) {
			continue
		}
		for _, addr := range addressesOf(r) {
			declared[addr] = true
		}
	}
	var own, rest []observe.Tagged
	for _, t := range s.w.discovered.all {
		if declared[t.Mark.Address] {
			own = append(own, t)
		} else {
			rest = append(rest, t)
		}
	}
	w.discovered, s.w.discovered = discoveryOf(own), discoveryOf(rest)
	s.rest(ctx)
	w.Missed = s.missed()
	return nil
}

// replaced condemns what an entry has when a later generation was found: the entry is of before a replacement.
func (s *search) replaced(entry *state.Entry) bool {
	newest := uint64(0)
	for _, g := range entry.Generations {
		newest = max(newest, g.Number)
	}
	if !slices.ContainsFunc(s.w.discovered.byAddress[entry.Birth], func(t *observe.Tagged) bool { return t.Mark.Generation > newest }) {
		return false
	}
	entry = entry.Clone()
	entry.Found = true
	dropOlder(entry, s.w.discovered.byAddress[entry.Birth])
	for _, g := range entry.Generations {
		g.State, g.Retain = statestore.Condemned, g.Retain || entry.Options().Retain
	}
	s.on.Records[entry.Address] = entry
	return true
}

// search looks for what no entry knows. It works on a graph of its own: what the program declares without an entry, and
// as read what has one.
type search struct {
	on *Draft // what is searched for
	w  *Draft // the search's own
	// entries are those of the program's resources that have one, nil for one that cannot be read.
	entries map[string]*state.Entry
	// failed says, by address or location, why something could not be looked for.
	failed map[string]error
	// unread says, by the address in its owner tag, why an object of the stage could not be read: it stays.
	unread map[string]error
	// unsearched are the locations of both, by name.
	unsearched map[string]Unsearched
	found      map[string]*state.Entry
	// spared are warnings of what is another stage's.
	spared []string
}

// searchOf makes the graph of a search.
func (w *Draft) searchOf(program *Graph) *search {
	g := &Graph{
		Format: GraphFormat, Stack: w.Stage.Stack, Stage: w.Stage.Name, Dir: w.Graph.Dir, Secrets: program.Secrets,
		Reads: slices.Clone(program.Reads), Funcs: Funcs{Then: program.Funcs.Then},
	}
	entries := map[string]*state.Entry{}
	for _, r := range program.Resources {
		rec := w.entryOf(&r)
		if rec == nil && w.Damaged[r.Address] == nil {
			g.Resources = append(g.Resources, r)
			continue
		}
		entries[r.Address] = rec
		g.Reads = append(g.Reads, graph.Read{Address: r.Address, Kind: r.Kind, Settings: r.Settings, Source: r.Source})
	}
	index, basis, inside, jobs := *w.Index, *w.Basis, *w.Program, *w.Jobs
	basis.Index, basis.Owners = &index, &state.Owners{}
	inside.Basis, inside.Graph = &basis, g
	inside.reset()
	jobs.Program, jobs.budget = &inside, &values.Budget{}
	inner := &Draft{
		Planner: w.Planner, Policy: w.Policy, program: g, Stored: &Stored{Snap: w.Snap, lost: true}, DevRules: w.DevRules, Chosen: &plan.Chosen{}, drift: &plan.Drift{}, Gate: w.Gate,
		observer: &observer{&finder{Jobs: &jobs, Slots: &state.Slots{}, fresh: true, take: w.take}}, Refusals: &plan.Refusals{Masks: w.Redact}, abroad: w.abroad,
	}
	inner.Slots.Hold(w.Records)
	inner.Owners.Hold(w.Records)
	return &search{
		on: w, w: inner, entries: entries, failed: map[string]error{}, unread: map[string]error{}, unsearched: map[string]Unsearched{},
		found: map[string]*state.Entry{},
	}
}

// addressesOf are the address of a declaration and those that it was renamed from.
func addressesOf(r *graph.Resource) []string {
	return append([]string{r.Address}, r.Options.RenamedFrom...)
}

// index indexes the graph without what is wrong in it, which is named: the rest is looked for all the same.
func (s *search) index(ctx context.Context) {
	w := s.w
	for err := w.read(ctx); err != nil; err = w.read(ctx) {
		wrong := map[string]error{}
		if bad, ok := errors.AsType[*plan.GraphError](err); ok {
			for _, p := range bad.Problems {
				wrong[p.Address] = p.Err
			}
		}
		if !s.leaveOut(wrong) { // it is wrong as a whole
			for _, r := range w.Graph.Resources {
				s.failed[r.Address] = err
			}
			w.Graph.Resources, w.Graph.Reads = nil, nil
		}
	}
	for _, n := range w.Declared {
		n.Entry = s.on.Records[n.Address] // what is left of it is on its way out
		n.Access = w.Cloud.Reach(ctx, n.Spec.Type, n.Decl.Settings)
		n.Err = n.Access.Err
	}
	for _, n := range w.Reads {
		if len(n.Ups) == 0 {
			s.read(ctx, n)
		}
	}
}

// leaveOut takes what is wrong out of the graph. It reports whether there was anything of it.
func (s *search) leaveOut(wrong map[string]error) bool {
	g, before := s.w.Graph, len(s.w.Graph.Resources)+len(s.w.Graph.Reads)
	g.Reads = slices.DeleteFunc(g.Reads, func(r graph.Read) bool { return wrong[r.Address] != nil })
	g.Resources = slices.DeleteFunc(g.Resources, func(r graph.Resource) bool {
		if wrong[r.Address] != nil {
			s.failed[r.Address] = wrong[r.Address]
		}
		return wrong[r.Address] != nil
	})
	for i := range g.Resources {
		o := &g.Resources[i].Options
		o.DependsOn = slices.DeleteFunc(slices.Clone(o.DependsOn), func(a string) bool { return wrong[a] != nil })
	}
	return len(g.Resources)+len(g.Reads) < before
}

// read gives a node that others refer to its attributes: as state has them, or as they are where nobody owns it.
func (s *search) read(ctx context.Context, n *plan.Node) {
	if rec, has := s.entries[n.Address]; has {
		if g := rec.Present(); g != nil {
			n.Attrs = g.Attributes
		}
		n.Entry = rec // what is of an older generation of it is found as well
		return
	}
	if !slices.ContainsFunc(s.w.Declared, func(user *plan.Node) bool { return slices.Contains(user.Needs, n.Address) }) {
		return
	}
	var look reconcile.Look
	var err error
	if n.Access = s.w.Cloud.Reach(ctx, n.Spec.Type, n.Read.Settings); n.Access.Err == nil {
		look, err = s.w.lookRead(ctx, n)
	}
	if n.Attrs, err = look.Attrs, errors.Join(n.Access.Err, err); err != nil && !errors.Is(err, errQueryUnknown) {
		s.failed[n.Address] = err
	}
}

// discover asks every location that the program, state or the last destroy names for the owner tags of the stage. What an entry
// has, and what was retained, is left out.
func (s *search) discover(ctx context.Context, program *Graph, before []Unsearched) {
	var all []observe.Tagged
	searched := map[reconcile.Place]bool{}
	in := func(a *observe.Way, kind string) {
		if a = a.Reached(); a.Err != nil || searched[a.Place] {
			return
		}
		searched[a.Place] = true
		found, err := s.w.Cloud.Discover(ctx, []*observe.Way{a})
		if err != nil {
			s.failed[s.searchAgain(a, kind)] = err
		}
		for _, t := range found {
			known := s.w.Owners.By(t.Object(), "") != "" && !s.isNewer(t)
			if !t.Mark.Retained && !known && !s.begun(t) {
				all = append(all, t)
			}
		}
	}
	for i := range program.Resources {
		r := &program.Resources[i]
		a := s.w.Cloud.Reach(ctx, r.Kind, r.Settings)
		if s.failed[r.Address] != nil && a.Err != nil {
			s.unsearched[r.Address] = Unsearched{Name: r.Address, Kind: r.Kind, settings: r.Settings}
		}
		in(a, r.Kind)
	}
	for _, addr := range slices.Sorted(maps.Keys(s.on.Records)) {
		rec := s.on.Records[addr]
		for _, g := range rec.Generations {
			if a, err := s.w.Cloud.At(ctx, addr, rec, g); err == nil {
				in(a, g.Kind)
			}
		}
	}
	for _, l := range before {
		if n := s.w.Nodes[l.Name]; n != nil && n.Decl != nil {
			continue // the program says where it is
		}
		a := s.w.Cloud.Reach(ctx, l.Kind, l.settings)
		if err := l.leadsTo(a); err != nil {
			s.failed[l.Name], s.unsearched[l.Name] = err, l
			continue
		}
		in(a, l.Kind)
	}
	s.w.discovered = discoveryOf(all)
}

// searchAgain notes that a location was not searched whole, and returns its name.
func (s *search) searchAgain(a *observe.Way, kind string) string {
	name := a.Reached().Place.String()
	s.unsearched[name] = Unsearched{Name: name, reached: true, Kind: kind, settings: a.Settings}
	return name
}

// isNewer reports a find that has the name of an older generation in state and a later number in its owner tag: the state is of
// before that one was deleted and the name used again.
func (s *search) isNewer(f observe.Tagged) bool {
	for _, entry := range s.on.Records {
		if g := entry.ByObject(f.Kind, f.Way.Place, f.Identity); g != nil {
			return g.Number < f.Mark.Generation && (entry.Address == f.Mark.Address || entry.Birth == f.Mark.Address)
		}
	}
	return false
}

// dropOlder takes from an entry the generations whose object is another one by now.
func dropOlder(entry *state.Entry, finds []*observe.Tagged) {
	entry.Generations = slices.DeleteFunc(entry.Generations, func(g *state.Generation) bool {
		return slices.ContainsFunc(finds, func(t *observe.Tagged) bool { return t.Object() == g.Object() && t.Mark.Generation > g.Number })
	})
}

// begun reports whether a find is the object of an intent in state, which is observed by itself.
func (s *search) begun(f observe.Tagged) bool {
	for _, entry := range s.on.Records {
		if entry.Address != f.Mark.Address && entry.Birth != f.Mark.Address && !entry.CameFrom(f.Mark.Address) {
			continue
		}
		g := entry.ByNumber(f.Mark.Generation)
		if g.Begun() && g.Kind == f.Kind && g.Location == f.Way.Place {
			return true
		}
	}
	return false
}

// declared looks for what the program declares, upstreams first, and makes entries of what is ours.
func (s *search) declared(ctx context.Context) {
	for _, level := range plan.Levels(s.w.Sorted) {
		level = slices.DeleteFunc(level, func(n *plan.Node) bool {
			if n.Read != nil {
				s.read(ctx, n)
			}
			return n.Read != nil
		})
		Parallel(len(level), Lookers, func(i int) { s.w.lookAt(ctx, level[i]) })
		for _, n := range level {
			switch {
			case n.Err != nil:
				s.failed[n.Address] = n.Err
			case n.Spec.Recorded:
				compute(ctx, n)
			case !n.Look().Absent:
				s.judge(ctx, n)
			}
		}
	}
}

// judge makes an entry of a declared object that exists, if it is ours. One of which nothing says whose it is stays, and is named: it may
// be what this stage has created.
func (s *search) judge(ctx context.Context, n *plan.Node) {
	switch adopt.Judge(s.w.Evidence(n, n.Job, *n.Look(), nil)).Verdict {
	case adopt.Ours:
		if s.isAbroad(ctx, n) {
			return
		}
		n.Attrs = n.Look().Attrs
		rec := Recovered(n, s.w.Nodes, s.w.FindsOwn())
		rec.Needs = s.needs(n)
		s.found[n.Address] = rec
	case adopt.Ambiguous:
		s.spared = append(s.spared, fmt.Sprintf("%s: %s %s exists, nothing says who owns it, and it stays; `athanor adopt %s %[3]s` before makes it this stage's",
			n.Address, n.Spec.Type, n.Look().Identity, n.Address))
	}
}

// isAbroad reports whether another stage of the store has in state what was found and carries no owner tag: only where no state says
// whose it is, it is ours by what it holds.
func (s *search) isAbroad(ctx context.Context, n *plan.Node) bool {
	if !n.Unmarked() {
		return false
	}
	owners, err := s.w.abroad.owners(ctx)
	if err != nil {
		s.failed[n.Address] = err
		return true
	}
	holder := owners[plan.SeenObject(n)]
	if holder != "" {
		s.spared = append(s.spared, n.Address+" is in state as "+holder+", and stays")
	}
	return holder != ""
}

// needs are the addresses of the entries that a found resource needs, by the program.
func (s *search) needs(n *plan.Node) []string {
	var needs []string
	for _, a := range n.Needs {
		switch rec := s.entries[a]; {
		case a == n.Address:
		case rec != nil:
			needs = append(needs, rec.Address)
		case s.found[a] != nil:
			needs = append(needs, a)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// users gives the entries of resources that need a found one by the program that need too: it may have come after what
// state knows. A circle is left open.
func (s *search) users(program *Graph) {
	for i := range program.Resources {
		r := &program.Resources[i]
		rec := s.entries[r.Address]
		if rec == nil {
			continue
		}
		needs := slices.Clone(r.Options.DependsOn)
		if t, err := token.Parse(r.Props); err == nil {
			for _, u := range t.Refs() {
				needs = append(needs, u.Ref.Address)
			}
		}
		for _, a := range needs {
			if s.found[a] == nil || slices.Contains(rec.Needs, a) {
				continue
			}
			if s.reaches(a, rec.Address, map[string]bool{}) && (!s.cut(a, r.Address, rec.Address) || s.reaches(a, rec.Address, map[string]bool{})) {
				continue
			}
			rec = rec.Clone()
			rec.Needs, rec.Found = append(slices.Clone(rec.Needs), a), true
			slices.Sort(rec.Needs)
			s.entries[r.Address], s.on.Records[rec.Address] = rec, rec
		}
	}
}

// cut opens a circle of a found resource and one that has an entry where it goes through deferrable paths of the found one. It
// reports whether it does.
func (s *search) cut(found, declared, entry string) bool {
	n := s.w.Nodes[found]
	if n == nil {
		return false
	}
	paths, late := n.LatePaths(declared)
	if late {
		rec := s.found[found]
		if rec.Cut = maps.Clone(rec.Cut); rec.Cut == nil {
			rec.Cut = map[string][]tree.Path{}
		}
		rec.Cut[entry] = paths
	}
	return late
}

// reaches reports that one entry needs another, at once or through others.
func (s *search) reaches(from, to string, visited map[string]bool) bool {
	rec := cmp.Or(s.found[from], s.on.Records[from])
	if from == to || rec == nil || visited[from] {
		return from == to
	}
	visited[from] = true
	return slices.ContainsFunc(rec.UncutNeeds(), func(a string) bool { return s.reaches(a, to, visited) })
}

// rest makes entries of what owner tags show and nothing declared explains. What another store has tagged is refused, unless
// it may be taken over.
func (s *search) rest(ctx context.Context) {
	w := s.on
	known := map[state.Object]bool{}
	for _, rec := range s.found {
		for _, g := range rec.Generations {
			known[g.Object()] = true
		}
	}
	scan := &scanning{w: s.w}
	all := map[string][]*observe.Tagged{}
	for i := range s.w.discovered.all {
		d := &s.w.discovered.all[i]
		if known[d.Object()] {
			continue
		}
		if _, ok := w.Planner.Catalog.Kind(d.Kind); ok {
			t, there, err := scan.orphan(ctx, d)
			if err != nil {
				s.unread[d.Mark.Address] = fmt.Errorf("%s %s: %w", d.Kind, d.Identity, err)
				s.searchAgain(d.Way, d.Kind)
			}
			if !there || t.Standing != StandingOurs {
				continue // deleted or retained since, or somebody else's
			}
			d.Mark = t.Owner
		} else if w.Records[d.Mark.Address].HasIdentity(d.Identity) {
			continue // a listing may call the object of an entry by the kind of another program
		}
		all[d.Mark.Address] = append(all[d.Mark.Address], d)
	}
	for _, addr := range slices.Sorted(maps.Keys(all)) {
		rec := w.Records[addr]
		if rec == nil {
			w.Records[addr] = foundEntry(addr, all[addr], w.FindsOwn(), func(parent string) bool { return w.Records[parent] != nil || all[parent] != nil })
			continue
		}
		rec = rec.Clone()
		rec.Found = true
		dropOlder(rec, all[addr])
		for _, d := range all[addr] {
			g := foundGeneration(rec, d, w.FindsOwn())
			g.State, g.Retain = statestore.Condemned, rec.Options().Retain
			rec.Generations = append(rec.Generations, g)
		}
		w.Records[addr] = rec
	}
	for _, addr := range slices.Sorted(maps.Keys(w.Records)) {
		for _, g := range w.Records[addr].Condemned() {
			d := s.w.discovered.byIdentity[g.Identity]
			if d != nil && d.Mark.Store != "" && d.Mark.Store != w.Store && !w.Policy.TakeOver {
				w.Problems = append(w.Problems, plan.Problem{Address: addr, Err: plan.OtherStore(g.Kind, g.Identity)})
			}
		}
	}
}

// missed returns what could not be looked for: a destroy that missed something is not complete. What was found by its owner tag
// was not missed.
func (s *search) missed() missed {
	m := missed{searched: true, warnings: s.spared}
	for addr := range s.failed {
		if s.on.Records[addr] != nil {
			delete(s.failed, addr)
			delete(s.unsearched, addr)
		}
	}
	maps.Copy(s.failed, s.unread)
	for _, addr := range slices.Sorted(maps.Keys(s.failed)) {
		err, hints := s.failed[addr], reconcile.Hints(s.failed[addr])
		if _, again := s.unsearched[addr]; again {
			hints = append(slices.Clip(hints), fmt.Sprintf("the next destroy searches there again; `athanor state rm %s` gives it up", addr))
		}
		line := plan.Planned{
			Address: addr, Action: plan.Blocked, Problem: s.on.Redact.Text("it could not be looked for: " + err.Error()),
			Hint: s.on.Redact.Text(strings.Join(hints, "; ")), Confined: true,
		}
		if n := s.w.Nodes[addr]; n != nil && n.Spec != nil {
			line.Kind, line.Source = n.Spec.Type, n.Source()
		}
		m.Lines = append(m.Lines, line)
	}
	for _, name := range slices.Sorted(maps.Keys(s.unsearched)) {
		m.locations = append(m.locations, s.unsearched[name])
	}
	return m
}
