package simtest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var defectFlag = flag.String("defect", "", "build one of testdata/defects in, or each in turn with all, and say that the proof finds it")

// root is the repository's.
const root = "../.."

// A defect is a mistake made on purpose: what is said of it, and shipped files as they are with it.
type defect struct {
	name, text string
	files      map[string]string // by path from the root
}

// defects reads them all. Each file says what is wrong with it, and holds pairs of texts: what stands in a file, and what
// stands there instead.
func defects(t *testing.T) []*defect {
	t.Helper()
	paths, err := filepath.Glob("testdata/defects/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no defects: %v", err)
	}
	slices.Sort(paths)
	var all []*defect
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDefect(strings.TrimSuffix(filepath.Base(path), ".txt"), txtar.Parse(data))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		all = append(all, d)
	}
	return all
}

func readDefect(name string, a *txtar.Archive) (*defect, error) {
	d := &defect{name: name, text: string(a.Comment), files: map[string]string{}}
	if len(a.Files) == 0 || len(a.Files)%2 != 0 {
		return nil, fmt.Errorf("%d parts, not pairs of old and new", len(a.Files))
	}
	for pair := range slices.Chunk(a.Files, 2) {
		path, isOld := strings.CutPrefix(pair[0].Name, "old ")
		if !isOld || pair[1].Name != "new "+path {
			return nil, fmt.Errorf("%q and %q are no pair", pair[0].Name, pair[1].Name)
		}
		text, ok := d.files[path]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, string(pair[0].Data)); n != 1 {
			return nil, fmt.Errorf("%s has what is to be replaced %d times", path, n)
		}
		d.files[path] = strings.Replace(text, string(pair[0].Data), string(pair[1].Data), 1)
	}
	for path, text := range d.files {
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// caught builds the defect in and reports whether the proof of every point finds it, which ends at the first violation, and the tests
// elsewhere that it names: each must pass without the defect, and fail with it.
func (d *defect) caught(t *testing.T) (bool, string) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range d.files {
		instead := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(instead, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		shipped, err := filepath.Abs(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		overlay.Replace[shipped] = instead
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	caught := true
	if runs := d.runs(); len(runs) > 0 {
		binary := d.build(t, "engine/simtest", "-overlay", file)
		for _, args := range runs {
			out, err := play(t, binary, "engine/simtest", append([]string{"-test.run=^TestProof$", "-test.cpu=1", "-proof=sure"}, args...)...)
			caught = caught && err != nil
			fmt.Fprintf(&said, "%v: found %v\n%s", args, err != nil, out)
		}
	}
	for _, e := range d.elsewhere() {
		only := "-test.run=^" + e.test + "$"
		if out, err := play(t, d.build(t, e.folder), e.folder, only); err != nil {
			t.Fatalf("%s does not pass without %s: %v\n%s", e.test, d.name, err, out)
		}
		out, err := play(t, d.build(t, e.folder, "-overlay", file), e.folder, only)
		caught = caught && err != nil
		fmt.Fprintf(&said, "%s (%s): found %v\n%s", e.test, e.folder, err != nil, out)
	}
	return caught, said.String()
}

// build builds the tests of a folder and returns the binary.
func (d *defect) build(t *testing.T, folder string, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "defect.test")
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"test", "-c", "-o", binary}, flags, []string{"."})...)
	cmd.Dir = filepath.Join(root, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s with %v does not build in %s: %v\n%s", d.name, flags, folder, err, out)
	}
	return binary
}

// play runs a binary of tests in its folder.
func play(t *testing.T, binary, folder string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"-test.timeout=20m"}, args...)...)
	cmd.Dir = filepath.Join(root, folder)
	return cmd.CombinedOutput()
}

// foundByColumn is how a defect names the next command whose cases alone must find it.
var foundByColumn = regexp.MustCompile(`Found by the next command "([^"]+)"`)

// foundByTest is how a defect names a test elsewhere that must find it.
var foundByTest = regexp.MustCompile(`Found by the test (Test\w+) in ([\w/]+)`)

// testElsewhere is a test of another package.
type testElsewhere struct{ test, folder string }

// elsewhere are the tests of other packages that must each find the defect.
func (d *defect) elsewhere() []testElsewhere {
	var all []testElsewhere
	for _, found := range foundByTest.FindAllStringSubmatch(d.text, -1) {
		all = append(all, testElsewhere{found[1], found[2]})
	}
	return all
}

// runs are the proofs that must each find the defect: all of it, or what the model says where what the engine says of itself
// does not count; and for each next command that the defect names the cases of that alone. There are none of a defect that the
// simulated cloud cannot show, such as one of processes, files or the declaration of a program.
func (d *defect) runs() [][]string {
	if strings.Contains(d.text, "No simulated cloud shows it.") {
		return nil
	}
	var model []string
	if strings.Contains(d.text, "Found by the model alone.") {
		model = []string{"-model"}
	}
	all := [][]string{model}
	for _, column := range foundByColumn.FindAllStringSubmatch(d.text, -1) {
		all = append(all, append([]string{"-column=" + column[1]}, model...))
	}
	return all
}

// TestDefectsFit: a defect that no longer fits the code it is made for proves nothing.
func TestDefectsFit(t *testing.T) {
	for _, d := range defects(t) {
		if strings.TrimSpace(d.text) == "" {
			t.Errorf("%s: nothing is said of it", d.name)
		}
		for _, column := range foundByColumn.FindAllStringSubmatch(d.text, -1) {
			if slices.ContainsFunc(columns(), func(c nextCommand) bool { return c.name == column[1] }) {
				continue
			}
			t.Errorf("%s: there is no next command %q", d.name, column[1])
		}
		for _, e := range d.elsewhere() {
			if !declares(t, filepath.Join(root, e.folder), e.test) {
				t.Errorf("%s: %s has no %s", d.name, e.folder, e.test)
			}
		}
		if len(d.runs())+len(d.elsewhere()) == 0 {
			t.Errorf("%s: nothing is to find it", d.name)
		}
	}
}

// proveDefects builds each defect in, two at a time, and expects the proof to fail. Those that pass unseen are returned.
func proveDefects(t *testing.T, name string) (found int, unseen []string) {
	var mu sync.Mutex
	t.Run("defects", func(t *testing.T) {
		for _, d := range defects(t) {
			if name != "" && d.name != name {
				continue
			}
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				caught, out := d.caught(t)
				mu.Lock()
				defer mu.Unlock()
				if caught {
					found++
				} else {
					unseen = append(unseen, d.name)
				}
				if name != "" {
					t.Log(out)
				}
			})
		}
	})
	return found, unseen
}

// TestNextCommandsHaveDefects: each next command is named by a defect that its cases alone must find.
func TestNextCommandsHaveDefects(t *testing.T) {
	named := map[string]bool{}
	for _, d := range defects(t) {
		for _, column := range foundByColumn.FindAllStringSubmatch(d.text, -1) {
			named[column[1]] = true
		}
	}
	for _, c := range columns() {
		if !named[c.name] {
			t.Errorf("no defect names the next command %q", c.name)
		}
	}
}
