package workers

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// versioned are the props of which each version has its own.
var versioned = []tree.Path{"code", "assets", "durableObjects", "env", "bindings", "compatibilityDate", "compatibilityFlags", "limits", "placement"}

// compareWorker states every aspect. What changes the code goes with a new upload, which sets all the rest too; other
// settings are set alone, where all calls go to a new version at once, or where no code is at hand, before the Worker goes.
func compareWorker(d *kind.Diff[liveWorker], want WorkerProps, live liveWorker) {
	date, flags, _ := want.ofBuild()
	u := &update{declared: want, want: want.resolved(d.Asset), owner: d.Mark()}
	want = u.want.taking(live.have, date, flags, false) // what a build says is compared with the code
	set := u.upload()
	if dropped := u.dropped(live); dropped != "" {
		set.Note = dropped
	}
	u.compareContent(d, live, set)
	compareClasses(d, want, live, set)
	_, prepared := want.Code.digest(d.Asset)
	if !d.Differs("code") && !d.Differs("assets") && !d.Differs("durableObjects") && (*want.Traffic == everything || !prepared) {
		set = u.patch()
	}
	u.compareRows(d, live, set)
	kind.CompareCall(d, workerTable, want, live.have, patchSettings, set)
	if !slices.ContainsFunc(versioned, d.Differs) {
		set = u.patchUnversioned()
	}
	kind.CompareCall(d, workerTable, want, live.have, patchShared, set)
	reconcile.List(d, "mark", tagsOf(d.Mark()), sorted(slices.DeleteFunc(slices.Clone(live.tags), isAuthorsTag)), set)
	if live.stable != "" && !slices.ContainsFunc(versioned, d.Differs) {
		reconcile.Value(d, "traffic", *want.Traffic, live.share, u.shift())
	}
	compareTriggers(d, want, live)
}

func isOwnerTag(tag string) bool   { return len(ownerTags([]string{tag})) > 0 }
func isAuthorsTag(tag string) bool { return !isOwnerTag(tag) }

// compareContent states code and assets by what is noted of them in the version. Where somebody else has uploaded one,
// nothing tells its assets, and its code is told by the etag alone, also where it is equal: it is read alike before a build and after it.
func (u *update) compareContent(d *kind.Diff[liveWorker], live liveWorker, set *kind.Operation[liveWorker]) {
	state := func(path tree.Path, digest string, known bool, declared any, noted, otherwise, wantSaid, haveSaid string) {
		want, have := shown(either(digest)), shown(noted)
		switch {
		case path == "code" && live.alike:
			want, have = otherwise, otherwise
		case noted == "":
			have = otherwise
		}
		if known {
			declared = want + wantSaid
		}
		reconcile.Value(d, path, declared, any(have+haveSaid), set)
	}
	code, codeKnown := u.want.Code.digest(d.Asset)
	files, filesKnown := u.want.Assets.filesDigest(d.Asset)
	date, flags, ofBuild := u.declared.ofBuild()
	wantSaid, haveSaid := saidOf(u.want, shown(either(files)), date, flags, ofBuild), saidOf(live.have, shown(live.content.files), date, flags, ofBuild)
	state("code", code, codeKnown, u.want.Code, live.content.code, "etag:"+live.version.Resources.Script.ETag, wantSaid, haveSaid)
	oldCode, ok := u.want.Code.digest(oldAssets(d))
	ourCode := ok && oldCode == live.content.code
	oldFiles, ok := u.want.Assets.filesDigest(oldAssets(d))
	ourFiles := ok && oldFiles == live.content.files
	switch {
	case ourCode && ofBuild && u.want.Assets != nil:
		if ourFiles {
			d.Files("code", codeAsset, filesAsset)
		}
	case ourCode:
		d.Files("code", codeAsset)
	}
	if !ofBuild {
		state("assets", files, filesKnown, u.want.Assets, live.content.files, "unknown", "", "")
		if ourFiles {
			d.Files("assets", filesAsset)
		}
	}
}

// oldAssets finds the assets of the last upload in state. What state does not tell is as it is now.
func oldAssets(d *kind.Diff[liveWorker]) func(string) (reconcile.Asset, bool) {
	return func(name string) (reconcile.Asset, bool) {
		if a, ok := d.OldAsset(name); ok {
			return a, true
		}
		return d.Asset(name)
	}
}

func shown(digest string) string {
	if digest == noDigest {
		return ""
	}
	return "sha256:" + digest
}

// compareRows states the environment name by name. What is there and not declared goes, but for the secrets of others.
func (u *update) compareRows(d *kind.Diff[liveWorker], live liveWorker, set *kind.Operation[liveWorker]) {
	rest := maps.Clone(live.rows)
	for _, e := range entries(u.want, d.Secret) {
		delete(rest, e.name)
		if e.later() {
			continue
		}
		want, hidden := apart(live.own(e.row))
		if hidden != nil {
			reconcile.Written(d, e.path, hidden, set)
		}
		if d.Differs(e.path) {
			continue
		}
		have, there := live.rows[e.name]
		reconcile.Value(d, e.path, e.spelled(want, true), e.spelled(have, there), set)
	}
	for _, name := range sortedKeys(rest) {
		if holdsHidden(rest[name]) && !slices.Contains(u.want.DeletedSecrets, name) && !had(d, name) {
			continue
		}
		reconcile.Value(d, tree.Path("env").Key(name), nil, any(spelled(rest[name])), set)
	}
}

// had reports that the entry was declared when the Worker was reconciled last.
func had(d *kind.Diff[liveWorker], name string) bool {
	for _, prop := range []tree.Path{"env", "bindings"} {
		if _, declared := tree.Get(d.Had(), prop.Key(name)); declared {
			return true
		}
	}
	return false
}

// spelled is a row as the author writes those of this entry.
func (e entry) spelled(r row, there bool) any {
	switch {
	case !there:
		return nil
	case e.path.Within("env"):
		return spelled(r)
	}
	return r
}

// sorted is a list whose order does not count, never nil: null would leave what is there.
func sorted(list []string) []string { return append([]string{}, slices.Sorted(slices.Values(list))...) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
