package cmd

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/statestore"
)

// round is one plan and what comes of it, on a goroutine of its own, so that saves are heard meanwhile.
type round struct {
	graph   *engine.Graph
	options engine.PlanOptions
	began   time.Time
	// looks: nothing changed, and a few resources are looked at.
	looks bool
	// stop, when closed, starts nothing new; planning is given up.
	stop     chan struct{}
	given    atomic.Bool
	giveUp   context.CancelFunc
	planning context.Context
	done     chan struct{}

	plan *engine.Plan
	res  *engine.Result
	err  error
}

// loop goes on until the session is ended, or cannot go on.
func (d *dev) loop(ctx context.Context) error {
	d.load(ctx, false)
	for {
		var err error
		select {
		case <-ctx.Done():
			return d.drain()
		case paths := <-d.watcher.Changes():
			d.changed(ctx, paths)
		case set := <-d.loadFound(): // a save is heard while the compiler is at work
			d.sources = d.sources.Join(set)
			_ = d.watch(d.loading.began) // what cannot be watched is said when it has ended
		case <-d.loadDone():
			err = d.loadEnded(ctx)
		case <-d.roundDone():
			err = d.roundEnded(ctx)
		case <-d.timer.C:
			d.lookAround()
		}
		if err != nil {
			return errors.Join(d.drain(), err)
		}
	}
}

// roundDone is closed when the round at work has ended; nil, which never is, when there is none.
func (d *dev) roundDone() <-chan struct{} {
	if d.round == nil {
		return nil
	}
	return d.round.done
}

// changed takes in what was saved. What the program is made of is evaluated anew; of anything else the program that is
// there is deployed at once.
func (d *dev) changed(ctx context.Context, paths []string) {
	d.tellChanged(paths)
	if d.s.engine != nil {
		d.s.engine.Warm.Changed(paths)
		if !slices.ContainsFunc(paths, d.made.Has) {
			d.restart()
			return
		}
	}
	d.load(ctx, slices.ContainsFunc(paths, func(path string) bool { return !d.made.Has(path) }))
}

// restart begins a round for the newest program, when the one at work has finished its running calls.
func (d *dev) restart() {
	if d.round == nil {
		d.begin(nil)
		return
	}
	d.next = true
	d.round.abandon()
}

// abandon lets a round end as soon as it can in good order.
func (r *round) abandon() {
	if r.given.CompareAndSwap(false, true) {
		close(r.stop)
		r.giveUp()
	}
}

// begin begins a round for the newest program, or with addresses one that looks at these.
func (d *dev) begin(look []string) {
	d.retries = nil
	d.start(d.newRound(look))
}

func (d *dev) newRound(look []string) *round {
	r := &round{graph: d.graph, options: d.options(look), began: time.Now(), looks: look != nil, stop: make(chan struct{}), done: make(chan struct{})}
	if r.looks {
		r.graph = d.good
	}
	return r
}

// start starts a round.
func (d *dev) start(r *round) {
	d.timer.Stop()
	d.next = false
	r.planning, r.giveUp = context.WithCancel(d.c.Context)
	d.round = r
	go func() {
		defer close(r.done)
		defer r.giveUp()
		d.work(r)
	}()
}

// work plans and applies.
func (d *dev) work(r *round) {
	e := d.s.engine
	if r.plan, r.err = e.Plan(r.planning, r.graph, r.options); r.err != nil || r.given.Load() {
		return
	}
	if blocked := stuck(r.plan); len(blocked) > 0 {
		r.err = blockedError(blocked)
		return
	}
	// A save that came with the look is a deploy like any other.
	r.looks = r.looks && byWorld(r.plan)
	if !r.looks || r.plan.Pending() {
		d.emit(devLine{Type: devPlanned, Elapsed: time.Since(r.began).Seconds(), Summary: &r.plan.Summary, Drift: r.looks})
	}
	d.screen.begin(d, r.plan)
	defer d.screen.end(d)
	r.res, r.err = e.Apply(d.c.Context, r.plan, engine.ApplyOptions{
		PlanOptions: r.options, Command: devName, Interrupt: r.stop, Approve: func(*engine.Plan) bool { return true },
	})
	if r.res != nil && r.res.Run == "" {
		r.res.Took = time.Since(r.began)
	}
}

// byWorld reports that whatever a plan does, it undoes what the world changed.
func byWorld(p *engine.Plan) bool {
	for _, a := range p.Actions {
		drifted := slices.ContainsFunc(a.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld })
		gone := a.Action == engine.Create && a.Generation > 0
		if a.Action != engine.Unchanged && a.Action != engine.Wait && !drifted && !gone {
			return false
		}
	}
	return true
}

// roundEnded takes in how a round ended, and goes on.
func (d *dev) roundEnded(ctx context.Context) error {
	r := d.round
	d.round = nil
	if err := d.outcome(ctx, r); err != nil {
		return err
	}
	if err := d.watch(r.began); err != nil {
		return err
	}
	var again []string
	again, d.retries = planAgain(r.res, d.retries)
	switch every := d.c.Duration("look"); {
	case d.next:
		d.begin(nil)
	case len(again) > 0:
		next := d.newRound(nil)
		next.options.Dev.Look = again
		d.start(next)
	case errors.Is(r.err, statestore.ErrHeld):
		d.next = true
		d.timer.Reset(time.Second)
	case every > 0 && d.good != nil && d.good == d.graph:
		d.timer.Reset(every)
	}
	return nil
}

// outcome shows how a round ended.
func (d *dev) outcome(ctx context.Context, r *round) error {
	if r.res != nil {
		d.deployed(r)
	}
	switch {
	case r.err != nil && r.given.Load() && errors.Is(r.err, context.Canceled), r.err == nil && r.res == nil:
		return nil // it was given up for a newer one
	case errors.Is(r.err, statestore.ErrHeld) && d.held:
		return nil // it was said
	case r.err != nil:
		d.held = errors.Is(r.err, statestore.ErrHeld)
		return d.problem(ctx, r.err)
	}
	d.held = false
	return nil
}

// deployed notes and shows what a run did.
func (d *dev) deployed(r *round) {
	well := r.err == nil && r.res.State == statestore.Succeeded
	if r.err == nil && !r.options.Dev.Narrow {
		d.whole = false // everything was looked at, and the record knows what is left to do
	}
	if d.good = nil; well {
		d.good = r.graph
	}
	d.cut = r.given.Load() && d.ended() && r.res.State == statestore.Cancelled
	kind := devDeployed
	if r.looks {
		kind = devLooked
	}
	d.report(kind, r.res, r.plan)
}

// drain lets what is at work finish when the session ends. An evaluation is given up.
func (d *dev) drain() error {
	if l := d.loading; l != nil {
		l.giveUp()
		<-l.done
		d.loading = nil
	}
	if d.round == nil {
		return nil
	}
	d.round.abandon()
	d.emit(devLine{Type: devStopping})
	<-d.round.done
	r := d.round
	d.round = nil
	return d.outcome(d.c.Context, r)
}

// coolEvery is how often credentials are asked again where they lead.
const coolEvery = time.Minute

// lookAround looks at the next few of the resources that nothing changed, or tries again after another run held the stage.
func (d *dev) lookAround() {
	if d.round != nil {
		return
	}
	if d.next || d.good == nil {
		d.begin(nil)
		return
	}
	all := make([]string, 0, len(d.good.Resources))
	for i := range d.good.Resources {
		all = append(all, d.good.Resources[i].Address)
	}
	if len(all) == 0 {
		return
	}
	if d.look >= len(all) {
		d.look = 0
	}
	if d.look == 0 && time.Since(d.cooled) > coolEvery {
		d.s.engine.Warm.Cool()
		d.cooled = time.Now()
	}
	some := all[d.look:min(d.look+lookMany, len(all))]
	d.look += len(some)
	d.begin(some)
}

// mostRetries is how many rounds in a row are planned anew because one resource changed since its plan. Then a save is waited
// for.
const mostRetries = 3

// planAgain names the resources that a run left as they were because they changed since its plan, and that are to be planned
// again at once. The counts are how often that was done in a row, by address, before and after.
func planAgain(res *engine.Result, before map[string]int) (again []string, after map[string]int) {
	if res == nil {
		return nil, nil
	}
	for _, f := range res.Failures {
		if !errors.Is(f, plan.ErrChanged) {
			continue
		}
		if after == nil {
			after = map[string]int{}
		}
		if after[f.Address] = before[f.Address]; after[f.Address] < mostRetries {
			after[f.Address]++
			again = append(again, f.Address)
		}
	}
	return again, after
}
