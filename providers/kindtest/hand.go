package kindtest

import (
	"regexp"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Hand changes an object in the world as somebody else would: with the cloud's own client or in the file system,
// never through the kind. It makes whatever lies at its path as to says, and leaves the rest alone.
type Hand func(t T, w World, to Edited)

// Edited is what a hand makes of an object.
type Edited struct {
	// Attrs are the object's attributes.
	Attrs map[string]any
	// Props are what one would declare of the object as it is to be.
	Props map[string]any
	// Value is what Props hold at the hand's path: nil when it is to have none, or, for the hand at "", when the
	// object is to be deleted.
	Value any
}

// Text is the value as the text that a declaration has; "" for none and for what is no text.
func (e Edited) Text() string {
	text, _ := e.Value.(string)
	return text
}

// leaf is one managed path of the props, with * for elements of lists and entries of maps.
type leaf struct {
	path  tree.Path
	field props.Field
	// hand is the path of the hand that writes it.
	hand tree.Path
	// entry: it is the entries of a map.
	entry bool
}

// notManaged is how documentation says that a prop's drift is not seen.
var notManaged = regexp.MustCompile(`(?i)\b(not managed|write-only)\b`)

// leaves are all managed paths, found in the type of the props. One without a hand is a failure, unless nobody can
// change it, for the reason that Steady gives, or its documentation says that it is not managed.
func (s Suite) leaves(t T) []leaf {
	t.Helper()
	var all []leaf
	var visit func(fields []props.Field, excused bool)
	visit = func(fields []props.Field, excused bool) {
		for _, f := range fields {
			excused := excused || notManaged.MatchString(f.Doc)
			if len(f.Fields) > 0 {
				visit(f.Fields, excused)
				continue
			}
			l := leaf{path: f.Path, field: f}
			if l.entry = len(f.Type) > 3 && f.Type[:4] == "map "; l.entry {
				l.path = f.Path.Any()
			}
			switch hand, ok := s.handOf(l.path); {
			case ok && (hand == l.path || !excused && !s.excused(l.path)):
				l.hand = hand
				all = append(all, l)
			case !excused && !s.excused(l.path):
				t.Errorf("nobody can change %s in the world: give a hand for it, or say in Steady why it cannot drift", l.path)
			}
		}
	}
	visit(s.fields(t), false)
	return all
}

// handOf is the hand nearest to a path.
func (s Suite) handOf(p tree.Path) (at tree.Path, ok bool) {
	for hand := range s.Hands {
		if hand != "" && p.Within(hand) && (!ok || len(hand) > len(at)) {
			at, ok = hand, true
		}
	}
	return at, ok
}

// excused reports that Steady says why a path needs no hand.
func (s Suite) excused(p tree.Path) bool {
	for at, why := range s.Steady {
		if p.Within(at) && why != "" {
			return true
		}
	}
	return false
}
