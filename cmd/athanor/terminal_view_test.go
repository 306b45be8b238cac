//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
)

// hundred is a stack of a hundred files that differ in what they are given, so that none is folded.
func hundred() string {
	var b strings.Builder
	b.WriteString("stack: small\nresources:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "  f%d: {kind: local.File, props: {path: f%d.txt, content: hello}}\n", i, i)
		fmt.Fprintf(&b, "  v%d: {kind: local.Value, props: {input: {n%d: 1}}}\n", i, i)
	}
	return b.String()
}

// A plan that is longer than the terminal is shown by the user's pager, and the prompt comes after it with the counts repeated.
// Nobody is there to read one that is deployed with --yes.
func TestPager(t *testing.T) {
	w := newWorld(t, hundred())
	w.env = append(w.env, "PAGER=sed s/^/paged|/")
	x := w.terminal(80, "deploy")
	x.await("Enter no: ")
	seen := x.seen()
	if !strings.Contains(seen, "paged|  \x1b[32m+\x1b[0m v7 ") || strings.Contains(seen, "paged|Deploy") {
		t.Errorf("the plan is not shown by the pager: %q", seen)
	}
	if last := seen[strings.LastIndex(seen, "paged|"):]; !strings.Contains(last, "Plan:") || !strings.Contains(last, "100 to create") {
		t.Errorf("the counts are not repeated below the pager: %q", last)
	}
	x.write("n\n")
	if code := x.end(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	x = w.terminal(80, "deploy", "--yes")
	if code := x.end(); code != 0 || strings.Contains(x.seen(), "paged|") {
		t.Errorf("with --yes: exit code %d: %.300q", code, x.seen())
	}
}

// TestPagerOfNobody: a terminal without a size is one that a program made, such as script in a job of CI. A pager would wait there for ever.
func TestPagerOfNobody(t *testing.T) {
	w := newWorld(t, hundred())
	w.env = append(w.env, "PAGER=sed s/^/paged|/")
	x := w.terminalOf(pty.Winsize{}, "plan")
	if code := x.end(); code != 2 || strings.Contains(x.seen(), "paged|") || !strings.Contains(x.seen(), "100 to create") {
		t.Errorf("exit code %d: %.300q", code, x.seen())
	}
}

// TestPagerIsEnded: a signal that ends the command ends its pager too, which puts the terminal back as it was.
func TestPagerIsEnded(t *testing.T) {
	w := newWorld(t, hundred())
	script := filepath.Join(t.TempDir(), "pager")
	const pager = "trap 'kill $!; echo terminated; exit' TERM\nsleep 20 &\necho waits\nwait $!\n"
	if err := os.WriteFile(script, []byte(pager), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "PAGER=sh "+script)
	x := w.terminal(80, "plan")
	x.await("waits")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := x.end(); code != 130 || !strings.Contains(x.seen(), "terminated") {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
}

// TestKindOnANarrowTerminal: what a kind is and what its props mean is wrapped between words.
func TestKindOnANarrowTerminal(t *testing.T) {
	w := newWorld(t, small)
	x := w.terminal(40, "kinds", "local.Command")
	if code := x.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for line := range strings.SplitSeq(x.seen(), "\n") {
		if text := strings.TrimSuffix(line, "\r"); utf8.RuneCountInString(text) > 40 {
			t.Errorf("wider than the terminal: %q", text)
		}
	}
}

// Who asks for details sees the plan in full, and is asked again.
func TestDetails(t *testing.T) {
	var b strings.Builder
	b.WriteString("stack: small\nresources:\n")
	for i := range 6 {
		fmt.Fprintf(&b, "  f%d: {kind: local.File, props: {path: f%d.txt, content: hello}}\n", i, i)
	}
	w := newWorld(t, b.String())
	x := w.terminal(80, "deploy")
	const prompt = "Deploy 6 changes to small/dev-tester?  y yes, d details, Enter no: "
	x.await(prompt)
	if plain := escapes.ReplaceAllString(x.seen(), ""); !strings.Contains(plain, "6 × local.File  f0 … f5") || strings.Contains(plain, "+ f3") {
		t.Errorf("the plan is not folded: %q", plain)
	}
	x.write("d\n")
	x.await("+\x1b[0m f3")
	x.write("y\n")
	if code := x.end(); code != 0 || strings.Count(x.seen(), prompt) != 2 || !w.has("f5.txt") {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
}

// An error shows the line of the program that it is about. A document, which may name any place of any file, shows none.
func TestSourceLines(t *testing.T) {
	w := newWorld(t, "stack: small\nresources:\n  page: {kind: local.File, props: {path: page.txt, contents: hello}}\n")
	x := w.terminal(80, "plan", "--no-color")
	if code := x.end(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	want := "  ┌ athanor.yaml:3:52\r\n 3│   page: {kind: local.File, props: {path: page.txt, contents: hello}}\r\n  │" + strings.Repeat(" ", 52) + "^^^^^^^^\r\n"
	if !strings.Contains(x.seen(), want) {
		t.Errorf("want %q in %q", want, x.seen())
	}
	w.write("private.yaml", "canary-4f1b\n")
	w.write("graph.json", `{"format": 1, "stack": "small", "stage": "dev-tester", "resources": [{"address": "a", "kind": "local.Fil", "source": "private.yaml:1:1"}]}`)
	x = w.terminal(80, "plan", "graph.json", "--no-color")
	if code := x.end(); code != 1 || strings.Contains(x.seen(), "canary") || !strings.Contains(x.seen(), "local.Fil") {
		t.Errorf("a document shows what it names: exit code %d: %q", code, x.seen())
	}
}

// A terminal whose locale names no UTF-8 is shown ASCII alone, and colours can be forced into a pipe.
func TestASCIIAndForcedColors(t *testing.T) {
	w := newWorld(t, small)
	w.env = append(w.env, "LC_ALL=C")
	w.run(0, "deploy", "--yes")
	w.write("athanor.yaml", strings.ReplaceAll(small, "page.txt", "other.txt"))
	x := w.terminal(80, "plan")
	if code := x.end(); code != 2 || !strings.Contains(x.seen(), "->") || strings.IndexFunc(x.seen(), func(r rune) bool { return r > 0x7e }) >= 0 {
		t.Errorf("exit code %d: %q", code, x.seen())
	}
	out := w.run(2, "plan")
	if strings.Contains(out, "\x1b") {
		t.Errorf("colours in a pipe: %q", out)
	}
	w.env = append(w.env, "CLICOLOR_FORCE=1")
	if out = w.run(2, "plan"); !strings.Contains(out, "\x1b[35m") {
		t.Errorf("no colours although they are forced: %q", out)
	}
	if out = w.run(2, "plan", "--no-color"); strings.Contains(out, "\x1b") {
		t.Errorf("colours although they are switched off: %q", out)
	}
}

// The first line of a plan comes while its first call has no answer: the server answers when the line is on the terminal.
func TestFirstLineComesFirst(t *testing.T) {
	for _, command := range [][]string{{"plan"}, {"deploy"}, {"destroy"}} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			called, answer := make(chan string, 1), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case called <- r.Host:
				default:
				}
				select {
				case <-answer:
				case <-r.Context().Done():
				}
				w.WriteHeader(http.StatusForbidden)
			}))
			t.Cleanup(server.Close)
			release := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(release)
			w := newWorld(t, "stack: small\nproviders: {aws: {region: eu-north-1}}\nresources:\n  jobs: {kind: aws.sqs.Queue}\n")
			w.env = append(w.env, "AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true",
				"AWS_MAX_ATTEMPTS=1", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
			x := w.terminal(80, command...)
			select {
			case <-called:
			case <-time.After(patience):
				t.Fatalf("nothing is called: %q", x.seen())
			}
			x.await("small/dev-tester")
			release()
			if code := x.end(); code == 0 {
				t.Errorf("exit code %d although every call was refused: %q", code, x.seen())
			}
		})
	}
}
