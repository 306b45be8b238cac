package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

func files(all map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range all {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestLinksLeadToPages(t *testing.T) {
	root := files(map[string]string{
		"README.md":              "# athanor\n\nSee [the engine](docs/engine.md#plans), [source](engine), `[no](link.md)` and\n`a span\nof [two](lines.md) ones`.\n\n![a plan](docs/terminal/plan.png)\n",
		"docs/terminal/plan.png": "PNG",
		"docs/engine.md":         "# The engine\n\nIt `plans`. Back to [`README`](../README.md) and [elsewhere](https://example.com/a.md), [here](#plans).\n\n```\n[code](x.md)\n```\n",
		"engine/plan.go":         "package engine\n",
		"docs/notes/a.md":        "# A\n\nNo link.\n",
	})
	p := &plan{Repository: "https://git.example/athanor", Sections: []section{
		{Name: "start", Pages: []string{"README.md"}}, {Name: "how", Pages: []string{"docs/engine.md"}, Rest: "docs/notes/*.md"},
	}}
	pages, err := p.read(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.link(root, pages); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"README.md":      "\nSee [the engine](/how/engine/#plans), [source](https://git.example/athanor/tree/main/engine), `[no](link.md)` and\n`a span\nof [two](lines.md) ones`.\n\n![a plan](/pictures/terminal/plan.png)\n",
		"docs/engine.md": "\nIt `plans`. Back to [`README`](/) and [elsewhere](https://example.com/a.md), [here](#plans).\n\n```\n[code](x.md)\n```\n",
	}
	for _, g := range pages {
		if text, ok := want[g.source]; ok && g.body != text {
			t.Errorf("%s\nhave %q\nwant %q", g.source, g.body, text)
		}
	}
}

func TestWhatCannotBeFoundIsAnError(t *testing.T) {
	sections := []section{{Name: "how", Pages: []string{"docs/engine.md"}}}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a page nobody lists": {map[string]string{"docs/engine.md": "# E\n", "docs/lost.md": "# L\n"}, "docs/lost.md is no page"},
		"a link to nothing":   {map[string]string{"docs/engine.md": "# E\n[x](gone.md)\n"}, "the link gone.md leads nowhere"},
		"no title":            {map[string]string{"docs/engine.md": "E\n"}, "does not begin with a title"},
	} {
		p := &plan{Repository: "https://git.example", Sections: sections}
		pages, err := p.read(files(c.files))
		if err == nil {
			err = p.link(files(c.files), pages)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	const whole = `<title>A</title><h1 id="top">A</h1>`
	for name, c := range map[string]struct{ page, want string }{
		"whole":             {whole + `<a href="b/#here">b</a><a href="#top">top</a><a href="https://elsewhere.example/">out</a>`, ""},
		"a dead link":       {whole + `<a href="c/">c</a>`, "the link c/ leads nowhere"},
		"no such place":     {whole + `<a href="/docs/b/#there">b</a>`, "names a place that the page does not have"},
		"two titles":        {whole + `<h1>B</h1>`, "2 headings of the first order"},
		"a picture is gone": {whole + `<img src="a.png" alt="">`, "the link a.png leads nowhere"},
		"a foreign script":  {whole + `<script src="https://cdn.example/x.js"></script>`, "loads https://cdn.example/x.js from elsewhere"},
	} {
		site := files(map[string]string{"index.html": c.page, "b/index.html": `<title>B</title><h1 id="here">B</h1>`})
		problems, _, err := check(site, "https://athanor.example/docs/")
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(problems)
		if (c.want == "") != (len(problems) == 0) || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if _, _, err := check(files(map[string]string{"index.html": `<p id="a"></p><p id="a"></p>`}), "https://a.example/"); err == nil {
		t.Error("an id that stands twice is no error")
	}
}

func TestCommandPages(t *testing.T) {
	root := os.DirFS("../..")
	pages, err := commandPages(root)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(pages, func(p *page) bool { return p.slug == "state" })
	if at < 0 || !strings.Contains(pages[at].body, "\n## athanor state list\n") || pages[at].summary == "" {
		t.Errorf("no page of state with its commands among %d", len(pages))
	}
	text, err := fs.ReadFile(root, helpFile)
	if err != nil {
		t.Fatal(err)
	}
	top, _, _ := strings.Cut(string(text), "\nExamples:")
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z]+) {2,}`).FindAllStringSubmatch(top, -1) {
		if !slices.ContainsFunc(pages, func(p *page) bool { return p.slug == match[1] }) {
			t.Errorf("no page of athanor %s", match[1])
		}
	}
}

func TestKindPage(t *testing.T) {
	k := kind{Kind: "house.Lamp", Doc: "A lamp with a *star*.", Props: []field{
		{Path: "color", Type: "string", Default: "white", Enum: []string{"white", "red"}, Replaces: true, Doc: "Color of it."},
		{Path: "parts", Type: "list of object", MaxItems: 3, Fields: []field{{Path: "parts.*.name", Type: "string", Required: true, MaxLen: 9}}},
	}, Attributes: []field{{Path: "id", Type: "string"}}, Permissions: []string{"house:Put"}}
	have := k.markdown()
	for _, want := range []string{
		"A lamp with a \\*star\\*.", "### `color`\n\n*string* · default: white · **changing it replaces** · `white` or `red`\n\nColor of it.",
		"### `parts`\n\n*list of object* · at most 3 entries", "### `parts.*.name`\n\n*string* · **required** · at most 9 characters",
		"## Attributes\n\n### `id`", "## Permissions\n\n`house:Put`",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

// TestContrast holds the colours of text to the ratio that WCAG 2.2 AA asks for, in both schemes.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("../../site/assets/site.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	dark, _, _ = strings.Cut(dark, "* {")
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		for _, ground := range []string{"ground", "code"} {
			for _, front := range []string{"text", "quiet", "link", "accent", "keyword", "string", "number", "comment"} {
				a, b := colors[ground], colors[front]
				if a == 0 || b == 0 {
					t.Fatalf("%s: %s or %s is no colour", scheme, ground, front)
				}
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want 4.5", scheme, front, ground, ratio)
				}
			}
		}
	}
}

// luminance is that of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

// TestExamples: the page of a kind has its example in both languages, with the functions that the one in Go calls, and says
// what replaces the object. A kind without an example is an error.
func TestExamples(t *testing.T) {
	root := files(map[string]string{
		"examples/kinds/kinds.go": `package kinds

func Examples() []Example {
	return []Example{
		{"a.Queue", queue},
		{"a.Lost", lost},
	}
}

// queue declares one.
func queue(s *Stack) error {
	helper(s) // beside it
	return nil
}

func helper(s *Stack) {}

func other(s *Stack) {}
`,
		"examples/kinds/kinds_test.go": "package kinds\n\nfunc helper() {}\n",
		"examples/kinds/a.Queue.yaml":  "stack: example\n",
		"examples/kinds/a.None.yaml":   "stack: example\n",
	})
	p, err := programsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	e, err := exampleOf(root, "a.Queue", p)
	if err != nil {
		t.Fatal(err)
	}
	k := kind{Kind: "a.Queue", example: e, Props: []field{{Path: "name", Replaces: true}, {Path: "in", Fields: []field{{Path: "in.deep", Replaces: true}}}, {Path: "free"}}}
	page := k.markdown()
	for _, want := range []string{
		"## Example\n\n```yaml\nstack: example\n```\n\n```go\n// queue declares one.\nfunc queue(s *Stack) error {\n\thelper(s) // beside it\n\treturn nil\n}\n\nfunc helper(s *Stack) {}\n```\n",
		"makes a new object: `name` `in.deep`.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has not %q:\n%s", want, page)
		}
	}
	for kind, want := range map[string]string{"a.Lost": "a.Lost has no example: ", "a.None": "a.None has no example in Go"} {
		if _, err := exampleOf(root, kind, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
