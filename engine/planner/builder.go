package planner

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// Builder prepares what nodes are made of: files that are hashed, code that is built.
type Builder struct {
	sorted, declared []*plan.Node // all of them, upstreams first; those that can be prepared
	dir, cache       string
	warm             *Warm // keeps what was prepared; nil keeps nothing
	turns            sync.Map
}

// awaitFiles notes the nodes that are prepared of files which something that comes before them may write.
func (b *Builder) awaitFiles() {
	behind := make(map[*plan.Node]bool)
	for _, n := range b.sorted {
		for _, up := range n.Ups {
			if behind[up] || up.WritesFiles() {
				behind[n] = true
			}
		}
		if behind[n] && n.Decl != nil && n.Spec.Prepares {
			n.Files = plan.FilesAwaited
		}
	}
}

// prepareLevel prepares the nodes of a level whose files were awaited, now that everything before them is decided.
func (b *Builder) prepareLevel(ctx context.Context, level []*plan.Node, skip func(*plan.Node) bool) {
	var known []*plan.Node
	for _, n := range level {
		if n.Files != plan.FilesAwaited || n.Err != nil || skip(n) || n.BlockedBy() != nil {
			continue
		}
		if len(n.Writers(func(up *plan.Node) bool { return plan.IsPending(up.Plan) })) > 0 {
			n.Files = plan.FilesLater
			continue
		}
		if assets, ok := b.prepared(n); ok {
			n.Assets, n.Files = assets, plan.FilesKnown
			continue
		}
		known = append(known, n)
	}
	b.prepareAll(ctx, known)
}

// prepare builds and hashes what props point at, in parallel, before anything is looked at. One that cannot be
// built blocks its resource only.
func (b *Builder) prepare(ctx context.Context, skip func(*plan.Node) bool) {
	b.awaitFiles()
	var building []*plan.Node
	for _, n := range b.declared {
		if !n.Spec.Prepares || skip(n) || n.Files != plan.FilesKnown {
			continue
		}
		if assets, ok := b.prepared(n); ok {
			n.Assets = assets
			continue
		}
		building = append(building, n)
	}
	b.prepareAll(ctx, building)
}

// prepareAll prepares several nodes. Files that a node's own hook is to write may be missing.
func (b *Builder) prepareAll(ctx context.Context, nodes []*plan.Node) {
	Parallel(len(nodes), 4, func(i int) {
		n := nodes[i]
		job := &reconcile.Job{Address: n.Address, Props: n.DeclaredProps(), Dir: b.dir}
		switch err := b.PrepareOne(ctx, n, job); {
		case err == nil:
			n.Assets, n.Files = job.Assets, plan.FilesKnown
		case n.BuildsItself():
			n.Files = plan.FilesLater
		default:
			n.Err = n.Unprepared(err)
		}
	})
}

// prepared is what was prepared of a node before, if nothing of it changed since.
func (b *Builder) prepared(n *plan.Node) (map[string]reconcile.Asset, bool) {
	if b.warm == nil {
		return nil, false
	}
	b.warm.mu.Lock()
	defer b.warm.mu.Unlock()
	p := b.warm.prepared[n.Address]
	if p == nil || p.old || p.props == "" || p.props != preparedProps(n) {
		return nil, false
	}
	return p.assets, true
}

func preparedProps(n *plan.Node) string { return digestOf(n.Spec.Type, n.DeclaredProps()) }

// PrepareOne prepares a node, and notes what it was made of. What the kind does not tell is where an asset lies, unless that
// was built into the cache.
func (b *Builder) PrepareOne(ctx context.Context, n *plan.Node, job *reconcile.Job) error {
	space := reconcile.Workspace{Dir: b.dir, Cache: b.cache, Turns: &b.turns}
	if b.warm == nil {
		return n.Kind.Prepare(ctx, job, space)
	}
	p := &preparation{props: preparedProps(n)}
	var mu sync.Mutex
	space.Told = func(path string) {
		mu.Lock()
		defer mu.Unlock()
		if abs, err := filepath.Abs(path); err == nil {
			p.from = append(p.from, abs)
		}
	}
	err := n.Kind.Prepare(ctx, job, space)
	if p.assets, p.old = job.Assets, err != nil; p.old {
		p.from = append(p.from, b.warm.madeOf(n.Address)...) // what is broken may hide what it is made of
	}
	if len(p.from) == 0 {
		for _, a := range job.Assets {
			if a.Path != "" && !inside(a.Path, b.cache) {
				p.from = append(p.from, a.Path)
			}
		}
	}
	b.warm.mu.Lock()
	defer b.warm.mu.Unlock()
	b.warm.prepared[n.Address] = p
	return err
}
