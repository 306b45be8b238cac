package reconcile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// otherwise finds the paths at which a job wants something else than the props that it changes from do. A kind may state a
// difference at another path than that of the prop, so that both are compared with the object.
func (r *runner) otherwise(job *Job, want, live any) (map[tree.Path]bool, error) {
	before, after := *job, *job
	before.Props, before.From, before.typed, before.written = job.From, nil, nil, maps.Clone(job.written)
	after.written = maps.Clone(job.written)
	from, err := r.want(&before)
	if err != nil {
		return nil, err
	}
	was, now := &Differences{job: &before}, &Differences{job: &after}
	r.kind.Compare(was, from, live)
	r.kind.Compare(now, want, live)
	if err := cmp.Or(was.err, now.err); err != nil {
		return nil, err
	}
	only := map[tree.Path]bool{}
	for _, s := range now.steps {
		only[s.Path] = !slices.ContainsFunc(was.steps, func(b step) bool { return b.Path == s.Path && tree.Equal(b.Want, s.Want) })
	}
	return only, nil
}
