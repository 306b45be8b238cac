package secretsmanager

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct {
	awstest.World[sdk.Client]
	like  *likeAWS
	front *awstest.Front
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	front, like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, front, sdk.NewFromConfig, secretKind.Erase(), "password"), like, front}
	w.Located(t, account)
	return w
}

// secrets are all as others see them. Values are shown where what is declared says them all.
func (w *world) secrets(t kindtest.T, values bool) []any {
	t.Helper()
	out, err := w.Others.ListSecrets(context.Background(), &sdk.ListSecretsInput{})
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
	s, err := w.Others.DescribeSecret(context.Background(), &sdk.DescribeSecretInput{SecretId: id})
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	policy, err := w.Others.GetResourcePolicy(context.Background(), &sdk.GetResourcePolicyInput{SecretId: id})
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
	out, err := w.Others.GetSecretValue(context.Background(), &sdk.GetSecretValueInput{SecretId: id})
	if err != nil {
		t.Fatalf("value: %v", err)
	}
	return sdkaws.ToString(out.SecretString)
}

func tagsOf(s *sdk.DescribeSecretOutput) map[string]string {
	return awstest.Owned(aws.TagMap(s.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value }))
}

func withoutValues(w *world, t kindtest.T) []any { return w.secrets(t, false) }
func withValues(w *world, t kindtest.T) []any    { return w.secrets(t, true) }

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServiceError")(class)
}
