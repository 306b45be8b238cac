package kindtest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// toldOnce makes the label something that only the answer to the creation tells.
func toldOnce(k *boxKind) {
	k.Once, k.Moves = []string{"label"}, nil
	k.Attrs = func(b box) Box { return Box{ID: b.ID} }
}

// TestToldOnce: a kind whose objects are of no use without their state is sound when they are replaced.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	k := newBoxKind()
	toldOnce(k)
	s := boxSuite(k)
	s.Unreadable = map[tree.Path]string{"label": "it is told once"}
	kindtest.Run(t, s)
}

// TestLostRecords checks that what a lost state costs is a failure of the check, unless the suite says why it is so.
func TestLostRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		spoil      func(k *boxKind)
		excuse     func(s *kindtest.Suite)
	}{
		{
			"an attribute that only the record tells", "attribute label differs", func(k *boxKind) {
				k.Moves = nil
				k.Observe = func(ctx context.Context, site boxSite) (box, error) {
					b, err := findBox(ctx, site)
					if site.Last != nil {
						b.remembered = site.Last.Label
					}
					return b, err
				}
				k.Create = func(ctx context.Context, site boxSite) (Box, error) {
					made, err := makeBox(ctx, site)
					made.Label = "as it was"
					return made, err
				}
				k.Attrs = func(b box) Box { return Box{ID: b.ID, Label: b.remembered} }
			}, func(s *kindtest.Suite) { s.Forgotten = map[string]string{"label": "nothing else tells it"} },
		},
		{
			"a prop that nobody can read", "made [shelf.Write]", func(k *boxKind) {
				k.Compare = func(d *boxDiff, want BoxProps, live box) {
					readable := want
					readable.Note = ""
					live.Note = ""
					compareBox(d, readable, live)
					reconcile.Written(d, "note", want.Note, op("Write", func(b *box) { b.Note = string(want.Note) }))
				}
			}, func(s *kindtest.Suite) { s.Rewritten = "nobody can read it" },
		},
		{
			"what was told once is made up", "without a record of [label]", func(k *boxKind) { k.Once = []string{"label"} }, nil,
		},
	} {
		for _, excused := range []bool{false, true} {
			k := newBoxKind()
			c.spoil(k)
			s := boxSuite(k)
			if excused {
				if c.excuse == nil {
					continue
				}
				c.excuse(&s)
			}
			said := strings.Join(failures(t, s)["three starts end equal"], "\n")
			if strings.Contains(said, c.says) == excused || excused && said != "" {
				t.Errorf("%s, excused %v: %q", c.name, excused, said)
			}
		}
	}
}
