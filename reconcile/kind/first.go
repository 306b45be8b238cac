package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var errStillThere = errors.New("it still exists")

// First is the kind in the first edition, which the runner knows. What is wrong with the definition, the first edition's
// Validate reports. It is deleted when the runner takes the second edition.
func (k Kind[P, L, A]) First() *reconcile.Kind[P, L, A] {
	first := &reconcile.Kind[P, L, A]{
		Type: k.Type, Doc: k.Doc, Attrs: k.Attributes, Identity: k.Identity, Prepare: k.Prepare, Files: k.Files, FilesAt: k.FilesAt, WritesFiles: k.WritesFiles, List: k.List,
		Visibility: k.EventuallyVisible, DeleteFirst: k.DeleteFirst, Tidies: k.CleansUp, Home: k.Global, Timeouts: k.Timeouts,
		Source: k.API.Source, Calls: k.API.Calls, Permissions: k.API.Permissions, Tags: sync.OnceValues(k.tags),
		Observe:  func(ctx context.Context, s reconcile.Site[P, A]) (L, error) { return k.Observe(ctx, SiteOf(s)) },
		Create:   k.create,
		Delete:   k.delete,
		Compare:  k.compare,
		Defaults: k.defaults,
		Check:    k.check,
	}
	k.capabilities(first)
	return first
}

// capabilities are the fields of the first edition that the capabilities of the second stand for.
func (k *Kind[P, L, A]) capabilities(first *reconcile.Kind[P, L, A]) {
	if n := k.Named; n != nil {
		first.Given = n.Given
		first.Naming = func(p P, location Location) reconcile.Naming {
			rule := n.Rule(p)
			if n.In != nil {
				rule = n.In(rule, location)
			}
			return rule.format()
		}
	}
	if k.Key != nil {
		first.Given = k.Key
	}
	switch o := k.Owner.(type) {
	case Tagged[P, L]:
		first.Owner = o.Tag
	case OwnedByContent[P, L]:
		first.Same = true
	case OwnedByParent[P, L]:
		first.ByParent = true
	}
	if h := k.HoldsData; h != nil {
		first.Holds, first.MayDelete, first.Retained = h.Now, h.MayDelete, h.Retain
	}
	if k.Contents != nil {
		first.Held = func(ctx context.Context, s reconcile.Site[P, A], most int) ([]Found, error) {
			return k.Contents(ctx, SiteOf(s), most)
		}
	}
	if k.Parents != nil {
		first.Under, first.ListUnder = k.Parents.Kinds, k.Parents.List
	}
	if k.Status != nil {
		first.Busy = func(l L) string { return k.Status(l).busy }
		first.Waiting = func(l L) string { return k.Status(l).waiting }
	}
	if k.Named != nil && k.Named.AlwaysGiven {
		first.Naming = nil
	}
	if k.Bulk != nil {
		first.ObserveMany = func(ctx context.Context, sites []reconcile.Site[P, A]) ([]Observed[L], error) {
			all := make([]Site[P, A], len(sites))
			for i, s := range sites {
				all[i] = SiteOf(s)
			}
			return k.Bulk(ctx, all)
		}
	}
	if k.Logs != nil {
		first.Logs = func(ctx context.Context, s reconcile.Site[P, A], q LogQuery) iter.Seq2[LogLine, error] {
			return k.Logs(ctx, SiteOf(s), q)
		}
	}
}

func (k *Kind[P, L, A]) create(ctx context.Context, s reconcile.Site[P, A]) (A, error) {
	site := SiteOf(s)
	site.New = &Creation[A]{Nonce: s.Nonce, Deleted: s.Gone, Store: s.Born}
	return k.Create(ctx, site)
}

// prop is where the author gives the name.
func (n *Named[P, L]) prop() tree.Path { return cmp.Or(n.Prop, "name") }

// compare states the name, then what the kind states, then the tags.
func (k *Kind[P, L, A]) compare(d *Diff[L], want P, live L) {
	if name, given := d.Name(); given && k.Named != nil && k.Named.Live != nil {
		reconcile.Fixed(d, k.Named.prop(), name, k.Named.Live(live))
	}
	k.Compare(d, want, live)
	if tagged, ok := k.Owner.(Tagged[P, L]); ok && tagged.Compare != nil {
		tagged.Compare(d, want, live)
	}
}

// delete refuses what holds data, asks for the deletion, and observes that the object is missing. While it is not, the runner
// calls again.
func (k *Kind[P, L, A]) delete(ctx context.Context, s reconcile.Site[P, A]) error {
	site := SiteOf(s)
	if k.HoldsData != nil && !site.MayDelete {
		live, err := k.Observe(reconcile.ReadOnly(ctx), site)
		switch {
		case errors.Is(err, reconcile.ErrAbsent) && !k.CleansUp:
			return nil
		case errors.Is(err, reconcile.ErrAbsent):
		case err != nil:
			return err
		case k.HoldsData.Now(live):
			if k.HoldsData.What == nil {
				return reconcile.ErrHoldsData
			}
			return fmt.Errorf("%w: %s", reconcile.ErrHoldsData, k.HoldsData.What(live))
		}
	}
	if err := k.Delete(ctx, site); err != nil || k.DeletesAtOnce {
		return err
	}
	switch live, err := k.Observe(reconcile.ReadOnly(ctx), site); {
	case errors.Is(err, reconcile.ErrAbsent):
		return nil
	case err != nil:
		return err
	case k.DeletesLater != nil && k.DeletesLater(live):
		return nil
	}
	return reconcile.WithClass(errStillThere, reconcile.Busy)
}

func (k *Kind[P, L, A]) defaults(p P) P { return defaults(k.Props, k.Default, p) }

func defaults[P any](t *Table[P], more func(P) P, p P) P {
	if t != nil {
		t.Default(&p)
	}
	if more != nil {
		p = more(p)
	}
	return p
}

// check collects what the table, the name's rule, the kind and its tags find.
func (k *Kind[P, L, A]) check(p P) error {
	var all props.Errors
	if k.Props != nil {
		all = k.Props.Check(p)
	}
	if n := k.Named; n != nil && n.Given != nil && !n.AlwaysGiven {
		if name := n.Given(p); name != "" && !token.Has(name) {
			if problem := n.Rule(p).Problem(name); problem != "" {
				all.Wrong(n.prop(), problem)
			}
		}
	}
	tagged, _ := k.Owner.(Tagged[P, L])
	return checked(all, p, k.Check, tagged.Check)
}

// checked adds what more checks find. An error that is not about props ends it.
func checked[P any](all props.Errors, p P, checks ...func(P) error) error {
	for _, find := range checks {
		if find == nil {
			continue
		}
		err := find(p)
		some, ok := errors.AsType[props.Errors](err)
		if err != nil && !ok {
			return err
		}
		all = append(all, some...)
	}
	return all.OrNil()
}

// SiteOf is a site of the first edition as one of the second.
func SiteOf[P, A any](s reconcile.Site[P, A]) Site[P, A] {
	return Site[P, A]{
		Scope: Scope{
			Address: s.Address, Cloud: s.Cloud, Location: s.Place, Name: s.Name, NameGiven: s.Named, Owner: s.Mark, Dir: s.Dir,
			Assets: s.Assets, Secret: s.Secret, Dev: s.Dev, Redact: s.Redact, Since: s.Since, RunID: s.Nonce,
		},
		Want: s.Want, ID: s.ID, Last: s.Last, Had: s.Had, Creating: s.Nonce, MayDelete: s.MayDelete, Derive: s.Derive,
	}
}

// UpdateOf is a call of the first edition as one of the second.
func UpdateOf[L any](on reconcile.On[L]) Update[L] {
	return Update[L]{
		Scope: Scope{
			Address: on.Address, Cloud: on.Cloud, Location: on.Place, Name: on.Name, Owner: on.Mark, Dir: on.Dir,
			Assets: on.Assets, Secret: on.Secret, Dev: on.Dev, Redact: on.Redact, Since: on.Since, RunID: on.Nonce,
		},
		Live: on.Live, Changed: on.Changed, Store: on.Remember,
	}
}
