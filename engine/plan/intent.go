package plan

import (
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// IntentOf is the intent to create what a job declares. Props that are set after the creation are no part of it.
func IntentOf(job *reconcile.Job, now time.Time) *state.Intent {
	i := &state.Intent{Address: job.Address, Name: job.Name, NameGiven: job.Named, Props: job.Props, Started: now}
	for _, path := range job.Omit {
		i.Props, _ = tree.Without(i.Props, path).(map[string]any)
	}
	if len(job.Assets) > 0 {
		i.Assets = make(map[string]string, len(job.Assets))
	}
	for name, a := range job.Assets {
		i.Assets[name] = a.Digest
	}
	return i
}

// IsDeclared reports whether a job declares what an intent began: the job then finds what the intent may have created. Props
// at later paths are set after the creation, and decide nothing.
func IsDeclared(i *state.Intent, job *reconcile.Job, later []tree.Path) bool {
	same := i.Address == job.Address && i.Name == job.Name && i.NameGiven == job.Named && len(i.Assets) == len(job.Assets)
	for name, a := range job.Assets {
		same = same && i.Assets[name] == a.Digest
	}
	Differences(i.Props, job.Props, func(p tree.Path, _, _ any) {
		same = same && slices.ContainsFunc(later, p.Overlaps)
	})
	return same
}

// begunAt is the address at which a creation was begun that did not come to its end, when it has moved since; else "".
func (n *Declaration) begunAt(g *state.Generation) string {
	if g == nil || g.Intent == nil || g.Intent.Address == n.Address {
		return ""
	}
	return g.Intent.Address
}

// SeekBegun makes a job look for what an intent may have created.
func SeekBegun(job *reconcile.Job, i *state.Intent) {
	job.Props, job.Had, job.Name, job.Named = i.Props, i.Props, i.Name, i.NameGiven
	if len(i.Assets) > 0 {
		job.Assets = make(map[string]reconcile.Asset, len(i.Assets))
	}
	for name, digest := range i.Assets {
		job.Assets[name] = reconcile.Asset{Digest: digest}
	}
}

// NeverBegan reports a generation that nothing can exist of: no creation was begun for it, or its object would be found by a
// name that it never had.
func (x *Index) NeverBegan(g *state.Generation) bool {
	kind, ok := x.Catalog.Kind(g.Kind)
	if !ok || !g.Begun() || g.Intent.Name != "" {
		return g.Empty()
	}
	job := &reconcile.Job{Props: g.Intent.Props, Place: g.Location}
	kind.Names(job)
	return job.Given != "" || job.Naming != nil
}

// LeavesMore reports whether a creation that was cut may leave something behind that does not show as its object, such as empty
// folders and the file that was to get its name.
func (x *Index) LeavesMore(g *state.Generation) bool {
	kind, ok := x.Catalog.Kind(g.Kind)
	return ok && kind.Spec().Tidies
}

// NoteTraced notes in an entry what became of a begun creation.
func NoteTraced(e *state.Entry, g *state.Generation, look reconcile.Look) {
	if look.Absent {
		e.Drop(g)
		return
	}
	g.Identity, g.Attributes = look.Identity, look.Attrs
}

// IsTraced reports an entry with a begun creation whose object this plan found. Its identity is made durable before the object
// is changed: after that its owner tag may be another one than the intent names.
func IsTraced(e *state.Entry) bool {
	return e != nil && slices.ContainsFunc(e.Generations, func(g *state.Generation) bool { return g.Intent != nil && g.Identity != "" })
}
