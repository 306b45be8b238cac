package miniflare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runtimes are the processes of workerd that a server has, in the order in which they were started.
func runtimes(t *testing.T, s *Server) []int {
	t.Helper()
	type process struct{ pid, began int }
	var all []process
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "(workerd)") {
			continue // others come and go
		}
		fields := strings.Fields(string(text)) // see proc_pid_stat(5)
		numbers := make([]int, len(fields))
		for _, i := range []int{0, 4, 21} {
			if numbers[i], err = strconv.Atoi(fields[i]); err != nil {
				t.Fatal(err)
			}
		}
		if numbers[4] == s.host.group.keeper.Process.Pid && fields[2] != "Z" {
			all = append(all, process{numbers[0], numbers[21]})
		}
	}
	slices.SortFunc(all, func(a, b process) int { return cmp.Compare(a.began, b.began) })
	pids := make([]int, len(all))
	for i, one := range all {
		pids[i] = one.pid
	}
	return pids
}

// waiting is the process of the spare of a server, once it has made what it can without code: it has opened the folder of stored data
// of a namespace, which a Worker must be bound to.
func waiting(t *testing.T, s *Server) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if there := runtimes(t, s); len(there) == 2 {
			open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", there[1]))
			if err != nil {
				t.Fatal(err)
			}
			for _, fd := range open {
				if at, err := os.Readlink(fd); err == nil && at == filepath.Join(s.data, "kv") {
					return there[1]
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no spare waits; runtimes: %v", runtimes(t, s))
		}
	}
}

// bound is a Worker with a namespace.
func bound(text string) Worker {
	return esm("shop", saying(text), map[string]any{"type": "kv_namespace", "name": "KV", "namespace_id": "counts"})
}

// TestSpareWaits: a spare has made all but the Worker when the code comes, opens no stored data before, and goes with the server.
func TestSpareWaits(t *testing.T) {
	t.Parallel()
	s := startSparing(t, Options{})
	set(t, s, bound("one"))
	spare := waiting(t, s)
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", spare))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if at, err := os.Readlink(fd); err == nil && strings.Contains(at, ".sqlite") {
			t.Errorf("the spare has opened %s", at)
		}
	}
	if said := get(t, set(t, s, bound("two"))); said != "200 two" || s.spared != 1 {
		t.Errorf("it says %s; %d changes were by a spare", said, s.spared)
	}
	if there := runtimes(t, s); there[0] != spare {
		t.Errorf("runtimes %v, and %d was the spare", there, spare)
	}
	waiting(t, s)
	s.Close()
	if there := runtimes(t, s); len(there) != 0 {
		t.Errorf("after the end: runtimes %v", there)
	}
}

// TestSpareKilled: a spare ends with a program that is killed.
func TestSpareKilled(t *testing.T) {
	t.Parallel()
	cmd, _, dir := child(t)
	there := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			links, err := filepath.Glob("/proc/[0-9]*/cwd")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, link := range links {
				at, _ := os.Readlink(link) // others come and go
				name, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
				if strings.HasPrefix(at, dir) && string(name) == "workerd\n" {
					n++
				}
			}
			if n == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d runtimes, want %d", n, want)
			}
		}
	}
	there(2)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	there(0)
}

// TestSpareDies: the death of a spare is not that of the server. Edits go on, without one.
func TestSpareDies(t *testing.T) {
	t.Parallel()
	s := startSparing(t, Options{})
	url := set(t, s, bound("one"))
	if err := syscall.Kill(waiting(t, s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"two", "three"} {
		if said := get(t, set(t, s, bound(text))); said != "200 "+text || s.spared != 0 {
			t.Errorf("it says %s; %d changes were by a spare", said, s.spared)
		}
	}
	if said := get(t, url); said != "200 three" || s.Err() != nil {
		t.Errorf("it says %s, %v", said, s.Err())
	}
}

// TestRuntimeDies: when workerd dies by itself the server has ended, and says so.
func TestRuntimeDies(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	set(t, s, esm("shop", saying("here")))
	set(t, s, esm("shop", saying("again"))) // ending the first one is no death
	there := runtimes(t, s)
	if err := s.Err(); err != nil || len(there) != 1 {
		t.Fatalf("after a change: runtimes %v, %v", there, err)
	}
	if err := syscall.Kill(there[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "workerd has ended by itself") {
		t.Errorf("it ended with %v", err)
	}
}

// TestGivenUp: a change that is given up changes nothing, and leaves no second runtime behind.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := set(t, s, esm("shop", saying("one")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Set(ctx, esm("shop", saying("two"))); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if there := runtimes(t, s); len(there) != 1 {
		t.Errorf("runtimes: %v", there)
	}
	if said := get(t, url); said != "200 one" {
		t.Errorf("it says %s", said)
	}
	if said := get(t, set(t, s, esm("shop", saying("three")))); said != "200 three" {
		t.Errorf("then it says %s", said)
	}
}
