package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// BuiltOf is one digest over everything that was prepared for a resource, "" for nothing.
func BuiltOf(assets map[string]reconcile.Asset) string {
	if len(assets) == 0 {
		return ""
	}
	all := make([]any, 0, 2*len(assets))
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		all = append(all, name, assets[name].Digest)
	}
	return tree.Digest(all)
}

// FilesOf are the assets of a resource that tell their files, as state keeps them: without paths.
func FilesOf(assets map[string]reconcile.Asset) map[string]reconcile.Asset {
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

// rebuilt returns the paths at which an object differs because what it is made of changed since it was reconciled: a
// source file was edited, code was built anew. Nobody touched the object itself. They are the paths whose wanted
// value comes from what was prepared, found by comparing without it.
func (n *Node) rebuilt() (map[tree.Path]bool, error) {
	if !n.builtAnew() || len(n.Look().Steps) == 0 {
		return nil, nil
	}
	job := *n.Job
	job.Assets = nil
	bare, err := n.Kind.Compare(&job, *n.Look())
	if err != nil {
		return nil, err
	}
	paths := map[tree.Path]bool{}
	for _, s := range n.Look().Steps {
		paths[s.Path] = !slices.ContainsFunc(bare.Steps, func(b reconcile.Step) bool {
			return b.Path == s.Path && tree.Equal(b.Want, s.Want)
		})
	}
	return paths, nil
}

// builtAnew reports that what an object is made of differs from what it was reconciled with.
func (n *Node) builtAnew() bool {
	return n.Entry != nil && n.Entry.Assets != "" && n.Entry.Assets != BuiltOf(n.Assets)
}

// filesKnowledge says what is known of the files that a node is prepared of.
type filesKnowledge int

const (
	FilesKnown   filesKnowledge = iota // they are what lies there
	FilesAwaited                       // something that writes files comes before: what becomes of it is not decided yet
	FilesLater                         // something that comes before writes them in this run
)

// WritesFiles reports whether the work of a node may write files: it does so itself, or its hooks do.
func (n *Declaration) WritesFiles() bool {
	return n.Spec.WritesFiles || n.Decl != nil && len(n.Decl.Options.Before)+len(n.Decl.Options.After) > 0
}

// BuildsItself reports whether hooks run before a node is prepared.
func (n *Declaration) BuildsItself() bool {
	return n.Spec.Prepares && n.Decl != nil && n.Was == nil && len(n.Decl.Options.Before) > 0
}

// IsPending reports whether a run will do the work of a planned node.
func IsPending(p *Planned) bool {
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

// Writers returns the nodes before this one that write files and of which which holds, the nearest first.
func (n *Declaration) Writers(which func(*Node) bool) []*Node {
	var writers []*Node
	seen := map[*Node]bool{}
	for queue := n.Ups; len(queue) > 0; queue = queue[1:] {
		up := queue[0]
		if seen[up] {
			continue
		}
		seen[up] = true
		if up.WritesFiles() && which(up) {
			writers = append(writers, up)
		}
		queue = slices.Concat(queue, up.Ups)
	}
	return writers
}

// Unprepared is the error of a node that cannot be prepared. What may have been written before, and is not there any more,
// can be written again.
func (n *Declaration) Unprepared(err error) error {
	err = fmt.Errorf("prepare: %w", err)
	if ups := n.Writers(func(up *Node) bool { return up.Spec.Rerun }); len(ups) > 0 {
		return reconcile.WithHint(err, "if %s writes them, --replace %s runs it again", ups[0].Address, ups[0].Address)
	}
	return err
}

// UnknownFiles are the paths of a job that are known later, with those that name files which are written in this run.
func (n *Declaration) UnknownFiles(job *reconcile.Job) map[tree.Path]bool {
	unknown := maps.Clone(job.Unknown)
	if unknown == nil {
		unknown = map[tree.Path]bool{}
	}
	for _, p := range n.Spec.Files {
		if v, declared := tree.Get(job.Props, p); declared && v != nil {
			unknown[p] = true
			for _, at := range n.Spec.FilesAt {
				unknown[at] = true
			}
		}
	}
	return unknown
}

// filesNote says after what the files at a path are known, "" where they are known or the path names none.
func (n *Node) filesNote(path tree.Path) string {
	if n.Files != FilesLater || !slices.ContainsFunc(slices.Concat(n.Spec.Files, n.Spec.FilesAt), path.Overlaps) {
		return ""
	}
	if ups := n.Writers(func(up *Node) bool { return IsPending(up.Plan) }); len(ups) > 0 {
		return "known after " + ups[0].Address
	}
	return "known after its own hook"
}

// plannedAssets are the digests of what was prepared for a node, "" at each path whose files are known later; nil for none.
func (n *Node) plannedAssets() map[string]string {
	if len(n.Assets) == 0 && n.Files != FilesLater {
		return nil // as nearly all
	}
	assets := map[string]string{}
	for name, a := range n.Assets {
		assets[name] = a.Digest
	}
	if n.Files == FilesLater && n.Decl != nil {
		for _, p := range n.Spec.Files {
			if v, declared := tree.Get(n.Decl.Props, p); declared && v != nil {
				assets[string(p)] = ""
			}
		}
	}
	if len(assets) == 0 {
		return nil
	}
	return assets
}

// ChangedAsset returns the name of an asset that a plan knew and that is another one now, "" for none.
func ChangedAsset(planned map[string]string, now map[string]reconcile.Asset) string {
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		if digest := planned[name]; digest != "" && now[name].Digest != digest {
			return name
		}
	}
	return ""
}
