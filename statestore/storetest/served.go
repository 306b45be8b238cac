package storetest

import (
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// servedCases are what a store is asked by a service that stands in front of it.
var servedCases = map[string]func(*fixture){
	"a client's proof ends its lease":        provenClient,
	"no store takes a client for dead":       unprovenClient,
	"replicas on machines of their own":      replicas,
	"the token is part of the write":         tokenChecked,
	"an unlock that is repeated":             unlockRepeated,
	"orphans end only when they are":         orphans,
	"an orphan races with its renewal":       orphanRenewed,
	"folders":                                folders,
	"folders are no stages":                  foldersApart,
	"changes of a folder at once":            foldersAtOnce,
	"a change of a folder that is given up":  foldersGivenUp,
	"names of folders and keys of all kinds": foldersStrange,
}

// RunServed runs what a store that a service stands in front of must pass besides [Run].
func RunServed(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, name := range slices.Sorted(maps.Keys(servedCases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servedCases[name](newFixture(t, newSubject(t)))
		})
	}
}

// client is a claim that a service makes for a process.
func client(run, proof string) statestore.Claim {
	c := claim(run)
	c.For = &statestore.Client{Host: "laptop", PID: 4711, Proof: proof}
	return c
}

func provenClient(f *fixture) {
	if _, err := f.store.Acquire(f.Context(), f.stage, client("r1", "proof")); err != nil {
		f.Fatal(err)
	}
	for _, ended := range []string{"", "r0"} {
		next := client("r2", "")
		next.Ended = ended
		_, err := f.process(2).Acquire(f.Context(), f.stage, next)
		held, ok := errors.AsType[*statestore.HeldError](err)
		if !ok || held.Holder.Host != "laptop" || held.Holder.PID != 4711 || held.Holder.Proof != "proof" {
			f.Errorf("with %q ended: %v", ended, err)
		}
	}
	next := client("r2", "")
	next.Ended = "r1"
	if _, err := f.process(2).Acquire(f.Context(), f.stage, next); err != nil {
		f.Fatal(err)
	}
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if len(runs) != 2 || runs[1].State != statestore.Lost || runs[1].Note != "its process ended; taken over by run r2" {
		f.Errorf("runs %+v", runs)
	}
}

// unprovenClient: the process of a run that claimed for itself is judged by the store, whatever a claim says, and that of
// a client never is: the service may have a process with the same id.
func unprovenClient(f *fixture) {
	f.begin(f.store, "r1")
	next := client("r2", "")
	next.Ended = "r1"
	if _, err := f.process(2).Acquire(f.Context(), f.stage, next); !errors.Is(err, statestore.ErrHeld) {
		f.Errorf("a run that claimed for itself: %v", err)
	}
	f.stage.Name = "other"
	own := client("r1", "")
	own.For.PID = 7
	if _, err := f.process(7).Acquire(f.Context(), f.stage, own); err != nil {
		f.Fatal(err)
	}
	if _, err := f.process(2).Acquire(f.Context(), f.stage, claim("r2")); !errors.Is(err, statestore.ErrHeld) {
		f.Errorf("while its lease lasts: %v", err)
	}
	f.machine.pass(time.Minute)
	f.begin(f.store, "r3")
}

// replicas: a lease that one machine gave and another one renewed is counted by no machine's time since boot.
func replicas(f *fixture) {
	lease, err := f.store.Acquire(f.Context(), f.stage, client("r1", ""))
	if err != nil {
		f.Fatal(err)
	}
	other := f.other("boot-2", 2)
	f.machine.pass(50 * time.Second)
	if _, err := other.Commit(f.Context(), lease, statestore.Batch{Seq: 1, Renew: true}); err != nil {
		f.Fatal(err)
	}
	f.machine.pass(50 * time.Second)
	for _, store := range []statestore.Store{f.store, other} {
		if _, err := store.Acquire(f.Context(), f.stage, client("r2", "")); !errors.Is(err, statestore.ErrHeld) {
			f.Errorf("renewed by another replica: %v", err)
		}
	}
	f.machine.pass(10 * time.Second)
	if _, err := f.store.Acquire(f.Context(), f.stage, client("r2", "")); err != nil {
		f.Errorf("at expiry: %v", err)
	}
}

func tokenChecked(f *fixture) {
	hash := sha256.Sum256([]byte("secret"))
	c := claim("r1")
	c.TokenHash = hash[:]
	lease, err := f.store.Acquire(f.Context(), f.stage, c)
	if err != nil || lease.Token != "" {
		f.Fatalf("%+v, %v", lease, err)
	}
	batch := statestore.Batch{Seq: 1, Put: []statestore.Row{row("a", 0)}}
	for _, token := range []statestore.Token{"", "Secret", "secret ", statestore.Token(hash[:])} {
		lease.Token = token
		if _, err := f.store.Commit(f.Context(), lease, batch); !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("token %q: %v", string(token), err)
		}
	}
	if rows := f.load().Rows; len(rows) != 0 {
		f.Errorf("written without the token: %v", rows)
	}
	lease.Token = "secret"
	if _, err := f.store.Commit(f.Context(), lease, batch); err != nil {
		f.Errorf("with the token: %v", err)
	}
}

func unlockRepeated(f *fixture) {
	f.begin(f.store, "r1")
	order := statestore.Order{Unlock: true, Run: "r1", Who: "eve", ID: "order-1"}
	for range 2 {
		if ok, err := f.process(2).Interrupt(f.Context(), f.stage, order); !ok || err != nil {
			f.Errorf("%v, %v", ok, err)
		}
	}
	second := order
	second.ID = "order-2"
	if ok, err := f.process(2).Interrupt(f.Context(), f.stage, second); ok || err != nil {
		f.Errorf("another order for what is unlocked: %v, %v", ok, err)
	}
	w := f.begin(f.store, "r2")
	if ok, err := f.process(2).Interrupt(f.Context(), f.stage, order); ok || err != nil {
		f.Errorf("a late copy: %v, %v", ok, err)
	}
	w.put(row("a", 0))
}

func orphans(f *fixture) {
	w := f.begin(f.store, "r1")
	order := statestore.Order{Unlock: true, Who: "athanor serve", Expired: 10 * time.Minute}
	collected := func(want bool) {
		f.Helper()
		if ok, err := f.process(2).Interrupt(f.Context(), f.stage, order); ok != want || err != nil {
			f.Errorf("%v, %v, want %v", ok, err, want)
		}
	}
	collected(false)
	f.machine.pass(10*time.Minute + 59*time.Second)
	collected(false)
	w.put(row("a", 0)) // it only slept
	f.machine.pass(time.Second)
	collected(true)
	collected(false)
	everyMutation(w)
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if len(runs) != 1 || runs[0].State != statestore.Lost || runs[0].Note != "its lease expired; ended by athanor serve" {
		f.Errorf("runs %+v", runs)
	}
}

// orphanRenewed: of a renewal and those who collect at the same time, either the renewal comes first and the run goes on,
// or the run has ended and the renewal is told so.
func orphanRenewed(f *fixture) {
	for i := range 20 {
		w := f.begin(f.store, numbered("r%d", i))
		f.machine.pass(time.Hour)
		var group sync.WaitGroup
		var renewing error
		var ended [3]bool
		group.Go(func() { renewing = w.try(statestore.Batch{Renew: true}) })
		for n := range ended {
			store := f.process(10 + n)
			group.Go(func() {
				var err error
				ended[n], err = store.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true, Expired: time.Minute})
				if err != nil {
					f.Error(err)
				}
			})
		}
		group.Wait()
		n := 0
		for _, did := range ended {
			if did {
				n++
			}
		}
		if (renewing == nil) != (n == 0) || n > 1 || renewing != nil && !errors.Is(renewing, statestore.ErrFenced) {
			f.Errorf("renewed: %v, ended %v", renewing, ended)
		}
		if renewing == nil {
			w.finish()
		}
	}
}

// folders returns the store as one with folders.
func (f *fixture) folders(store statestore.Store) statestore.Folders {
	f.Helper()
	s, ok := store.(statestore.Folders)
	if !ok {
		f.Fatalf("%T has no folders", store)
	}
	return s
}

// contents reads all documents of a folder under a prefix.
func (f *fixture) contents(name, prefix, from string) map[string]string {
	f.Helper()
	all := map[string]string{}
	err := f.folders(f.process(2)).ReadFolder(f.Context(), name, func(d statestore.Folder) error {
		clear(all)
		last := ""
		for key, value := range d.Documents(prefix, from) {
			if key < last {
				f.Errorf("%q comes after %q", key, last)
			}
			last, all[key] = key, string(value)
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return all
}

// put writes documents.
func (f *fixture) put(name string, documents map[string]string) {
	f.Helper()
	err := f.folders(f.store).ChangeFolder(f.Context(), name, func(d statestore.Folder) (bool, error) {
		for key, value := range documents {
			if err := d.Put(key, []byte(value)); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

func folders(f *fixture) {
	if all := f.contents("tokens", "", ""); len(all) != 0 {
		f.Errorf("before anything was written: %v", all)
	}
	f.put("tokens", map[string]string{"a/1": "one", "a/2": "two", "b/1": "three", "empty": ""})
	f.put("audit", map[string]string{"a/1": "other"})
	if all := f.contents("tokens", "a/", ""); len(all) != 2 || all["a/1"] != "one" {
		f.Errorf("under a/: %v", all)
	}
	if all := f.contents("tokens", "a/", "a/2"); len(all) != 1 || all["a/2"] != "two" {
		f.Errorf("from a/2: %v", all)
	}
	err := f.folders(f.store).ChangeFolder(f.Context(), "tokens", func(d statestore.Folder) (bool, error) {
		one, err := d.Get("a/1")
		empty, _ := d.Get("empty")
		missing, _ := d.Get("missing")
		if err != nil || string(one) != "one" || empty == nil || len(empty) != 0 || missing != nil {
			f.Errorf("%q, %v, %v, %v", one, err, empty, missing)
		}
		if err := d.Delete("a/2"); err != nil {
			return false, err
		}
		return true, d.Put("a/1", []byte("newer"))
	})
	if all := f.contents("tokens", "a/", ""); err != nil || len(all) != 1 || all["a/1"] != "newer" {
		f.Errorf("after a change: %v, %v", all, err)
	}
}

func foldersApart(f *fixture) {
	f.put("tokens", map[string]string{"k": "v"})
	if stages, err := f.store.Stages(f.Context()); len(stages) != 0 || err != nil {
		f.Errorf("stages: %v, %v", stages, err)
	}
	f.begin(f.store, "r1").put(row("a", 0))
	if stages, err := f.store.Stages(f.Context()); len(stages) != 1 || err != nil {
		f.Errorf("stages: %v, %v", stages, err)
	}
	if _, err := f.store.Acquire(f.Context(), statestore.Stage{Name: "tokens"}, claim("r2")); !errors.Is(err, statestore.ErrInvalid) {
		f.Errorf("a claim on a folder: %v", err)
	}
}

// foldersAtOnce: of many who count in one document none is lost.
func foldersAtOnce(f *fixture) {
	const writers, each = 8, 10
	var group sync.WaitGroup
	for n := range writers {
		store := f.folders(f.process(100 + n))
		group.Go(func() {
			for range each {
				err := store.ChangeFolder(f.Context(), "count", func(d statestore.Folder) (bool, error) {
					text, err := d.Get("n")
					if err != nil {
						return false, err
					}
					return true, d.Put("n", append(text, 'x'))
				})
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n := len(f.contents("count", "", "")["n"]); n != writers*each {
		f.Errorf("%d of %d", n, writers*each)
	}
}

func foldersGivenUp(f *fixture) {
	f.put("tokens", map[string]string{"k": "v"})
	broken := errors.New("no")
	for name, result := range map[string]error{"not durable": nil, "an error": broken} {
		err := f.folders(f.store).ChangeFolder(f.Context(), "tokens", func(d statestore.Folder) (bool, error) {
			if err := d.Put("k", []byte("changed")); err != nil {
				return false, err
			}
			return false, result
		})
		if result != nil && err == nil {
			f.Errorf("%s: %v", name, err)
		}
	}
	if all := f.contents("tokens", "", ""); all["k"] != "v" {
		f.Errorf("changed: %v", all)
	}
}

func foldersStrange(f *fixture) {
	names := append(strange(), strings.Repeat("n", statestore.MaxAddress))
	for _, name := range names {
		f.put(name, map[string]string{name: name})
	}
	documents := map[string]string{}
	for _, name := range names {
		if all := f.contents(name, "", ""); len(all) != 1 || all[name] != name {
			f.Errorf("folder %q holds %q", name, all)
		}
		documents[name] = name
	}
	f.put("all", documents)
	if all := f.contents("all", "", ""); !maps.Equal(all, documents) {
		f.Errorf("have %q", all)
	}
}
