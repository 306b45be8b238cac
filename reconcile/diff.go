package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Step is one difference between what is wanted and what is there, as data.
type Step struct {
	Path tree.Path `json:"path"`
	// Have and Want are trees; masked (see Mask) where Secret. Want is nil when the path is to be removed.
	Have any `json:"have"`
	Want any `json:"want"`
	// Call names the operation that applies it, "" when there is none in place. Note is what that does beside.
	Call string `json:"call,omitempty"`
	Note string `json:"note,omitempty"`
	// Replaces says that there is no in-place way.
	Replaces bool `json:"replaces,omitempty"`
	// Unknown says that Want is known only later: the path may differ.
	Unknown bool `json:"unknown,omitempty"`
	// Secret says that both sides are masked.
	Secret bool `json:"secret,omitempty"`
	// Lost says that the path is an attribute which only the answer to the creation held, and which nobody has any
	// more: the object cannot be used.
	Lost bool `json:"lost,omitempty"`
	// Affects are further paths that the call may change by itself.
	Affects []tree.Path `json:"affects,omitempty"`
	// Files are those that differ where the value is made of files, nil where nothing tells.
	Files *FileChanges `json:"files,omitempty"`
	// HaveDigest and WantDigest are keyed digests of both sides as they are, "" for one that is not known. They tell a
	// value apart where only its mask is shown.
	HaveDigest string `json:"-"`
	WantDigest string `json:"-"`
}

// Mask stands for a secret value wherever people or files could see it.
const Mask = "(secret)"

func (s Step) String() string {
	return fmt.Sprintf("%s: have %s, want %s", s.Path, tree.Canonical(s.Have), tree.Canonical(s.Want))
}

// Operation is one mutating operation that applies one or more paths. Paths that share one are applied by one
// invocation of it.
type Operation[L any] struct {
	// Name is the API operation, shown in plans. Note is what it does beside setting its paths, where somebody should
	// know that before; shown in plans too.
	Name, Note string
	// Alone says that the object takes one such call at a time: the first of them is made, and the object is read again
	// before the next.
	Alone bool
	// Affects are further paths that the call may change by itself, as a service resets one setting with another: they are
	// announced with it.
	Affects []tree.Path
	// StateOnly says that the call changes state alone, of a kind whose objects are in state alone: no intent is made
	// durable for it.
	StateOnly bool
	Do        func(context.Context, Update[L]) error
}

// Differences collects the differences that a comparison states, whatever the type of the live object is.
type Differences struct {
	job   *Job
	steps []step
	calls []*operation
	only  map[tree.Path]bool // nil: all paths
	err   error
}

// Diff collects the differences that a kind's Compare states.
type Diff[L any] struct{ *Differences }

type step struct {
	Step
	call *operation
}

// operation is an [Operation] with its type hidden. of is the one that it was made of.
type operation struct {
	name, note       string
	alone, stateOnly bool
	affects          []tree.Path
	of               any
	do               func(context.Context, Update[any]) error
}

// hidden is an operation with its type hidden, the same one each time.
func hidden[L any](d *Differences, call *Operation[L]) *operation {
	if call == nil {
		return nil
	}
	if at := slices.IndexFunc(d.calls, func(o *operation) bool { return o.of == any(call) }); at >= 0 {
		return d.calls[at]
	}
	o := &operation{
		name: call.Name, note: call.Note, alone: call.Alone, stateOnly: call.StateOnly, affects: call.Affects, of: call,
		do: func(ctx context.Context, u Update[any]) error {
			live, _ := u.Live.(L)
			return call.Do(ctx, Update[L]{Facts: u.Facts, Live: live, Changed: u.Changed, Store: u.Store, Begin: u.Begin})
		},
	}
	d.calls = append(d.calls, o)
	return o
}

// Mark returns the owner tag that the object is to carry.
func (d *Differences) Mark() Mark { return d.job.Mark }

// Name is the physical name that is wanted: given by the author, or generated. A generated name is never compared.
func (d *Differences) Name() (name string, given bool) { return d.job.Name, d.job.Named }

// Had returns the props as last reconciled, nil without state.
func (d *Differences) Had() map[string]any { return d.job.Had }

// Fail says that nothing can be told of what differs. It is for kinds that ask a program of somebody else.
func (d *Differences) Fail(err error) { d.err = err }

// Made reports whether a call has set the path in this settling already.
func (d *Differences) Made(path tree.Path) bool { return d.job.made[path] }

// Force says that even what is equal is to be applied: a command runs again.
func (d *Differences) Force() bool { return d.job.Force }

// Dir is the stack's directory.
func (d *Differences) Dir() string { return d.job.Dir }

// Cloud is the handle that the object is reached by. Nil where a comparison has none.
func (d *Differences) Cloud() Cloud { return d.job.Cloud }

// Place returns the location of the object.
func (d *Differences) Place() Place { return d.job.Place }

// Asset is what Prepare made under that name; ok is false while it waits for an unknown value.
func (d *Differences) Asset(name string) (a Asset, ok bool) {
	a, ok = d.job.Assets[name]
	return a, ok
}

// OldAsset is the asset that the resource was reconciled with, without its path; ok is false where state does not tell its files.
func (d *Differences) OldAsset(name string) (a Asset, ok bool) {
	a, ok = d.job.OldAssets[name]
	return a, ok
}

// Files adds to the difference at path, if there is one, which files of assets changed since the resource was reconciled. Call it
// after the difference was stated, and only where the object has what OldAsset tells: what others uploaded has other files.
func (d *Differences) Files(path tree.Path, names ...string) {
	changes := &FileChanges{}
	for _, name := range names {
		was, now := d.job.OldAssets[name].Files, d.job.Assets[name].Files
		if was == nil || now == nil {
			return
		}
		changes.add(now.since(was))
	}
	if !changes.CountedAlone && len(changes.Added)+len(changes.Modified)+len(changes.Deleted) == 0 {
		return // it differs for another reason, such as another compiler
	}
	for i := range d.steps {
		if s := &d.steps[i]; s.Path == path && !s.Secret {
			s.Files = changes
		}
	}
}

// since compares files with those of before.
func (f *Files) since(was *Files) *FileChanges {
	c := &FileChanges{Count: f.Count, Before: was.Size, After: f.Size}
	if c.CountedAlone = f.Digests == nil || was.Digests == nil; c.CountedAlone {
		return c
	}
	for _, name := range slices.Sorted(maps.Keys(f.Digests)) {
		switch old, there := was.Digests[name]; {
		case !there:
			c.Added = append(c.Added, name)
		case old != f.Digests[name]:
			c.Modified = append(c.Modified, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Digests)) {
		if _, there := f.Digests[name]; !there {
			c.Deleted = append(c.Deleted, name)
		}
	}
	return c
}

// add adds the changes of another asset. Both are counted alone where one is.
func (c *FileChanges) add(o *FileChanges) {
	c.CountedAlone = c.CountedAlone || o.CountedAlone
	for _, names := range []struct {
		all  *[]string
		more []string
	}{{&c.Added, o.Added}, {&c.Modified, o.Modified}, {&c.Deleted, o.Deleted}} {
		*names.all = append(*names.all, names.more...)
		slices.Sort(*names.all)
		if c.CountedAlone {
			*names.all = nil
		}
	}
	c.Count, c.Before, c.After = c.Count+o.Count, c.Before+o.Before, c.After+o.After
}

// Assets are all that Prepare made, by name.
func (d *Differences) Assets() map[string]Asset { return d.job.Assets }

// Secret reports whether what is wanted at path is, holds, or is part of a secret.
func (d *Differences) Secret(path tree.Path) bool { return d.secret(path) }

// Differs reports whether a difference has been stated at path, or within it.
func (d *Differences) Differs(path tree.Path) bool {
	return slices.ContainsFunc(d.steps, func(s step) bool { return s.Path.Within(path) })
}

// Unknown reports whether want, at path, holds a value that is known only later. Text that only looks like
// a token does not count: what is resolved is taken literally.
func (d *Differences) Unknown(path tree.Path, want any) bool { return d.unknown(path, want) }

// Value states one aspect that call can set. Values are compared as trees, so that nil and zero pointers,
// and structs by their props, compare by meaning.
func Value[L, V any](d *Diff[L], path tree.Path, want, have V, call *Operation[L]) {
	if w, h := encode(want), encode(have); d.differs(path, w, h) {
		d.add(path, w, h, hidden(d.Differences, call))
	}
}

// Fixed states one aspect that nothing can change in place: a difference replaces the object.
func Fixed[L, V any](d *Diff[L], path tree.Path, want, have V) {
	d.add(path, encode(want), encode(have), nil)
}

// List states an ordered list that call sets as a whole. Nil and empty are equal.
func List[L, V any](d *Diff[L], path tree.Path, want, have []V, call *Operation[L]) {
	if w, h := orEmpty(encode(want)), orEmpty(encode(have)); d.differs(path, w, h) {
		d.add(path, w, h, hidden(d.Differences, call))
	}
}

// Map states a map entry by entry, each under its own path; sync is called once with what to put and what
// to drop. Entries that are there and not wanted are dropped: a map is managed whole.
func Map[L, V any](d *Diff[L], path tree.Path, want, have map[string]V, name string,
	sync func(ctx context.Context, on Update[L], put map[string]V, drop []string) error,
) {
	call := &Operation[L]{Name: name, Do: func(ctx context.Context, on Update[L]) error {
		put, drop := map[string]V{}, []string{}
		for k, v := range want {
			if slices.Contains(on.Changed, path.Key(k)) {
				put[k] = v
			}
		}
		for k := range have {
			if _, wanted := want[k]; !wanted && slices.Contains(on.Changed, path.Key(k)) {
				drop = append(drop, k)
			}
		}
		slices.Sort(drop)
		return sync(ctx, on, put, drop)
	}}
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range have {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		var w, h any
		if v, ok := want[k]; ok {
			w = encode(v)
		}
		if v, ok := have[k]; ok {
			h = encode(v)
		}
		d.add(path.Key(k), w, h, hidden(d.Differences, call))
	}
}

// Set states a set without order; sync is called once with what to add and what to drop.
func Set[L any, V cmp.Ordered](d *Diff[L], path tree.Path, want, have []V, name string,
	sync func(ctx context.Context, on Update[L], add, drop []V) error,
) {
	w, h := slices.Clone(want), slices.Clone(have)
	slices.Sort(w)
	slices.Sort(h)
	w, h = slices.Compact(w), slices.Compact(h)
	call := &Operation[L]{Name: name, Do: func(ctx context.Context, on Update[L]) error {
		missing := func(of, in []V) (out []V) {
			for _, v := range of {
				if _, ok := slices.BinarySearch(in, v); !ok {
					out = append(out, v)
				}
			}
			return out
		}
		return sync(ctx, on, missing(w, h), missing(h, w))
	}}
	d.add(path, orEmpty(encode(w)), orEmpty(encode(h)), hidden(d.Differences, call))
}

// JSON states a document by its meaning: white space, order of keys and number forms do not count. An
// empty string is no document.
func JSON[L any](d *Diff[L], path tree.Path, want, have string, call *Operation[L]) {
	d.add(path, document(want), document(have), hidden(d.Differences, call))
}

// Written states a write-only aspect: nothing can be read back, so the keyed digest of what was last written
// is compared. Without state it differs, and is written; nil and empty text are nothing to write. With a nil call
// only a new object can be given another value: what is in state differs and replaces, and without state nothing is
// known and nothing differs.
func Written[L, V any](d *Diff[L], path tree.Path, want V, call *Operation[L]) {
	d.written(path, encode(want), hidden(d.Differences, call), true)
}

// WrittenLater is [Written] for what creating an object does not write: a new one is written to.
func WrittenLater[L, V any](d *Diff[L], path tree.Path, want V, call *Operation[L]) {
	d.written(path, encode(want), hidden(d.Differences, call), false)
}

func (d *Differences) written(path tree.Path, w any, call *operation, byCreate bool) {
	if d.skips(path) {
		return
	}
	unknown := d.unknown(path, w)
	last, recorded := d.job.Written[path]
	if !unknown {
		if isZero(w) && !recorded {
			return
		}
		digest := d.job.digest(path, w)
		d.job.noteWritten(path, digest)
		if !recorded && (byCreate && d.job.fresh || call == nil && d.job.Had == nil) {
			return // Create wrote it a moment ago, or once
		}
		if recorded && last == digest {
			return
		}
	}
	s := Step{Path: path, Want: Mask, Unknown: unknown, Secret: true, Replaces: call == nil}
	if call != nil {
		s.Call, s.Affects = call.name, call.affects
	}
	if recorded {
		s.Have, s.HaveDigest = Mask, last
	}
	if !unknown {
		s.WantDigest = d.job.digest(path, w)
	}
	d.steps = append(d.steps, step{s, call})
}

// add records a difference, if there is one.
func (d *Differences) add(path tree.Path, want, have any, call *operation) {
	if !d.differs(path, want, have) {
		return
	}
	unknown := d.unknown(path, want)
	s := Step{Path: path, Have: have, Want: want, Unknown: unknown, Replaces: call == nil}
	if call != nil {
		s.Call, s.Note, s.Affects = call.name, call.note, call.affects
	}
	if s.HaveDigest = d.job.compared(path, have); !unknown {
		s.WantDigest = d.job.compared(path, want)
	}
	for _, p := range d.job.ReplaceOn {
		s.Replaces = s.Replaces || path.Within(p)
	}
	if d.secret(path) || want == nil && slices.ContainsFunc(d.job.maskLive, func(p tree.Path) bool { return path.Within(p) }) {
		s.Secret = true
		s.Have, s.Want = masked(have), masked(want)
	}
	d.steps = append(d.steps, step{s, call})
}

// differs reports whether there is a difference to record: most aspects have none, and need no operation.
func (d *Differences) differs(path tree.Path, want, have any) bool {
	return !d.skips(path) && (d.unknown(path, want) || !tree.Equal(want, have))
}

// skips reports paths that are not compared now: ignored ones, those left out until later, and all that the job is not about.
func (d *Differences) skips(path tree.Path) bool {
	within := func(p tree.Path) bool { return path.Within(p) }
	return d.only != nil && !d.only[path] || slices.ContainsFunc(d.job.Ignore, within) || slices.ContainsFunc(d.job.Omit, within)
}

func (d *Differences) unknown(path tree.Path, want any) bool {
	for p := range d.job.Unknown {
		if path.Overlaps(p) {
			return true
		}
	}
	return len(d.job.Unknown) > 0 && hasToken(want)
}

func (d *Differences) secret(path tree.Path) bool {
	for p := range d.job.Secret {
		if path.Overlaps(p) {
			return true
		}
	}
	return slices.ContainsFunc(d.job.secretType, func(p tree.Path) bool { return path.Within(p) })
}

func masked(v any) any {
	if v == nil {
		return nil
	}
	return Mask
}

func hasToken(v any) bool {
	return tree.Any(v, func(x any) bool {
		s, ok := x.(string)
		return ok && token.Has(s)
	})
}

func document(s string) any {
	if s == "" {
		return nil
	}
	if v, err := tree.Decode([]byte(s)); err == nil {
		return v
	}
	return s
}

func orEmpty(v any) any {
	if v == nil {
		return []any{}
	}
	return v
}

// encode makes a tree of what a kind compares. A value that no tree can hold is a mistake in the kind.
func encode(v any) any {
	switch x := v.(type) {
	case string, bool:
		return v
	case []any:
		if x != nil && tree.Is(v) {
			return v
		}
	case map[string]any:
		if x != nil && tree.Is(v) {
			return v
		}
	}
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer {
		if rv.IsNil() {
			return nil
		}
		rv = rv.Elem()
	}
	if !rv.IsValid() {
		return nil
	}
	t, err := props.EncodeValue(rv.Interface())
	if err != nil {
		panic("reconcile: compare: " + err.Error())
	}
	return t
}

// compared is the keyed digest of one side of a difference, "" without a key.
func (j *Job) compared(path tree.Path, v any) string {
	if j.Digest == nil {
		return ""
	}
	return j.Digest("compared "+j.Address+" "+string(path), tree.Canonical(v))
}

func (j *Job) digest(path tree.Path, v any) string {
	if j.Digest == nil {
		return ""
	}
	return j.Digest("written "+j.Address+" "+string(path), tree.Canonical(v))
}
