package kindtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// matrixCheck is the name of the drift matrix among the checks.
const matrixCheck = "every leaf that somebody changes is seen and repaired"

// rated is a witness that keeps what is logged as well.
type rated struct {
	*witness
	logged []string
}

func (r *rated) Logf(format string, args ...any) {
	r.logged = append(r.logged, fmt.Sprintf(format, args...))
}

// matrix runs the drift matrix alone: what it says, and what it logs.
func matrix(t *testing.T, s kindtest.Suite) (said, logged string) {
	t.Helper()
	r := &rated{}
	i := slices.IndexFunc(kindtest.Checks(), func(c kindtest.Check) bool { return c.Name == matrixCheck })
	synctest.Test(t, func(t *testing.T) {
		r.witness = &witness{T: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			kindtest.Checks()[i].Do(r, s)
		}()
		<-done
	})
	return strings.Join(r.said, "\n"), strings.Join(r.logged, "\n")
}

// Five leaves: each edited and, where that changes anything, deleted; one entry added to the tags, two aspects to a bare
// box; and the box itself.
func TestMatrixOfASoundKind(t *testing.T) {
	t.Parallel()
	said, logged := matrix(t, boxSuite(newBoxKind()))
	if said != "" || logged != "drift matrix of shelf.Box: 5 leaves, 14 cells, 14 seen and repaired: 100.0 %" {
		t.Errorf("%s\n%s", said, logged)
	}
}

// TestMatrixCatches: a kind that misses one leaf, in one direction even, and a suite that leaves one out.
func TestMatrixCatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, says string
		spoil      func(k *boxKind, s *kindtest.Suite)
	}{
		{"a leaf that is not compared", "edit size of other: not seen", func(k *boxKind, _ *kindtest.Suite) {
			changeProps(k, func(want *BoxProps, live box) { want.Size = &live.Size })
		}},
		{"one that is not compared when unset", "add wood of base: not seen", func(k *boxKind, _ *kindtest.Suite) {
			changeProps(k, func(want *BoxProps, live box) {
				if want.Wood == "" {
					want.Wood = live.Wood
				}
			})
		}},
		{"one whose loss is not seen", "delete note of base: not seen", func(k *boxKind, _ *kindtest.Suite) {
			changeProps(k, func(want *BoxProps, live box) {
				if live.Note == "" {
					want.Note = ""
				}
			})
		}},
		{"entries of others", `add tags.by-hand of base: not seen`, func(k *boxKind, _ *kindtest.Suite) {
			changeProps(k, func(want *BoxProps, live box) {
				if v, ok := live.Tags["by-hand"]; ok {
					want.Tags = maps.Clone(want.Tags)
					want.Tags["by-hand"] = v
				}
			})
		}},
		{"seen elsewhere", "edit color of base: seen at paint", func(k *boxKind, _ *kindtest.Suite) {
			alsoCompare(k, func(d *boxDiff, want BoxProps, live box) {
				reconcile.Value(d, "paint", want.Color, live.Color, op("Paint", func(b *box) { b.Color = want.Color }))
			})
		}},
		{"repaired to something else", "edit color of base: repaired to", func(k *boxKind, _ *kindtest.Suite) {
			alsoCompare(k, func(d *boxDiff, want BoxProps, live box) {
				reconcile.Value(d, "color", want.Color, live.Color, op("Paint", func(b *box) { b.Dust++ }))
			})
		}},
		{"a vanished thing that is shown", "the look does not say absent", func(k *boxKind, _ *kindtest.Suite) {
			k.Observe = func(ctx context.Context, site boxSite) (box, error) {
				b, err := findBox(ctx, site)
				if err != nil && site.Last != nil {
					return box{ID: site.Last.ID, Color: "red", Size: 3}, nil
				}
				return b, err
			}
		}},
		{"a leaf without a hand", "nobody can change size in the world", func(_ *boxKind, s *kindtest.Suite) { delete(s.Hands, "size") }},
		{"a reason that is none", "nobody can change size in the world", func(_ *boxKind, s *kindtest.Suite) {
			delete(s.Hands, "size")
			s.Steady = map[tree.Path]string{"size": ""}
		}},
		{"a hand that does nothing", "edit size of other: the hand changed nothing", func(_ *boxKind, s *kindtest.Suite) {
			s.Hands["size"] = func(kindtest.T, kindtest.World, kindtest.Edited) {}
		}},
		{"nothing deletes it", `give a hand for ""`, func(_ *boxKind, s *kindtest.Suite) { delete(s.Hands, "") }},
		{"a leaf that no variant sets", "wood cannot be changed", func(_ *boxKind, s *kindtest.Suite) {
			s.Variants = slices.DeleteFunc(s.Variants, func(v kindtest.Variant) bool { return v.Name == "oak" })
		}},
		{"a map that is said to be open", "tags: what others add is to be left alone", func(_ *boxKind, s *kindtest.Suite) {
			s.Open = map[tree.Path]string{"tags": "it is not"}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newBoxKind()
			s := boxSuite(k)
			test.spoil(k, &s)
			said, logged := matrix(t, s)
			if !strings.Contains(said, test.says) {
				t.Errorf("it does not say %q but\n%s\n%s", test.says, said, logged)
			}
			if said != "" && logged != "" && strings.Contains(logged, "100.0 %") && !strings.Contains(said, "nobody") && !strings.Contains(said, "left alone") {
				t.Errorf("it says %s\nand rates it\n%s", said, logged)
			}
		})
	}
}
