//go:build unix

package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// yard is a bench with a dev session whose output is read line by line.
type yard struct {
	*bench
	mu    sync.Mutex
	lines []string
	came  chan struct{} // closed and made anew when a line comes
	done  int           // lines that were waited for
}

func newYard(t *testing.T) *yard {
	y := &yard{bench: newBench(t, processKind.Erase()), came: make(chan struct{})}
	y.session()
	return y
}

// session begins another dev session on the same record.
func (y *yard) session() {
	y.dev = &reconcile.Dev{Dir: y.at(".athanor/dev"), Output: y.output}
	dev := y.dev
	y.t.Cleanup(func() {
		if err := dev.Close(context.WithoutCancel(y.t.Context())); err != nil {
			y.t.Errorf("close: %v", err)
		}
	})
}

func (y *yard) output(address string, line reconcile.LogLine) {
	y.mu.Lock()
	defer y.mu.Unlock()
	text := address + " " + line.Source + ": " + line.Text
	y.lines = append(y.lines, text)
	close(y.came)
	y.came = make(chan struct{})
}

// wait returns the next line that holds a text. Lines before it are passed over, and not looked at again.
func (y *yard) wait(text string) string {
	y.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		y.mu.Lock()
		for ; y.done < len(y.lines); y.done++ {
			if line := y.lines[y.done]; strings.Contains(line, text) {
				y.done++
				y.mu.Unlock()
				return line
			}
		}
		came := y.came
		y.mu.Unlock()
		select {
		case <-came:
		case <-limit:
			y.t.Fatalf("no line %q in %q", text, y.all())
		}
	}
}

func (y *yard) all() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]string(nil), y.lines...)
}

// fifo is a pipe that what runs holds open: it ends when nothing of it runs any more.
func (y *yard) fifo() *bufio.Reader {
	y.t.Helper()
	name := y.at("alive")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		y.t.Fatal(err)
	}
	opened := make(chan *os.File)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			y.t.Error(err)
		}
		opened <- f
	}()
	r, w := io.Pipe()
	y.t.Cleanup(func() { r.Close() })
	go func() {
		f := <-opened
		defer f.Close()
		_, err := io.Copy(w, f)
		w.CloseWithError(err)
	}()
	return bufio.NewReader(r)
}

// gone fails unless everything that held the pipe has ended, after it said that it began.
func (y *yard) gone(alive *bufio.Reader) {
	y.t.Helper()
	if rest, err := io.ReadAll(alive); err != nil {
		y.t.Errorf("the pipe: %q %v", rest, err)
	}
}

// lives is a process of two: a shell and its child, which hold the pipe.
const lives = "exec 3>alive; sleep 1000 & echo up >&3; wait"

// began reads that it runs.
func (y *yard) began(alive *bufio.Reader) {
	y.t.Helper()
	if line, err := alive.ReadString('\n'); err != nil || line != "up\n" {
		y.t.Fatalf("it says %q (%v)", line, err)
	}
}

// helper is this test binary doing what a test needs another process for.
func helper(do string, args ...string) []any {
	words := []any{os.Args[0], "-test.run=^TestHelper$", "--", do}
	for _, a := range args {
		words = append(words, a)
	}
	return words
}

// TestHelper is no test: it is what helper starts.
func TestHelper(t *testing.T) {
	i := len(os.Args)
	for n, a := range os.Args {
		if a == "--" {
			i = n + 1
		}
	}
	if i >= len(os.Args) {
		return // nobody asks for help
	}
	switch args := os.Args[i:]; args[0] {
	case "serve": // answers 503 until it is asked for the third time
		l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		t.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			fmt.Fprintf(w, "asked %d times", asked)
		})))
	case "listen": // says that it is ready, and listens if it is told where
		if port := os.Getenv("PORT"); port != "" {
			l, err := net.Listen("tcp", "127.0.0.1:"+port)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		fmt.Println("ready")
		<-time.After(time.Hour) // it is killed before. Without cgo the runtime ends a process that waits for nothing
	case "session": // is a dev session with one process, until it is killed
		y := &yard{bench: newBench(t, processKind.Erase()), came: make(chan struct{})}
		y.bench.dir = args[1]
		y.session()
		out := y.must(map[string]any{"run": args[2], "grace": "1s"})
		if err := json.NewEncoder(os.Stdout).Encode(out.Attrs); err != nil {
			t.Fatal(err)
		}
		hold := make(chan os.Signal, 1)
		signal.Notify(hold, syscall.SIGUSR1)
		<-hold
	}
}

// elsewhere starts a session in another process, in the yard's folder, and gives what it records.
func (y *yard) elsewhere(run string) (*exec.Cmd, map[string]any) {
	y.t.Helper()
	var words []string
	for _, w := range helper("session", y.dir, run) {
		words = append(words, w.(string))
	}
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), "TMPDIR="+y.t.TempDir()) // it is killed, and removes nothing
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		y.t.Fatal(err)
	}
	v, err := tree.Decode(line)
	attrs, ok := v.(map[string]any)
	if err != nil || !ok {
		y.t.Fatalf("%s: %v", line, err)
	}
	return c, attrs
}

func (y *yard) readLog(query reconcile.LogQuery) []string {
	y.t.Helper()
	job, err := y.job(nil)
	if err != nil {
		y.t.Fatal(err)
	}
	var texts []string
	for line, err := range y.kind.Logs(y.t.Context(), job, query) {
		if err != nil {
			y.t.Fatal(err)
		}
		texts = append(texts, line.Source+": "+line.Text)
	}
	return texts
}

func (y *yard) logFile() string {
	files, err := filepath.Glob(y.at(".athanor/dev/shop/test/*.log"))
	if err != nil || len(files) != 1 {
		y.t.Fatalf("logs %v (%v)", files, err)
	}
	return files[0]
}
