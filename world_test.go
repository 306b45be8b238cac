package athanor_test

import (
	"context"
	"errors"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// The kinds of these tests. Nothing of them is ever made.

type queueARN string

type queueProps struct {
	Name              string
	VisibilityTimeout *time.Duration
	DeadLetter        queueARN
	Port              athanor.Int
	Tags              map[string]string
	Zones             []string
	Policy            string
	Bindings          []queueBinding
}

type queueBinding struct{ Sid, Allow string }

type queue struct {
	ARN   queueARN
	URL   string
	Port  athanor.Int
	Zones []string
	Live  athanor.Bool
}

// Grant is what a provider builds on Bind.
func (q queue) Grant(s *athanor.Stack, to queue) {
	s.Bind(to, "send", queueBinding{Allow: string(q.ARN)})
}

type ledgerProps struct {
	Key      string
	Bindings map[string]queueBinding
}

type ledger struct{ Name string }

func kindOf[P, L, A any](typ string) *reconciletest.Kind[P, L, A] {
	return &reconciletest.Kind[P, L, A]{
		Type:    typ,
		Observe: func(context.Context, reconciletest.Site[P, A]) (l L, err error) { return l, reconcile.ErrAbsent },
		Create: func(context.Context, reconciletest.Site[P, A]) (a A, err error) {
			return a, errors.New("nothing is made here")
		},
		Compare:  func(*reconcile.Diff[L], P, L) {},
		Attrs:    func(L) (a A) { return a },
		Delete:   func(context.Context, reconciletest.Site[P, A]) error { return nil },
		Identity: func(A) string { return "" },
	}
}

func queueKind() *reconciletest.Kind[queueProps, struct{}, queue] {
	return kindOf[queueProps, struct{}, queue]("test.Queue")
}

func ledgerKind() *reconciletest.Kind[ledgerProps, struct{}, ledger] {
	return kindOf[ledgerProps, struct{}, ledger]("Test::Data::Table")
}

func newQueue(s *athanor.Stack, name string, p queueProps, opts ...athanor.Option) queue {
	return athanor.Declare(s, queueKind(), name, p, opts...)
}
