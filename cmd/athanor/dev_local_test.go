//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// stored is a stack of resources of Cloudflare that have local variants.
const stored = `stack: stored
resources:
  cache: {kind: cloudflare.KVNamespace, options: {protect: true}}
  db: {kind: cloudflare.D1Database}
  jobs: {kind: cloudflare.Queue}
  note: {kind: local.File, props: {path: out/note.txt, content: "${cache.id} ${db.id} ${jobs.name}\n"}}
`

// In dev, resources with a local variant are on this machine, and Cloudflare is not asked; with --remote, and when the
// stage is deployed, they are replaced by those of Cloudflare, and what uses them follows. Then dev has nothing to do
// there without permission.
func TestDevLocalAndRemote(t *testing.T) {
	t.Parallel()
	cloud := cloudflaretest.Start(t)
	w := newWorld(t, stored)
	for name, value := range cloud.Env() {
		w.env = append(w.env, name+"="+value)
	}
	note := func(want ...bool) {
		t.Helper()
		var have []bool
		for id := range strings.FieldsSeq(w.read("out/note.txt")) {
			have = append(have, strings.HasPrefix(id, "local-") || strings.HasPrefix(id, "stored-jobs-"))
		}
		if !slices.Equal(have, want) {
			t.Errorf("on this machine: %v of %s, want %v", have, w.read("out/note.txt"), want)
		}
	}
	s := w.dev()
	s.deployed(map[string]float64{"created": 4})
	s.stop(0)
	note(true, true, true)
	if calls := cloud.Calls(); len(calls) > 0 {
		t.Errorf("Cloudflare was asked: %v", calls)
	}

	s = w.dev("--remote", "cache", "--remote", "d*")
	s.deployed(map[string]float64{"replaced": 2, "updated": 1, "unchanged": 1})
	s.stop(0)
	note(false, false, true)
	plan := w.run(2, "plan", "--stage", "local-tester")
	if !strings.Contains(plan, "miniflare.Queue") || strings.Contains(plan, "miniflare.KVNamespace") {
		t.Errorf("a deploy would: %s", plan)
	}
	w.run(0, "deploy", "--yes", "--stage", "local-tester")
	if names := strings.Fields(w.read("out/note.txt")); len(names) != 3 || !strings.HasPrefix(names[2], "stored-local-tester-jobs") {
		t.Errorf("deployed: %v", names)
	}
	w.run(0, "plan", "--stage", "local-tester")
	s = w.dev("--here")
	if text := fmt.Sprint(s.next("problem")); !strings.Contains(text, "--remote jobs") {
		t.Errorf("on what was deployed: %s", text)
	}
	s.stop(0)
	w.write("athanor.yaml", strings.ReplaceAll(stored, ", options: {protect: true}", ""))
	w.run(0, "deploy", "--yes", "--stage", "local-tester")
	w.run(0, "destroy", "--yes", "--stage", "local-tester")
	if left, err := os.ReadDir(filepath.Join(w.dir, ".athanor", "local")); err == nil {
		t.Errorf("left: %v", left)
	}
}
