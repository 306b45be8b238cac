package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// childRole and childPath tell a copy of the test binary what to be.
const (
	childRole = "ATHANOR_TEST_ROLE"
	childPath = "ATHANOR_TEST_STORE"
)

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(proctest.Tidy(m).Run())
	}
	if err := children[role](os.Getenv(childPath)); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

var children = map[string]func(path string) error{
	"write": writeForever, "hold": holdForever, "lock": lockForever, "look": lookForever, "make": makeOnce, "read": readOften,
	"batches": writeBatches, "claim": claimOnce, "hold with child": holdWithChild,
}

// child is a real process that uses the store.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func spawn(t *testing.T, role, path string) *child { return spawnFrom(t, role, path) }

// spawnFrom starts a child by the words of a prefix.
func spawnFrom(t *testing.T, role, path string, prefix ...string) *child {
	t.Helper()
	words := append(prefix, os.Args[0])
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd, bufio.NewScanner(out)}
}

// line waits for the next word of the child.
func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatal("the child said nothing more")
	}
	return c.lines.Text()
}

// kill ends the child with SIGKILL and returns what it still had said.
func (c *child) kill(t *testing.T) (rest []string) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for c.lines.Scan() {
		rest = append(rest, c.lines.Text())
	}
	c.Wait()
	return rest
}

// writeForever counts a row up and says each version once it is durable.
func writeForever(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	snap, err := s.Load(ctx, stage)
	if err != nil {
		return err
	}
	j, err := statestore.Begin(ctx, s, stage, statestore.Claim{Run: fmt.Sprint("run-", os.Getpid(), "-", time.Now().UnixNano()), TTL: time.Hour})
	if err != nil {
		return err
	}
	row := plain(0, snap.Rows[plain(0, 0).Address].Version)
	for n := uint64(1); ; n++ {
		if err := j.Commit(ctx, statestore.Change{Put: []statestore.Row{row}}); err != nil {
			return err
		}
		fmt.Println(row.Version + n)
	}
}

func holdForever(path string) error {
	s, err := Open(path)
	if err == nil {
		_, err = s.Acquire(context.Background(), stage, statestore.Claim{Run: "child", TTL: time.Hour})
	}
	if err != nil {
		return err
	}
	fmt.Println("held")
	time.Sleep(time.Hour) // until it is killed
	return nil
}

// claimOnce claims the stage and prints what comes of it: "taken", or "held".
func claimOnce(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	_, err = s.Acquire(context.Background(), stage, statestore.Claim{Run: "other", TTL: time.Hour})
	switch {
	case errors.Is(err, statestore.ErrHeld):
		fmt.Println("held")
	case err == nil:
		fmt.Println("taken")
	default:
		return err
	}
	return nil
}

// holdWithChild holds the stage like holdForever and leaves a child that outlives it.
func holdWithChild(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	if _, err = s.Acquire(context.Background(), stage, statestore.Claim{Run: "child", TTL: time.Hour}); err != nil {
		return err
	}
	c := exec.Command("sleep", "3600")
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("held by", os.Getpid(), "with", c.Process.Pid)
	time.Sleep(time.Hour) // until it is killed
	return nil
}

// lockForever keeps the file itself locked.
func lockForever(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := s.open(context.Background(), true); err != nil {
		return err
	}
	fmt.Println("locked")
	time.Sleep(time.Hour) // until it is killed
	return nil
}

// lookForever is a reader that does not end.
func lookForever(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	return s.read(context.Background(), func(*bbolt.Tx) error {
		fmt.Println("looking")
		time.Sleep(time.Hour) // until it is killed
		return nil
	})
}

func makeOnce(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	name := statestore.Stage{Stack: "shop", Name: fmt.Sprint("child-", os.Getpid())}
	if _, err = s.Acquire(context.Background(), name, statestore.Claim{Run: "r"}); err != nil {
		return err
	}
	id, err := s.ID(context.Background())
	fmt.Println(id)
	return err
}

func readOften(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	for range 50 {
		snap, err := s.Load(context.Background(), stage)
		if err != nil {
			return err
		}
		fmt.Println(snap.Rows[plain(0, 0).Address].Version)
	}
	return nil
}

// TestKilledInTheMiddleOfCommits: whatever the moment, the file opens, is sound, and has every commit
// that was acknowledged; the dead holder's lease goes to the next one at once.
func TestKilledInTheMiddleOfCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".athanor", "state.db")
	acknowledged := uint64(0)
	for round := range 15 {
		c := spawn(t, "write", path)
		said := []string{}
		for range 3 + round*2 {
			said = append(said, c.line(t))
		}
		for _, line := range append(said, c.kill(t)...) {
			version, err := strconv.ParseUint(line, 10, 64)
			if err != nil {
				t.Fatalf("round %d: the child said %q", round, line)
			}
			acknowledged = version
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Load(t.Context(), stage)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if have := snap.Rows[plain(0, 0).Address].Version; have < acknowledged || have > acknowledged+1 {
			t.Fatalf("round %d: version %d is stored, %d was acknowledged", round, have, acknowledged)
		}
		sound(t, path)
	}
}

func TestADeadChildsLeaseIsTakenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	c := spawn(t, "hold", path)
	c.line(t)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Acquire(t.Context(), stage, statestore.Claim{Run: "parent"})
	held, ok := errors.AsType[*statestore.HeldError](err)
	if !ok || held.Holder.PID != c.Process.Pid || held.Holder.Run != "child" {
		t.Fatalf("while the child lives: %v", err)
	}
	c.kill(t)
	if s.ops.World.Self.Boot == "" {
		t.Skip("this system does not tell whether a process is the same one")
	}
	if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "parent"}); err != nil {
		t.Fatalf("after its death: %v", err)
	}
}

func TestTheFileStaysLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path, WithPatience(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	c := spawn(t, "lock", path)
	c.line(t)
	_, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Renew: true})
	if unavailable, ok := errors.AsType[*statestore.UnavailableError](err); !ok || unavailable.Path != path {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Load(t.Context(), stage); !errors.Is(err, statestore.ErrUnavailable) {
		t.Errorf("load: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	patient, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patient.Load(ctx, stage); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	c.kill(t)
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Renew: true}); err != nil {
		t.Errorf("after the lock went: %v", err)
	}
}

func TestProcessesMakeOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".athanor", "state.db")
	var makers []*child
	for range 6 {
		makers = append(makers, spawn(t, "make", path))
	}
	ids := make(map[string]bool)
	for _, c := range makers {
		ids[c.line(t)] = true
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("identities %v", ids)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if stages, err := s.Stages(t.Context()); err != nil || len(stages) != 6 {
		t.Errorf("stages %v, %v", stages, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 3 {
		t.Errorf("files left: %v, %v", entries, err)
	}
	sound(t, path)
}

func TestAnotherProcessReadsWhileOneWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	reader := spawn(t, "read", path)
	done := make(chan []string)
	go func() {
		var lines []string
		for reader.lines.Scan() {
			lines = append(lines, reader.lines.Text())
		}
		done <- lines
	}()
	var lines []string
	for written := 0; lines == nil; written++ {
		if err := j.Commit(t.Context(), statestore.Change{Put: []statestore.Row{plain(0, 0)}}); err != nil {
			t.Fatal(err)
		}
		select {
		case lines = <-done:
		default:
		}
	}
	if err := reader.Wait(); err != nil || len(lines) != 50 {
		t.Fatalf("the reader said %s: %v", strings.Join(lines, " "), err)
	}
	last := uint64(0)
	for _, line := range lines {
		version, err := strconv.ParseUint(line, 10, 64)
		if err != nil || version < last {
			t.Errorf("read version %s after %d", line, last)
		}
		last = version
	}
}
