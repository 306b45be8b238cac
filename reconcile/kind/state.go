package kind

import (
	"context"
	"iter"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// StateLifetime is where the objects of a [StateKind] live. Those of a [Kind] live in the cloud.
type StateLifetime int

// The lifetimes of a [StateKind].
const (
	// InState: the value is kept in state, and can be computed again.
	InState StateLifetime = iota
	// Rerun: creating it acts on something outside state, and without state it acts again (a command).
	Rerun
	// InDev: it lives in a dev session alone (a process).
	InDev
)

// StateKind defines a kind without an object in the cloud: it has no name, owner tag, listing or data, and no field to give
// it any.
type StateKind[P, A any] struct {
	Type, Doc string
	Lifetime  StateLifetime
	// LocalVariantOf is the kind that this one replaces in a dev session, "" for all others. It shares that kind's props and
	// attributes, whose tags speak of the cloud: here they say which props are deferrable, and which attributes change.
	// Defaults, checks and comparison are code: Default, Check and Compare.
	LocalVariantOf string
	// Create computes the attributes. Update does for a change of props that are not immutable; nil: Create does.
	Create, Update func(context.Context, Site[P, A]) (A, error)
	// Observe answers ErrAbsent for what ended although state has it (a process). Nil: state is enough.
	Observe func(context.Context, Site[P, A]) error
	// Read is for kinds of which state is not enough: it sets attributes that change by themselves, and what Compare needs
	// further. It answers as Observe does, which it takes the place of.
	Read func(context.Context, Site[P, A], *Kept[P, A]) error
	// Delete undoes it. Nil: there is nothing to undo. CleansUp: it is called also for what was only begun, which has no
	// attributes.
	Delete   func(context.Context, Site[P, A]) error
	CleansUp bool
	// Props states what is compared, and Compare adds what is code. At least one is required.
	Props   *Table[P]
	Compare func(d *Diff[Kept[P, A]], want P, live Kept[P, A])
	Default func(P) P
	Check   func(P) error
	// Prepare, Files, WritesFiles, Logs, Timeouts and API are those of [Kind].
	Prepare     func(context.Context, Workspace, P) (map[string]Asset, error)
	Files       []tree.Path
	WritesFiles bool
	Logs        func(context.Context, Site[P, A], LogQuery) iter.Seq2[LogLine, error]
	Timeouts    Timeouts
	API         API
}

// Kept is what state has of an object of a [StateKind]. Read is what its Read found further.
type Kept[P, A any] struct {
	Props      P
	Attributes A
	Read       any
}

// Erase hides the kind's types. What is wrong with the definition, Validate of the result reports.
func (k StateKind[P, A]) Erase() reconcile.Any {
	d := common[P, A](k.tags, k.fill, k.CheckAll)
	d.Source, d.Logs = k.API.Source, logsOf(k.Logs)
	d.Spec = func() reconcile.Spec {
		return reconcile.Spec{
			Type: k.Type, Doc: k.Doc, Recorded: true, Rerun: k.Lifetime != InState, InDev: k.Lifetime == InDev, Stands: k.LocalVariantOf, Tidies: k.CleansUp,
			Calls: k.API.Calls, Permissions: k.API.Permissions, Files: k.Files, WritesFiles: k.WritesFiles, Timeouts: k.Timeouts,
			InStateAlone: k.Observe == nil && k.Read == nil,
			NewProps:     func() any { return new(P) }, NewAttrs: func() any { return new(A) },
		}
	}
	d.Observe = func(ctx context.Context, s *reconcile.Site) (any, error) { return k.observe(ctx, siteOf[P, A](s)) }
	d.Create = func(ctx context.Context, s *reconcile.Site, _ *reconcile.Creation) (any, error) {
		return k.Create(ctx, siteOf[P, A](s))
	}
	d.Compare = func(d *reconcile.Differences, p, live any) {
		k.compare(&Diff[Kept[P, A]]{Differences: d}, *p.(*P), live.(Kept[P, A]))
	}
	d.Attributes = func(live any) any { return live.(Kept[P, A]).Attributes }
	d.Identity = func(any) string { return "" }
	d.Delete = func(ctx context.Context, s *reconcile.Site) error {
		if k.Delete == nil || s.Last == nil && !k.CleansUp {
			return nil
		}
		return k.Delete(ctx, siteOf[P, A](s))
	}
	if k.Prepare != nil {
		d.Prepare = func(ctx context.Context, w Workspace, p any) (map[string]Asset, error) {
			return k.Prepare(ctx, w, *p.(*P))
		}
	}
	return reconcile.Run(d)
}

// TypeOf is the name of the kind, "" of none.
func (k *StateKind[P, A]) TypeOf(P, A) string {
	if k == nil {
		return ""
	}
	return k.Type
}

// WithDefaults fills in what is left out.
func (k *StateKind[P, A]) WithDefaults(p P) P {
	k.fill(&p)
	return p
}

func (k *StateKind[P, A]) fill(p *P) { defaults(k.table(), k.Default, p) }

// CheckAll finds what the table and the kind find wrong with props as they were declared.
func (k *StateKind[P, A]) CheckAll(p P) error {
	if t := k.table(); t != nil {
		return checked(t.Check(p), p, k.Check)
	}
	return checked(nil, p, k.Check)
}

// table is what gives defaults, checks and differences, nil without one.
func (k *StateKind[P, A]) table() *Table[P] {
	if k.LocalVariantOf != "" {
		return nil
	}
	return k.Props
}

// observe is what state has.
func (k *StateKind[P, A]) observe(ctx context.Context, s Site[P, A]) (live Kept[P, A], err error) {
	if s.Last == nil {
		return live, reconcile.ErrAbsent
	}
	if k.Observe != nil {
		if err := k.Observe(ctx, s); err != nil {
			return live, err
		}
	}
	live = Kept[P, A]{Props: s.Want, Attributes: *s.Last}
	if s.Had != nil {
		live.Props = k.WithDefaults(*s.Had)
	}
	if k.Read != nil {
		err = k.Read(ctx, s, &live)
	}
	return live, err
}

// compare states the table, whose differences Update, else Create, makes good by computing the attributes again.
func (k *StateKind[P, A]) compare(d *Diff[Kept[P, A]], want P, live Kept[P, A]) {
	run := k.Update
	if run == nil {
		run = k.Create
	}
	if t := k.table(); t != nil {
		Compare(d, t, want, live.Props, Set("Update", func(ctx context.Context, u Update[Kept[P, A]]) error {
			attributes, err := run(ctx, Site[P, A]{Facts: u.Facts, Want: want, Last: &live.Attributes, Had: &live.Props})
			if err == nil {
				u.Store(attributes)
			}
			return err
		}))
	}
	if k.Compare != nil {
		k.Compare(d, want, live)
	}
}
