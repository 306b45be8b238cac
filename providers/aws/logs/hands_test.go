package logs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a group as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{}
	for path, do := range edits {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			group := edited{Client: w.Others, name: to.Attrs["name"].(string), arn: to.Attrs["arn"].(string)}
			if path == "tags" {
				return group.retag(to)
			}
			return do(context.Background(), group, kindtest.PropsOf(t, groupTable, to.Props))
		})
	}
	return hands
}

// edited is a group in somebody else's hands.
type edited struct {
	*sdk.Client
	name, arn string
}

var edits = map[tree.Path]func(context.Context, edited, LogGroupProps) error{
	"": func(ctx context.Context, g edited, _ LogGroupProps) error {
		_, err := g.DeleteLogGroup(ctx, &sdk.DeleteLogGroupInput{LogGroupName: &g.name})
		return err
	},
	"retention": func(ctx context.Context, g edited, p LogGroupProps) error {
		if p.Retention == 0 {
			_, err := g.DeleteRetentionPolicy(ctx, &sdk.DeleteRetentionPolicyInput{LogGroupName: &g.name})
			return err
		}
		_, err := g.PutRetentionPolicy(ctx, &sdk.PutRetentionPolicyInput{LogGroupName: &g.name, RetentionInDays: new(int32(p.Retention.Hours() / 24))})
		return err
	},
	"kmsKeyId": func(ctx context.Context, g edited, p LogGroupProps) error {
		if p.KMSKeyID == "" {
			_, err := g.DisassociateKmsKey(ctx, &sdk.DisassociateKmsKeyInput{LogGroupName: &g.name})
			return err
		}
		_, err := g.AssociateKmsKey(ctx, &sdk.AssociateKmsKeyInput{LogGroupName: &g.name, KmsKeyId: new(string(p.KMSKeyID))})
		return err
	},
	"deletionProtection": func(ctx context.Context, g edited, p LogGroupProps) error {
		_, err := g.PutLogGroupDeletionProtection(ctx, &sdk.PutLogGroupDeletionProtectionInput{LogGroupIdentifier: &g.name, DeletionProtectionEnabled: &p.DeletionProtection})
		return err
	},
	"bearerTokenAuthentication": func(ctx context.Context, g edited, p LogGroupProps) error {
		_, err := g.PutBearerTokenAuthentication(ctx, &sdk.PutBearerTokenAuthenticationInput{LogGroupIdentifier: &g.name, BearerTokenAuthenticationEnabled: &p.BearerTokenAuthentication})
		return err
	},
	"dataProtectionPolicy": func(ctx context.Context, g edited, p LogGroupProps) error {
		if p.DataProtectionPolicy == nil {
			_, err := g.DeleteDataProtectionPolicy(ctx, &sdk.DeleteDataProtectionPolicyInput{LogGroupIdentifier: &g.name})
			return err
		}
		_, err := g.PutDataProtectionPolicy(ctx, &sdk.PutDataProtectionPolicyInput{LogGroupIdentifier: &g.name, PolicyDocument: aws.Text(p.DataProtectionPolicy)})
		return err
	},
	"indexPolicy": func(ctx context.Context, g edited, p LogGroupProps) error {
		if p.IndexPolicy == nil {
			_, err := g.DeleteIndexPolicy(ctx, &sdk.DeleteIndexPolicyInput{LogGroupIdentifier: &g.name})
			return err
		}
		_, err := g.PutIndexPolicy(ctx, &sdk.PutIndexPolicyInput{LogGroupIdentifier: &g.name, PolicyDocument: aws.Text(p.IndexPolicy)})
		return err
	},
	"policy": func(ctx context.Context, g edited, p LogGroupProps) error {
		have, err := g.DescribeResourcePolicies(ctx, &sdk.DescribeResourcePoliciesInput{ResourceArn: &g.arn})
		if err != nil {
			return err
		}
		var revision *string
		for _, p := range have.ResourcePolicies[1:] {
			revision = p.RevisionId
		}
		if p.Policy == nil {
			_, err := g.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{ResourceArn: &g.arn, PolicyName: new("theirs"), ExpectedRevisionId: revision})
			return err
		}
		_, err = g.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{
			ResourceArn: &g.arn, PolicyName: new("theirs"), PolicyDocument: aws.Text(p.Policy), ExpectedRevisionId: revision,
		})
		return err
	},
	"tags": nil, // see retag
}

func (g edited) retag(to kindtest.Edited) error {
	ctx := context.Background()
	have, err := g.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: &g.arn})
	if err != nil {
		return err
	}
	drop := func(keys []string) error {
		_, err := g.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: &g.arn, TagKeys: keys})
		return err
	}
	return awstest.Retag(have.Tags, to, drop, func(tags map[string]string) error {
		_, err := g.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: &g.arn, Tags: tags})
		return err
	})
}
