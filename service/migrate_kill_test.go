package service_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/migrate"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// mover is what a process that moves a stage is told, in [moverVariable].
type mover struct {
	From, To site
	// At is the call of a store at which the process kills itself, before or after it happened; 0: at none.
	At    int
	After bool
}

// site is where a store is.
type site struct {
	URL   string
	Token string // for a service
}

const moverVariable = "ATHANOR_TEST_MOVER"

// moveAsTold is the whole work of a process that moves a stage.
func moveAsTold(told string) error {
	var m mover
	if err := json.Unmarshal([]byte(told), &m); err != nil {
		return err
	}
	from, err := m.From.open()
	if err != nil {
		return err
	}
	to, err := m.To.open()
	if err != nil {
		return err
	}
	calls := 0
	move := migrate.Move{
		From: deadly{from, &m, &calls}, To: deadly{to, &m, &calls}, Where: "elsewhere", User: "ada", NewRun: rand.Text,
	}
	moved, err := move.Stage(context.Background(), prod)
	if err == nil {
		fmt.Printf("moved %d\n", moved.Rows)
	}
	return err
}

// open opens a store of any sort.
func (s site) open() (statestore.Store, error) {
	switch scheme, path, _ := strings.Cut(s.URL, ":"); scheme {
	case "bolt":
		return bolt.Open(path)
	case "s3":
		return s3.Open(s.URL, new(s3test.Server).Config, s3.WithPatience(time.Minute), s3.WithProbes(func(string) bool { return true }, func(string) {}))
	case "http":
		return remote.Open(s.URL, func(string) (string, error) { return s.Token, nil })
	default:
		return postgres.Open(s.URL)
	}
}

// deadly is a store whose process kills itself at one of its calls, as kill -9 does.
type deadly struct {
	statestore.Store
	told  *mover
	calls *int
}

func (d deadly) at(after bool) {
	if !after {
		*d.calls++
	}
	if *d.calls == d.told.At && after == d.told.After {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // the signal is on its way
	}
}

func (d deadly) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	d.at(false)
	defer d.at(true)
	return d.Store.Load(ctx, stage)
}

func (d deadly) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	d.at(false)
	defer d.at(true)
	return d.Store.Acquire(ctx, stage, claim)
}

func (d deadly) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	d.at(false)
	defer d.at(true)
	return d.Store.Commit(ctx, lease, batch)
}

// vacant makes an empty store of a sort.
func vacant(t *testing.T, sort string, buckets func() *s3test.Server) site {
	t.Helper()
	switch sort {
	case "file":
		return site{URL: "bolt:" + filepath.Join(t.TempDir(), "state.db")}
	case "database":
		return site{URL: pgtest.Start(t).Schema(t)}
	case "bucket":
		return site{URL: buckets().URL(t, "infra")}
	}
	s := serve(t)
	return site{s.url, newToken(t, s.store)}
}

// TestMigrateIsKilled kills a process that moves a stage, by kill -9 at each call of a store, before and after it happened: the same
// command again moves the stage whole, and at no time do both stores take runs. Every day two pairs of stores are played, every night five, with
// -long all.
func TestMigrateIsKilled(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"file", "service"}, {"database", "bucket"}, {"service", "file"}, {"service", "database"}, {"bucket", "service"}}
	if !proctest.Whole() {
		pairs = pairs[:2]
	}
	if *long {
		pairs = nil
		for _, from := range []string{"file", "database", "bucket", "service"} {
			for _, to := range []string{"file", "database", "bucket", "service"} {
				pairs = append(pairs, [2]string{from, to})
			}
		}
	}
	for _, pair := range pairs {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			buckets := sync.OnceValue(func() *s3test.Server { return s3test.Start(t, s3test.Versitygw) })
			kills := 0
			for _, after := range []bool{false, true} {
				for at := 1; killed(t, mover{vacant(t, pair[0], buckets), vacant(t, pair[1], buckets), at, after}); at++ {
					kills++
				}
			}
			if kills < 14 {
				t.Errorf("it was killed %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// killed lets a process move a stage that kills itself at a call, and moves it once more. It reports false when the first one had
// ended before.
func killed(t *testing.T, m mover) bool {
	t.Helper()
	if m.At > 50 {
		t.Fatal("it never ends")
	}
	from, to := m.From.opened(t), m.To.opened(t)
	lease, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "first", Command: "deploy"})
	if err == nil {
		_, err = from.Commit(t.Context(), lease, statestore.Batch{
			Seq: 1, KeyID: "k", Meta: map[string][]byte{"ring": []byte("sealed")}, Outputs: []byte("out"),
			Put: []statestore.Row{row("queue", 0), row("table", 0)}, Finish: statestore.Succeeded,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := from.Load(t.Context(), prod)
	if err != nil {
		t.Fatal(err)
	}
	where := fmt.Sprintf("call %d, after it %v", m.At, m.After)
	first, said := moving(t, m)
	switch {
	case first == nil:
		return false
	case said != "": // a process that is killed says nothing
		t.Fatalf("%s: %v: %s", where, first, said)
	}
	there, err := to.Load(t.Context(), prod)
	if err != nil {
		t.Fatal(err)
	}
	here, err := from.Load(t.Context(), prod)
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Rows) > 0 && (here.Holder == nil || here.Holder.Command != "moved to elsewhere") {
		t.Errorf("%s: the record is at both stores, and both take runs", where)
	}
	m.At = 0
	if again, said := moving(t, m); again != nil {
		t.Fatalf("%s: again: %v: %s", where, again, said)
	}
	if there, err = to.Load(t.Context(), prod); err != nil || !migrate.Same(want, there) || there.Holder != nil {
		t.Errorf("%s: the new store has %+v, %v", where, there, err)
	}
	_, err = from.Acquire(t.Context(), prod, statestore.Claim{Run: "colleague", Command: "deploy"})
	if !errors.Is(err, statestore.ErrHeld) || !strings.Contains(err.Error(), "moved to elsewhere") {
		t.Errorf("%s: a colleague at the old store: %v", where, err)
	}
	next, err := to.Acquire(t.Context(), prod, statestore.Claim{Run: "next", Command: "deploy"})
	if err == nil {
		_, err = to.Commit(t.Context(), next, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
	}
	if err != nil {
		t.Errorf("%s: the next run: %v", where, err)
	}
	return true
}

func (s site) opened(t *testing.T) statestore.Store {
	t.Helper()
	store, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// moving runs a process that moves a stage and returns how it ended, nil when it ended well.
func moving(t *testing.T, m mover) (*os.ProcessState, string) {
	t.Helper()
	told, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), moverVariable+"="+string(told))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err == nil {
		return nil, said.String()
	} else if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState, said.String()
}
