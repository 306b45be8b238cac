package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// MarkdownLimit is how many characters a plan as Markdown has at most: the comment of a pull request takes 65,536, and
// who posts it adds a line or two.
const MarkdownLimit = 60_000

// inlineDifferences is how many differences of a resource stand in its row.
const inlineDifferences = 3

// Plan writes a plan as the comment of a pull request: a table of what changes, and every difference folded below it.
// What does not fit is counted, details first and deletions last.
func (m Markdown) Plan(w io.Writer, doc PlanDocument) error {
	p := cleaned(doc.Plan)
	var head, tail strings.Builder
	fmt.Fprintf(&head, "### athanor plan %s: %s\n\n", m.Code(p.Stack+"/"+p.Stage), counts(p.Summary))
	for _, problem := range doc.Problems {
		m.item(&head, "**error**", cmp.Or(problem.Address, problem.Source), problem.Error)
	}
	for _, v := range p.Violations {
		m.item(&head, "**policy**", v.Policy, strings.TrimPrefix(v.Address+": ", ": ")+v.Message)
	}
	for _, warning := range p.Warnings {
		m.item(&head, "note", "", Plainly(warning))
	}
	for _, left := range doc.NotObserved {
		m.item(&head, "not observed", left.Address, left.Why)
	}
	if strings.Count(head.String(), "\n") > 2 {
		head.WriteString("\n")
	}
	if p.Summary.Deleted+p.Summary.Replaced == 0 && len(doc.Problems) == 0 {
		tail.WriteString("Nothing is deleted or replaced. ")
	}
	fmt.Fprintf(&tail, "Graph %s, serial %d", m.Code(p.Digest[:min(len(p.Digest), 8)]), p.Serial)
	if !p.Made.IsZero() {
		fmt.Fprintf(&tail, ", read %s UTC", p.Made.UTC().Format("15:04"))
	}
	tail.WriteString(".\n")
	body := m.fitting(p, MarkdownLimit-runes(head.String())-runes(tail.String()))
	_, err := io.WriteString(w, limited(head.String()+body+tail.String())) // the head alone may be thousands of errors
	return err
}

// counts are the counts of a summary without a head.
func counts(sum engine.Summary) string {
	return strings.TrimSpace(Style{}.Counts("", sum, true))
}

// item is one line of a list.
func (m Markdown) item(w io.Writer, what, of, text string) {
	if of != "" {
		what += " " + m.Code(of)
	}
	fmt.Fprintf(w, "- %s: %s\n", what, m.Text(text))
}

// group are the changes of one kind that are alike in what is done.
type group struct {
	sign, kind string
	actions    []engine.Planned
	folded     bool
}

// fitting is the table with the details, in at most so many characters: details are left out first, then the rows of
// the largest group are one row, and so on. What destroys something has a row of its own as long as there is room.
func (m Markdown) fitting(p *engine.Plan, most int) string {
	groups := grouped(p)
	table := m.table(p, groups)
	if full := table + m.details(p, groups); runes(full) <= most {
		return full
	}
	for runes(table) > most {
		largest := -1
		for i, g := range groups {
			foldable := !g.folded && len(g.actions) > 1 && weight(g.actions[0]) == 0
			if foldable && (largest < 0 || len(g.actions) > len(groups[largest].actions)) {
				largest = i
			}
		}
		if largest < 0 {
			break
		}
		groups[largest].folded = true
		table = m.table(p, groups)
	}
	const note = "\nThe differences are left out: athanor plan shows them.\n\n"
	table += note
	if lines := strings.SplitAfter(table, "\n"); runes(table) > most {
		kept, left := "", most-runes(note)-40
		for i, line := range lines {
			if left -= runes(line); left < 0 {
				return kept + fmt.Sprintf("\n%d more rows are left out.\n", len(lines)-i) + note
			}
			kept += line
		}
	}
	return table
}

// weight orders rows: what destroys something stands first.
func weight(a engine.Planned) int {
	switch a.Action {
	case engine.Blocked:
		return -2
	case engine.Delete, engine.Replace, engine.Forget:
		return -1
	default:
		return 0
	}
}

// grouped are the changes of a plan, what destroys something first.
func grouped(p *engine.Plan) []group {
	var groups []group
	known := map[[2]string]int{}
	for _, a := range p.Actions {
		if a.Action == engine.Unchanged {
			continue
		}
		sign := verbs[a.Action].sign
		at, there := known[[2]string{sign, a.Kind}]
		if !there {
			at, groups = len(groups), append(groups, group{sign: sign, kind: a.Kind})
			known[[2]string{sign, a.Kind}] = at
		}
		groups[at].actions = append(groups[at].actions, a)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return weight(a.actions[0]) - weight(b.actions[0]) })
	return groups
}

func (m Markdown) table(p *engine.Plan, groups []group) string {
	if len(groups)+len(p.OutputChanges) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | address | kind | change |\n|---|---|---|---|\n")
	for _, g := range groups {
		if g.folded {
			fmt.Fprintf(&b, "| %s | %d resources | %s | |\n", m.Text(g.sign), len(g.actions), m.Text(g.kind))
			continue
		}
		for _, a := range g.actions {
			address := m.Code(a.Address)
			if slices.ContainsFunc(a.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld }) {
				address += " **drift**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Text(g.sign), address, m.Text(a.Kind), m.change(p, a))
		}
	}
	for _, c := range p.OutputChanges {
		fmt.Fprintf(&b, "| | output %s | | %s |\n", m.Code(c.Name), m.outputChange(c))
	}
	b.WriteString("\n")
	return b.String()
}

// change is what a row says of a resource.
func (m Markdown) change(p *engine.Plan, a engine.Planned) string {
	var parts []string
	if word, more := title(a, p.Drift); word != string(a.Action) || more != "" {
		parts = append(parts, m.Text(strings.TrimSpace(word+" "+more)))
	}
	if a.Problem != "" {
		first, _, _ := strings.Cut(a.Problem, "\n")
		parts = append(parts, m.Text(inRow(first)))
	}
	if !a.WaitUntil.IsZero() {
		parts = append(parts, "may be there: waits until "+a.WaitUntil.UTC().Format(time.TimeOnly)+" UTC")
	}
	if a.Waiting != "" {
		parts = append(parts, "waits for you: "+m.Text(inRow(a.Waiting)))
	}
	all := Style{}.leaves(a)
	if a.Action == engine.Create && len(all) > 0 {
		return strings.Join(append(parts, counted(len(all), "prop")), "; ")
	}
	for i, r := range all {
		if i == inlineDifferences {
			parts = append(parts, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		parts = append(parts, m.difference(r))
	}
	return strings.Join(parts, "; ")
}

// rowWidth is how long a text in a row may be before it is cut.
const rowWidth = 72

// inRow is a text as a row shows it.
func inRow(text string) string {
	if runes := []rune(text); len(runes) > rowWidth {
		return string(runes[:rowWidth-1]) + "…"
	}
	return text
}

// difference is one difference inside a row.
func (m Markdown) difference(r engine.Reason) string {
	if r.Path == "" {
		return "by request"
	}
	line := m.Text(string(r.Path)) + ": "
	if grants := grantChanges(r); len(grants) > 0 {
		words := make([]string, len(grants))
		for i, g := range grants {
			words[i] = m.Text(inRow(g.text))
		}
		return line + strings.Join(words, ", ")
	}
	on := strings.Join(waitsFor(r.Want), ", ")
	switch {
	case r.Files != nil && !r.Secret:
		line += m.Text(howMany(r.Files))
	case r.Unknown && on != "":
		line += "known after " + m.Code(on)
	case r.Unknown:
		line += "known later"
	case r.Have == nil:
		line += m.Code(inRow(text(r.Want)))
	default:
		line += m.Code(inRow(text(r.Have))) + " → " + m.Code(inRow(text(r.Want)))
	}
	if r.Replaces {
		line += " (replaces)"
	}
	if r.Source == engine.ByRequest {
		line += " (forced)"
	}
	return line
}

func (m Markdown) outputChange(c engine.OutputChange) string {
	switch {
	case c.Unknown:
		return "known later"
	case c.Have == nil || c.Secret && c.Want != nil:
		return m.Code(inRow(text(c.Want)))
	}
	return m.Code(inRow(text(c.Have))) + " → " + m.Code(inRow(text(c.Want)))
}

// details are all differences, folded: one block of code for each group.
func (m Markdown) details(p *engine.Plan, groups []group) string {
	var b strings.Builder
	detailed := newLayout(Style{Detailed: true}, p)
	for _, g := range groups {
		var text bytes.Buffer
		for _, a := range g.actions {
			a.Cause = "" // each is read by itself
			detailed.planned(&text, a)
		}
		m.folded(&b, plainVerb(g), text.String())
	}
	if len(p.OutputChanges) > 0 {
		m.folded(&b, "outputs", strings.Join(detailed.outputChanges(), "\n")+"\n")
	}
	return b.String()
}

// plainVerb says of a group what is done with how many. It holds no text from outside: it stands in HTML.
func plainVerb(g group) string {
	return fmt.Sprintf("%s: %s", g.actions[0].Action, counted(len(g.actions), "resource"))
}

func (m Markdown) folded(b *strings.Builder, summary, text string) {
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%s\n</details>\n\n", summary, m.Block("", text))
}

// Program writes what `plan --untrusted` shows where nothing can be observed.
func (m Markdown) Program(w io.Writer, p Program) error {
	p = cleaned(p)
	var b strings.Builder
	fmt.Fprintf(&b, "### athanor plan %s: not observed\n\n", m.Code(p.Stack+"/"+p.Stage))
	fmt.Fprintf(&b, "The program is valid. Nothing was observed: %s. No action is claimed.\n", m.Text(inRow(p.Missing)))
	b.WriteString("\n| | address | kind |\n|---|---|---|\n")
	left := MarkdownLimit - 40 - runes(b.String())
	for i, a := range p.Actions {
		row := fmt.Sprintf("| ? | %s | %s |\n", m.Code(a.Address), m.Text(a.Kind))
		if left -= runes(row); left < 0 {
			fmt.Fprintf(&b, "\n%d more are left out.\n", len(p.Actions)-i)
			break
		}
		b.WriteString(row)
	}
	_, err := io.WriteString(w, limited(b.String()))
	return err
}

// limited is a text that is cut off, behind a line, where it has more characters than Markdown may: code that does not
// end would format nothing, and what it hides would.
func limited(text string) string {
	if runes(text) <= MarkdownLimit {
		return text
	}
	text = string([]rune(text)[:MarkdownLimit-2])
	return text[:strings.LastIndexByte(text, '\n')+1] + "…\n"
}
