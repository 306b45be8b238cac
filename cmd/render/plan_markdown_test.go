package render_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// markup are the tags and signs that a plan in Markdown itself has. A cell and a format begin with what no backslash
// stands before.
var (
	cell       = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\|`)
	formatting = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*[\[\]!_~$]`)
	markup     = regexp.MustCompile(`</?details>|<summary>[a-z]+(?:: \d+ resources?)?</summary>|\*\*(?:drift|error|policy)\*\*`)
	fence      = regexp.MustCompile("^`{3,}$")
)

// prose is Markdown without its blocks and spans of code, which a reader shows as they are. It fails when one does not end.
func prose(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	until := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case until != "":
			if line == until {
				until = ""
			} else if strings.Contains(line, until) {
				t.Fatalf("a line holds the fence of its block: %q", line)
			}
		case fence.MatchString(line):
			until = line
		default:
			out.WriteString(withoutCode(t, line) + "\n")
		}
	}
	if until != "" {
		t.Fatal("a block does not end")
	}
	return out.String()
}

func withoutCode(t *testing.T, line string) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			out.WriteString(line[i : i+2])
			i += 2
			continue
		}
		run := line[i : len(line)-len(strings.TrimLeft(line[i:], "`"))]
		if run == "" {
			out.WriteByte(line[i])
			i++
			continue
		}
		rest := line[i+len(run):]
		close := spanEnd(rest, len(run))
		if close < 0 {
			t.Fatalf("code does not end: %q", line)
		}
		if strings.Contains(rest[:close], "|") {
			t.Fatalf("code ends its cell: %q", line)
		}
		i += len(run) + close + len(run)
	}
	return out.String()
}

// spanEnd is where a span of code ends that so many backticks began: at as many, neither more nor fewer. It is -1 where it does not.
func spanEnd(text string, ticks int) int {
	for at := 0; at < len(text); at++ {
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == ticks {
			return at
		}
		at += run
	}
	return -1
}

// hostilePlan is a plan all of whose texts are one that attacks.
func hostilePlan(text string) *engine.Plan {
	reason := func(source engine.Source) engine.Reason {
		return engine.Reason{Path: "a", Have: text, Want: map[string]any{text: []any{text}}, Source: source, Note: text}
	}
	p := &engine.Plan{
		Format: 2, Stack: "shop", Stage: "prod", Digest: text, Serial: 41, Warnings: []string{text},
		Violations:    []engine.Violation{{Address: text, Policy: text, Message: text}},
		OutputChanges: []engine.OutputChange{{Name: text, Have: text, Want: text}, {Name: text, Want: text}},
	}
	for _, action := range []engine.Action{engine.Create, engine.Update, engine.Replace, engine.Delete, engine.Adopt, engine.Move, engine.Blocked, engine.Wait, engine.Forget, engine.Recover} {
		p.Actions = append(p.Actions, engine.Planned{
			Address: text, Kind: text, Action: action, From: text, Identity: text, Notes: []string{text}, Waiting: text, Problem: text, Hint: text,
			Reasons: []engine.Reason{reason(""), reason(engine.ByWorld), {Path: "b", Want: text, Unknown: true}, {Path: "c", Want: text, Replaces: true}},
		})
	}
	return p
}

// FuzzPlanMarkdown: whatever a name, a value or a service's error holds, nothing of it is read as Markdown or HTML, is
// linked, mentions anybody, or ends the block that it stands in.
func FuzzPlanMarkdown(f *testing.F) {
	for _, text := range append(markdownAttacks,
		"</details><img src=http://evil.example/x.png>", "`````", "a`````b", "x |\n| y | z |", "```\n</details>\n# owned\n@octocat", "\n\n@octocat\n\n", "a\r\nb\rc", `\`, "|`|",
	) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		doc := render.PlanDocument{
			Plan: hostilePlan(text), Problems: []render.Problem{{Address: text, Error: text}}, NotObserved: []render.NotObserved{{Address: text, Why: text}},
		}
		if err := (render.Markdown{}).Plan(&b, doc); err != nil {
			t.Fatal(err)
		}
		checkProse(t, text, b.String())
		b.Reset()
		program := render.Program{Stack: "shop", Stage: "prod", Missing: text, Actions: []render.NotObserved{{Address: text, Kind: text}}}
		if err := (render.Markdown{}).Program(&b, program); err != nil {
			t.Fatal(err)
		}
		checkProse(t, text, b.String())
	})
}

// TestMarkdownIsCutBetweenLines: what is cut off ends no code in its middle, or the rest of it would mention somebody.
func TestMarkdownIsCutBetweenLines(t *testing.T) {
	name := "`@everyone ![x](http://evil.example/x.png)`"
	for pad := range 120 {
		doc := render.PlanDocument{Plan: &engine.Plan{Stack: "shop", Stage: "prod"}, Problems: []render.Problem{{Address: "a", Error: strings.Repeat("x", pad)}}}
		for range 2000 {
			doc.Problems = append(doc.Problems, render.Problem{Address: name, Error: name})
		}
		var b strings.Builder
		if err := (render.Markdown{}).Plan(&b, doc); err != nil {
			t.Fatal(err)
		}
		checkProse(t, name, b.String())
	}
	for _, missing := range []string{strings.Repeat("@everyone ", 20_000), strings.Repeat("`", render.MarkdownLimit)} {
		var b strings.Builder
		p := render.Program{Stack: "shop", Stage: "prod", Missing: missing, Actions: []render.NotObserved{{Address: name, Kind: name}}}
		if err := (render.Markdown{}).Program(&b, p); err != nil {
			t.Fatal(err)
		}
		checkProse(t, missing[:20], b.String())
		if !strings.Contains(b.String(), "The program is valid. Nothing was observed") || !strings.Contains(b.String(), "| ? |") {
			t.Errorf("a long reason takes the place of what is said: %q", b.String()[:200])
		}
	}
}

func checkProse(t *testing.T, text, made string) {
	t.Helper()
	if n := utf8.RuneCountInString(made); n > render.MarkdownLimit || raw(made) {
		t.Fatalf("%q: %d characters: %q", text, n, made)
	}
	rest := markup.ReplaceAllString(prose(t, made), "")
	for line := range strings.Lines(rest) {
		bare := entity.ReplaceAllString(line, "")
		shown := strings.ReplaceAll(html.UnescapeString(line), `\`, "")
		switch {
		case strings.ContainsAny(bare, "<>&"):
			t.Fatalf("%q is HTML in %q", text, line)
		case linked.MatchString(shown):
			t.Fatalf("%q is linked in %q", text, line)
		case formatting.MatchString(bare):
			t.Fatalf("%q is a format in %q", text, line)
		}
		if cells := cell.FindAllString(bare, -1); len(cells) > 0 && len(cells) != 5 && len(cells) != 4 {
			t.Fatalf("%q makes %d cells: %q", text, len(cells), line)
		}
	}
}

// TestPlanMarkdown: what a reviewer reads.
func TestPlanMarkdown(t *testing.T) {
	var b strings.Builder
	p := &engine.Plan{
		Stack: "shop", Stage: "prod", Digest: "7c1e4400aa", Serial: 41,
		Actions: []engine.Planned{
			{Address: "orders", Kind: "aws.sqs.Queue", Action: engine.Update, Reasons: []engine.Reason{{Path: "visibilityTimeout", Have: "30s", Want: "60s", Source: engine.ByWorld}}},
			{Address: "invoices", Kind: "aws.sqs.Queue", Action: engine.Create, Reasons: []engine.Reason{{Path: "a", Want: "1"}, {Path: "b", Want: "2"}}},
			{Address: "same", Kind: "aws.sqs.Queue", Action: engine.Unchanged},
			{Address: "old", Kind: "aws.s3.Bucket", Action: engine.Delete, Identity: "shop-old"},
		},
		Summary: engine.Summary{Created: 1, Updated: 1, Deleted: 1, Unchanged: 1},
	}
	if err := (render.Markdown{}).Plan(&b, render.PlanDocument{Plan: p}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### athanor plan `shop/prod`: 1 to create, 1 to update, 1 to delete, 1 unchanged\n",
		"|---|---|---|---|\n| &#8203;\\- | `old` | aws&#8203;\\.s3&#8203;\\.Bucket | delete shop&#8203;\\-old |\n",
		"| `orders` **drift** |", "visibilityTimeout\\:&#8203; `30s` → `60s`", "| 2 props |", "<details><summary>update: 1 resource</summary>\n\n```\n",
		"Graph `7c1e4400`, serial 41.\n",
	} {
		if !strings.Contains(b.String(), want) && !strings.Contains(b.String(), strings.ReplaceAll(want, `\:&#8203;`, ":")) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "`same`") {
		t.Error("it lists what is unchanged")
	}
}

// TestPlanMarkdownIsBounded: a comment takes so many characters. What is deleted is the last that is folded.
func TestPlanMarkdownIsBounded(t *testing.T) {
	for name, n := range map[string]int{"details": 300, "rows": 5_000, "kinds": 20_000} {
		p := &engine.Plan{Stack: "shop", Stage: "prod", Summary: engine.Summary{Created: n, Deleted: 3}}
		for i := range n {
			kind := "aws.sqs.Queue"
			if name == "kinds" {
				kind = fmt.Sprintf("kind%d", i)
			}
			p.Actions = append(p.Actions, engine.Planned{
				Address: fmt.Sprintf("queue%d", i), Kind: kind, Action: engine.Create, Reasons: []engine.Reason{{Path: "name", Want: strings.Repeat("x", 400)}},
			})
		}
		for i := range 3 {
			p.Actions = append(p.Actions, engine.Planned{Address: fmt.Sprintf("lost%d", i), Kind: "aws.s3.Bucket", Action: engine.Delete})
		}
		var b strings.Builder
		if err := (render.Markdown{}).Plan(&b, render.PlanDocument{Plan: p}); err != nil {
			t.Fatal(err)
		}
		checkProse(t, name, b.String())
		for _, want := range []string{"`lost0`", "`lost2`", "are left out"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: there is no %s in %d characters", name, want, b.Len())
			}
		}
	}
}
