package secretsmanager

import (
	"cmp"
	"context"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a secret as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{}
	for path, do := range edits {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			s := edited{w.Others, new(to.Attrs["arn"].(string))}
			if path == "tags" {
				return s.retag(to)
			}
			return do(context.Background(), s, kindtest.PropsOf(t, secretTable, to.Props))
		})
	}
	return hands
}

// edited is a secret in somebody else's hands.
type edited struct {
	*sdk.Client
	id *string
}

var edits = map[tree.Path]func(context.Context, edited, SecretProps) error{
	// What is scheduled for deletion can be restored.
	"": func(ctx context.Context, s edited, _ SecretProps) error {
		_, err := s.DeleteSecret(ctx, &sdk.DeleteSecretInput{SecretId: s.id})
		return err
	},
	"description": func(ctx context.Context, s edited, p SecretProps) error {
		_, err := s.UpdateSecret(ctx, &sdk.UpdateSecretInput{SecretId: s.id, Description: &p.Description})
		return err
	},
	"kmsKeyId": func(ctx context.Context, s edited, p SecretProps) error {
		_, err := s.UpdateSecret(ctx, &sdk.UpdateSecretInput{SecretId: s.id, KmsKeyId: new(cmp.Or(p.KMSKeyID, "alias/aws/secretsmanager"))})
		return err
	},
	"value": func(ctx context.Context, s edited, p SecretProps) error {
		_, err := s.PutSecretValue(ctx, &sdk.PutSecretValueInput{SecretId: s.id, SecretString: new(string(p.Value))})
		return err
	},
	"replicas": func(ctx context.Context, s edited, p SecretProps) error {
		have, err := s.DescribeSecret(ctx, &sdk.DescribeSecretInput{SecretId: s.id})
		if err != nil {
			return err
		}
		var gone []string
		for _, r := range have.ReplicationStatus {
			gone = append(gone, *r.Region)
		}
		if len(gone) > 0 {
			if _, err := s.RemoveRegionsFromReplication(ctx, &sdk.RemoveRegionsFromReplicationInput{SecretId: s.id, RemoveReplicaRegions: gone}); err != nil {
				return err
			}
		}
		if len(p.Replicas) == 0 {
			return nil
		}
		_, err = s.ReplicateSecretToRegions(ctx, &sdk.ReplicateSecretToRegionsInput{SecretId: s.id, AddReplicaRegions: replicaList(p.Replicas)})
		return err
	},
	"policy": func(ctx context.Context, s edited, p SecretProps) error {
		if p.Policy == nil {
			_, err := s.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{SecretId: s.id})
			return err
		}
		_, err := s.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{SecretId: s.id, ResourcePolicy: aws.Text(p.Policy)})
		return err
	},
	"rotation": func(ctx context.Context, s edited, p SecretProps) error {
		if p.Rotation == nil {
			_, err := s.CancelRotateSecret(ctx, &sdk.CancelRotateSecretInput{SecretId: s.id})
			return err
		}
		rules := &types.RotationRulesType{ScheduleExpression: &p.Rotation.ScheduleExpression}
		if p.Rotation.Duration != "" {
			rules.Duration = &p.Rotation.Duration
		}
		_, err := s.RotateSecret(ctx, &sdk.RotateSecretInput{
			SecretId: s.id, RotationLambdaARN: new(string(p.Rotation.LambdaARN)), RotationRules: rules,
		})
		return err
	},
	"recoveryWindow": func(ctx context.Context, s edited, p SecretProps) error {
		if *p.RecoveryWindow == defaultWindow {
			_, err := s.UntagResource(ctx, &sdk.UntagResourceInput{SecretId: s.id, TagKeys: []string{"athanor:recovery-days"}})
			return err
		}
		days := strconv.Itoa(int(p.RecoveryWindow.Hours() / 24))
		_, err := s.TagResource(ctx, &sdk.TagResourceInput{SecretId: s.id, Tags: []types.Tag{{Key: new("athanor:recovery-days"), Value: &days}}})
		return err
	},
	"tags": nil, // see retag
}

func (s edited) retag(to kindtest.Edited) error {
	ctx := context.Background()
	have, err := s.DescribeSecret(ctx, &sdk.DescribeSecretInput{SecretId: s.id})
	if err != nil {
		return err
	}
	drop := func(keys []string) error {
		_, err := s.UntagResource(ctx, &sdk.UntagResourceInput{SecretId: s.id, TagKeys: keys})
		return err
	}
	return awstest.Retag(tagsOf(have), to, drop, func(tags map[string]string) error {
		_, err := s.TagResource(ctx, &sdk.TagResourceInput{SecretId: s.id, Tags: tagList(tags)})
		return err
	})
}
