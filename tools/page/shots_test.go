//go:build shots

package page

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "the folder that screenshots are written to")

// shotsStack has what the pictures show: several kinds, a secret, scopes, and a command that waits in the live run.
const shotsStack = `stack: shop
resources:
  catalog: {kind: local.Value, props: {input: {table: shop-prod-catalog, keys: [sku]}}}
  dead: {kind: random.ID, props: {bytes: 2}}
  stripe-key: {kind: random.Password, props: {length: 20}}
  orders: {kind: local.Value, props: {input: "shop-prod-orders-${dead.hex}"}}
  uploads: {kind: local.Value, props: {input: shop-prod-uploads-7d10}}
  sessions: {kind: random.ID, props: {bytes: 4}}
  reports: {kind: local.Value, props: {input: shop-prod-reports}}
  worker/logs: {kind: local.Value, props: {input: /aws/lambda/shop-prod-worker}}
  worker/role: {kind: local.Value, props: {input: {orders: "${orders.output}", catalog: "${catalog.output.table}"}}}
  worker: {kind: local.Value, props: {input: "role ${worker/role.output.orders} ${worker/logs.output}"}}
  worker/orders: {kind: local.Value, props: {input: "${worker.output} ${orders.output}"}}
  edge: {kind: local.Value, props: {input: "${sessions.hex} ${reports.output}"}}
  edge/domain: {kind: local.Value, props: {input: "shop.example.com ${edge.output}"}}
  www: {kind: local.Value, props: {input: "www ${edge/domain.output}"}}
outputs:
  url: https://shop.example.com
`

// TestShots takes the pictures of docs/page.md.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Fatal("-shots names no folder (task page:shots)")
	}
	p := newProject(t, shotsStack)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(0, "deploy", "--yes", "--stage", "prod")
	p.run(0, "deploy", "--yes", "--stage", "dev-ada", "--new-stage")
	changed := strings.ReplaceAll(shotsStack, "keys: [sku]", "keys: [sku, region]")
	changed = strings.ReplaceAll(changed, "reports: {kind: local.Value, props: {input: shop", "reports: {kind: local.Value, props: {input: new")
	p.write("athanor.yaml", changed)
	p.run(0, "deploy", "--yes", "--stage", "prod")
	planned := strings.ReplaceAll(changed, "shop-prod-orders", "shop-orders") + "  more: ${dead.hex}\n"
	planned = strings.Replace(planned, "  www:", "  invoices: {kind: random.ID, props: {bytes: 4}}\n  www:", 1)
	p.write("athanor.yaml", planned)
	p.run(2, "plan", "--stage", "prod", "--out", "7c1e.json")
	p.write("athanor.yaml", strings.Replace(planned, "  www:", `  worker/build: {kind: local.Command, props: {run: "cat gate", env: {A: "${orders.output}"}}}
  worker/release: {kind: local.Value, props: {input: "${worker/build.stdout}"}}
  www:`, 1))
	address := p.ui("--plan", "7c1e.json", "--allow-write")
	base, _, _ := strings.Cut(address, "/open")
	deploy := p.command("deploy", "--yes", "--stage", "staging", "--new-stage")
	if err := deploy.Start(); err != nil {
		t.Fatal(err)
	}
	ctx := open(t)
	do(t, ctx, chromedp.Navigate(address))
	prod := p.newest("prod")
	shoot := func(name, path string, width, height int64, scheme, ready string) {
		t.Helper()
		var picture []byte
		do(t, ctx, chromedp.EmulateViewport(width, height), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
			chromedp.Navigate(base+path))
		until(t, ctx, ready)
		do(t, ctx, chromedp.CaptureScreenshot(&picture))
		small, err := reduced(picture)
		if err == nil {
			err = os.WriteFile(filepath.Join(*shots, name+".png"), small, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, ctx, `document.querySelector("h1")`)
	const always = "true"
	running := `[...document.querySelectorAll("#rows tr")].some(r => r.innerText.includes("creating"))`
	staging := ""
	for staging == "" {
		do(t, ctx, chromedp.Navigate(base+"/s/shop/staging"))
		staging = value[string](t, ctx, `document.body.dataset.liveRun ?? ""`)
	}
	shoot("run", staging, 1280, 900, "dark", running)
	shoot("stacks", "/", 1280, 560, "dark", always)
	if err := os.WriteFile(filepath.Join(p.dir, "gate"), []byte("v12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := deploy.Wait(); err != nil {
		t.Fatal(err)
	}
	shoot("resources", "/s/shop/prod", 1280, 900, "light", always)
	shoot("resources-phone", "/s/shop/prod", 390, 780, "dark", always)
	shoot("graph", "/s/shop/prod/graph?select=worker", 1280, 820, "light", `document.querySelector("#graph[data-drawn]")`)
	shoot("resource", "/s/shop/prod/resource?address=worker", 1280, 640, "light", always)
	shoot("plan", "/s/shop/prod/plans/7c1e.json", 1280, 760, "light", always)
	shoot("history", "/s/shop/prod/history", 1280, 460, "dark", always)
	shoot("compare", "/s/shop/prod/compare?from="+p.second("prod")+"&to="+prod, 1280, 700, "light", always)
}

// TestFirstPaint measures how long a browser takes to the first paint of pages with 10,000 resources, on a server that has shown
// one before. The task reports it.
func TestFirstPaint(t *testing.T) {
	var stack strings.Builder
	stack.WriteString("stack: shop\nresources:\n")
	for i := range 10_000 {
		fmt.Fprintf(&stack, "  net%d/r%d: {kind: local.Value, props: {input: x}}\n", i%40, i)
	}
	p := newProject(t, stack.String())
	p.run(0, "deploy", "--yes", "--stage", "prod")
	address := p.ui()
	base, _, _ := strings.Cut(address, "/open")
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(address))
	paths := []string{"/", "/s/shop/prod", "/s/shop/prod?q=r17", "/s/shop/prod/graph", "/s/shop/prod/resource?address=net1%2Fr1", "/s/shop/prod/history",
		"/s/shop/prod/runs/" + p.newest("prod")}
	for _, path := range paths {
		for n := range 3 {
			before := p.processor()
			do(t, ctx, chromedp.Navigate(base+path))
			until(t, ctx, `performance.getEntriesByName("first-contentful-paint").length`)
			t.Logf("%s, time %d: first paint after %.0f ms, of which the answer %.0f ms; the server worked %v", path, n+1,
				value[float64](t, ctx, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
				value[float64](t, ctx, `performance.getEntriesByType("navigation")[0].responseStart`), p.processor()-before)
		}
	}
}

// processor is how long athanor ui has worked until now, in hundredths of a second as the kernel counts them: unlike the time that passes it
// does not depend on what else the machine does.
func (p *project) processor() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.serving.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name of the program
	fields := strings.Fields(rest)
	var ticks time.Duration
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.Atoi(field)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// reduced returns a picture with the colors that it has most, which makes it half as large.
func reduced(picture []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	uses := map[color.RGBA]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			uses[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int { return cmp.Compare(uses[b], uses[a]) })
	var palette color.Palette
	for _, c := range most[:min(len(most), 224)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(bounds, palette)
	draw.Draw(to, bounds, from, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
