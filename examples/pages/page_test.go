package pages_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page.
type block struct {
	language string
	title    string // the file that the block is, or for a diff the file that it changes
	notRun   string // why a block is not run
	line     int    // of its first line of content, from 1
	text     string
}

// command is one command of a console block with what it prints.
type command struct {
	shell string
	exit  int
	want  []string
	line  int
}

var (
	fence    = regexp.MustCompile("^```([a-z]*)(.*)$")
	property = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
	exits    = regexp.MustCompile(`\s+# exits (\d+)$`)
)

// blocks reads the fenced blocks of a page.
func blocks(page string) []block {
	var all []block
	var open *block
	for i, line := range strings.Split(page, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case found == nil && open != nil:
			open.text += line + "\n"
		case found != nil && open != nil:
			all, open = append(all, *open), nil
		case found != nil:
			open = &block{language: found[1], line: i + 2}
			for _, p := range property.FindAllStringSubmatch(found[2], -1) {
				switch p[1] {
				case "title":
					open.title = p[2]
				case "not-run":
					open.notRun = p[2]
				}
			}
		}
	}
	return all
}

// commands reads a console block: lines after a $ are commands, each followed by what it prints. A command that ends in a
// backslash goes on in the next line.
func commands(b block) ([]command, error) {
	var all []command
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		shell, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			if len(all) == 0 {
				return nil, fmt.Errorf("line %d: a console block begins with a command", b.line)
			}
			last := &all[len(all)-1]
			last.want = append(last.want, line)
			continue
		}
		c := command{line: b.line + i}
		for strings.HasSuffix(shell, `\`) && i+1 < len(lines) {
			i++
			shell += "\n" + lines[i]
		}
		if code := exits.FindStringSubmatch(shell); code != nil {
			shell = strings.TrimSuffix(shell, code[0])
			_, _ = fmt.Sscan(code[1], &c.exit) // digits
		}
		c.shell = shell
		all = append(all, c)
	}
	return all, nil
}

// patched applies a diff without line numbers: its lines that stay and go must stand in the text once.
func patched(text, diff string) (string, error) {
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		mark, rest := line[:1], line[1:]
		switch mark {
		case "-":
			before.WriteString(rest)
		case "+":
			after.WriteString(rest)
		case " ":
			before.WriteString(rest)
			after.WriteString(rest)
		default:
			return "", fmt.Errorf("the line %q of a diff begins with none of -, + and a space", line)
		}
	}
	if n := strings.Count("\n"+text, "\n"+before.String()); n != 1 {
		return "", fmt.Errorf("what the diff replaces stands in the file %d times:\n%s", n, before.String())
	}
	return strings.TrimPrefix(strings.Replace("\n"+text, "\n"+before.String(), "\n"+after.String(), 1), "\n"), nil
}

// varying is what differs from one run to the next, with what stands for it in a comparison.
var varying = []struct {
	form *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-[A-Z0-9]{6}`), "RUN"},
	{regexp.MustCompile(`^[A-Z0-9]{6}  `), "RUN  "},
	{regexp.MustCompile(`\b\w+@[\w.-]+( \(uid \d+\))?$`), "WHO"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`serial \d+`), "SERIAL"}, // what is ready together shares a commit
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\b\w+@\S+ \(uid \d+\), pid \d+`), "WHO"},
	{regexp.MustCompile(`\b(\d+m )?\d+(\.\d+)?m?s\b`), "DURATION"},
	{regexp.MustCompile(`\d+ s ago`), "AGO"},
	{regexp.MustCompile(`expires in \d+ \w+`), "EXPIRES"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\b[0-9a-f]{8,32}\b`), "HEX"},
	{regexp.MustCompile(`-[a-z2-7]{8}\b`), "-SUFFIX"},
	{regexp.MustCompile(`age1[a-z0-9]+`), "RECIPIENT"},
	{regexp.MustCompile(`\b[a-z0-9]+\.cloudfront\.net\b`), "HOST.cloudfront.net"},
	{regexp.MustCompile(`\bE[A-Z0-9]{12,13}\b`), "ID"}, // which CloudFront assigns
	{regexp.MustCompile(`\d+ reads?, (\d+ changes?, )?DURATION`), "COUNTS"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}

var (
	timed  = regexp.MustCompile(`^TIME `)
	passes = regexp.MustCompile(`^TIME (…|↻) |^TIME \S+  (planning|reading) |^building |^longest: `) // what a run waits for, and what a slow machine takes its time for
)

// comparable are the lines of a command as they are compared: without what varies, and those of a run in an order of their own,
// since resources that are ready together end in any order.
func comparable(lines []string) []string {
	var out []string
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		for _, v := range varying {
			line = v.form.ReplaceAllString(line, v.is)
		}
		if !passes.MatchString(line) {
			out = append(out, line)
		}
	}
	for i := 0; i < len(out); i++ {
		end := i
		for end < len(out) && timed.MatchString(out[end]) {
			end++
		}
		slices.Sort(out[i:end])
		i = max(i, end)
	}
	return out
}

// matches reports whether lines are those of a page, in which a line … stands for any number of lines.
func matches(want, got []string) bool {
	for i, line := range want {
		if line == "…" {
			for skip := 0; skip <= len(got)-i; skip++ {
				if matches(want[i+1:], got[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != line {
			return false
		}
	}
	return len(got) == len(want)
}

// shell runs the commands of a page, one after the other in one folder, as a person types them.
type shell struct {
	dir  string
	env  []string
	kept []string // cd and export, which the later commands need
}

// lasting is a command that changes the shell itself.
var lasting = regexp.MustCompile(`^(cd|export) `)

// run runs a line and returns what a person sees: standard output and standard error together.
func (s *shell) run(t *testing.T, line string) (output []string, code int) {
	t.Helper()
	c := s.command(t, line)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(out), "\n")
	if text == "" {
		return nil, c.ProcessState.ExitCode()
	}
	return strings.Split(text, "\n"), c.ProcessState.ExitCode()
}

// value runs a line that must succeed and returns its standard output alone, without the progress that a slow machine
// makes a command report.
func (s *shell) value(t *testing.T, line string) string {
	t.Helper()
	out, err := s.command(t, line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (s *shell) command(t *testing.T, line string) *exec.Cmd {
	script := strings.Join(append(slices.Clone(s.kept), line), "\n")
	if lasting.MatchString(line) {
		s.kept = append(s.kept, line)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", script)
	c.Dir, c.Env = s.dir, s.env
	return c
}

// folder is the current folder of the shell.
func (s *shell) folder(t *testing.T) string {
	return s.value(t, "pwd")
}

// world is where a page's commands run.
type world struct {
	env map[string]string
	// names are what a page says for what differs from one start of a server to the next: the value by the page's text.
	names map[string]string
	// scripts stand for programs, by their names, first on the path.
	scripts map[string]string
	// before is called before a command with curl.
	before func(s *shell)
}

// try runs a page. With update the outputs that differ are written into it.
func try(t *testing.T, file, athanor string, w world, update bool) (notRun int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bin, home := t.TempDir(), t.TempDir()
	if err := os.Symlink(athanor, filepath.Join(bin, "athanor")); err != nil {
		t.Fatal(err)
	}
	for name, text := range w.scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &shell{dir: t.TempDir(), env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "XDG_CONFIG_HOME="+home+"/.config",
		"USER=ada", "LOGNAME=ada", "NO_COLOR=1", "TZ=UTC", "ATHANOR_NO_UPDATE_CHECK=1", "BIN="+bin)}
	for name, value := range w.env {
		s.env = append(s.env, name+"="+value)
	}
	var real, shown []string
	for page, value := range w.names {
		real, shown = append(real, page, value), append(shown, value, page)
	}
	toReal, toPage := strings.NewReplacer(real...), strings.NewReplacer(append(shown, s.dir, "/home/ada", home, "/home/ada")...)
	lines := strings.Split(string(text), "\n")
	type change struct {
		from, to int
		lines    []string
	}
	var changes []change
	for _, b := range blocks(string(text)) {
		switch {
		case b.language == "console" && b.notRun != "":
			notRun++
		case b.language == "console":
			all, err := commands(b)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, c := range all {
				if w.before != nil && strings.Contains(c.shell, "curl ") {
					w.before(s)
				}
				got, code := s.run(t, toReal.Replace(c.shell))
				for i := range got {
					got[i] = toPage.Replace(got[i])
				}
				if code != c.exit {
					t.Fatalf("%s:%d: %s: exit code %d, the page says %d\n%s", file, c.line, c.shell, code, c.exit, strings.Join(got, "\n"))
				}
				if matches(comparable(c.want), comparable(got)) {
					continue
				}
				if update {
					from := c.line + strings.Count(c.shell, "\n")
					changes = append(changes, change{from, from + len(c.want), got})
					continue
				}
				t.Errorf("%s:%d: %s\nprints\n%s\nand the page says\n%s", file, c.line, c.shell, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		case b.title != "":
			at := filepath.Join(s.folder(t), filepath.FromSlash(b.title))
			content := toReal.Replace(b.text)
			if b.language == "diff" {
				old, err := os.ReadFile(at)
				if err != nil {
					t.Fatalf("%s:%d: %v", file, b.line, err)
				}
				if content, err = patched(string(old), content); err != nil {
					t.Fatalf("%s:%d: %s: %v", file, b.line, b.title, err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.notRun != "":
			notRun++
		default:
			t.Errorf("%s:%d: a block that is neither console nor a file with a title is not tested", file, b.line)
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(b.from, a.from) })
	for _, c := range changes {
		lines = slices.Concat(lines[:c.from], c.lines, lines[c.to:])
	}
	if len(changes) > 0 {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return notRun
}
