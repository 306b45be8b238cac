package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/athanor-dev/athanor/tools/browsertest"
)

// project is a stack in a folder and home of its own.
type project struct {
	t   *testing.T
	dir string
	env []string
	// serving is the process of athanor ui.
	serving *os.Process
}

func newProject(t *testing.T, stack string) *project {
	t.Helper()
	if os.Getenv("ATHANOR_BINARY") == "" {
		t.Skip("ATHANOR_BINARY names no built binary (task page)")
	}
	p := &project{t: t, dir: t.TempDir()}
	for _, name := range []string{"PATH", "TMPDIR"} {
		p.env = append(p.env, name+"="+os.Getenv(name))
	}
	p.env = append(p.env, "HOME="+t.TempDir(), "USER=ada")
	p.write("athanor.yaml", stack)
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Getenv("ATHANOR_BINARY"), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run runs a command to its end, and returns what it printed.
func (p *project) run(code int, args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("athanor %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, &errs)
	}
	return string(out)
}

// ui starts athanor ui and returns the address that lets a browser in.
func (p *project) ui(args ...string) string {
	p.t.Helper()
	cmd := p.command(append([]string{"ui", "--json"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.serving = cmd.Process
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("athanor ui: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var serving struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &serving)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return serving.URL
}

// open starts a browser. What its console says of errors, refused content and failed scripts fails the test, unless a test
// expects it.
func open(t *testing.T, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	ctx := browsertest.Start(t, t.Skip, 3*time.Minute, flags...)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *cdruntime.EventExceptionThrown:
			t.Errorf("a script failed: %v", e.ExceptionDetails)
		case *cdruntime.EventConsoleAPICalled:
			if e.Type == cdruntime.APITypeError {
				t.Errorf("the console: %v", e.Args)
			}
		case *log.EventEntryAdded:
			if e.Entry.Source == log.SourceSecurity || e.Entry.Source == log.SourceViolation {
				t.Errorf("the browser: %s", e.Entry.Text)
			}
		}
	})
	return ctx
}

// do runs actions of the browser.
func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// value is what an expression has in the page.
func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	var v T
	do(t, ctx, chromedp.Evaluate(expression, &v, func(e *cdruntime.EvaluateParams) *cdruntime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return v
}

// until waits until an expression is true in the page, which may be another one by then.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	end := time.Now().Add(2 * time.Minute)
	for {
		var is bool
		err := chromedp.Run(ctx, chromedp.Evaluate("!!("+expression+")", &is))
		if err == nil && is {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v\n%s", expression, err, value[string](t, ctx, "document.body.innerText"))
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", expression, ctx.Err())
		case <-ticker.C:
		}
	}
}

// press clicks on what a selector finds, as soon as it is visible. A page that follows a run replaces its parts: between
// finding a node and clicking where it is, as chromedp.Click does, it may be another one.
func press(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	until(t, ctx, fmt.Sprintf(`(e => e?.checkVisibility() && (e.click(), true))(document.querySelector(%q))`, selector))
}

// loaded waits until the page of a path has come, with its scripts.
func loaded(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	until(t, ctx, fmt.Sprintf("location.pathname === %q && document.readyState === 'complete'", path))
}

// shopStack is the stack of the examples, with kinds of this machine.
const shopStack = `stack: shop
resources:
  catalog: {kind: local.Value, props: {input: {table: shop-catalog, keys: [sku]}}}
  dead: {kind: random.ID, props: {bytes: 4}}
  stripe-key: {kind: random.Password, props: {length: 20}}
  orders: {kind: local.Value, props: {input: "orders ${dead.hex}"}}
  worker/role: {kind: local.Value, props: {input: {orders: "${orders.output}", catalog: "${catalog.output.table}"}}}
  worker: {kind: local.File, props: {path: out/worker.txt, content: "role ${worker/role.output.orders}\n<script>alert(1)</script>"}}
  worker/orders: {kind: local.Value, props: {input: "${worker.path} ${orders.output}"}}
outputs:
  page: ${worker.path}
`

// newest is the id of the newest run of a stage, and second of the one before.
func (p *project) newest(stage string) string { return p.runs(stage)[0] }
func (p *project) second(stage string) string { return p.runs(stage)[1] }

func (p *project) runs(stage string) []string {
	p.t.Helper()
	var ids []string
	for line := range strings.Lines(p.run(0, "history", "--stage", stage, "--json")) {
		var run struct{ Run string }
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			p.t.Fatal(err)
		}
		ids = append(ids, run.Run)
	}
	return ids
}

// TestViews opens every view in the widths and colours that it is made for: nothing is wider than the screen, texts have
// enough contrast, each field has a name, and the browser refuses nothing of it.
func TestViews(t *testing.T) {
	p := newProject(t, shopStack)
	p.run(0, "deploy", "--yes", "--stage", "prod")
	p.write("athanor.yaml", strings.ReplaceAll(shopStack, "orders $", "more orders $"))
	p.run(0, "deploy", "--yes", "--stage", "prod")
	p.write("athanor.yaml", strings.ReplaceAll(strings.ReplaceAll(shopStack, "orders $", "fewer orders $"), "  worker/orders:", "  worker/invoices:"))
	p.run(2, "plan", "--stage", "prod", "--out", "plan.json")
	address := p.ui("--plan", "plan.json")
	base, _, _ := strings.Cut(address, "/open")
	ctx := open(t)
	do(t, ctx, chromedp.Navigate(address))
	run := p.newest("prod")
	paths := []string{
		"/", "/s/shop/prod", "/s/shop/prod?q=nosuch", "/s/shop/prod/resource?address=worker", "/s/shop/prod/graph", "/s/shop/prod/plans", "/s/shop/prod/plans/plan.json",
		"/s/shop/prod/history", "/s/shop/prod/runs/" + run, "/s/shop/prod/runs/" + run + "?view=tree", "/s/shop/prod/compare?from=" + run + "&to=" + run, "/nosuch",
	}
	for scheme, widths := range map[string][]int64{"light": {320, 1280}, "dark": {390, 768}} {
		for _, width := range widths {
			do(t, ctx, chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for _, path := range paths {
				do(t, ctx, chromedp.Navigate(base+path))
				if strings.Contains(path, "/graph") {
					until(t, ctx, `document.querySelector("#graph[data-drawn]")`)
				}
				where := fmt.Sprintf("%s, %s, %d px", path, scheme, width)
				if wide := value[int](t, ctx, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s: %d px wider than the screen: %s", where, wide, value[string](t, ctx, `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80)).slice(0, 3).join("\n")`))
				}
				for _, low := range value[[]string](t, ctx, lowContrast) {
					t.Errorf("%s: contrast %s", where, low)
				}
				for _, nameless := range value[[]string](t, ctx, withoutName) {
					t.Errorf("%s: no name: %s", where, nameless)
				}
			}
		}
	}
}

// lowContrast lists texts whose contrast with what is behind them is below that of WCAG AA.
const lowContrast = `(() => {
  const rgb = s => (s.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const low = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e.checkVisibility() || e.closest(".vh, .skip, script, noscript, title")) continue;
    const inGraph = e.closest("svg"), a = light(rgb(inGraph ? getComputedStyle(e).fill : getComputedStyle(e).color));
    const b = light(inGraph ? rgb(getComputedStyle(e.parentNode.querySelector("rect") ?? e).fill) : behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(ratio.toFixed(2) + " " + e.tagName + "." + e.getAttribute("class") + " " + texts.currentNode.data.trim().slice(0, 30));
  }
  return [...low];
})()`

// withoutName lists what can be used and has no name for those who cannot see it.
const withoutName = `[...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")].filter(e => e.checkVisibility() &&
  !(e.textContent.trim() || e.ariaLabel || e.labels?.length || e.querySelector("title"))).map(e => e.outerHTML.slice(0, 100))`

// TestKeys goes through the pages by keyboard alone.
func TestKeys(t *testing.T) {
	p := newProject(t, shopStack)
	p.run(0, "deploy", "--yes", "--stage", "prod")
	ctx := open(t)
	do(t, ctx, chromedp.Navigate(p.ui()), chromedp.WaitVisible("a.name"))
	do(t, ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	loaded(t, ctx, "/s/shop/prod")
	do(t, ctx, input.DispatchKeyEvent(input.KeyDown).WithKey("/"))
	if at := value[string](t, ctx, "document.activeElement.id"); at != "q" {
		t.Fatalf("the focus is at %q", at)
	}
	do(t, ctx, chromedp.KeyEvent("work role"))
	until(t, ctx, `document.querySelectorAll("tbody a.name").length === 1`)
	until(t, ctx, `document.activeElement.id === "q" && location.search === "?q=work+role"`)
	do(t, ctx, chromedp.KeyEvent("\x1b"))
	until(t, ctx, `document.querySelectorAll("tbody a.name").length === 7`)
	for _, step := range [][2]string{{"gg", "/s/shop/prod/graph"}, {"gh", "/s/shop/prod/history"}, {"gp", "/s/shop/prod/plans"}, {"gr", "/s/shop/prod"}, {"gs", "/"}} {
		do(t, ctx, chromedp.KeyEvent(step[0]))
		loaded(t, ctx, step[1])
	}
}

// TestWithoutScript reads every view with scripts switched off, filters a list by its form, and finds the graph as a list.
func TestWithoutScript(t *testing.T) {
	p := newProject(t, shopStack)
	p.run(0, "deploy", "--yes", "--stage", "prod")
	address := p.ui()
	base, _, _ := strings.Cut(address, "/open")
	ctx := open(t)
	do(t, ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(address))
	press(t, ctx, "a.name")
	loaded(t, ctx, "/s/shop/prod")
	do(t, ctx, chromedp.SendKeys("#q", "role"), chromedp.Submit("#q"))
	until(t, ctx, `new URLSearchParams(location.search).get("q") === "role" && document.readyState === "complete"`)
	if shown := value[string](t, ctx, `[...document.querySelectorAll("a.name")].map(a => a.textContent).join()`); shown != "worker/role" {
		t.Errorf("the filter shows %q", shown)
	}
	do(t, ctx, chromedp.Navigate(base+"/s/shop/prod/graph"))
	press(t, ctx, "summary")
	if list := value[string](t, ctx, `document.querySelector("#nodes").innerText`); !strings.Contains(list, "worker/role local.Value needs catalog, orders") {
		t.Errorf("the list of the graph: %s", list)
	}
	if value[bool](t, ctx, `document.querySelector("#graph").checkVisibility()`) {
		t.Error("an empty drawing is shown")
	}
}

// cutter passes connections on to a server, and can cut all of them.
type cutter struct {
	to string

	mu    sync.Mutex
	conns []net.Conn
	cut   int // connections
}

func (c *cutter) serve(listener net.Listener) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to)
		if err != nil {
			in.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, in, out)
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			}()
		}
	}
}

func (c *cutter) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.cut += len(c.conns) / 2
	c.conns = nil
}

// liveStack has commands that wait for the test between resources that are done at once.
const liveStack = `stack: shop
resources:
  first: {kind: local.Value, props: {input: one}}
  gate[0]: {kind: local.Command, props: {run: "cat gate0", env: {A: "${first.output}"}}}
  second: {kind: local.Value, props: {input: "two ${gate[0].stdout}"}}
  gate[1]: {kind: local.Command, props: {run: "cat gate1", env: {A: "${second.output}"}}}
  evil: {kind: local.Command, props: {run: "cat gate2; echo '<img src=x onerror=alert(1)>' >&2; exit 1", env: {A: "${gate[1].stdout}"}}}
`

// deploying starts a deploy, and returns when its first resource is created.
func (p *project) deploying() *exec.Cmd {
	p.t.Helper()
	deploy := p.command("deploy", "--yes", "--stage", "prod")
	said, err := deploy.StderrPipe()
	if err == nil {
		err = deploy.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	for all := ""; !strings.Contains(all, "first: created"); {
		line, err := lines.ReadString('\n')
		if all += line; err != nil {
			p.t.Fatalf("%s: %v", all, err)
		}
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the deploy
	return deploy
}

// pass lets a gate go on.
func (p *project) pass(gate string) {
	p.t.Helper()
	pipe, err := os.OpenFile(filepath.Join(p.dir, gate), os.O_WRONLY, 0) // it waits for the reader
	if err == nil {
		_, err = pipe.WriteString("open\n")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	pipe.Close()
}

// TestLive watches a deploy to its end: rows and events come as it goes on, nodes of the graph light up, and of the events
// each is there once although the connection is cut in the middle.
func TestLive(t *testing.T) {
	p := newProject(t, liveStack)
	for _, gate := range []string{"gate0", "gate1", "gate2"} {
		if err := syscall.Mkfifo(filepath.Join(p.dir, gate), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := p.ui()
	base, _, _ := strings.Cut(address, "/open")
	host := strings.TrimPrefix(base, "http://")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	wire := &cutter{to: host}
	go wire.serve(listener)
	ctx := open(t, chromedp.Flag("host-resolver-rules", "MAP "+host+" "+listener.Addr().String()))
	deploy := p.deploying()
	do(t, ctx, chromedp.Navigate(address))
	graph, cancel := chromedp.NewContext(ctx)
	defer cancel()
	press(t, ctx, "tbody a[href*='/runs/']")
	do(t, ctx, chromedp.WaitVisible("#log[data-events]"))
	shows := func(address, word string) {
		t.Helper()
		until(t, ctx, fmt.Sprintf(`[...document.querySelectorAll("#rows tr")].some(r => r.innerText.includes(%q) && r.innerText.includes(%q))`, address, word))
	}
	shows("first", "created")
	shows("gate[0]", "creating")
	until(t, ctx, `document.querySelector("progress").value === 1 && document.querySelector("progress").max > 4`)
	do(t, graph, chromedp.Navigate(base+"/s/shop/prod/graph"))
	p.pass("gate0")
	shows("second", "created")
	shows("gate[1]", "creating")
	wire.cutAll() // events come while nobody listens
	p.pass("gate1")
	shows("gate[1]", "created")
	shows("evil", "creating")
	wire.cutAll()
	do(t, graph, chromedp.Reload())
	until(t, graph, `document.querySelector("#graph[data-drawn] a[data-name='gate[1]']")`)
	p.pass("gate2")
	if err := deploy.Wait(); err == nil {
		t.Error("the deploy did not fail")
	}
	until(t, ctx, `"ended" in document.body.dataset`)
	if wire.cut < 2 {
		t.Errorf("%d connections were cut", wire.cut)
	}
	var want []int
	for line := range strings.Lines(p.run(0, "events", "--stage", "prod", "--json")) {
		var e struct{ Seq int }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	until(t, graph, `"ended" in document.querySelector("#graph").dataset`)
	if got := value[[]int](t, ctx, `[...document.querySelectorAll("#log li")].map(e => Number(e.dataset.seq))`); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events %v, want %v", got, want)
	}
	text := value[string](t, ctx, "document.body.innerText")
	for _, part := range []string{"deploy " + p.newest("prod")[16:] + " failed", "critical path: first, gate[0], second, gate[1], evil", "<img src=x onerror=alert(1)>", "Cause"} {
		if !strings.Contains(strings.ReplaceAll(text, "\n", " "), part) {
			t.Errorf("the page does not say %q:\n%s", part, text)
		}
	}
	if value[int](t, ctx, `document.querySelectorAll("main img").length`) != 0 {
		t.Error("the text of an error became an image")
	}
}

// TestCancel asks a run to stop by the form.
func TestCancel(t *testing.T) {
	p := newProject(t, liveStack)
	for _, gate := range []string{"gate0", "gate1", "gate2"} {
		if err := syscall.Mkfifo(filepath.Join(p.dir, gate), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := open(t)
	deploy := p.deploying()
	do(t, ctx, chromedp.Navigate(p.ui("--allow-write")))
	press(t, ctx, "tbody a[href*='/runs/']")
	press(t, ctx, "#run-head a.danger")
	press(t, ctx, "form .danger")
	until(t, ctx, `document.querySelector("#run-head")?.innerText.includes("stopping")`)
	p.pass("gate0") // the running call ends
	_ = deploy.Wait()
	if code := deploy.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d", code)
	}
	until(t, ctx, `document.querySelector("#run-head").innerText.includes("cancelled")`)
}

// TestLargeGraph draws 1,000 nodes and zooms in them: each frame is drawn in time to be fluent, as far as the machine lets it,
// which is reported and not judged.
func TestLargeGraph(t *testing.T) {
	var stack strings.Builder
	stack.WriteString("stack: shop\nresources:\n")
	for i := range 1000 {
		input := "x"
		if i >= 20 {
			input = fmt.Sprintf("${net/r%d.output}", i-20+(i*7)%13)
		}
		fmt.Fprintf(&stack, "  net/r%d: {kind: local.Value, props: {input: %q}}\n", i, input)
	}
	p := newProject(t, stack.String())
	p.run(0, "deploy", "--yes", "--stage", "prod")
	address := p.ui()
	base, _, _ := strings.Cut(address, "/open")
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(address))
	do(t, ctx, chromedp.Navigate(base+"/s/shop/prod/graph"))
	until(t, ctx, `document.querySelector("#graph[data-drawn='1']")`)
	begun := time.Now()
	do(t, ctx, chromedp.Navigate(base+"/s/shop/prod/graph?all=1"))
	until(t, ctx, `document.querySelector("#graph[data-drawn='1000']")`)
	drawn := time.Since(begun)
	frames := value[float64](t, ctx, `new Promise(done => {
		const b = document.querySelector("[data-zoom=in]"), begun = performance.now();
		let n = 0;
		const step = () => { if (++n > 30) return done((performance.now() - begun) / 30); document.querySelector(n % 2 ? "[data-zoom=in]" : "[data-zoom=out]").click(); requestAnimationFrame(step); };
		requestAnimationFrame(step);
	})`)
	t.Logf("1,000 nodes: drawn after %v, %.0f ms for a frame of zoom", drawn.Round(time.Millisecond), frames)
	if n := value[int](t, ctx, `new Set([...document.querySelectorAll("#graph a")].map(a => a.getAttribute("transform"))).size`); n != 1000 {
		t.Errorf("%d nodes have a place of their own", n)
	}
}
