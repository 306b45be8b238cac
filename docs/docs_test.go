package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/docs"
)

// TestSearch: what people ask for finds a section of the page that answers it among the first three.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"how do I create a new stage":            "howto/stages.md",
		"rotate the key of a stage":              "secrets.md",
		"state in PostgreSQL":                    "stores.md",
		"exit codes":                             "cli.md",
		"zero downtime replacement":              "howto/replace.md",
		"move from terraform":                    "from-terraform.md",
		"migrations of D1":                       "cloudflare.md",
		"worker with a database, tutorial":       "tutorial-worker.md",
		"github actions comment on pull request": "ci.md",
		"refuse plans by a policy":               "howto/policies.md",
	} {
		found := docs.Search(query, 3)
		if !slices.ContainsFunc(found, func(s docs.Section) bool { return s.Page == want }) {
			t.Errorf("%q finds %s, want %s", query, names(found), want)
		}
	}
	if found := docs.Search("xyzzy", 3); found != nil {
		t.Errorf("a word of no page finds %s", names(found))
	}
	if found := docs.Search("", 3); found != nil {
		t.Errorf("nothing finds %s", names(found))
	}
	if found := docs.Search("deploy", 2); len(found) != 2 {
		t.Errorf("%d sections, want 2", len(found))
	}
}

func names(found []docs.Section) (out []string) {
	for _, s := range found {
		out = append(out, s.Page+" ("+s.Heading+")")
	}
	return out
}

// TestPages: every page can be read by its name, and no other file of the machine.
func TestPages(t *testing.T) {
	all := docs.Pages()
	for _, want := range []string{"cli.md", "howto/stages.md"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not carried", want)
		}
	}
	for _, name := range all {
		if text, err := docs.Page(name); err != nil || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
	for _, name := range []string{"../README.md", "docs.go", "howto", "", "/etc/passwd"} {
		if _, err := docs.Page(name); !errors.Is(err, docs.ErrNoPage) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every picture of a terminal is linked, and every link leads to one.
func TestTerminalPictures(t *testing.T) {
	page, err := docs.Page("cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for _, m := range regexp.MustCompile(`\((terminal/[^)]+)\)`).FindAllStringSubmatch(page, -1) {
		linked = append(linked, m[1])
	}
	taken, err := filepath.Glob("terminal/*.png")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(linked)
	if len(taken) == 0 || !slices.Equal(linked, taken) {
		t.Errorf("cli.md links %q, taken are %q (task terminal:shots)", linked, taken)
	}
}

// TestForty holds the table of the comparison to its forty points, each with a sign for every tool, and to what athanor
// lacks of them.
func TestForty(t *testing.T) {
	page, err := docs.Page("comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	const mostLacking = 3
	points, lacking := 0, 0
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \|$`).FindAllStringSubmatch(page, -1) {
		points++
		cells := strings.Split(row[2], " | ")
		if row[1] != strconv.Itoa(points) || len(cells) != 7 {
			t.Errorf("row %d: %s", points, row[0])
			continue
		}
		for _, mark := range cells[1:] {
			if !slices.Contains([]string{"●", "◐", "○", "–"}, mark) {
				t.Errorf("point %d has the mark %q", points, mark)
			}
		}
		if cells[1] == "○" {
			lacking++
		}
	}
	if points != 40 || lacking > mostLacking {
		t.Errorf("%d points, of which athanor lacks %d; at most %d of 40", points, lacking, mostLacking)
	}
}

// evidence names a test of each point that athanor has, whole or in part: file:function, or a script of the command.
var evidence = map[int]string{
	1:  "engine/announced_test.go:TestOnlyWhatWasAnnouncedIsDone",
	2:  "engine/drift_test.go:TestDriftIsSeenAndRepaired",
	3:  "cmd/render/screens_test.go:TestAllDrawn",
	4:  "providers/aws/stacks/calls_test.go:TestCallsAreFew",
	5:  "engine/plan_test.go:TestPlanWritesNothing",
	6:  "engine/run_test.go:TestSavedPlans",
	7:  "reviewed.txtar",
	8:  "iam.txtar",
	9:  "cmd/athanor/kill_test.go:TestKill",
	10: "cmd/athanor/kill_local_test.go:TestKillHere",
	11: "cmd/athanor/runs_test.go:TestStoppedPastItsLease",
	12: "engine/run_test.go:TestFencedInMidRun",
	13: "providers/conformance_test.go:TestReplacementsAgree",
	14: "engine/engine_test.go:TestDataIsGuarded",
	15: "engine/engine_test.go:TestFailureStopsDependentsAlone",
	16: "reconcile/rate/limiter_test.go:TestControl",
	17: "engine/simtest/proof_test.go:TestProof",
	18: "cmd/athanor/postgres_test.go:TestRecordInADatabase",
	20: "engine/plan_test.go:TestSecretsAreNowhere",
	21: "rotate.txtar",
	22: "runs.txtar",
	23: "evaluate_test.go:TestHooksAndPolicies",
	24: "stages.txtar",
	25: "reap.txtar",
	26: "untrusted.txtar",
	27: "gomain.txtar",
	29: "badinput.txtar",
	30: "cmd/athanor/dev_go_test.go:TestDevOfAGoProgram",
	31: "examples/house/lamps/lamp_test.go:TestLamp",
	32: "examples/house/lamps/lamp_test.go:TestLamp",
	33: "cmd/athanor/dev_test.go:TestDevDeploysEachSave",
	34: "tools/release/install_test.go:TestInstall",
	35: "examples/types/types_test.go:TestEveryUsedTypeHasAnExample",
	36: "examples/templates/templates_test.go:TestWorkerFullstack",
	37: "cmd/athanor/terraform_test.go:TestTerraformProvider",
	38: "adopt.txtar",
	39: "cmd/athanor/adopt_state_test.go:TestAdoptRealStates",
}

// TestFortyAreShown: each point that the comparison claims has a test, and no other point.
func TestFortyAreShown(t *testing.T) {
	page, err := docs.Page("comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| [^|]+ \| (.) \|`).FindAllStringSubmatch(page, -1) {
		point, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		where, shown := evidence[point]
		if claimed := row[2] != "○"; claimed != shown {
			t.Errorf("point %d is %s and has the evidence %q", point, row[2], where)
		}
		if !shown {
			continue
		}
		file, name, is := strings.Cut(where, ":")
		if !is {
			file = "cmd/athanor/testdata/script/" + where
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil || is && !strings.Contains(string(text), "\nfunc "+name+"(") {
			t.Errorf("point %d: %s: %v", point, where, err)
		}
	}
}

// TestFirstHour holds the sessions of a newcomer to what they must show: in both languages something is deployed, changed, broken, fixed and
// destroyed, in five minutes of the machine at most, with at most two wrong guesses, which the table of the page counts.
func TestFirstHour(t *testing.T) {
	const mostGuesses, longest = 2, 5 * time.Minute
	table, err := docs.Page("first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(first-hour/([a-z-]+)\.md\) \| (\d) \|`).FindAllStringSubmatch(table, -1)
	if len(rows) != 6 {
		t.Errorf("%d templates are listed", len(rows))
	}
	for _, row := range rows {
		page, err := docs.Page("first-hour/" + row[2] + ".md")
		if err != nil || row[1] != row[2] {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		guesses := len(regexp.MustCompile(`\*\*[Ww]rong guess \d\*\*`).FindAllString(page, -1))
		if fmt.Sprint(guesses) != row[3] || guesses > mostGuesses {
			t.Errorf("%s: %d wrong guesses, and the table says %s; at most %d", row[1], guesses, row[3], mostGuesses)
		}
		inYAML, inGo, both := strings.Cut(page, "\n## In Go\n")
		if _, inYAML, _ = strings.Cut(inYAML, "\n## In YAML\n"); !both || inYAML == "" {
			t.Errorf("%s: both languages are played, each under its heading", row[1])
		}
		for language, session := range map[string]string{"YAML": inYAML, "Go": inGo} {
			at := 0
			for _, step := range []string{"athanor init", "athanor deploy", "Changed", "Broken", "fixed", "Destroyed", "athanor destroy"} {
				i := strings.Index(session[at:], step)
				if i < 0 {
					t.Errorf("%s in %s: nothing is %q in its order", row[1], language, step)
					break
				}
				at += i
			}
			clock := regexp.MustCompile(`(?m)^\$ date \+%T\n(\d\d:\d\d:\d\d)$`).FindAllStringSubmatch(session, -1)
			if len(clock) != 2 {
				t.Errorf("%s in %s: the clock is read %d times", row[1], language, len(clock))
				continue
			}
			begun, err := time.Parse(time.TimeOnly, clock[0][1])
			ended, also := time.Parse(time.TimeOnly, clock[1][1])
			if err != nil || also != nil || ended.Before(begun) || ended.Sub(begun) > longest {
				t.Errorf("%s in %s: from %s to %s", row[1], language, clock[0][1], clock[1][1])
			}
		}
	}
}
