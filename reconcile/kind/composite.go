package kind

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Composite describes what a constructor declares as several resources of other kinds: its props and the attributes that others
// may refer to. No graph has a resource of it, so that state, drift and adoption know the other kinds alone; one that somebody
// writes into a graph is refused when it is planned.
type Composite[P, A any] struct {
	Type, Doc string
	// Default fills in what is left out, nil for nothing. Check finds what is wrong with props as they were declared.
	Default func(P) P
	Check   func(P) error
	// API is that of the kinds that it is declared as.
	API API
}

// Erase hides the kind's types. What is wrong with the definition, Validate of the result reports.
func (k Composite[P, A]) Erase() reconcile.Any {
	// What tags say of props and attributes, the kinds that it is declared as do.
	tags := func() (reconcile.Tags, error) { return reconcile.Tags{}, k.Validate() }
	d := common[P, A](tags, func(p *P) { defaults(nil, k.Default, p) }, func(p P) error { return checked(nil, p, k.Check) })
	refuse := fmt.Errorf("%s is no resource: its constructor, or a stack in YAML, declares others", k.Type)
	d.Source = k.API.Source
	d.Spec = func() reconcile.Spec {
		return reconcile.Spec{
			Type: k.Type, Doc: k.Doc, Recorded: true, Calls: k.API.Calls, Permissions: k.API.Permissions,
			NewProps: func() any { return new(P) }, NewAttrs: func() any { return new(A) },
		}
	}
	d.Observe = func(context.Context, *reconcile.Site) (any, error) { return nil, refuse }
	d.Create = func(context.Context, *reconcile.Site, *reconcile.Creation) (any, error) { return nil, refuse }
	d.Compare = func(*reconcile.Differences, any, any) {}
	d.Attributes = func(any) any { return *new(A) }
	d.Identity = func(any) string { return "" }
	d.Delete = func(context.Context, *reconcile.Site) error { return refuse }
	return reconcile.Run(d)
}

// Validate finds what is missing in the definition.
func (k Composite[P, A]) Validate() error {
	if err := missing([]need{{"Type", k.Type != ""}, {"Doc", strings.TrimSpace(k.Doc) != ""}}); err != nil {
		return err
	}
	p, a := reflect.TypeFor[P](), reflect.TypeFor[A]()
	for _, typ := range []reflect.Type{p, a} {
		if err := props.Check(typ); err != nil {
			return err
		}
	}
	return misplaced(p, a)
}
