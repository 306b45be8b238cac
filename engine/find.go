package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// found is a thing that reading showed and the record does not know.
type found struct {
	reconcile.Found
	access *access
	look   reconcile.Look
	job    *reconcile.Job
	slot   int
	used   bool
}

// listing is one kind's listing of one place, made once per plan.
type listing struct {
	once   sync.Once
	things []reconcile.Found
	err    error
}

// list lists a kind in a place, once.
func (w *work) list(ctx context.Context, n *node, a *access) ([]reconcile.Found, error) {
	id := n.spec.Type + "\x00" + a.place.String()
	w.mu.Lock()
	l, ok := w.listings[id]
	if !ok {
		l = &listing{}
		w.listings[id] = l
	}
	w.mu.Unlock()
	l.once.Do(func() {
		l.things, l.err = n.kind.List(ctx, reconcile.Scope{
			Cloud: a.cloud, Place: a.place, Dir: w.graph.Dir,
			Prefix: w.stage.Stack + "-" + w.stage.Name + "-",
			Mark:   reconcile.Mark{Stack: w.stage.Stack, Stage: w.stage.Name},
		})
	})
	return l.things, l.err
}

// discover finds all marked things of a stage that has no rows: tag-wide where the provider can.
func (w *work) discover(ctx context.Context) error {
	accesses := map[*access]bool{}
	for _, n := range w.declared {
		if n.access != nil && n.access.err == nil {
			accesses[n.access] = true
		}
	}
	var errs []error
	for a := range accesses {
		if a.provider.Discover == nil {
			continue
		}
		things, err := a.provider.Discover(ctx, reconcile.Scope{
			Cloud: a.cloud, Place: a.place, Dir: w.graph.Dir,
			Mark: reconcile.Mark{Stack: w.stage.Stack, Stage: w.stage.Name},
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("discover in %s: %w", a.place, err))
			continue
		}
		for _, f := range things {
			if f.Mark != nil && f.Mark.Stack == w.stage.Stack && f.Mark.Stage == w.stage.Name {
				w.discovered = append(w.discovered, found{Found: f, access: a})
			}
		}
	}
	slices.SortFunc(w.discovered, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Identity, b.Identity))
	})
	w.lost = w.lost || len(w.discovered) > 0
	return errors.Join(errs...)
}

// find looks for the thing of a node that has no row: by the identity that the author gave, by the marks of a
// discovery, by its name or its generated names, else as the kind finds. The look that it settles on is the node's.
func (w *work) find(ctx context.Context, n *node) error {
	if n.spec.Recorded {
		job, err := w.declaredJob(ctx, n, target{number: 1})
		n.job, n.look = job, reconcile.Look{Absent: true}
		return err
	}
	finds, err := w.candidates(ctx, n)
	if err != nil {
		return err
	}
	if len(finds) == 0 {
		return nil
	}
	best, err := w.pick(n, finds)
	if err != nil {
		return err
	}
	n.job, n.look, n.slot = best.job, best.look, best.slot
	for i := range finds {
		if f := &finds[i]; f != best && !f.look.Absent {
			n.others = append(n.others, *f)
		}
	}
	return nil
}

// candidates looks at everything that may be a node's thing. The first entry may be an absent look: the
// answer when there is nothing.
func (w *work) candidates(ctx context.Context, n *node) ([]found, error) {
	if id := n.decl.Options.Adopt; id != "" && id != "*" {
		f, err := w.lookFor(ctx, n, target{number: 1}, func(job *reconcile.Job) { job.ID = id })
		if err == nil && f.look.Absent {
			err = fmt.Errorf("adopt: there is no %s %s", n.spec.Type, id)
		}
		return []found{f}, err
	}
	finds, err := w.byMark(ctx, n)
	if err != nil || len(finds) > 0 {
		return finds, err
	}
	return w.byName(ctx, n)
}

// byMark looks at what discovery found with the node's mark.
func (w *work) byMark(ctx context.Context, n *node) ([]found, error) {
	var finds []found
	for i := range w.discovered {
		d := &w.discovered[i]
		if d.Kind != n.spec.Type || d.used || d.Mark.Retained || !slices.Contains(n.births(), d.Mark.Address) || d.access.place != n.access.place {
			continue
		}
		f, err := w.lookFor(ctx, n, target{number: d.Mark.Generation}, func(job *reconcile.Job) { job.ID = d.Identity })
		if err != nil {
			return nil, err
		}
		if f.look.Absent {
			continue // the listing was older than the deletion
		}
		d.used = true
		finds = append(finds, f)
	}
	return finds, nil
}

// byName looks for the given name, or for the generated names of all slots.
func (w *work) byName(ctx context.Context, n *node) ([]found, error) {
	first, err := w.lookFor(ctx, n, target{number: 1}, nil)
	if err != nil || first.job == nil || first.job.Named || first.job.Naming == nil {
		return []found{first}, err
	}
	finds := []found{first}
	names := map[string]bool{}
	if n.spec.Lists {
		things, err := w.list(ctx, n, n.access)
		if err != nil {
			return nil, err
		}
		for _, t := range things {
			names[t.Name] = true
		}
	}
	for _, birth := range n.births() {
		for slot := range adopt.Slots {
			name := adopt.Name(*first.job.Naming, first.job.Place, w.stage.Stack, w.stage.Name, birth, slot)
			if name == first.job.Name || n.spec.Lists && !names[name] || !n.spec.Lists && !w.fresh {
				continue
			}
			f, err := w.lookFor(ctx, n, target{number: 1, slot: slot}, func(job *reconcile.Job) { job.Name = name })
			if err != nil {
				return nil, err
			}
			if !f.look.Absent {
				finds = append(finds, f)
			}
		}
	}
	if len(finds) > 1 && first.look.Absent {
		finds = finds[1:]
	}
	return finds, nil
}

// lookFor looks once for a thing without a record. Where what it goes by is not known yet the find is empty:
// the thing will be created or found when it is.
func (w *work) lookFor(ctx context.Context, n *node, t target, adjust func(*reconcile.Job)) (found, error) {
	job, err := w.declaredJob(ctx, n, t)
	if err != nil {
		return found{}, err
	}
	if adjust != nil {
		adjust(job)
	}
	f := found{job: job, slot: t.slot, access: n.access}
	findable := job.ID != "" || known(job.Name) || len(job.Unknown) == 0
	if job.Named && !known(job.Name) && job.ID == "" {
		findable = false
	}
	if !findable {
		f.look = reconcile.Look{Absent: true}
		return f, nil
	}
	f.look, err = n.kind.Look(ctx, job)
	return f, err
}

// pick says which of several finds is the live one: the one whose fixed paths equal the declaration; if
// several do, the highest generation; without marks nothing tells them apart.
func (w *work) pick(n *node, finds []found) (*found, error) {
	if len(finds) == 1 {
		return &finds[0], nil
	}
	fits := make([]*found, 0, len(finds))
	for i := range finds {
		if len(finds[i].look.Replaces()) == 0 {
			fits = append(fits, &finds[i])
		}
	}
	if len(fits) == 0 {
		for i := range finds {
			fits = append(fits, &finds[i])
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	slices.SortFunc(fits, func(a, b *found) int {
		return cmp.Compare(b.look.Owner.Generation, a.look.Owner.Generation)
	})
	if fits[0].look.Owner.Generation == fits[1].look.Owner.Generation {
		identities := make([]string, len(fits))
		for i, f := range fits {
			identities[i] = f.look.Identity
		}
		return nil, reconcile.WithHint(
			fmt.Errorf("%w: %s all look like it", reconcile.ErrAmbiguous, strings.Join(identities, ", ")),
			"name the right one: options.adopt (Adopt(\"…\") in Go)")
	}
	return fits[0], nil
}
