package yamlstack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/website"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// The kinds of these tests have every form of prop and attribute. Nothing of them is ever made.

type arn string

type queueProps struct {
	Name              string
	VisibilityTimeout *time.Duration `prop:"min=0s"`
	DeadLetter        arn
	Port              athanor.Int
	FIFO              bool `json:"fifo"`
	Tags              map[string]string
	Subnets           []string
	MaxSize           *athanor.Size
	Policy            string
	Retries           *int
	Rules             []rule
	Password          athanor.Secret
	Bindings          []binding
	Mode              string `prop:"enum=fast|slow"`
}

type rule struct {
	Path   string `prop:"required"`
	Weight int
}

type binding struct {
	Sid   string
	Allow string
}

type queue struct {
	ARN      arn
	URL      string
	Port     athanor.Int
	Zones    []string
	Endpoint struct{ Host string }
}

type tableProps struct {
	Key      string `prop:"required"`
	Bindings map[string]binding
}

type table struct{ Name string }

type settings struct {
	Region  string
	Timeout time.Duration
}

func bare[P, L, A any](typ string) *reconciletest.Kind[P, L, A] {
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
	k := bare[queueProps, struct{}, queue]("test.Queue")
	k.Check = func(p queueProps) error {
		if p.FIFO && p.Name == "plain" {
			return errors.New("a fifo queue is not plain")
		}
		return nil
	}
	return k
}

func tableKind() *reconciletest.Kind[tableProps, struct{}, table] {
	return bare[tableProps, struct{}, table]("test.Table")
}

func catalog(t testing.TB) *reconcile.Catalog {
	t.Helper()
	c, err := reconcile.NewCatalog(local.Provider(), random.Provider(), aws.Provider(
		acm.Service(), cloudfront.Service(), dynamodb.Service(), iam.Service(), kms.Service(), lambda.Service(), logs.Service(), route53.Service(),
		s3.Service(), sqs.Service(), website.Service(),
	), cloudflare.Provider(kv.Service(), workers.Service()), reconcile.Provider{
		Name: "test", Settings: &settings{}, Open: local.Provider().Open,
		Kinds: []reconcile.Any{reconciletest.Erase(queueKind()), reconciletest.Erase(tableKind())},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newQueue(s *athanor.Stack, name string, p queueProps, opts ...athanor.Option) queue {
	return athanor.Declare(s, queueKind(), name, p, opts...)
}

func newTable(s *athanor.Stack, name string, p tableProps, opts ...athanor.Option) table {
	return athanor.Declare(s, tableKind(), name, p, opts...)
}

// loadConfig reads text as athanor.yaml of a stage, with values for its config.
func loadConfig(t testing.TB, text, stage string, config map[string]string) (*engine.Graph, error) {
	t.Helper()
	s, err := yamlstack.Load(t.Context(), catalog(t), yamlstack.Input{Path: "/stack/athanor.yaml", Data: []byte(text), Stage: stage, Config: config})
	return s.Graph, err
}
