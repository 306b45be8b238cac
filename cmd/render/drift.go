package render

import (
	"fmt"
	"io"

	"github.com/athanor-dev/athanor/engine"
)

// left writes what a drift plan leaves to the next deploy.
func (s Style) left(w io.Writer, all []engine.Left) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, s.paint(dim, "Left to the next deploy:"))
	addresses, kinds := 0, 0
	for _, l := range all {
		addresses, kinds = max(addresses, runes(l.Address)), max(kinds, runes(l.Kind))
	}
	for _, l := range all {
		fmt.Fprintf(w, "  · %-*s  %s  %s\n", min(addresses, widest), l.Address, s.paint(dim, fmt.Sprintf("%-*s", min(kinds, widest), l.Kind)), clean(l.Why))
		a := engine.Planned{Action: engine.Update, Reasons: l.Reasons}
		paths := 0
		reasons := s.leaves(a)
		for _, r := range reasons {
			paths = max(paths, runes(string(r.Path)))
		}
		for _, r := range reasons {
			s.reason(w, a, r, min(paths, widest))
		}
	}
	fmt.Fprintln(w)
}
