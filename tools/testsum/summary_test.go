package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// module writes files, by name, into a module of its own.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module sample\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const header = "package a\n\nimport \"testing\"\n\n"

func TestSummaryOfRealRuns(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		noSkips bool
		code    int
		want    []string
		never   string
	}{
		{"passes", map[string]string{"a/a_test.go": header + `
func TestOne(t *testing.T) { t.Log("chatter"); t.Run("sub", func(t *testing.T) {}) }
`}, false, 0, []string{"ok    sample/a  2 tests", "2 passed, 0 failed, 0 skipped"}, "chatter"},

		{"fails", map[string]string{"a/a_test.go": header + `
func TestGood(t *testing.T) { t.Log("chatter") }
func TestBad(t *testing.T)  { t.Log("before"); t.Error("is bad") }
`}, false, 1, []string{"FAIL  sample/a", "before", "is bad", "1 passed, 1 failed, 0 skipped"}, "chatter"},

		{"skips", map[string]string{"a/a_test.go": header + `
func TestFar(t *testing.T) { t.Skip("no moon") }
`}, false, 0, []string{"skip  sample/a.TestFar: a_test.go:6: no moon", "0 passed, 0 failed, 1 skipped"}, ""},

		{"skips forbidden", map[string]string{"a/a_test.go": header + `
func TestFar(t *testing.T) { t.Skip("no moon") }
`}, true, 1, []string{"no moon", "0 passed, 0 failed, 1 skipped"}, ""},

		{"ends in the middle", map[string]string{"a/a_test.go": "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n" + `
func TestExit(t *testing.T) { t.Run("sub", func(t *testing.T) { os.Exit(3) }) }
`}, false, 1, []string{"FAIL  sample/a", "cut   sample/a.TestExit, after ", "cut   sample/a.TestExit/sub, after ", "0 passed, 2 failed, 0 skipped"}, "slow  "},

		{
			"does not build",
			map[string]string{"a/a_test.go": header + "func TestA(t *testing.T) { undefined() }\n"},
			false, 1,
			[]string{"FAIL  sample/a", "undefined: undefined", "0 passed, 1 failed, 0 skipped"},
			"",
		},

		{"panics", map[string]string{"a/a_test.go": header + `
func TestGood(t *testing.T) {}
func TestBoom(t *testing.T) { panic("boom") }
`}, false, 1, []string{"panic: boom", "1 passed, 1 failed, 0 skipped"}, ""},

		{"exits", map[string]string{"a/a_test.go": "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n" + `
func TestGood(t *testing.T) {}
func TestGone(t *testing.T) { os.Exit(3) }
`}, false, 1, []string{"1 passed, 1 failed, 0 skipped"}, ""},

		{"nothing to run", map[string]string{"b/b.go": "package b\n"}, false, 0, []string{"0 passed, 0 failed, 0 skipped"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			tally := filepath.Join(t.TempDir(), "tally")
			failures := filepath.Join(t.TempDir(), "failures")
			code, err := run(options{dir: module(t, tt.files), noSkips: tt.noSkips, tally: tally, failures: failures, args: []string{"./..."}}, &out)
			if code != tt.code || (err != nil) != tt.noSkips {
				t.Errorf("code %d, error %v; want code %d", code, err, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not say %q", want)
				}
			}
			if tt.never != "" && strings.Contains(out.String(), tt.never) {
				t.Errorf("says %q", tt.never)
			}
			counts, err := os.ReadFile(tally)
			last := out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]
			if want := strings.NewReplacer(" passed,", "", " failed,", "", " skipped", "").Replace(last); err != nil || string(counts) != want {
				t.Errorf("tally %q, %v; want %q", counts, err, want)
			}
			again, err := os.ReadFile(failures)
			if fails := strings.Contains(out.String(), "FAIL  "); fails != (err == nil) || fails && !strings.HasPrefix(string(again), "FAIL  sample/a\n") {
				t.Errorf("told once more: %q, %v", again, err)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// The report of the time limit is given by go test to a test that passed.
func TestTimeLimit(t *testing.T) {
	var out strings.Builder
	dir := module(t, map[string]string{"a/a_test.go": header + `
func TestStuck(t *testing.T) { t.Parallel(); <-t.Context().Done() }
func TestOver(t *testing.T)  { t.Parallel(); t.Log("--- a line"); t.Log("chatter") }
`})
	code, err := run(options{dir: dir, args: []string{"-timeout=2s", "./..."}}, &out)
	if code != 1 || err != nil {
		t.Errorf("code %d, error %v; want 1", code, err)
	}
	for _, want := range []string{"panic: test timed out after 2s", "cut   sample/a.TestStuck, after ", "1 passed, 1 failed, 0 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q", want)
		}
	}
	if t.Failed() || strings.Contains(out.String(), "chatter") {
		t.Error(out.String())
	}
}

// TestMain makes this binary testsum itself, as go test -exec runs it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == measured {
		os.Exit(measure(os.Args[2:], os.Stdout))
	}
	os.Exit(m.Run())
}

// TestProcessorTime holds -cpu to the processor time of a package whose child is busy, and to the failures of a run that
// is not measured.
func TestProcessorTime(t *testing.T) {
	const busy = `
func spin() {
	var used syscall.Rusage
	for used.Utime.Nano() < 3e8 {
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	}
}
`
	files := map[string]string{
		"a/a_test.go": `package a

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)
` + busy + `
func TestChild(t *testing.T) {
	if os.Getenv("CHILD") != "" {
		spin()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "CHILD=1")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
`,
		"b/b_test.go": header + "func TestBad(t *testing.T) { t.Error(\"is bad\") }\n",
		"c/c_test.go": `package c

import (
	"os"
	"syscall"
	"testing"
)

func TestEnds(t *testing.T) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
`,
	}
	var out strings.Builder
	code, err := run(options{dir: module(t, files), cpu: true, args: []string{"./..."}}, &out)
	if code != 1 || err != nil {
		t.Errorf("code %d, error %v; want 1", code, err)
	}
	took := regexp.MustCompile(`ok    sample/a .*, ([0-9.]+)s of processor time\n`).FindStringSubmatch(out.String())
	if took == nil {
		t.Fatalf("no processor time:\n%s", out.String())
	}
	if seconds, err := strconv.ParseFloat(took[1], 64); err != nil || seconds < 0.3 {
		t.Errorf("%s s of processor time, and the child alone takes 0.3", took[1])
	}
	for _, want := range []string{"is bad", "sample/c.TestEnds", "signal: killed", "1 passed, 2 failed, 0 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestGarbage: tests run with more garbage than Go lets pile up by itself, unless somebody says how much.
func TestGarbage(t *testing.T) {
	for said, want := range map[string]string{"": "400", "50": "50"} {
		t.Setenv("GOGC", said)
		var out strings.Builder
		code, err := run(options{dir: module(t, map[string]string{"a/a_test.go": "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n" + `
func TestIt(t *testing.T) { t.Error("GOGC is " + os.Getenv("GOGC")) }
`}), args: []string{"./..."}}, &out)
		if code != 1 || err != nil || !strings.Contains(out.String(), "GOGC is "+want+"\n") {
			t.Errorf("code %d, error %v, said %q; want GOGC %s", code, err, out.String(), want)
		}
	}
}

// TestAtOnce: as many packages are tested at once as somebody says, or two for each processor.
func TestAtOnce(t *testing.T) {
	for _, tt := range []struct {
		goflags    string
		processors int
		want       string
	}{
		{"", 1, "-p=2"}, {"", 2, "-p=4"}, {"-buildvcs=false", 8, "-p=16"}, {"-trimpath -p=1", 2, ""}, {"--p=1", 2, ""},
	} {
		if got := strings.Join(atOnce(tt.goflags, tt.processors), " "); got != tt.want {
			t.Errorf("GOFLAGS=%q on %d processors: %q, want %q", tt.goflags, tt.processors, got, tt.want)
		}
	}
}

func TestBrokenPattern(t *testing.T) {
	var out strings.Builder
	code, err := run(options{dir: module(t, map[string]string{}), args: []string{"./none"}}, &out)
	if code == 0 || err != nil || !strings.Contains(out.String(), "1 failed") {
		t.Errorf("code %d, error %v, said %q; want a failure", code, err, out.String())
	}
}

func TestWhatIsNoEventIsShown(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	if err := read(strings.NewReader("warning: odd\n{}\nlast"), s); err != nil {
		t.Fatal(err)
	}
	if out.String() != "warning: odd\n{}\nlast" {
		t.Errorf("showed %q", out.String())
	}
}
