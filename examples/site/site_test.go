package site_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
)

// site is a copy of the example, with a home of its own.
type site struct {
	t   *testing.T
	dir string
	env []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "site")}
	if err := os.CopyFS(filepath.Join(s.dir, "assets"), os.DirFS("assets")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("athanor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.write("athanor.yaml", string(data))
	home := t.TempDir()
	s.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "ATHANOR_STAGE=test", "ATHANOR_STORE=")
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// document is what `plan --json`, and the last line of `deploy --json`, say.
type document struct {
	Created, Adopted, Recovered, Updated, Replaced, Deleted, Unchanged, Failed, Blocked int

	Commits int
	Calls   struct{ Reads, Mutations int }
	Outputs map[string]any
	Actions []struct {
		Address, Action string
		DeleteFirst     bool
		Reasons         []struct {
			Path, Source string
			Replaces     bool
		}
	}
	// events are the addresses that were done, with the action, in order.
	events []string
}

// athanor runs a command on the copy with --json.
func (s *site) athanor(code int, args ...string) document {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), programtest.Athanor(s.t), append([]string{args[0], s.dir, "--json"}, args[1:]...)...)
	c.Env = s.env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || c.ProcessState.ExitCode() != code {
		s.t.Fatalf("athanor %v: %v, exit code %d, want %d: %s%s", args, failed, c.ProcessState.ExitCode(), code, &out, &errs)
	}
	var d document
	for line := range strings.Lines(out.String()) {
		var event struct{ Type, Address, Action, Status string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if event.Type == "done" {
			d.events = append(d.events, event.Action+" "+event.Address)
			continue
		}
		if event.Type == "summary" || event.Type == "" {
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				s.t.Fatalf("%v: %s", err, line)
			}
		}
	}
	return d
}

// counts are those that are not zero.
func (d document) counts() map[string]int {
	all := map[string]int{
		"created": d.Created, "adopted": d.Adopted, "recovered": d.Recovered, "updated": d.Updated, "replaced": d.Replaced,
		"deleted": d.Deleted, "unchanged": d.Unchanged, "failed": d.Failed, "blocked": d.Blocked,
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

func (s *site) want(d document, want map[string]int) {
	s.t.Helper()
	if have := d.counts(); !maps.Equal(have, want) {
		s.t.Fatalf("counts %v, want %v (%v)", have, want, d.events)
	}
}

// quiet says that there is nothing to do: no change, no commit, and the plan exits 0.
func (s *site) quiet(config ...string) {
	s.t.Helper()
	d := s.athanor(0, append([]string{"deploy"}, config...)...)
	s.want(d, map[string]int{"unchanged": 7})
	if d.Calls.Mutations != 0 || d.Commits != 0 {
		s.t.Errorf("%d changes and %d commits, want none", d.Calls.Mutations, d.Commits)
	}
	s.athanor(0, append([]string{"plan"}, config...)...)
}

// files are all files below the site, the program and the record left out.
func (s *site) files() map[string]fs.FileInfo {
	s.t.Helper()
	all := map[string]fs.FileInfo{}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		if rel == ".athanor" || rel == "assets" {
			return fs.SkipDir
		}
		if d.IsDir() || rel == "athanor.yaml" {
			return err
		}
		info, err := d.Info()
		all[filepath.ToSlash(rel)] = info
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// paths are what a plan says of an address: its action, and path and source of each difference.
func (d document) paths(address string) (action string, paths []string) {
	for _, a := range d.Actions {
		if a.Address != address {
			continue
		}
		for _, r := range a.Reasons {
			paths = append(paths, r.Path+" by "+r.Source)
		}
		return a.Action, paths
	}
	return "", nil
}

// TestStory is the life of the example: made, unchanged, drifted and repaired, replaced, forgotten and found
// again, destroyed.
func TestStory(t *testing.T) {
	s := newSite(t)
	s.athanor(2, "plan")
	if len(s.files()) != 0 {
		t.Fatal("planning made something")
	}

	s.want(s.athanor(0, "deploy", "--yes"), map[string]int{"created": 7})
	want := []string{"manifest.txt", "public/.admin", "public/assets/hello.txt", "public/assets/style.css", "public/index.html"}
	if have := slices.Sorted(maps.Keys(s.files())); !slices.Equal(have, want) {
		t.Fatalf("files %v, want %v", have, want)
	}
	if mode := s.files()["public/.admin"].Mode().Perm(); mode != 0o600 {
		t.Errorf("the file with the password has mode %o", mode)
	}
	s.quiet()

	s.drift()
	s.replace()
	s.loseRecord()

	s.want(s.athanor(0, "destroy", "--yes", "--config", "root=www"), map[string]int{"deleted": 7})
	if left := s.files(); len(left) != 0 {
		t.Errorf("destroy left %v", slices.Sorted(maps.Keys(left)))
	}
	for _, folder := range []string{"public", "www"} {
		if _, err := os.Stat(filepath.Join(s.dir, folder)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("destroy left the folder %s", folder)
		}
	}
	s.want(s.athanor(0, "destroy", "--yes"), map[string]int{})
}

// drift is an edit by hand: the plan shows it, deploy repairs it and nothing else.
func (s *site) drift() {
	s.t.Helper()
	page := s.read("public/index.html")
	s.write("public/index.html", "edited by hand\n")
	plan := s.athanor(2, "plan")
	if action, paths := plan.paths("index"); action != "update" || !slices.Equal(paths, []string{"content by world"}) {
		s.t.Fatalf("index: %s %v, want an update of content by the world", action, paths)
	}
	d := s.athanor(0, "deploy", "--yes")
	s.want(d, map[string]int{"updated": 1, "unchanged": 6})
	if d.Calls.Mutations != 1 {
		s.t.Errorf("%d changes to the world, want 1", d.Calls.Mutations)
	}
	if have := s.read("public/index.html"); have != page {
		s.t.Errorf("the page is %q, want %q", have, page)
	}
	s.quiet()
}

// replace changes what cannot change in place: the new objects come first, the old ones are deleted last.
func (s *site) replace() {
	s.t.Helper()
	plan := s.athanor(2, "plan", "--config", "root=www")
	for _, address := range []string{"index", "assets", "credentials"} {
		if action, paths := plan.paths(address); action != "replace" || !slices.Equal(paths, []string{"path by program"}) {
			s.t.Errorf("%s: %s %v, want a replacement for its path", address, action, paths)
		}
	}
	d := s.athanor(0, "deploy", "--yes", "--config", "root=www")
	s.want(d, map[string]int{"replaced": 3, "updated": 1, "unchanged": 3}) // the release names digests, not paths
	last := slices.Max([]int{
		slices.Index(d.events, "replace index"), slices.Index(d.events, "replace assets"), slices.Index(d.events, "replace credentials"),
		slices.Index(d.events, "update manifest"),
	})
	for _, address := range []string{"index", "assets", "credentials"} {
		if gone := slices.Index(d.events, "delete "+address); gone < last {
			s.t.Errorf("the old %s went before everything new was there: %v", address, d.events)
		}
	}
	want := []string{"manifest.txt", "www/.admin", "www/assets/hello.txt", "www/assets/style.css", "www/index.html"}
	if have := slices.Sorted(maps.Keys(s.files())); !slices.Equal(have, want) {
		s.t.Errorf("files %v, want %v", have, want)
	}
	s.quiet("--config", "root=www")
}

// loseRecord deletes the whole record: everything is found again, nothing is made twice.
func (s *site) loseRecord() {
	s.t.Helper()
	before, password := s.files(), s.read("www/.admin")
	if err := os.RemoveAll(filepath.Join(s.dir, ".athanor")); err != nil {
		s.t.Fatal(err)
	}
	d := s.athanor(0, "deploy", "--yes", "--config", "root=www")
	s.want(d, map[string]int{"recovered": 6, "updated": 1}) // the command runs again
	after := s.files()
	if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		s.t.Errorf("files before %v, after %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	for name, info := range before {
		if name != "manifest.txt" && (!os.SameFile(info, after[name]) || !info.ModTime().Equal(after[name].ModTime())) {
			s.t.Errorf("%s was written again", name)
		}
	}
	if s.read("www/.admin") != password {
		s.t.Error("the password is another one")
	}
	s.quiet("--config", "root=www")
}
