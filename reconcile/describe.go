package reconcile

import (
	"errors"
	"slices"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// mostRounds bounds how deep what one prop opens to comparison may lie behind others.
const mostRounds = 20

// Describe finds the props that an object which was seen would be declared with: what differs from the defaults, its
// name included. What a read does not return (secrets, content that is shown by its digest) is left as steps. It makes
// no call.
//
// It is Compare read backwards: against the defaults every step says what the object has instead, and with that
// declared the next comparison says what is still open.
func Describe(kind Any, job *Job, seen Look) (declared map[string]any, rest []Step) {
	d := &describing{kind: kind, job: job, seen: seen, props: map[string]any{}, tried: map[tree.Path]bool{}}
	if declare := kind.Spec().Declare; declare != nil {
		d.props = declare(seen.Attrs)
		return d.props, d.check(d.left())
	}
	for range mostRounds {
		steps, err := d.compare(d.props)
		if err != nil {
			break // Compare does not take its own reading back
		}
		again := false
		for _, s := range steps {
			again = d.declare(s) || again
		}
		if !again {
			break
		}
	}
	return d.props, d.check(d.left())
}

// describing is one description under way.
type describing struct {
	kind  Any
	job   *Job
	seen  Look
	props map[string]any
	tried map[tree.Path]bool
}

// compare compares the object with props. It carries its own owner tag, and is known by the name that the author gives.
func (d *describing) compare(declared map[string]any) ([]Step, error) {
	look, err := d.kind.Compare(d.fresh(declared), d.seen)
	return look.Steps, err
}

// left returns what still differs from the object. What was written and is not shown is left over too.
func (d *describing) left() []Step {
	known := d.fresh(d.props)
	known.Had, known.Written = d.job.Had, d.job.Written
	look, err := d.kind.Compare(known, d.seen)
	if err != nil {
		return nil
	}
	return look.Steps
}

func (d *describing) fresh(declared map[string]any) *Job {
	j := d.job
	job := &Job{
		Address: j.Address, Props: declared, Query: true, Place: j.Place, Cloud: j.Cloud, Dir: j.Dir, Digest: j.Digest, Derive: j.Derive,
		Mark: d.seen.Owner,
	}
	d.kind.Names(job)
	job.Name, job.Named = job.Given, true
	return job
}

// declare declares at one path what the object has. It reports whether there is something new.
func (d *describing) declare(s Step) bool {
	if s.Secret || s.Path == "" || d.tried[s.Path] {
		return false
	}
	d.tried[s.Path] = true
	for _, v := range d.spellings(s) {
		declared, ok := tree.With(d.props, s.Path, v).(map[string]any)
		if !ok {
			continue
		}
		steps, err := d.compare(declared)
		if err == nil && !slices.ContainsFunc(steps, func(left Step) bool { return left.Path == s.Path }) {
			d.props = declared
			return true
		}
	}
	return false
}

// spellings are the ways in which a program may say what an object has: as it is, as the text of a document, or as
// explicitly none.
func (d *describing) spellings(s Step) []any {
	if s.Have == nil {
		return []any{[]any{}, map[string]any{}, ""}
	}
	ways := []any{s.Have}
	switch have := s.Have.(type) {
	case map[string]any, []any:
		ways = append(ways, string(tree.Canonical(have)))
	case string: // services write numbers, truths, sizes and times as text, and kinds may compare them so
		switch v, _ := tree.Decode([]byte(have)); v := v.(type) {
		case bool, float64:
			ways = append(ways, v)
		case int64:
			ways = append(ways, v, props.Size(v).String(), strconv.FormatInt(v, 10)+"s")
		}
	}
	return ways
}

// check makes sure that what is declared is what a program may declare: what the kind refuses is left too.
func (d *describing) check(rest []Step) []Step {
	job := d.fresh(d.props)
	job.Query, job.typed = false, nil // it was decoded as a query, which may be half of a declaration
	errs, _ := errors.AsType[props.Errors](d.kind.Decode(job))
	for _, e := range errs {
		if !slices.ContainsFunc(rest, func(s Step) bool { return s.Path == e.Path }) {
			rest = append(rest, Step{Path: e.Path})
		}
	}
	return rest
}
