package s3

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// edits change, clear and add every aspect of a bucket: changed and cleared where the program declares it, and
// added where it does not.
func (ws worlds) edits() []kindtest.Edit {
	var all []kindtest.Edit
	for _, e := range aspects() {
		for _, change := range []struct {
			from string
			do   func(context.Context, *sdk.Client, *string) error
		}{{"site", e.change}, {"site", e.clear}, {"", e.add}} {
			if change.do != nil {
				all = append(all, ws.edit(e.path, change.from, change.do))
			}
		}
	}
	return all
}

// aspect is what somebody can do to one aspect.
type aspect struct {
	path               tree.Path
	change, clear, add func(context.Context, *sdk.Client, *string) error
}

type (
	ctx    = context.Context
	client = *sdk.Client
)

func aspects() []aspect {
	return []aspect{
		{"tags.team", putTags("team"), nil, putTags("team")},
		{"tags.extra", putTags("extra"), nil, putTags("extra")},
		{
			path: "tags",
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketTagging(ctx, &sdk.DeleteBucketTaggingInput{Bucket: name})
				return err
			},
		},
		{
			path:   "objectOwnership",
			change: ownership(types.ObjectOwnershipObjectWriter),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketOwnershipControls(ctx, &sdk.DeleteBucketOwnershipControlsInput{Bucket: name})
				return err
			},
			add: ownership(types.ObjectOwnershipBucketOwnerPreferred),
		},
		{
			path:   "publicAccessBlock.restrictPublicBuckets",
			change: publicAccess(&types.PublicAccessBlockConfiguration{RestrictPublicBuckets: new(true)}),
			add: publicAccess(&types.PublicAccessBlockConfiguration{
				BlockPublicAcls: new(true), IgnorePublicAcls: new(true), BlockPublicPolicy: new(true), RestrictPublicBuckets: new(false),
			}),
		},
		{
			path: "publicAccessBlock",
			add: func(ctx ctx, c client, name *string) error {
				_, err := c.DeletePublicAccessBlock(ctx, &sdk.DeletePublicAccessBlockInput{Bucket: name})
				return err
			},
		},
		{"versioning", versioning(types.BucketVersioningStatusSuspended), nil, versioning(types.BucketVersioningStatusEnabled)},
		{
			path:   "encryption",
			change: encryption(types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: new("alias/another")}),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketEncryption(ctx, &sdk.DeleteBucketEncryptionInput{Bucket: name})
				return err
			},
			add: encryption(types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms}),
		},
		{
			path:   "cors",
			change: cors("https://evil.example"),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketCors(ctx, &sdk.DeleteBucketCorsInput{Bucket: name})
				return err
			},
			add: cors("*"),
		},
		{
			path:   "lifecycle",
			change: lifecycle(1),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketLifecycle(ctx, &sdk.DeleteBucketLifecycleInput{Bucket: name})
				return err
			},
			add: lifecycle(30),
		},
		{"logging", logs(&types.LoggingEnabled{TargetBucket: new(logBucket), TargetPrefix: new("elsewhere/")}), logs(nil), logs(&types.LoggingEnabled{TargetBucket: new(logBucket), TargetPrefix: new("")})},
		{"transferAcceleration", accelerate(types.BucketAccelerateStatusSuspended), nil, accelerate(types.BucketAccelerateStatusEnabled)},
		{"requestPayer", payer(types.PayerBucketOwner), nil, payer(types.PayerRequester)},
		{
			path:   "website",
			change: website("start.html"),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketWebsite(ctx, &sdk.DeleteBucketWebsiteInput{Bucket: name})
				return err
			},
			add: website("index.html"),
		},
		{
			path:   "policy",
			change: policy("s3:*"),
			clear: func(ctx ctx, c client, name *string) error {
				_, err := c.DeleteBucketPolicy(ctx, &sdk.DeleteBucketPolicyInput{Bucket: name})
				return err
			},
			add: policy("s3:GetObject"),
		},
	}
}

// putTags sets one tag and keeps the others.
func putTags(key string) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		out, err := c.GetBucketTagging(ctx, &sdk.GetBucketTaggingInput{Bucket: name})
		if err != nil {
			return err
		}
		tags := tagMap(out.TagSet)
		tags[key] = "somebody else's"
		_, err = c.PutBucketTagging(ctx, &sdk.PutBucketTaggingInput{Bucket: name, Tagging: &types.Tagging{TagSet: tagList(tags)}})
		return err
	}
}

func ownership(o types.ObjectOwnership) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketOwnershipControls(ctx, &sdk.PutBucketOwnershipControlsInput{
			Bucket: name, OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: o}}},
		})
		return err
	}
}

func publicAccess(block *types.PublicAccessBlockConfiguration) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutPublicAccessBlock(ctx, &sdk.PutPublicAccessBlockInput{Bucket: name, PublicAccessBlockConfiguration: block})
		return err
	}
}

func versioning(status types.BucketVersioningStatus) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketVersioning(ctx, &sdk.PutBucketVersioningInput{
			Bucket: name, VersioningConfiguration: &types.VersioningConfiguration{Status: status},
		})
		return err
	}
}

func encryption(by types.ServerSideEncryptionByDefault) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketEncryption(ctx, &sdk.PutBucketEncryptionInput{
			Bucket: name, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
				Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: &by}},
			},
		})
		return err
	}
}

func cors(origin string) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketCors(ctx, &sdk.PutBucketCorsInput{Bucket: name, CORSConfiguration: &types.CORSConfiguration{
			CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{origin}}},
		}})
		return err
	}
}

func lifecycle(days int32) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketLifecycleConfiguration(ctx, &sdk.PutBucketLifecycleConfigurationInput{
			Bucket: name, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
				Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: new("")},
				Expiration: &types.LifecycleExpiration{Days: &days},
			}}},
		})
		return err
	}
}

func logs(to *types.LoggingEnabled) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketLogging(ctx, &sdk.PutBucketLoggingInput{Bucket: name, BucketLoggingStatus: &types.BucketLoggingStatus{LoggingEnabled: to}})
		return err
	}
}

func accelerate(status types.BucketAccelerateStatus) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketAccelerateConfiguration(ctx, &sdk.PutBucketAccelerateConfigurationInput{
			Bucket: name, AccelerateConfiguration: &types.AccelerateConfiguration{Status: status},
		})
		return err
	}
}

func payer(who types.Payer) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketRequestPayment(ctx, &sdk.PutBucketRequestPaymentInput{
			Bucket: name, RequestPaymentConfiguration: &types.RequestPaymentConfiguration{Payer: who},
		})
		return err
	}
}

func website(index string) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		_, err := c.PutBucketWebsite(ctx, &sdk.PutBucketWebsiteInput{
			Bucket: name, WebsiteConfiguration: &types.WebsiteConfiguration{IndexDocument: &types.IndexDocument{Suffix: &index}},
		})
		return err
	}
}

func policy(action string) func(ctx, client, *string) error {
	return func(ctx ctx, c client, name *string) error {
		document := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":%q,"Resource":"arn:aws:s3:::%s/*"}]}`, action, *name)
		_, err := c.PutBucketPolicy(ctx, &sdk.PutBucketPolicyInput{Bucket: name, Policy: &document})
		return err
	}
}
