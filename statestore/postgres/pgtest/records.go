package pgtest

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// digest is the key of a stage.
func digest(stage statestore.Stage) []byte {
	sum := sha256.Sum256(ledger.StageKey(stage))
	return sum[:]
}

// Damage changes one bit in the middle of a row's record.
func Damage(t testing.TB, url string, stage statestore.Stage, address string) {
	t.Helper()
	conn := Connect(t, url)
	defer conn.Close(t.Context())
	tag, err := conn.Exec(t.Context(), `update records r set value = set_byte(value, length(value) / 2, get_byte(value, length(value) / 2) # 1)
		from stages s where s.stage = r.stage and s.digest = $1 and r.kind = $2 and r.key = $3`,
		digest(stage), string(ledger.Rows), []byte(address))
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d records damaged, %v", tag.RowsAffected(), err)
	}
}

// Records reads what the database keeps of a stage; its head is a column of its own.
func Records(t testing.TB, url string, stage statestore.Stage) storetest.Records {
	t.Helper()
	conn := Connect(t, url)
	defer conn.Close(t.Context())
	var head []byte
	if err := conn.QueryRow(t.Context(), "select head from stages where digest = $1", digest(stage)).Scan(&head); err != nil {
		t.Fatal(err)
	}
	all := storetest.Records{string(ledger.Heads): {ledger.HeadKey: head}}
	rows, err := conn.Query(t.Context(),
		"select r.kind, r.key, r.value from records r join stages s on s.stage = r.stage where s.digest = $1", digest(stage))
	if err != nil {
		t.Fatal(err)
	}
	var kind string
	var key, value []byte
	_, err = pgx.ForEachRow(rows, []any{&kind, &key, &value}, func() error {
		if all[kind] == nil {
			all[kind] = map[string][]byte{}
		}
		all[kind][string(key)] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// SetRecords replaces what the database keeps of a stage.
func SetRecords(t testing.TB, url string, stage statestore.Stage, records storetest.Records) {
	t.Helper()
	conn := Connect(t, url)
	defer conn.Close(t.Context())
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		var number int64
		err := tx.QueryRow(t.Context(), "update stages set head = $1, version = version + 1 where digest = $2 returning stage",
			records[string(ledger.Heads)][ledger.HeadKey], digest(stage)).Scan(&number)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "delete from records where stage = $1", number); err != nil {
			return err
		}
		for kind, table := range records {
			for key, value := range table {
				if kind == string(ledger.Heads) {
					continue
				}
				_, err := tx.Exec(t.Context(), "insert into records (stage, kind, key, value) values ($1, $2, $3, $4)",
					number, kind, []byte(key), value)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
