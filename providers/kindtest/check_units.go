package kindtest

import (
	"regexp"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// wholeUnits is how a comment says the unit of a duration, and units are those words.
var (
	wholeUnits = regexp.MustCompile(`\b[Ww]hole\s+(milliseconds|seconds|minutes|hours|days)\b`)
	units      = map[string]time.Duration{
		"milliseconds": time.Millisecond, "seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour,
	}
)

// checkUnits holds each duration to its comment, which a person wrote: what it says is given in whole units is refused with half a
// unit more, and what is refused so says it. A codec writes its own unit, so that no golden body shows that of the tag.
func checkUnits(t T, s Suite) {
	t.Helper()
	var visit func(fields []props.Field)
	visit = func(fields []props.Field) {
		t.Helper()
		for _, f := range fields {
			if f.Type == "duration" {
				s.checkUnit(t, f)
			}
			visit(f.Fields)
		}
	}
	visit(s.fields(t))
}

func (s Suite) checkUnit(t T, f props.Field) {
	t.Helper()
	said, unit := wholeUnits.FindStringSubmatch(f.Doc), time.Second
	if said != nil {
		unit = units[said[1]]
	}
	for _, p := range s.places(leaf{path: f.Path, field: f}) {
		text, _ := p.value.(string)
		given, err := token.ParseDuration(text)
		if err != nil {
			continue // a reference
		}
		var refused string
		for _, d := range []time.Duration{given + unit/2, given - unit/2} { // one of them is within the limits
			declared, _ := tree.With(p.variant.Props, p.at, d.String()).(map[string]any)
			if err := s.Kind.Decode(&reconcile.Job{Props: declared}); err != nil && namesUnit(err.Error()) {
				refused = err.Error()
			}
		}
		switch {
		case said != nil && refused == "":
			t.Errorf("prop %s is documented in whole %s, and half a one more is taken", f.Path, said[1])
		case said == nil && refused != "":
			t.Errorf("prop %s is not documented in whole units, and is refused in others: %s. Its comment is to say so, as in: in whole hours", f.Path, refused)
		}
		return
	}
}

// namesUnit reports an error about what is not given in whole units.
func namesUnit(problem string) bool {
	return strings.Contains(problem, "whole ") || strings.Contains(problem, "a multiple of ")
}
