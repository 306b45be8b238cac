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

// Rows writes a line for each generation of each row.
func Rows(w io.Writer, rows []engine.RowView) {
	rows = cleaned(rows)
	addresses, kinds := 0, 0
	for _, r := range rows {
		addresses = max(addresses, len(r.Address))
		for _, g := range r.Generations {
			kinds = max(kinds, len(g.Kind))
		}
	}
	for _, r := range rows {
		listRow(w, r, addresses, kinds)
	}
}

func listRow(w io.Writer, r engine.RowView, addresses, kinds int) {
	for _, g := range r.Generations {
		line := fmt.Sprintf("%-*s  %-*s  %s", addresses, r.Address, kinds, g.Kind, g.Identity)
		if g.State != statestore.Live && g.State != "" {
			line += "  (" + string(g.State) + ")"
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	if r.Problem != "" {
		fmt.Fprintf(w, "%-*s  cannot be read: %s\n", addresses, r.Address, r.Problem)
	}
}

// Row writes a row with all that it holds.
func (s Style) Row(w io.Writer, r engine.RowView) {
	r = cleaned(r)
	fmt.Fprintln(w, r.Address)
	if r.Problem != "" {
		fmt.Fprintln(w, "  cannot be read:", r.Problem)
	}
	for _, g := range r.Generations {
		head := fmt.Sprintf("  generation %d, %s: %s %s", g.Number, g.State, g.Kind, g.Identity)
		if g.Intent {
			head += " (its creation was begun)"
		}
		fmt.Fprintln(w, head)
		fmt.Fprintf(w, "    place    %s\n", g.Place)
		if !g.Written.IsZero() {
			fmt.Fprintf(w, "    written  %s\n", g.Written.Local().Format(time.RFC3339))
		}
		s.values(w, "    attributes", g.Attrs)
	}
	s.values(w, "  props as last applied", r.Props)
	if len(r.Needs) > 0 {
		fmt.Fprintln(w, "  needs", strings.Join(r.Needs, ", "))
	}
}

// values writes a title and the values below it, aligned.
func (s Style) values(w io.Writer, title string, values map[string]any) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	names := slices.Sorted(maps.Keys(values))
	width, indent := 0, strings.Repeat(" ", len(title)-len(strings.TrimLeft(title, " "))+2)
	for _, n := range names {
		width = max(width, len(n))
	}
	s.Detailed = true
	for _, n := range names {
		fmt.Fprintf(w, "%s%-*s  %s\n", indent, width, clean(n), s.Value(values[n]))
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
