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
	s.write(w, s.paint(dim, "Left to the next deploy:"), 0)
	l := newLayout(s, &engine.Plan{})
	for _, line := range all {
		l.address, l.kind = max(l.address, columns(line.Address)), max(l.kind, columns(line.Kind))
	}
	l.address, l.kind = min(l.address, widestAddress), min(l.kind, widest)
	for _, line := range all {
		a := engine.Planned{Action: engine.Update, Reasons: line.Reasons}
		l.props(w, l.row(verb{sign: "·"}, line.Address, line.Kind, "", clean(line.Why)), l.reasons(a), "")
	}
	fmt.Fprintln(w)
}
