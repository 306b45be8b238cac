//go:build unix

package render_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// terminal is a real terminal whose other end draws what it is sent on a screen.
type terminal struct {
	t    *testing.T
	tty  *os.File
	emu  vt10x.Terminal
	done chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond
	sent    int
	drawn   int
}

func newTerminal(t *testing.T, columns, rows int) *terminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, tty: tty, emu: vt10x.New(vt10x.WithSize(columns, rows)), done: make(chan struct{})}
	x.arrived = sync.NewCond(&x.mu)
	go func() {
		defer close(x.done)
		for part, held := make([]byte, 4096), 0; ; {
			n, err := master.Read(part[held:])
			whole := wholeRunes(part[:held+n])
			x.emu.Write(part[:whole])
			held = copy(part, part[whole:held+n])
			x.mu.Lock()
			x.drawn += n
			x.arrived.Broadcast()
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		tty.Close()
		<-x.done
		master.Close()
	})
	return x
}

// wholeRunes is how many of the bytes are whole characters: a read may end within one, which the emulator would lose.
func wholeRunes(part []byte) int {
	for i := 1; i <= min(len(part), utf8.UTFMax-1); i++ {
		if last := part[len(part)-i:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			return len(part) - i
		}
	}
	return len(part)
}

// TestCharactersInParts: a character that arrives in two reads is drawn.
func TestCharactersInParts(t *testing.T) {
	x := newTerminal(t, 20, 2)
	for _, part := range []string{"a\xe2", "\x97", "\x90b\xf0\x9f", "\x98\x80c"} {
		if _, err := x.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		x.screen(false) // all of it has been read
	}
	if have := x.screen(false); have != "a◐b😀c\n" {
		t.Errorf("the screen shows %q", have)
	}
}

// Write is a program's output to the terminal, whose driver adds a return to each new line.
func (x *terminal) Write(text []byte) (int, error) {
	x.mu.Lock()
	x.sent += len(text) + strings.Count(string(text), "\n")
	x.mu.Unlock()
	return x.tty.Write(text)
}

// size is what a program asks its terminal for.
func (x *terminal) size() (columns, rows int) {
	rows, columns, err := pty.Getsize(x.tty)
	if err != nil {
		x.t.Fatal(err)
	}
	return columns, rows
}

var colorNames = map[vt10x.Color]string{1: "red", 2: "green", 3: "yellow", 4: "blue", 5: "magenta", 6: "cyan"}

// bold is how the emulator keeps what is bold.
const bold = 1 << 2

// screen is what stands on the screen once all that was sent has arrived, with colours as <red>…</>.
func (x *terminal) screen(colors bool) string {
	x.mu.Lock()
	for x.drawn < x.sent {
		x.arrived.Wait()
	}
	x.mu.Unlock()
	x.emu.Lock()
	defer x.emu.Unlock()
	columns, rows := x.emu.Size()
	lines := make([]string, rows)
	for y := range rows {
		var line strings.Builder
		now := ""
		for col := range columns {
			g := x.emu.Cell(col, y)
			name := colorNames[g.FG&7]
			if g.FG > 15 {
				name = ""
			}
			if g.Mode&bold != 0 {
				name = "bold"
			}
			if name != now && colors {
				if now != "" {
					line.WriteString("</>")
				}
				if name != "" {
					line.WriteString("<" + name + ">")
				}
				now = name
			}
			line.WriteRune(g.Char)
		}
		if now != "" && colors {
			line.WriteString("</>")
		}
		lines[y] = strings.TrimRight(line.String(), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// view draws something on a terminal. Without colours there is no live region: shot takes what is on the screen meanwhile.
type view func(x render.Screen, shot func(title string), clock *clock)

// widths are those that each view is drawn at.
var widths = []int{50, 80, 120, 200, 250}

// TestScreens draws each view on real terminals of several widths, with colours and without.
func TestScreens(t *testing.T) {
	for name, draw := range views {
		t.Run(name, func(t *testing.T) {
			var all strings.Builder
			for _, columns := range widths {
				for _, color := range []bool{false, true} {
					title := fmt.Sprintf("%d columns", columns)
					if color {
						title += ", colours"
					}
					rows := 90
					if strings.HasPrefix(name, "live") {
						rows = 24
					}
					x, clock := newTerminal(t, columns, rows), newClock()
					screen := render.Screen{Out: x, Style: render.Style{Color: color}.At(columns), Clock: clock}
					if color {
						screen.Size = x.size
					}
					draw(screen, func(what string) {
						if what != "" {
							what = ", " + what
						}
						fmt.Fprintf(&all, "==== %s%s\n%s", title, what, x.screen(color))
					}, clock)
					for line := range strings.SplitSeq(x.screen(false), "\n") {
						if n := len([]rune(line)); n > columns {
							t.Errorf("%s: a line of %d columns: %s", title, n, line)
						}
					}
				}
			}
			golden(t, "screens/"+name+".txt", all.String())
		})
	}
}

// TestWidest: no view is wider than 250 columns, however wide the terminal is.
func TestWidest(t *testing.T) {
	for name, draw := range views {
		shots := map[int][]string{}
		for _, columns := range []int{250, 300} {
			x, clock := newTerminal(t, columns, 90), newClock()
			draw(render.Screen{Out: x, Style: render.Style{Color: true}.At(columns), Size: x.size, Clock: clock}, func(string) {
				shots[columns] = append(shots[columns], x.screen(true))
			}, clock)
		}
		if len(shots[300]) == 0 || !slices.Equal(shots[250], shots[300]) {
			t.Errorf("%s is drawn differently on a terminal of 300 columns:\n%s", name, strings.Join(shots[300], "\n"))
		}
	}
}

// TestASCII draws all views for a terminal that shows ASCII alone.
func TestASCII(t *testing.T) {
	for name, draw := range views {
		x, clock := newTerminal(t, 80, 90), newClock()
		draw(render.Screen{Out: x, Style: render.Style{Width: 80, ASCII: true, Color: true}, Size: x.size, Clock: clock}, func(what string) {
			if i := strings.IndexFunc(x.screen(false), func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s, %s: not ASCII at %d:\n%s", name, what, i, x.screen(false))
			}
		}, clock)
	}
}

// drawn are what people see on a terminal, each with the views that draw it.
var drawn = map[string][]string{
	"planning at work":        {"reading", "building", "evaluating"},
	"a small plan":            {"plan", "plan-detailed"},
	"200 resources in groups": {"plan-folded"},
	"what is replaced, blocked, adopted, recovered, secret, waited for": {"plan-cases"},
	"many resources blocked by one cause":                               {"plan-blocked"},
	"a plan with nothing to do":                                         {"plan-nothing"},
	"what is asked before a change":                                     {"questions"},
	"a deploy at work, with its end and its heartbeat":                  {"live", "live-many"},
	"an interrupt":              {"live-interrupted"},
	"a run that is partly done": {"live-partly"},
	"destroy":                   {"destroy"},
	"the lines of dev and logs": {"logs", "dev-status"},
	"errors with their lines":   {"errors"},
	"lists":                     {"stage-list", "state-list", "state-show", "history", "kinds", "orphans", "output"},
	"drift":                     {"drift"},
	"doctor":                    {"doctor"},
}

// TestAllDrawn: all that people see has its golden screens, at each width and with colours and without, and no screen is left that no view
// draws.
func TestAllDrawn(t *testing.T) {
	left := map[string]bool{}
	for name := range views {
		left[name] = true
	}
	for what, names := range drawn {
		for _, name := range names {
			delete(left, name)
			have, err := os.ReadFile("testdata/screens/" + name + ".txt")
			if err != nil || views[name] == nil {
				t.Errorf("%s: the view %s is not drawn: %v", what, name, err)
				continue
			}
			for _, columns := range widths {
				for _, title := range []string{"%d columns", "%d columns, colours"} {
					if title = "==== " + fmt.Sprintf(title, columns); !strings.Contains(string(have), title+"\n") && !strings.Contains(string(have), title+", a") {
						t.Errorf("%s: %s has no screen %q", what, name, title)
					}
				}
			}
		}
	}
	files, err := filepath.Glob("testdata/screens/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); views[name] == nil {
			t.Errorf("no view draws %s", file)
		}
	}
	if len(left) > 0 {
		t.Errorf("nobody says what these views show: %v", left)
	}
}

// static is a view that is drawn once.
func static(draw func(w io.Writer, s render.Style)) view {
	return func(x render.Screen, shot func(string), _ *clock) {
		draw(x.Out, x.Style)
		shot("")
	}
}

func at(provider, account, region string) reconcile.Place {
	return reconcile.Place{Provider: provider, Account: account, Region: region}
}

var inAWS, inCloudflare = at("aws", "123456789012", "eu-north-1"), at("cloudflare", "acme", "")

func changed(path string, have, want any) engine.Reason {
	return engine.Reason{Path: tree.Path(path), Have: have, Want: want, Source: engine.ByProgram}
}

// referring is a prop of something new that is one reference, with its value.
func referring(path, ref, value string) engine.Reason {
	return engine.Reason{Path: tree.Path(path), Want: value, Ref: ref, Source: engine.ByProgram}
}

func later(path string, want any) engine.Reason {
	return engine.Reason{Path: tree.Path(path), Want: want, Unknown: true}
}

// granted is a statement of a role.
func granted(sid, on string, actions ...any) any {
	return map[string]any{"sid": sid, "actions": actions, "resources": []any{on}}
}

// code is the difference in the code of the worker: what state has of its files tells which changed.
func code() engine.Reason {
	r := changed("code", "sha256:9f31c07be1a3d94489a3d1be0279ac23f0a7d0b8eb7bb2fee1a5c49d0a2a4c33", "sha256:1c6d0f6ad0be4ba7b70a05b4a7b1fcb5b5b8f0a8a37a5fd1cbd3c1e1a2fcb8aa")
	r.Files = &reconcile.FileChanges{
		Modified: []string{"go.sum", "main.go"}, Added: []string{"invoice.go"}, Count: 14, Before: 9_856_614, After: 9_961_472,
	}
	return r
}

// shop is the plan of the example: ada adds a queue and connects it to the worker, and somebody suspended the versioning of a bucket.
func shop() *engine.Plan {
	p := &engine.Plan{
		Stack: "shop", Stage: "prod", Serial: 41,
		Actions: []engine.Planned{
			{Address: "dead", Kind: "aws.sqs.Queue", Action: engine.Unchanged, Place: inAWS},
			{Address: "invoices", Kind: "aws.sqs.Queue", Action: engine.Create, Place: inAWS, Source: "main.go:29", Reasons: []engine.Reason{
				referring("deadLetter", "${dead.arn}", "arn:aws:sqs:eu-north-1:123456789012:shop-prod-dead-3f9a"), changed("visibilityTimeout", nil, "60s"),
			}},
			{Address: "orders", Kind: "aws.sqs.Queue", Action: engine.Update, Place: inAWS, Source: "main.go:24", Reasons: []engine.Reason{changed("visibilityTimeout", "30s", "60s")}},
			{Address: "sessions", Kind: "cloudflare.KVNamespace", Action: engine.Unchanged, Place: inCloudflare},
			{Address: "uploads", Kind: "aws.s3.Bucket", Action: engine.Update, Place: inAWS, Source: "main.go:19", Reasons: []engine.Reason{
				{Path: "versioning", Have: "suspended", Want: "enabled", Source: engine.ByWorld},
			}},
			{Address: "worker", Kind: "aws.lambda.Function", Action: engine.Update, Place: inAWS, Source: "main.go:33:3", Needs: []string{"worker/role"}, Reasons: []engine.Reason{
				code(),
				changed("memory", int64(256), int64(512)),
				changed("description", nil, "takes the invoices of a day from the queue, writes them to the table, and sends each customer one mail with all of them"),
			}},
			{Address: "worker/invoices", Kind: "aws.lambda.EventSourceMapping", Action: engine.Create, Place: inAWS, Source: "main.go:41", Needs: []string{"worker", "invoices"}, Reasons: []engine.Reason{
				referring("function", "${worker.name}", "shop-prod-worker-77a1"), later("source", ref("invoices", "arn")),
			}},
			{Address: "worker/role", Kind: "aws.iam.Role", Action: engine.Update, Place: inAWS, Source: "main.go:33", Needs: []string{"invoices"}, Reasons: []engine.Reason{
				{
					Path: "bindings", Unknown: true, Source: engine.ByProgram,
					Have: []any{granted("orders", "arn:aws:sqs:eu-north-1:123456789012:shop-prod-orders-11c0", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")},
					Want: []any{
						granted("invoices", ref("invoices", "arn"), "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
						granted("orders", "arn:aws:sqs:eu-north-1:123456789012:shop-prod-orders-11c0", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
					},
				},
			}, Bound: map[string]string{"invoices": "lambda.Consume, main.go:41", "orders": "lambda.Consume, main.go:40"}},
		},
		OutputChanges: []engine.OutputChange{{Name: "invoicesUrl", Want: ref("invoices", "url"), Unknown: true}},
		Summary:       engine.Summary{Created: 2, Updated: 4, Unchanged: 2, OutputsChanged: 1},
	}
	return p
}

// load is a plan of 200 resources.
func load() *engine.Plan {
	p := &engine.Plan{Stack: "shop", Stage: "load", Serial: 7}
	for i := range 101 {
		p.Actions = append(p.Actions, engine.Planned{
			Address: fmt.Sprintf("lane[a%03d]", i), Kind: "aws.sqs.Queue", Action: engine.Update, Place: inAWS,
			Reasons: []engine.Reason{changed("visibilityTimeout", "30s", "60s")},
		})
	}
	for i := range 60 {
		memory := int64(256)
		switch {
		case i%17 == 3:
			memory = 1024
		case i%8 == 5:
			memory = 512
		}
		p.Actions = append(p.Actions, engine.Planned{
			Address: fmt.Sprintf("job[%02d]", i), Kind: "aws.lambda.Function", Action: engine.Create, Place: inAWS,
			Reasons: []engine.Reason{changed("memory", nil, memory), changed("name", nil, fmt.Sprintf("job-%d", i))},
		})
	}
	for i := range 4 {
		p.Actions = append(p.Actions, engine.Planned{Address: fmt.Sprintf("old/logs[%02d]", i), Kind: "aws.logs.LogGroup", Action: engine.Delete, Identity: fmt.Sprintf("/shop/load/%d", i)})
	}
	p.Actions = append(p.Actions, engine.Planned{
		Address: "lane[b00]", Kind: "aws.sqs.Queue", Action: engine.Replace, Place: inAWS,
		Reasons: []engine.Reason{{Path: "fifo", Have: false, Want: true, Replaces: true, Source: engine.ByProgram}},
	})
	p.Summary = engine.Summary{Created: 60, Updated: 101, Replaced: 1, Deleted: 4}
	return p
}

// cases is a plan with what is rare.
func cases() *engine.Plan {
	return &engine.Plan{
		Stack: "shop", Stage: "prod", Serial: 41,
		Actions: []engine.Planned{
			{Address: "catalog", Kind: "aws.dynamodb.Table", Action: engine.Replace, Place: inAWS, Reasons: []engine.Reason{
				{Path: "partitionKey", Have: "id", Want: "sku", Replaces: true, Source: engine.ByProgram},
			}, Notes: []string{"worker, worker/role are updated; the old table is deleted"}},
			{Address: "ledger", Kind: "aws.dynamodb.Table", Action: engine.Blocked, Place: inAWS, Problem: "it holds data and would be replaced: partitionKey", Hint: "--allow-delete ledger if its data may go"},
			{Address: "media", Kind: "aws.s3.Bucket", Action: engine.Adopt, From: "shop-prod-uploads-7d10", Reasons: []engine.Reason{
				{Path: "versioning", Have: "suspended", Want: "enabled", Source: engine.ByWorld},
			}},
			{Address: "reports", Kind: "cloudflare.D1Database", Action: engine.Forget, Identity: "3f9a2c11-7d10-4b2e-9f31-c07be1a3d944"},
			{Address: "sessions", Kind: "cloudflare.KVNamespace", Action: engine.Recover, Place: inCloudflare, From: "5b2e77a1"},
			{Address: "stripe-key", Kind: "aws.ssm.Parameter", Action: engine.Update, Reasons: []engine.Reason{
				{Path: "value", Have: reconcile.Mask, Want: reconcile.Mask, Secret: true, Source: engine.ByProgram},
			}},
			{Address: "worker", Kind: "aws.lambda.Function", Action: engine.Update, WaitUntil: time.Date(2026, 11, 22, 10, 36, 8, 0, time.Local), Reasons: []engine.Reason{
				{Path: "memory", Have: int64(256), Want: int64(512), Source: engine.ByProgram},
				{Path: "timeout", Have: "3s", Want: "30s", Source: engine.ByWorld},
			}},
		},
		Warnings: []string{"worker2 looks like worker under a new name: renamedFrom: [worker] moves it"},
		Summary:  engine.Summary{Replaced: 1, Adopted: 1, Recovered: 1, Updated: 2, Forgotten: 1, Blocked: 1},
	}
}

// destroyed is the plan that deletes a stage whose database may go and whose bucket stays.
func destroyed() *engine.Plan {
	p := &engine.Plan{Stack: "shop", Stage: "pr-118", Serial: 12, Destroy: true, Summary: engine.Summary{Deleted: 4, Forgotten: 1}}
	for _, x := range []struct{ address, kind, identity string }{
		{"orders", "aws.sqs.Queue", "https://sqs.eu-north-1.amazonaws.com/123456789012/shop-pr-118-orders-5b2e"},
		{"reports", "cloudflare.D1Database", "3f9a2c11-7d10-4b2e-9f31-c07be1a3d944"},
		{"worker", "aws.lambda.Function", "shop-pr-118-worker-77a1"},
		{"worker/role", "aws.iam.Role", "shop-pr-118-worker-role-9c4e"},
	} {
		p.Actions = append(p.Actions, engine.Planned{Address: x.address, Kind: x.kind, Action: engine.Delete, Identity: x.identity})
	}
	p.Actions = append(p.Actions, engine.Planned{Address: "uploads", Kind: "aws.s3.Bucket", Action: engine.Forget, Identity: "shop-pr-118-uploads-7d10"})
	return p
}

const (
	conflict = "ConcurrentModification, try 2 of 8, 1.5s"
	starting = "code uploaded; LastUpdateStatus is InProgress, until 10:36:08"
	refusal  = "update: UpdateFunctionConfiguration: InvalidParameterValueException: 'MemorySize' value failed to satisfy constraint: " +
		"Member must have value less than or equal to 3008, request 3c0e9f1a-77d2"
)

// run plays the deploy of the example. It ends with the worker, which is done, fails or is interrupted.
func run(x render.Screen, clock *clock, shot func(string), last engine.Status) *render.Progress {
	p := render.NewProgress(x, shop())
	begun := map[string]time.Time{}
	event := func(kind engine.EventType, address string, action engine.Action, more func(*engine.Event)) {
		e := engine.Event{Time: clock.Now(), Run: "20261122-103104-K4TQZE", Type: kind, Address: address, Action: action, Status: engine.StatusRunning}
		for _, a := range shop().Actions {
			if a.Address == address {
				e.Kind = a.Kind
			}
		}
		switch kind {
		case engine.EventStart:
			begun[address] = clock.Now()
		case engine.EventDone:
			e.Status, e.Elapsed = engine.StatusDone, clock.Now().Sub(begun[address]).Seconds()
		default:
		}
		if more != nil {
			more(&e)
		}
		p.Event(e)
	}
	begin := func(address string, action engine.Action) { event(engine.EventStart, address, action, nil) }
	done := func(address string, action engine.Action) { event(engine.EventDone, address, action, nil) }
	note := func(address, text string) {
		event(engine.EventProgress, address, engine.Update, func(e *engine.Event) { e.Note = text })
	}
	event(engine.EventRun, "", "deploy", nil)
	begin("uploads", engine.Update)
	begin("orders", engine.Update)
	begin("invoices", engine.Create)
	clock.advance(600 * time.Millisecond)
	done("uploads", engine.Update)
	clock.advance(300 * time.Millisecond)
	done("orders", engine.Update)
	clock.advance(400 * time.Millisecond)
	done("invoices", engine.Create)
	begin("worker/role", engine.Update)
	note("worker/role", conflict)
	clock.advance(1200 * time.Millisecond)
	shot("after 2.5s")
	clock.advance(1900 * time.Millisecond)
	done("worker/role", engine.Update)
	begin("worker", engine.Update)
	note("worker", starting)
	clock.advance(9800 * time.Millisecond)
	shot("after 14.2s")
	clock.advance(1900 * time.Millisecond)
	event(engine.EventDone, "worker", engine.Update, func(e *engine.Event) {
		switch e.Status = last; last {
		case engine.StatusFailed:
			e.Error, e.Hint, e.Cause = refusal, "raise the quota of the account, or set memory to 3008 or less", "c1"
		case engine.StatusInterrupted:
			e.Note = "interrupted while LastUpdateStatus is InProgress; the next run completes it"
		default:
		}
	})
	switch last {
	case engine.StatusDone:
		begin("worker/invoices", engine.Create)
		clock.advance(2200 * time.Millisecond)
		done("worker/invoices", engine.Create)
	case engine.StatusFailed:
		event(engine.EventDone, "worker/invoices", engine.Create, func(e *engine.Event) { e.Status, e.Note = engine.StatusBlocked, "needs worker" })
	default:
	}
	p.Close()
	return p
}

// program is what the example's files hold.
var program = render.Errors{Source: func(file string, line int) (string, bool) {
	lines := map[string]string{
		"athanor.yaml:9":  "      visibiltyTimeout: 60s",
		"athanor.yaml:12": "  page: {kind: local.File, props: {path: page.txt, contents: \"a text that is longer than the terminal is wide, so that only what is around the caret can be shown of it, and no more\", mode: \"0644\"}}",
		"main.go:33":      "\tworker := lambda.New(s, \"worker\", lambda.Function{",
		"main.go:41":      "\tlambda.Consume(worker, invoicess)",
	}
	text, ok := lines[fmt.Sprint(file, ":", line)]
	return text, ok
}}

// many shows more resources at once than half of a screen has lines.
func many(x render.Screen, shot func(string), clock *clock) {
	plan := &engine.Plan{Stack: "shop", Stage: "load"}
	for i := range 40 {
		plan.Actions = append(plan.Actions, engine.Planned{Address: fmt.Sprintf("job[%02d]", i), Kind: "aws.lambda.Function", Action: engine.Create})
	}
	p := render.NewProgress(x, plan)
	for _, a := range plan.Actions[:30] {
		p.Event(engine.Event{Time: clock.Now(), Type: engine.EventStart, Address: a.Address, Action: a.Action})
		clock.advance(100 * time.Millisecond)
	}
	shot("")
	p.Close()
}

// stored is what state has of the shop.
func stored() []engine.RowView {
	now := newClock().Now()
	live := func(kind, identity string, ago time.Duration) engine.GenerationView {
		return engine.GenerationView{Number: 1, State: statestore.Live, Kind: kind, Place: inAWS, Identity: identity, Written: now.Add(-ago)}
	}
	const day = 24 * time.Hour
	replaced := live("aws.lambda.Function", "arn:aws:lambda:eu-north-1:123456789012:function:shop-prod-worker-7d10", 90*time.Minute)
	replaced.Number, replaced.State = 1, statestore.Condemned
	newer := live("aws.lambda.Function", "arn:aws:lambda:eu-north-1:123456789012:function:shop-prod-worker-9c4e", 3*time.Minute)
	newer.Number, newer.Attrs = 2, map[string]any{"arn": newer.Identity, "name": "shop-prod-worker-9c4e"}
	return []engine.RowView{
		{Address: "catalog", Generations: []engine.GenerationView{live("aws.dynamodb.Table", "shop-prod-catalog", 6*day)}},
		{Address: "dead", Generations: []engine.GenerationView{live("aws.sqs.Queue", "shop-prod-dead-3f9a", 6*day)}},
		{Address: "lost", Problem: "sealed bytes do not open: changed, or sealed for something else"},
		{
			Address: "worker", Generations: []engine.GenerationView{replaced, newer}, Needs: []string{"worker/role", "orders", "catalog"},
			Props: map[string]any{"memory": int64(512), "env": map[string]any{"QUEUE": "https://sqs.eu-north-1.amazonaws.com/123456789012/shop-prod-orders-5b2e"}, "password": "(secret)"},
		},
	}
}

// ran are runs of the shop.
func ran() []render.Run {
	now := newClock().Now()
	return []render.Run{
		{Run: "20261123-103104-K4TQZE", Command: "deploy", State: statestore.Running, User: "ada", Host: "mill", PID: 4711, Started: now, Progress: &render.Progression{Done: 4, Total: 6}},
		{Run: "20261122-160412-M2RFA8", Command: "deploy", State: statestore.Succeeded, User: "ada", Host: "mill", Started: now.Add(-18 * time.Hour), Duration: 72.1, Summary: &engine.Summary{Updated: 2}},
		{Run: "20261120-141502-H7WQ2C", Command: "deploy", State: statestore.Failed, User: "grace", Host: "ci-7", Started: now.Add(-68 * time.Hour), Duration: 31.9, Summary: &engine.Summary{Updated: 2, Failed: 1}, Note: "the quota of the account"},
	}
}

// kept are the stages of a store.
func kept() []render.Stage {
	now := newClock().Now()
	return []render.Stage{
		{Stack: "shop", Stage: "pr-118", Status: "deployed", Resources: 14, Command: "deploy", User: "ci", Started: now.Add(-3 * time.Hour), Expires: now.Add(41 * time.Hour)},
		{Stack: "shop", Stage: "prod", Status: "failed", Resources: 1406, Command: "deploy", User: "ada", Started: now.Add(-18 * time.Hour)},
		{Stack: "shop", Stage: "staging", Status: "running", Resources: 14, Command: "deploy", Started: now.Add(-41 * time.Second), Progress: render.Progression{Done: 4, Total: 6}},
		{Stack: "site", Stage: "dev-ada", Status: "empty", Expires: now.Add(-time.Minute)},
	}
}

// loose are objects that state does not have.
func loose() []engine.Thing {
	owner := &reconcile.Mark{Stack: "shop", Stage: "prod", Address: "worker/jobs"}
	return []engine.Thing{
		{Standing: engine.StandingOurs, Kind: "aws.sqs.Queue", Identity: "https://sqs.eu-north-1.amazonaws.com/123456789012/shop-prod-jobs-5b2e", Address: "worker/jobs", Owner: owner},
		{Standing: engine.StandingOurs, Kind: "aws.s3.Bucket", Identity: "shop-prod-uploads-7d10", Address: "uploads", OtherStore: true, Declared: true, Owner: owner},
		{Standing: engine.StandingRetained, Kind: "cloudflare.D1Database", Identity: "0f4c3f8e-4a58-4f0e-9a39-6b3d6c1f2b11", Owner: owner},
	}
}

// checked are lines of doctor.
var checked = []render.Check{
	{Check: "athanor", Status: render.CheckOK, Text: "athanor 1.4.0 (9f31c07, 2026-11-20)"},
	{Check: "node", Status: render.CheckWarning, Text: "not installed", Fix: []string{"what is built with it, Workers and bundles, needs Node.js 20 or newer: https://nodejs.org"}},
	{Check: "store", Status: render.CheckOK, Text: "postgres://deploy@db.example/infra: shop/prod has 14 resources at serial 41, and nobody holds it"},
	{
		Check: "secrets", Status: render.CheckMissing, Text: "stripeKey is not set for stage prod\nmailKey is not set for stage prod",
		Fix: []string{"athanor secret set stripeKey --stage prod", "athanor secret set mailKey --stage prod"},
	},
}

var views = map[string]view{
	"plan":          static(func(w io.Writer, s render.Style) { s.Plan(w, shop(), "16 reads, 0.9s") }),
	"plan-folded":   static(func(w io.Writer, s render.Style) { s.Plan(w, load(), "140 reads, 1.8s") }),
	"plan-cases":    static(func(w io.Writer, s render.Style) { s.Plan(w, cases(), "16 reads, 0.9s") }),
	"plan-detailed": static(func(w io.Writer, s render.Style) { s.Detailed = true; s.Plan(w, shop(), "16 reads, 0.9s") }),
	"plan-nothing": static(func(w io.Writer, s render.Style) {
		s.Plan(w, &engine.Plan{Stack: "shop", Stage: "prod", Serial: 41, Summary: engine.Summary{Unchanged: 14}}, "14 reads, 0.8s")
	}),
	"drift": static(func(w io.Writer, s render.Style) {
		p := &engine.Plan{Stack: "shop", Stage: "prod", Serial: 41, Drift: true, Summary: engine.Summary{Updated: 1, Created: 1, Unchanged: 12}}
		for _, a := range shop().Actions {
			if a.Address == "uploads" {
				p.Actions = append(p.Actions, a)
			}
		}
		p.Actions = append(p.Actions, engine.Planned{Address: "dead", Kind: "aws.sqs.Queue", Action: engine.Create, Place: inAWS})
		p.Left = []engine.Left{{Address: "orders", Kind: "aws.sqs.Queue", Why: "the program changed it too", Reasons: []engine.Reason{changed("visibilityTimeout", "30s", "60s")}}}
		s.Plan(w, p, "14 reads, 0.8s")
	}),
	"destroy": static(func(w io.Writer, s render.Style) { s.Plan(w, destroyed(), "14 reads, 0.8s") }),
	"plan-blocked": static(func(w io.Writer, s render.Style) {
		s.Plan(w, blocked(), "")
		render.Errors{}.Print(w, s, render.Shown(blocked().Refusal()))
	}),
	"questions": func(x render.Screen, shot func(string), _ *clock) {
		s, destroy := x.Style, destroyed()
		for _, what := range []string{render.ApplyQuestion(shop(), ""), render.ApplyQuestion(destroy, ""), "Take shop/prod away from run 20261122-103104-K4TQZE (deploy, pid 4711 on mill)? [y/N] "} {
			s.Question(x.Out, what)
			fmt.Fprintln(x.Out, "n")
		}
		lost := destroy.Actions[slices.IndexFunc(destroy.Actions, func(a engine.Planned) bool { return a.Kind == "cloudflare.D1Database" }):][:1]
		s.LosesData(x.Out, lost)
		s.Question(x.Out, render.NameQuestion(destroy, ""))
		fmt.Fprintln(x.Out, "pr-118")
		s.NewStage(x.Out, "shop", "prdo", []string{"dev-ada", "pr-118", "prod", "staging"}, "prod", 14)
		shot("")
	},
	"kinds": static(func(w io.Writer, s render.Style) {
		s.Listing(w, [][2]string{
			{"aws.lambda.EventSourceMapping", "Invokes a function with the records of a queue, a stream or a table"},
			{"aws.sqs.Queue", "A queue, standard or FIFO"},
			{"AWS::*", "A type of the CloudFormation registry: 1193 types, `athanor kinds 'AWS::*'` lists them"},
		})
	}),
	"logs": static(func(w io.Writer, s render.Style) {
		l := render.NewLines(w, s, true)
		l.Expect("worker", "edge/domain")
		at := newClock().Now()
		l.Line("worker", reconcile.LogLine{Time: at, Text: `{"level":"info","order":"o-1881","msg":"charged","customer":"c-40421","amount":"1290","currency":"EUR"}`})
		l.Line("edge/domain", reconcile.LogLine{Time: at.Add(7 * time.Second), Text: "GET /invoices 200"})
	}),
	"state-list": static(func(w io.Writer, s render.Style) {
		s.Rows(w, stored(), newClock().Now(), func(kind string) bool { return kind == "aws.dynamodb.Table" })
	}),
	"state-show": static(func(w io.Writer, s render.Style) { s.Row(w, stored()[3]) }),
	"history":    static(func(w io.Writer, s render.Style) { s.Runs(w, ran()) }),
	"stage-list": static(func(w io.Writer, s render.Style) { s.Stages(w, kept(), newClock().Now()) }),
	"output": static(func(w io.Writer, s render.Style) {
		s.Outputs(w, map[string]any{
			"invoicesUrl": "https://sqs.eu-north-1.amazonaws.com/123456789012/shop-prod-invoices-5b2e",
			"password":    "(secret)", "url": "https://shop.example.com", "zones": []any{"eu-north-1a", "eu-north-1b"},
		})
	}),
	"orphans": static(func(w io.Writer, s render.Style) { s.Things(w, loose()) }),
	"doctor": static(func(w io.Writer, s render.Style) {
		for _, k := range checked {
			s.Check(w, k)
		}
	}),
	"errors": static(func(w io.Writer, s render.Style) {
		program.Print(w, s, &engine.GraphError{Problems: []engine.Problem{
			{Address: "orders", Source: "athanor.yaml:9:7", Err: reconcile.WithHint(errors.New("visibiltyTimeout is not a prop of aws.sqs.Queue"), "did you mean visibilityTimeout? All props: athanor kinds aws.sqs.Queue")},
			{Address: "page", Source: "athanor.yaml:12:60", Err: errors.New("contents is not a prop of local.File")},
			{Address: "worker", Source: "main.go:33", Err: errors.New("memory is required")},
		}})
		fmt.Fprintln(w)
		program.Print(w, s, errors.New("./shop does not build:\n# shop\n./main.go:41:25: undefined: invoicess"))
	}),
	"reading": func(x render.Screen, shot func(string), clock *clock) {
		r := render.NewReading(x, "shop/prod")
		for i, address := range []string{"a", "b", "c", "catalog"} {
			r.Read(engine.Reading{Address: address, Kind: "aws.dynamodb.Table", Total: 14})
			if i < 3 {
				r.Read(engine.Reading{Address: address, Kind: "aws.dynamodb.Table", Total: 14, Done: true})
			}
		}
		clock.advance(2400 * time.Millisecond)
		shot("after 2.4s")
		clock.advance(8 * time.Second)
		r.Note("  … worker: waits: not visible yet, until 10:36:08")
		shot("after 10.4s")
		r.Close()
		shot("at the end")
	},
	"dev-status": func(x render.Screen, shot func(string), _ *clock) {
		s := render.NewStatus(x)
		fmt.Fprintln(s, "shop/local-ada: watching 31 files and folders")
		s.Set(render.DevStatus("in sync", "10:41:02"))
		shot("")
		l := render.NewLines(s, x.Style, false)
		l.Line("worker", reconcile.LogLine{Text: `{"level":"info","order":"o-1881","msg":"charged"}`})
		fmt.Fprint(s, "a line in ")
		shot("within a line")
		fmt.Fprintln(s, "two pieces")
		s.Set(render.DevStatus("failed", "10:41:02"))
		shot("after a failure")
		s.Hide(true)
		fmt.Fprintln(x.Out, "what a run draws")
		s.Hide(false)
		s.Set(render.DevStatus("starting", ""))
		shot("after a run")
		s.Set("")
		shot("at the end")
	},
	"building": func(x render.Screen, shot func(string), clock *clock) {
		b := render.NewBuilding(x, "/home/ada/shop")
		shot("at once")
		clock.advance(time.Second)
		shot("after 1s")
		clock.advance(11 * time.Second)
		shot("after 12s")
		b.Close()
		shot("at the end")
	},
	"evaluating": func(x render.Screen, shot func(string), clock *clock) {
		stop := render.Evaluating(x, "/home/ada/shop")
		clock.advance(4 * time.Second)
		shot("after 4s")
		clock.advance(time.Second)
		shot("after 5s")
		clock.advance(time.Minute)
		stop()
		shot("at the end")
	},
	"live": func(x render.Screen, shot func(string), clock *clock) {
		p := run(x, clock, shot, engine.StatusDone)
		x.Style.Result(x.Out, &engine.Result{
			Run: "r", Summary: engine.Summary{Created: 2, Updated: 4, Unchanged: 10}, Calls: engine.Calls{Reads: 9, Mutations: 8, Throttled: 2}, Took: 18300 * time.Millisecond,
			Slow: &engine.Slow{Longest: engine.Step{Address: "worker", Seconds: 11.7}, Path: []engine.Step{{Address: "invoices"}, {Address: "worker/role"}, {Address: "worker"}, {Address: "worker/invoices"}}},
		}, render.Ending{Ended: p.Ended(), Next: "athanor deploy --stage prod"})
		shot("at the end")
	},
	"live-many": many,
	"live-interrupted": func(x render.Screen, shot func(string), clock *clock) {
		p := run(x, clock, func(string) {}, engine.StatusInterrupted)
		x.Style.Result(x.Out, &engine.Result{
			Run: "r", InterruptedBy: "signal", Summary: engine.Summary{Created: 1, Updated: 3, Interrupted: 1, NotStarted: 1}, Calls: engine.Calls{Reads: 9, Mutations: 6}, Took: 14600 * time.Millisecond,
		}, render.Ending{Ended: p.Ended(), Next: "athanor deploy --stage prod", Exit: 130})
		shot("")
	},
	"live-partly": func(x render.Screen, shot func(string), clock *clock) {
		p := run(x, clock, func(string) {}, engine.StatusFailed)
		x.Style.Result(x.Out, &engine.Result{
			Run: "r", Summary: engine.Summary{Created: 1, Updated: 3, Failed: 1, Blocked: 1}, Calls: engine.Calls{Reads: 9, Mutations: 6}, Took: 12800 * time.Millisecond,
		}, render.Ending{Ended: p.Ended(), Next: "athanor deploy --stage prod", Exit: 4, Errors: program})
		shot("")
	},
}
