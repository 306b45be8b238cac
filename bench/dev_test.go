package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// clocked is an emulated cloud that knows when each call came, what it was about, and how long it took.
type clocked struct {
	*httptest.Server
	mu    sync.Mutex
	calls []*clockedCall
}

type clockedCall struct {
	at   time.Time
	text string // target, path and body
	took time.Duration
}

// newClocked begins a cloud whose calls take longer than the emulator's by latency.
func newClocked(t testing.TB, cloud *awstest.Server, latency time.Duration) *clocked {
	t.Helper()
	origin, err := url.Parse(cloud.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(origin)
	c := &clocked{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller went away
		}
		text, _ := url.QueryUnescape(r.Header.Get("X-Amz-Target") + " " + r.URL.String() + " " + string(body))
		call := &clockedCall{at: at, text: text}
		c.mu.Lock()
		c.calls = append(c.calls, call)
		c.mu.Unlock()
		time.Sleep(latency)
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
		c.mu.Lock()
		call.took = time.Since(at)
		c.mu.Unlock()
	}))
	t.Cleanup(c.Close)
	return c
}

// take gives the calls since it was asked last.
func (c *clocked) take() []clockedCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make([]clockedCall, len(c.calls))
	for i, call := range c.calls {
		calls[i] = *call
	}
	c.calls = nil
	return calls
}

// devStack is a stack of n queues and one object made of a file, in a folder, with a dev session on it.
type devStack struct {
	t      testing.TB
	dir    string
	cloud  *clocked
	events *bufio.Scanner
	end    func()
}

// changedQueue is the one that is changed.
const changedQueue = "q7"

func queues(n, timeout int) string {
	var b strings.Builder
	b.WriteString("stack: dev\nresources:\n  bucket: {kind: aws.s3.Bucket, options: {allowDelete: true}}\n  object: {kind: aws.s3.Object, props: {bucket: \"${bucket.name}\", key: page, source: page.txt}}\n")
	for i := range n {
		seconds := 30
		if fmt.Sprint("q", i) == changedQueue {
			seconds = timeout
		}
		fmt.Fprintf(&b, "  q%d: {kind: aws.sqs.Queue, props: {visibilityTimeout: %ds}}\n", i, seconds)
	}
	return b.String()
}

// startDev starts a session on what the folder holds, and waits until it is deployed.
func startDev(t testing.TB, dir string) *devStack {
	t.Helper()
	cloud := awstest.Start(t)
	s := &devStack{t: t, dir: dir, cloud: newClocked(t, cloud, 0)}
	cmd := exec.CommandContext(t.Context(), built(t), "dev", "--json", "--look=0")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(t.TempDir(), "config"), "USER=tester", "ATHANOR_STAGE=local-tester", "ATHANOR_STORE=")
	for name, value := range cloud.Env() {
		cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(value, cloud.URL, s.cloud.URL))
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.events = bufio.NewScanner(out)
	s.events.Buffer(nil, 1<<22)
	s.end = func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		last := ""
		for s.events.Scan() {
			last = s.events.Text()
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s%s", err, last, errs.String())
		}
	}
	s.next("deployed")
	s.cloud.take()
	return s
}

// devEvent is what is read of a session's lines.
type devEvent struct {
	Type     string  `json:"type"`
	Run      string  `json:"run"`
	Compiled float64 `json:"compiled"`
	bench.Summary
}

func (s *devStack) next(kind string) devEvent {
	s.t.Helper()
	for s.events.Scan() {
		var e devEvent
		if err := json.Unmarshal(s.events.Bytes(), &e); err != nil {
			s.t.Fatalf("%v: %s", err, s.events.Text())
		}
		switch e.Type {
		case kind:
			return e
		case "problem", "error":
			s.t.Fatal(s.events.Text())
		}
	}
	s.t.Fatalf("it ended before %s: %v", kind, s.events.Err())
	return devEvent{}
}

// save writes a file as editors do, and gives how long it took until the first call, and the compiler in it. All
// calls must be about what changed, and something must have been changed. An object asks how its bucket encrypts.
func (s *devStack) save(name, text string, evaluated bool, about ...string) (total, compiler time.Duration) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	began := time.Now()
	if err := os.Rename(path+"~", path); err != nil {
		s.t.Fatal(err)
	}
	if evaluated {
		compiler = time.Duration(s.next("built").Compiled * float64(time.Second))
	}
	e := s.next("deployed")
	calls := s.cloud.take()
	if e.Updated != 1 || len(calls) == 0 {
		s.t.Fatalf("%d calls, %+v", len(calls), e)
	}
	for _, c := range calls {
		if !slices.ContainsFunc(about, func(part string) bool { return strings.Contains(c.text, part) }) {
			s.t.Fatalf("a call about something else: %s", c.text)
		}
	}
	return calls[0].at.Sub(began), compiler
}

func newYAMLStack(t testing.TB, n int) *devStack {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"athanor.yaml": queues(n, 30), "page.txt": "page"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return startDev(t, dir)
}

// newProgramStack is the same as a Go program.
func newProgramStack(t testing.TB, n int) *devStack {
	t.Helper()
	dir, _ := goProgram(t, n)
	return startDev(t, dir)
}

func program(n, timeout int) string {
	return fmt.Sprintf(`package main

import (
	"fmt"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
)

func main() { cmd.Main(dev, cmd.Stack("dev")) }

func dev(s *athanor.Stack) error {
	for i := range %d {
		timeout := 30 * time.Second
		if i == 7 {
			timeout = %d * time.Second
		}
		sqs.NewQueue(s, fmt.Sprint("q", i), sqs.QueueProps{VisibilityTimeout: new(timeout)})
	}
	return nil
}
`, n, timeout)
}

// TestDevCalls proves that the calls which the benchmark times are those for the one changed resource.
func TestDevCalls(t *testing.T) {
	s := newYAMLStack(t, 20)
	for i := range 3 {
		s.save("athanor.yaml", queues(20, 31+i), true, "-"+changedQueue+"-")
		s.save("page.txt", fmt.Sprint("page ", i), false, "/page", "?encryption")
	}
	s.end()
}

// BenchmarkDev is from a save to the first call of a provider, in a stack of 500 resources: 50 saves for each round, 10 of a
// Go program, whose compiler is told apart. Beside the Go program, in turn, Pulumi deploys a stack of as many in YAML, by
// the programs in $ATHANOR_PEERS: its time is from the save to the first line that says that a resource is changed.
func BenchmarkDev(b *testing.B) {
	n, saves := sized(500), sized(50)
	b.Run(fmt.Sprint("yaml/", n), func(b *testing.B) {
		s := newYAMLStack(b, n)
		benchmarkDev(b, s, saves, func(i int) (time.Duration, time.Duration) {
			return s.save("athanor.yaml", queues(n, 31+i%1000), true, "-"+changedQueue+"-")
		})
	})
	b.Run(fmt.Sprint("file/", n), func(b *testing.B) {
		s := newYAMLStack(b, n)
		benchmarkDev(b, s, saves, func(i int) (time.Duration, time.Duration) {
			return s.save("page.txt", fmt.Sprint("page ", i), false, "/page", "?encryption")
		})
	})
	b.Run(fmt.Sprint("go/", n), func(b *testing.B) {
		peer := newPulumi(b, n)
		s := newProgramStack(b, n)
		var total, theirs []time.Duration
		benchmarkDev(b, s, saves/5, func(i int) (time.Duration, time.Duration) {
			all, compiler := s.save("main.go", program(n, 31+i%1000), true, "-"+changedQueue+"-")
			total = append(total, all)
			if peer != nil {
				theirs = append(theirs, peer.save(i+1))
			}
			return all, compiler
		})
		b.ReportMetric(percentile(total, 50), "total-p50-ms")
		b.ReportMetric(percentile(total, 95), "total-p95-ms")
		if peer != nil {
			b.ReportMetric(percentile(theirs, 50), "pulumi-p50-ms")
			b.ReportMetric(percentile(theirs, 95), "pulumi-p95-ms")
		}
	})
}

func benchmarkDev(b *testing.B, s *devStack, saves int, save func(int) (total, compiler time.Duration)) {
	var ours, compilers []time.Duration
	for i := 0; b.Loop(); {
		for range saves {
			total, compiler := save(i)
			ours, compilers = append(ours, total-compiler), append(compilers, compiler)
			i++
		}
	}
	b.ReportMetric(0, "ns/op") // the cost of deploying is in it
	b.ReportMetric(percentile(ours, 50), "p50-ms")
	b.ReportMetric(percentile(ours, 95), "p95-ms")
	if compiler := percentile(compilers, 50); compiler > 0 {
		b.ReportMetric(compiler, "compiler-ms")
	}
	s.end()
}

// percentile is the duration in milliseconds that p percent of all do not exceed.
func percentile(all []time.Duration, p int) float64 {
	return float64(slices.Sorted(slices.Values(all))[(len(all)-1)*p/100].Microseconds()) / 1000
}
