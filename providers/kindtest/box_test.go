package kindtest_test

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed box_test.go
var boxText []byte

// boxSource has this file under a name that is not a test's: documentation is read from sources alone.
func boxSource() fs.FS { return fstest.MapFS{"box.go": {Data: boxText}} }

// BoxProps declare a box on a shelf.
type BoxProps struct {
	// Color is its paint. Default: none.
	Color string
	// Size is its edge in cm. Default: 3.
	Size *int
	// Wood is what it is made of. Changing it replaces the box. Default: none.
	Wood string
	// Tags are stuck on it. Default: none.
	Tags map[string]string
	// Note lies in it. Default: none.
	Note token.Secret
}

// Box is what others refer to.
type Box struct {
	// ID is given by the shelf.
	ID string
	// Label says what color it has.
	Label string
}

// box is a box in the world.
type box struct {
	ID, Color, Wood, Note string
	Size                  int
	Dust                  int    // nobody manages it
	remembered            string // from the record
	Tags                  map[string]string
}

var (
	errDenied    = errors.New("denied")
	errThrottled = errors.New("throttled")
	errTransient = errors.New("transient")
	errNoBox     = errors.New("no such box")
)

// shelf is a world of boxes: ids are given by it.
type shelf struct {
	boxes map[string]*box
	made  int
}

func (*shelf) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "shelf"}, nil
}

func (*shelf) Classify(err error) reconcile.Class {
	switch {
	case errors.Is(err, errDenied):
		return reconcile.Denied
	case errors.Is(err, errThrottled):
		return reconcile.Throttled
	case errors.Is(err, errTransient):
		return reconcile.Transient
	}
	return reconcile.Unknown
}

func shelfOf(c reconcile.Cloud) *shelf { return c.(*shelf) }

func through(ctx context.Context, operation string, mutates bool, do func() error) error {
	call := reconcile.Call{Service: "shelf", Operation: operation, Mutates: mutates}
	return reconcile.Through(ctx, call, func(context.Context) error { return do() })
}

type (
	boxSite = reconciletest.Site[BoxProps, Box]
	boxKind = reconciletest.Kind[BoxProps, box, Box]
	boxDiff = reconcile.Diff[box]
	boxOn   = reconcile.Update[box]
)

// newBoxKind is a kind that keeps all rules.
func newBoxKind() *boxKind {
	return &boxKind{
		Type: "shelf.Box", Doc: "A box on a shelf.",
		Observe: findBox, Create: makeBox, Compare: compareBox, Delete: dropBox,
		Attrs:    func(b box) Box { return Box{ID: b.ID, Label: "a " + b.Color + " box"} },
		Identity: func(b Box) string { return b.ID },
		Defaults: func(p BoxProps) BoxProps {
			if p.Size == nil {
				p.Size = new(3)
			}
			return p
		},
		Owner: func(b box) reconcile.Mark { return adopt.MarkOf(b.Tags) },
		List: func(ctx context.Context, scope reconcile.Scope) (found []reconcile.Found, err error) {
			err = through(ctx, "List", false, func() error {
				for _, b := range shelfOf(scope.Cloud).boxes {
					if m := adopt.MarkOf(b.Tags); scope.Mark.Stack == "" || m.Stack == scope.Mark.Stack {
						found = append(found, reconcile.Found{Identity: b.ID, Mark: &m})
					}
				}
				return nil
			})
			return found, err
		},
		Moves:  []string{"label"},
		Source: boxSource(),
		Calls:  []string{"shelf.List", "shelf.Get", "shelf.Make", "shelf.Paint", "shelf.Resize", "shelf.Tag", "shelf.Write", "shelf.Drop"},
	}
}

// findBox finds by identity, else by owner tag.
func findBox(ctx context.Context, site boxSite) (b box, err error) {
	s := shelfOf(site.Cloud)
	id := site.ID
	if id == "" {
		err = through(ctx, "List", false, func() error {
			for _, b := range s.boxes {
				if adopt.MarkOf(b.Tags) == site.Owner {
					id = b.ID
				}
			}
			return nil
		})
		if err != nil || id == "" {
			return b, cmp.Or(err, reconcile.ErrAbsent)
		}
	}
	err = through(ctx, "Get", false, func() error {
		have, ok := s.boxes[id]
		if !ok {
			return reconcile.ErrAbsent
		}
		b = *have
		b.Tags = maps.Clone(have.Tags)
		return nil
	})
	return b, err
}

func makeBox(ctx context.Context, site boxSite) (Box, error) {
	s, p := shelfOf(site.Cloud), site.Want
	b := &box{Color: p.Color, Wood: p.Wood, Note: string(p.Note), Size: *p.Size, Tags: maps.Clone(p.Tags)}
	if b.Tags == nil {
		b.Tags = map[string]string{}
	}
	maps.Copy(b.Tags, adopt.Tags(site.Owner))
	err := through(ctx, "Make", true, func() error {
		s.made++
		b.ID = fmt.Sprintf("box-%d", s.made)
		s.boxes[b.ID] = b
		return nil
	})
	return Box{ID: b.ID, Label: "a " + b.Color + " box"}, err
}

// op is one call on a box.
func op(name string, change func(b *box)) *reconcile.Operation[box] {
	return &reconcile.Operation[box]{Name: name, Do: func(ctx context.Context, on boxOn) error {
		return through(ctx, name, true, func() error {
			change(shelfOf(on.Cloud).boxes[on.Live.ID])
			return nil
		})
	}}
}

func compareBox(d *boxDiff, want BoxProps, live box) {
	reconcile.Fixed(d, "wood", want.Wood, live.Wood)
	reconcile.Value(d, "color", want.Color, live.Color, op("Paint", func(b *box) { b.Color = want.Color }))
	reconcile.Value(d, "size", *want.Size, live.Size, op("Resize", func(b *box) { b.Size = *want.Size }))
	reconcile.Value(d, "note", string(want.Note), live.Note, op("Write", func(b *box) { b.Note = string(want.Note) }))
	reconcile.Map(d, "tags", want.Tags, ownTags(live.Tags), "Tag",
		func(ctx context.Context, on boxOn, put map[string]string, drop []string) error {
			return op("Tag", func(b *box) {
				maps.Copy(b.Tags, put)
				maps.DeleteFunc(b.Tags, func(k, _ string) bool { return slices.Contains(drop, k) })
			}).Do(ctx, on)
		})
}

// ownTags returns the tags that are no owner tag.
func ownTags(tags map[string]string) map[string]string {
	own := maps.Clone(tags)
	maps.DeleteFunc(own, func(k, _ string) bool { return adopt.IsMark(k) })
	return own
}

func dropBox(ctx context.Context, site boxSite) error {
	return through(ctx, "Drop", true, func() error {
		delete(shelfOf(site.Cloud).boxes, site.Last.ID)
		return nil
	})
}

// hand changes a box on the shelf.
func hand(change func(b *box, to kindtest.Edited)) kindtest.Hand {
	return func(_ kindtest.T, w kindtest.World, to kindtest.Edited) {
		change(shelfOf(w.Cloud).boxes[to.Attrs["id"].(string)], to)
	}
}

// boxSuite checks one kind of box.
func boxSuite(k *boxKind) kindtest.Suite {
	change := func(f func(b *box)) func(kindtest.T, kindtest.World, map[string]any) {
		return func(_ kindtest.T, w kindtest.World, attrs map[string]any) {
			f(shelfOf(w.Cloud).boxes[attrs["id"].(string)])
		}
	}
	return kindtest.Suite{
		Kind: reconciletest.Erase(k),
		World: func(kindtest.T) kindtest.World {
			s := &shelf{boxes: map[string]*box{}}
			return kindtest.World{Cloud: s, Objects: func() (all []any) {
				for _, b := range s.boxes {
					all = append(all, map[string]any{
						"color": b.Color, "wood": b.Wood, "note": b.Note, "size": b.Size, "dust": b.Dust, "tags": ownTags(b.Tags),
					})
				}
				return all
			}}
		},
		Base: map[string]any{"color": "red", "tags": map[string]any{"a": "1", "b": "2"}, "note": "hush"},
		Variants: []kindtest.Variant{
			{Name: "other", Props: map[string]any{"color": "blue", "size": int64(5), "tags": map[string]any{"b": "3", "c": "4"}, "note": "hush now"}},
			{Name: "oak", Props: map[string]any{"color": "red", "wood": "oak"}},
			{Name: "bare", Props: map[string]any{}},
		},
		Edits: []kindtest.Edit{
			{Path: "color", Do: change(func(b *box) { b.Color = "green" })},
			{Path: "size", Do: change(func(b *box) { b.Size = 99 })},
			{Path: "note", Do: change(func(b *box) { b.Note = "read" })},
			{Path: "tags.a", Do: change(func(b *box) { delete(b.Tags, "a") })},
			{Path: "tags.z", Do: change(func(b *box) { b.Tags["z"] = "more" })},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"color": hand(func(b *box, to kindtest.Edited) { b.Color = to.Text() }),
			"wood":  hand(func(b *box, to kindtest.Edited) { b.Wood = to.Text() }),
			"note":  hand(func(b *box, to kindtest.Edited) { b.Note = to.Text() }),
			"size": hand(func(b *box, to kindtest.Edited) {
				b.Size = 3
				if n, ok := to.Value.(int64); ok {
					b.Size = int(n)
				}
			}),
			"tags": hand(func(b *box, to kindtest.Edited) {
				maps.DeleteFunc(b.Tags, func(k, _ string) bool { return !adopt.IsMark(k) })
				tags, _ := to.Value.(map[string]any)
				for k, v := range tags {
					b.Tags[k] = v.(string)
				}
			}),
			"": func(_ kindtest.T, w kindtest.World, to kindtest.Edited) {
				delete(shelfOf(w.Cloud).boxes, to.Attrs["id"].(string))
			},
		},
		Fault: func(c reconcile.Class) error {
			return map[reconcile.Class]error{reconcile.Denied: errDenied, reconcile.Throttled: errThrottled, reconcile.Transient: errTransient}[c]
		},
	}
}

// shout is what careless kinds do to text.
func shout(s string) string { return strings.ToUpper(s) }
