package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"
	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

var update = flag.Bool("update", false, "write what the command prints into the scripts")

// released is a release of which there is a newer one.
var released = cmd.Release{Version: "v1.2.3", Commit: strings.Repeat("ab", 20), Date: "2026-01-02T03:04:05Z"}

// garbage is the GOGC of a command of which is asked only what it does: its start takes a quarter less of the processor.
const garbage = "400"

// TestMain makes this binary commands for the tests when it is called by their names.
func TestMain(m *testing.M) {
	commands := map[string]func(){
		"athanor-release": func() { cmd.Ready(released) },
		"athanor-parent":  parent, "athanor-peak": peak, "athanor-relay": relay,
	}
	if itself() {
		commands["athanor"] = func() { cmd.Ready(cmd.Release{}) }
	}
	maps.Copy(commands, commandsOfUnix())
	for name, command := range commands {
		commands[name] = within(commandLimit, command)
	}
	commands["athanor-hang"] = within(10*time.Millisecond, hang)
	var tests testscript.TestingM = m
	if commands[filepath.Base(os.Args[0])] == nil {
		ownProjects()
		// The folder of testscript goes with the one around it. The providers of a tofu that is killed leave their sockets,
		// and the miniflare that tries the uploads of all tests ends with the process.
		tests = proctest.Tidy(m, "testscript-main*", "plugin[0-9]*", "athanor-miniflare-*")
		// Each world names a folder of its own. What is set already would be found first by some: the keys of the user
		// who tests. And the command collects garbage as it ships where the tests measure its memory.
		for _, name := range []string{"XDG_CONFIG_HOME", "GOGC"} {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	testscript.Main(shipping{tests}, commands)
}

// shipping are tests before which the command is put among the commands of testscript, as it ships: a third of what this binary takes to
// start is for what the tests are made of.
type shipping struct{ tests testscript.TestingM }

func (s shipping) Run() int {
	if !itself() {
		binary, err := builds[false]()
		if err == nil {
			commands, _, _ := strings.Cut(os.Getenv("PATH"), string(os.PathListSeparator))
			err = os.Symlink(binary, filepath.Join(commands, "athanor"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return s.tests.Run()
}

// itself reports whether the command of the tests is this binary: the race detector watches it, or links are not for everybody.
func itself() bool {
	info, ok := debug.ReadBuildInfo()
	return runtime.GOOS == "windows" || ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// ownProjects ends the tests where the temporary folder lies in a project: all of their stacks would be of that one, and share its state.
func ownProjects() {
	for at := os.TempDir(); ; at = filepath.Dir(at) {
		for _, sign := range []string{"go.mod", ".git"} {
			if _, err := os.Stat(filepath.Join(at, sign)); err == nil {
				fmt.Fprintf(os.Stderr, "%s makes the temporary folder a part of a project: remove it, or set $TMPDIR\n", filepath.Join(at, sign))
				os.Exit(1)
			}
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", testscript.Params{
		UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Condition: func(name string) (bool, error) {
			if name != "whole" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return proctest.Whole(), nil
		},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			for _, v := range [][2]string{
				{"HOME", home},
				{"XDG_CONFIG_HOME", filepath.Join(home, "config")},
				{"USER", "tester"},
				{"TERM", "dumb"},
				{"ATHANOR_NO_UPDATE_CHECK", "1"},
				{"GOGC", garbage},
			} {
				env.Setenv(v[0], v[1])
			}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "summary": summary, "await": await, "mode": mode, "hides": hides, "tidy": tidy, "jsonlines": jsonLines, "module": module, "newer": newer, "damage": damage, "putback": putBack, "agekey": ageKey,
		},
	})
}

// flagInError finds the flag that an error is about.
var flagInError = regexp.MustCompile(`(?m)^error: (--[a-z-]+)`)

// blames finds an error that is about a flag which was not given: the value came from an argument, a variable or a program.
func blames(errs string, args []string) string {
	m := flagInError.FindStringSubmatch(errs)
	if m == nil || slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == m[1] || name == m[1][1:3] // its letter
	}) {
		return ""
	}
	return m[1]
}

// exits CODE COMMAND ARGS… runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	have := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		have = failed.ExitCode()
	}
	if have != want {
		ts.Fatalf("exit code %d, want %d", have, want)
	}
	if flag := blames(ts.ReadFile("stderr"), args); flag != "" {
		ts.Fatalf("the error names %s, which was not given", flag)
	}
}

// summary KEY=VALUE… compares fields of the last JSON line on standard output. Fields of objects are a.b; values
// are JSON, or plain text.
func summary(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	var last map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		ts.Fatalf("the last line is no JSON: %v: %s", err, lines[len(lines)-1])
	}
	for _, arg := range args {
		key, want, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("usage: summary KEY=VALUE…")
		}
		var at any = last
		for name := range strings.SplitSeq(key, ".") {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		have := fmt.Sprint(at)
		if at == nil {
			have = "(none)"
		} else if _, text := at.(string); !text {
			data, err := json.Marshal(at)
			ts.Check(err)
			have = string(data)
		}
		if (have == want) == neg {
			ts.Fatalf("%s is %s, want %s (! %t)", key, have, want, neg)
		}
	}
}

// jsonLines checks that standard output is JSON, an object on each line.
func jsonLines(ts *testscript.TestScript, neg bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); (err == nil) == neg {
			ts.Fatalf("%q: %v", line, err)
		}
	}
}

// await FILE waits until another process has made a file.
func await(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0])
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not come", args[0])
		}
	}
}

// mode FILE MODE checks permission bits.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if have := fmt.Sprintf("%04o", info.Mode().Perm()); have != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], have, args[1])
	}
}

// hides SECRET PATH… checks that a secret is nowhere in files, folders, stdout or stderr, in none of its forms.
// SECRET is a file that holds it.
func hides(ts *testscript.TestScript, _ bool, args []string) {
	secret := strings.TrimSpace(ts.ReadFile(args[0]))
	if len(secret) < 8 {
		ts.Fatalf("no secret in %s", args[0])
	}
	check := func(name, text string) {
		for _, form := range forms(secret) {
			if strings.Contains(text, form) {
				ts.Fatalf("%s shows the secret, as %q", name, form)
			}
		}
	}
	for _, path := range args[1:] {
		if path == "stdout" || path == "stderr" {
			check(path, ts.ReadFile(path))
			continue
		}
		files := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(path), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			check(name, string(data))
			files++
			return err
		}))
		if files == 0 {
			ts.Fatalf("there is no file in %s", path)
		}
	}
}

// forms are how a secret may show: plain, as it stands in JSON and in URLs, and in base64 wherever it stands in what
// was encoded.
func forms(secret string) []string {
	quoted, err := json.Marshal(secret)
	if err != nil {
		return nil
	}
	var lax bytes.Buffer
	enc := json.NewEncoder(&lax)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(secret); err != nil {
		return nil
	}
	all := []string{
		secret, strings.Trim(string(quoted), `"`), strings.Trim(strings.TrimSpace(lax.String()), `"`), url.QueryEscape(secret), url.PathEscape(secret),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat(" ", shift) + secret))
			all = append(all, text[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	var entities strings.Builder
	if err := xml.EscapeText(&entities, []byte(secret)); err != nil {
		return nil
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		return nil
	}
	lower := percentEncoded.ReplaceAllStringFunc(url.QueryEscape(secret), strings.ToLower)
	digits := hex.EncodeToString([]byte(secret))
	ascii := strconv.QuoteToASCII(secret)
	all = append(all, entities.String(), html.EscapeString(secret), strings.Trim(string(twice), `"\`), lower, digits, strings.ToUpper(digits), ascii[1:len(ascii)-1])
	for part := range len(secret) - 15 { // what a service echoes cut off
		all = append(all, secret[part:part+16], digits[2*part:2*part+32])
	}
	return all
}

var percentEncoded = regexp.MustCompile(`%[0-9A-F]{2}`)

var (
	durations = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)
	clocks    = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	// How many of those that run side by side share a commit depends on the speed of the disk.
	serials = regexp.MustCompile(`\bserial \d+\b`)
	runs    = regexp.MustCompile(`\b\d{8}-\d{6}-[A-Z2-7]{6}\b`)
)

// agekey FILE makes an age identity and puts its recipient into $RECIPIENT.
func ageKey(ts *testscript.TestScript, _ bool, args []string) {
	id, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(id.String()+"\n"), 0o600))
	ts.Setenv("RECIPIENT", id.Recipient().String())
}

// tidy stdout|stderr writes what a command printed to the file "tidy", with what differs each time taken out: times,
// places, and the order of what was done, since what needs no more than an identity may end before what has it.
func tidy(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	text = runs.ReplaceAllString(durations.ReplaceAllString(clocks.ReplaceAllString(text, "CLOCK"), "T"), "RUN")
	text = strings.ReplaceAll(serials.ReplaceAllString(text, "serial N"), ts.Getenv("WORK"), "WORK")
	lines := strings.Split(text, "\n")
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && strings.HasSuffix(lines[to], " in T") {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	text = strings.Join(lines, "\n")
	ts.Check(os.WriteFile(ts.MkAbs("tidy"), []byte(text), 0o600))
}

// newer FILE makes a store look as if a later version had written it.
func newer(ts *testscript.TestScript, _ bool, args []string) {
	db, err := bbolt.Open(ts.MkAbs(args[0]), 0o600, &bbolt.Options{Timeout: 10 * time.Second})
	ts.Check(err)
	ts.Check(db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("about")).Put([]byte("schema"), binary.BigEndian.AppendUint64(nil, 99))
	}))
	ts.Check(db.Close())
}

// putBack FILE BACKUP TABLE KEY [STACK/STAGE] puts one record of a state back to what it was in another file, without any key; -
// removes it.
func putBack(ts *testscript.TestScript, _ bool, args []string) {
	var old []byte
	from := args[1]
	if from == "-" {
		from = args[0]
	}
	stage := strings.Join(args[4:], "")
	record(ts, from, stage, args[2], func(b *bbolt.Bucket) error {
		if args[1] != "-" {
			old = bytes.Clone(b.Get([]byte(args[3])))
		}
		return nil
	})
	record(ts, args[0], stage, args[2], func(b *bbolt.Bucket) error {
		if bytes.Equal(old, b.Get([]byte(args[3]))) {
			ts.Fatalf("%s %s is the same in both", args[2], args[3])
		}
		if old == nil {
			return b.Delete([]byte(args[3]))
		}
		return b.Put([]byte(args[3]), old)
	})
}

// record changes a table of a stage in a file, or of the first one when none is named.
func record(ts *testscript.TestScript, file, stage, table string, change func(*bbolt.Bucket) error) {
	db, err := bbolt.Open(ts.MkAbs(file), 0o600, &bbolt.Options{Timeout: 10 * time.Second})
	ts.Check(err)
	ts.Check(db.Update(func(tx *bbolt.Tx) error {
		stages := tx.Bucket([]byte("stages"))
		cursor := stages.Cursor()
		name, _ := cursor.First()
		stack, rest, _ := strings.Cut(stage, "/")
		for name != nil && !(bytes.Contains(name, []byte(stack)) && bytes.HasSuffix(name, []byte(rest))) {
			name, _ = cursor.Next()
		}
		return change(stages.Bucket(name).Bucket([]byte(table)))
	}))
	ts.Check(db.Close())
}

// damage FILE ADDRESS changes one bit in the middle of the row of an address.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	db, err := bbolt.Open(ts.MkAbs(args[0]), 0o600, &bbolt.Options{Timeout: 10 * time.Second})
	ts.Check(err)
	hit := 0
	var visit func(*bbolt.Bucket) error
	visit = func(b *bbolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if value == nil && bytes.Equal(key, []byte("past")) {
				return nil // what the entry was before
			}
			if value == nil {
				return visit(b.Bucket(key))
			}
			if !bytes.Contains(key, []byte(args[1])) || len(value) < 64 {
				return nil
			}
			hit++
			broken := bytes.Clone(value)
			broken[len(broken)/2] ^= 4
			return b.Put(key, broken)
		})
	}
	ts.Check(db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return visit(b) })
	}))
	ts.Check(db.Close())
	if hit != 1 {
		ts.Fatalf("%d rows hit, want 1", hit)
	}
}
