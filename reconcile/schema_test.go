package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type free = map[string]any

// drawer is a service with one object whose props no Go type names. It keeps "key" to itself, and gives "size" when it
// is not told one.
type drawer struct {
	held   free
	writes int
}

func (d *drawer) put(name string, v any) {
	d.writes++
	if d.held[name] = v; v == nil {
		delete(d.held, name)
	}
	if d.held["size"] == nil {
		d.held["size"] = "medium"
	}
}

func (d *drawer) kind() *reconciletest.Kind[free, free, free] {
	fields := func() []props.Field {
		return []props.Field{{Path: "key", Type: "string"}, {Path: "size", Type: "string"}}
	}
	return &reconciletest.Kind[free, free, free]{
		Type: "test.Drawer",
		Observe: func(context.Context, reconciletest.Site[free, free]) (free, error) {
			if d.held == nil {
				return nil, reconcile.ErrAbsent
			}
			seen := maps.Clone(d.held)
			delete(seen, "key")
			return seen, nil
		},
		Create: func(ctx context.Context, s reconciletest.Site[free, free]) (free, error) {
			if err := s.Store(ctx, free{"id": "one"}); err != nil {
				return nil, err
			}
			d.held = free{"id": "one"}
			for k, v := range s.Want {
				d.put(k, v)
			}
			return free{"id": "one"}, nil
		},
		Compare: func(diff *reconcile.Diff[free], want, have free) {
			for _, name := range []string{"key", "size"} {
				set := &reconcile.Operation[free]{Name: "put", Do: func(context.Context, reconcile.Update[free]) error {
					d.put(name, want[name])
					return nil
				}}
				_, before := diff.Had()[name]
				_, declared := want[name]
				switch {
				case declared:
					reconcile.Shown(diff, tree.Path(name), want[name], have[name], set)
				case before:
					reconcile.Dropped(diff, tree.Path(name), have[name], set)
				}
			}
		},
		Attrs:    func(seen free) free { return seen },
		Delete:   func(context.Context, reconciletest.Site[free, free]) error { d.held = nil; return nil },
		Identity: func(a free) string { return fmt.Sprint(a["id"]) },
		Schema:   &reconcile.Schema{Props: fields, Attrs: fields, SecretProps: []tree.Path{"key"}},
	}
}

// to reconciles the drawer as a run does, with its state.
func (d *drawer) to(t *testing.T, want free, rec *reconcile.Job) (writes int) {
	t.Helper()
	job := &reconcile.Job{
		Address: "drawer", Props: want, ID: rec.ID, Last: rec.Last, Had: rec.Had, Written: rec.Written,
		Digest: func(domain string, data []byte) string { return domain + string(data) },
	}
	kind, before := reconciletest.Erase(d.kind()), d.writes
	if err := kind.Decode(job); err != nil {
		t.Fatal(err)
	}
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	rec.ID, rec.Last, rec.Had, rec.Written = out.Identity, out.Attrs, want, out.Written
	return d.writes - before
}

// TestKeptToItself: what a read does not show after it was written is written again only when the program changes it.
func TestKeptToItself(t *testing.T) {
	t.Parallel()
	d, rec := &drawer{}, &reconcile.Job{}
	d.to(t, free{"key": "a"}, rec)
	for _, step := range []struct {
		want   free
		writes int
	}{{free{"key": "a"}, 0}, {free{"key": "b"}, 1}, {free{"key": "b"}, 0}} {
		if have := d.to(t, step.want, rec); have != step.writes {
			t.Errorf("to %v: %d writes, want %d", step.want, have, step.writes)
		}
	}
	if d.held["key"] != "b" {
		t.Errorf("held %v", d.held)
	}
}

// TestShownIsCompared: what a read shows is compared with what it shows, and its absence is drift.
func TestShownIsCompared(t *testing.T) {
	t.Parallel()
	d, rec := &drawer{}, &reconcile.Job{}
	d.to(t, free{"size": "large"}, rec)
	delete(d.held, "size")
	if have := d.to(t, free{"size": "large"}, rec); have != 1 || d.held["size"] != "large" {
		t.Errorf("%d writes, held %v", have, d.held)
	}
}

// TestDroppedOnce: what is declared no longer is taken away once, even where a read then shows a value of the object's
// own that is the same.
func TestDroppedOnce(t *testing.T) {
	t.Parallel()
	d, rec := &drawer{}, &reconcile.Job{}
	d.to(t, free{"size": "medium", "key": "a"}, rec)
	if have := d.to(t, free{"key": "a"}, rec); have != 1 || d.held["size"] != "medium" {
		t.Errorf("%d writes, held %v", have, d.held)
	}
	if have := d.to(t, free{"key": "a"}, rec); have != 0 {
		t.Errorf("again: %d writes", have)
	}
}

// TestBornEarly: an identity that is told before the creation ends is stored once.
func TestBornEarly(t *testing.T) {
	t.Parallel()
	d := &drawer{}
	var born []string
	job := &reconcile.Job{Address: "drawer", Props: free{"size": "large"}}
	_, err := reconciletest.Erase(d.kind()).Settle(t.Context(), job, reconcile.Hooks{
		Born: func(_ context.Context, identity string, _ map[string]any) error {
			born = append(born, fmt.Sprint(identity, " ", d.writes))
			return nil
		},
	})
	if err != nil || !slices.Equal(born, []string{"one 0"}) {
		t.Errorf("born %q, %v", born, err)
	}
}

func TestSchemaTells(t *testing.T) {
	t.Parallel()
	spec := reconciletest.Erase((&drawer{}).kind()).Spec()
	p, a, err := spec.Shape()
	if err != nil || len(p) != 2 || len(a) != 2 || !slices.Equal(spec.SecretProps, []tree.Path{"key"}) {
		t.Errorf("%v, %v, %v", p, a, err)
	}
}

// TestFamily: kinds that are made when they are asked for.
func TestFamily(t *testing.T) {
	t.Parallel()
	made := 0
	family := &reconcile.Family{
		Prefix: "T::", Doc: "things",
		Types: func() ([]string, error) { return []string{"T::Drawer", "T::Shelf"}, nil },
		Kind: func(name string) (reconcile.Any, error) {
			switch name {
			case "T::Drawer":
				made++
				return reconciletest.Erase((&drawer{}).kind()), nil
			case "T::Shelf":
				return nil, errors.New("out of stock")
			}
			return nil, fmt.Errorf("%w: %s", reconcile.ErrNoKind, name)
		},
	}
	c, err := reconcile.NewCatalog(reconcile.Provider{Name: "t", Open: opens, Family: family})
	if err != nil || made != 0 || len(c.Types()) != 0 {
		t.Fatalf("%d made, %v, %v", made, c.Types(), err)
	}
	for range 2 {
		if _, ok := c.Kind("T::Drawer"); !ok || made != 1 {
			t.Errorf("found %v, made %d", ok, made)
		}
	}
	if p, ok := c.ProviderOf("T::Drawer"); !ok || p.Name != "t" {
		t.Errorf("provider %v", p.Name)
	}
	if _, ok := c.ProviderOf("X::Drawer"); ok {
		t.Error("a kind of nobody")
	}
	for name, want := range map[string]string{"T::Drawr": "did you mean T::Drawer?", "X": "`athanor kinds` lists them"} {
		_, err := c.Find(name)
		if !errors.Is(err, reconcile.ErrNoKind) || !slices.Contains(reconcile.Hints(err), want) {
			t.Errorf("%s: %v, %q", name, err, reconcile.Hints(err))
		}
	}
	listed := reconciletest.Erase((&drawer{}).kind())
	both, err := reconcile.NewCatalog(reconcile.Provider{Name: "t", Open: opens, Kinds: []reconcile.Any{listed}, Family: &reconcile.Family{
		Prefix: "test.", Types: func() ([]string, error) { return []string{"test.shelf.Board"}, nil }, Kind: family.Kind,
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "did you mean " + listed.Spec().Type + "?"
	if _, err := both.Find(strings.Replace(listed.Spec().Type, "Drawer", "Drwaer", 1)); !slices.Contains(reconcile.Hints(err), want) {
		t.Errorf("a listed kind beside a family of its prefix is not suggested: %v, %q", err, reconcile.Hints(err))
	}
	if _, err := c.Find("T::Shelf"); err == nil || !strings.Contains(err.Error(), "out of stock") {
		t.Errorf("%v", err)
	}
	if names, err := c.Match("T::D*"); err != nil || !slices.Equal(names, []string{"T::Drawer"}) {
		t.Errorf("%v, %v", names, err)
	}
}
