package reconcile

import (
	"maps"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Shown states one aspect of a kind whose world may keep what it was given to itself: like [Value], but where nothing is
// shown right after it was written, it counts as write-only from then on, until it is shown. See [Written].
func Shown[L any](d *Diff[L], path tree.Path, want, have any, call *Operation[L]) {
	d.shown(path, encode(want), have, hidden(d.Differences, call))
}

func (d *Differences) shown(path tree.Path, w, have any, call *operation) {
	if have != nil || d.skips(path) || isZero(w) || d.unknown(path, w) {
		d.job.noteShown(path)
		d.add(path, w, have, call)
		return
	}
	last, recorded := d.job.Written[path]
	if !recorded && !d.job.fresh && !d.job.made[path] {
		d.add(path, w, nil, call)
		return
	}
	digest := d.job.digest(path, w)
	d.job.noteWritten(path, digest)
	if recorded && last != digest && !d.job.made[path] {
		d.add(path, w, nil, call)
	}
}

// Dropped states what was declared when it was last reconciled and is declared no longer. It differs while a read shows
// it, until call has been made once: what a read shows then is the object's own.
func Dropped[L any](d *Diff[L], path tree.Path, have any, call *Operation[L]) {
	if have != nil && !d.job.made[path] {
		d.add(path, nil, have, hidden(d.Differences, call))
	}
}

// Unwritten forgets what was written at a path, and below it: it is declared no longer, and declared again it is written again.
func Unwritten[L any](d *Diff[L], path tree.Path) {
	for p := range d.job.Written {
		if p.Within(path) {
			d.job.noteShown(p)
		}
	}
}

// noteShown forgets that a path was not shown.
func (j *Job) noteShown(path tree.Path) {
	if _, ok := j.Written[path]; ok {
		j.noteWritten(path, "")
		delete(j.written, path)
	}
}

// noteWritten keeps the digest of what a path is written with, in a map of this settling.
func (j *Job) noteWritten(path tree.Path, digest string) {
	if j.written == nil {
		j.written = maps.Clone(j.Written)
	}
	if j.written == nil {
		j.written = map[tree.Path]string{}
	}
	j.written[path] = digest
}
