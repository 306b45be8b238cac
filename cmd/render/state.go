package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// Rows writes a line for each generation of each row. On a terminal the line also says when athanor last changed the object, seen from
// now, and whether its kind holds users' data, and the last one counts the resources; elsewhere lines have columns alone, for programs
// that read them.
func (s Style) Rows(w io.Writer, rows []engine.RowView, now time.Time, holdsData func(kind string) bool) {
	rows = cleaned(rows)
	addresses, kinds, ages := 0, 0, 0
	age := func(g engine.GenerationView) string {
		if s.Width == 0 || g.Written.IsZero() {
			return ""
		}
		return statestore.Ago(now.Sub(g.Written)) + " ago"
	}
	for _, r := range rows {
		addresses = max(addresses, columns(r.Address))
		for _, g := range r.Generations {
			kinds, ages = max(kinds, columns(g.Kind)), max(ages, columns(age(g)))
		}
	}
	tail := func(g engine.GenerationView, ages int) string {
		tail := ""
		if g.State != statestore.Live && g.State != "" {
			tail = "  (" + string(g.State) + ")"
		}
		if age := age(g); age != "" {
			tail += "  " + strings.Repeat(" ", max(0, ages-columns(age))) + s.paint(dim, age)
		}
		if s.Width > 0 && holdsData(g.Kind) {
			tail += "  holds data"
		}
		return tail
	}
	right := func(g engine.GenerationView) string { return tail(g, ages) }
	widths := [3]int{addresses, kinds, s.identities(rows, addresses+kinds+4, right)}
	for _, r := range rows {
		for _, g := range r.Generations {
			s.listed(w, r.Address, g, widths, right(g), tail(g, 0))
		}
		if r.Problem != "" {
			s.write(w, pad(r.Address, addresses)+"  "+s.paint(red, "cannot be read: ")+r.Problem, rowHang)
		}
	}
	if s.Width > 0 && len(rows) > 0 {
		s.ends(w, "", counted(len(rows), "resource"))
	}
}

// rowHang is the indentation of what does not fit into the line of a resource.
const rowHang = 4

// identities is the width of the column of identities: that of the widest one beside which the tail of every line has room. A longer
// one pushes only its own tail to the right, or takes a line of its own.
func (s Style) identities(rows []engine.RowView, before int, tail func(engine.GenerationView) string) int {
	longest, most := 0, s.Width-before
	for _, r := range rows {
		for _, g := range r.Generations {
			if after := columns(tail(g)); before+columns(g.Identity)+after <= s.Width {
				most = min(most, s.Width-before-after)
			}
		}
	}
	for _, r := range rows {
		for _, g := range r.Generations {
			if n := columns(g.Identity); n <= most {
				longest = max(longest, n)
			}
		}
	}
	return longest
}

// listed writes the line of one generation, with a tail. Where the whole line does not fit, its kind and identity stand below the
// address and a short tail.
func (s Style) listed(w io.Writer, address string, g engine.GenerationView, widths [3]int, tail, short string) {
	line := pad(address, widths[0]) + "  " + pad(g.Kind, widths[1]) + "  " + g.Identity
	aligned := pad(line, widths[0]+widths[1]+widths[2]+4)
	if s.Width > 0 && tail != "" && columns(aligned+tail) <= s.Width {
		line = aligned
	}
	if line += tail; s.Width == 0 || columns(line) <= s.Width {
		s.write(w, strings.TrimRight(line, " "), rowHang)
		return
	}
	s.write(w, address+short, rowHang)
	if line = strings.Repeat(" ", rowHang) + strings.TrimSpace(g.Kind+"  "+g.Identity); columns(line) <= s.Width {
		s.write(w, line, rowHang)
		return
	}
	s.write(w, strings.Repeat(" ", rowHang)+g.Kind, rowHang)
	s.write(w, s.own(g.Identity, rowHang), rowHang)
}

// own is an identity on a line of its own, below its kind where it is whole there, else further left.
func (s Style) own(identity string, indent int) string {
	if indent+columns(identity) > s.Width {
		indent = rowHang
	}
	return strings.Repeat(" ", indent) + identity
}

// Row writes a row with all that it holds.
func (s Style) Row(w io.Writer, r engine.RowView) {
	r = cleaned(r)
	s.write(w, s.paint(bold, r.Address), rowHang)
	if r.Problem != "" {
		s.write(w, "  "+s.paint(red, "cannot be read: ")+r.Problem, rowHang)
	}
	for _, g := range r.Generations {
		head, begun := fmt.Sprintf("  generation %d, %s: %s", g.Number, g.State, g.Kind), ""
		if g.Intent {
			begun = " (its creation was begun)"
		}
		if line := strings.TrimRight(head+" "+g.Identity, " ") + begun; s.Width == 0 || columns(line) <= s.Width {
			s.write(w, line, rowHang)
		} else {
			s.write(w, head+begun, rowHang)
			s.write(w, s.own(g.Identity, rowHang), rowHang)
		}
		s.write(w, fmt.Sprintf("    location  %s", g.Place), rowHang+2)
		if !g.Written.IsZero() {
			s.write(w, "    written   "+g.Written.Local().Format(time.DateTime), rowHang+2)
		}
		s.values(w, "    attributes", g.Attrs)
	}
	s.values(w, "  props as last applied", r.Props)
	if len(r.Needs) > 0 {
		s.write(w, "  needs "+strings.Join(r.Needs, ", "), rowHang)
	}
}

// values writes a title and the values below it, aligned.
func (s Style) values(w io.Writer, title string, values map[string]any) {
	if len(values) == 0 {
		return
	}
	s.write(w, title, rowHang)
	names := slices.Sorted(maps.Keys(values))
	width, indent := 0, strings.Repeat(" ", len(title)-len(strings.TrimLeft(title, " "))+2)
	for _, n := range names {
		width = max(width, len(n))
	}
	s.Detailed = true
	for _, n := range names {
		s.write(w, indent+pad(clean(n), width)+"  "+s.Value(values[n]), len(indent)+2)
	}
}

// Outputs writes outputs, for people and for grep.
func (s Style) Outputs(w io.Writer, outputs map[string]any) {
	width := 0
	for name := range outputs {
		width = max(width, len(name))
	}
	s.Detailed = true
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		fmt.Fprintf(w, "%-*s = %s\n", width, clean(name), s.Value(outputs[name]))
	}
}

// Plain writes a value for shells: strings as they are, everything else as JSON.
func Plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(tree.Canonical(v))
}
