package reconcile

import (
	"context"
	"errors"
	"fmt"
)

var errStillThere = errors.New("it still exists")

// Delete deletes the object that the job's state describes: it refuses what holds data, asks for the deletion, and observes
// until the object is missing.
func (r *runner) Delete(ctx context.Context, job *Job) error {
	site, err := r.site(job)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, job.Timeouts.Delete, r.spec().Timeouts.Delete)
	defer cancel()
	if err := Interrupted(ctx, nil); err != nil {
		return err
	}
	return retry(ctx, job, "delete", func() error {
		err := r.deleteOnce(ctx, site)
		if classify(ctx, job.Cloud, err) == Absent {
			return nil
		}
		return err
	})
}

// deleteOnce asks for the deletion of an object that may be deleted. While the object is still there, it asks again.
func (r *runner) deleteOnce(ctx context.Context, site *Site) error {
	if r.kind.Guards && !site.MayDelete {
		live, err := r.kind.Observe(ReadOnly(ctx), site)
		switch {
		case errors.Is(err, ErrAbsent) && !r.spec().Tidies:
			return nil
		case errors.Is(err, ErrAbsent):
		case err != nil:
			return err
		case r.kind.Holds(live):
			if r.kind.What == nil {
				return ErrHoldsData
			}
			return fmt.Errorf("%w: %s", ErrHoldsData, r.kind.What(live))
		}
	}
	if err := r.kind.Delete(ctx, site); err != nil || r.kind.Deleted == nil {
		return err
	}
	switch live, err := r.kind.Observe(ReadOnly(ctx), site); {
	case errors.Is(err, ErrAbsent):
		return nil
	case err != nil:
		return err
	case r.kind.Deleted(live):
		return nil
	}
	return WithClass(errStillThere, Busy)
}
