package kindtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// LooseProps break the rules for props.
type LooseProps struct {
	Color string
	// Size is plain. Default: 3.
	Size int
	// Never is set by nobody. Default: none.
	Never string
}

// LooseAttrs break the rules for attributes.
type LooseAttrs struct {
	ID string
	// Count is of a type that holds no reference.
	Count int
}

const looseSource = `package loose

type LooseProps struct {
	Color string
	// Size is plain. Default: 3.
	Size int
	// Never is set by nobody. Default: none.
	Never string
}

type LooseAttrs struct {
	ID string
	// Count is of a type that holds no reference.
	Count int
}
`

func looseSuite() kindtest.Suite {
	kind := &reconciletest.Kind[LooseProps, LooseProps, LooseAttrs]{
		Type: "loose.Thing",
		Doc:  "A thing.",
		Observe: func(context.Context, reconciletest.Site[LooseProps, LooseAttrs]) (LooseProps, error) {
			return LooseProps{}, reconcile.ErrAbsent
		},
		Create: func(context.Context, reconciletest.Site[LooseProps, LooseAttrs]) (LooseAttrs, error) {
			return LooseAttrs{ID: "x"}, nil
		},
		Compare:  func(*reconcile.Diff[LooseProps], LooseProps, LooseProps) {},
		Attrs:    func(LooseProps) LooseAttrs { return LooseAttrs{ID: "x"} },
		Delete:   func(context.Context, reconciletest.Site[LooseProps, LooseAttrs]) error { return nil },
		Identity: func(a LooseAttrs) string { return a.ID },
		Recorded: true,
		Source:   fstest.MapFS{"loose.go": {Data: []byte(looseSource)}},
	}
	return kindtest.Suite{
		Kind:  reconciletest.Erase(kind),
		World: func(kindtest.T) kindtest.World { return kindtest.World{Cloud: &shelf{}} },
		Base:  map[string]any{"color": "red", "size": int64(1)},
	}
}

func TestFlawsOfPropsAreCaught(t *testing.T) {
	t.Parallel()
	all := failures(t, looseSuite())
	for check, says := range map[string][]string{
		"definition is whole and documented": {
			"prop color has no documentation", "attribute id has no documentation", "prop never is set neither", "attributes cannot be referred to",
		},
		"plain fields default to zero": {"prop size", "make it a pointer"},
	} {
		for _, text := range says {
			if said := strings.Join(all[check], "\n"); !strings.Contains(said, text) {
				t.Errorf("check %q does not say %q but %q", check, text, said)
			}
		}
	}
}

// A tree that names what no field takes is refused before anything else.
func TestUnknownPropIsCaught(t *testing.T) {
	t.Parallel()
	s := looseSuite()
	s.Base["colour"] = "red"
	if said := failures(t, s)["props survive Go and trees"]; len(said) == 0 {
		t.Error("a prop that no field takes passes")
	}
}
