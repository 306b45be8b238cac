package simtest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/simtest"
)

var updateFlag = flag.String("update", "", "write the golden blocks of these scenarios anew: names or patterns, with ; between them")

// goldens are the blocks of one golden file, by scenario.
type goldens map[string]string

const goldenHead = "== "

func goldenPath(group string) string {
	return filepath.Join("testdata", "golden", strings.ReplaceAll(group, " ", "-")+".txt")
}

func readGoldens(t *testing.T, group string) goldens {
	t.Helper()
	data, err := os.ReadFile(goldenPath(group))
	if os.IsNotExist(err) {
		return goldens{}
	} else if err != nil {
		t.Fatal(err)
	}
	all := goldens{}
	for block := range strings.SplitSeq("\n"+string(data), "\n"+goldenHead) {
		if name, text, ok := strings.Cut(block, "\n"); ok && name != "" {
			all[name] = strings.TrimSuffix(text, "\n")
		}
	}
	return all
}

func (g goldens) write(t *testing.T, group string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(g)) {
		fmt.Fprintf(&b, "%s%s\n%s\n", goldenHead, name, g[name])
	}
	if err := os.MkdirAll(filepath.Dir(goldenPath(group)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenPath(group), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asked reports whether the golden block of a scenario is to be written anew. Everything at once is not to be had.
func asked(t *testing.T, name string) bool {
	t.Helper()
	for pattern := range strings.SplitSeq(*updateFlag, ";") {
		if strings.HasPrefix(pattern, "*") || strings.HasPrefix(pattern, "?") {
			t.Fatal("-update needs the name of a scenario, or how names begin")
		}
		if ok, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(name, "/", "|")); err != nil {
			t.Fatalf("-update=%s: %v", pattern, err)
		} else if ok || pattern == name {
			return true
		}
	}
	return false
}

// TestGolden: what every scenario plans, does and leaves when nothing disturbs it is what it was. Golden blocks are
// written anew with -update=NAME, in a commit that says why.
func TestGolden(t *testing.T) {
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			was, is, written := readGoldens(t, g.name), goldens{}, false
			var differ []string
			for _, sc := range g.scenarios {
				have := sc.golden(t)
				switch is[sc.name] = was[sc.name]; {
				case have == was[sc.name]:
				case asked(t, sc.name):
					is[sc.name], written = have, true
				default:
					differ = append(differ, sc.name)
					t.Errorf("%s:\n%s", sc.name, difference(was[sc.name], have))
				}
			}
			for name := range was {
				if _, known := is[name]; !known && asked(t, name) {
					written = true
				} else if !known {
					is[name], differ = was[name], append(differ, name)
					t.Errorf("%s: there is no such scenario any more", name)
				}
			}
			if written {
				is.write(t, g.name)
			}
			if len(differ) > 0 {
				t.Errorf("if this is meant: go test ./engine/simtest -run TestGolden -update='%s'", strings.Join(differ, ";"))
			}
		})
	}
}

// difference shows the lines that went and those that came.
func difference(was, is string) string {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	var b strings.Builder
	for _, l := range old {
		if !slices.Contains(now, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// golden is what is kept of the undisturbed run of a scenario: its plan as JSON, an action a line; the names of its
// events, sorted; its calls by verb; its commits; how it ended, and a digest of the end state.
func (sc *scenario) golden(t *testing.T) string {
	t.Helper()
	ref := sc.inBubble(t, point{}, nil)
	var b strings.Builder
	if ref.first == nil {
		return fmt.Sprint(ref.wrong)
	}
	planLines(t, &b, ref.first)
	var reads, writes, commits []string
	calls := map[string]int{}
	for _, e := range ref.first.Events {
		switch e.Sort {
		case simtest.Reading:
			reads = append(reads, e.Name)
			calls["read"]++
		case simtest.Writing:
			writes = append(writes, e.Name)
			verb, _, _ := strings.Cut(e.Name, " ")
			calls[verb]++
		default:
			commits = append(commits, e.Name)
		}
	}
	for _, list := range []struct {
		name   string
		events []string
	}{{"reads", reads}, {"writes", writes}, {"rows", commits}} {
		if slices.Sort(list.events); len(list.events) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", list.name, strings.Join(list.events, ", "))
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(&b, "%s %d, ", verb, calls[verb])
	}
	if r := ref.first.Result; r != nil {
		fmt.Fprintf(&b, "commits %d, %s, ", r.Commits, r.State)
	}
	fmt.Fprintf(&b, "end %s\n", ref.digest())
	if !sc.do.PlanOnly && ref.first.Failed() {
		fmt.Fprintf(&b, "fails: %v\n", failure(ref.first))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// planLines writes a plan as it reads in JSON: an action a line, and what is said of the plan as a whole, but for what
// changes with every program.
func planLines(t *testing.T, b *strings.Builder, r *simtest.Report) {
	t.Helper()
	if r.Plan == nil {
		return
	}
	data, err := json.Marshal(r.Plan)
	if err != nil {
		t.Fatal(err)
	}
	var plan map[string]json.RawMessage
	if err := json.Unmarshal(data, &plan); err != nil {
		t.Fatal(err)
	}
	var actions []map[string]any
	if err := json.Unmarshal(plan["actions"], &actions); err != nil {
		t.Fatal(err)
	}
	for i, a := range actions {
		fmt.Fprintf(b, "%v %v %v ", a["address"], a["action"], a["kind"])
		for _, said := range []string{"address", "action", "kind", "place", "steps"} {
			delete(a, said)
		}
		b.WriteString(text(t, a) + "\n")
		if i < len(r.Plan.Actions) {
			b.WriteString(announcements(&r.Plan.Actions[i]))
		}
	}
	for _, left := range []string{"actions", "format", "stack", "stage", "digest", "serial", "summary", "made", "store"} {
		delete(plan, left)
	}
	for _, name := range slices.Sorted(maps.Keys(plan)) {
		fmt.Fprintf(b, "%s %s\n", name, plan[name])
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
