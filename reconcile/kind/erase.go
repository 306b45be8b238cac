package kind

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Erase hides the kind's types. What is wrong with the definition, Validate of the result reports.
func (k Kind[P, L, A]) Erase() reconcile.Any {
	d := common[P, A](k.tags, k.fill, k.CheckAll)
	d.Spec, d.Source = k.spec, k.API.Source
	d.Observe = func(ctx context.Context, s *reconcile.Site) (any, error) { return k.Observe(ctx, siteOf[P, A](s)) }
	d.Create = func(ctx context.Context, s *reconcile.Site, made *reconcile.Creation) (any, error) {
		site := siteOf[P, A](s)
		site.New = &Creation[A]{Deleted: made.Deleted, Store: func(ctx context.Context, a A) error { return made.Store(ctx, a) }}
		return k.Create(ctx, site)
	}
	d.Delete = func(ctx context.Context, s *reconcile.Site) error { return k.Delete(ctx, siteOf[P, A](s)) }
	d.Compare = func(d *reconcile.Differences, p, live any) {
		l, _ := live.(L)
		k.compare(&Diff[L]{Differences: d}, *p.(*P), l)
	}
	d.Attributes = func(live any) any { return k.Attributes(live.(L)) }
	d.Identity = func(attributes any) string { return k.Identity(attributes.(A)) }
	d.List = k.List
	if k.Dynamic != nil {
		d.Schema = &k.Dynamic.Schema
	}
	if k.Prepare != nil {
		d.Prepare = func(ctx context.Context, w Workspace, p any) (map[string]Asset, error) {
			return k.Prepare(ctx, w, *p.(*P))
		}
	}
	k.names(d)
	k.data(d)
	k.others(d)
	return reconcile.Run(d)
}

// TypeOf is the name of the kind, "" of none.
func (k *Kind[P, L, A]) TypeOf(P, A) string {
	if k == nil {
		return ""
	}
	return k.Type
}

// common is what kinds of both lifetimes have.
func common[P, A any](tags func() (Tags, error), fill func(*P), check func(P) error) *reconcile.Definition {
	once := sync.OnceValues(tags)
	return &reconcile.Definition{
		Tags:     once,
		Validate: func() error { _, err := once(); return err },
		Default:  func(p any) { fill(p.(*P)) },
		Check:    func(p any) error { return check(*p.(*P)) },
	}
}

func (k *Kind[P, L, A]) spec() reconcile.Spec {
	s := reconcile.Spec{
		Type: k.Type, Doc: k.Doc, Files: k.Files, FilesAt: k.FilesAt, WritesFiles: k.WritesFiles, Visibility: k.EventuallyVisible,
		DeleteFirst: k.DeleteFirst, Parts: k.PartOf, Tidies: k.CleansUp, Home: k.Global, Timeouts: k.Timeouts, Calls: k.API.Calls, MovesFrom: k.MovesFrom,
		Permissions: k.API.Permissions, Retained: k.HoldsData != nil && k.HoldsData.Retain,
		NewProps: func() any { return new(P) }, NewAttrs: func() any { return new(A) },
	}
	switch k.Owner.(type) {
	case OwnedByContent[P, L]:
		s.Same = true
	case OwnedByParent[P, L]:
		s.ByParent = true
	}
	if k.Parents != nil {
		s.Under = k.Parents.Kinds
	}
	return s
}

// names fills in how objects are named.
func (k *Kind[P, L, A]) names(d *reconcile.Definition) {
	given := k.Key
	if n := k.Named; n != nil {
		given = n.Given
		if n.Rule != nil {
			d.Naming = func(p any, location Location) reconcile.Naming {
				rule := n.Rule(*p.(*P))
				if n.In != nil {
					rule = n.In(rule, location)
				}
				return rule.format()
			}
		}
	}
	if k.Unique != nil {
		d.Unique = func(p any) []string { return k.Unique(*p.(*P)) }
	}
	if given != nil {
		d.Given = func(p any) string { return given(*p.(*P)) }
	}
}

// data fills in what protects users' data, and when a deletion is done.
func (k *Kind[P, L, A]) data(d *reconcile.Definition) {
	if h := k.HoldsData; h != nil {
		d.Guards = true
		d.Holds = func(live any) bool { return h.Now(live.(L)) }
		if h.What != nil {
			d.What = func(live any) string { return h.What(live.(L)) }
		}
		if h.MayDelete != nil {
			d.MayDelete = func(p any) bool { return h.MayDelete(*p.(*P)) }
		}
	}
	switch k.Deletion.(type) {
	case AtOnce[L]:
	case nil:
		d.Deleted = func(any) bool { return false }
	default:
		d.Deleted = func(live any) bool { return k.Deletion.deleted(live.(L)) }
	}
}

// others fills in further capabilities.
func (k *Kind[P, L, A]) others(d *reconcile.Definition) {
	if tagged, ok := k.Owner.(Tagged[P, L]); ok {
		d.Owner = func(live any) OwnerTag { return tagged.Tag(live.(L)) }
	}
	if k.Status != nil {
		d.Status = func(live any) (busy, waiting string) {
			status := k.Status(live.(L))
			return status.busy, status.waiting
		}
	}
	if k.Contents != nil {
		d.Contents = func(ctx context.Context, s *reconcile.Site, most int) ([]Found, error) {
			return k.Contents(ctx, siteOf[P, A](s), most)
		}
	}
	if k.Parents != nil {
		d.ListUnder = k.Parents.List
	}
	if k.Bulk != nil {
		d.ObserveMany = func(ctx context.Context, sites []*reconcile.Site) ([]Observed[any], error) {
			all := make([]Site[P, A], len(sites))
			for i, s := range sites {
				all[i] = siteOf[P, A](s)
			}
			answers, err := k.Bulk(ctx, all)
			out := make([]Observed[any], len(answers))
			for i, a := range answers {
				out[i] = Observed[any]{Live: a.Live, Err: a.Err}
			}
			return out, err
		}
	}
	d.Logs = logsOf(k.Logs)
}

func logsOf[P, A any](logs func(context.Context, Site[P, A], LogQuery) iter.Seq2[LogLine, error]) func(context.Context, *reconcile.Site, LogQuery) iter.Seq2[LogLine, error] {
	if logs == nil {
		return nil
	}
	return func(ctx context.Context, s *reconcile.Site, q LogQuery) iter.Seq2[LogLine, error] {
		return logs(ctx, siteOf[P, A](s), q)
	}
}

// siteOf is a site with its types.
func siteOf[P, A any](s *reconcile.Site) Site[P, A] {
	site := Site[P, A]{Facts: s.Facts, ID: s.ID, MayDelete: s.MayDelete, Derive: s.Derive, Want: *s.Want.(*P)}
	site.Last, _ = s.Last.(*A)
	site.Had, _ = s.Had.(*P)
	return site
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

// WithDefaults fills in what is left out.
func (k *Kind[P, L, A]) WithDefaults(p P) P {
	k.fill(&p)
	return p
}

func (k *Kind[P, L, A]) fill(p *P) { defaults(k.Props, k.Default, p) }

// defaults fills in what is left out. It changes p alone, and nothing that p points at.
func defaults[P any](t *Table[P], more func(P) P, p *P) {
	if t != nil {
		t.Default(p)
	}
	if more != nil {
		*p = more(*p)
	}
}

// CheckAll finds what the table, the name's rule, the kind and its tags find wrong with props as they were declared.
func (k *Kind[P, L, A]) CheckAll(p P) error {
	var all props.Errors
	if k.Props != nil {
		all = k.Props.Check(p)
	}
	if n := k.Named; n != nil && n.Given != nil && n.Rule != nil {
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
