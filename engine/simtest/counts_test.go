package simtest_test

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spent is what a scenario costs when nothing disturbs it.
type spent struct {
	commits int
	// reads are counted by address; those of no address, listings among them, under anywhere.
	reads map[string]int
	// changed are the addresses that its plan changes, or its calls.
	changed map[string]bool
	destroy bool
}

const anywhere = "*"

var (
	readsLine  = regexp.MustCompile(`(?m)^reads: (.*)$`)
	writesLine = regexp.MustCompile(`(?m)^writes: (.*)$`)
	planLine   = regexp.MustCompile(`(?m)^(\S+) (create|adopt|recover|update|replace|delete|move|forget) sim\.`)
	commitsIn  = regexp.MustCompile(`(?m), commits (\d+),`)
)

// spentIn reads a golden block.
func spentIn(t *testing.T, block string) spent {
	t.Helper()
	s := spent{reads: map[string]int{}, changed: map[string]bool{}, destroy: strings.Contains(block, "\ndestroy true\n")}
	if m := readsLine.FindStringSubmatch(block); m != nil {
		for read := range strings.SplitSeq(m[1], ", ") {
			s.reads[readOf(read)]++
		}
	}
	for _, m := range planLine.FindAllStringSubmatch(block, -1) {
		s.changed[m[1]] = true
	}
	if m := writesLine.FindStringSubmatch(block); m != nil {
		for write := range strings.SplitSeq(m[1], ", ") {
			words := strings.Fields(write)
			address, _, _ := strings.Cut(words[len(words)-1], "/")
			s.changed[address] = true
		}
	}
	if m := commitsIn.FindStringSubmatch(block); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		s.commits = n
	}
	return s
}

// readOf is the address that a read is of.
func readOf(event string) string {
	words := strings.Fields(strings.TrimPrefix(event, "plan "))
	if len(words) > 1 && words[0] == "read" && words[1] != "discover" && words[1] != "list" {
		return words[1]
	}
	return anywhere
}

// recorded are the counts from before the engine was rebuilt.
func recorded(t *testing.T) map[string]spent {
	t.Helper()
	data, err := os.ReadFile("testdata/before.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]spent{}
	line := regexp.MustCompile(`^(.*): commits (\d+), reads (.*)$`)
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "#") {
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("before.txt: %q", text)
		}
		s := spent{reads: map[string]int{}}
		s.commits, _ = strconv.Atoi(m[2])
		for pair := range strings.FieldsSeq(m[3]) {
			if address, n, counted := strings.Cut(pair, "="); counted {
				s.reads[address], _ = strconv.Atoi(n)
			}
		}
		all[m[1]] = s
	}
	return all
}

// dearer are the scenarios that may cost more than one read more for each changed resource: patterns, and why.
var dearer = []struct {
	scenario       string
	reads, commits int // more, in all
	why            string
}{
	{"*destroy*", 1, 0, "a destroy asks each location for owner tags: what no entry has is destroyed too"},
	{"a user that was moved over goes before its new upstream", 1, 0, "it is a destroy"},
	{"destroy: candidate, *", 2, 0, "what the program declares and no entry has is looked for: a read and a listing"},
	{"destroy: intent, *", 2, 0, "the same"},
	{"destroy: condemned, *", 2, 0, "the same"},
	{"destroy: condemned and gone, *", 2, 0, "the same"},
	{"*: intent after a deletion, *", 1, 0, "a creation that was begun with other values is looked for by those: a listing"},
	{"*: live and intent, *", 1, 0, "a creation that was begun with other values is looked for by those, beside the live object"},
	{"*: live and made, *", 1, 1, "the same; its identity is durable before it is changed or deleted"},
	{"the new one was denied, and changed again", 1, 0, "the same"},
	{"*: intent, made, *", 0, 1, "the identity of what an interrupted run created is durable before it is changed"},
	{"begun, and larger now", 0, 1, "the same"},
	{"close a cycle", 0, 1, "the entry of the resource that itself does not change has the path through which the cycle is opened"},
	{"replace a command", 0, 1, "what acts on the outside is in state as started"},
	{"run a command", 0, 1, "the same"},
	{"undo a command", 0, 1, "so is an undo"},
}

// TestCallsAndCommits holds every scenario to what it cost before the engine was rebuilt: at most one read more for each changed
// resource, none for an unchanged one, and no commit. TestGolden holds the blocks to what runs do.
func TestCallsAndCommits(t *testing.T) {
	before, used, held := recorded(t), map[string]bool{}, 0
	for _, group := range groups() {
		for name, block := range readGoldens(t, group.name) {
			was, there := before[name]
			if !there {
				continue // it is younger
			}
			held++
			delete(before, name)
			now := spentIn(t, block)
			beyond := map[string]int{}
			for address, n := range now.reads {
				allowed := was.reads[address]
				if now.changed[address] {
					allowed++
				}
				beyond[address] = max(0, n-allowed)
			}
			reads, commits := 0, max(0, now.commits-was.commits)
			for _, n := range beyond {
				reads += n
			}
			for _, d := range dearer {
				if is, err := path.Match(d.scenario, name); err != nil {
					t.Fatal(err)
				} else if is && (reads > 0 && d.reads > 0 || commits > 0 && d.commits > 0) {
					used[d.scenario] = true
					reads, commits = max(0, reads-d.reads), max(0, commits-d.commits)
				}
			}
			if reads > 0 || commits > 0 {
				t.Errorf("%s: %d reads and %d commits too many: %v, and %d commits; before %v and %d", name, reads, commits, now.reads, now.commits, was.reads, was.commits)
			}
		}
	}
	for _, d := range dearer {
		if !used[d.scenario] {
			t.Errorf("nothing is dearer any more as %q", d.scenario)
		}
	}
	if missing := slices.Sorted(maps.Keys(before)); len(missing) > 0 {
		t.Errorf("no golden has %q", missing)
	}
	t.Logf("%d scenarios cost no more than before, but for %d named classes", held, len(dearer))
}
