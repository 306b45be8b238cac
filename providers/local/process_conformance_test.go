//go:build linux

package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// seenProcess is one process, as /proc shows it.
type seenProcess struct {
	group, start int
	line, dir    string
	env          map[string]any
}

// seeProcesses are all processes that run inside a folder, found without the kind.
func seeProcesses(t kindtest.T, dir string) []seenProcess {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatalf("%v", err)
	}
	var seen []seenProcess
	for _, proc := range dirs {
		at, err := os.Readlink(proc + "/cwd")
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue // elsewhere, another user's, or ended
		}
		environ, errEnv := os.ReadFile(proc + "/environ")
		line, errLine := os.ReadFile(proc + "/cmdline")
		stat, errStat := os.ReadFile(proc + "/stat")
		if errEnv != nil || errLine != nil || errStat != nil || len(line) == 0 {
			continue // ended meanwhile
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		p := seenProcess{
			line: strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " "), dir: strings.TrimPrefix(at, dir), env: map[string]any{},
		}
		p.group, _ = strconv.Atoi(fields[2])
		p.start, _ = strconv.Atoi(fields[19])
		for e := range strings.SplitSeq(string(environ), "\x00") {
			if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "CHECK_") {
				p.env[name] = value
			} else if name == "PORT" {
				p.env[name] = "some"
			}
		}
		seen = append(seen, p)
	}
	return seen
}

// groupsIn is what runs in a folder, one object for each group: what its first process is.
func groupsIn(t kindtest.T, dir string) []any {
	t.Helper()
	first := map[int]seenProcess{}
	for _, p := range seeProcesses(t, dir) {
		if q, ok := first[p.group]; !ok || p.start < q.start {
			first[p.group] = p
		}
	}
	var objects []any
	for _, p := range first {
		objects = append(objects, map[string]any{"line": p.line, "dir": p.dir, "env": p.env})
	}
	return objects
}

func TestProcessConforms(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sessions []*reconcile.Dev
	t.Cleanup(func() {
		for _, dev := range sessions {
			if err := dev.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	kindtest.Run(t, kindtest.Suite{
		Kind: processKind.Erase(),
		World: func(t kindtest.T) kindtest.World {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, name := range []string{"sub/a.txt", "src/b.txt"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatalf("%v", err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o644); err != nil {
					t.Fatalf("%v", err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			dev := &reconcile.Dev{Dir: filepath.Join(dir, ".athanor/dev")}
			sessions = append(sessions, dev)
			return kindtest.World{Cloud: machine{}, Dir: dir, Dev: dev, Objects: func() []any { return groupsIn(t, dir) }}
		},
		Base: map[string]any{"run": helper("listen", "one"), "env": map[string]any{"CHECK_WHO": "you"}, "ready": map[string]any{"output": "^ready$"}},
		Variants: []kindtest.Variant{
			{Name: "another", Props: map[string]any{
				"run": helper("listen", "two"), "env": map[string]any{"CHECK_WHO": "me", "CHECK_MORE": "x"}, "ready": map[string]any{"output": "^ready$"},
			}},
			{Name: "all", Props: map[string]any{
				"run": helper("listen", "one"), "env": map[string]any{"CHECK_WHO": "you"}, "ready": map[string]any{"output": "ready", "timeout": "20s"},
				"dir": "sub", "triggers": []any{"a"}, "inputs": []any{"src"}, "port": int64(0), "restart": "never", "stop": "SIGKILL", "grace": "2s",
			}},
		},
		Secrets: []tree.Path{"env.CHECK_WHO"},
		Fault:   errnoOf,
	})
}
