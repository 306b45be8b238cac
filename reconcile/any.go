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

// Run is the kind of a definition.
func Run(definition *Definition) Any {
	r := &runner{kind: definition}
	r.spec = sync.OnceValue(r.describe)
	return r
}

// runner runs one kind.
type runner struct {
	kind *Definition
	spec func() *Spec // one for all resources of the kind
	// sites are used again once a call has returned: a definition keeps none.
	sites sync.Pool
}

// Validate finds what is missing in the definition.
func (r *runner) Validate() error { return r.kind.Validate() }

// Spec is what the kind says of itself.
func (r *runner) Spec() *Spec { return r.spec() }

// Outline is what of that needs no look at types.
func (r *runner) Outline() Spec { return r.kind.Spec() }

func (r *runner) describe() *Spec {
	tags, _ := r.kind.Tags() // Validate reports what is wrong with them
	spec := r.kind.Spec()
	spec.Moves, spec.MovedBy, spec.Once, spec.AtBirth = tags.Moves, tags.MovedBy, tags.Once, tags.AtBirth
	spec.Late, spec.NeedsSettled = tags.Late, tags.NeedsSettled
	spec.Marked, spec.Lists, spec.Bulk, spec.Logs = r.kind.Owner != nil, r.kind.List != nil, r.kind.ObserveMany != nil, r.kind.Logs != nil
	spec.Unique = r.kind.Unique != nil
	spec.Named, spec.Prepares, spec.ListsHeld = r.kind.Naming != nil || r.kind.Given != nil, r.kind.Prepare != nil, r.kind.Contents != nil
	spec.HoldsData = r.kind.Holds != nil
	r.document(&spec)
	return &spec
}

// document says where the fields of props and attributes come from: a schema, or the Go types.
func (r *runner) document(spec *Spec) {
	if s := r.kind.Schema; s != nil && s.Props != nil {
		spec.Declare, spec.SecretProps, spec.SecretAttrs = s.Declare, s.SecretProps, s.SecretAttrs
		spec.Props = func() ([]props.Field, error) { return s.Props(), nil }
		spec.Attrs = func() ([]props.Field, error) { return s.Attrs(), nil }
		spec.Shape = func() (p, a []props.Field, err error) { return s.Props(), s.Attrs(), nil }
		return
	}
	p, a := reflect.TypeOf(spec.NewProps()).Elem(), reflect.TypeOf(spec.NewAttrs()).Elem()
	spec.SecretProps, spec.SecretAttrs = props.SecretPaths(p), props.SecretPaths(a)
	spec.Props = func() ([]props.Field, error) { return props.Fields(p, r.kind.Source) }
	spec.Attrs = func() ([]props.Field, error) { return props.Fields(a, r.kind.Source) }
	spec.Shape = func() (pf, af []props.Field, err error) {
		if pf, err = props.Fields(p, nil); err != nil {
			return nil, nil, err
		}
		af, err = props.Fields(a, nil)
		return pf, af, err
	}
}

// Decode checks the props of a job.
func (r *runner) Decode(job *Job) error {
	_, err := r.want(job)
	return err
}

// want points at the typed declaration of a job, decoded once.
func (r *runner) want(job *Job) (any, error) {
	if job.typed != nil {
		return job.typed, nil
	}
	spec := r.spec()
	p := spec.NewProps()
	tags, err := r.kind.Tags()
	if err != nil {
		return p, err
	}
	job.maskLive, job.secretType = tags.MaskLive, spec.SecretProps
	if err := r.decode(job, p); err != nil {
		return p, err
	}
	if r.kind.Default != nil {
		r.kind.Default(p)
	}
	job.typed = p
	return p, nil
}

// decode reads and checks the whole declaration, and then reads it without what is left out now: that is declared, and is
// neither missing nor wrong.
func (r *runner) decode(job *Job, p any) error {
	if !job.Query {
		if err := props.Decode(job.Props, p); err != nil {
			return err
		}
		if r.kind.Check != nil {
			if err := r.kind.Check(p); err != nil {
				return err
			}
		}
		if len(job.Omit) == 0 {
			return nil
		}
		reflect.ValueOf(p).Elem().SetZero()
	}
	declared := job.Props
	for _, path := range job.Omit {
		declared, _ = tree.Without(declared, path).(map[string]any)
	}
	return props.Load(declared, p)
}

// Names fills what the physical name depends on.
func (r *runner) Names(job *Job) {
	p, err := r.want(job)
	if err != nil {
		return
	}
	if r.kind.Given != nil {
		job.Given = r.kind.Given(p)
	}
	if r.kind.Naming != nil {
		n := r.kind.Naming(p, job.Place)
		job.Naming = &n
	}
	job.Leave = r.kind.MayDelete != nil && r.kind.MayDelete(p)
	if r.kind.Unique != nil {
		job.Unique = r.kind.Unique(p)
	}
}

// Prepare builds or hashes what the props point at.
func (r *runner) Prepare(ctx context.Context, job *Job, work Workspace) error {
	if r.kind.Prepare == nil {
		return nil
	}
	p, err := r.want(job)
	if err != nil {
		return err
	}
	job.Assets, err = r.kind.Prepare(ctx, work, p)
	return err
}

// facts are those of a job.
func (j *Job) facts() Facts {
	return Facts{
		Address: j.Address, Cloud: j.Cloud, Location: j.Place, Name: j.Name, NameGiven: j.Named, Owner: j.Mark, Dir: j.Dir,
		Assets: j.Assets, Secret: j.Secret, Dev: j.Dev, Redact: j.Redact, Nonce: j.Nonce,
		Begun: j.Begun, Others: j.Others, Earlier: j.Earlier, Former: j.Former, Omits: len(j.Omit) > 0,
	}
}

func (r *runner) site(job *Job) (*Site, error) {
	spec := r.spec()
	s, again := r.sites.Get().(*Site)
	if !again {
		s = new(Site)
	}
	s.Facts, s.ID, s.MayDelete, s.Derive = job.facts(), job.ID, job.MayDelete, job.Derive
	if job.Last != nil {
		s.Last = spec.NewAttrs()
		if err := props.Load(job.Last, s.Last); err != nil {
			return s, fmt.Errorf("attributes in state: %w", err)
		}
	}
	if spec.Recorded && job.Had != nil {
		s.Had = spec.NewProps()
		if err := props.Load(job.Had, s.Had); err != nil {
			return s, fmt.Errorf("props in state: %w", err)
		}
	}
	var err error
	if job.Props == nil {
		s.Want = spec.NewProps()
	} else {
		s.Want, err = r.want(job)
	}
	return s, err
}

// leave takes back a site that no call needs any more.
func (r *runner) leave(s *Site) {
	*s = Site{}
	r.sites.Put(s)
}

// Look observes and compares.
func (r *runner) Look(ctx context.Context, job *Job) (Look, error) {
	site, err := r.site(job)
	if err != nil {
		return Look{}, err
	}
	live, err := r.kind.Observe(ReadOnly(ctx), site)
	r.leave(site)
	return r.seen(job, live, err)
}

// LookMany looks at many jobs of one place.
func (r *runner) LookMany(ctx context.Context, jobs []*Job) ([]Look, []error) {
	looks, errs := make([]Look, len(jobs)), make([]error, len(jobs))
	if r.kind.ObserveMany == nil {
		for i, job := range jobs {
			looks[i], errs[i] = r.Look(ctx, job)
		}
		return looks, errs
	}
	sites, index := make([]*Site, 0, len(jobs)), make([]int, 0, len(jobs))
	for i, job := range jobs {
		site, err := r.site(job)
		if err != nil {
			errs[i] = err
			continue
		}
		sites, index = append(sites, site), append(index, i)
	}
	answers, err := r.kind.ObserveMany(ReadOnly(ctx), sites)
	if err == nil && len(answers) != len(sites) {
		err = fmt.Errorf("observed %d of %d", len(answers), len(sites))
	}
	for n, i := range index {
		answer := Observed[any]{Err: err}
		if err == nil {
			answer = answers[n]
		}
		looks[i], errs[i] = r.seen(jobs[i], answer.Live, answer.Err)
	}
	return looks, errs
}

// seen turns what Observe answered into a look.
func (r *runner) seen(job *Job, live any, err error) (Look, error) {
	switch {
	case errors.Is(err, ErrAbsent):
		if r.mayBeHidden(job) {
			return r.hidden(job), nil
		}
		return Look{Absent: true}, nil
	case err != nil:
		return Look{}, &StepError{Verb: "observe", Err: err}
	}
	look, err := r.compared(job, live)
	if err == nil && r.stillOld(job, look) {
		return r.hidden(job), nil
	}
	return look, err
}

// mayBeHidden reports that a read may not show the last write yet.
func (r *runner) mayBeHidden(job *Job) bool {
	return !job.LastWrite.IsZero() && time.Since(job.LastWrite) < r.spec().Visibility
}

// hidden is a look that shows nothing yet: an absence is certain once the visibility bound of the last write has passed.
func (r *runner) hidden(job *Job) Look {
	until := job.LastWrite.Add(r.spec().Visibility)
	if job.OlderUntil.After(until) {
		until = job.OlderUntil
	}
	return Look{Absent: true, NotYet: true, HiddenUntil: until}
}

// stillOld reports that a look, soon after something was deleted to make room for what the job is to make, shows what was
// deleted: an older generation, or where there is no owner tag, what could never become the new object.
func (r *runner) stillOld(job *Job, look Look) bool {
	if job.ID != "" || !r.mayBeHidden(job) && !time.Now().Before(job.OlderUntil) {
		return false
	}
	if o := look.Owner; !o.IsZero() {
		same := o.Stack == job.Mark.Stack && o.Stage == job.Mark.Stage && (o.Address == job.Mark.Address || slices.Contains(job.Addresses, o.Address))
		return same && o.Generation < job.Mark.Generation
	}
	return r.mayBeHidden(job) && job.Intent && r.kind.Owner == nil && slices.ContainsFunc(look.Steps, func(s Step) bool { return s.Replaces && !s.Unknown && !s.Lost })
}

// Compare compares what an earlier look saw with the job's props of now.
func (r *runner) Compare(job *Job, seen Look) (Look, error) {
	if seen.live == nil {
		return seen, nil
	}
	return r.compared(job, seen.live)
}

func (r *runner) compared(job *Job, live any) (Look, error) {
	attrs := r.kind.Attributes(live)
	look := Look{live: live, Identity: r.identity(job, attrs), Attrs: props.DumpAs(attrs, job.Last)}
	lost := r.recall(look.Attrs, job.Last)
	if r.kind.Owner != nil {
		look.Owner = r.kind.Owner(live)
	}
	if r.kind.Status != nil {
		look.Busy, look.Waiting = r.kind.Status(live)
	}
	if r.kind.Holds != nil {
		look.Holds = r.kind.Holds(live)
	}
	if job.Props == nil {
		return look, nil
	}
	diff, want, err := r.diff(job, live)
	if err != nil {
		return look, err
	}
	if r.kind.MayDelete != nil {
		look.MayDelete = r.kind.MayDelete(want)
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
// the object unusable: a step that replaces says so.
func (r *runner) recall(attrs, known map[string]any) []Step {
	var lost []Step
	for _, name := range r.spec().Once {
		switch v := known[name]; {
		case !isZero(attrs[name]):
		case !isZero(v):
			attrs[name] = v
		default:
			lost = append(lost, Step{Path: tree.Path(name), Want: "known at creation only, and not in state", Replaces: true, Lost: true})
		}
	}
	return lost
}

// identity is what the kind says; an object that is kept in state alone may have none but its address.
func (r *runner) identity(job *Job, attrs any) string {
	id := r.kind.Identity(attrs)
	if id == "" && r.spec().Recorded {
		return cmp.Or(job.Mark.Address, job.Address)
	}
	return id
}

func (r *runner) diff(job *Job, live any) (*Differences, any, error) {
	want, err := r.want(job)
	if err != nil {
		return nil, want, err
	}
	d := &Differences{job: job}
	if job.From != nil {
		if d.only, err = r.otherwise(job, want, live); err != nil {
			return nil, want, err
		}
	}
	r.kind.Compare(d, want, live)
	return d, want, d.err
}

// List finds objects of this kind.
func (r *runner) List(ctx context.Context, scope Scope) ([]Found, error) {
	if r.kind.List == nil {
		return nil, nil
	}
	return r.kind.List(ReadOnly(ctx), scope)
}

// ListUnder finds the objects of this kind that belong to a parent.
func (r *runner) ListUnder(ctx context.Context, scope Scope, parent Found) ([]Found, error) {
	if r.kind.ListUnder == nil {
		return nil, nil
	}
	return r.kind.ListUnder(ReadOnly(ctx), scope, parent)
}

// Held lists what the object of a job holds.
func (r *runner) Held(ctx context.Context, job *Job, most int) ([]Found, error) {
	if r.kind.Contents == nil {
		return nil, nil
	}
	site, err := r.site(job)
	if err != nil {
		return nil, err
	}
	return r.kind.Contents(ReadOnly(ctx), site, most)
}
