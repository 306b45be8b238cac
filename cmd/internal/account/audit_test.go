package account

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestAuditExport: an export goes on where it ended, also where the service has dropped what is old, and a log that does not continue
// it is refused, with nothing written.
func TestAuditExport(t *testing.T) {
	dir := t.TempDir()
	pair := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	der, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(dir, "audit.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := AuditKeys([]string{keyFile})
	if err != nil || len(keys) != 1 || !keys[0].Equal(pair) {
		t.Fatal(keys, err)
	}
	if _, err := AuditKeys([]string{filepath.Join(dir, "state.db")}); err == nil {
		t.Error("a key file that does not exist is taken")
	}
	inner, err := bolt.Open(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	const day = 24 * time.Hour
	ago := 200 * day
	s := service.New(t.Context(), inner, service.Settings{
		Clock: func() time.Time { return time.Now().Add(-ago) }, AuditKeys: keys, AuditKeep: 60 * day,
	})
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.Stop(); server.Close() })
	admin, err := service.NewTokens(inner, time.Now).Create(t.Context(), wire.Author{Account: "test"}, "boss", []wire.Grant{{Role: "admin", On: "*/*"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	store, err := remote.Open(server.URL, func(string) (string, error) { return admin.Secret, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	done := 0
	act := func(times int) {
		t.Helper()
		for range times {
			done++
			err := s.Audit(t.Context(), &service.Caller{}, "drift.report", statestore.Stage{Stack: "shop", Name: "prod"}, "", "", fmt.Sprint(done))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := inner.Acquire(t.Context(), statestore.Stage{Stack: "shop", Name: "prod"}, statestore.Claim{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "shop.jsonl")
	lines := func() int {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
	exporting := func() (*auditReading, error) {
		r := &auditReading{stack: "shop"}
		return r, export(t.Context(), store, r, path)
	}
	goes := func(want int) {
		t.Helper()
		r, err := exporting()
		if err != nil || lines() != want || r.count != want || r.chain.Signed == nil || r.chain.Signed.Seq != r.chain.Seq {
			t.Fatalf("%d lines, %d entries, signed %+v: %v; want %d", lines(), r.count, r.chain.Signed, err, want)
		}
	}
	act(5)
	goes(5)
	goes(5)
	act(2)
	whole, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(whole, `{"seq":"6","at":"20`...), 0o600); err != nil { // an export that was cut
		t.Fatal(err)
	}
	goes(7)

	ago = 100 * day
	if n, err := s.Retain(t.Context()); n != 6 || err != nil { // the newest stays
		t.Fatal(n, err)
	}
	act(1)
	goes(9) // with the entry that says what was dropped

	rolled := map[string][]byte{}
	folder := "service.audit/shop"
	err = inner.ReadFolder(t.Context(), folder, func(f statestore.Folder) error {
		for key, document := range f.Documents("", "") {
			rolled[key] = append([]byte{}, document...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	act(3)
	goes(12)
	back := func() {
		err = inner.ChangeFolder(t.Context(), folder, func(f statestore.Folder) (bool, error) {
			var failed error
			for seq := range uint64(20) {
				failed = errors.Join(failed, f.Delete(fmt.Sprintf("e%016x", seq)))
			}
			for key, document := range rolled {
				failed = errors.Join(failed, f.Put(key, document))
			}
			return true, failed
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	back()
	if _, err := exporting(); err == nil || !strings.HasPrefix(err.Error(), "the audit log was changed: ") || lines() != 12 {
		t.Errorf("the log was put back to an older one: %v, %d lines", err, lines())
	}
	act(5) // and went on from there, signed: only what was kept elsewhere tells
	if _, err := exporting(); err == nil || !strings.HasPrefix(err.Error(), "the audit log was changed: ") || lines() != 12 {
		t.Errorf("the log was put back and went on: %v, %d lines", err, lines())
	}
	if err := (&auditReading{stack: "shop", each: func(*wire.AuditEntry) error { return nil }}).from(t.Context(), store); err != nil {
		t.Errorf("alone it is a log: %v", err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := (&auditReading{stack: "shop"}).from(over, store); err == nil || !strings.HasPrefix(err.Error(), "the audit log cannot be read: ") {
		t.Errorf("a log that cannot be read: %v", err)
	}
	changed := strings.Replace(string(whole), "drift.report", "run.start", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exporting(); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file that was changed: %v", err)
	}
}

// TestAuditErrors: a log that was changed and one that cannot be read are told apart.
func TestAuditErrors(t *testing.T) {
	if err := auditError(fmt.Errorf("page 2: %w", changedError{errors.New("entry 3 is another one")})); err.Error() != "the audit log was changed: page 2: entry 3 is another one" {
		t.Error(err)
	}
	if err := auditError(context.Canceled); err.Error() != "the audit log cannot be read: context canceled" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
