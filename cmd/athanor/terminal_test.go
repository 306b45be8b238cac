//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// terminal is the command on a real terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File
	done chan struct{}

	mu   sync.Mutex
	text strings.Builder
}

func (w *world) terminal(columns uint16, args ...string) *terminal {
	w.t.Helper()
	return w.terminalOf(pty.Winsize{Rows: 40, Cols: columns}, args...)
}

// terminalOf runs a command at a terminal of that size.
func (w *world) terminalOf(size pty.Winsize, args ...string) *terminal {
	w.t.Helper()
	x := &terminal{t: w.t, cmd: w.command(args...), done: make(chan struct{})}
	var err error
	if x.file, err = pty.StartWithSize(x.cmd, &size); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(x.done)
		for part := make([]byte, 4096); ; {
			n, err := x.file.Read(part)
			x.mu.Lock()
			x.text.Write(part[:n])
			x.mu.Unlock()
			if err != nil {
				return // the other end is closed
			}
		}
	}()
	return x
}

func (x *terminal) seen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

func (x *terminal) await(text string) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(x.seen(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("%q does not come: %q", text, x.seen())
		}
	}
}

// awaitBottom waits until the last line of the screen begins with a text.
func (x *terminal) awaitBottom(text string) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		lines := screen(x.seen())
		for len(lines) > 1 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		if strings.HasPrefix(lines[len(lines)-1], text) {
			return
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%q does not come to the bottom:\n%s", text, strings.Join(lines, "\n"))
		}
	}
}

func (x *terminal) write(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.file, text); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the command and gives its exit code.
func (x *terminal) end() int {
	x.t.Helper()
	err := x.cmd.Wait()
	<-x.done
	x.file.Close()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return 0
}

const small = "stack: small\nresources:\n  page: {kind: local.File, props: {path: page.txt, content: hello}}\n"

func TestPrompt(t *testing.T) {
	const endOfInput, interrupt = "\x04", "\x03"
	for _, tt := range []struct {
		name, answer string
		code         int
		made         bool
	}{
		{"yes", "y\n", 0, true},
		{"in full", "Yes\n", 0, true},
		{"no", "n\n", 5, false},
		{"nothing", "\n", 5, false},
		{"something else", "yess\n", 5, false},
		{"end of input", endOfInput, 5, false},
		{"interrupt", interrupt, 130, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, small)
			x := w.terminal(80, "deploy")
			x.await("Deploy 1 change to small/dev-tester?  y yes, d details, Enter no: ")
			x.write(tt.answer)
			if code := x.end(); code != tt.code {
				t.Errorf("exit code %d, want %d: %q", code, tt.code, x.seen())
			}
			if w.has("page.txt") != tt.made || w.has(".athanor/state.db") != tt.made {
				t.Errorf("made: %t, recorded: %t, want %t", w.has("page.txt"), w.has(".athanor/state.db"), tt.made)
			}
			if code := w.terminal(80, "deploy", "--yes").end(); code != 0 {
				t.Errorf("the deploy after it: exit code %d", code)
			}
		})
	}
}

// A plan that may delete users' data is agreed to by the name of its stage, and by no habit; one whose objects hold none is not.
func TestPromptForData(t *testing.T) {
	const held = "stack: small\nresources:\n  notes: {kind: cloudflare.KVNamespace}\n"
	const question = "Type dev-tester to delete all of this from small/dev-tester, d details, Enter no: "
	cloud := cloudflaretest.Start(t)
	w := newWorld(t, held)
	for name, value := range cloud.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.run(0, "deploy", "--yes")
	destroy := func(answer string) (code int, seen string) {
		x := w.terminal(120, "destroy", "--allow-delete", "notes")
		x.await(question)
		if seen := x.seen(); !strings.Contains(seen, "This deletes data: ") || !strings.Contains(seen, "notes (cloudflare.KVNamespace)\r\n") {
			t.Errorf("what is deleted is not said: %q", x.seen())
		}
		x.write(answer)
		code = x.end()
		return code, x.seen()
	}
	for _, answer := range []string{"y\n", "yes\n", "\n", "dev\n"} {
		if code, seen := destroy(answer); code != 5 || !strings.Contains(seen, "Nothing was changed.") {
			t.Errorf("%q: exit code %d: %q", answer, code, seen)
		}
	}
	if code, seen := destroy("dev-tester\n"); code != 0 {
		t.Errorf("the name: exit code %d: %q", code, seen)
	}
	w.write("athanor.yaml", small)
	w.run(0, "deploy", "--yes")
	x := w.terminal(120, "destroy", "--allow-delete", "*")
	x.await("Delete all of this from small/dev-tester?  y yes, d details, Enter no: ")
	x.write("y\n")
	if code := x.end(); code != 0 {
		t.Errorf("without data: exit code %d: %q", code, x.seen())
	}
}

// On a terminal what was never allowed is listed and asked for once. A yes is remembered; another stack in the same folder is
// asked about anew.
func TestAllowPrompt(t *testing.T) {
	const stack = "stack: small\nsecrets: {key: {env: SOME_KEY}}\nresources:\n  page: {kind: local.Value, props: {input: \"${secret.key}\"}}\n"
	const question = "[y/N] "
	for _, tt := range []struct {
		answer string
		code   int
		again  bool
	}{
		{"y\n", 2, false}, {"n\n", 5, true}, {"\x03", 130, true},
	} {
		t.Run(tt.answer[:1], func(t *testing.T) {
			w := newWorld(t, stack)
			w.env = append(w.env, "SOME_KEY=canary-4f1b")
			x := w.terminal(80, "plan")
			x.await(question)
			x.write(tt.answer)
			if code := x.end(); code != tt.code || !strings.Contains(x.seen(), "secrets.key.env: reads the variable SOME_KEY") {
				t.Errorf("exit code %d, want %d: %q", code, tt.code, x.seen())
			}
			if tt.again {
				return
			}
			x = w.terminal(80, "plan")
			if code := x.end(); code != 2 || strings.Contains(x.seen(), question) {
				t.Errorf("the second time: exit code %d: %q", code, x.seen())
			}
			w.write("athanor.yaml", strings.ReplaceAll(stack, "key", "other"))
			x = w.terminal(80, "plan")
			x.await(question)
			x.write("n\n")
			if code := x.end(); code != 5 {
				t.Errorf("another place: exit code %d: %q", code, x.seen())
			}
		})
	}
}

// What is typed as a secret is never shown, a passphrase is typed twice, and an interrupt changes nothing.
func TestTypedSecrets(t *testing.T) {
	const secret = "s3cr3t-typed"
	w := newWorld(t, "stack: small\nsecrets: {key: {sealed: true}}\nresources:\n  page: {kind: local.File, props: {path: page.txt, content: \"${secret.key}\"}}\n")
	for _, tt := range []struct {
		name    string
		args    []string
		prompts []string
		answers []string
		code    int
		made    string
	}{
		{"set", []string{"secret", "set", "key"}, []string{"key for small/dev-tester: "}, []string{secret + "\r"}, 0, "small.dev-tester.secrets.json"},
		{"nothing", []string{"secret", "set", "other"}, []string{"other for"}, []string{"\r"}, 1, ""},
		{"interrupt", []string{"secret", "set", "other"}, []string{"other for"}, []string{secret + "\x03"}, 130, ""},
		{"differ", []string{"secret", "rewrap", "--passphrase"}, []string{"new passphrase", "once more"}, []string{secret + "\r", secret + "x\r"}, 1, ""},
		{"rewrap", []string{"secret", "rewrap", "--passphrase"}, []string{"new passphrase", "once more"}, []string{secret + "\r", secret + "\r"}, 0, "small.dev-tester.key.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := w.terminal(80, tt.args...)
			for i, prompt := range tt.prompts {
				x.await(prompt)
				x.write(tt.answers[i])
			}
			if code := x.end(); code != tt.code || strings.Contains(x.seen(), "s3cr3t") {
				t.Errorf("exit code %d, want %d: %q", code, tt.code, x.seen())
			}
			if tt.made != "" && !w.has(tt.made) {
				t.Errorf("%s was not made", tt.made)
			}
		})
	}
	w.run(0, "deploy", "--yes")
	if w.read("page.txt") != secret || strings.Contains(w.read("small.dev-tester.secrets.json"), "other") {
		t.Errorf("deployed %q", w.read("page.txt"))
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// screen plays what a terminal was sent, far enough for what this command sends.
func screen(text string) []string {
	lines, row, over := []string{""}, 0, false
	for len(text) > 0 {
		if at := escapes.FindStringIndex(text); at != nil && at[0] == 0 {
			code := text[2 : at[1]-1]
			switch text[at[1]-1] {
			case 'A':
				n := 0
				for _, digit := range code {
					n = n*10 + int(digit-'0')
				}
				row = max(row-n, 0)
			case 'J':
				lines = append(lines[:row], "")
			}
			text = text[at[1]:]
			continue
		}
		switch c := text[0]; c {
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
			over = true
		case '\r':
			over = true // every line that is drawn again is drawn whole
		default:
			if over {
				lines[row], over = "", false
			}
			lines[row] += string(c)
		}
		text = text[1:]
	}
	return lines
}

// While a resource is worked on it is drawn, within the width; in the end it is wiped and its line stays.
func TestLiveRegion(t *testing.T) {
	w := newGated(t)
	w.write("athanor.yaml", strings.Replace(gated, "echo . >> starts", "echo . >> starts; : a command that is longer than the terminal is wide", 1))
	x := w.terminal(50, "deploy", "--yes")
	x.await("running")
	x.await("slow   1.")
	w.open()
	if code := x.end(); code != 0 {
		t.Fatalf("exit code %d: %q", code, x.seen())
	}
	all := x.seen()
	if !strings.Contains(all, "\x1b[32m") {
		t.Errorf("no colours: %q", all)
	}
	live := all[strings.Index(all, "Plan:"):]
	for line := range strings.SplitSeq(live, "\n") {
		if plain := strings.TrimRight(escapes.ReplaceAllString(line, ""), "\r"); strings.Contains(plain, "running") && len([]rune(plain)) > 50 {
			t.Errorf("wider than the terminal: %q", plain)
		}
	}
	left := strings.Join(screen(all), "\n")
	if strings.Contains(left, " running") {
		t.Errorf("the live region was not wiped:\n%s", left)
	}
	for _, want := range []string{"+ first  created", "+ slow   created", "+ last   created", "Done: 3 created"} {
		if strings.Count(left, want) != 1 {
			t.Errorf("want %q once in what stays:\n%s", want, left)
		}
	}
	if strings.Count(all, "\x1b[?7l") != strings.Count(all, "\x1b[?7h") {
		t.Error("the terminal is left without wrapping")
	}
}

// An interrupt on the terminal reaches the deploy, and not what it runs.
func TestInterruptOnTerminal(t *testing.T) {
	w := newGated(t)
	x := w.terminal(80, "deploy", "--yes")
	w.await("started")
	x.write("\x03")
	x.await("running calls finish")
	w.open()
	if code := x.end(); code != 130 {
		t.Errorf("exit code %d, want 130: %q", code, x.seen())
	}
	if !w.has("done") || w.has("last.txt") {
		t.Errorf("what ran is finished: %t; something new was started: %t", w.has("done"), w.has("last.txt"))
	}
}

// Without colours there is no escape code at all, and no live region.
func TestNoColor(t *testing.T) {
	for _, tt := range []struct {
		name, env string
		args      []string
	}{
		{"flag", "TERM=xterm", []string{"--no-color"}},
		{"variable", "NO_COLOR=1", nil},
		{"dumb terminal", "TERM=dumb", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, small)
			w.env = append(w.env, tt.env)
			x := w.terminal(80, append([]string{"deploy", "--yes"}, tt.args...)...)
			if code := x.end(); code != 0 {
				t.Fatalf("exit code %d: %q", code, x.seen())
			}
			if strings.Contains(x.seen(), "\x1b") {
				t.Errorf("escape codes: %q", x.seen())
			}
			if !strings.Contains(x.seen(), "+ page: created") {
				t.Errorf("no progress: %q", x.seen())
			}
		})
	}
}

// What a service says cannot draw on the terminal.
func TestControlCharacters(t *testing.T) {
	w := newWorld(t, "stack: rude\nresources:\n  bad: {kind: local.Command, props: {run: \"printf 'oh \\\\033[31mred\\\\007' >&2; exit 1\"}}\n")
	x := w.terminal(80, "deploy", "--yes", "--no-color")
	if code := x.end(); code != 4 {
		t.Errorf("exit code %d, want 4: %q", code, x.seen())
	}
	if strings.ContainsAny(x.seen(), "\x1b\x07") || !strings.Contains(x.seen(), "red") {
		t.Errorf("control characters: %q", x.seen())
	}
}
