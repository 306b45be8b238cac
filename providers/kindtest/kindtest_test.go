package kindtest_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

// witness stands in for testing.T and keeps what a check says.
type witness struct {
	*testing.T
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *witness) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}

// failures runs all checks and gives what each said.
func failures(t *testing.T, s kindtest.Suite) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, c := range kindtest.Checks() {
		w, done := &witness{T: t}, make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					w.Errorf("panic: %v", p)
				}
			}()
			c.Do(w, s)
		}()
		<-done
		if len(w.said) > 0 {
			all[c.Name] = w.said
		}
	}
	return all
}

func TestSoundKindPasses(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, boxSuite(newBoxKind()))
	t.Run("sampled", func(t *testing.T) { kindtest.Run(t, sampled(boxSuite(newBoxKind()))) })
}

// sampled is a suite whose worlds are to be sampled.
func sampled(s kindtest.Suite) kindtest.Suite {
	whole := s.World
	s.World = func(t kindtest.T) kindtest.World {
		w := whole(t)
		w.Sampled = true
		return w
	}
	return s
}

// alsoCompare gives a kind a comparison that does more.
func alsoCompare(k *boxKind, more func(d *boxDiff, want BoxProps, live box)) {
	compare := k.Compare
	k.Compare = func(d *boxDiff, want BoxProps, live box) {
		compare(d, want, live)
		more(d, want, live)
	}
}

// changeProps gives a kind a comparison that sees other props.
func changeProps(k *boxKind, change func(want *BoxProps, live box)) {
	compare := k.Compare
	k.Compare = func(d *boxDiff, want BoxProps, live box) {
		change(&want, live)
		compare(d, want, live)
	}
}

// flaws are kinds of box that each break one rule: the check that must notice, and a part of what it says.
var flaws = []struct {
	name, check, says string
	spoil             func(k *boxKind)
}{
	{"compare forgets a prop", "there and back", "in a fresh one", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, live box) { want.Color = live.Color })
	}},
	{"compare forgets a prop, alone", "a prop alone", "no difference shows", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, live box) { want.Color = live.Color })
	}},
	{"drift is not seen", "drift is seen", "edit of color: not seen", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, live box) { want.Color = live.Color })
	}},
	{"never untags", "unset means the default", "tags", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, live box) {
			if want.Tags == nil {
				want.Tags = ownTags(live.Tags)
			}
		})
	}},
	{"default not restored", "unset means the default", "size unset again", func(k *boxKind) {
		k.Defaults = nil
		create := k.Create
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			if site.Want.Size == nil {
				site.Want.Size = new(3)
			}
			return create(ctx, site)
		}
		changeProps(k, func(want *BoxProps, live box) {
			if want.Size == nil {
				want.Size = &live.Size
			}
		})
	}},
	{"denied read counts as absent", "a failed read", "the look says absent", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			b, err := findBox(ctx, site)
			if err != nil {
				err = reconcile.ErrAbsent
			}
			return b, err
		}
	}},
	{"a read error is made up anew", "a failed read", "loses the service's own", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			b, err := findBox(ctx, site)
			if err != nil && err != reconcile.ErrAbsent {
				err = fmt.Errorf("cannot read: %v", err)
			}
			return b, err
		}
	}},
	{"delete is not forgiving", "deleting twice", "deleting again", func(k *boxKind) {
		k.Delete = func(ctx context.Context, site boxSite) error {
			if shelfOf(site.Cloud).boxes[site.Last.ID] == nil {
				return errNoBox
			}
			return dropBox(ctx, site)
		}
	}},
	{"delete does nothing", "deleting twice", "1 objects, want 0", func(k *boxKind) {
		k.Delete = func(context.Context, boxSite) error { return nil }
	}},
	{"a lost answer makes a second one", "a crash at any call", "2 objects, want 1", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			if site.Last == nil {
				return box{}, reconcile.ErrAbsent
			}
			return findBox(ctx, site)
		}
	}},
	{"a lost record makes a second one", "three starts", "2 objects, want 1", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			if site.Last == nil {
				return box{}, reconcile.ErrAbsent
			}
			return findBox(ctx, site)
		}
	}},
	{"the mark is written after the creation", "a crash at any call", "2 objects, want 1", func(k *boxKind) {
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			mark := site.Owner
			site.Owner = reconcile.Mark{}
			made, err := makeBox(ctx, site)
			if err != nil {
				return made, err
			}
			return made, through(ctx, "Tag", true, func() error {
				b := shelfOf(site.Cloud).boxes[made.ID]
				maps.Copy(b.Tags, adopt.Tags(mark))
				return nil
			})
		}
	}},
	{"a change is not taken up where it was cut", "a crash at any call", "crash after call", func(k *boxKind) {
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			made, err := makeBox(ctx, site)
			if err == nil {
				shelfOf(site.Cloud).boxes[made.ID].Dust = len(site.Want.Color)
			}
			return made, err
		}
		changeProps(k, func(want *BoxProps, live box) { want.Color = live.Color })
		alsoCompare(k, func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "color", want.Color, live.Color, &reconcile.Operation[box]{Name: "Paint", Do: func(ctx context.Context, on boxOn) error {
				if err := op("Paint", func(b *box) { b.Color = want.Color }).Do(ctx, on); err != nil {
					return err
				}
				return op("Paint", func(b *box) { b.Dust = len(want.Color) }).Do(ctx, on) // nobody compares it
			}})
		})
	}},
	{"creation answers no identity", "three starts", "creation answers identity", func(k *boxKind) {
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			_, err := makeBox(ctx, site)
			return Box{}, err
		}
	}},
	{"creation answers what is not so", "three starts", "attribute label is in AtBirth", func(k *boxKind) {
		k.AtBirth = []string{"id", "label"}
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			made, err := makeBox(ctx, site)
			made.Label = "a new box"
			return made, err
		}
	}},
	{"what is there cannot be declared", "a thing can be written down", "cannot be read back: size", func(k *boxKind) {
		compare := k.Compare
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			size := want.Size
			want.Size = &live.Size
			compare(d, want, live)
			inWords := func(n int) string { return fmt.Sprintf("%d cm", n) }
			reconcile.Value(d, "size", inWords(*size), inWords(live.Size), op("Resize", func(b *box) { b.Size = *size }))
		}
	}},
	{"a look writes", "a look writes nothing", "a write while looking", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			err := through(ctx, "Paint", true, func() error { return nil })
			if err != nil {
				return box{}, err
			}
			return findBox(ctx, site)
		}
	}},
	{"a look writes behind the gate", "a look writes nothing", "a look changed the world", func(k *boxKind) {
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			for _, b := range shelfOf(site.Cloud).boxes {
				b.Dust++
			}
			return findBox(ctx, site)
		}
	}},
	{"a write passes no gate", "a look writes nothing", "no mutating call passed", func(k *boxKind) {
		k.Create = func(_ context.Context, site boxSite) (Box, error) { return makeBox(context.Background(), site) }
	}},
	{"an update changes the identity", "there and back", "an update changed the identity", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			unchanged := want
			unchanged.Color = live.Color
			compareBox(d, unchanged, live)
			reconcile.Value(d, "color", want.Color, live.Color, &reconcile.Operation[box]{Name: "Paint", Do: func(ctx context.Context, on boxOn) error {
				return through(ctx, "Paint", true, func() error {
					s := shelfOf(on.Cloud)
					b := s.boxes[live.ID]
					delete(s.boxes, b.ID)
					b.ID += "-again"
					b.Color = want.Color
					s.boxes[b.ID] = b
					return nil
				})
			}})
		}
		k.Observe = func(ctx context.Context, site boxSite) (box, error) {
			site.ID = ""
			return findBox(ctx, site)
		}
	}},
	{"an update changes an attribute that does not move", "there and back", "which is not in Moves", func(k *boxKind) {
		k.Moves = nil
	}},
	{"a token makes it panic", "unknown props", "panic", func(k *boxKind) {
		alsoCompare(k, func(_ *boxDiff, want BoxProps, _ box) {
			if strings.Contains(want.Color, "upstream") {
				_ = want.Color[len(want.Color)+len(want.Wood)]
			}
		})
	}},
	{"a token is damaged", "unknown props", "damaged", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, _ box) {
			if want.Color != "red" && want.Color != "blue" && want.Color != "" {
				want.Color = shout(want.Color)
			}
		})
	}},
	{"an unknown claims a known difference", "unknown props", "is claimed at size", func(k *boxKind) {
		changeProps(k, func(want *BoxProps, _ box) { want.Size = new(*want.Size + len(want.Color)/20) })
	}},
	{"check refuses tokens", "unknown props", "no such color", func(k *boxKind) {
		k.Check = func(p BoxProps) error {
			if strings.Contains(p.Color, "upstream") {
				return fmt.Errorf("no such color")
			}
			return nil
		}
	}},
	{"a secret leaks into a difference", "secrets are masked", "readable in a difference", func(k *boxKind) {
		alsoCompare(k, func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "seal", string(want.Note), live.Note, op("Write", func(*box) {}))
		})
	}},
	{"a secret leaks into an attribute", "secrets are masked", "readable in attributes", func(k *boxKind) {
		k.Attrs = func(b box) Box { return Box{ID: b.ID, Label: b.Note} }
		k.Create = func(ctx context.Context, site boxSite) (Box, error) {
			made, err := makeBox(ctx, site)
			made.Label = string(site.Want.Note)
			return made, err
		}
	}},
	{"a secret leaks into an error", "secrets are masked", "readable in an error", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "note", string(want.Note), live.Note, &reconcile.Operation[box]{Name: "Write", Do: func(ctx context.Context, on boxOn) error {
				err := op("Write", func(b *box) { b.Note = string(want.Note) }).Do(ctx, on)
				if err != nil {
					err = fmt.Errorf("write %s: %w", want.Note, err)
				}
				return err
			}})
		}
	}},
	{"the kind has no documentation", "definition is whole", "no Doc", func(k *boxKind) { k.Doc = "" }},
	{"Moves names nothing", "definition is whole", "which is no attribute", func(k *boxKind) { k.Moves = []string{"label", "lid"} }},
	{"an undocumented replacement", "a prop alone", "does not say so", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			reconcile.Fixed(d, "color", want.Color, live.Color)
			changed := want
			changed.Color = live.Color
			compareBox(d, changed, live)
		}
	}},
	{"a documented replacement that is none", "a prop alone", "documented to replace, and does not", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "wood", want.Wood, live.Wood, op("Paint", func(b *box) { b.Wood = want.Wood }))
			changed := want
			changed.Wood = live.Wood
			compareBox(d, changed, live)
		}
	}},
	{"a difference shows at the wrong path", "drift is seen", "edit of color: seen at colour", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "colour", want.Color, live.Color, op("Paint", func(b *box) { b.Color = want.Color }))
			changed := want
			changed.Color = live.Color
			compareBox(d, changed, live)
		}
	}},
	{"a call changes a further path in silence", "drift is seen", "no plan would announce", func(k *boxKind) {
		k.Compare = func(d *boxDiff, want BoxProps, live box) {
			reconcile.Value(d, "color", want.Color, live.Color, op("Paint", func(b *box) { b.Color, b.Size = want.Color, 7 }))
			changed := want
			changed.Color = live.Color
			compareBox(d, changed, live)
		}
	}},
	{"never settles", "a look writes nothing", "does not become as declared", func(k *boxKind) {
		alsoCompare(k, func(d *boxDiff, want BoxProps, _ box) {
			reconcile.Value(d, "size", 0, 1, op("Resize", func(*box) {}))
		})
	}},
	{"the listing forgets", "bulk reads and listings", "the listing does not show", func(k *boxKind) {
		k.List = func(context.Context, reconcile.Scope) ([]reconcile.Found, error) { return nil, nil }
	}},
	{"the bulk read disagrees", "bulk reads and listings", "a bulk look shows", func(k *boxKind) {
		k.ObserveMany = func(_ context.Context, sites []boxSite) ([]reconcile.Observed[box], error) {
			return slices.Repeat([]reconcile.Observed[box]{{Live: box{ID: "other"}}}, len(sites)), nil
		}
	}},
	{"a call is not documented", "calls are documented", "shelf.Resize is not in Calls", func(k *boxKind) {
		k.Calls = slices.DeleteFunc(k.Calls, func(c string) bool { return c == "shelf.Resize" })
	}},
}

// TestFlawsAreCaught: each flaw is found by its check, in a world that is sampled too.
func TestFlawsAreCaught(t *testing.T) {
	t.Parallel()
	for _, f := range flaws {
		for of, part := range map[string]func(kindtest.Suite) kindtest.Suite{"": func(s kindtest.Suite) kindtest.Suite { return s }, ", sampled": sampled} {
			t.Run(f.name+of, func(t *testing.T) {
				t.Parallel()
				k := newBoxKind()
				f.spoil(k)
				var all map[string][]string
				// A kind that never becomes as declared waits in no time.
				synctest.Test(t, func(t *testing.T) { all = failures(t, part(boxSuite(k).Shared())) })
				for check, said := range all {
					if strings.HasPrefix(check, f.check) && strings.Contains(strings.Join(said, "\n"), f.says) {
						return
					}
				}
				t.Errorf("check %q does not say %q; the suite says %v", f.check, f.says, all)
			})
		}
	}
}
