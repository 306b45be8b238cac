package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// standings holds the word and the colour of each answer to the question whose an object is.
var standings = map[engine.Standing]struct {
	sign  string
	color color
}{
	engine.StandingOurs:      {"=", cyan},
	engine.StandingAdoptable: {"<", green},
	engine.StandingForeign:   {"!", yellow},
	engine.StandingRetained:  {"×", dim},
}

// thingHang is the indentation of what does not fit into the line of an object: that of its kind.
const thingHang = 15

// Things writes what a scan found, a line each.
func (s Style) Things(w io.Writer, things []engine.Thing) {
	things = cleaned(things)
	kinds, identities := 0, 0
	for _, t := range things {
		kinds, identities = max(kinds, runes(t.Kind)), max(identities, runes(t.Identity))
	}
	for _, t := range things {
		look := standings[t.Standing]
		line := fmt.Sprintf("  %s %s  %-*s  %-*s", s.paint(look.color, look.sign), s.paint(look.color, fmt.Sprintf("%-9s", t.Standing)),
			min(kinds, widest), t.Kind, min(identities, 2*widest), clean(t.Identity))
		about := s.paint(dim, clean(aboutThing(t)))
		if s.Width == 0 || columns(line+"  "+about) <= s.Width {
			s.write(w, strings.TrimRight(line+"  "+about, " "), thingHang)
			continue
		}
		if line = strings.TrimRight(line, " "); columns(line) > s.Width {
			before := strings.TrimRight(strings.TrimSuffix(line, clean(t.Identity)), " ")
			s.write(w, before, thingHang)
			line = s.own(clean(t.Identity), thingHang)
		}
		s.write(w, line, rowHang)
		s.write(w, strings.Repeat(" ", thingHang)+about, thingHang)
	}
}

// aboutThing returns what a reader must know about an object in addition to its owner.
func aboutThing(t engine.Thing) string {
	switch {
	case t.OtherStore && t.Declared:
		return t.Address + ", tagged by another state store; the next deploy adopts it"
	case t.OtherStore:
		return t.Address + ", tagged by another state store"
	case t.Standing == engine.StandingForeign && t.Owner != nil:
		return fmt.Sprintf("belongs to %s of %s/%s", t.Owner.Address, t.Owner.Stack, t.Owner.Stage)
	case t.Standing == engine.StandingRetained:
		return fmt.Sprintf("was retained by %s of %s/%s", t.Owner.Address, t.Owner.Stack, t.Owner.Stage)
	case t.Declared && t.Standing == engine.StandingOurs:
		return t.Address + ", which the next deploy adopts"
	case t.Declared:
		return t.Address + ", with deploy --adopt"
	default:
		return t.Address
	}
}
