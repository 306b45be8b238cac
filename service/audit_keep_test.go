package service_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

const auditFolder = "service.audit/shop"

// pages reads a log behind an entry that is known, and checks all that it says of itself.
func pages(t *testing.T, store *remote.Store, known wire.AuditMark) ([]wire.AuditEntry, *wire.Chain, error) {
	t.Helper()
	chain := &wire.Chain{AuditMark: known}
	var all []wire.AuditEntry
	err := store.AuditPages(t.Context(), "shop", known.Seq, func(p *wire.Audit) error {
		err := chain.Page("shop", p)
		for i := 0; err == nil && i < len(p.Entries); i++ {
			err = chain.Next(&p.Entries[i])
			all = append(all, p.Entries[i])
		}
		return err
	})
	return all, chain, errors.Join(err, chain.End())
}

// runOnce adds the two entries of a run to the log.
func runOnce(t *testing.T, store *remote.Store, id string) {
	t.Helper()
	lease, err := store.Acquire(t.Context(), prod, statestore.Claim{Run: id, Command: "deploy"})
	if err == nil {
		_, err = store.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, store statestore.Folders, write func(statestore.Folder) error) {
	t.Helper()
	err := store.ChangeFolder(t.Context(), auditFolder, func(f statestore.Folder) (bool, error) { return true, write(f) })
	if err != nil {
		t.Fatal(err)
	}
}

// another puts a second service, with settings of its own, in front of the store of a first one.
func (s *served) another(t *testing.T, change func(*service.Settings)) *service.Service {
	t.Helper()
	set := settings(t)
	change(&set)
	other := service.New(t.Context(), s.store, set)
	t.Cleanup(other.Stop)
	return other
}

func signingKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
}

// rewrite replaces the log by one that nobody but its author can tell from a true one by hashes: all entries but some, hashed anew.
func rewrite(t *testing.T, store statestore.Folders, entries []wire.AuditEntry, keep func(*wire.AuditEntry) bool) {
	t.Helper()
	change(t, store, func(f statestore.Folder) error {
		data, err := f.Get("head")
		var head map[string]any
		if err == nil {
			err = json.Unmarshal(data, &head)
		}
		seq, hash := uint64(0), ""
		for i := range entries {
			e := entries[i]
			if err == nil {
				err = f.Delete(fmt.Sprintf("e%016x", e.Seq))
			}
			if !keep(&e) {
				continue
			}
			seq++
			e.Seq, e.Before = seq, hash
			e.Hash = e.Digest()
			hash = e.Hash
			document, _ := json.Marshal(e)
			if err == nil {
				err = f.Put(fmt.Sprintf("e%016x", seq), document)
			}
		}
		head["seq"], head["hash"] = seq, hash
		document, _ := json.Marshal(head)
		return errors.Join(err, f.Put("head", document))
	})
}

// TestAuditIsSigned: what a log ends with is signed by a key that is not in the store. Who can write the store can hash a whole
// log anew, and it is noticed; what was written without the key is said to be.
func TestAuditIsSigned(t *testing.T) {
	t.Parallel()
	key := signingKey('a')
	var warned atomic.Int64
	s := serve(t, func(set *service.Settings) {
		set.AuditKeys = []ed25519.PrivateKey{key}
		set.Log = func(method, _ string, _ error) {
			if method == "AUDIT" {
				warned.Add(1)
			}
		}
	})
	client := s.client()
	for i := range 3 {
		runOnce(t, client, fmt.Sprint("r", i))
	}
	all, chain, err := pages(t, client, wire.AuditMark{})
	if err != nil || len(all) != 6 || chain.Signed == nil || chain.Signed.Seq != 6 || chain.Signed.Key != wire.KeyText(key.Public().(ed25519.PublicKey)) {
		t.Fatalf("%d entries, %+v, %v", len(all), chain.Signed, err)
	}
	var saved map[string][]byte
	save := func() {
		saved = map[string][]byte{}
		err := s.store.ReadFolder(t.Context(), auditFolder, func(f statestore.Folder) error {
			for name, document := range f.Documents("", "") {
				saved[name] = append([]byte{}, document...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	save()
	for name, attack := range map[string]func(){
		"hashed anew without an entry": func() {
			rewrite(t, s.store, all, func(e *wire.AuditEntry) bool { return e.Seq != 3 })
		},
		"hashed anew with another author": func() {
			rewrite(t, s.store, all, func(e *wire.AuditEntry) bool {
				if e.Seq == 4 {
					e.Account = "token eve"
				}
				return true
			})
		},
		"the end cut off": func() { rewrite(t, s.store, all, func(e *wire.AuditEntry) bool { return e.Seq < 5 }) },
		"the signature of another log": func() {
			change(t, s.store, func(f statestore.Folder) error {
				head, _ := json.Marshal(map[string]any{"seq": 6, "hash": all[5].Hash, "signed": wire.SealAudit(key, "other", wire.AuditMark{Seq: 6, Hash: all[5].Hash})})
				return f.Put("head", head)
			})
		},
		"the beginning cut off": func() {
			change(t, s.store, func(f statestore.Folder) error {
				head, _ := json.Marshal(map[string]any{
					"seq": 6, "hash": all[5].Hash, "signed": chain.Signed, "dropped": wire.AuditMark{Seq: 2, Hash: all[1].Hash},
				})
				return f.Put("head", head)
			})
		},
	} {
		attack()
		if _, _, err := pages(t, client, wire.AuditMark{}); err == nil {
			t.Errorf("%s: nothing is noticed", name)
		}
		if name == "hashed anew without an entry" { // and the service does not sign what it finds
			before := warned.Load()
			runOnce(t, client, "after")
			if _, _, err := pages(t, client, wire.AuditMark{}); err == nil || warned.Load() == before {
				t.Errorf("it was signed: %v, %d warnings", err, warned.Load())
			}
		}
		change(t, s.store, func(f statestore.Folder) error {
			for i := range uint64(12) {
				if err := f.Delete(fmt.Sprintf("e%016x", i)); err != nil {
					return err
				}
			}
			for name, document := range saved {
				if err := f.Put(name, document); err != nil {
					return err
				}
			}
			return nil
		})
		if _, _, err := pages(t, client, wire.AuditMark{}); err != nil {
			t.Fatalf("%s, as it was: %v", name, err)
		}
	}
}

// TestAuditKeys: a log that began without a key, or was continued without it, says which entries the service did not write, and
// another key takes over where the one before is still known.
func TestAuditKeys(t *testing.T) {
	t.Parallel()
	s := serve(t)
	client := s.client()
	runOnce(t, client, "r1")
	if _, chain, err := pages(t, client, wire.AuditMark{}); err != nil || chain.Signed != nil {
		t.Fatal(chain.Signed, err)
	}
	old, next := signingKey('a'), signingKey('b')
	by := func(keys ...ed25519.PrivateKey) {
		t.Helper()
		other := s.another(t, func(set *service.Settings) { set.AuditKeys = keys })
		if err := other.Audit(t.Context(), &service.Caller{}, "drift.report", prod, "", "", fmt.Sprint("id of ", time.Now().UnixNano())); err != nil {
			t.Fatal(err)
		}
	}
	by(old)
	runOnce(t, client, "r2") // a replica without the key
	by(next, old)
	by(next)
	all, chain, err := pages(t, client, wire.AuditMark{})
	if err != nil || chain.Signed == nil || chain.Signed.Seq != uint64(len(all)) || chain.Signed.Key != wire.KeyText(next.Public().(ed25519.PublicKey)) {
		t.Fatalf("%+v, %v", chain.Signed, err)
	}
	var notes []string
	for _, e := range all {
		if e.Action == wire.AuditUnsigned {
			notes = append(notes, string(e.Detail))
		}
	}
	want := "[entries 1 to 2 were written without the key entries 5 to 6 were written without the key]"
	if fmt.Sprint(notes) != want {
		t.Errorf("%v, want %s", notes, want)
	}
	by(old) // a replica that does not know the newer key
	all, chain, err = pages(t, client, wire.AuditMark{})
	if err != nil || chain.Signed == nil || chain.Signed.Seq != uint64(len(all)-1) {
		t.Errorf("%d entries, signed %+v, %v", len(all), chain.Signed, err)
	}
}

// TestAuditIsShortened: entries that are older than what is kept go, the log says so and is still a chain, and a copy elsewhere
// goes on where it ended. What was changed is not dropped.
func TestAuditIsShortened(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	var later atomic.Int64 // behind a day long ago, so that tokens are good all the time
	s := serve(t, func(set *service.Settings) {
		set.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load()) - 100*day) }
		set.AuditKeep, set.AuditKeys = 90*day, []ed25519.PrivateKey{signingKey('a')}
	})
	client := s.client()
	const runs = 150 // 300 entries: more than are dropped at once
	for i := range runs {
		runOnce(t, client, fmt.Sprint("r", i))
	}
	all, chain, err := pages(t, client, wire.AuditMark{})
	if err != nil || len(all) != 2*runs {
		t.Fatal(len(all), err)
	}
	retain := func() int {
		t.Helper()
		n, err := s.service.Retain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	exported := chain.AuditMark
	later.Store(int64(89 * day))
	runOnce(t, client, "late")
	if n := retain(); n != 0 {
		t.Errorf("%d entries were dropped too early", n)
	}
	later.Store(int64(90*day + 12*time.Hour))
	if n := retain(); n != 0 {
		t.Errorf("%d entries were dropped before a day was full", n)
	}
	later.Store(int64(92 * day))
	// What any stage of the stack demands is kept, and what cannot be read may demand more.
	demand := func(stage, text string, status int) {
		t.Helper()
		s.want(status, "PUT", "/v1/stacks/shop/stages/"+stage+"/rule", newToken(t, s.store), `{"retention":"`+text+`"}`, nil)
	}
	demand("prod", "2400h", http.StatusOK)
	demand("test", "719h", http.StatusUnprocessableEntity)
	demand("test", "800h", http.StatusOK)
	s.want(http.StatusOK, "PUT", "/v1/stacks/other/stages/prod/rule", newToken(t, s.store), `{"retention":"99999h"}`, nil)
	var rule wire.StageRule
	if s.want(http.StatusOK, "GET", "/v1/stacks/shop/stages/prod/rule", newToken(t, s.store), "", &rule); rule.Retention != "2400h0m0s" {
		t.Errorf("%+v", rule)
	}
	if n := retain(); n != 0 {
		t.Errorf("%d entries were dropped, which a stage keeps", n)
	}
	rules := func(text string) {
		t.Helper()
		err := s.store.ChangeFolder(t.Context(), "service.rules", func(f statestore.Folder) (bool, error) { return true, f.Put("shop/broken", []byte(text)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	demand("prod", "0s", http.StatusOK)
	for _, broken := range []string{"{", `{"retention":"soon"}`} {
		rules(broken)
		if n, err := s.service.Retain(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "shop/broken") {
			t.Errorf("a rule %s: %d dropped, %v", broken, n, err)
		}
	}
	rules("{}")
	damaged := fmt.Sprintf("e%016x", 7)
	var good []byte
	change(t, s.store, func(f statestore.Folder) error {
		data, err := f.Get(damaged)
		good = append([]byte{}, data...)
		return err
	})
	forged := strings.Replace(string(good), `"account":"`, `"account":"eve `, 1)
	change(t, s.store, func(f statestore.Folder) error { return f.Put(damaged, []byte(forged)) })
	if n, err := s.service.Retain(t.Context()); err == nil || n >= 7 && n <= 2*runs {
		t.Errorf("%d entries were dropped around a forged one: %v", n, err)
	}
	change(t, s.store, func(f statestore.Folder) error { return f.Put(damaged, good) })
	if n := retain(); n < 2*runs {
		t.Errorf("%d entries were dropped", n)
	}
	if n := retain(); n != 0 {
		t.Errorf("again: %d", n)
	}
	left, chain, err := pages(t, client, wire.AuditMark{})
	if len(left) != 2+3+2 { // a run, demands, what was dropped
		t.Fatal(len(left), err)
	}
	if err != nil || left[0].Seq != 2*runs+1 || chain.Signed == nil || chain.Signed.Seq != left[6].Seq {
		t.Fatalf("%d entries from %+v, signed %+v: %v", len(left), left[0], chain.Signed, err)
	}
	if left[5].Action != wire.AuditDropped || left[6].Action != wire.AuditDropped || !strings.HasSuffix(string(left[6].Detail), exported.String()) {
		t.Errorf("%+v", left[5:])
	}
	if rest, _, err := pages(t, client, exported); err != nil || len(rest) != 7 {
		t.Errorf("behind what was exported: %d entries, %v", len(rest), err)
	}
	if _, _, err := pages(t, client, wire.AuditMark{Seq: 5, Hash: all[4].Hash}); err == nil {
		t.Error("a gap is not noticed")
	}
	kept := 0
	err = s.store.ReadFolder(t.Context(), auditFolder, func(f statestore.Folder) error {
		kept = 0
		for range f.Documents("", "") {
			kept++
		}
		return nil
	})
	if err != nil || kept != 7+5+1 { // entries, by what a repeated request finds them, the head
		t.Errorf("%d documents are left, %v", kept, err)
	}
}
