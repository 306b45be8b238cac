package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// An event is one line of go test -json, see go doc test2json.
type event struct {
	Time        time.Time
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// A summary gathers events. Counts include subtests; a package that fails without a failing test (it does
// not build, it panics outside tests, it exits) counts as one failure.
type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*pkg
	builds                  map[string][]string // output of the compiler, by package
	skips                   []string
	unfinished              []string // what ran when its process ended, for how long
	slow                    []timed  // tests that took slowTest and longer
	failures                []string // of each package that failed its name and the last lines of what it printed
}

// failureLines is how much of a package's failure is told once more: a log of thousands of lines is often kept by its two ends.
const failureLines = 40

// slowTest is what a test of its own takes that is worth a line at the end: a slow suite is a defect.
const slowTest = 30 * time.Second

type timed struct {
	name string
	took time.Duration
}

type pkg struct {
	lines  []line
	state  map[string]string    // by test: run, pass, fail, skip
	since  map[string]time.Time // when each that runs began or went on
	cached bool
	cpu    time.Duration // 0: not measured
}

type line struct{ test, text string }

func newSummary(out io.Writer) *summary {
	return &summary{out: out, packages: map[string]*pkg{}, builds: map[string][]string{}}
}

// print writes to standard output, where nothing better can be done about an error than to go on.
func (s *summary) print(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

func (s *summary) add(e event) {
	switch e.Action {
	case "build-output":
		s.builds[e.ImportPath] = append(s.builds[e.ImportPath], e.Output)
		return
	case "build-fail":
		return
	}
	p := s.packages[e.Package]
	if p == nil {
		p = &pkg{state: map[string]string{}, since: map[string]time.Time{}}
		s.packages[e.Package] = p
	}
	switch {
	case e.Action == "output":
		p.output(e)
	case e.Test == "":
		s.packageDone(e, p)
	case e.Action == "run", e.Action == "cont":
		p.state[e.Test], p.since[e.Test] = "run", e.Time
	case e.Action == "pause":
		delete(p.since, e.Test)
	case e.Action == "pass", e.Action == "fail", e.Action == "skip":
		s.testDone(e, p)
	}
}

func (p *pkg) output(e event) {
	if e.Test == "" && strings.HasSuffix(strings.TrimSpace(e.Output), "(cached)") {
		p.cached = true
	}
	if cpu, ok := cpuOf(e.Output); ok && e.Test == "" {
		p.cpu = cpu
		return
	}
	for _, frame := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(e.Output, frame) {
			return
		}
	}
	p.lines = append(p.lines, line{e.Test, e.Output})
}

func (s *summary) testDone(e event, p *pkg) {
	p.state[e.Test] = e.Action
	took := time.Duration(e.Elapsed * float64(time.Second))
	if took >= slowTest && !strings.Contains(e.Test, "/") {
		s.slow = append(s.slow, timed{e.Package + "." + e.Test, took})
	}
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
	case "skip":
		s.skipped++
		s.skips = append(s.skips, fmt.Sprintf("%s.%s: %s", e.Package, e.Test, p.reason(e.Test)))
	}
	if e.Action != "fail" { // what it printed is of no more use
		p.forget(e.Test)
	}
}

// forget drops what a test printed up to its result. What comes after that is the process's: go test gives the report of a
// panic or of the time limit to the test that printed last, and says of some only then that they passed.
func (p *pkg) forget(test string) {
	over := false
	p.lines = slices.DeleteFunc(p.lines, func(l line) bool {
		drop := l.test == test && !over
		text := strings.TrimLeft(l.text, " ")
		over = over || l.test == test && (strings.HasPrefix(text, "--- PASS: "+test) || strings.HasPrefix(text, "--- SKIP: "+test))
		return drop
	})
}

func (p *pkg) reason(test string) string {
	var words []string
	for _, l := range p.lines {
		text := strings.TrimSpace(l.text)
		if l.test == test && text != "" && !strings.HasPrefix(text, "--- SKIP") {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

func (s *summary) packageDone(e event, p *pkg) {
	defer delete(s.packages, e.Package)
	switch e.Action {
	case "pass":
		s.print("ok    %s  %d tests, %s\n", e.Package, len(p.state), p.took(e))
	case "fail":
		s.print("FAIL  %s\n", e.Package)
		s.packageFailed(e, p)
	}
}

func (p *pkg) took(e event) string {
	if p.cached {
		return "cached"
	}
	if p.cpu > 0 {
		return fmt.Sprintf("%.1fs, %.1fs of processor time", e.Elapsed, p.cpu.Seconds())
	}
	return fmt.Sprintf("%.1fs", e.Elapsed)
}

// packageFailed prints what failing and unfinished tests printed, and what the package printed itself.
func (s *summary) packageFailed(e event, p *pkg) {
	blamed := false
	for _, test := range sortedKeys(p.state) {
		state := p.state[test]
		if state == "run" { // it was running when the process ended
			s.failed++
			if begun, ok := p.since[test]; ok {
				s.unfinished = append(s.unfinished, fmt.Sprintf("%s.%s, after %.0f s", e.Package, test, e.Time.Sub(begun).Seconds()))
			}
		}
		blamed = blamed || state == "run" || state == "fail"
	}
	if !blamed {
		s.failed++
	}
	said := s.builds[e.FailedBuild]
	delete(s.builds, e.FailedBuild)
	for _, l := range p.lines {
		said = append(said, l.text)
	}
	for _, text := range said {
		s.print("      %s", text)
	}
	s.failures = append(s.failures, "FAIL  "+e.Package+"\n"+strings.Join(said[max(0, len(said)-failureLines):], ""))
}

// finish prints the skips and the counts. code is what go test ended with: a run that fails though no
// package did (a broken pattern, no such module) counts as one failure.
func (s *summary) finish(code int) {
	for _, name := range sortedKeys(s.packages) { // go test ended before it told how these ended
		s.print("FAIL  %s\n", name)
		s.packageFailed(event{Package: name}, s.packages[name])
	}
	for _, name := range sortedKeys(s.builds) {
		for _, text := range s.builds[name] {
			s.print("      %s", text)
		}
	}
	if code != 0 && s.failed == 0 {
		s.failed = 1
	}
	for _, skip := range s.skips {
		s.print("skip  %s\n", skip)
	}
	slices.SortFunc(s.slow, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	for _, test := range s.slow {
		s.print("slow  %s: %.0f s\n", test.name, test.took.Seconds())
	}
	for _, test := range s.unfinished {
		s.print("cut   %s\n", test)
	}
	s.print("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
