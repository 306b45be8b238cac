package s3_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

func rowOf(address string, version uint64) statestore.Row {
	return statestore.Row{Address: address, Version: version, Body: make([]byte, 2000), Generations: []statestore.Generation{
		{Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Identity: "of " + address},
	}}
}

// A server that is killed in the middle of writes, again and again, and comes back: the run goes on, and what was
// acknowledged is there.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, s3test.Versitygw)
	url := server.URL(t, "infra")
	stage := statestore.Stage{Stack: "shop", Name: "prod"}
	open := func() *s3.Store {
		s, err := s3.Open(url, server.Config, s3.WithPatience(time.Minute), s3.WithProbes(func(string) bool { return true }, func(string) {}))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r1", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	const kills, each = 5, 20
	written, stop := make(chan int), make(chan struct{})
	var wrote error
	go func() {
		defer close(written)
		for n := range kills * each {
			if wrote = j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{rowOf(fmt.Sprintf("row-%03d", n), 0)}}); wrote != nil {
				return
			}
			select {
			case written <- n:
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	for n := range written {
		if n%each == each/2 {
			server.Kill() // the next commit is on its way
			server.Restart(t)
		}
	}
	if wrote != nil {
		t.Fatal(wrote)
	}
	if err := errors.Join(j.Finish(t.Context(), statestore.Succeeded, nil), j.Close()); err != nil {
		t.Fatal(err)
	}
	snap, err := open().Load(t.Context(), stage)
	if err != nil || len(snap.Rows) != kills*each || len(snap.Check()) > 0 || snap.LastRun.State != statestore.Succeeded {
		t.Fatalf("%d rows of %d, %v", len(snap.Rows), kills*each, err)
	}
	for address, row := range snap.Rows {
		if row.Version != 1 {
			t.Errorf("%s was written %d times", address, row.Version)
		}
	}
	if broken, err := open().Check(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("%v, %v", broken, err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"s3://acme-state":  "s3://acme-state",
		"s3://acme-state/": "s3://acme-state",
		"s3://acme-state/infra/prod/?region=eu-west-1&keep=5":   "s3://acme-state/infra/prod",
		"s3://acme/x?endpoint=https://r2.example/&names=sealed": "s3://acme/x?endpoint=https://r2.example",
	} {
		a, err := s3.Parse(text)
		if err != nil || a.String() != want {
			t.Errorf("%s: %q, %v", text, a, err)
		}
		if again, err := s3.Parse(a.String()); err != nil || again.String() != want {
			t.Errorf("%s again: %q, %v", text, again, err)
		}
	}
	for _, text := range []string{
		"", "s3:acme", "s3://", "s3://A", "s3://key:secret@acme/x", "s3://acme/../x", "s3://acme/a b", "s3://acme/x?regoin=eu", "s3://acme/x?region=",
		"s3://acme/x?region=evil.example/", "s3://acme/x?endpoint=file:///etc", "s3://acme/x?endpoint=https://u:p@h", "s3://acme/x?names=clear",
		"s3://acme/x?keep=0", "s3://acme/x?region=a&region=b", "s3://acme:80/x", "s3://acme/x#y", "postgres://acme/x",
	} {
		if a, err := s3.Parse(text); err == nil {
			t.Errorf("%q is taken as %+v", text, a)
		}
	}
}
