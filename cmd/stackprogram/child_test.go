//go:build unix

package stackprogram

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
)

// parentVariable makes this binary ask itself, tell that the program waits in a function, and wait to be killed.
const parentVariable = "STACKPROGRAM_TEST_PARENT"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(QuestionVariable) != "":
		Main(program, Stack("shop"))
	case os.Getenv(parentVariable) != "":
		parent()
	}
	os.Exit(m.Run())
}

func parent() {
	asks := os.Getenv(parentVariable)
	os.Unsetenv(parentVariable)
	cmd := exec.Command(os.Args[0])
	cmd.Stdout = os.Stdout
	q := Question{Stage: "test", Dir: os.TempDir(), Pipes: asks != "for the graph alone"}
	if asks != "for a function" {
		q.Stage = "endless"
	}
	answer, child, err := Ask(context.Background(), cmd, q)
	if err == nil {
		err = child.Functions(answer).Hooks["orders before 0"](context.Background(), engine.HookInfo{Address: "wait"})
	}
	fmt.Println("unexpected:", err)
}

// program has a function of each sort. What they are told says what they do.
func program(s *athanor.Stack) error {
	if s.Stage() == "endless" {
		fmt.Println("waiting")
		select {}
	}
	if s.Stage() == "panicking" {
		done := make(chan struct{})
		go func() {
			defer close(done)
			setNil(nil)
		}()
		<-done
		select {} // the panic ends the program
	}
	if s.Stage() == "ending" {
		os.Exit(len(s.Stage()) - 4)
	}
	file := local.NewFile(s, "orders", local.FileProps{Path: "orders.txt", Content: s.Stage()},
		athanor.Before(athanor.Call(hook)), athanor.After(athanor.Call(hook)))
	athanor.Then(s, file.Digest, func(text string) (string, error) {
		switch text {
		case "fail":
			return "", reconcile.WithHint(errors.New("it fails"), "and says why")
		case "panic":
			panic("it panics")
		case "die":
			os.Exit(7)
		}
		return "then " + text, nil
	})
	athanor.Then(s, map[string]any{"n": file.Digest}, func(in map[string]any) (athanor.Secret, error) {
		return athanor.Secret(fmt.Sprintf("%T %v", in["n"], in["n"])), nil
	})
	s.Policy(func(p *athanor.Plan) []athanor.Violation {
		var all []athanor.Violation
		for _, a := range p.Actions {
			for _, r := range a.Reasons {
				all = append(all, athanor.Violation{Address: a.Address, Policy: "test", Message: fmt.Sprintf("%s %T %v", r.Path, r.Have, r.Have)})
			}
		}
		return all
	})
	return nil
}

func setNil(m map[string]int) { m["x"] = 1 }

func hook(ctx context.Context, info athanor.HookInfo) error {
	switch info.Address {
	case "panic":
		panic(errors.New("it panics"))
	case "panic aside":
		go panic("it panics")
		select {}
	case "wait":
		fmt.Println("waiting")
		<-ctx.Done()
		return fmt.Errorf("it waited: %w", ctx.Err())
	case "fail":
		return errors.New(string(info.Action) + " fails")
	}
	if n, ok := info.Attrs["size"].(int64); info.Attrs != nil && (!ok || n != 1<<53+1) {
		return fmt.Errorf("size is %T %v", info.Attrs["size"], info.Attrs["size"])
	}
	return nil
}

// question is one that has the program stay.
func question(t *testing.T) Question {
	t.Helper()
	return Question{Stage: "test", Dir: t.TempDir(), Pipes: true}
}

func ask(t *testing.T, out io.Writer) (*Answer, *Child, engine.Funcs) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Stdout = out
	answer, child, err := Ask(t.Context(), cmd, question(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Close(); err != nil {
			t.Error(err)
		}
	})
	return answer, child, child.Functions(answer)
}

// both are the functions of the program, in this process and in a child.
func both(t *testing.T) map[string]engine.Funcs {
	t.Helper()
	g, err := New(program, "").Evaluate(Question{Stack: "shop", Stage: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	answer, _, funcs := ask(t, nil)
	if len(answer.Problems) > 0 || answer.Stack != "shop" || len(answer.Schemas) != 1 {
		t.Fatalf("it answers %+v", answer)
	}
	other, err := engine.ReadGraph(answer.Graph)
	if err != nil {
		t.Fatal(err)
	}
	here, hereErr := g.Digest()
	there, thereErr := other.Digest()
	if here != there || errors.Join(hereErr, thereErr) != nil {
		t.Errorf("digests %s and %s: %v", here, there, errors.Join(hereErr, thereErr))
	}
	return map[string]engine.Funcs{"here": g.Funcs, "in a child": funcs}
}

// A program that ends while it declares its stack is told apart from a command that ends.
func TestProgramThatEnds(t *testing.T) {
	t.Parallel()
	_, _, err := Ask(t.Context(), exec.Command(os.Args[0]), Question{Stage: "ending", Dir: t.TempDir()})
	if err == nil || err.Error() != "the program ended before it had declared its stack: exit status 2" {
		t.Error(err)
	}
}

// A panic in a goroutine ends the program, and is a mistake with its place and the program's own calls.
func TestPanicInAGoroutine(t *testing.T) {
	t.Parallel()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	var said bytes.Buffer
	cmd.Stderr = &said
	_, _, err = Ask(t.Context(), cmd, Question{Stage: "panicking", Dir: folder})
	bad, ok := errors.AsType[*engine.GraphError](err)
	if !ok || len(bad.Problems) != 1 {
		t.Fatalf("it says %v", err)
	}
	p := bad.Problems[0]
	lines := strings.Split(p.Err.Error(), "\n")
	if !strings.HasPrefix(p.Source, "child_test.go:") || lines[0] != "your program panicked: assignment to entry in nil map" {
		t.Errorf("at %q it says %q", p.Source, lines[0])
	}
	if calls := lines[1:]; len(calls) < 2 || !strings.HasPrefix(calls[0], "stackprogram.setNil  child_test.go:") || strings.Contains(p.Err.Error(), "runtime.") {
		t.Errorf("the calls are %q", calls)
	}
	if said.Len() > 0 {
		t.Errorf("what Go says of the panic is shown too: %s", &said)
	}
}

// A panic in a hook is its error, and one in a goroutine of it ends the program; either error has the place.
func TestPanicInAHook(t *testing.T) {
	t.Parallel()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	answer, child, err := Ask(t.Context(), exec.Command(os.Args[0]), Question{Stage: "test", Dir: folder, Pipes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	f := child.Functions(answer)
	for _, where := range []string{"panic", "panic aside"} {
		err := f.Hooks["orders before 0"](t.Context(), engine.HookInfo{Address: where})
		if err == nil || !strings.Contains(err.Error(), "child_test.go:") || !strings.Contains(err.Error(), "panicked: it panics") {
			t.Errorf("%s: the hook says %v", where, err)
		}
		if ends := where == "panic aside"; errors.Is(err, errEnded) != ends {
			t.Errorf("%s: the program has ended: %v", where, err)
		}
	}
}

// What a program says on its standard error is passed on as it is, in whatever pieces it comes, and a panic that it recovered from too.
func TestCrashPassesOnTheRest(t *testing.T) {
	const trace = "panic: no\n\ngoroutine 7 [running]:\nmain.main.func1()\n\t/stack/main.go:33 +0x1d\n" +
		"created by main.main in goroutine 1\n\t/stack/main.go:30 +0x25\nexit status 2\n"
	for name, c := range map[string]struct{ text, shown, err string }{
		"text":               {"a\npan\nb panic: x\nno end", "a\npan\nb panic: x\nno end", ""},
		"a panic":            {"a\n" + trace, "a\n", "main.go:33: your program panicked: no\nmain.main.func1  main.go:33\nmain.main  main.go:30"},
		"what looks like it": {"panic: at the disco\nmore\n", "panic: at the disco\nmore\n", ""},
		"the beginning":      {"pan", "pan", ""},
		"of others": {
			"panic: x [recovered]\n\ngoroutine 7 [running]:\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:1 +0x1\nstrings.Repeat(...)\n\t/usr/local/go/src/strings/strings.go:620\n" +
				"github.com/athanor-dev/athanor/providers/aws/sqs.NewQueue(0x0)\n\t/mod/sqs/queue.go:9 +0x1\nexample.org/lib.F()\n\t/home/u/go/pkg/mod/example.org/lib@v1/f.go:2 +0x1\n" +
				"shop/lib.(*T).Declare(0x1)\n\t/lib/t.go:5 +0x1\n\ngoroutine 1 [select]:\nmain.other()\n\t/stack/other.go:1 +0x1\n",
			"", "/lib/t.go:5: your program panicked: x",
		},
	} {
		for _, size := range []int{1, 3, len(c.text)} {
			var shown bytes.Buffer
			w := &crash{dir: "/stack", to: &shown}
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				if _, err := io.WriteString(w, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			err := w.end(exec.Command("sh", "-c", "exit 2").Run())
			text := ""
			if err != nil {
				text = err.Error()
			}
			if shown.String() != c.shown || !strings.HasPrefix(text, c.err) || c.err == "" && text != "" {
				t.Errorf("%s, in pieces of %d: %q is shown, the error is %q", name, size, &shown, text)
			}
		}
	}
}

func TestFunctionsInAChild(t *testing.T) {
	t.Parallel()
	said := map[string][]string{}
	for where, f := range both(t) {
		note := func(v any, err error) {
			said[where] = append(said[where], fmt.Sprintf("%T %v, %v, %v", v, v, err, reconcile.Hints(err)))
		}
		for _, input := range []any{"one", "", "fail", "panic", int64(1), "<&>\u2028", nil} {
			note(f.Then["f1"](input))
		}
		for _, n := range []any{int64(1<<53 + 1), 1.5, true, nil, []any{int64(1)}, "x"} {
			note(f.Then["f2"](map[string]any{"n": n}))
		}
		for _, info := range []engine.HookInfo{
			{Address: "orders"}, {Address: "fail", Action: engine.Create}, {Attrs: map[string]any{"size": int64(1<<53 + 1)}}, {Attrs: map[string]any{}},
		} {
			note(nil, f.Hooks["orders after 0"](t.Context(), info))
		}
		p := &engine.Plan{Format: 1, Actions: []engine.Planned{{Address: "orders", Reasons: []engine.Reason{
			{Path: "a", Have: int64(1<<53 + 1)}, {Path: "b", Have: []any{int64(1), "x"}}, {Path: "c", Have: 1.5},
		}}}}
		for _, v := range f.Policies[0](p) {
			note(v, nil)
		}
	}
	if diff := cmp.Diff(said["here"], said["in a child"]); diff != "" {
		t.Errorf("-here +in a child:\n%s", diff)
	}
	if len(said["here"]) != 7+6+4+3 {
		t.Errorf("%d answers: %q", len(said["here"]), said["here"])
	}
}

// What JSON cannot carry is refused, and never changed.
func TestNoBytesAreLost(t *testing.T) {
	t.Parallel()
	_, _, funcs := ask(t, nil)
	if v, err := funcs.Then["f1"]("\xff"); err == nil {
		t.Errorf("bytes that are no text make %q", v)
	}
	if v, err := funcs.Then["f1"]("text"); err != nil || v != "then text" {
		t.Errorf("text makes %q (%v)", v, err)
	}
}

// Large calls in both directions at once do not wait for each other.
func TestManyLargeCalls(t *testing.T) {
	t.Parallel()
	_, _, funcs := ask(t, nil)
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			text := strings.Repeat(string(rune('a'+i%26)), 1<<18)
			if v, err := funcs.Then["f1"](text); err != nil || v != "then "+text {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	calls.Wait()
}

func TestHookIsTold(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	_, child, funcs := ask(t, write)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- funcs.Hooks["orders before 0"](ctx, engine.HookInfo{Address: "wait"}) }()
	line := make([]byte, len("waiting\n"))
	if _, err := io.ReadFull(read, line); err != nil {
		t.Fatal(err)
	}
	if err := child.cmd.Process.Signal(os.Interrupt); err != nil { // a terminal interrupts both
		t.Fatal(err)
	}
	if v, err := funcs.Then["f1"]("beside"); err != nil || v != "then beside" {
		t.Errorf("beside it: %v (%v)", v, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || err.Error() != "it waited: context canceled" {
		t.Errorf("it ends with %v", err)
	}
}

// A program that ends, by itself or by force, fails what it was asked, and what it is asked after.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Child, engine.Funcs) error{
		"by itself": func(_ *Child, f engine.Funcs) error { _, err := f.Then["f1"]("die"); return err },
		"killed": func(c *Child, f engine.Funcs) error {
			_ = c.cmd.Process.Kill()
			<-c.ended
			return f.Hooks["orders before 0"](context.Background(), engine.HookInfo{})
		},
	} {
		_, child, funcs := ask(t, nil)
		if err := end(child, funcs); !errors.Is(err, errEnded) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := funcs.Then["f1"]("later"); !errors.Is(err, errEnded) {
			t.Errorf("%s: later: %v", name, err)
		}
		v := funcs.Policies[0](&engine.Plan{})
		if len(v) != 1 || v[0].Warning || !strings.Contains(v[0].Message, "has ended") {
			t.Errorf("%s: a policy that cannot be asked says %v", name, v)
		}
	}
}

// A program whose caller is killed ends, in the middle of a function and of its evaluation too, also where it was asked for
// its graph alone: nobody else has the pipe that this test reads.
func TestCallerIsKilled(t *testing.T) {
	t.Parallel()
	for _, asks := range []string{"for a function", "for the graph and functions", "for the graph alone"} {
		t.Run(asks, func(t *testing.T) {
			t.Parallel()
			cmd, temp := exec.Command(os.Args[0]), t.TempDir()
			cmd.Env = append(os.Environ(), parentVariable+"="+asks, "TMPDIR="+temp)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, len("waiting\n"))
			if _, err := io.ReadFull(out, line); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("it goes on to say %q (%v)", rest, err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the caller was not killed")
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("it has left %v (%v)", left, err)
			}
		})
	}
}

func TestAskTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0": "without an answer", "echo it says >&2; exit 3": "exit status 3: it says",
		"echo '{' >&4": "an answer", "printf '\\377\\377\\377\\377' >&4; sleep 1000": "killed",
	} {
		_, child, err := Ask(t.Context(), exec.Command("sh", "-c", script), question(t))
		if err == nil || !strings.Contains(err.Error(), want) || child != nil {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Ask(ctx, exec.Command("sleep", "1000"), question(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestNameOnly(t *testing.T) {
	t.Parallel()
	q := question(t)
	q.NameOnly = true
	answer, child, err := Ask(t.Context(), exec.Command(os.Args[0]), q)
	if err != nil || child != nil || answer.Stack != "shop" || answer.Graph != nil {
		t.Errorf("it answers %+v (%v)", answer, err)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	if err := writeFrame(&whole, call{ID: 1, Then: "f1", Input: "text"}); err != nil {
		t.Fatal(err)
	}
	for n := range whole.Len() {
		var c call
		err := readFrame(bytes.NewReader(whole.Bytes()[:n]), &c)
		if n == 0 && !errors.Is(err, io.EOF) || err == nil {
			t.Errorf("%d bytes of a frame: %v", n, err)
		}
	}
	huge := binary.BigEndian.AppendUint32(nil, mostFrame+1)
	if err := readFrame(bytes.NewReader(huge), &call{}); !errors.Is(err, errFrame) {
		t.Errorf("a frame that is too large: %v", err)
	}
}
