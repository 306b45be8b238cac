package kindtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	stack, stage, address = "kindtest", "check", "thing"
	// patience bounds one operation: a kind that never becomes as declared fails the check, not the test binary.
	patience = time.Minute
)

// generation is what state keeps of one object.
type generation struct {
	slot      int
	name      string
	identity  string
	nonce     string
	begun     bool // an earlier run may have created it
	last, had map[string]any
	written   map[tree.Path]string
}

// driver is a small engine for one resource: it keeps a record, replaces by generations, and forgets what
// happened after a crash.
type driver struct {
	t T
	s Suite
	w World

	live, candidate *generation
	condemned       []*generation
	intents         int // so far; each has a nonce of its own

	watch  *watch
	secret map[tree.Path]bool
	out    reconcile.Outcome // of the last settling
	born   generation        // what the last creation answered
	cache  string            // of what is prepared
}

// start is a driver with a fresh world.
func start(t T, s Suite) *driver {
	t.Helper()
	if s.World == nil || s.Kind == nil {
		t.Fatalf("Kind and World are required")
	}
	return &driver{t: t, s: s, w: s.world(t), watch: &watch{}}
}

// fresh gives the driver a new gate, and forgets an earlier crash.
func (d *driver) fresh() *watch {
	d.watch = &watch{}
	return d.watch
}

// forget loses the record.
func (d *driver) forget() { d.live, d.candidate, d.condemned = nil, nil, nil }

func (d *driver) ctx() context.Context { return reconcile.WithGate(d.t.Context(), d.watch) }

// job is the resource as it is declared and in state. g may be nil: nothing is in state.
func (d *driver) job(g *generation, props map[string]any) (*reconcile.Job, error) {
	if g == nil {
		g = &generation{}
	}
	place, err := d.w.Cloud.Place(d.t.Context())
	if err != nil {
		return nil, err
	}
	job := &reconcile.Job{
		Address: address, Place: place, Cloud: d.w.Cloud, Dir: d.w.Dir, Dev: d.w.Dev, MayDelete: true, Nonce: g.nonce, Begun: g.begun,
		ID: g.identity, Last: cloned(g.last), Had: cloned(g.had), Written: maps.Clone(g.written), Name: g.name,
		Mark:     reconcile.Mark{Stack: stack, Stage: stage, Address: address, Generation: uint64(g.slot) + 1, Store: "kindtest"},
		Timeouts: reconcile.Timeouts{Create: patience, Update: patience, Delete: patience},
		Digest:   func(domain string, data []byte) string { return hex.EncodeToString(derive(domain+string(data), 32)) },
		Derive:   derive, Secret: maps.Clone(d.secret),
	}
	for _, other := range slices.Concat(d.condemned, []*generation{d.live, d.candidate}) {
		if other != nil && other != g && other.identity != "" {
			job.Others = append(job.Others, other.identity)
		}
	}
	if props == nil {
		return job, nil
	}
	job.Props = cloned(props)
	if err := d.s.Kind.Decode(job); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	d.s.Kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case job.Naming != nil && g.name == "":
		job.Name = adopt.Name(*job.Naming, place, stack, stage, address, g.slot)
	}
	err = d.prepare(job)
	return job, err
}

// prepare prepares a job. A kind tells what its assets are made of, so that dev can watch it.
func (d *driver) prepare(job *reconcile.Job) error {
	var told []string
	if d.cache == "" {
		d.cache = d.t.TempDir()
	}
	space := reconcile.Workspace{Dir: d.w.Dir, Cache: d.cache, Told: func(path string) { told = append(told, path) }}
	err := d.s.Kind.Prepare(d.t.Context(), job, space)
	isFetched := func(path tree.Path) bool { v, ok := tree.Get(job.Props, path); return ok && !zeroValue(v) }
	if len(job.Assets) > 0 && len(told) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(d.s.Fetched)), isFetched) {
		d.t.Errorf("it prepares %v and tells of no file that it reads: see Workspace.Reads", slices.Sorted(maps.Keys(job.Assets)))
	}
	return err
}

func cloned(m map[string]any) map[string]any {
	c, _ := tree.Clone(m).(map[string]any)
	return c
}

// derive stands for the stage's key.
func derive(info string, n int) []byte {
	var out []byte
	for i := 0; len(out) < n; i++ {
		h := hmac.New(sha256.New, []byte("kindtest"))
		fmt.Fprintf(h, "%s %s %s %d %s", stack, stage, address, i, info)
		out = h.Sum(out)
	}
	return out[:n]
}

// look reads the live object with these props.
func (d *driver) look(props map[string]any) (reconcile.Look, error) {
	job, err := d.job(d.live, props)
	if err != nil {
		return reconcile.Look{}, err
	}
	return d.s.Kind.Look(d.ctx(), job)
}

// to makes the world match the props, as a run of an engine does.
func (d *driver) to(props map[string]any) error {
	d.out = reconcile.Outcome{}
	if d.s.Kind.Spec().DeleteFirst { // what a crash left condemned goes before anything comes
		if err := d.collect(); err != nil {
			return err
		}
	}
	if d.live != nil {
		err := d.settle(d.live, props)
		if err == nil {
			return d.collect()
		}
		if !errors.Is(err, reconcile.ErrReplace) {
			return err
		}
		if err := d.makeRoom(props); err != nil {
			return err
		}
	}
	d.intend()
	err := d.settle(d.candidate, props)
	if replace, ok := errors.AsType[*reconcile.ReplaceError](err); ok && replace.Lost() {
		if err = d.disown(props); err == nil {
			d.intend()
			err = d.settle(d.candidate, props)
		}
	}
	if err != nil {
		return err
	}
	if d.live != nil {
		d.condemned = append(d.condemned, d.live)
	}
	d.live, d.candidate = d.candidate, nil
	return d.collect()
}

// intend begins a candidate unless there is one.
func (d *driver) intend() {
	if d.candidate == nil {
		d.intents++
		d.candidate = &generation{slot: d.free(), nonce: fmt.Sprintf("nonce-%d", d.intents)}
		return
	}
	d.candidate.begun = true
}

// disown condemns an object that was found without what only the answer to its creation returned. One whose name was
// given goes before the next has it.
func (d *driver) disown(props map[string]any) error {
	job, err := d.job(d.candidate, props)
	if err != nil {
		return err
	}
	look, err := d.s.Kind.Look(d.ctx(), job)
	if err != nil {
		return err
	}
	g := d.candidate
	g.name, g.identity, g.last = job.Name, look.Identity, cloned(look.Attrs)
	d.condemned, d.candidate = append(d.condemned, g), nil
	if job.Named {
		return d.collect()
	}
	return nil
}

// free is the lowest slot that no generation holds.
func (d *driver) free() int {
	for slot := 0; ; slot++ {
		held := func(g *generation) bool { return g != nil && g.slot == slot }
		if !held(d.live) && !held(d.candidate) && !slices.ContainsFunc(d.condemned, held) {
			return slot
		}
	}
}

// makeRoom deletes the live object first when its replacement would have the same, given name, or cannot stand beside
// it.
func (d *driver) makeRoom(props map[string]any) error {
	job, err := d.job(&generation{slot: d.free()}, props)
	if err != nil || !d.s.Kind.Spec().DeleteFirst && (!job.Named || job.Name != d.live.name) {
		return err
	}
	d.condemned, d.live = append(d.condemned, d.live), nil
	return d.collect()
}

// settle reconciles one generation and keeps the result, unless the run is cut.
func (d *driver) settle(g *generation, props map[string]any) error {
	job, err := d.job(g, props)
	if err != nil {
		return err
	}
	stored := func(change func()) error {
		if d.watch.dead() {
			return errCut
		}
		change()
		d.watch.store()
		return nil
	}
	hooks := reconcile.Hooks{
		Intend: func(context.Context) error {
			return stored(func() { g.name = job.Name })
		},
		Born: func(_ context.Context, identity string, attrs map[string]any) error {
			return stored(func() {
				g.identity, g.last = identity, cloned(attrs)
				d.born = *g
			})
		},
	}
	out, err := d.announced(d.ctx(), g, job, hooks)
	if err != nil {
		return err
	}
	return stored(func() {
		d.out = out
		g.name, g.identity, g.last, g.had = job.Name, out.Identity, cloned(out.Attrs), cloned(props)
		g.written = maps.Clone(out.Written)
	})
}

// collect deletes what is condemned.
func (d *driver) collect() error {
	for len(d.condemned) > 0 {
		if err := d.remove(d.condemned[0]); err != nil {
			return err
		}
		d.condemned = d.condemned[1:]
	}
	return nil
}

func (d *driver) remove(g *generation) error {
	job, err := d.job(g, nil)
	if err != nil {
		return err
	}
	if err := d.s.Kind.Delete(d.ctx(), job); err != nil {
		return err
	}
	if d.watch.dead() {
		return errCut
	}
	d.watch.store() // it is no longer condemned
	return nil
}

// delete deletes all generations, as a destroy does.
func (d *driver) delete() error {
	if d.candidate != nil {
		d.condemned, d.candidate = append(d.condemned, d.candidate), nil
	}
	if d.live != nil {
		d.condemned, d.live = append(d.condemned, d.live), nil
	}
	return d.collect()
}

// must fails the check on an error.
func (d *driver) must(err error, doing string, args ...any) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%s: %v", fmt.Sprintf(doing, args...), err)
	}
}

// state is the world as one text: the objects, or for a kind without any, the attributes in state.
func (d *driver) state() string {
	text, _ := d.seen()
	return text
}

// seen is the world as one text, and how many objects are in it.
func (d *driver) seen() (text string, n int) {
	var lines []string
	if d.w.Objects != nil {
		for _, o := range d.w.Objects() {
			v, err := tree.Of(o)
			if err != nil {
				d.t.Fatalf("Objects: %v", err)
			}
			lines = append(lines, string(tree.Canonical(v)))
		}
	} else if d.live != nil {
		last := maps.Clone(d.live.last)
		maps.DeleteFunc(last, func(name string, _ any) bool { return slices.Contains(d.s.Own, name) })
		lines = append(lines, string(tree.Canonical(last)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), len(lines)
}

// count fails the check unless there are n objects, and tells how the world is.
func (d *driver) count(n int, when string, args ...any) (state string) {
	d.t.Helper()
	state, have := d.seen()
	if d.w.Objects != nil && have != n {
		d.t.Errorf("%s: %d objects, want %d:\n%s", fmt.Sprintf(when, args...), have, n, state)
	}
	return state
}
