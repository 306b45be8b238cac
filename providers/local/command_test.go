package local

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// runs counts how often the command of a bench has run: each run adds a line.
func (b *bench) runs() int {
	text, _ := os.ReadFile(b.at("runs"))
	return strings.Count(string(text), "\n")
}

func TestCommandRunsWhenInputsChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	props := map[string]any{"run": "echo run >> runs; echo $WHO; echo; echo", "env": map[string]any{"WHO": "you"}}
	if out := b.must(props); out.Attrs["stdout"] != "you" || b.runs() != 1 {
		t.Errorf("first: %v after %d runs", out.Attrs, b.runs())
	}
	b.must(props)
	for name, change := range map[string]any{"undo": "true", "timeout": "1m"} {
		props[name] = change
		if b.must(props); b.runs() != 1 {
			t.Errorf("%s changed: %d runs, want 1", name, b.runs())
		}
	}
	want := 1
	for _, change := range []map[string]any{
		{"env": map[string]any{"WHO": "me"}}, {"env": map[string]any{}}, {"triggers": []any{int64(1)}}, {"dir": "."},
	} {
		maps.Copy(props, change)
		want++
		if b.must(props); b.runs() != want {
			t.Errorf("%v: %d runs, want %d", change, b.runs(), want)
		}
	}
	b.force = true
	if b.must(props); b.runs() != want+1 {
		t.Errorf("forced: %d runs, want %d", b.runs(), want+1)
	}
}

// A build runs when what it is made of changes, or what it wrote is not there: state came from another checkout.
func TestCommandRunsForFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	b.write("app/src/page.ts", "one")
	b.write("app/node_modules/a/index.js", "a")
	props := map[string]any{
		"run": "echo run >> runs; mkdir -p app/dist; date +%s%N > app/dist/index.js", "inputs": []any{"app"}, "outputs": []any{"app/dist", "runs"},
	}
	for _, step := range []struct {
		what string
		do   func()
		runs int
	}{
		{"first", func() {}, 1},
		{"again", func() {}, 1},
		{"a source", func() { b.write("app/src/page.ts", "two") }, 2},
		{"a package", func() { b.write("app/node_modules/a/index.js", "b") }, 2},
		{"an edited output", func() { b.write("app/dist/index.js", "other") }, 2},
		{"no output", func() { _ = os.RemoveAll(b.at("app/dist")) }, 3},
		{"further inputs", func() { props["inputs"] = []any{"app", "app/src"} }, 4},
		{"no inputs", func() { delete(props, "inputs") }, 5},
		{"no inputs again", func() { b.write("app/src/page.ts", "three") }, 5},
	} {
		step.do()
		if b.must(props); b.runs() != step.runs {
			t.Errorf("%s: %d runs, want %d", step.what, b.runs(), step.runs)
		}
	}
	if _, err := b.settle(map[string]any{"run": "true", "inputs": []any{"nowhere"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("inputs that are not there: %v", err)
	}
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	b.secret = map[tree.Path]bool{"env.PW": true}
	_, err := b.settle(map[string]any{
		"run": "echo run >> runs; echo boom $PW >&2; exit 3", "env": map[string]any{"PW": "hunter22", "OPEN": "other"},
	})
	failed, ok := errors.AsType[*CommandError](err)
	if !ok || failed.Code != 3 || failed.Stderr != "boom (secret)" {
		t.Fatalf("error %v: %+v", err, failed)
	}
	if text := err.Error(); strings.Contains(text, "hunter22") || strings.Contains(text, "other") {
		t.Errorf("the error holds variables: %s", text)
	}
	b.must(map[string]any{"run": "echo run >> runs"})
	if b.runs() != 2 {
		t.Errorf("%d runs, want a second after the failure", b.runs())
	}
	for _, run := range []any{"", []any{}, []any{"a", int64(1)}, int64(5)} {
		if _, err := b.job(map[string]any{"run": run}); err == nil {
			t.Errorf("run %v is taken", run)
		}
	}
	_, err = b.settle(map[string]any{"run": []any{"no-such-program-here"}})
	if failed, ok := errors.AsType[*CommandError](err); !ok || failed.Code != -1 {
		t.Errorf("a missing program: %v", err)
	}
}

// TestCommandWithoutPackages: a command of a project whose packages are not installed fails with the command that installs them, and no other
// command does.
func TestCommandWithoutPackages(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	fails := map[string]any{"run": "echo vite: not found >&2; exit 127", "dir": "web"}
	hints := func() string {
		_, err := b.settle(fails)
		if err == nil {
			t.Fatal("the command succeeds")
		}
		return strings.Join(reconcile.Hints(err), "\n")
	}
	b.write("web/main.js", "")
	if got := hints(); got != "" {
		t.Errorf("a folder without packages: %q", got)
	}
	b.write("web/package.json", "{}")
	if got, want := hints(), "npm install --prefix "+b.at("web")+", "; !strings.HasPrefix(got, want) {
		t.Errorf("the hint is %q, want %q…", got, want)
	}
	b.write("node_modules/vite/package.json", "{}")
	if got := hints(); got != "" {
		t.Errorf("packages that are installed above: %q", got)
	}
}

func TestCommandUndo(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	props := map[string]any{"run": "echo $A > made", "undo": "cat made; rm made; test $A = x", "env": map[string]any{"A": "x"}}
	b.must(props)
	if err := b.delete(); err != nil || b.exists("made") {
		t.Errorf("undo: %v", err)
	}
	// What cannot be undone is not deleted, whatever the reason reads like.
	for _, undo := range []any{"exit 1", []any{"no-such-program-here"}} {
		b.must(map[string]any{"run": "true", "undo": undo})
		failed, ok := errors.AsType[*CommandError](b.delete())
		if !ok || !failed.Undo || !strings.HasPrefix(failed.Error(), "undo: ") {
			t.Errorf("undo %v: %v", undo, failed)
		}
	}
}

func TestCommandOutputIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	out := b.must(map[string]any{"run": "yes äöü | head -c 500000; printf '\\377 end\\n\\n'"})
	text := out.Attrs["stdout"].(string)
	if len(text) > keptOutput || len(text) < keptOutput-8 || !strings.HasSuffix(text, "\uFFFD end") {
		t.Errorf("%d bytes kept, ending in %q", len(text), text[max(0, len(text)-10):])
	}
	if out := b.must(map[string]any{"run": "cat; echo read"}); out.Attrs["stdout"] != "read" {
		t.Errorf("input: %v", out.Attrs)
	}
}

// A secret is masked in output, also where the end that is kept begins within it.
func TestCommandOutputMasksSecrets(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{0, 1, 5, 9, 10, 11, 200_000} {
		p := execution{secrets: []string{"0123456789"}}
		out := &tail{max: 100 + p.longest()}
		text := strings.Repeat("-", extra) + strings.Repeat("0123456789", 20)
		for _, r := range text {
			if _, err := out.Write([]byte(string(r))); err != nil {
				t.Fatal(err)
			}
		}
		if masked := p.masked(out); strings.ContainsAny(masked, "0123456789") {
			t.Errorf("after %d bytes: %s", extra, masked)
		}
	}
}

// What a Go program writes means the same as its YAML twin.
func TestCommandOfGoProgram(t *testing.T) {
	t.Parallel()
	encoded, err := props.Encode(CommandProps{
		Run: []string{"sh", "-c", "echo $A"}, Env: map[string]string{"A": "x"}, Triggers: map[string]int{"n": 1}, Timeout: new(time.Minute),
	})
	want := map[string]any{
		"run": []any{"sh", "-c", "echo $A"}, "env": map[string]any{"A": "x"}, "triggers": map[string]any{"n": int64(1)}, "timeout": "1m",
	}
	if err != nil || !tree.Equal(encoded, want) {
		t.Fatalf("encoded %v (%v)", encoded, err)
	}
	b := newBench(t, commandKind.Erase())
	if out := b.must(encoded); out.Attrs["stdout"] != "x" || !tree.Equal(out.Attrs["exitCode"], int64(0)) {
		t.Errorf("attributes %v", out.Attrs)
	}
}

// TestCommandInDev: a command that dev leaves out runs in a deploy of the same stage, and what was built before a session is built again
// after it; what is ignored among its inputs does not count.
func TestCommandInDev(t *testing.T) {
	t.Parallel()
	b := newBench(t, commandKind.Erase())
	b.write("app/page.ts", "one")
	b.write("app/cache/x", "one")
	props := map[string]any{
		"run": "echo run >> runs", "inputs": []any{"app"}, "ignore": []any{"app/cache"}, "inDev": false, "undo": "echo undone >> runs",
	}
	session := &reconcile.Dev{Dir: b.at("dev")}
	for _, step := range []struct {
		what string
		dev  *reconcile.Dev
		do   func()
		runs int
	}{
		{"a session", session, func() {}, 0},
		{"a save in it", session, func() { b.write("app/page.ts", "two") }, 0},
		{"a deploy", nil, func() {}, 1},
		{"another deploy", nil, func() {}, 1},
		{"what is ignored", nil, func() { b.write("app/cache/x", "two") }, 1},
		{"a session after it", session, func() { b.write("app/page.ts", "three") }, 1},
		{"a deploy after that", nil, func() {}, 2},
		{"a session once more", session, func() {}, 2},
	} {
		b.dev = step.dev
		step.do()
		if b.must(props); b.runs() != step.runs {
			t.Errorf("%s: %d runs, want %d", step.what, b.runs(), step.runs)
		}
		if again := b.must(props); len(again.Changed) > 0 || b.runs() != step.runs {
			t.Errorf("%s again: %v, %d runs", step.what, again.Changed, b.runs())
		}
	}
	if err := b.delete(); err != nil || b.runs() != 2 {
		t.Errorf("what did not run was undone: %v, %d runs", err, b.runs())
	}
}
