package storetest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

var versionCases = map[string]func(*fixture){
	"each run leaves one":            versionOfEachRun,
	"rows, facts, outputs and moves": versionsOfAllParts,
	"what changes nothing":           versionsOfNothing,
	"bounded in number":              versionsAreBounded,
	"bounded in size":                versionsAreSmall,
	"a damaged row":                  versionOfDamage,
	"a program without versions":     versionsOfOlderProgram,
}

// versions lists the serials of the versions, newest first.
func (f *fixture) versions() (serials []uint64) {
	f.Helper()
	list, err := f.keeps(2).Versions(f.Context(), f.stage)
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range list {
		serials = append(serials, v.Serial)
	}
	return serials
}

// keeps is the store as another process has it.
func (f *fixture) keeps(pid int) statestore.Versions {
	f.Helper()
	store, ok := f.process(pid).(statestore.Versions)
	if !ok {
		f.Fatal("the store keeps no versions")
	}
	return store
}

// shown is a snapshot as a text, without who holds the stage and which run was the last.
func shown(snap *statestore.Snapshot) string {
	text, err := json.MarshalIndent(struct {
		Serial, Revision uint64
		KeyID            string
		Outputs          []byte
		Meta             map[string][]byte
		Rows             map[string]statestore.Row
		Damaged          []string
	}{snap.Serial, snap.Revision, snap.KeyID, snap.Outputs, snap.Meta, snap.Rows, slices.Sorted(maps.Keys(snap.Damaged))}, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// same fails unless a version shows what the state was when it was loaded.
func (f *fixture) same(was *statestore.Snapshot) {
	f.Helper()
	got, err := f.keeps(2).LoadVersion(f.Context(), f.stage, was.Serial)
	if err != nil {
		f.Errorf("serial %d: %v", was.Serial, err)
		return
	}
	if have, want := shown(got), shown(was); have != want {
		f.Errorf("serial %d:\n%s\nit was:\n%s", was.Serial, have, want)
	}
	for _, err := range got.Check() {
		f.Errorf("serial %d: %v", was.Serial, err)
	}
	if got.Epoch > f.load().Epoch || got.Holder != nil {
		f.Errorf("serial %d is of epoch %d, held by %+v", was.Serial, got.Epoch, got.Holder)
	}
}

func versionOfEachRun(f *fixture) {
	if got := f.versions(); len(got) != 0 {
		f.Errorf("an empty stage has the versions %v", got)
	}
	if _, err := f.keeps(2).LoadVersion(f.Context(), f.stage, 1); !errors.Is(err, statestore.ErrNoVersion) {
		f.Errorf("of an empty stage: %v", err)
	}
	var left []*statestore.Snapshot
	for run := range 5 {
		w := f.begin(f.store, numbered("r%d", run))
		f.machine.pass(time.Second)
		for batch := range 3 { // more than one commit each, of the same row too
			w.put(row("a", uint64(3*run+batch)), row(numbered("b%d", 3*run+batch), 0))
		}
		if run == 3 {
			w.put(gone("b0", 1), gone("b7", 1))
		}
		if run == 2 { // a run that is lost leaves one too
			f.machine.pass(time.Hour)
		} else {
			w.finish()
		}
		left = append(left, f.load())
	}
	list, err := f.keeps(2).Versions(f.Context(), f.stage)
	if err != nil || len(list) != len(left) {
		f.Fatalf("%d versions, %v", len(list), err)
	}
	for i, v := range list {
		was := left[len(left)-1-i]
		if run := numbered("r%d", len(left)-1-i); v.Serial != was.Serial || v.Run != run || v.Command != "deploy" || v.User != "ann" || v.Written.IsZero() {
			f.Errorf("version %d: %+v, want serial %d of %s", i, v, was.Serial, run)
		}
	}
	for _, was := range left {
		f.same(was)
	}
	for _, serial := range []uint64{0, 1, left[0].Serial + 1, left[4].Serial + 1, ^uint64(0)} {
		_, err := f.keeps(2).LoadVersion(f.Context(), f.stage, serial)
		if e, ok := errors.AsType[*statestore.NoVersionError](err); !ok || e.Serial != serial || e.Stage != f.stage {
			f.Errorf("serial %d, which no run left: %v", serial, err)
		}
	}
	if err := f.load().Check(); len(err) > 0 {
		f.Error(err)
	}
}

func versionsOfAllParts(f *fixture) {
	w := f.begin(f.store, "r1")
	w.commit(statestore.Batch{
		Put: []statestore.Row{row("a", 0), row("b", 0, "a"), row("c", 0, "a", "b")}, Meta: map[string][]byte{"x": []byte("1"), "y": {}},
		Outputs: []byte("first"), KeyID: "k1",
	})
	w.finish()
	first := f.load()
	w = f.begin(f.store, "r2")
	w.commit(statestore.Batch{Move: map[string]string{"a": "z", "b": "a"}, Meta: map[string][]byte{"x": nil}})
	w.commit(statestore.Batch{Put: []statestore.Row{gone("c", 1)}, Meta: map[string][]byte{"x": []byte("2"), "new": []byte("n")}, KeyID: "k2"})
	w.commit(statestore.Batch{Outputs: []byte("second")})
	w.finish()
	second := f.load()
	w = f.begin(f.store, "r3")
	w.commit(statestore.Batch{Put: []statestore.Row{gone("a", 1), gone("z", 1)}, Outputs: []byte{}})
	f.same(first) // while a run is at work
	f.same(second)
	w.finish()
	f.same(first)
	f.same(second)
	f.same(f.load())
	if got, want := f.versions(), []uint64{f.load().Serial, second.Serial, first.Serial}; !slices.Equal(got, want) {
		f.Errorf("versions %v, want %v", got, want)
	}
}

// versionsOfNothing: runs that change no row make no version that could be told from the one before by its serial, and
// batches that are refused or come again none at all.
func versionsOfNothing(f *fixture) {
	w := f.begin(f.store, "r1")
	w.put(row("a", 0))
	w.finish()
	first := f.load()
	f.begin(f.store, "r2").finish()
	w = f.begin(f.store, "r3")
	w.commit(statestore.Batch{Meta: map[string][]byte{"x": []byte("1")}})
	w.finish()
	if got := f.versions(); !slices.Equal(got, []uint64{first.Serial}) {
		f.Errorf("versions %v", got)
	}
	f.same(f.load()) // the newest of that serial
	w = f.begin(f.store, "r4")
	if err := w.try(statestore.Batch{Put: []statestore.Row{row("a", 7)}}); !errors.Is(err, statestore.ErrConflict) {
		f.Errorf("another version: %v", err)
	}
	batch := statestore.Batch{Seq: 1, Put: []statestore.Row{row("a", 1), row("b", 0)}}
	before := f.load()
	for range 2 {
		if _, err := f.store.Commit(f.Context(), w.lease, batch); err != nil {
			f.Fatal(err)
		}
	}
	w.seq = 1
	w.finish()
	f.same(before)
	f.same(f.load())
	if got := f.versions(); len(got) != 2 {
		f.Errorf("versions %v", got)
	}
}

func versionsAreBounded(f *fixture) {
	const more = 4
	var left []*statestore.Snapshot
	for run := range statestore.KeptVersions + 1 + more {
		w := f.begin(f.store, numbered("r%d", run))
		w.put(row("a", uint64(run)), row(numbered("n%d", run), 0))
		w.finish()
		left = append(left, f.load())
	}
	if got := f.versions(); len(got) != statestore.KeptVersions+1 || got[len(got)-1] != left[more].Serial {
		f.Errorf("versions %v", got)
	}
	for _, was := range []*statestore.Snapshot{left[more], left[more+1], left[len(left)-2], left[len(left)-1]} {
		f.same(was)
	}
	if _, err := f.keeps(2).LoadVersion(f.Context(), f.stage, left[more-1].Serial); !errors.Is(err, statestore.ErrNoVersion) {
		f.Errorf("one that is too old: %v", err)
	}
}

// versionsAreSmall: rows of half a megabyte leave few versions, and always that before the newest run.
func versionsAreSmall(f *fixture) {
	large := func(version uint64, size int) statestore.Row {
		r := row("large", version)
		r.Body = []byte(strings.Repeat(numbered("%d", int(version)), size))
		return r
	}
	var left []*statestore.Snapshot
	for run := range uint64(8) {
		w := f.begin(f.store, numbered("r%d", int(run)))
		size := 500 << 10
		if run >= 6 {
			size = 3 << 20 // more than all versions may take
		}
		w.put(large(run, size))
		w.finish()
		left = append(left, f.load())
		if want := min(len(left), 5); run < 6 && len(f.versions()) != want {
			f.Errorf("after run %d: versions %v, want %d", run, f.versions(), want)
		}
	}
	if got := f.versions(); !slices.Equal(got, []uint64{left[7].Serial, left[6].Serial}) {
		f.Errorf("versions %v", got)
	}
	f.same(left[6])
}

// versionOfDamage: a version before a row was damaged has the row as it was if a run replaced it since, and never makes it
// absent.
func versionOfDamage(f *fixture) {
	if f.subject.Damage == nil {
		return
	}
	w := f.begin(f.store, "r1")
	w.put(row("a", 0), row("b", 0))
	w.finish()
	first := f.load()
	w = f.begin(f.store, "r2")
	w.put(row("a", 1))
	w.finish()
	f.subject.Damage(f.T, f.stage, "a")
	f.same(first)
	f.subject.Damage(f.T, f.stage, "b")
	got, err := f.keeps(2).LoadVersion(f.Context(), f.stage, first.Serial)
	if err != nil || got.Damaged["b"] == nil || got.Rows["a"].Version != 1 {
		f.Errorf("%+v, %v", got, err)
	}
}

// versionsOfOlderProgram: what a program that knows no versions wrote is no part of them, and the next run begins anew.
func versionsOfOlderProgram(f *fixture) {
	if f.subject.Records == nil {
		return
	}
	for run := range 3 {
		w := f.begin(f.store, numbered("r%d", run))
		w.put(row("a", uint64(run)))
		w.finish()
	}
	f.forgetVersions()
	if got := f.versions(); !slices.Equal(got, []uint64{3}) {
		f.Errorf("the head knows of no versions, and there are %v", got)
	}
	before := f.load()
	w := f.begin(f.store, "r4")
	w.put(row("a", 3))
	f.forgetVersions() // another replica, of the older program, writes in the same run
	w.put(row("a", 4))
	w.finish()
	if got := f.versions(); !slices.Equal(got, []uint64{5}) {
		f.Errorf("a run that an older program has a part in left the versions %v", got)
	}
	if _, err := f.keeps(2).LoadVersion(f.Context(), f.stage, before.Serial); !errors.Is(err, statestore.ErrNoVersion) {
		f.Errorf("serial %d: %v", before.Serial, err)
	}
	before = f.load()
	w = f.begin(f.store, "r5")
	w.put(row("a", 5))
	w.finish()
	if got := f.versions(); !slices.Equal(got, []uint64{6, 5}) {
		f.Errorf("the run after it left the versions %v", got)
	}
	f.same(before)
}

// forgetVersions takes from the head what a program that knows no versions drops when it writes.
func (f *fixture) forgetVersions() {
	f.Helper()
	records := f.subject.Records(f.T, f.stage)
	table, key := records[string(ledger.Heads)], []byte(ledger.HeadKey)
	payload, err := ledger.Unframe(key, table[ledger.HeadKey])
	var head map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(payload, &head)
	}
	for _, name := range []string{"newest", "past", "empty"} {
		delete(head, name)
	}
	if err == nil {
		payload, err = json.Marshal(head)
	}
	if err != nil {
		f.Fatal(err)
	}
	table[ledger.HeadKey] = ledger.Frame(key, payload)
	f.subject.SetRecords(f.T, f.stage, records)
}
