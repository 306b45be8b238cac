package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

const (
	// fewest is how many resources with the same kind, verb and changed paths become one group.
	fewest = 5
	// mostVariants is how many values of a path are counted in a group; mostNamed how many of its resources are named.
	mostVariants, mostNamed = 6, 4
)

// folded splits lines into groups of what is alike, in the order of the first of each. What must be seen by itself makes a group
// of its own: a replacement, what may destroy data, is adopted or waits. What is blocked for one cause is alike.
func folded(lines []*engine.Planned) [][]*engine.Planned {
	at := map[string]int{}
	var parts [][]*engine.Planned
	for _, a := range lines {
		key := alike(a)
		if i, ok := at[key]; ok && key != "" {
			parts[i] = append(parts[i], a)
			continue
		}
		at[key] = len(parts)
		parts = append(parts, []*engine.Planned{a})
	}
	var all [][]*engine.Planned
	for _, part := range parts {
		if len(part) >= fewest {
			all = append(all, part)
			continue
		}
		for _, a := range part {
			all = append(all, []*engine.Planned{a})
		}
	}
	order := make(map[string]int, len(lines))
	for i, a := range lines {
		order[a.Address] = i
	}
	slices.SortStableFunc(all, func(a, b []*engine.Planned) int { return cmp.Compare(order[a[0].Address], order[b[0].Address]) })
	return all
}

// alike is the same for lines that one line can stand for; "" for a line that stands by itself.
func alike(a *engine.Planned) string {
	switch a.Action {
	case engine.Blocked:
		if a.Cause == "" || a.Waiting != "" || len(a.Reasons)+len(a.Notes) > 0 {
			return ""
		}
		return a.Cause + "\x00" + a.BlockedBy
	case engine.Create, engine.Update, engine.Forget, engine.Unchanged:
	case engine.Delete:
		if a.Identity != "" && a.Identity != a.Address {
			return "" // which object is deleted is said of each
		}
	default:
		return ""
	}
	if a.Waiting != "" || a.Problem != "" || !a.WaitUntil.IsZero() || a.From != "" {
		return ""
	}
	key := []string{a.Kind, string(a.Action), fmt.Sprint(a.May, a.Local, a.InDev), strings.Join(a.Notes, "\n")}
	for _, r := range (Style{}).leaves(*a) {
		if r.Replaces && a.Action != engine.Create || r.Source == engine.ByWorld {
			return ""
		}
		key = append(key, string(r.Path))
	}
	return strings.Join(key, "\x00")
}

func groupName(part []*engine.Planned) string {
	if part[0].Action == engine.Blocked {
		return counted(len(part), "resource") // of any kinds
	}
	return fmt.Sprintf("%d × %s", len(part), part[0].Kind)
}

func groupRange(part []*engine.Planned) string {
	return part[0].Address + " … " + part[len(part)-1].Address
}

// group writes lines that are alike as one. A value that all have stands there once, others are counted.
func (l layout) group(w io.Writer, part []*engine.Planned) {
	if part[0].Action == engine.Blocked {
		l.blocked(w, part)
		return
	}
	word, _ := title(*part[0], l.plan.Drift)
	paths := map[string][]engine.Reason{}
	var order []string
	width, variants, same := 0, 1, true
	for _, a := range part {
		for _, r := range l.leaves(*a) {
			path := string(r.Path)
			if paths[path] == nil {
				order = append(order, path)
			}
			paths[path] = append(paths[path], r)
			width = max(width, columns(path))
		}
	}
	var all []prop
	for _, path := range order {
		value, n := l.variants(part, paths[path], l.room(width, ""))
		same = same && n == 1
		if n <= mostVariants {
			variants = max(variants, n)
		}
		all = append(all, prop{path: path, value: value})
	}
	more := ""
	switch {
	case len(order) == 0 || l.narrow():
	case same:
		word, more = word+",", "all the same"
	case variants > 1:
		word, more = word+",", fmt.Sprintf("%d variants", variants)
	}
	v := verbs[part[0].Action]
	l.props(w, l.row(v, groupName(part), groupRange(part), word, more), all, "")
	for _, n := range part[0].Notes {
		l.write(w, "      "+l.paint(dim, clean(n)), 8)
	}
}

// blocked writes what cannot be planned for one cause as one: the cause, what can be done, and the addresses.
func (l layout) blocked(w io.Writer, part []*engine.Planned) {
	cause := engine.Cause{Error: part[0].Problem, Hint: part[0].Hint}
	for _, c := range l.plan.Causes {
		if c.ID == part[0].Cause {
			cause = c
		}
	}
	for _, line := range l.row(verbs[engine.Blocked], groupName(part), groupRange(part), "blocked", "") {
		l.write(w, line, 6)
	}
	l.problem(w, cause.Error, cause.Hint)
	all := make([]string, len(part))
	for i, a := range part {
		all[i] = clean(a.Address)
	}
	for line := range strings.SplitSeq(l.addresses(all, 6), "\n") {
		l.write(w, "      "+l.paint(dim, line), 6)
	}
}

// variants is a path of resources that are alike: the value, or how many resources have each of a few values. It returns also how
// many values there are.
func (l layout) variants(part []*engine.Planned, reasons []engine.Reason, width int) (string, int) {
	var values []string
	having := map[string][]string{}
	for i, r := range reasons {
		value := l.reason(*part[i], r, width).value
		if having[value] == nil {
			values = append(values, value)
		}
		having[value] = append(having[value], part[i].Address)
	}
	if len(values) == 1 {
		return values[0], 1
	}
	if len(values) > mostVariants {
		return fmt.Sprintf("%d different values, the first %s", len(values), values[0]), len(values)
	}
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(len(having[b]), len(having[a])) })
	shown := make([]string, len(values))
	for i, value := range values {
		who := having[value]
		count := fmt.Sprint(len(who))
		if len(who) <= mostNamed {
			count += ": " + strings.Join(who, ", ")
		}
		shown[i] = fmt.Sprintf("%s (%s)", value, count)
	}
	return strings.Join(shown, ", "), len(values)
}
