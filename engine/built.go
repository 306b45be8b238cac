package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// builder prepares what nodes are made of: files that are hashed, code that is built.
type builder struct {
	sorted, declared []*node // all of them, upstreams first; those that can be prepared
	dir, cache       string
	warm             *Warm // keeps what was prepared; nil keeps nothing
}

// builtOf is one digest over everything that was prepared for a resource, "" for nothing.
func builtOf(assets map[string]reconcile.Asset) string {
	if len(assets) == 0 {
		return ""
	}
	all := make([]any, 0, 2*len(assets))
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		all = append(all, name, assets[name].Digest)
	}
	return tree.Digest(all)
}

// filesOf are the assets of a resource that tell their files, as state keeps them: without paths.
func filesOf(assets map[string]reconcile.Asset) map[string]reconcile.Asset {
	var kept map[string]reconcile.Asset
	for name, a := range assets {
		if a.Files == nil {
			continue
		}
		if kept == nil {
			kept = map[string]reconcile.Asset{}
		}
		kept[name] = reconcile.Asset{Digest: a.Digest, Size: a.Size, Files: a.Files}
	}
	return kept
}

// rebuilt are the paths at which a thing differs because what it is made of changed since it was settled: a
// source file was edited, code was built anew. Nobody touched the thing itself. They are the paths whose wanted
// value comes from what was prepared, found by comparing without it.
func (n *node) rebuilt() (map[tree.Path]bool, error) {
	if !n.builtAnew() || len(n.look.Steps) == 0 {
		return nil, nil
	}
	job := *n.job
	job.Assets = nil
	bare, err := n.kind.Compare(&job, n.look)
	if err != nil {
		return nil, err
	}
	paths := map[tree.Path]bool{}
	for _, s := range n.look.Steps {
		paths[s.Path] = !slices.ContainsFunc(bare.Steps, func(b reconcile.Step) bool {
			return b.Path == s.Path && tree.Equal(b.Want, s.Want)
		})
	}
	return paths, nil
}

// builtAnew reports that what a thing is made of differs from what it was settled with.
func (n *node) builtAnew() bool {
	return n.rec != nil && n.rec.Assets != "" && n.rec.Assets != builtOf(n.assets)
}

// filesKnowledge says what is known of the files that a node is prepared of.
type filesKnowledge int

const (
	filesKnown   filesKnowledge = iota // they are what lies there
	filesAwaited                       // something that writes files comes before: what becomes of it is not decided yet
	filesLater                         // something that comes before writes them in this run
)

// awaitFiles marks the nodes that are prepared of files which something that comes before them may write.
func (b *builder) awaitFiles() {
	behind := make(map[*node]bool)
	for _, n := range b.sorted {
		for _, up := range n.ups {
			if behind[up] || up.writesFiles() {
				behind[n] = true
			}
		}
		if behind[n] && n.decl != nil && n.spec.Prepares {
			n.files = filesAwaited
		}
	}
}

// writesFiles reports whether the work of a node may write files: it does so itself, or its hooks do.
func (n *declaration) writesFiles() bool {
	return n.spec.WritesFiles || n.decl != nil && len(n.decl.Options.Before)+len(n.decl.Options.After) > 0
}

// buildsItself reports whether hooks run before a node is prepared.
func (n *declaration) buildsItself() bool {
	return n.spec.Prepares && n.decl != nil && n.was == nil && len(n.decl.Options.Before) > 0
}

// prepareLevel prepares the nodes of a level whose files were awaited, now that everything before them is decided.
func (b *builder) prepareLevel(ctx context.Context, level []*node, skip func(*node) bool) {
	var known []*node
	for _, n := range level {
		if n.files != filesAwaited || n.err != nil || skip(n) || n.blockedBy() != nil {
			continue
		}
		if len(n.writers(func(up *node) bool { return isPending(up.plan) })) > 0 {
			n.files = filesLater
			continue
		}
		if assets, ok := b.prepared(n); ok {
			n.assets, n.files = assets, filesKnown
			continue
		}
		known = append(known, n)
	}
	b.prepareAll(ctx, known)
}

// isPending reports whether a run will do the work of a planned node.
func isPending(p *Planned) bool {
	if p == nil {
		return false
	}
	switch p.Action {
	case Unchanged, Wait, Blocked:
		return false
	default:
		return true
	}
}

// writers returns the nodes before this one that write files and of which which holds, the nearest first.
func (n *declaration) writers(which func(*node) bool) []*node {
	var writers []*node
	seen := map[*node]bool{}
	for queue := n.ups; len(queue) > 0; queue = queue[1:] {
		up := queue[0]
		if seen[up] {
			continue
		}
		seen[up] = true
		if up.writesFiles() && which(up) {
			writers = append(writers, up)
		}
		queue = slices.Concat(queue, up.ups)
	}
	return writers
}

// unprepared is the error of a node that cannot be prepared. What may have been written before, and is not there any more,
// can be written again.
func (n *declaration) unprepared(err error) error {
	err = fmt.Errorf("prepare: %w", err)
	if ups := n.writers(func(up *node) bool { return up.spec.Rerun }); len(ups) > 0 {
		return reconcile.WithHint(err, "if %s writes them, --replace %s runs it again", ups[0].addr, ups[0].addr)
	}
	return err
}

// unknownFiles are the paths of a job that are known later, with those that name files which are written in this run.
func (n *declaration) unknownFiles(job *reconcile.Job) map[tree.Path]bool {
	unknown := maps.Clone(job.Unknown)
	if unknown == nil {
		unknown = map[tree.Path]bool{}
	}
	for _, p := range n.spec.Files {
		if v, declared := tree.Get(job.Props, p); declared && v != nil {
			unknown[p] = true
			for _, at := range n.spec.FilesAt {
				unknown[at] = true
			}
		}
	}
	return unknown
}

// filesNote says after what the files at a path are known, "" where they are known or the path names none.
func (n *node) filesNote(path tree.Path) string {
	if n.files != filesLater || !slices.ContainsFunc(slices.Concat(n.spec.Files, n.spec.FilesAt), path.Overlaps) {
		return ""
	}
	if ups := n.writers(func(up *node) bool { return isPending(up.plan) }); len(ups) > 0 {
		return "known after " + ups[0].addr
	}
	return "known after its own hook"
}

// plannedAssets are the digests of what was prepared for a node, "" at each path whose files are known later; nil for none.
func (n *node) plannedAssets() map[string]string {
	assets := map[string]string{}
	for name, a := range n.assets {
		assets[name] = a.Digest
	}
	if n.files == filesLater && n.decl != nil {
		for _, p := range n.spec.Files {
			if v, declared := tree.Get(n.decl.Props, p); declared && v != nil {
				assets[string(p)] = ""
			}
		}
	}
	if len(assets) == 0 {
		return nil
	}
	return assets
}

// changedAsset returns the name of an asset that a plan knew and that is another one now, "" for none.
func changedAsset(planned map[string]string, now map[string]reconcile.Asset) string {
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		if digest := planned[name]; digest != "" && now[name].Digest != digest {
			return name
		}
	}
	return ""
}
