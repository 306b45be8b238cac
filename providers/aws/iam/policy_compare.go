package iam

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// comparePolicy states every aspect.
func comparePolicy(d *policyDiff, want PolicyProps, live livePolicy) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name)
	}
	reconcile.Fixed(d, "path", want.Path, live.path)
	reconcile.Fixed(d, "description", aws.OrNil(want.Description), aws.OrNil(live.description))
	reconcile.Value(d, "document", aws.CanonicalPolicy(want.Document), aws.CanonicalPolicy(live.document), newVersion(want))
	aws.CompareTags(d, want.Tags, live.tags, "TagPolicy", tagPolicy, untagPolicy)
}

// newVersion makes room first where there is none.
func newVersion(want PolicyProps) *reconcile.Operation[livePolicy] {
	return &reconcile.Operation[livePolicy]{Name: "CreatePolicyVersion", Do: func(ctx context.Context, on policyOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		document, err := aws.DocumentText(want.Document)
		if err != nil {
			return fmt.Errorf("document: %w", err)
		}
		arn := string(on.Live.arn)
		others, err := versions(ctx, client, arn)
		if err != nil {
			return aws.NotYet(err)
		}
		for len(others)+1 >= mostVersions {
			if err := dropVersion(ctx, client, arn, others[0]); err != nil {
				return err
			}
			others = others[1:]
		}
		_, err = client.CreatePolicyVersion(ctx, &sdk.CreatePolicyVersionInput{PolicyArn: &arn, PolicyDocument: &document, SetAsDefault: true})
		return aws.NotYet(err)
	}}
}

func tagPolicy(ctx context.Context, on policyOn, tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagPolicy(ctx, &sdk.TagPolicyInput{PolicyArn: new(string(on.Live.arn)), Tags: tagList(tags)})
	return aws.NotYet(err)
}

func untagPolicy(ctx context.Context, on policyOn, keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagPolicy(ctx, &sdk.UntagPolicyInput{PolicyArn: new(string(on.Live.arn)), TagKeys: keys})
	return aws.NotYet(err)
}
