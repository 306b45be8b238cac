package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/watch"
)

// loading is one evaluation of the newest source, on a goroutine of its own, so that a newer save is heard meanwhile.
type loading struct {
	began  time.Time
	giveUp context.CancelFunc
	done   chan struct{}
	// found gets what the program is made of, as soon as that is known.
	found chan watch.Set
	// stale: something newer was saved. beside: something was saved that the program before is made of as well.
	stale, beside bool

	evaluated
	err error
}

// load begins to evaluate the newest source. An evaluation at work is given up for it, its compiler ended.
func (d *dev) load(ctx context.Context, beside bool) {
	if l := d.loading; l != nil {
		l.stale, l.beside = true, l.beside || beside
		l.giveUp()
		return
	}
	l := &loading{began: time.Now(), done: make(chan struct{}), found: make(chan watch.Set, 1), beside: beside}
	ctx, l.giveUp = context.WithCancel(ctx)
	d.loading = l
	go func() {
		defer close(l.done)
		defer l.giveUp()
		l.evaluated, l.err = d.program.load(ctx, func(s watch.Set) { l.found <- s })
	}()
}

// loadDone is closed when the evaluation at work has ended; nil, which never is, when there is none.
func (d *dev) loadDone() <-chan struct{} {
	if d.loading == nil {
		return nil
	}
	return d.loading.done
}

// loadFound gets what the program at work on is made of; nil, which never does, when there is none.
func (d *dev) loadFound() <-chan watch.Set {
	if d.loading == nil {
		return nil
	}
	return d.loading.found
}

// loadEnded takes in what was evaluated. A program that evaluates is deployed: what is at work finishes its running calls.
func (d *dev) loadEnded(ctx context.Context) error {
	l := d.loading
	d.loading = nil
	if l.stale {
		d.load(ctx, l.beside)
		return nil
	}
	if err := d.loaded(l); err != nil {
		fatal := d.problem(ctx, err)
		if fatal == nil && ctx.Err() == nil && l.beside && d.s.engine != nil {
			d.restart() // for what was saved beside the broken program
		}
		return fatal
	}
	if d.s.engine == nil {
		if err := d.open(); err != nil {
			return err
		}
		if err := d.watch(l.began); err != nil { // now also for what only the stage's name tells
			return err
		}
	}
	d.restart()
	return nil
}

// loaded takes over an evaluation, watches what the program is made of, and makes sure that it is still the same stack.
func (d *dev) loaded(l *loading) error {
	d.sources = l.set
	err := l.err
	if was := d.s.stage.Stack; err == nil && was != "" && l.graph.Stack != was {
		err = hint(fmt.Errorf("the stack is called %s now, and was %s", l.graph.Stack, was), "end dev and start it again: that is another stack")
	}
	if err == nil {
		d.graph = l.graph
		d.emit(devLine{Type: devBuilt, Elapsed: time.Since(l.began).Seconds(), Compiled: l.compiled.Seconds()})
	}
	return errors.Join(err, d.watch(l.began))
}

// watch watches all that the stack is made of. What is new in it and was written since it was read counts as changed.
func (d *dev) watch(since time.Time) error {
	set := d.sources
	if d.graph != nil {
		set = set.Join(watch.Set{Files: d.secretFiles()})
	}
	d.made = set
	if d.s.engine != nil {
		set = set.Join(watch.Set{Trees: d.s.engine.Warm.Sources()})
	}
	if err := d.watcher.Watch(set, since); err != nil {
		return err
	}
	if n := len(set.Files) + len(set.Packages) + len(set.Trees); n != d.watched {
		d.watched = n
		d.emit(devLine{Type: devWatching, Count: n, Folders: d.watcher.Count()})
	}
	return nil
}
