package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Plan writes a plan for people.
func (s Style) Plan(w io.Writer, p *engine.Plan) {
	fmt.Fprintf(w, "%s\n\n", s.paint(bold, p.Stack+" / "+p.Stage))
	if p.Recovered {
		fmt.Fprintln(w, s.paint(cyan, "The record was lost: what is there was found again by reading.")+"\n")
	}
	if p.Unobserved {
		fmt.Fprintln(w, s.paint(yellow, "Compared with the record only: nothing was looked at.")+"\n")
	}
	width := 0
	for _, a := range p.Actions {
		if s.shows(a) {
			width = max(width, len(a.Address))
		}
	}
	for _, a := range p.Actions {
		if s.shows(a) {
			s.planned(w, a, min(width, 48))
		}
	}
	s.outputs(w, p)
	for _, warning := range p.Warnings {
		fmt.Fprintln(w, s.paint(yellow, "note: ")+warning)
	}
	for _, v := range p.Violations {
		fmt.Fprintf(w, "%s %s: %s\n", s.paint(red, "policy "+v.Policy+":"), v.Address, v.Message)
	}
	fmt.Fprintln(w, s.Counts("Plan:", p.Summary, true))
}

func (s Style) shows(a engine.Planned) bool { return s.Detailed || a.Action != engine.Unchanged }

func (s Style) planned(w io.Writer, a engine.Planned, width int) {
	v := verbs[a.Action]
	head := fmt.Sprintf("  %s %-*s  %s", s.paint(v.color, v.sign), width, a.Address, s.paint(dim, a.Kind))
	fmt.Fprintf(w, "%s  %s\n", head, s.paint(v.color, s.title(a)))
	for _, r := range a.Reasons {
		s.reason(w, a, r)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, n))
	}
	if a.Waiting != "" {
		fmt.Fprintf(w, "      %s\n", s.paint(yellow, "waiting: "+a.Waiting))
	}
	if a.Problem != "" {
		for line := range strings.SplitSeq(a.Problem, "\n") {
			fmt.Fprintf(w, "      %s\n", s.paint(red, line))
		}
	}
	if a.Hint != "" {
		fmt.Fprintf(w, "      %s\n", s.paint(cyan, "hint: "+a.Hint))
	}
}

// title says what will happen, in full.
func (s Style) title(a engine.Planned) string {
	text := string(a.Action)
	if a.May {
		text = "may " + text
	}
	switch {
	case a.Action == engine.Replace && a.DeleteFirst:
		text += " (deleted first)"
	case a.Action == engine.Replace:
		text += " (new one first)"
	case a.Action == engine.Delete && a.Identity != "":
		text += " " + a.Identity
	case a.Action == engine.Move:
		text += " from " + a.From
	case (a.Action == engine.Adopt || a.Action == engine.Recover) && a.From != "":
		text += " " + a.From
	case a.From != "":
		text += ", moved from " + a.From
	}
	return text
}

func (s Style) reason(w io.Writer, a engine.Planned, r engine.Reason) {
	if r.Path == "" {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, "by request"))
		return
	}
	var notes []string
	if r.Unknown {
		if on := waitsFor(r.Want); on != "" {
			notes = append(notes, "known after "+on)
		} else {
			notes = append(notes, "known later")
		}
	}
	if r.Replaces && a.Action != engine.Create {
		notes = append(notes, "replaces")
	}
	if r.Source == engine.ByWorld {
		notes = append(notes, "drift")
	}
	line := fmt.Sprintf("%s: %s → %s", r.Path, s.value(r.Have), s.value(r.Want))
	if a.Action == engine.Create || r.Have == nil && r.Want != nil {
		line = fmt.Sprintf("%s: %s", r.Path, s.value(r.Want))
	}
	if len(notes) > 0 {
		line += "  " + s.paint(dim, "("+strings.Join(notes, ", ")+")")
	}
	fmt.Fprintf(w, "      %s\n", line)
}

// waitsFor names the addresses that a value waits for.
func waitsFor(v any) string {
	uses, err := token.Refs(v)
	if err != nil {
		return ""
	}
	var names []string
	for _, u := range uses {
		if !slices.Contains(names, u.Ref.Address) {
			names = append(names, u.Ref.Address)
		}
	}
	return strings.Join(names, ", ")
}

func (s Style) outputs(w io.Writer, p *engine.Plan) {
	if len(p.Outputs) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(p.Outputs)) {
		fmt.Fprintf(w, "  %s %s = %s\n", s.paint(dim, "output"), name, s.value(p.Outputs[name]))
	}
	fmt.Fprintln(w)
}

// Counts writes a summary line. A plan says what will be, a result what was.
func (s Style) Counts(head string, sum engine.Summary, future bool) string {
	var parts []string
	for _, c := range []struct {
		n      int
		action engine.Action
	}{
		{sum.Created, engine.Create}, {sum.Adopted, engine.Adopt}, {sum.Recovered, engine.Recover}, {sum.Updated, engine.Update},
		{sum.Replaced, engine.Replace}, {sum.Moved, engine.Move}, {sum.Deleted, engine.Delete}, {sum.Forgotten, engine.Forget},
	} {
		if c.n == 0 {
			continue
		}
		word := verbs[c.action].done
		if future {
			word = "to " + string(c.action)
		}
		parts = append(parts, s.paint(verbs[c.action].color, fmt.Sprintf("%d %s", c.n, word)))
	}
	if len(parts) == 0 && future {
		parts = append(parts, "nothing to do")
	}
	for _, c := range []struct {
		n    int
		word string
		c    color
	}{
		{sum.Unchanged, "unchanged", dim}, {sum.Waiting, "waiting", yellow}, {sum.Failed, "failed", red}, {sum.Blocked, "blocked", red},
		{sum.NotStarted, "not started", yellow},
	} {
		if c.n > 0 {
			parts = append(parts, s.paint(c.c, fmt.Sprintf("%d %s", c.n, c.word)))
		}
	}
	return head + " " + strings.Join(parts, ", ") + "."
}
