package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// audited reads a chain and checks it.
func audited(t *testing.T, store *remote.Store, stack string) ([]wire.AuditEntry, error) {
	t.Helper()
	var chain wire.Chain
	var all []wire.AuditEntry
	err := store.Audit(t.Context(), stack, func(e wire.AuditEntry) error {
		all = append(all, e)
		return chain.Next(&e)
	})
	return all, err
}

// TestAudit: what was done is in the log once, however often it was asked for, with who did it from where.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	boss := s.client()
	ci, err := remote.Tokens{Store: boss}.Create(t.Context(), wire.Author{}, "deployer", []wire.Grant{{Role: "deployer", On: "shop/*"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	client := s.with(ci.Secret)
	for range 2 {
		if _, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "r1", Command: "deploy"}); err != nil {
			t.Fatal(err)
		}
		if ok, err := client.Interrupt(t.Context(), prod, statestore.Order{Run: "r1", Why: "wrong stage"}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	lease, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "r1"})
	for range 2 {
		if err == nil {
			_, err = client.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Cancelled})
		}
	}
	if err == nil {
		_, err = client.Acquire(t.Context(), prod, statestore.Claim{Run: "r2", Command: "destroy"})
	}
	if err == nil {
		_, err = client.Interrupt(t.Context(), prod, statestore.Order{Unlock: true, Why: "hung"})
	}
	if err == nil {
		err = remote.Tokens{Store: boss}.Revoke(t.Context(), wire.Author{}, ci.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	for stack, want := range map[string][]string{
		"shop": {
			"token deployer run.start r1 deploy", "token deployer run.cancel r1 wrong stage", "token deployer run.complete r1 cancelled",
			"token deployer run.start r2 destroy", "token deployer run.unlock r2 hung",
		},
		"":      {"test token.create  ", "token ci token.create  ", "token ci token.revoke  "},
		"other": nil,
	} {
		all, err := audited(t, boss, stack)
		if err != nil || len(all) != len(want) {
			t.Fatalf("%q: %+v, %v", stack, all, err)
		}
		for i, e := range all {
			text := fmt.Sprintf("%s %s %s %s", e.Account, e.Action, e.Run, e.Detail)
			if !strings.HasPrefix(text, strings.TrimSuffix(want[i], " ")) || e.At.IsZero() || e.Account != "test" && e.From != "127.0.0.1" {
				t.Errorf("%q, entry %d: %+v, want %s", stack, i, e, want[i])
			}
		}
	}
	for role, grants := range map[string]wire.Grant{
		"admin of one stage": {Role: "admin", On: "shop/prod"}, "deployer": {Role: "deployer", On: "*/*"},
	} {
		if all, err := audited(t, s.client(grants), "shop"); err == nil {
			t.Errorf("%s reads %v", role, all)
		}
	}
	if all, err := audited(t, s.client(wire.Grant{Role: "admin", On: "shop/*"}), ""); err == nil {
		t.Errorf("an admin of a stack reads the tokens of all: %v", all)
	}
}

// TestAuditIsAChain: replicas that append at once lose and repeat nothing, and a writer of the store cannot change,
// drop or add an entry that is not noticed.
func TestAuditIsAChain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	client := s.client()
	const runs, replicas = 20, 8 // more entries than one chunk has
	var group sync.WaitGroup
	for n := range replicas {
		group.Go(func() {
			for i := range runs {
				stage := statestore.Stage{Stack: "shop", Name: fmt.Sprint(n)}
				lease, err := client.Acquire(t.Context(), stage, statestore.Claim{Run: fmt.Sprint(i)})
				if err == nil {
					_, err = client.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	all, err := audited(t, client, "shop")
	if err != nil || len(all) != 2*runs*replicas {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	folder := "service.audit/shop"
	read := func(key string) (document []byte) {
		t.Helper()
		err := s.store.ReadFolder(t.Context(), folder, func(f statestore.Folder) (err error) { document, err = f.Get(key); return err })
		if err != nil || document == nil {
			t.Fatalf("%s: %v", key, err)
		}
		return document
	}
	set := func(key string, document []byte) {
		t.Helper()
		err := s.store.ChangeFolder(t.Context(), folder, func(f statestore.Folder) (bool, error) {
			if document == nil {
				return true, f.Delete(key)
			}
			return true, f.Put(key, document)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const key = "e0000000000000105" // the sequence is 0x105
	good, next := read(key), read("e0000000000000106")
	var forged wire.AuditEntry
	if err := json.Unmarshal(good, &forged); err != nil {
		t.Fatal(err)
	}
	forged.Account = "token eve"
	changed, _ := json.Marshal(forged)
	forged.Hash = forged.Digest()
	rehashed, _ := json.Marshal(forged)
	for name, attack := range map[string]func(){
		"changed":          func() { set(key, changed) },
		"changed, hashed":  func() { set(key, rehashed) },
		"dropped":          func() { set(key, nil) },
		"replaced":         func() { set(key, next) },
		"not readable":     func() { set(key, []byte("x")) },
		"the end cut off":  func() { set(fmt.Sprintf("e%016x", len(all)), nil) },
		"an entry too few": func() { set("head", []byte(fmt.Sprintf(`{"seq":%d,"hash":"x"}`, len(all)+1))) },
	} {
		head, end := read("head"), read(fmt.Sprintf("e%016x", len(all)))
		attack()
		if _, err := audited(t, client, "shop"); err == nil {
			t.Errorf("%s: nothing is noticed", name)
		}
		set(key, good)
		set("head", head)
		set(fmt.Sprintf("e%016x", len(all)), end)
	}
	if _, err := audited(t, client, "shop"); err != nil {
		t.Errorf("as it was: %v", err)
	}
}
