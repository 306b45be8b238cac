package stacks_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

func open(t *testing.T, s *aws.Settings) reconcile.Cloud {
	t.Helper()
	cloud, err := aws.Provider().Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

func queues(t *testing.T, cloud reconcile.Cloud) *sqs.Client {
	t.Helper()
	c, err := aws.Client(cloud, sqs.ServiceID, sqs.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	return (*sqs.Client)(c)
}

// TestPlace: the environment alone leads to the place, whose account is asked for once, however many ask.
func TestPlace(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	cloud := open(t, &aws.Settings{Region: new("eu-west-1")})
	if n := len(server.Calls()); n != 0 {
		t.Errorf("opening makes %d calls", n)
	}
	want := reconcile.Place{Provider: "aws", Account: server.Account, Region: "eu-west-1"}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if place, err := cloud.Place(t.Context()); err != nil || place != want {
				t.Errorf("place %v, %v", place, err)
			}
		})
	}
	all.Wait()
	if n := server.Count("*"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	first := queues(t, cloud)
	if second := queues(t, cloud); first != second {
		t.Error("a client is made once")
	}
}

// TestPlaceFaults: nobody above repeats this read, so it is repeated here.
func TestPlaceFaults(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	server.Inject(awstest.Fault{Op: "STS.*", Kind: awstest.ServerError})
	if _, err := open(t, &aws.Settings{}).Place(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAccountRefused: with credentials of another account nothing but their account is asked for.
func TestAccountRefused(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	cloud := open(t, &aws.Settings{AccountID: "123456789012"})
	_, err := queues(t, cloud).ListQueues(t.Context(), nil)
	refused, ok := errors.AsType[*aws.AccountError](err)
	if !ok || refused.Have != server.Account || refused.Allowed != "123456789012" || cloud.Classify(err) != reconcile.Denied {
		t.Errorf("%v", err)
	}
	if n := server.Count("SQS.*"); n != 0 {
		t.Errorf("%d calls of SQS", n)
	}
	if _, err := aws.Provider().Open(t.Context(), &aws.Settings{AccountID: "mine"}); err == nil || len(reconcile.Hints(err)) != 1 {
		t.Errorf("no account: %v", err)
	}
}

func TestNoCredentials(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	cloud := open(t, &aws.Settings{})
	_, err := cloud.Place(t.Context())
	if _, ok := errors.AsType[*aws.CredentialsError](err); !ok || cloud.Classify(err) != reconcile.Denied {
		t.Errorf("%v", err)
	}
	if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "AWS_PROFILE") {
		t.Errorf("hints %q", hints)
	}
	cloud = open(t, &aws.Settings{Profile: new("not-there")})
	if _, err := cloud.Place(t.Context()); cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), "not-there") {
		t.Errorf("a profile that is not there: %v", err)
	}
	if n := len(server.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestNoRegion(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	t.Setenv("AWS_REGION", "")
	cloud := open(t, &aws.Settings{})
	if _, err := cloud.Place(t.Context()); cloud.Classify(err) != reconcile.Invalid || len(reconcile.Hints(err)) != 1 {
		t.Errorf("%v", err)
	}
}

// gate records what passes.
type gate struct {
	mu    sync.Mutex
	calls []reconcile.Call
	left  []error
}

func (g *gate) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, call)
	return func(err error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.left = append(g.left, err)
	}, nil
}

// TestEveryCallPasses: with its place, told apart from a read, and with its end. What is throttled passes again, and the SDK
// repeats nothing.
func TestEveryCallPasses(t *testing.T) {
	server := awstest.Start(t)
	cloud := aws.FromConfig(server.ObservedConfig(t))
	c := queues(t, cloud)
	g := &gate{}
	ctx := reconcile.WithGate(t.Context(), g)
	server.Inject(awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.Throttle})
	if _, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: new("jobs")}); err != nil {
		t.Error(err)
	}
	if _, err := c.ListQueues(ctx, nil); err != nil {
		t.Error(err)
	}
	place := reconcile.Place{Provider: "aws", Account: server.Account, Region: server.Region}
	want := []reconcile.Call{
		{Service: "STS", Operation: "GetCallerIdentity"},
		{Service: "SQS", Operation: "CreateQueue", Place: place, Mutates: true},
		{Service: "SQS", Operation: "CreateQueue", Place: place, Mutates: true},
		{Service: "SQS", Operation: "ListQueues", Place: place},
	}
	if !slices.Equal(g.calls, want) {
		t.Errorf("passed %v, want %v", g.calls, want)
	}
	if len(g.left) != 4 || g.left[0] != nil || cloud.Classify(g.left[1]) != reconcile.Throttled || g.left[2] != nil || g.left[3] != nil {
		t.Errorf("left with %v", g.left)
	}
	if n := server.Count("SQS.CreateQueue"); n != 2 {
		t.Errorf("the SDK made the call %d times", n)
	}
}

func TestReadOnly(t *testing.T) {
	server := awstest.Start(t)
	c := queues(t, aws.FromConfig(server.ObservedConfig(t)))
	_, err := c.CreateQueue(reconcile.ReadOnly(t.Context()), &sqs.CreateQueueInput{QueueName: new("jobs")})
	if !errors.Is(err, reconcile.ErrReadOnly) {
		t.Errorf("a write while looking: %v", err)
	}
	if n := server.Count("SQS.*"); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestIn: settings of an inner scope come over those of the outer one.
func TestIn(t *testing.T) {
	kind := &reconciletest.Kind[struct{}, struct{}, struct{ Name string }]{Type: "aws.test.Thing"}
	graph, err := athanor.Evaluate(func(s *athanor.Stack) error {
		eu := aws.In(s, aws.Region("eu-west-1"), aws.Account("123456789012"))
		athanor.Declare(eu, kind, "one", struct{}{})
		athanor.Declare(aws.In(eu, aws.Profile("p"), aws.Endpoint("http://127.0.0.1:1"), aws.Region("eu-north-1")), kind, "two", struct{}{})
		athanor.Declare(s, kind, "three", struct{}{})
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{
		"one":   {"region": "eu-west-1", "accountId": "123456789012"},
		"two":   {"region": "eu-north-1", "accountId": "123456789012", "profile": "p", "endpoint": "http://127.0.0.1:1"},
		"three": nil,
	}
	for _, r := range graph.Resources {
		if !maps.Equal(r.Settings, want[r.Address]) {
			t.Errorf("%s: %v, want %v", r.Address, r.Settings, want[r.Address])
		}
		var s aws.Settings
		if err := props.Decode(r.Settings, &s); err != nil {
			t.Errorf("%s: %v", r.Address, err)
		}
	}
	if len(graph.Resources) != 3 {
		t.Errorf("resources: %v", graph.Resources)
	}
}
