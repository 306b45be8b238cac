//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// moves are two versions of a stack of this machine: the second updates, replaces, renames, deletes and creates, has an
// asset of a directory, one that a resource of the same run builds, and a secret that changes.
var moves = [2]string{`stack: moves
secrets: {token: {file: token.txt}}
resources:
  word:   {kind: random.ID, props: {bytes: 4, prefix: word-}}
  note:   {kind: local.File, props: {path: out/note.txt, content: "${word.hex} one\n"}}
  hidden: {kind: local.File, props: {path: out/hidden.txt, mode: "0600", content: "${secret.token}\n"}}
  site:   {kind: local.Directory, props: {path: out/site, source: site}}
  sheet:  {kind: local.File, props: {path: out/sheet.txt, content: "one\n"}}
  before: {kind: local.File, props: {path: out/named.txt, content: "named\n"}}
  old:    {kind: local.File, props: {path: out/old.txt, content: "old\n"}}
  step:   {kind: local.Command, props: {run: "mkdir -p made && cp out/note.txt made/copy.txt", undo: "rm -r made", triggers: ["${note.digest}"]}}
  built:  {kind: local.Directory, props: {path: out/built, source: made}, options: {dependsOn: [step]}}
  same:   {kind: local.File, props: {path: out/same.txt, content: "same\n"}}
outputs: {word: "${word.hex}", token: "${secret.token}", site: "${site.digest}"}
`, `stack: moves
secrets: {token: {file: token.txt}}
resources:
  word:   {kind: random.ID, props: {bytes: 5, prefix: word-}}
  note:   {kind: local.File, props: {path: out/note.txt, content: "${word.hex} two\n"}}
  hidden: {kind: local.File, props: {path: out/hidden.txt, mode: "0600", content: "next ${secret.token}\n"}}
  site:   {kind: local.Directory, props: {path: out/site, source: site}}
  sheet:  {kind: local.File, props: {path: out/leaf.txt, content: "one\n"}}
  after:  {kind: local.File, props: {path: out/named.txt, content: "named\n"}, options: {renamedFrom: [before]}}
  step:   {kind: local.Command, props: {run: "mkdir -p made && cp out/note.txt made/copy.txt", undo: "rm -r made", triggers: ["${note.digest}"]}}
  built:  {kind: local.Directory, props: {path: out/built, source: made}, options: {dependsOn: [step]}}
  same:   {kind: local.File, props: {path: out/same.txt, content: "same\n"}}
  more:   {kind: local.File, props: {path: out/more.txt, content: "${sheet.path}\n"}, options: {dependsOn: [after]}}
outputs: {word: "${word.hex}", token: "${secret.token}", site: "${site.digest}", more: "${more.digest}"}
`}

// checkout is a project that is also used at another place, its state in neither.
type checkout struct {
	*world
	root, home, store string
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	w := newWorld(t, moves[0])
	root := t.TempDir()
	x := &checkout{world: w, root: root, home: filepath.Join(root, "home"), store: filepath.Join(root, "store", "state.db")}
	w.dir = filepath.Join(root, "project")
	for _, dir := range []string{x.home, w.dir, filepath.Join(w.dir, ".git"), filepath.Join(w.dir, "site", "deep"), filepath.Join(root, "store"), filepath.Join(root, "elsewhere")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "HOME="+x.home, "XDG_CONFIG_HOME="+filepath.Join(x.home, "config"), "ATHANOR_STAGE=test", "ATHANOR_STORE=bolt:"+x.store)
	w.write(".git/HEAD", "")
	w.write("athanor.yaml", moves[0])
	w.write("token.txt", "a-first-secret-value\n")
	w.write("site/index.html", "<h1>one</h1>\n")
	w.write("site/deep/more.txt", "deep\n")
	return x
}

// copyTree copies a folder. What it writes is new: its times are not those of the original.
func copyTree(t *testing.T, from, to string, without ...string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains(without, rel) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// restore makes everything as it was in a copy.
func (x *checkout) restore(saved string) {
	x.t.Helper()
	if err := os.RemoveAll(x.root); err != nil {
		x.t.Fatal(err)
	}
	copyTree(x.t, saved, x.root)
}

// deployed is what a run leaves: files, entries and outputs without times and nonces, and what the run reported.
type deployed struct {
	Files, Entries map[string]string
	Outputs        string
	Events         []string
	Summary        summaryLine
}

func (x *checkout) deployed(dir string, args ...string) deployed {
	x.t.Helper()
	d := deployed{Files: map[string]string{}, Entries: map[string]string{}}
	p := x.start("athanor", append(args, "--json")...)
	p.end(0)
	for line := range strings.Lines(p.out.String()) {
		var e struct {
			summaryLine
			Address, Action, Status, Call, Path string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			x.t.Fatalf("%q: %v", line, err)
		}
		if e.Type == "summary" {
			d.Summary = e.summaryLine
			d.Summary.Calls.Reads, d.Summary.Commits = 0, 0 // a saved plan is read for once more; what shares a commit is a matter of time
		}
		d.Events = append(d.Events, strings.Join([]string{e.Type, e.Address, e.Action, e.Status, e.Call, e.Path}, " "))
	}
	slices.Sort(d.Events)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case rel == ".athanor":
			return fs.SkipDir
		case e.IsDir():
			d.Files[rel] = "folder"
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		d.Files[rel] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.entries(&d)
	return d
}

// entries reads the state with the stage's key.
func (x *checkout) entries(d *deployed) {
	x.t.Helper()
	stage := statestore.Stage{Stack: "moves", Name: "test"}
	store, err := bolt.Open(x.store)
	if err != nil {
		x.t.Fatal(err)
	}
	defer store.Close()
	snap, err := store.Load(x.t.Context(), stage)
	if err != nil {
		x.t.Fatal(err)
	}
	key, err := seal.LoadOrMake(filepath.Join(x.home, "config", "athanor"), stage.Stack, stage.Name)
	if err == nil {
		err = key.Check(snap.KeyID)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	for _, row := range snap.Rows {
		e, err := state.Open(row, stage, key)
		if err != nil {
			x.t.Fatal(err)
		}
		e.Version = 0
		for _, g := range e.Generations {
			g.Written, g.Nonce = time.Time{}, ""
		}
		data, err := json.Marshal(e)
		if err != nil {
			x.t.Fatal(err)
		}
		d.Entries[e.Address] = string(data)
	}
	outputs, secret, err := state.OpenOutputs(snap, key)
	if err != nil {
		x.t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode([]any{outputs, secret}); err != nil {
		x.t.Fatal(err)
	}
	d.Outputs = text.String()
}

// A saved plan does the same as the deploy that it stands for: in a process that works elsewhere, and with a fresh copy of
// the program at another place.
func TestSavedPlanElsewhere(t *testing.T) {
	t.Parallel()
	x := newCheckout(t)
	project, elsewhere := x.dir, filepath.Join(x.root, "elsewhere")
	for i, stack := range moves {
		x.dir = project
		x.write("athanor.yaml", stack)
		if i > 0 {
			x.write("token.txt", "a-second-secret-value\n")
			x.write("site/index.html", "<h1>two</h1>\n")
			x.write("site/new.html", "new\n")
		}
		plan := filepath.Join(x.root, "plan.json")
		x.run(2, "plan", "--out", plan)
		saved := t.TempDir()
		copyTree(t, x.root, saved)

		want := x.deployed(project, "deploy", "--yes")
		x.restore(saved)
		x.dir = elsewhere
		have := x.deployed(project, "deploy", plan, project, "--yes")
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("version %d, from another folder (-directly +saved):\n%s", i+1, diff)
		}

		x.restore(saved)
		fresh := filepath.Join(x.root, "fresh", "copy")
		copyTree(t, project, fresh, ".athanor")
		if err := os.RemoveAll(project); err != nil {
			t.Fatal(err)
		}
		x.refuses(plan, project, fresh)
		have = x.deployed(fresh, "deploy", plan, fresh, "--yes")
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("version %d, with a fresh copy (-directly +saved):\n%s", i+1, diff)
		}
		copyTree(t, fresh, project)
	}
}

// refuses checks that a plan is applied only with the program that it was made of, to the last byte of its assets.
func (x *checkout) refuses(plan, project, fresh string) {
	x.t.Helper()
	file := filepath.Join(fresh, "site", "index.html")
	was, err := os.ReadFile(file)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, c := range []struct {
		text, want string
		args       []string
	}{
		{"<h1>other</h1>\n", "no longer fits: site: ", []string{plan, fresh}},
		{string(was), "TARGET names it", []string{plan}},
		{string(was), `unexpected argument \"` + plan + `\"`, []string{fresh, plan}},
		{string(was), `unexpected argument \"` + fresh + `\"`, []string{plan, fresh, plan}},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			x.t.Fatal(err)
		}
		p := x.start("athanor", append([]string{"deploy", "--yes", "--json"}, c.args...)...)
		p.end(1)
		if out := p.out.String(); !strings.Contains(out, c.want) {
			x.t.Errorf("deploy %q says %s, want %s", c.args, out, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(project, ".athanor")); err == nil {
		x.t.Error("something was done where the program no longer is")
	}
}

// code are the lines of a function, whose archive is made of a folder; its second version has other code.
const code = `  role:   {kind: aws.iam.Role, props: {trustPolicy: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}]}}}
  work:   {kind: aws.lambda.Function, props: {role: "${role.arn}", runtime: nodejs24.x, handler: index.handler, code: {directory: src}}}
`

// The same with what is in a cloud: every deploy of a life of kinds of AWS makes the same calls and leaves the same objects.
func TestSavedPlanElsewhereInTheCloud(t *testing.T) {
	t.Parallel()
	lives := map[string]*lived{}
	for _, name := range []string{"directly", "from another folder", "with a fresh copy"} {
		x := newLived(t, built(t, true), awstest.Start(t))
		x.env = append(x.env, "ATHANOR_STORE=bolt:"+filepath.Join(x.root, "state.db"))
		lives[name] = x
	}
	for i, s := range life(false)[:4] {
		var want []any
		for _, name := range slices.Sorted(maps.Keys(lives)) {
			x := lives[name]
			x.program(strings.Replace(s.stack, "outputs:", code+"outputs:", 1))
			x.write(t, "src/index.js", fmt.Sprintf("exports.handler = async () => %d\n", i))
			x.cloud.Reset()
			switch plan := filepath.Join(x.root, "plan.json"); name {
			case "directly":
				x.does(0, "deploy", "--yes")
			case "from another folder":
				x.does(2, "plan", "--out", plan)
				project := x.dir
				x.dir = x.root
				x.does(0, "deploy", plan, project, "--yes")
				x.dir = project
			default:
				x.does(2, "plan", "--out", plan)
				fresh := filepath.Join(x.root, fmt.Sprint("fresh", i))
				copyTree(t, x.dir, fresh, ".athanor")
				if err := os.RemoveAll(x.dir); err != nil {
					t.Fatal(err)
				}
				x.dir = fresh
				x.does(0, "deploy", plan, fresh, "--yes")
			}
			have := []any{x.seen(), x.effects(), x.changes()}
			if name == "directly" {
				want = have
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s, %s (-directly +saved):\n%s", s.name, name, diff)
			}
		}
	}
}

func (x *lived) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(x.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// does runs a command in the folder of the stack, or where that is set to.
func (x *lived) does(want int, args ...string) string {
	x.t.Helper()
	cmd := limited(x.t, x.binary, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = x.dir, x.env, &out, &out
	bind(cmd)
	if code := exitCode(x.t, cmd, cmd.Run()); code != want {
		x.t.Fatalf("%q: exit code %d, want %d\n%s", args, code, want, out.String())
	}
	return out.String()
}

// changes are the names of all calls that change something, sorted.
func (x *lived) changes() []string {
	var all []string
	for _, c := range x.cloud.Mutations() {
		all = append(all, x.plain(c.Name()))
	}
	slices.Sort(all)
	return all
}

// TestSavedPlanNamesAStore gives a Go program's directory a plan file whose store somebody wrote: the program is trusted, the file is
// not, and nothing is asked of that store.
func TestSavedPlanNamesAStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stack: shop\nresources: {a: {kind: random.ID}}\n")
	w.run(2, "plan", "--out", "plan.json")
	var plan map[string]any
	if err := json.Unmarshal([]byte(w.read("plan.json")), &plan); err != nil {
		t.Fatal(err)
	}
	plan["store"] = "postgres://someone@127.0.0.1:9/state"
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("plan.json", string(data))
	w.write("shop/go.mod", "module example.com/shop\n\ngo 1.26\n")
	w.write("shop/main.go", "package main\n\nimport (\n\t\"github.com/athanor-dev/athanor\"\n\t\"github.com/athanor-dev/athanor/cmd\"\n)\n\n"+
		"func main() { cmd.Main(func(*athanor.Stack) error { return nil }) }\n")
	p := w.start("athanor", "deploy", "--yes", "--json", "plan.json", "shop")
	p.end(1)
	if said := p.out.String(); !strings.Contains(said, "plan.store: reads the state store postgres://someone@127.0.0.1:9/state; nobody has allowed it") {
		t.Errorf("it says %s", said)
	}
}
