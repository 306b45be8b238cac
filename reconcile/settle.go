package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// maxRounds bounds how often the same differences may come back after their calls succeeded.
const maxRounds = 5

// errNotYet is what the loop waits on when a read does not show a write of ours yet.
var errNotYet = errors.New("not visible yet")

// HiddenError says that an object may be there and not be visible yet, and when its absence is certain.
type HiddenError struct{ Until time.Time }

func (e *HiddenError) Error() string {
	return errNotYet.Error() + ", until " + e.Until.Local().Format(time.TimeOnly)
}

// Is reports the same as when the end of the wait is not known.
func (e *HiddenError) Is(target error) bool { return target == errNotYet }

// Settle reconciles the object: read, create or run the steps, read again.
func (r *runner) Settle(ctx context.Context, job *Job, hooks Hooks) (Outcome, error) {
	s := &settling{runner: r, job: job, hooks: hooks, gone: job.ID, since: time.Now()}
	job.written = maps.Clone(job.Written)
	bounds := []time.Duration{job.Timeouts.Create, r.spec().Timeouts.Create}
	if job.Last != nil {
		bounds = []time.Duration{job.Timeouts.Update, r.spec().Timeouts.Update}
	}
	ctx, cancel := bounded(ctx, bounds...)
	defer cancel()
	for {
		done, err := s.round(ctx)
		switch {
		case err == nil && done:
			return s.out, nil
		case err == nil:
			if s.writes != nil {
				s.writes.Succeeded()
			}
			continue
		case ctx.Err() != nil:
			return s.out, s.unsettled(ctx, err)
		}
		if err := s.again(ctx, err); err != nil {
			return s.out, err
		}
		if err := s.kept(ctx); err != nil {
			return s.out, err
		}
		switch stopped := s.wait(ctx, err); {
		case errors.Is(stopped, ErrInterrupted):
			return s.out, stopped
		case stopped != nil:
			return s.out, s.unsettled(ctx, err)
		}
	}
}

// settling is one Settle under way.
type settling struct {
	runner *runner
	job    *Job
	hooks  Hooks
	out    Outcome

	since   time.Time
	writes  *Attempts // paces all waiting, and counts changes that fail; nil until something is waited for
	reads   *Attempts // counts looks that fail; nil until one did
	tried   time.Time // when Create was last called: an absent answer within Visibility of it is "not yet"
	rounds  int       // how often the same steps came back after their calls succeeded
	last    []Step    // the steps of the last look whose calls were made
	wrote   time.Time // when all of those calls had succeeded; zero when one failed
	lastErr error
	gone    string // the identity in state when this began
}

// busyError makes the loop wait for the object itself.
type busyError struct{ why string }

func (e *busyError) Error() string { return e.why }

// round reads once and acts once. It reports whether the object is as declared.
func (s *settling) round(ctx context.Context) (bool, error) {
	look, err := s.runner.Look(ctx, s.job)
	if err != nil {
		return false, &lookError{err}
	}
	if s.reads != nil {
		s.reads.Succeeded()
	}
	if look.Absent {
		err := s.create(ctx, look)
		s.out.Written = s.job.written
		return err == nil && s.runner.spec().Recorded, err
	}
	s.keep(look)
	if s.hooks.Permit != nil {
		switch err := s.hooks.Permit(look); {
		case errors.Is(err, ErrReadAgain):
			return false, errNotYet
		case err != nil:
			return false, &StopError{Err: err}
		}
	}
	if look.Busy != "" {
		return false, &busyError{look.Busy}
	}
	if replace := look.Replaces(); len(replace) > 0 {
		return false, &StopError{Err: &ReplaceError{Steps: replace}}
	}
	if len(look.Steps) == 0 {
		s.out.Waiting, s.out.Written = look.Waiting, s.job.written
		return true, nil
	}
	if err := s.kept(ctx); err != nil {
		return false, err
	}
	return false, s.sync(ctx, look)
}

// kept makes sure that the identity of an object just created is durable.
func (s *settling) kept(ctx context.Context) error {
	if !s.out.Created || s.hooks.Keep == nil {
		return nil
	}
	if err := s.hooks.Keep(ctx); err != nil {
		return &StopError{Err: err}
	}
	return nil
}

// keep takes over what a look showed.
func (s *settling) keep(look Look) {
	s.out.Identity, s.out.Attrs, s.out.Holds = look.Identity, look.Attrs, look.Holds
	s.job.Last, s.job.ID = look.Attrs, look.Identity
}

func isZero(v any) bool { return v == nil || v == "" }

// create creates the object, unless our own create may only not be visible yet.
func (s *settling) create(ctx context.Context, look Look) error {
	switch {
	case look.NotYet:
		return &HiddenError{look.HiddenUntil}
	case !s.tried.IsZero() && time.Since(s.tried) < s.runner.spec().Visibility:
		return &HiddenError{s.tried.Add(s.runner.spec().Visibility)}
	}
	if err := Interrupted(ctx, nil); err != nil {
		return err // before the intent: nothing is begun
	}
	if s.hooks.Intend != nil {
		if err := s.hooks.Intend(ctx); err != nil {
			return &StopError{Err: err}
		}
	}
	site, err := s.runner.site(s.job)
	if err != nil {
		return &StopError{Err: err}
	}
	site.ID, site.Last = "", nil
	s.job.ID, s.job.Last = "", nil // the former object is missing: from here on only the new one is looked for
	site.Since = s.since
	made := &Creation{Deleted: s.gone, Store: func(ctx context.Context, attrs any) error {
		if err := s.born(ctx, attrs); err != nil {
			return err
		}
		return s.kept(ctx)
	}}
	attrs, err := s.runner.kind.Create(ctx, site, made)
	switch classify(ctx, s.job.Cloud, err) {
	case Throttled, Busy: // a refusal: it had no effect that could show late
	default:
		s.tried, s.job.Begun = time.Now(), true
	}
	s.runner.leave(site)
	if err != nil {
		return &StepError{Verb: "create", Err: err}
	}
	s.job.Had, s.job.Force, s.job.fresh = s.job.Props, false, true
	return s.born(ctx, attrs)
}

// born stores what a creation answered, once.
func (s *settling) born(ctx context.Context, answer any) error {
	identity, attrs := s.runner.identity(s.job, answer), props.Dump(answer)
	if s.out.Created && s.job.ID == identity && tree.Equal(s.job.Last, attrs) {
		return nil
	}
	s.out.Created, s.out.Identity, s.out.Attrs = true, identity, attrs
	s.job.Last, s.job.ID = attrs, identity
	if s.hooks.Born != nil {
		if err := s.hooks.Born(ctx, identity, attrs); err != nil {
			return &StopError{Err: err}
		}
	}
	return nil
}

// sync runs the calls of the steps, each once, in the order of the kind's comparison.
func (s *settling) sync(ctx context.Context, look Look) error {
	diff, _, err := s.runner.diff(s.job, look.live)
	if err != nil {
		return &StopError{Err: err}
	}
	now, more := turn(diff.steps)
	fresh, made := s.apart(now)
	switch {
	case s.wrote.IsZero() || len(made) == 0:
		s.rounds = 0
	case time.Since(s.wrote) < s.runner.spec().Visibility:
		if len(fresh) == 0 {
			return errNotYet // a read may still show the object without the write
		}
		now = fresh
	case len(fresh) == 0:
		if s.rounds++; s.rounds > maxRounds {
			return &StopError{Err: &UnsettledError{Why: "differs", Steps: look.Steps, After: time.Since(s.since), Err: s.lastErr}}
		}
	default:
		s.rounds = 0
	}
	if err := s.intend(ctx, now); err != nil {
		return err
	}
	s.last, s.wrote = slices.Concat(steps(made), steps(fresh)), time.Time{}
	if err := s.make(ctx, diff, now, look.live); err != nil {
		return err
	}
	s.job.Force, s.wrote = false, time.Now()
	if s.runner.spec().Recorded {
		s.job.Had = s.job.Props
	}
	if s.rounds > 0 && !more {
		return errNotYet // the calls succeeded before and a read still shows the old value
	}
	return nil
}

// intend makes it durable that a kind whose objects are in state alone begins to act outside state.
func (s *settling) intend(ctx context.Context, now []step) error {
	if !s.runner.spec().Recorded || s.hooks.Intend == nil || !slices.ContainsFunc(now, func(st step) bool { return !st.call.stateOnly }) {
		return nil
	}
	if err := s.hooks.Intend(ctx); err != nil {
		return &StopError{Err: err}
	}
	return nil
}

// turn are the steps whose calls are made before the next look, and whether others must wait for it: of calls that are
// made alone it is the first.
func turn(all []step) (now []step, more bool) {
	var alone *operation
	for _, st := range all {
		switch {
		case st.call == nil || !st.call.alone || st.call == alone:
		case alone == nil:
			alone = st.call
		default:
			more = true
			continue
		}
		now = append(now, st)
	}
	return now, more
}

func steps(of []step) []Step {
	out := make([]Step, len(of))
	for i, st := range of {
		out[i] = st.Step
	}
	return out
}

// make makes the calls of the steps.
func (s *settling) make(ctx context.Context, diff *Differences, now []step, live any) error {
	ran := map[*operation]bool{}
	for _, st := range now {
		if ran[st.call] {
			continue
		}
		ran[st.call] = true
		paths := diff.pathsOf(st.call)
		update := Update[any]{
			Facts: s.job.facts(), Live: live, Changed: paths,
			Store: func(attrs any) { s.job.Last = props.Dump(attrs) },
			Begin: s.begin,
		}
		update.Since = s.since
		if s.hooks.Calling != nil {
			s.hooks.Calling(paths)
		}
		if err := st.call.do(ctx, update); err != nil {
			return &StepError{Verb: "set", Paths: paths, Err: err}
		}
		s.changed(paths)
	}
	return nil
}

// begin makes attributes durable, and looks by them from here on.
func (s *settling) begin(ctx context.Context, attrs any) error {
	s.job.Last = props.Dump(attrs)
	if s.hooks.Begin == nil {
		return nil
	}
	if err := s.hooks.Begin(ctx, s.job.Last); err != nil {
		return &StopError{Err: err}
	}
	return nil
}

func (s *settling) changed(paths []tree.Path) {
	for _, p := range paths {
		if !slices.Contains(s.out.Changed, p) {
			s.out.Changed = append(s.out.Changed, p)
		}
		if s.job.made == nil {
			s.job.made = map[tree.Path]bool{}
		}
		s.job.made[p] = true
		if digest, ok := s.job.written[p]; ok {
			if s.job.Written = maps.Clone(s.job.Written); s.job.Written == nil {
				s.job.Written = map[tree.Path]string{}
			}
			s.job.Written[p] = digest
		}
	}
}

func (d *Differences) pathsOf(call *operation) []tree.Path {
	var paths []tree.Path
	for _, s := range d.steps {
		if s.call == call {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// apart tells the steps whose calls the last round has made from the others.
func (s *settling) apart(now []step) (fresh, made []step) {
	for _, st := range now {
		if slices.ContainsFunc(s.last, func(last Step) bool { return sameStep(last, st.Step) }) {
			made = append(made, st)
		} else {
			fresh = append(fresh, st)
		}
	}
	return fresh, made
}

func sameStep(a, b Step) bool {
	return a.Path == b.Path && tree.Equal(a.Have, b.Have) && tree.Equal(a.Want, b.Want)
}
