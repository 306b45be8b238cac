// Package heretest gives the conformance suites of local variants their worlds: a dev session each, with Cloudflare's runtime.
//
// It knows where Workers of a session answer. It does not know any kind.
package heretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// few are the rules that need few worlds, each of which starts a runtime.
var few = []string{
	kindtest.Definition, kindtest.RoundTrip, kindtest.ZeroDefaults, kindtest.ReadOnly, kindtest.ThreeStarts, kindtest.ThereAndBack, kindtest.Deferred,
}

// Run checks the rules that need few worlds, or all, which takes minutes.
func Run(t *testing.T, s kindtest.Suite, whole bool) {
	t.Helper()
	if whole {
		kindtest.Run(t, s)
		return
	}
	kindtest.RunOnly(t, s, few...)
}

// open is how many sessions of a suite stay open that no check has ended. A check compares two worlds at most, and a runtime takes 100 MB.
const open = 3

// session is a dev session of a world.
type session struct{ end func() }

// Worlds makes worlds for a suite, each a dev session with these files in the stack's directory.
func Worlds(files map[string]string) func(kindtest.T) kindtest.World {
	var sessions []*session
	return func(t kindtest.T) kindtest.World {
		t.Helper()
		dir := t.TempDir()
		cloudflaretest.Packages(t.(testing.TB), dir)
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatalf("%v", err)
			}
		}
		dev := &reconcile.Dev{Dir: filepath.Join(dir, ".athanor", "dev")}
		made := &session{sync.OnceFunc(func() {
			if err := dev.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("the session does not end: %v", err)
			}
		})}
		t.(testing.TB).Cleanup(made.end)
		if sessions = append(sessions, made); len(sessions) > open {
			sessions[0].end()
			sessions = sessions[1:]
		}
		return kindtest.World{Cloud: here.Machine(), Dir: dir, Dev: dev, Sampled: !proctest.Whole(), End: func() {
			made.end()
			sessions = slices.DeleteFunc(sessions, func(s *session) bool { return s == made })
		}}
	}
}

// Answers are what the Workers of a world answer over HTTP. It asks at each port that a Worker of the world has had.
func Answers(t kindtest.T, w kindtest.World) []any {
	t.Helper()
	known := map[string]int{}
	data := here.DataOf(w.Dev, w.Dir, reconcile.Mark{Stack: "kindtest", Stage: "check"})
	text, err := os.ReadFile(filepath.Join(data, here.Ports))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	var all []any
	for _, port := range known {
		res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port)) //nolint:noctx // the world ends with its test
		if err != nil {
			continue // it does not run
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, map[string]any{"status": res.StatusCode, "answer": string(answer)})
	}
	return all
}
