package postgres

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

var stage = statestore.Stage{Stack: "shop", Name: "test"}

// opened is a store that is closed with the test.
func opened(t testing.TB, url string, options ...Option) *Store {
	t.Helper()
	s, err := Open(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openIn opens a store whose machine, and clock, are the given ones.
func openIn(t testing.TB, url string, world storetest.World) *Store {
	t.Helper()
	s := opened(t, url)
	s.ops.World, s.once.World = world, world
	s.now = func(time.Time) time.Time { return world.Now() }
	return s
}

// damage changes one bit in the middle of a row's record.
func damage(t *testing.T, url string, stage statestore.Stage, address string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	defer conn.Close(t.Context())
	tag, err := conn.Exec(t.Context(), `update records r set value = set_byte(value, length(value) / 2, get_byte(value, length(value) / 2) # 1)
		from stages s where s.stage = r.stage and s.digest = $1 and r.kind = $2 and r.key = $3`,
		digest(stage), string(ledger.Rows), []byte(address))
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d records damaged, %v", tag.RowsAffected(), err)
	}
}

// records reads what the database keeps of a stage; its head is a column of its own.
func records(t *testing.T, url string, stage statestore.Stage) storetest.Records {
	t.Helper()
	conn := pgtest.Connect(t, url)
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

// setRecords replaces what the database keeps of a stage.
func setRecords(t *testing.T, url string, stage statestore.Stage, records storetest.Records) {
	t.Helper()
	conn := pgtest.Connect(t, url)
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

func TestStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		url := server.Schema(t)
		t.Cleanup(func() { sound(t, url) })
		return storetest.Subject{
			Open:    func(world storetest.World) statestore.Store { return openIn(t, url, world) },
			Damage:  func(t *testing.T, stage statestore.Stage, address string) { damage(t, url, stage, address) },
			Records: func(t *testing.T, stage statestore.Stage) storetest.Records { return records(t, url, stage) },
			SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
				setRecords(t, url, stage, set)
			},
		}
	})
}

// sound fails when an index does not agree with the rows. Rows that a case damaged on purpose do not count.
func sound(t *testing.T, url string) {
	t.Helper()
	broken, err := opened(t, url).Check(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Error(err)
	}
	for _, err := range broken {
		if e, ok := err.(*statestore.DamagedError); !ok || e.Address == "" {
			t.Error(err)
		}
	}
}

// plain is a row of about the size that a real one has.
func plainRow(n int, version uint64) statestore.Row {
	address := fmt.Sprintf("net/row-%06d", n)
	row := statestore.Row{
		Address: address, Version: version, Birth: address, Body: make([]byte, 400),
		Generations: []statestore.Generation{{
			Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Identity: "https://sqs.eu-north-1.amazonaws.com/1/" + address,
			Place: statestore.Place{Provider: "aws", Account: "123456789012", Region: "eu-north-1"}, Body: make([]byte, 400), Written: time.Unix(1, 0),
		}},
	}
	if n > 0 {
		row.Needs = []string{fmt.Sprintf("net/row-%06d", n/2)}
	}
	return row
}
