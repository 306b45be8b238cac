package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// widest is how far a column follows its longest entry.
const widest = 40

// Plan writes a plan for people.
func (s Style) Plan(w io.Writer, p *engine.Plan) {
	p = cleaned(p)
	fmt.Fprintf(w, "%s\n\n", s.paint(bold, p.Stack+"/"+p.Stage))
	if p.Recovered {
		fmt.Fprintln(w, s.paint(cyan, "State was lost: existing objects were found again by reading.")+"\n")
	}
	if p.Unobserved {
		fmt.Fprintln(w, s.paint(yellow, "Compared with state only: nothing was read from the provider.")+"\n")
	}
	var shown []engine.Planned
	addresses, kinds := 0, 0
	for _, a := range p.Actions {
		if s.Detailed || a.Action != engine.Unchanged || asleep(p, a) {
			shown = append(shown, a)
			addresses, kinds = max(addresses, runes(a.Address)), max(kinds, runes(a.Kind))
		}
	}
	for _, a := range shown {
		if asleep(p, a) {
			s.asleep(w, a, min(addresses, widest), min(kinds, widest))
			continue
		}
		s.planned(w, a, min(addresses, widest), min(kinds, widest))
	}
	for _, c := range p.OutputChanges {
		s.outputChange(w, c)
	}
	if s.Detailed {
		s.outputs(w, p)
	}
	if len(shown)+len(p.OutputChanges) > 0 {
		fmt.Fprintln(w)
	}
	s.left(w, p.Left)
	for _, warning := range p.Warnings {
		fmt.Fprintln(w, s.paint(yellow, "note: ")+clean(warning))
	}
	for _, v := range p.Violations {
		fmt.Fprintln(w, s.paint(yellow, "policy "+v.Policy+": ")+clean(strings.TrimPrefix(v.Address+": ", ": ")+v.Message))
	}
	switch {
	case !p.Drift:
		fmt.Fprintln(w, s.Counts("Plan:", p.Summary, true))
	case p.Drifted():
		fmt.Fprintln(w, s.Counts("Drift:", p.Summary, true))
	default:
		fmt.Fprintln(w, s.Counts("No drift:", p.Summary, false))
	}
}

// asleep reports what a dev session alone would start.
func asleep(p *engine.Plan, a engine.Planned) bool {
	return a.InDev && !p.Dev && a.Action == engine.Unchanged
}

func (s Style) asleep(w io.Writer, a engine.Planned, addresses, kinds int) {
	fmt.Fprintf(w, "    %-*s  %s\n", addresses, a.Address, s.paint(dim, fmt.Sprintf("%-*s  runs in dev", kinds, a.Kind)))
}

func runes(text string) int { return utf8.RuneCountInString(text) }

func (s Style) planned(w io.Writer, a engine.Planned, addresses, kinds int) {
	v := verbs[a.Action]
	fmt.Fprintf(w, "  %s %-*s  %s  %s\n", s.paint(v.color, v.sign), addresses, a.Address,
		s.paint(dim, fmt.Sprintf("%-*s", kinds, a.Kind)), s.paint(v.color, title(a)))
	reasons := s.leaves(a)
	paths := 0
	for _, r := range reasons {
		paths = max(paths, runes(string(r.Path)))
	}
	for _, r := range reasons {
		s.reason(w, a, r, min(paths, widest))
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, clean(n)))
	}
	if !a.WaitUntil.IsZero() {
		text := "may be there: waits until " + a.WaitUntil.Local().Format(time.TimeOnly)
		fmt.Fprintf(w, "      %s\n", s.paint(yellow, text))
	}
	if a.Waiting != "" {
		fmt.Fprintf(w, "      %s\n", s.paint(yellow, "waits for you: "+clean(a.Waiting)))
	}
	if a.Problem != "" {
		for line := range strings.SplitSeq(clean(a.Problem), "\n") {
			fmt.Fprintf(w, "      %s\n", s.paint(red, line))
		}
	}
	if a.Hint != "" {
		fmt.Fprintf(w, "      %s%s\n", s.paint(cyan, "hint: "), clean(a.Hint))
	}
}

// localTag follows what is done to a thing on this machine that the program would have in the cloud.
const localTag = ", local"

// title says what will happen, in full.
func title(a engine.Planned) string {
	text := string(a.Action)
	if a.May {
		text = "may " + text
	}
	from := clean(a.From)
	switch {
	case a.Action == engine.Replace && a.DeleteFirst:
		text += " (old one deleted first)"
	case a.Action == engine.Replace:
		text += " (new one first)"
	case (a.Action == engine.Delete || a.Action == engine.Forget) && a.Identity != "" && a.Identity != a.Address:
		text += " " + clean(a.Identity)
	case a.Action == engine.Move:
		text += " from " + from
	case (a.Action == engine.Adopt || a.Action == engine.Recover) && from != "":
		text += " " + from
	case from != "":
		text += ", moved from " + from
	}
	if a.Local {
		text += localTag
	}
	return text
}

// leaves are the differences to be shown. Of lists and maps that were and will be only what differs in them is.
func (s Style) leaves(a engine.Planned) []engine.Reason {
	if a.Action == engine.Recover && a.From == "" && !s.Detailed {
		return nil // it is computed again and compared with nothing
	}
	var all []engine.Reason
	for _, r := range a.Reasons {
		all = apart(all, r)
	}
	return all
}

// apart adds a difference, or the differences inside it.
func apart(all []engine.Reason, r engine.Reason) []engine.Reason {
	add := func(at tree.Path, have, want any) {
		if tree.Equal(have, want) {
			return
		}
		inner := r
		inner.Path, inner.Have, inner.Want = at, have, want
		inner.Unknown = r.Unknown && (waitsFor(want) != "" || r.Note != "")
		all = apart(all, inner)
	}
	switch want := r.Want.(type) {
	case map[string]any:
		if have, ok := r.Have.(map[string]any); ok {
			both := maps.Clone(have)
			maps.Copy(both, want)
			for _, k := range slices.Sorted(maps.Keys(both)) {
				add(r.Path.Key(k), have[k], want[k])
			}
			return all
		}
	case []any:
		if have, ok := r.Have.([]any); ok && len(have) == len(want) {
			for i := range want {
				add(r.Path.Index(i), have[i], want[i])
			}
			return all
		}
	}
	return append(all, r)
}

func (s Style) reason(w io.Writer, a engine.Planned, r engine.Reason, width int) {
	if r.Path == "" {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, "by request"))
		return
	}
	var notes []string
	want := s.Value(r.Want)
	if r.Unknown {
		// The references in it say what it waits for; a masked or missing one does not.
		note := "known later"
		if on := waitsFor(r.Want); on != "" {
			note = "known after " + on
		} else if r.Note != "" {
			note, r.Note = r.Note, ""
		}
		notes = append(notes, note)
	}
	if r.Replaces && a.Action != engine.Create {
		notes = append(notes, "replaces")
	}
	if r.Note != "" && a.Action != engine.Create && a.Action != engine.Replace {
		notes = append(notes, r.Note)
	}
	if r.Source == engine.ByWorld {
		notes = append(notes, "drift")
	}
	if a.Action != engine.Create && (r.Have != nil || r.Want == nil) {
		want = s.change(r.Have, r.Want)
	}
	line := fmt.Sprintf("      %-*s  %s", width+1, string(r.Path)+":", want)
	if len(notes) > 0 {
		line += "  " + s.paint(cmp.Or(noteColor(r), dim), "("+strings.Join(notes, ", ")+")")
	}
	fmt.Fprintln(w, line)
}

func noteColor(r engine.Reason) color {
	if r.Replaces || r.Source == engine.ByWorld {
		return yellow
	}
	return ""
}

// waitsFor names the addresses that a value waits for.
func waitsFor(v any) string {
	uses, err := token.Refs(v)
	if err != nil {
		return ""
	}
	var names []string
	for _, u := range uses {
		if u.Ref.Address != "" && !slices.Contains(names, u.Ref.Address) {
			names = append(names, u.Ref.Address)
		}
	}
	return strings.Join(names, ", ")
}

// outputChange shows how one output changes.
func (s Style) outputChange(w io.Writer, c engine.OutputChange) {
	value, note := s.change(c.Have, c.Want), ""
	if c.Have == nil || c.Secret && c.Want != nil {
		value = s.Value(c.Want)
	}
	if c.Unknown {
		if note = "  (known later)"; waitsFor(c.Want) != "" {
			note = "  (known after " + waitsFor(c.Want) + ")"
		}
	}
	fmt.Fprintf(w, "  %s %s = %s%s\n", s.paint(dim, "output"), c.Name, value, s.paint(dim, note))
}

func (s Style) outputs(w io.Writer, p *engine.Plan) {
	for _, name := range slices.Sorted(maps.Keys(p.Outputs)) {
		fmt.Fprintf(w, "  %s %s = %s\n", s.paint(dim, "output"), clean(name), s.Value(p.Outputs[name]))
	}
}

// Counts writes a line of counts. A plan says what will be, a result what was.
func (s Style) Counts(head string, sum engine.Summary, future bool) string {
	var parts []string
	for _, c := range []struct {
		n      int
		action engine.Action
	}{
		{sum.Created, engine.Create},
		{sum.Adopted, engine.Adopt},
		{sum.Recovered, engine.Recover},
		{sum.Updated, engine.Update},
		{sum.Replaced, engine.Replace},
		{sum.Moved, engine.Move},
		{sum.Deleted, engine.Delete},
		{sum.Forgotten, engine.Forget},
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
	if future && sum.OutputsChanged > 0 {
		parts = append(parts, fmt.Sprintf("%d outputs to change", sum.OutputsChanged))
	}
	if len(parts) == 0 && future && sum.Blocked == 0 {
		parts = append(parts, "nothing to do")
	}
	for _, c := range []struct {
		n    int
		word string
		c    color
	}{
		{sum.Unchanged, "unchanged", dim},
		{sum.InDev, "in dev", dim},
		{sum.Waiting, "waiting", yellow},
		{sum.Failed, "failed", red},
		{sum.Blocked, "blocked", red},
		{sum.Interrupted, "interrupted", yellow},
		{sum.NotStarted, "not started", yellow},
	} {
		if c.n > 0 {
			parts = append(parts, s.paint(c.c, fmt.Sprintf("%d %s", c.n, c.word)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing is there")
	}
	return s.paint(bold, head) + " " + strings.Join(parts, ", ")
}

// Ended writes how a run ended.
func (s Style) Ended(w io.Writer, res *engine.Result) {
	head := "Done:"
	switch {
	case res.InterruptedBy != "" || res.Summary.NotStarted > 0:
		head = "Stopped:"
	case len(res.Failures) > 0 || res.Summary.Blocked > 0 || res.Summary.Failed > 0:
		head = "Partly done:"
	case res.Run == "":
		head = "Nothing to do:"
	}
	cost := []string{counted(int(res.Calls.Reads), "read"), counted(int(res.Calls.Mutations), "change")}
	if n := res.Calls.Throttled; n > 0 {
		cost = append(cost, fmt.Sprintf("%d throttled", n))
	}
	if res.Commits > 0 {
		cost = append(cost, counted(res.Commits, "commit"))
	}
	cost = append(cost, Elapsed(res.Took))
	fmt.Fprintf(w, "%s %s\n", s.Counts(head, res.Summary, false), s.paint(dim, "("+strings.Join(cost, ", ")+")"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
