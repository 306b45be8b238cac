package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// widest is how far a column follows its longest entry; widestAddress that of addresses.
const widest, widestAddress = 40, 32

// Plan writes a plan for people. Cost says what planning took, "" where that is not known.
func (s Style) Plan(w io.Writer, p *engine.Plan, cost string) {
	p = cleaned(p)
	s.write(w, s.heading(p), 2)
	fmt.Fprintln(w)
	if p.Recovered {
		s.write(w, s.paint(cyan, "State was lost: existing objects were found again by reading.")+"\n", 0)
	}
	if p.Unobserved {
		s.write(w, s.paint(yellow, "Compared with state only: nothing was read from the provider.")+"\n", 0)
	}
	drift, own := s.sections(p)
	l, blocks := newLayout(s, p), 0
	outside, changes := folded(drift), folded(own)
	l.fit(outside)
	l.fit(changes)
	for _, section := range []struct {
		title string
		parts [][]*engine.Planned
		drift bool
	}{{"Changed outside athanor; a deploy changes it back", outside, true}, {"Your changes", changes, false}} {
		if len(section.parts) == 0 {
			continue
		}
		if blocks++; blocks > 1 {
			fmt.Fprintln(w)
		}
		if len(drift) > 0 {
			s.write(w, s.paint(bold, section.title), 0)
		}
		l.outside = p.Drift || section.drift
		l.section(w, section.parts)
	}
	if outputs := s.outputLines(p); len(outputs) > 0 {
		if blocks++; blocks > 1 {
			fmt.Fprintln(w)
		}
		s.write(w, s.paint(bold, "Outputs"), 0)
		for _, line := range outputs {
			s.write(w, line, 6)
		}
	}
	if blocks > 0 {
		fmt.Fprintln(w)
	}
	s.left(w, p.Left)
	for _, warning := range p.Warnings {
		s.write(w, s.paint(yellow, "note: ")+Plainly(clean(warning)), 6)
	}
	for _, v := range p.Violations {
		s.write(w, s.paint(yellow, "policy "+v.Policy+": ")+clean(strings.TrimPrefix(v.Address+": ", ": ")+v.Message), 6)
	}
	s.PlanCounts(w, p, cost)
}

// PlanCounts writes the last line of a plan.
func (s Style) PlanCounts(w io.Writer, p *engine.Plan, cost string) {
	head := "Plan:"
	switch {
	case p.Drift && p.Drifted():
		head = "Drift:"
	case p.Drift:
		head = "No drift:"
	case !p.Pending() && len(p.Blocked()) == 0:
		head = "Nothing to do:"
	}
	drift, own := s.sections(p)
	outside := map[engine.Action]int{}
	for _, a := range drift {
		outside[a.Action]++
	}
	if head == "Drift:" {
		s.ends(w, s.driftCounts(p), cost)
	} else {
		s.ends(w, s.counts(head, p.Summary, head != "No drift:", outside), cost)
	}
	groups, lines := 0, 0
	for _, part := range folded(own) {
		if len(part) > 1 && !s.Detailed {
			groups++
		} else {
			lines += len(part)
		}
	}
	if groups > 0 {
		text := fmt.Sprintf("%s in %s", counted(len(own), "resource"), counted(groups, "group"))
		if lines > 0 {
			text += " and " + counted(lines, "line")
		}
		s.write(w, s.paint(dim, text+"; --detailed lists each"), 0)
	}
}

// driftCounts says how many resources drifted, those among them that a repair leaves to the next deploy.
func (s Style) driftCounts(p *engine.Plan) string {
	sum := p.Summary
	drifted := sum.Created + sum.Adopted + sum.Recovered + sum.Updated + sum.Replaced + sum.Moved + sum.Deleted + sum.Forgotten
	all := drifted + sum.Unchanged + sum.Waiting + sum.Blocked
	for _, left := range p.Left {
		if slices.ContainsFunc(left.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld }) {
			drifted++
		}
	}
	text := fmt.Sprintf("%s %s of %s", s.paint(bold, "Drift:"), s.paint(yellow, fmt.Sprint(drifted)), counted(all, "resource"))
	if sum.Blocked > 0 {
		text += ", " + s.paint(red, fmt.Sprintf("%d blocked", sum.Blocked))
	}
	return text
}

// driftNote says how many of those that are counted before it drifted.
func (s Style) driftNote(n int) string {
	switch {
	case n == 0:
		return ""
	case s.narrow():
		return fmt.Sprintf(" (%d drift)", n)
	}
	return fmt.Sprintf(" (%d of them drift)", n)
}

// heading names the stage, the state that was planned on, and where its resources are.
func (s Style) heading(p *engine.Plan) string {
	text := s.paint(bold, p.Stack+"/"+p.Stage)
	if p.Serial > 0 {
		text += s.paint(dim, fmt.Sprintf("  serial %d", p.Serial))
	}
	var places []string
	for _, a := range p.Actions {
		if where := a.Place; where.Account != "" {
			name := strings.TrimRight(where.Provider+" "+where.Account+" "+where.Region, " ")
			if !slices.Contains(places, name) {
				places = append(places, name)
			}
		}
	}
	if len(places) > 0 && !s.narrow() {
		slices.Sort(places)
		text += s.paint(dim, "  "+strings.Join(places, ", "))
	}
	return text
}

// sections are the lines of a plan that are shown: what changed outside, and what the program changes. An update that is both
// stands in both, each with its own differences.
func (s Style) sections(p *engine.Plan) (drift, own []*engine.Planned) {
	for i := range p.Actions {
		a := &p.Actions[i]
		outside, rest := s.drifted(a)
		switch {
		case !s.Detailed && a.Action == engine.Unchanged && !asleep(p, a):
		case p.Drift, len(outside) == 0:
			own = append(own, a)
		case len(rest) == 0:
			drift = append(drift, a)
		default:
			first, second := *a, *a
			first.Reasons, first.Notes, first.Waiting, first.WaitUntil = outside, nil, "", time.Time{}
			second.Reasons = rest
			drift, own = append(drift, &first), append(own, &second)
		}
	}
	return drift, own
}

// drifted splits the differences of a resource by who made them. Only an update can be split: whatever else is done to a resource
// is done to all of it.
func (s Style) drifted(a *engine.Planned) (outside, rest []engine.Reason) {
	if !slices.ContainsFunc(a.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld }) {
		return nil, a.Reasons
	}
	for _, r := range a.Reasons {
		if r.Source == engine.ByWorld {
			outside = append(outside, r)
		} else {
			rest = append(rest, r)
		}
	}
	if a.Action != engine.Update && len(rest) > 0 || a.Action == engine.Adopt || a.Action == engine.Recover || a.Action == engine.Blocked {
		return nil, a.Reasons
	}
	return outside, rest
}

// fit makes the columns as wide as lines of a plan need.
func (l *layout) fit(parts [][]*engine.Planned) {
	for _, part := range parts {
		if len(part) > 1 && !l.Detailed {
			l.address, l.kind = max(l.address, columns(groupName(part))), max(l.kind, columns(groupRange(part)))
			continue
		}
		for _, a := range part {
			l.address, l.kind = max(l.address, columns(a.Address)), max(l.kind, columns(a.Kind))
		}
	}
	l.address, l.kind = min(l.address, widestAddress), min(l.kind, widest)
}

// section writes lines of a plan, those that are alike as one.
func (l *layout) section(w io.Writer, parts [][]*engine.Planned) {
	for _, part := range parts {
		if len(part) > 1 && !l.Detailed {
			l.group(w, part)
			continue
		}
		for _, a := range part {
			l.planned(w, *a)
		}
	}
}

// asleep reports what a dev session alone would start.
func asleep(p *engine.Plan, a *engine.Planned) bool {
	return a.InDev && !p.Dev && a.Action == engine.Unchanged
}

func runes(text string) int { return utf8.RuneCountInString(text) }

// layout is how the lines of a section are laid out: the widths of its columns.
type layout struct {
	Style
	plan          *engine.Plan
	address, kind int
	// outside: all that is shown changed outside athanor, as its title says.
	outside bool
	// explained are the addresses at which a cause was shown first; actions are what is done to each address.
	explained map[string]string
	actions   func() map[string]engine.Action // made when a line refers to another
}

func newLayout(s Style, p *engine.Plan) layout {
	return layout{Style: s, plan: p, explained: map[string]string{}, actions: sync.OnceValue(func() map[string]engine.Action {
		all := make(map[string]engine.Action, len(p.Actions))
		for i := range p.Actions {
			all[p.Actions[i].Address] = p.Actions[i].Action
		}
		return all
	})}
}

// row is the first line of a resource or a group: what is done, to what, of which kind. Narrow terminals leave out the word of what
// is done, which the glyph says, and have a kind that does not fit on a line of its own.
func (l layout) row(v verb, address, kind, word, more string) (lines []string) {
	sign := "  " + l.paint(v.color, v.sign) + " "
	if !l.narrow() {
		what := strings.TrimSpace(l.paint(v.color, word) + " " + more)
		line := sign + pad(address, l.address) + "  " + l.paint(dim, pad(kind, l.kind)) + "  " + what
		return []string{strings.TrimRight(line, " ")}
	}
	lines = []string{sign + pad(address, l.address) + "  " + l.paint(dim, kind)}
	if columns(lines[0]) > l.Width {
		lines = []string{sign + address, "      " + l.paint(dim, kind)}
	}
	if !v.says(word) {
		more = strings.TrimSpace(l.paint(v.color, word) + " " + more)
	}
	if more != "" {
		lines = append(lines, "      "+more)
	}
	return lines
}

// says reports whether a glyph says a word, which a narrow terminal leaves out.
func (v verb) says(word string) bool {
	word = strings.TrimSuffix(word, ",")
	return word == v.word || word == "" || word == "changed outside athanor" && v.sign == verbs[engine.Update].sign
}

func (l layout) planned(w io.Writer, a engine.Planned) {
	if asleep(l.plan, &a) {
		for _, line := range l.row(verb{sign: " ", color: dim}, a.Address, a.Kind, "runs in dev", "") {
			l.write(w, line, 6)
		}
		return
	}
	if a.Cause != "" && a.BlockedBy == "" && l.explained[a.Cause] != "" {
		a.Problem, a.Hint = "as "+l.explained[a.Cause], ""
	} else if a.Cause != "" {
		l.explained[a.Cause] = a.Address
	}
	word, more := title(a, l.plan.Drift)
	rows := l.row(verbs[a.Action], a.Address, a.Kind, word, more)
	l.props(w, rows, l.reasons(a), place(a.Source))
	for _, n := range a.Notes {
		l.write(w, "      "+l.paint(dim, clean(n)), 8)
	}
	if !a.WaitUntil.IsZero() {
		l.write(w, "      "+l.paint(yellow, "waits: not visible yet, until "+a.WaitUntil.Local().Format(time.TimeOnly)), 8)
	}
	if a.Waiting != "" {
		l.write(w, "      "+l.paint(yellow, "waits for you: "+clean(a.Waiting)), 8)
	}
	l.problem(w, a.Problem, a.Hint)
}

// problem writes why something cannot be planned, and what can be done about it.
func (l layout) problem(w io.Writer, text, hint string) {
	if text != "" {
		for line := range strings.SplitSeq(Plainly(clean(text)), "\n") {
			l.write(w, "      "+l.paint(red, line), 8)
		}
	}
	if hint != "" {
		l.advice(w, 6, l.paint(cyan, "hint:")+" ", clean(hint))
	}
}

// prop is one difference as it is shown.
type prop struct {
	path, value string
	// remark: it is said of the prop before it, and path is a word.
	remark bool
}

// mark follows the path.
func (p prop) mark() string {
	if p.remark {
		return " "
	}
	return ":"
}

// reasons are the differences of a resource as they are shown.
func (l layout) reasons(a engine.Planned) []prop {
	var all []prop
	reasons := l.leaves(a)
	width := 0
	for _, r := range reasons {
		width = max(width, columns(string(r.Path)))
	}
	for _, r := range reasons {
		if grants := l.grants(a, r); grants != nil {
			all = append(all, grants...)
			continue
		}
		all = append(all, l.reason(a, r, l.room(width, place(a.Source))))
	}
	return all
}

// room is how many columns the value of a prop has beside the place of the declaration.
func (l layout) room(paths int, source string) int {
	indent := 6
	if l.broad() {
		indent = l.address + l.kind + 8 + len("update") + 2 + columns(source)
	}
	return max(l.Width-indent-min(paths, widest)-3, minValue)
}

// props writes the first line of a resource and its differences: below it, or on a broad terminal behind it, where the place of
// the declaration stands at the right edge.
func (l layout) props(w io.Writer, rows []string, all []prop, source string) {
	width := 0
	for _, p := range all {
		width = max(width, columns(p.path))
	}
	width = min(width, widest)
	if !l.broad() {
		for _, row := range rows {
			l.write(w, row, 6)
		}
		for _, p := range all {
			l.write(w, "      "+prefix(p.path, p.mark(), width)+p.value, 6+hang(p.path, width, 1))
		}
		return
	}
	row := rows[0]
	indent := columns(row) + 2
	for i, p := range all {
		line := row + strings.Repeat(" ", max(2, indent-columns(row))) + prefix(p.path, "", width) + p.value
		if i == 0 {
			line = l.edge(line, source)
		}
		l.write(w, line, indent+hang(p.path, width, 0))
		row = ""
	}
	if len(all) == 0 {
		l.write(w, l.edge(row, source), 6)
	}
}

// prefix is the path of a prop before its value. A remark about the whole resource has none.
func prefix(path, mark string, width int) string {
	if path == "" {
		return ""
	}
	return pad(path+mark, width+len(mark)) + "  "
}

func hang(path string, width, mark int) int {
	if path == "" {
		return 2
	}
	return width + mark + 2
}

// edge is a line with a quiet text at the right edge of the terminal, if there is room for it.
func (s Style) edge(line, text string) string {
	if gap := s.Width - columns(line) - columns(text); text != "" && gap >= 2 {
		return line + strings.Repeat(" ", gap) + s.paint(dim, text)
	}
	return line
}

// place is file and line of a place in the program.
func place(source string) string {
	parts := strings.SplitN(source, ":", 3)
	return strings.Join(parts[:min(2, len(parts))], ":")
}

// localTag follows what is done on this machine to a resource that the program would have in the cloud.
const localTag = ", local"

// title says what will happen: a word, and what else there is to say, which is never cut.
func title(a engine.Planned, drift bool) (word, more string) {
	from := clean(a.From)
	if word = string(a.Action); a.May {
		word = "may " + word
	}
	switch {
	case drift && a.Action == engine.Update:
		word = "changed outside athanor"
	case drift && a.Action == engine.Create:
		word = "deleted outside athanor"
	case a.Action == engine.Forget:
		word = "remove from state"
	}
	switch {
	case a.Action == engine.Replace && a.DeleteFirst:
		word, more = word+",", "old one deleted first"
	case a.Action == engine.Replace:
		word, more = word+",", "new one first"
	case (a.Action == engine.Delete || a.Action == engine.Forget) && a.Identity != "" && a.Identity != a.Address:
		more = clean(a.Identity)
	case a.Action == engine.Move && from != "":
		more = "from " + from
	case (a.Action == engine.Adopt || a.Action == engine.Recover) && from != "":
		more = from
	case from != "":
		word, more = word+",", "moved from "+from
	}
	if a.Local && more == "" {
		word += localTag
	} else if a.Local {
		more += localTag
	}
	return word, more
}

// leaves are the differences to be shown. Of lists and maps that were and will be only what differs in them is.
func (s Style) leaves(a engine.Planned) []engine.Reason {
	if a.Action == engine.Recover && a.From == "" && !s.Detailed {
		return nil // it is computed again and compared with nothing
	}
	if !slices.ContainsFunc(a.Reasons, func(r engine.Reason) bool { return r.Have != nil }) {
		return slices.Clip(a.Reasons) // as all of what is new
	}
	var all []engine.Reason
	for _, r := range a.Reasons {
		all = apart(all, r)
	}
	return all
}

// apart adds a difference, or the differences inside it. Statements about permissions stay together.
func apart(all []engine.Reason, r engine.Reason) []engine.Reason {
	if len(grantChanges(r)) > 0 {
		return append(all, r)
	}
	add := func(at tree.Path, have, want any) {
		if tree.Equal(have, want) {
			return
		}
		inner := r
		inner.Path, inner.Have, inner.Want = at, have, want
		inner.Unknown = r.Unknown && (len(waitsFor(want)) > 0 || r.Note != "")
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

// reason is one difference as it is shown in width columns.
func (l layout) reason(a engine.Planned, r engine.Reason, width int) prop {
	if r.Path == "" {
		return prop{value: l.paint(dim, "by request")}
	}
	var notes []string
	want := l.shortened(text(r.Want), width)
	switch {
	case r.Ref != "" && l.Detailed:
		want = clean(r.Ref) + " = " + want
	case r.Ref != "":
		want = clean(r.Ref)
	}
	if r.Unknown {
		// The references in it say what it waits for; a masked or missing one does not.
		later := l.later(r.Want)
		if later == "" && r.Note != "" {
			later, r.Note = r.Note, ""
		}
		want += l.paint(dim, ", "+cmp.Or(later, "known later"))
	}
	if r.Replaces && a.Action != engine.Create {
		notes = append(notes, "replaces")
	}
	if r.Note != "" && a.Action != engine.Create && a.Action != engine.Replace {
		notes = append(notes, r.Note)
	}
	switch {
	case r.Source == engine.ByWorld && !l.outside:
		notes = append(notes, "drift")
	case r.Source == engine.ByRequest:
		notes = append(notes, "forced")
	}
	switch before := a.Action != engine.Create && (r.Have != nil || r.Want == nil); {
	case before && r.Files != nil && !r.Secret:
		want = l.files(r.Files)
	case before && r.Secret:
		want = text(r.Have) + " → " + want + ", changed"
	case before && l.plan.Drift && a.Action == engine.Update && !r.Unknown:
		want = l.change(r.Want, r.Have, width) // what became of it, and not what a repair makes of it
	case before && r.Unknown:
		want = l.paint(red, l.shortened(text(r.Have), width)) + " → " + want
	case before:
		want = l.change(r.Have, r.Want, width)
	}
	if len(notes) > 0 {
		want += "  " + l.paint(cmp.Or(noteColor(r), dim), "("+strings.Join(notes, ", ")+")")
	}
	return prop{path: string(r.Path), value: want}
}

func noteColor(r engine.Reason) color {
	switch {
	case r.Replaces:
		return magenta
	case r.Source == engine.ByWorld:
		return yellow
	}
	return ""
}

// shownRef finds references in a text as they are shown.
var shownRef = regexp.MustCompile(`\$\{([^{}]+?)\.[^{}]*\}`)

// named are the resources of the plan that a text refers to whose references are shown already.
func (l layout) named(v any) []string {
	shown, _ := v.(string)
	var on []string
	for _, ref := range shownRef.FindAllStringSubmatch(shown, -1) {
		if _, known := l.actions()[ref[1]]; known && !slices.Contains(on, ref[1]) {
			on = append(on, ref[1])
		}
	}
	return on
}

// later says after what a value is known, "" when its references do not say it.
func (l layout) later(v any) string {
	on := waitsFor(v)
	if len(on) == 0 {
		on = l.named(v)
	}
	if len(on) == 0 {
		return ""
	}
	done := ""
	for _, addr := range on {
		word := verbs[l.actions()[addr]].done
		if done != "" && done != word {
			word = "done"
		}
		done = word
	}
	be := " is "
	if len(on) > 1 {
		be = " are "
	}
	switch done {
	case "", "unchanged", "blocked", "waiting":
		return "known after " + strings.Join(on, ", ")
	}
	return "known after " + strings.Join(on, ", ") + be + done
}

// waitsFor names the addresses that a value waits for.
func waitsFor(v any) []string {
	uses, err := token.Refs(v)
	if err != nil {
		return nil
	}
	var names []string
	for _, u := range uses {
		if u.Ref.Address != "" && !slices.Contains(names, u.Ref.Address) {
			names = append(names, u.Ref.Address)
		}
	}
	return names
}

// outputLines are the outputs that a plan changes, and with Detailed the others.
func (s Style) outputLines(p *engine.Plan) []string {
	l := newLayout(s, p)
	lines := l.outputChanges()
	if !s.Detailed {
		return lines
	}
	changes := map[string]bool{}
	for _, c := range p.OutputChanges {
		changes[c.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.Outputs)) {
		if !changes[name] {
			lines = append(lines, "    "+clean(name)+"  "+text(p.Outputs[name]))
		}
	}
	return lines
}

// outputChanges are the outputs that a plan changes.
func (l layout) outputChanges() []string {
	width := 0
	for _, c := range l.plan.OutputChanges {
		width = max(width, columns(c.Name))
	}
	width = min(width, widestAddress)
	var lines []string
	for _, c := range l.plan.OutputChanges {
		room := max(l.Width-width-6, minValue)
		v, value := verbs[engine.Update], l.change(c.Have, c.Want, room)
		if c.Have == nil || c.Secret && c.Want != nil {
			value = l.shortened(text(c.Want), room)
		}
		switch {
		case c.Have == nil:
			v = verbs[engine.Create]
		case c.Want == nil && !c.Unknown:
			v = verbs[engine.Delete]
		}
		if c.Unknown {
			value += l.paint(dim, ", "+cmp.Or(l.later(c.Want), "known later"))
		}
		lines = append(lines, "  "+l.paint(v.color, v.sign)+" "+pad(c.Name, width)+"  "+value)
	}
	return lines
}

// Counts writes a line of counts. A plan says what will be, a result what was.
func (s Style) Counts(head string, sum engine.Summary, future bool) string {
	return s.counts(head, sum, future, nil)
}

// counts is the same, and says how many of each there are because something changed outside.
func (s Style) counts(head string, sum engine.Summary, future bool, outside map[engine.Action]int) string {
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
			if c.action == engine.Forget {
				word = "to remove from state"
			}
		}
		parts = append(parts, s.paint(verbs[c.action].color, fmt.Sprintf("%d %s", c.n, word))+s.driftNote(outside[c.action]))
	}
	if future && sum.OutputsChanged > 0 {
		parts = append(parts, counted(sum.OutputsChanged, "output")+" to change")
	}
	if len(parts) == 0 && future && sum.Blocked == 0 && head != "Nothing to do:" {
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
		{sum.Interrupted, "unfinished", yellow},
		{sum.NotStarted, "not started", yellow},
	} {
		if c.n > 0 {
			parts = append(parts, s.paint(c.c, fmt.Sprintf("%d %s", c.n, c.word)))
		}
	}
	if sum.OutputsFailed > 0 {
		parts = append(parts, s.paint(red, counted(sum.OutputsFailed, "output")+" failed"))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing is there")
	}
	return s.paint(bold, head) + " " + strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
