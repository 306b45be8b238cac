package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Erase hides a kind's types. It panics on nothing; Validate of the result tells what is missing.
func Erase[P, L, A any](k *Kind[P, L, A]) Any {
	e := &erased[P, L, A]{
		k:           k,
		secretProps: props.SecretPaths(reflect.TypeFor[P]()),
		secretAttrs: props.SecretPaths(reflect.TypeFor[A]()),
	}
	if k.Schema != nil {
		e.secretProps, e.secretAttrs = k.Schema.SecretProps, k.Schema.SecretAttrs
	}
	e.spec = sync.OnceValue(e.describe)
	return e
}

type erased[P, L, A any] struct {
	k                        *Kind[P, L, A]
	secretProps, secretAttrs []tree.Path
	spec                     func() *Spec // one for all resources of the kind
}

// Validate finds what is missing in the definition.
func (e *erased[P, L, A]) Validate() error {
	tags, err := e.k.tags()
	if err != nil {
		return err
	}
	required := []struct {
		name string
		ok   bool
	}{
		{"Type", e.k.Type != ""},
		{"Observe", e.k.Observe != nil},
		{"Create", e.k.Create != nil},
		{"Compare", e.k.Compare != nil},
		{"Attrs", e.k.Attrs != nil},
		{"Delete", e.k.Delete != nil},
		{"Identity", e.k.Identity != nil},
	}
	for _, r := range required {
		if !r.ok {
			return fmt.Errorf("%s is missing", r.name)
		}
	}
	if e.k.Recorded && (e.k.Naming != nil || e.k.Owner != nil || e.k.List != nil) {
		return errors.New("a recorded kind has no name, no mark and no listing")
	}
	if f := props.ForTable(reflect.TypeFor[P]()); f != "" && e.k.Tags == nil {
		return fmt.Errorf("the tag of prop %s means nothing without an attribute table", f)
	}
	for name := range tags.MovedBy {
		if !slices.Contains(tags.Moves, name) {
			return fmt.Errorf("MovedBy names %q, which is not in Moves", name)
		}
	}
	if (e.k.Prepare == nil) != (len(e.k.Files) == 0) {
		return errors.New("Prepare reads the files that Files names, and is there when that is")
	}
	if (e.k.ListUnder == nil) != (len(e.k.Under) == 0) {
		return errors.New("ListUnder lists by the parents that Under names, and is there when those are")
	}
	if e.k.Held != nil && e.k.Holds == nil {
		return errors.New("Held lists what Holds reports, and needs it")
	}
	if e.k.InDev && !e.k.Recorded {
		return errors.New("a kind that lives in dev alone is a recorded one")
	}
	return nil
}

// Spec is what the kind says of itself.
func (e *erased[P, L, A]) Spec() *Spec { return e.spec() }

func (e *erased[P, L, A]) describe() *Spec {
	tags, _ := e.k.tags() // Validate tells what is wrong with them
	spec := &Spec{
		Type: e.k.Type, Doc: e.k.Doc,
		Moves: tags.Moves, MovedBy: tags.MovedBy, Once: tags.Once, AtBirth: tags.AtBirth, Late: tags.Late, NeedsSettled: tags.NeedsSettled,
		Recorded: e.k.Recorded, Rerun: e.k.Rerun, Same: e.k.Same, ByParent: e.k.ByParent, Tidies: e.k.Tidies,
		Under: e.k.Under, ListsHeld: e.k.Held != nil, HoldsData: e.k.Holds != nil,
		Retained: e.k.Retained, Files: e.k.Files, FilesAt: e.k.FilesAt, WritesFiles: e.k.WritesFiles,
		Marked: e.k.Owner != nil, Lists: e.k.List != nil, Bulk: e.k.ObserveMany != nil, Logs: e.k.Logs != nil,
		Named: e.k.Naming != nil || e.k.Given != nil, Prepares: e.k.Prepare != nil,
		Visibility: e.k.Visibility, Timeouts: e.k.Timeouts, Calls: e.k.Calls, Permissions: e.k.Permissions,
		SecretProps: e.secretProps, SecretAttrs: e.secretAttrs, DeleteFirst: e.k.DeleteFirst, Home: e.k.Home, InDev: e.k.InDev, Stands: e.k.Stands,
		NewProps: func() any { return new(P) },
		NewAttrs: func() any { return new(A) },
	}
	e.document(spec)
	return spec
}

// document says where the fields of props and attributes come from: a schema, or the Go types.
func (e *erased[P, L, A]) document(spec *Spec) {
	if s := e.k.Schema; s != nil {
		spec.Declare = s.Declare
		spec.Props = func() ([]props.Field, error) { return s.Props(), nil }
		spec.Attrs = func() ([]props.Field, error) { return s.Attrs(), nil }
		spec.Shape = func() (p, a []props.Field, err error) { return s.Props(), s.Attrs(), nil }
		return
	}
	p, a := reflect.TypeFor[P](), reflect.TypeFor[A]()
	spec.Props = func() ([]props.Field, error) { return props.Fields(p, e.k.Source) }
	spec.Attrs = func() ([]props.Field, error) { return props.Fields(a, e.k.Source) }
	spec.Shape = func() (pf, af []props.Field, err error) {
		if pf, err = props.Fields(p, nil); err != nil {
			return nil, nil, err
		}
		af, err = props.Fields(a, nil)
		return pf, af, err
	}
}

// Decode checks the props of a job.
func (e *erased[P, L, A]) Decode(job *Job) error {
	_, err := e.want(job)
	return err
}

// want is the typed declaration of a job, decoded once.
func (e *erased[P, L, A]) want(job *Job) (P, error) {
	if p, ok := job.typed.(*P); ok {
		return *p, nil
	}
	p := new(P)
	tags, err := e.k.tags()
	if err != nil {
		return *p, err
	}
	job.maskLive, job.secretType = tags.MaskLive, e.secretProps
	if err := e.decode(job, p); err != nil {
		return *p, err
	}
	if e.k.Defaults != nil {
		*p = e.k.Defaults(*p)
	}
	job.typed = p
	return *p, nil
}

// decode reads and checks the whole declaration, and then reads it without what is left out now: that is declared, and is
// neither missing nor wrong.
func (e *erased[P, L, A]) decode(job *Job, p *P) error {
	if !job.Query {
		if err := props.Decode(job.Props, p); err != nil {
			return err
		}
		if e.k.Check != nil {
			if err := e.k.Check(*p); err != nil {
				return err
			}
		}
		if len(job.Omit) == 0 {
			return nil
		}
		*p = *new(P)
	}
	declared := job.Props
	for _, path := range job.Omit {
		declared, _ = tree.Without(declared, path).(map[string]any)
	}
	return props.Load(declared, p)
}

// Names fills what the physical name depends on.
func (e *erased[P, L, A]) Names(job *Job) {
	p, err := e.want(job)
	if err != nil {
		return
	}
	if e.k.Given != nil {
		job.Given = e.k.Given(p)
	}
	if e.k.Naming != nil {
		n := e.k.Naming(p, job.Place)
		job.Naming = &n
	}
	job.Leave = e.k.MayDelete != nil && e.k.MayDelete(p)
}

// Prepare builds or hashes what the props point at.
func (e *erased[P, L, A]) Prepare(ctx context.Context, job *Job, work Workspace) error {
	if e.k.Prepare == nil {
		return nil
	}
	p, err := e.want(job)
	if err != nil {
		return err
	}
	job.Assets, err = e.k.Prepare(ctx, work, p)
	return err
}

func (e *erased[P, L, A]) site(job *Job) (Site[P, A], error) {
	s := Site[P, A]{
		Address: job.Address, Name: job.Name, Named: job.Named, ID: job.ID, Mark: job.Mark, Place: job.Place,
		Cloud: job.Cloud, Nonce: job.Nonce, MayDelete: job.MayDelete, Dir: job.Dir, Assets: job.Assets, Secret: job.Secret, Derive: job.Derive,
		Dev: job.Dev, Redact: job.Redact,
	}
	if job.Last != nil {
		s.Last = new(A)
		if err := props.Load(job.Last, s.Last); err != nil {
			return s, fmt.Errorf("recorded attributes: %w", err)
		}
	}
	if e.k.Recorded && job.Had != nil {
		s.Had = new(P)
		if err := props.Load(job.Had, s.Had); err != nil {
			return s, fmt.Errorf("recorded props: %w", err)
		}
	}
	if job.Props == nil {
		return s, nil
	}
	var err error
	s.Want, err = e.want(job)
	return s, err
}

// Look observes and compares.
func (e *erased[P, L, A]) Look(ctx context.Context, job *Job) (Look, error) {
	site, err := e.site(job)
	if err != nil {
		return Look{}, err
	}
	live, err := e.k.Observe(ReadOnly(ctx), site)
	return e.seen(job, live, err)
}

// LookMany looks at many jobs of one place.
func (e *erased[P, L, A]) LookMany(ctx context.Context, jobs []*Job) ([]Look, []error) {
	looks, errs := make([]Look, len(jobs)), make([]error, len(jobs))
	if e.k.ObserveMany == nil {
		for i, job := range jobs {
			looks[i], errs[i] = e.Look(ctx, job)
		}
		return looks, errs
	}
	sites, index := make([]Site[P, A], 0, len(jobs)), make([]int, 0, len(jobs))
	for i, job := range jobs {
		site, err := e.site(job)
		if err != nil {
			errs[i] = err
			continue
		}
		sites, index = append(sites, site), append(index, i)
	}
	answers, err := e.k.ObserveMany(ReadOnly(ctx), sites)
	if err == nil && len(answers) != len(sites) {
		err = fmt.Errorf("observed %d of %d", len(answers), len(sites))
	}
	for n, i := range index {
		var answer Observed[L]
		if err != nil {
			answer.Err = err
		} else {
			answer = answers[n]
		}
		looks[i], errs[i] = e.seen(jobs[i], answer.Live, answer.Err)
	}
	return looks, errs
}

// seen turns what Observe answered into a look.
func (e *erased[P, L, A]) seen(job *Job, live L, err error) (Look, error) {
	switch {
	case errors.Is(err, ErrAbsent):
		if !job.LastWrite.IsZero() && time.Since(job.LastWrite) < e.k.Visibility {
			return e.hidden(job), nil
		}
		return Look{Absent: true}, nil
	case err != nil:
		return Look{}, &StepError{Verb: "observe", Err: err}
	}
	look, err := e.compared(job, live)
	if err == nil && e.stillOld(job, look) {
		return e.hidden(job), nil
	}
	return look, err
}

// hidden is a look that shows nothing yet: an absence is certain once the visibility bound of the last write has passed.
func (e *erased[P, L, A]) hidden(job *Job) Look {
	return Look{Absent: true, NotYet: true, HiddenUntil: job.LastWrite.Add(e.k.Visibility)}
}

// stillOld reports that a look, soon after something was deleted to make room for what the job is to make, shows what was
// deleted: an older generation, or where there is no mark, what could never become the new thing.
func (e *erased[P, L, A]) stillOld(job *Job, look Look) bool {
	if job.ID != "" || job.LastWrite.IsZero() || time.Since(job.LastWrite) >= e.k.Visibility {
		return false
	}
	if o := look.Owner; !o.IsZero() {
		return o.Address == job.Mark.Address && o.Generation < job.Mark.Generation
	}
	return job.Intent && e.k.Owner == nil && slices.ContainsFunc(look.Steps, func(s Step) bool { return s.Replaces && !s.Unknown && !s.Lost })
}

// Compare compares what an earlier look saw with the job's props of now.
func (e *erased[P, L, A]) Compare(job *Job, seen Look) (Look, error) {
	live, ok := seen.live.(L)
	if !ok {
		return seen, nil
	}
	return e.compared(job, live)
}

func (e *erased[P, L, A]) compared(job *Job, live L) (Look, error) {
	attrs := e.k.Attrs(live)
	look := Look{live: live, Identity: e.identity(job, attrs), Attrs: props.Dump(attrs)}
	lost := e.recall(look.Attrs, job.Last)
	if e.k.Owner != nil {
		look.Owner = e.k.Owner(live)
	}
	if e.k.Busy != nil {
		look.Busy = e.k.Busy(live)
	}
	if e.k.Waiting != nil {
		look.Waiting = e.k.Waiting(live)
	}
	if e.k.Holds != nil {
		look.Holds = e.k.Holds(live)
	}
	if job.Props == nil {
		return look, nil
	}
	diff, want, err := e.diff(job, live)
	if err != nil {
		return look, err
	}
	if e.k.MayDelete != nil {
		look.MayDelete = e.k.MayDelete(want)
	}
	for _, s := range diff.steps {
		look.Steps = append(look.Steps, s.Step)
	}
	if job.From == nil {
		look.Steps = append(look.Steps, lost...)
	}
	return look, nil
}

// recall fills in what only the answer to the creation told, from what is known of it. What nobody knows any more makes
// the thing unusable: a step that replaces says so.
func (e *erased[P, L, A]) recall(attrs, known map[string]any) []Step {
	var lost []Step
	tags, _ := e.k.tags() // the props were decoded with them
	for _, name := range tags.Once {
		switch v := known[name]; {
		case !isZero(attrs[name]):
		case !isZero(v):
			attrs[name] = v
		default:
			lost = append(lost, Step{Path: tree.Path(name), Want: "told at creation only, and not on record", Replaces: true, Lost: true})
		}
	}
	return lost
}

// identity is what the kind says; a thing that is kept in the record alone may have none but its address.
func (e *erased[P, L, A]) identity(job *Job, attrs A) string {
	id := e.k.Identity(attrs)
	if id == "" && e.k.Recorded {
		return cmp.Or(job.Mark.Address, job.Address)
	}
	return id
}

func (e *erased[P, L, A]) diff(job *Job, live L) (*Diff[L], P, error) {
	want, err := e.want(job)
	if err != nil {
		return nil, want, err
	}
	d := &Diff[L]{job: job}
	if job.From != nil {
		if d.only, err = e.otherwise(job, want, live); err != nil {
			return nil, want, err
		}
	}
	e.k.Compare(d, want, live)
	return d, want, nil
}

// List finds things of this kind.
func (e *erased[P, L, A]) List(ctx context.Context, scope Scope) ([]Found, error) {
	if e.k.List == nil {
		return nil, nil
	}
	return e.k.List(ReadOnly(ctx), scope)
}

// ListUnder finds the objects of this kind that belong to a parent.
func (e *erased[P, L, A]) ListUnder(ctx context.Context, scope Scope, parent Found) ([]Found, error) {
	if e.k.ListUnder == nil {
		return nil, nil
	}
	return e.k.ListUnder(ReadOnly(ctx), scope, parent)
}

// Held lists what the object of a job holds.
func (e *erased[P, L, A]) Held(ctx context.Context, job *Job, most int) ([]Found, error) {
	if e.k.Held == nil {
		return nil, nil
	}
	site, err := e.site(job)
	if err != nil {
		return nil, err
	}
	return e.k.Held(ReadOnly(ctx), site, most)
}

// Delete removes what the job's record describes.
func (e *erased[P, L, A]) Delete(ctx context.Context, job *Job) error {
	site, err := e.site(job)
	if err != nil {
		return err
	}
	ctx, cancel := e.bounded(ctx, job.Timeouts.Delete, e.k.Timeouts.Delete)
	defer cancel()
	if err := Interrupted(ctx, nil); err != nil {
		return err
	}
	return e.retry(ctx, job, "delete", func() error {
		err := e.k.Delete(ctx, site)
		if classify(ctx, job.Cloud, err) == Absent {
			return nil
		}
		return err
	})
}
