package secretsmanager

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own, seen by the kind through one client and by others through another.
type world struct {
	server *awstest.Server
	like   *likeAWS
	front  *awstest.Front
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	front, like := startLikeAWS(t, server)
	w := &world{
		server: server, like: like, front: front, others: sdk.NewFromConfig(front.Outside(t)),
		cloud: aws.FromConfig(front.Observed(t)), dir: t.TempDir(),
	}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	server.Reset()
	return w
}

// secrets are all as others see them. Values are shown where what is declared says them all.
func (w *world) secrets(t kindtest.T, values bool) []any {
	t.Helper()
	out, err := w.others.ListSecrets(context.Background(), &sdk.ListSecretsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, s := range out.SecretList {
		all = append(all, w.secret(t, s.ARN, values))
	}
	return all
}

func (w *world) secret(t kindtest.T, id *string, values bool) obj {
	t.Helper()
	s, err := w.others.DescribeSecret(context.Background(), &sdk.DescribeSecretInput{SecretId: id})
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	policy, err := w.others.GetResourcePolicy(context.Background(), &sdk.GetResourcePolicyInput{SecretId: id})
	if err != nil {
		t.Fatalf("policy: %v", err)
	}
	copies := obj{}
	for _, r := range s.ReplicationStatus {
		copies[*r.Region] = sdkaws.ToString(r.KmsKeyId)
	}
	seen := obj{
		"description": sdkaws.ToString(s.Description), "key": sdkaws.ToString(s.KmsKeyId), "copies": copies, "tags": tagsOf(s),
	}
	if sdkaws.ToBool(s.RotationEnabled) {
		seen["rotation"] = list{*s.RotationLambdaARN, sdkaws.ToString(s.RotationRules.ScheduleExpression), sdkaws.ToString(s.RotationRules.Duration)}
	}
	if policy.ResourcePolicy != nil {
		seen["policy"] = json.RawMessage(*policy.ResourcePolicy)
	}
	if values {
		seen["value"] = w.value(t, id)
	}
	return seen
}

func (w *world) value(t kindtest.T, id *string) string {
	t.Helper()
	out, err := w.others.GetSecretValue(context.Background(), &sdk.GetSecretValueInput{SecretId: id})
	if err != nil {
		t.Fatalf("value: %v", err)
	}
	return sdkaws.ToString(out.SecretString)
}

// tagsOf are a secret's tags; the generation differs between two makings.
func tagsOf(s *sdk.DescribeSecretOutput) map[string]string {
	tags := map[string]string{}
	for _, tag := range s.Tags {
		tags[*tag.Key] = *tag.Value
	}
	delete(tags, "athanor:generation")
	return tags
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(values bool) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		w := newWorld(t.(*testing.T))
		ws[w.dir] = w
		return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.secrets(t, values) }}
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServiceError")(class)
}

// job is a secret as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := kindtest.Job(t, kind, w.cloud, "password", props, last)
	job.Nonce = "nonce"
	return job
}

// settled makes a secret match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(secretKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Operation)
	}
	return out
}
