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
	addresses, kinds, names := 0, 0, 0
	for _, r := range rows {
		addresses = max(addresses, columns(r.Address))
		for _, g := range r.Generations {
			kinds, names = max(kinds, columns(g.Kind)), max(names, columns(g.Identity))
		}
	}
	for _, r := range rows {
		for _, g := range r.Generations {
			tail := ""
			if s.Width > 0 && !g.Written.IsZero() {
				tail = "  " + s.paint(dim, statestore.Ago(now.Sub(g.Written))+" ago")
			}
			if s.Width > 0 && holdsData(g.Kind) {
				tail += "  holds data"
			}
			s.listed(w, r.Address, g, [3]int{addresses, kinds, names}, tail)
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

// listed writes the line of one generation, with a tail. Where the whole line does not fit, its kind and identity stand below the address.
func (s Style) listed(w io.Writer, address string, g engine.GenerationView, widths [3]int, tail string) {
	if g.State != statestore.Live && g.State != "" {
		tail = "  (" + string(g.State) + ")" + tail
	}
	line := pad(address, widths[0]) + "  " + pad(g.Kind, widths[1]) + "  " + g.Identity
	aligned := pad(line, widths[0]+widths[1]+widths[2]+4)
	if s.Width > 0 && tail != "" && columns(aligned+tail) <= s.Width {
		line = aligned
	}
	if line += tail; s.Width == 0 || columns(line) <= s.Width {
		s.write(w, strings.TrimRight(line, " "), rowHang)
		return
	}
	s.write(w, address+tail, rowHang)
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
