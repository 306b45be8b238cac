package athanor

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ErrTwice is matched by errors about an address, or an output, that is declared twice.
var ErrTwice = errors.New("declared twice")

// Declare declares a resource of a kind at name in the scope of s, and returns its attributes, each a token.
// Constructors of providers are this call and nothing else:
//
//	func NewQueue(s *athanor.Stack, name string, p QueueProps, opts ...athanor.Option) Queue {
//		return athanor.Declare(s, queueKind, name, p, opts...)
//	}
func Declare[P, A any](s *Stack, k reconcile.Declared[P, A], name string, p P, opts ...Option) A {
	r := engine.Resource{Address: s.Address(name), Source: s.files.declaring(reflect.TypeFor[P]())}
	if r.Kind = typeOf(k); r.Kind == "" {
		s.failAt(r.Address, r.Source, errors.New("declared with a nil kind"))
		return attributes[A](s, r.Address, r.Source)
	}
	told[P, A](s, r.Kind)
	r.Settings = s.settingsOf(r.Kind)
	var err error
	if r.Props, err = props.Encode(p); err != nil {
		s.failAt(r.Address, r.Source, err)
	}
	r.Props = s.forwarded(r.Kind, r.Props)
	s.add(&r, reflect.TypeFor[P](), opts)
	return attributes[A](s, r.Address, r.Source)
}

// told tells who asks of the types of a kind.
func told[P, A any](s *Stack, kind string) {
	if s.in.Types == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.Types(kind, reflect.TypeFor[P](), reflect.TypeFor[A]())
}

// typeOf is the name of a kind, "" of none.
func typeOf[P, A any](k reconcile.Declared[P, A]) string {
	if k == nil {
		return ""
	}
	var p P
	var a A
	return k.TypeOf(p, a)
}

// add enters a resource.
func (s *Stack) add(r *engine.Resource, p reflect.Type, opts []Option) {
	if len(opts) > 0 {
		d := &declaration{stack: s, address: r.Address, options: &r.Options}
		for _, o := range opts {
			if o == nil {
				d.fail("options", errors.New("a nil option"))
				continue
			}
			o(d)
		}
		for _, err := range d.errs {
			s.failAt(r.Address, r.Source, err)
		}
	}
	if s.enter(r.Address, entry{source: r.Source, props: p, was: r.Options.RenamedFrom}) {
		s.mu.Lock()
		s.graph.Resources = append(s.graph.Resources, *r)
		s.mu.Unlock()
	}
}

// enter takes an address, once.
func (s *Stack) enter(address string, e entry) bool {
	if err := checkAddress(address); err != nil {
		s.failAt("", e.source, err)
		return false
	}
	s.mu.Lock()
	other, twice := s.declared[address]
	if !twice {
		s.declared[address] = e
	}
	s.mu.Unlock()
	if twice {
		s.failAt(address, e.source, fmt.Errorf("%w: %s and %s", ErrTwice, other.source, e.source))
	}
	return !twice
}

// attributes are those of what is declared, as tokens.
func attributes[A any](s *Stack, address, source string) A {
	var a A
	if err := props.Tokens(&a, s.in.Spelling, address); err != nil {
		s.failAt(address, source, err)
	}
	return a
}

// Read reads an object that the stack uses and does not own: it is read in every plan, and never written,
// tagged or deleted. by is an identity as text, or a P that names the object: by its given name, or by
// properties that exactly one object has.
func Read[P, A any](s *Stack, k reconcile.Declared[P, A], name string, by any) A {
	r := engine.Read{Address: s.Address(name), Source: s.files.declaring(reflect.TypeFor[P]())}
	if r.Kind = typeOf(k); r.Kind == "" {
		s.failAt(r.Address, r.Source, errors.New("read with a nil kind"))
		return attributes[A](s, r.Address, r.Source)
	}
	told[P, A](s, r.Kind)
	r.Settings = s.settingsOf(r.Kind)
	if err := nameBy(&r, by, reflect.TypeFor[P]()); err != nil {
		s.failAt(r.Address, r.Source, err)
	}
	s.forwardTo(&r)
	s.AddRead(r)
	return attributes[A](s, r.Address, r.Source)
}

// errReadByID is about something that is read by an identity, which takes no props along.
var errReadByID = errors.New("read by its identity, with settings that hold references: read it by a query")

// forwardTo gives a read what the settings of its provider forward.
func (s *Stack) forwardTo(r *engine.Read) {
	switch with := s.forwarded(r.Kind, r.Query); {
	case r.ID == "":
		r.Query = with
	case len(with) > 0:
		s.failAt(r.Address, r.Source, errReadByID)
	}
}

// nameBy says which object is read.
func nameBy(r *engine.Read, by any, p reflect.Type) error {
	rv := reflect.ValueOf(by)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	switch {
	case rv.Kind() == reflect.String && token.Has(rv.String()):
		return errors.New("read: an identity takes no reference; name the object by its props")
	case rv.Kind() == reflect.String && rv.String() != "":
		r.ID = rv.String()
		return nil
	case rv.IsValid() && rv.Type() == p:
		var err error
		if r.Query, err = props.Encode(rv.Interface()); err == nil && len(r.Query) == 0 {
			err = errors.New("read: no prop is set to find it by")
		}
		return err
	}
	return fmt.Errorf("read: want an identity or a %s, have %T", p, by)
}
