package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
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
	return opened(t, url, OnMachine(world))
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, subject)
}

// TestServed: what a service needs of the store.
func TestServed(t *testing.T) {
	t.Parallel()
	storetest.RunServed(t, subject)
}

func subject(t *testing.T) storetest.Subject {
	t.Helper()
	url := pgtest.Start(t).Schema(t)
	t.Cleanup(func() { sound(t, url) })
	return storetest.Subject{
		Open: func(world storetest.World) statestore.Store { return openIn(t, url, world) },
		Damage: func(t *testing.T, stage statestore.Stage, address string) {
			t.Helper()
			pgtest.Damage(t, url, stage, address)
		},
		Records: func(t *testing.T, stage statestore.Stage) storetest.Records {
			t.Helper()
			return pgtest.Records(t, url, stage)
		},
		SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
			t.Helper()
			pgtest.SetRecords(t, url, stage, set)
		},
	}
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
